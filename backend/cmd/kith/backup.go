package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"

	"kith/backend/atomicfile"
	"kith/backend/backup"
	"kith/backend/file"
	"kith/backend/progress"
	"kith/backend/store"
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
