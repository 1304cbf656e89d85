// Package doctor examines an installation: each check of a list names what it found and,
// if something is wrong, what to do.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/backend/store/tenantdb"
	"kith/backend/upstream"
	"kith/core"
	"kith/core/auth"
)

// Finding is the result of a check.
type Finding struct {
	// Text is what was found.
	Text string
	// Remedy is what to do; empty if nothing is wrong.
	Remedy string
	// Skipped is whether nothing was examined; Text says why.
	Skipped bool
}

func failed(text, remedy string) Finding { return Finding{Text: text, Remedy: remedy} }
func skipped(text string) Finding        { return Finding{Text: text, Skipped: true} }

// Check is one examination.
type Check struct {
	Name string
	Run  func(context.Context) Finding
}

// Installation is what is examined.
type Installation struct {
	// Data is the data folder. File is the path of the database, or "" for a server.
	Data, File string
	DB         *store.Primary
	// Keys are the master keys; without HasKeys there are none. KeyFile is their file, ""
	// if they are a setting.
	Keys    auth.Keyring
	HasKeys bool
	KeyFile string
	// Backend is asked for its clock and whether it accepts the master key, unless its URL
	// is empty.
	Backend upstream.Backend
	// Files is where the files of jobs are, and OpenFiles opens it: an error says why it
	// cannot be used.
	Files     string
	OpenFiles func() error
	// BackupDir has the scheduled backups, one each BackupEvery; "" if none are made.
	// NewestBackup returns its newest one.
	BackupDir    string
	BackupEvery  core.Time
	NewestBackup func() (NewestBackup, error)
	// Web is how visitors reach the service; nil if that is not examined.
	Web *Web
	Now func() core.Time
}

// NewestBackup is the newest scheduled backup that is not dated in the future.
type NewestBackup struct {
	// Made is when it was made; 0 if there is none.
	Made      core.Time
	Encrypted bool
	// Damage is what is wrong with the file, or empty. Unread is why its content was not
	// read, or empty.
	Damage, Unread string
	// Future is the number of backups that are dated in the future.
	Future int
}

// Checks returns the checks of an installation, in the order in which they help most: the
// first that fails is often the cause of those after it.
func (in Installation) Checks() []Check {
	checks := []Check{
		{"data folder", in.folder},
		{"disk space", in.space},
		{"database", in.readable},
		{"integrity", in.integrity},
		{"schema", in.schema},
		{"writes", in.writable},
		{"master key", in.masterKey},
		{"user tokens", in.userTokens},
		{"files", in.files},
		{"backups", in.backups},
		{"backend", in.backend},
	}
	if in.Web == nil {
		return append(checks, Check{"web", func(context.Context) Finding {
			return skipped("TLS, share links and cookie are not checked: give --visit")
		}})
	}
	return append(checks, in.Web.Checks()...)
}

// Restored returns the checks of a database that was just restored.
func (in Installation) Restored() []Check {
	return []Check{{"database", in.readable}, {"integrity", in.integrity}, {"schema", in.schema}, {"writes", in.writable}, {"master key", in.masterKey}}
}

// Run runs the checks, writes a line for each, and a line with the remedy for each that
// found a problem. It returns the number of problems.
func Run(ctx context.Context, to io.Writer, checks []Check) (problems int, err error) {
	for _, c := range checks {
		found, mark := c.Run(ctx), "ok  "
		switch {
		case found.Skipped:
			mark = "skip"
		case found.Remedy != "":
			mark = "FAIL"
			problems++
		}
		if _, err := fmt.Fprintf(to, "%s  %-12s %s\n", mark, c.Name, found.Text); err != nil {
			return problems, err
		}
		if found.Remedy != "" {
			if _, err := fmt.Fprintf(to, "      %-12s %s\n", "", found.Remedy); err != nil {
				return problems, err
			}
		}
	}
	return problems, ctx.Err()
}

// unused reports whether an error is that of a data folder that no process needs; whether
// the files of jobs can be stored is a check of its own.
func (in Installation) unused(err error) bool {
	return errors.Is(err, fs.ErrNotExist) && in.File == "" && in.HasKeys && in.KeyFile == ""
}

func (in Installation) folder(context.Context) Finding {
	const remedy = "create it for the user that runs kith, or choose another folder by KITH_DATA"
	info, err := os.Stat(in.Data)
	switch {
	case in.unused(err):
		return skipped(in.Data + " does not exist, and is not needed: the database is on a server, the master key a setting")
	case err != nil:
		return failed(err.Error(), remedy)
	case !info.IsDir():
		return failed(in.Data+" is not a folder", remedy)
	}
	file, err := os.CreateTemp(in.Data, ".doctor*")
	if err == nil {
		err = errors.Join(file.Close(), os.Remove(file.Name()))
	}
	if err != nil {
		return failed("cannot be written: "+err.Error(), "give "+in.Data+" to the user that runs kith")
	}
	return Finding{Text: in.Data + " can be written"}
}

