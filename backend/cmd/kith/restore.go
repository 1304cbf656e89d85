package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"kith/backend/app"
	"kith/backend/backup"
	"kith/backend/doctor"
	"kith/backend/file"
	"kith/backend/progress"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/auth"
)

type restoreCommand struct {
	archiveFlags
	File   string `arg:"" help:"File written by kith backup; - is the standard input. With --drill also a folder of scheduled backups, of which the newest is restored that is not dated in the future."`
	Tenant string `help:"Restore only this tenant, into a database that may have others. The file may contain more tenants." placeholder:"ALIAS"`

	IdentityFile string `env:"KITH_BACKUP_IDENTITY_FILE" help:"File with the secret key of a recipient, which the age-keygen program wrote. Only encrypted backups need it." placeholder:"FILE"`

	Unsigned bool   `help:"Restore a file whose signature is missing, or cannot be verified with this master key. Use it only if you trust everybody who could change the file."`
	Drill    bool   `help:"Only practice: restore into a new database in a temporary folder, check it, print what was found, and remove it. Exit status: 0 the backup can be restored, 1 it cannot."`
	Scratch  string `help:"Folder for the temporary folder of --drill. It needs space for the database and the files of jobs. Default: that of the system." placeholder:"DIR"`

	// practiced is the command whose drill this restore is, or nil. Its master key is used, so
	// errors name where that is from.
	practiced *restoreCommand
}

// Help says what a restore needs, and what to do after one that did not end.
func (restoreCommand) Help() string {
	return `Restores into an empty database and brings its schema up to date. ` +
		`The whole file is verified first: a file that is incomplete, damaged or changed restores nothing. ` +
		`Until the restore has ended, kith serve and kith edge refuse the database. After a crash, run the same command again; it starts from the beginning. ` +
		`The master key must be the one that was in use at the time of the backup: put its file back first, or set KITH_MASTER_KEY.

With --tenant the service may run for the other tenants. The restored tenant appears at the end, all at once.

With --drill the service may run, and nothing of it is changed. The master key is that of the data folder or KITH_MASTER_KEY.`
}

// Run restores the backup.
func (c *restoreCommand) Run(e *env) error {
	switch {
	case c.Drill && c.Tenant != "":
		return core.Invalid("drill", "restores all tenants: leave out --tenant")
	case c.Drill:
		return c.drill(e)
	case c.Scratch != "":
		return core.Invalid("scratch", "is for --drill only")
	}
	header, restored, err := c.restore(e)
	if err == nil && c.Tenant != "" {
		err = c.reseal(e, header)
	}
	if err == nil {
		_, err = fmt.Fprintf(e.out, "restored: %s\n", restored)
	}
	return err
}

// restore restores the backup, and returns its header and what was restored.
func (c *restoreCommand) restore(e *env) (header backup.Header, restored backup.Trailer, err error) {
	path, done, err := c.path()
	if err != nil {
		return header, restored, err
	}
	defer done()
	identities, err := backup.ReadIdentities(c.IdentityFile)
	if err != nil {
		return header, restored, err
	}
	c.restores = c.Tenant == ""
	target := backup.Target{Tenant: core.TenantAlias(c.Tenant), Now: now, Identities: identities}
	openTarget := func() (err error) {
		target.DB, target.Files, err = c.openStore(e, mayBeCreated)
		return err
	}
	defer func() {
		if target.DB != nil {
			_ = errors.Join(target.Files.Close(), target.DB.Close())
		}
	}()
	// If one tenant is restored, the schema is migrated after the file is verified.
	migrate := func() error {
		if c.Tenant == "" || target.DB == nil {
			return nil
		}
		return target.DB.Migrate(e.ctx, now())
	}
	if at, isFile := c.file(); !isFile || !missing(at) {
		if err := openTarget(); err != nil {
			return header, restored, err
		}
	}
	target.Create = func() (*store.Primary, file.Store, error) {
		err := openTarget()
		if err == nil {
			err = migrate()
		}
		return target.DB, target.Files, err
	}
	show := progress.New(e.out)
	defer show.End()
	what := "verify"
	target.Check = func(h backup.Header, t backup.Trailer) error {
		what, header = "restore", h
		if err := c.check(e, h, t); err != nil {
			return err
		}
		return migrate()
	}
	restored, err = backup.Restore(e.ctx, target, func() (io.ReadCloser, error) { return shown(path, show, what) })
	return header, restored, err
}

