package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"kith/backend/app"
	"kith/backend/atomicfile"
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

// archiveFlags say where the data to archive is.
type archiveFlags struct {
	databaseFlags
	bucketFlags
}

// recipientFlags say who can decrypt archives.
type recipientFlags struct {
	BackupRecipient []string `env:"KITH_BACKUP_RECIPIENT" help:"Public key of age (age1…) to which backups and exports are encrypted. May be repeated, or be several with commas: the secret key of any of them decrypts. Default: they are not encrypted." placeholder:"KEY"`
}

// recipients returns the public keys.
func (f recipientFlags) recipients() ([]age.Recipient, error) {
	return backup.ParseRecipients(f.BackupRecipient)
}

// readiness says how a database is opened.
type readiness int

const (
	// unchanged opens an existing database, whatever its schema.
	unchanged readiness = iota
	// mayBeCreated opens a database, and creates it if it does not exist.
	mayBeCreated
	// migrated opens an existing database and brings its schema up to date.
	migrated
)

// openStore opens the database and the files of jobs.
func (f *archiveFlags) openStore(e *env, ready readiness) (*store.Primary, file.Store, error) {
	files, err := f.openFiles(e, f.Data)
	if err != nil {
		return nil, nil, err
	}
	db, err := f.openDatabase(e, ready == mayBeCreated)
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	if ready == migrated {
		err = db.Migrate(e.ctx, now())
	}
	if err != nil {
		return nil, nil, errors.Join(err, files.Close(), db.Close())
	}
	return db, files, nil
}

// notEncrypted is logged about backups without recipients.
const notEncrypted = "the backup is not encrypted: set KITH_BACKUP_RECIPIENT to a public key of age"

type backupCommand struct {
	archiveFlags
	recipientFlags
	File          string `arg:"" help:"File to write; it appears under this name when it is complete. - is the standard output."`
	Tenant        string `help:"Back up this tenant only." placeholder:"ALIAS"`
	NoFiles       bool   `help:"Leave out the files of jobs (uploads, exports)."`
	WithMasterKey bool   `help:"Put the master key into the file. With the file alone, every secret in it can then be decrypted."`
	Unsigned      bool   `help:"Write a backup without a signature, where there is no master key. A change of the file cannot be detected; kith restore accepts it with --unsigned only."`
}

// Help says what the file contains.
func (backupCommand) Help() string {
	return `The file contains the whole database as of one moment and the files of jobs (KITH_FILES). The service may run meanwhile. ` +
		`API keys, webhook secrets, the service's own signing keys and the private keys of payment gateways are in it, encrypted under the master key. ` +
		`The master key is not in it. Store the master key separately: without it the secrets are lost, and with them every API key.

The file is signed with the master key, and kith restore refuses a file that was changed. The database URL may be that of a replica. The file is a gzipped tar archive, which age encrypts with --backup-recipient; each row is a line of JSON.`
}

// Run writes the backup.
func (c *backupCommand) Run(e *env) error {
	s := backup.Source{Kind: backup.Backup, Tenant: core.TenantAlias(c.Tenant), NoFiles: c.NoFiles}
	if err := c.exists(); err != nil {
		return err
	}
	var err error
	if s.Recipients, err = c.recipients(); err != nil {
		return err
	}
	keys, text, ok, err := c.keys()
	if err != nil {
		return err
	}
	if ok {
		var nonce [auth.NonceSize]byte
		random(nonce[:])
		if s.KeyCheck, err = backup.KeyCheck(keys, nonce); err != nil {
			return err
		}
		signer := keys.Backup()
		s.Signer = &signer
	}
	if !ok && !c.Unsigned {
		return core.Invalid("master-key", "is needed to sign the backup, and is not in "+c.masterKeyFile()+": give it by KITH_MASTER_KEY, or write an unsigned file with --unsigned")
	}
	if c.WithMasterKey {
		if !ok {
			return core.Invalid("with-master-key", "needs the master key, which is not here: give it by KITH_MASTER_KEY")
		}
		s.MasterKey = text
	}
	if len(s.Recipients) == 0 {
		e.log.Warn(notEncrypted)
	}
	return c.archiveFlags.write(e, s, c.File)
}

// write writes an archive to a file.
func (f *archiveFlags) write(e *env, s backup.Source, path string) error {
	if err := f.writable(path); err != nil {
		return err
	}
	db, files, err := f.openStore(e, unchanged)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	s.DB, s.Files, s.Kith, s.Now = db, files, version, now()
	if path == "-" {
		_, err := backup.Write(e.ctx, s, e.out)
		return err
	}
	show := progress.New(e.out)
	defer show.End()
	show.Begin(string(s.Kind), "rows and files", 0)
	s.Progress = show.At
	var done backup.Trailer
	size, err := atomicfile.Write(path, func(to io.Writer) (err error) {
		done, err = backup.Write(e.ctx, s, to)
		return err
	})
	if err != nil {
		return err
	}
	show.End()
	encrypted := ""
	if n := len(s.Recipients); n > 0 {
		encrypted = fmt.Sprintf(", encrypted (recipients: %d)", n)
	}
	_, err = fmt.Fprintf(e.out, "%s: %s, %d bytes%s, SHA-256 of its content %s\n", path, done, size, encrypted, done.SHA256)
	return err
}

// writable returns an error if a path cannot be that of an archive, before the work is done.
func (f *archiveFlags) writable(path string) error {
	if path == "-" {
		return nil
	}
	database, _ := f.file()
	for _, own := range []string{database, database + "-wal", database + "-shm", f.masterKeyFile(), f.newMasterKeyFile(), filepath.Join(f.Data, "sftp_host_key")} {
		if sameFile(path, own) {
			return core.Invalid("file", path+" is a file of kith itself; give another name")
		}
	}
	return checkNewFile("file", path, "kith.tar.gz")
}

// checkNewFile returns an error if the path of a flag cannot be that of a file to write. example
// is the name of one.
func checkNewFile(flag, path, example string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return core.Invalid(flag, path+" is a folder; name a file in it, such as "+filepath.Join(path, example))
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return core.Invalid(flag, "there is no folder "+filepath.Dir(path)+"; make it first")
	}
	return nil
}

// sameFile reports whether two paths are those of one file, which may not exist yet.
func sameFile(a, b string) bool {
	fileA, errA := os.Stat(a)
	fileB, errB := os.Stat(b)
	if errA != nil && errB != nil && a != filepath.Dir(a) {
		return filepath.Base(a) == filepath.Base(b) && sameFile(filepath.Dir(a), filepath.Dir(b))
	}
	return errA == nil && errB == nil && os.SameFile(fileA, fileB)
}

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
	from, err := os.Open(path)
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
