package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/libsql"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/backend/worker"
	"kith/core"
	"kith/core/auth"
)

// databaseFlags say where the database and the master key are.
type databaseFlags struct {
	Data          string `env:"KITH_DATA" type:"folder" default:"./data" help:"Folder of the database file, the master key, the files of jobs and the compiled component."`
	DatabaseURL   string `env:"KITH_DATABASE_URL" help:"libSQL database: file:PATH, or the URL of a server (libsql, wss, ws, https or http). Default: kith.db in the data folder." placeholder:"URL"`
	DatabaseToken string `env:"KITH_DATABASE_TOKEN" help:"Token for the libSQL server." placeholder:"TOKEN"`
	MasterKey     string `env:"KITH_MASTER_KEY" help:"Key that encrypts secrets and signs cookies: 32 bytes in hex or base64, the same for edge and backend. More keys may follow after commas; they only verify and decrypt. Default: the file master.key in the data folder; a new database gets a new key." placeholder:"KEY"`
	MasterKeyNew  string `env:"KITH_MASTER_KEY_NEW" help:"Next master key, used by kith master-key rotate. Until then it only verifies and decrypts. Default: the file master.key.new in the data folder, if it exists." placeholder:"KEY"`

	// restores is true if the database is restored, so that it may be a file of 0 bytes.
	restores bool
}

// url returns the URL of the database. It creates the folder of a file.
func (f *databaseFlags) url() (string, error) {
	path, isFile := f.file()
	if !isFile {
		return f.DatabaseURL, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("data folder: %w; create it for the user that runs kith, or choose another one by KITH_DATA", err)
	}
	return f.DatabaseURL, f.checkFile()
}

// checkFile returns an error if the file of the database was emptied, cannot be written, or is
// missing beside its log, or if it is beside a copy that a process has saved when it had lost the
// file: the copy has what was acknowledged, and the file may not.
func (f *databaseFlags) checkFile() error {
	path, isFile := f.file()
	if !isFile {
		return nil
	}
	saved, err := libsql.Saved(f.DatabaseURL)
	logAlone := libsql.CheckLog(path)
	switch {
	case err != nil:
		return err
	case saved != "":
		return fmt.Errorf("database %s: a kith that had lost this file has saved what was stored in %s; %s", path, saved, libsql.UseSaved(path))
	case logAlone != nil:
		return f.explain(logAlone)
	case isFolder(path):
		return fmt.Errorf("database %s is a folder, not a file: move it away, or give another by KITH_DATABASE_URL", path)
	case !f.restores && f.emptied(path):
		return fmt.Errorf("database %s has 0 bytes, but there is a master key, so it was emptied; keep a copy of the folder, and restore a backup into a new folder (kith restore), or remove the file if it never had data", path)
	}
	return checkWritable(path)
}

// checkWritable returns an error if this user cannot write the file of a database, its log or the
// index of the log. It does not open them: closing them would end the locks of SQLite. SQLite
// itself would read such a database, and leave files beside it that other users cannot write.
func checkWritable(path string) error {
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		err := unix.Access(file, unix.W_OK)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
			return fmt.Errorf("database: %s cannot be written: run the command as the user that runs kith, or give the file and its folder to that user: %w", file, err)
		}
	}
	return nil
}