// reseal encrypts the secrets of a restored tenant under the master key of the database, if they
// are encrypted under an earlier one: processes that run have only the former.
func (c *restoreCommand) reseal(e *env, h backup.Header) error {
	if _, _, ok, err := c.keys(); err != nil || !ok {
		return err // check has warned that there is none
	}
	return c.with(e, func(engine *app.Engine) error {
		has, err := secretdb.FindMasterKey(e.ctx, engine.DB.Reads)
		if err != nil {
			return err
		}
		keys, found := engine.Keys.StartingWith(has.Fingerprint)
		if !found || h.SameKey(keys.First()) {
			return nil
		}
		untracked, err := userdb.CountUntracked(e.ctx, engine.DB.Reads, core.TenantAlias(c.Tenant))
		if err != nil {
			return err
		}
		if untracked > 0 {
			// Only their ids would say whether the database has the key of these hashes.
			e.log.Warn("people who must not be tracked are recognised only by the installation that deleted them: if the backup is of another one, delete them here again with doNotTrack", "tenant", c.Tenant, "records", untracked)
		}
		if has.Next != "" {
			e.log.Warn("the secrets of the restored tenant are encrypted under an earlier master key, and the key is being replaced: run kith master-key rotate with all keys", "tenant", c.Tenant)
			return nil
		}
		engine.Keys = keys
		n, err := engine.MasterKey.Rotate(e.ctx)
		if err == nil {
			_, err = fmt.Fprintf(e.out, "encrypted again under the master key of the database: %s\n", core.Count(int64(n), "secret"))
		}
		return err
	})
}

// drill restores the backup into a temporary folder and examines the result.
func (c *restoreCommand) drill(e *env) error {
	if info, err := os.Stat(c.File); err == nil && info.IsDir() {
		all, err := backup.Scheduled(c.File)
		if err != nil {
			return err
		}
		if len(all) == 0 {
			return core.NotFound("no backups named kith-TIME.tar.gz or kith-TIME.tar.gz.age in " + c.File + "; give another folder, or a file")
		}
		c.File = all[0]
		for _, path := range slices.Backward(all) {
			if made, err := backup.TimeOf(path); err == nil && !made.After(time.Now()) {
				c.File = path
			}
		}
	}
	keys, text, ok, err := c.keys()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(c.Scratch, "kith-drill-*")
	if err != nil {
		return fmt.Errorf("scratch: %w; choose another folder by --scratch", err)
	}
	defer os.RemoveAll(folder)
	scratch := restoreCommand{File: c.File, Unsigned: c.Unsigned, IdentityFile: c.IdentityFile, practiced: c}
	scratch.Data, scratch.MasterKey = folder, text
	begin := time.Now()
	header, restored, err := scratch.restore(e)
	var known *core.Error
	switch {
	case errors.As(err, &known) && known.Field == "tenant":
		return core.Invalid("file", "is a backup of one tenant, and a drill restores all: give one of all tenants; this one is restored with kith restore --tenant")
	case known != nil:
		return fmt.Errorf("%s: %w", c.File, err)
	case err != nil:
		return err
	}
	took := time.Since(begin).Round(time.Millisecond)
	if _, err := fmt.Fprintf(e.out, "%s: of %s by kith %s, restored in %s: %s\n", c.File, time.UnixMilli(int64(header.Time)).UTC().Format(time.RFC3339), header.Kith, took, restored); err != nil {
		return err
	}
	db, files, err := scratch.openStore(e, migrated)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	in := doctor.Installation{Data: folder, DB: db, Keys: keys, HasKeys: ok, Now: now}
	in.File, _ = scratch.file()
	checks := append(in.Restored(), doctor.Check{Name: "rows", Run: func(ctx context.Context) doctor.Finding {
		problem, err := backup.Compare(ctx, db, files, header, restored)
		switch {
		case err != nil:
			return doctor.Finding{Text: err.Error(), Remedy: "see the checks above"}
		case problem != "":
			return doctor.Finding{Text: problem, Remedy: "use another backup, and report this with both versions of kith"}
		}
		return doctor.Finding{Text: "each table has the rows of the backup, and each file its size"}
	}})
	problems, err := doctor.Run(e.ctx, e.out, checks)
	if err != nil || problems == 0 {
		return err
	}
	return fmt.Errorf("drill: %d of %d checks found a problem", problems, len(checks))
}

