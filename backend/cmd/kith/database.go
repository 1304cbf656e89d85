package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/backend/worker"
	"kith/core"
	"kith/core/auth"
)

// databaseFlags say where the state is.
type databaseFlags struct {
	Data          string `env:"KITH_DATA" default:"./data" help:"Folder of the database file, the master key, the files of jobs and the compiled component."`
	DatabaseURL   string `env:"KITH_DATABASE_URL" help:"libSQL database: file:PATH, or the URL of a server (libsql, wss, ws, https or http). Default: kith.db in the data folder." placeholder:"URL"`
	DatabaseToken string `env:"KITH_DATABASE_TOKEN" help:"Token for the libSQL server." placeholder:"TOKEN"`
	MasterKey     string `env:"KITH_MASTER_KEY" help:"Key that encrypts secrets and signs cookies: 32 bytes in hex or base64, the same for edge and backend. More keys may follow after commas; they only verify and decrypt. Default: the file master.key in the data folder; a new database gets a new key." placeholder:"KEY"`
	MasterKeyNew  string `env:"KITH_MASTER_KEY_NEW" help:"Next master key, used by kith master-key rotate. Until then it only verifies and decrypts. Default: the file master.key.new in the data folder, if it exists." placeholder:"KEY"`
}

// url is the database's URL; a file's folder is made.
func (f *databaseFlags) url() (string, error) {
	path, isFile := f.file()
	if !isFile {
		return f.DatabaseURL, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	return f.DatabaseURL, nil
}

// file is where the database is when it is a file.
func (f *databaseFlags) file() (path string, isFile bool) {
	if f.DatabaseURL == "" {
		f.DatabaseURL = "file:" + filepath.Join(f.Data, "kith.db")
	}
	path, isFile = strings.CutPrefix(f.DatabaseURL, "file:")
	path, _, _ = strings.Cut(path, "?")
	return path, isFile
}

// newDatabase says whether a command may make a database.
type newDatabase bool

const (
	// mustExist is for commands about what is there already: a mistyped folder must
	// not look like an empty database.
	mustExist newDatabase = false
	mayBeNew  newDatabase = true
)

// openDatabase opens the database, and refuses one that is not for this program and
// its master key before anything is written.
func (f *databaseFlags) openDatabase(e *env, is newDatabase) (*store.Primary, error) {
	if is == mustExist {
		if err := f.exists(); err != nil {
			return nil, err
		}
	}
	url, err := f.url()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(url, f.DatabaseToken)
	if err != nil {
		return nil, err
	}
	if err := f.check(e, db); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

// check refuses a database that this program cannot read, or that has another
// master key.
func (f *databaseFlags) check(e *env, db *store.Primary) error {
	if err := db.CheckReleased(e.ctx); err != nil {
		return err
	}
	evidence, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return err
	}
	return f.checkKey(evidence)
}

// exists returns an error when there is no file of the database.
func (f *databaseFlags) exists() error {
	path, isFile := f.file()
	if !isFile {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no database: --data (KITH_DATA) or --database-url (KITH_DATABASE_URL) says where it is; kith serve and kith tenant create make a new one: %w", err)
	}
	return nil
}

// checkKey refuses a master key that does not belong to a database. Where there is no
// key, none is wrong.
func (f *databaseFlags) checkKey(evidence secretdb.MasterKey) error {
	keys, _, ok, err := f.keys()
	if err != nil || !ok {
		return err
	}
	switch {
	case evidence.Fingerprint != "":
		_, ok = keys.Find(evidence.Fingerprint)
	case evidence.Sealed != "":
		_, err := keys.Open(auth.KeyPlace(evidence.Tenant), evidence.Sealed)
		ok = err == nil
	}
	if !ok {
		return f.wrongKey()
	}
	if _, ok := keys.Find(evidence.Next); evidence.Next != "" && !ok {
		return core.Invalid("master-key", "("+f.masterKeySource()+") is being replaced in this database, and the new key is not here: give it by KITH_MASTER_KEY_NEW, or put its file in "+f.newMasterKeyFile())
	}
	return nil
}

func (f *databaseFlags) wrongKey() error {
	return core.Invalid("master-key", "("+f.masterKeySource()+") does not belong to this database, whose secrets would not open: give the key that the database was made with by KITH_MASTER_KEY, or put its file back in "+f.masterKeyFile()+"; or choose the database that this key belongs to")
}

// withIdentity returns the keys with the key of identities that a database has.
func withIdentity(keys auth.Keyring, evidence secretdb.MasterKey) (auth.Keyring, error) {
	if evidence.Identity != "" {
		return keys.OpenIdentity(evidence.Identity)
	}
	// A process may have got the key that will replace the database's as its first.
	if of, ok := keys.Find(evidence.Fingerprint); ok {
		return keys.WithIdentity(of), nil
	}
	return keys, nil
}

// openKeys is the master key. It is made when there is none and the database is new.
func (f *databaseFlags) openKeys(e *env, db *store.Primary) (keys auth.Keyring, err error) {
	evidence, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return keys, err
	}
	keys, _, ok, err := f.keys()
	if err == nil && ok {
		return withIdentity(keys, evidence)
	}
	if err != nil {
		return keys, err
	}
	if evidence != (secretdb.MasterKey{}) {
		return keys, core.Invalid("master-key", "is not in "+f.masterKeyFile()+", and this database has one: put its file back, or give the key by KITH_MASTER_KEY")
	}
	text, err := f.masterKey()
	if err != nil {
		return keys, err
	}
	return auth.ParseKeyring(text)
}