// leastSpace is the free space, in bytes, below which the check fails: a checkpoint of the
// log and an import need some.
const leastSpace = 256 << 20

func (in Installation) space(context.Context) Finding {
	folder := in.Data
	if in.File != "" {
		folder = filepath.Dir(in.File)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); in.unused(err) {
		return skipped("not checked: nothing is stored at " + folder)
	} else if err != nil {
		return failed(folder+": "+err.Error(), "mount the disk of the data folder")
	}
	free := disk.Bavail * uint64(disk.Bsize) // #nosec G115 -- the size of a block is positive
	text := fmt.Sprintf("%d MB free at %s", free>>20, folder)
	if free < leastSpace {
		return failed(text, fmt.Sprintf("free at least %d MB, or enlarge the disk: without space all writes are answered 503", leastSpace>>20))
	}
	return Finding{Text: text}
}

// full reports whether the disk of the database has so little space that a file that is
// not damaged cannot be read: a reader creates the index of the log.
func (in Installation) full() bool {
	return in.File != "" && in.space(context.Background()).Remedy != ""
}

const fullRemedy = "free space first, see the disk space above; then run kith doctor again"

func (in Installation) readable(ctx context.Context) Finding {
	if err := in.DB.Ping(ctx); err != nil {
		if in.File == "" {
			return failed(err.Error(), "start the server, or correct KITH_DATABASE_URL and KITH_DATABASE_TOKEN")
		}
		if in.full() {
			return failed(in.File+": "+err.Error(), fullRemedy)
		}
		return failed(in.File+": "+err.Error(), "give the file and its folder to the user that runs kith; if it is damaged, restore a backup into a new folder (kith restore)")
	}
	if in.File == "" {
		return Finding{Text: "the server answers"}
	}
	return Finding{Text: in.File + " can be read"}
}

func (in Installation) integrity(ctx context.Context) Finding {
	if in.File == "" {
		return skipped("not checked: a server checks its own files")
	}
	problems, err := store.Integrity(ctx, in.DB, true)
	switch {
	case err != nil && in.full():
		return failed(err.Error(), fullRemedy)
	case err != nil && strings.Contains(err.Error(), "readonly database"):
		return skipped("not checked: this user may not write the folder; run doctor as the user that runs kith")
	case err != nil:
		problems = []string{err.Error()}
	}
	if len(problems) > 0 {
		return failed(strings.Join(problems, "; "), "stop kith, keep a copy of the folder, and restore a backup into a new folder (kith restore)")
	}
	return Finding{Text: "no damage found"}
}

func (in Installation) schema(ctx context.Context) Finding {
	err := in.DB.Restoring(ctx)
	if known := (*core.Error)(nil); errors.As(err, &known) && known.Code == core.CodeConflict {
		return failed(err.Error(), "run kith restore again")
	} else if err != nil {
		return failed(err.Error(), "see the database above")
	}
	s, err := in.DB.Schema(ctx)
	switch {
	case err != nil:
		return failed(err.Error(), "see the database above")
	case s.Newer() != nil:
		return failed(s.Newer().Error(), "do not start this version on it")
	case s.Has == 0:
		return Finding{Text: "none yet: kith serve creates it"}
	case s.Older() != nil:
		return Finding{Text: fmt.Sprintf("%d; kith serve brings it to %d", s.Has, s.Knows)}
	}
	return Finding{Text: fmt.Sprint(s.Has)}
}

func (in Installation) writable(ctx context.Context) Finding {
	if has, err := in.DB.HasTable(ctx, "readiness"); err == nil && !has {
		return skipped("not tried: kith serve brings the schema up to date first")
	}
	if s, err := in.DB.Schema(ctx); err == nil && s.Newer() != nil {
		return skipped("not tried: the schema is newer than this version")
	}
	if err := in.DB.CheckWritable(ctx, in.Now()); err != nil {
		return failed(err.Error(), "free space on the disk, give the file and its folder to the user that runs kith, and end what holds its lock")
	}
	return Finding{Text: "a write succeeded"}
}