// shown opens a file and shows the progress of reading it.
func shown(path string, show *progress.Display, what string) (io.ReadCloser, error) {
	from, err := openFile("file", path)
	if err != nil {
		return nil, err
	}
	info, err := from.Stat()
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	show.Begin(what, "bytes", info.Size())
	read := int64(0)
	return struct {
		io.Reader
		io.Closer
	}{countingReader{from, func(n int) { read += int64(n); show.At(read) }}, from}, nil
}

// path returns the path of the archive, which is read twice. The standard input is
// copied to a temporary file; done deletes it.
func (c *restoreCommand) path() (path string, done func(), err error) {
	if info, err := os.Stat(c.File); err == nil && info.IsDir() {
		return "", nil, core.Invalid("file", c.File+" is a folder; give one of its files")
	}
	if c.File != "-" {
		return c.File, func() {}, nil
	}
	copied, err := os.CreateTemp("", "kith-restore-*")
	if err != nil {
		return "", nil, err
	}
	_, err = io.Copy(copied, os.Stdin)
	if err = errors.Join(err, copied.Close()); err != nil {
		_ = os.Remove(copied.Name())
		return "", nil, err
	}
	return copied.Name(), func() { _ = os.Remove(copied.Name()) }, nil
}

// check returns an error if the master key cannot decrypt the secrets of an archive, or
// if the archive may have been changed. If there is no master key, it stores the one
// that the archive contains.
func (c *restoreCommand) check(e *env, h backup.Header, t backup.Trailer) error {
	keys, _, ok, err := c.keys()
	if err != nil {
		return err
	}
	if ok && !h.SameKey(keys) {
		remedy := "give the earlier key by KITH_MASTER_KEY"
		if c.Tenant != "" {
			remedy = "give the database's key and the earlier one: KITH_MASTER_KEY=PRESENT,EARLIER"
		}
		return core.Invalid("master-key", "("+cmp.Or(c.practiced, c).masterKeySource()+") is not that of the time of the backup, so API keys and all other secrets could not be decrypted: "+remedy)
	}
	if ok && c.Tenant == "" && !h.SameKey(keys.First()) {
		e.log.Warn("the secrets of the backup are encrypted under an earlier master key: run kith master-key rotate with all keys, before the earlier one is removed")
	}
	if err := c.checkSignature(t, h, keys, ok); err != nil || ok {
		return err
	}
	if h.MasterKey == "" {
		e.log.Warn("no master key found: kith serve needs that of the time of the backup", "file", c.masterKeyFile())
		return nil
	}
	_, err = writeNewSecret(c.masterKeyFile(), []byte(h.MasterKey+"\n"))
	return err
}

// checkSignature returns an error if an archive was changed, or if it may have been and
// --unsigned is not given. ok is false if there is no master key.
func (c *restoreCommand) checkSignature(t backup.Trailer, h backup.Header, keys auth.Keyring, ok bool) error {
	const otherwise = "if you trust everyone who could write to it, restore it with --unsigned"
	switch {
	case ok && t.Signature != "" && !t.SignedBy(keys.Backup()):
		return core.Invalid("file", "was changed after it was written: its signature is invalid, and nothing was restored. Use another backup")
	case c.Unsigned:
		return nil
	case t.Signature == "":
		return core.Invalid("file", "has no signature, so it may have been changed (older versions of kith wrote none): "+otherwise)
	case !ok && h.MasterKey != "":
		return core.Invalid("master-key", "is needed to verify the file, and the key in the file proves nothing: give it by KITH_MASTER_KEY, or, "+otherwise)
	case !ok:
		return core.Invalid("master-key", "is needed to verify the file, and is not in "+cmp.Or(c.practiced, c).masterKeyFile()+": give that of the time of the backup by KITH_MASTER_KEY, or, "+otherwise)
	}
	return nil
}