func (f *databaseFlags) masterKeyFile() string    { return filepath.Join(f.Data, "master.key") }
func (f *databaseFlags) newMasterKeyFile() string { return filepath.Join(f.Data, "master.key.new") }

// masterKeySource is how the master key stands in a log.
func (f *databaseFlags) masterKeySource() string {
	if f.MasterKey == "" {
		return "in " + f.masterKeyFile()
	}
	return "set"
}

// masterKey is the key as text, from the flag or from the file, and behind it those
// that are accepted besides. It is well formed: the component could only find out at
// its first request.
func (f *databaseFlags) masterKey() (string, error) {
	text, err := f.masterKeyText()
	if err != nil {
		return "", err
	}
	next, err := f.newMasterKey()
	if err != nil {
		return "", err
	}
	if next != "" {
		text += "," + next
	}
	_, err = auth.ParseKeyring(text)
	return text, err
}

// newMasterKey is the key that is to replace the master key, or empty: from the flag,
// or from the file beside that of the master key.
func (f *databaseFlags) newMasterKey() (string, error) {
	if f.MasterKeyNew != "" || f.MasterKey != "" {
		return f.MasterKeyNew, nil
	}
	text, err := readKeys(f.newMasterKeyFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

// readKeys reads a file of keys, one on each line, as ParseKeyring takes them.
func readKeys(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.Join(strings.Fields(string(text)), ","), err
}

func (f *databaseFlags) masterKeyText() (string, error) {
	if f.MasterKey != "" {
		return f.MasterKey, nil
	}
	path := f.masterKeyFile()
	text, err := readKeys(path)
	if err == nil {
		return text, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("master key: %w", err)
	}
	key := makeMasterKey()
	made, err := writeNewSecret(path, []byte(key+"\n"))
	if err != nil {
		return "", fmt.Errorf("master key: %w", err)
	}
	if !made {
		return f.masterKeyText()
	}
	return key, nil
}

// makeMasterKey makes a master key.
func makeMasterKey() string {
	key := make([]byte, 32)
	random(key)
	return hex.EncodeToString(key)
}

// writeNewSecret writes a secret to a file of its own; false means that there is one. The
// file gets its name when it is whole: two processes that start together must
// end up with one secret, and one that is killed must not leave half of one.
func writeNewSecret(path string, secret []byte) (bool, error) {
	folder, name := filepath.Split(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	file, err := os.CreateTemp(folder, name+".*") // for its owner only
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(secret)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return false, err
	}
	err = os.Link(file.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// open opens a database that there is, migrates it and returns the use cases on it.
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

// openOrCreate is open, and makes a database when there is none.
func (f *databaseFlags) openOrCreate(e *env) (*app.Engine, error) {
	return f.openEngine(e, mayBeNew)
}

func (f *databaseFlags) openEngine(e *env, is newDatabase) (*app.Engine, error) {
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
	engine.Gateways.Try, engine.Gateways.FindCustomer = worker.TryGateway, worker.FindCustomer
	return engine, nil
}

// keepFingerprint notes which master key the database belongs to, once.
func (f *databaseFlags) keepFingerprint(e *env, db *store.Primary, keys auth.Keyring) error {
	evidence, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return err
	}
	kept := evidence.Fingerprint
	if kept == "" {
		kept, err = secretdb.KeepKeyFingerprint(e.ctx, db, now(), keys.Fingerprint())
	}
	if _, ok := keys.Find(kept); err == nil && !ok {
		err = f.wrongKey() // another process was first, with another key
	}
	return err
}

func now() core.Time { return core.Time(time.Now().UnixMilli()) }

// random never fails: crypto/rand stops the process when the system has no
// random bytes.
func random(b []byte) { _, _ = rand.Read(b) }

// secret is how a secret stands in a log.
func secret(s string) string {
	if s == "" {
		return "unset"
	}
	return "set"
}