func (in Installation) masterKey(ctx context.Context) Finding {
	has, err := secretdb.FindMasterKey(ctx, in.DB.Reads)
	switch {
	case err != nil:
		return failed(err.Error(), "see the database above")
	case !in.HasKeys && has == (secretdb.MasterKey{}):
		return Finding{Text: "none yet: kith serve creates it"}
	case !in.HasKeys:
		return failed("there is none, and the database has one", "put "+in.KeyFile+" back, or give the key by KITH_MASTER_KEY")
	case !in.Keys.Belongs(has.Fingerprint, has.Next):
		return failed("is not that of the database, so its secrets cannot be decrypted", "give the key that the database was created with by KITH_MASTER_KEY or its file, and during a rotation the next one by KITH_MASTER_KEY_NEW")
	}
	if in.KeyFile != "" {
		if info, err := os.Stat(in.KeyFile); err == nil && info.Mode().Perm()&0o077 != 0 {
			return failed(in.KeyFile+" can be read by other users", "chmod 600 "+in.KeyFile)
		}
	}
	return Finding{Text: "belongs to the database (fingerprint " + in.Keys.Fingerprint()[:8] + ")"}
}

// userTokens names the tenants of whose calls some were refused within a week because their
// user tokens have no exp. That is a mistake of a client, and no fault of the installation.
func (in Installation) userTokens(ctx context.Context) Finding {
	if s, err := in.DB.Schema(ctx); err != nil || s.Older() != nil || s.Newer() != nil {
		return skipped("not examined: see the schema above")
	}
	tenants, err := tenantdb.RefusedUndated(ctx, in.DB.Reads, in.Now()-tenantdb.UndatedSpan)
	if err != nil {
		return failed(err.Error(), "see the database above")
	}
	if len(tenants) == 0 {
		return Finding{Text: "none was refused for want of an exp within 7 days"}
	}
	var texts []string
	for _, t := range tenants {
		texts = append(texts, fmt.Sprintf("%s, calls: %d, the last on %s", t.Alias, t.UndatedRefused, time.UnixMilli(int64(t.UndatedLast)).UTC().Format(time.DateTime)))
	}
	return Finding{Text: "calls were refused because their user tokens have no exp: " + strings.Join(texts, "; ") +
		". Let the client add it, or accept such tokens: kith tenant set TENANT --undated-tokens on"}
}

func (in Installation) files(context.Context) Finding {
	if err := in.OpenFiles(); err != nil {
		return failed(err.Error(), "correct KITH_FILES and its credentials; imports and exports fail until then")
	}
	return Finding{Text: in.Files + " can be used"}
}

// backups checks that the newest scheduled backup is not older than two intervals.
func (in Installation) backups(context.Context) Finding {
	const remedy = "look in the logs of the backends for worker=backups: the folder is usually away or full, or no backend has this KITH_BACKUP_DIR; meanwhile run kith backup"
	if in.BackupDir == "" {
		return skipped("not checked: KITH_BACKUP_DIR is not set")
	}
	newest, err := in.NewestBackup()
	switch {
	case err != nil:
		return failed(err.Error(), "mount or create it for the user that runs kith, or correct KITH_BACKUP_DIR")
	case newest.Made == 0 && newest.Future == 0:
		return failed(in.BackupDir+" has no scheduled backup", remedy)
	case newest.Future > 0 && newest.Damage == "":
		return failed(fmt.Sprintf("%s has %d that are dated in the future", in.BackupDir, newest.Future), "correct the clock of the machine that was wrong, and rename or remove these files: they are never removed")
	}
	age := max(in.Now()-newest.Made, 0)
	text := "the newest in " + in.BackupDir + " was made " + interval(age) + " ago"
	if !newest.Encrypted {
		text += " and is not encrypted (KITH_BACKUP_RECIPIENT)"
	}
	switch {
	case newest.Damage != "":
		return failed(text+", but cannot be restored: "+newest.Damage, "run kith backup at once, and look for the cause: a full disk, a copy that broke off, or another installation with the same folder")
	case age > 2*in.BackupEvery:
		return failed(text+", and one is due every "+interval(in.BackupEvery), remedy)
	case newest.Unread != "":
		text += "; its content was not read, " + newest.Unread + ": kith restore --drill does"
	}
	return Finding{Text: text}
}

// interval returns a duration in whole seconds.
func interval(t core.Time) string { return (time.Duration(t/core.Second) * time.Second).String() }

// backend checks that the backend answers, has the same master key, and that the clocks
// agree.
func (in Installation) backend(ctx context.Context) Finding {
	switch {
	case in.Backend.URL == "":
		return skipped("not asked, and the clock is not compared: give --backend-url")
	case !in.HasKeys:
		return skipped("not asked: there is no master key")
	}
	err := in.Backend.Check(ctx)
	switch {
	case errors.Is(err, upstream.ErrAway):
		return failed(err.Error(), "start the backend, and look at its log and its /readyz; or correct KITH_BACKEND_URL")
	case err != nil:
		return failed(err.Error(), "synchronize the clocks with a time server (timedatectl), and give all processes the same master key")
	}
	return Finding{Text: in.Backend.URL + " answers, and its master key and clock agree"}
}