// removed returns an error if the file of the database does not exist, but what was stored with
// it does.
func (f *databaseFlags) removed(path string) error {
	files := filepath.Join(f.Data, "files")
	if used, _ := os.ReadDir(files); len(used) == 0 || !f.hasKey() || !missing(path) {
		return nil
	}
	return fmt.Errorf("database %s does not exist, but there are a master key and files of jobs in %s, so it was removed: put it back, or restore a backup into a new folder (kith restore), or remove the folder of files if you need neither", path, files)
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func isFolder(path string) bool {
	file, err := os.Stat(path)
	return err == nil && file.IsDir()
}

// creation is how long the file of a database that a process creates may be empty.
const creation = 10 * time.Second

// emptied reports whether the file of the database has 0 bytes although there is a master
// key. It waits for a process that creates the database.
func (f *databaseFlags) emptied(path string) bool {
	for {
		file, err := os.Stat(path)
		if err != nil || file.Size() > 0 || !f.hasKey() {
			return false
		}
		if time.Since(file.ModTime()) > creation {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// file returns the path of the database if it is a file.
func (f *databaseFlags) file() (path string, isFile bool) {
	if f.DatabaseURL == "" {
		f.DatabaseURL = libsql.FileURL(filepath.Join(f.Data, "kith.db"))
	}
	if !strings.HasPrefix(f.DatabaseURL, "file:") {
		return f.DatabaseURL, false
	}
	path, err := libsql.FilePath(f.DatabaseURL)
	if err != nil {
		path = f.DatabaseURL // which the driver refuses
	}
	return path, true
}

// newDatabase says whether a command may create a database.
type newDatabase bool

const (
	// mustExist is for commands that need existing data: a mistyped folder must not
	// look like an empty database.
	mustExist newDatabase = false
	mayBeNew  newDatabase = true
)

// openDatabase opens the database. Before anything is written, it returns an error if
// the database does not match this program or the master key.
func (f *databaseFlags) openDatabase(e *env, is newDatabase) (*store.Primary, error) {
	if is == mustExist {
		if err := f.exists(); err != nil {
			return nil, err
		}
	}
	if _, _, _, err := f.keys(); err != nil {
		return nil, err // before a file is made
	}
	url, err := f.url()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(url, f.DatabaseToken)
	if err != nil {
		return nil, f.explain(err)
	}
	db.Version = version
	err = f.check(e, db)
	if err == nil && is == mustExist {
		err = hasTables(e.ctx, db)
	}
	if err != nil {
		_ = db.Close()
		return nil, f.explain(err)
	}
	return db, nil
}

// hasTables returns an error if a database is empty, such as one of a restore that was killed
// before it had begun: then it must stay empty, so that the restore can be repeated.
func hasTables(ctx context.Context, db *store.Primary) error {
	err := db.Restoring(ctx)
	if err != nil {
		return err
	}
	versions, err := db.Migrations(ctx)
	if err == nil && len(versions) == 0 {
		err = &core.Error{Code: core.CodeConflict, Message: "the database is empty: repeat the restore if one was interrupted; kith serve and kith tenant create make a new one"}
	}
	return err
}

// explain adds to an error of the database where it is, and what to do. Other errors are
// returned as they are.
func (f *databaseFlags) explain(err error) error {
	var known *core.Error
	if errors.As(err, &known) && known.Code != core.CodeUnavailable || strings.HasPrefix(err.Error(), "master") { // the key has a remedy of its own
		return err
	}
	path, isFile := f.file()
	if !isFile {
		where, remedy := f.DatabaseURL, "start the server, or correct KITH_DATABASE_URL and KITH_DATABASE_TOKEN"
		if u, bad := url.Parse(where); bad == nil {
			where = u.Redacted()
		}
		if !store.IsUnavailable(err) {
			remedy = "give file:PATH or the URL of a libSQL server by KITH_DATABASE_URL"
		}
		return fmt.Errorf("database %s: %w; %s", where, err, remedy)
	}
	remedy := "give the file and its folder to the user that runs kith, or choose others by KITH_DATA or KITH_DATABASE_URL"
	switch text := err.Error(); {
	case errors.Is(err, libsql.ErrFileLost):
		remedy = "find out what changed the files, and start kith again"
	case strings.Contains(text, "is the log of a database"):
		return fmt.Errorf("database: %w", err)
	case strings.Contains(text, "disk I/O error"):
		remedy = "look at its disk, which may be full, and at the log of each kith that uses it: if one has lost the file, stop all of them"
	case strings.Contains(text, "not a database"), strings.Contains(text, "malformed"):
		remedy = damagedRemedy
	case strings.Contains(text, "locked"):
		remedy = "another process holds its lock; end that process, or try again"
	case strings.Contains(text, "full"):
		remedy = freeSpace
	}
	return fmt.Errorf("database %s: %w; %s", path, err, remedy)
}

// freeSpace is the remedy for a full disk.
const freeSpace = "free space on its disk"

const damagedRemedy = "run kith doctor, keep a copy of the folder, and restore a backup into a new folder (kith restore)"

// quickCheckTime limits the check of a file at start. It is enough for a file of some
// hundred megabytes; kith doctor checks all of a larger one.
const quickCheckTime = 500 * time.Millisecond

// quickCheck returns an error if a quick check of the database's file finds damage within
// quickCheckTime.
func (f *databaseFlags) quickCheck(e *env, db *store.Primary) error {
	ctx, cancel := context.WithTimeout(e.ctx, quickCheckTime)
	defer cancel()
	problems, err := store.Integrity(ctx, db, false)
	switch {
	case ctx.Err() != nil:
		return e.ctx.Err()
	case err != nil:
		return f.explain(err)
	case len(problems) > 0:
		path, _ := f.file()
		return fmt.Errorf("database %s is damaged: %s; %s", path, problems[0], damagedRemedy)
	}
	return nil
}

// check returns an error if this program cannot read the database, or if the database
// has another master key.
func (f *databaseFlags) check(e *env, db *store.Primary) error {
	if err := db.CheckReleased(e.ctx); err != nil {
		return err
	}
	schema, err := db.Schema(e.ctx)
	if err == nil {
		err = schema.Newer()
	}
	if err != nil {
		return err
	}
	has, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return err
	}
	return f.checkKey(has)
}

// exists returns an error if the database is a file that does not exist, or that a process
// has lost; see checkFile.
func (f *databaseFlags) exists() error {
	path, isFile := f.file()
	if !isFile {
		return nil
	}
	if err := f.checkFile(); err != nil {
		return err
	}
	if err := f.removed(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no database: --data (KITH_DATA) or --database-url (KITH_DATABASE_URL) says where it is; kith serve and kith tenant create make a new one: %w", err)
	}
	return nil
}

// open opens an existing database, migrates it and returns the use cases on it.
func (f *databaseFlags) open(e *env) (*app.Engine, error) { return f.openEngine(e, mustExist) }

// with runs do with the use cases on an existing database, and closes it.
func (f *databaseFlags) with(e *env, do func(*app.Engine) error) error {
	engine, err := f.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	return do(engine)
}

// openOrCreate is like open but creates the database if it does not exist.
func (f *databaseFlags) openOrCreate(e *env) (*app.Engine, error) {
	return f.openEngine(e, mayBeNew)
}

func (f *databaseFlags) openEngine(e *env, is newDatabase) (*app.Engine, error) {
	if path, isFile := f.file(); isFile && is == mayBeNew && f.hasKey() && missing(path) {
		if err := cmp.Or(f.checkFile(), f.removed(path)); err != nil {
			return nil, err
		}
		if f.MasterKey == "" {
			e.log.Warn("new database beside an existing master key: if there was one before, stop kith and put it back, or restore a backup", "file", path)
		}
	}
	db, err := f.openDatabase(e, is)
	if err != nil {
		return nil, err
	}
	keys, err := f.openKeys(e, db)
	if err == nil {
		err = db.Migrate(e.ctx, now())
	}
	if err == nil {
		err = f.keepFingerprint(e, db, keys)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	engine := app.New(base.Base{DB: db, Keys: keys, Now: now, Entropy: random})
	engine.Gateways.Prepare, engine.Gateways.Registered, engine.Gateways.Tidy = worker.ConnectGateway, worker.GatewayWebhook, worker.TidyGateway
	engine.Gateways.Release, engine.Gateways.SendTest = worker.DisconnectGateway, worker.TestGateway
	engine.Gateways.Try, engine.Gateways.FindCustomer = worker.CheckGateway, worker.FindCustomer
	return engine, nil
}

// keepFingerprint stores the fingerprint of the master key in a new database.
func (f *databaseFlags) keepFingerprint(e *env, db *store.Primary, keys auth.Keyring) error {
	has, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return err
	}
	kept := has.Fingerprint
	if kept == "" {
		kept, err = secretdb.KeepKeyFingerprint(e.ctx, db, now(), keys.Fingerprint())
	}
	if _, ok := keys.Find(kept); err == nil && !ok {
		err = f.wrongKey() // another process has just stored another key
	}
	return err
}

func now() core.Time { return core.Time(time.Now().UnixMilli()) }

// random fills b with random bytes. It never fails: crypto/rand ends the process if the
// system has no random bytes.
func random(b []byte) { _, _ = rand.Read(b) }

// secret returns whether a secret is set, for the log.
func secret(s string) string {
	if s == "" {
		return "unset"
	}
	return "set"
}
