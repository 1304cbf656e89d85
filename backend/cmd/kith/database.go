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

	"kith/backend/job"
	"kith/backend/program"
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
)

// databaseFlags say where the state is.
type databaseFlags struct {
	Data          string `env:"KITH_DATA" default:"./data" help:"Folder of the embedded database and the master key."`
	DatabaseURL   string `env:"KITH_DATABASE_URL" help:"libSQL database: file:PATH, or libsql://, wss://, ws://, https://, http:// of a server. Default: kith.db in the data folder." placeholder:"URL"`
	DatabaseToken string `env:"KITH_DATABASE_TOKEN" help:"Token for the libSQL server." placeholder:"TOKEN"`
	MasterKey     string `env:"KITH_MASTER_KEY" help:"32 bytes in hex or base64 that seal secrets and sign cookies; edge and backend must share it. Default: the file master.key in the data folder, made when it is not there." placeholder:"KEY"`
}

// url is the database's URL; a file's folder is made.
func (f *databaseFlags) url() (string, error) {
	if f.DatabaseURL == "" {
		f.DatabaseURL = "file:" + filepath.Join(f.Data, "kith.db")
	}
	path, isFile := strings.CutPrefix(f.DatabaseURL, "file:")
	if !isFile {
		return f.DatabaseURL, nil
	}
	path, _, _ = strings.Cut(path, "?")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("data folder: %w", err)
	}
	return f.DatabaseURL, nil
}

func (f *databaseFlags) masterKeyFile() string { return filepath.Join(f.Data, "master.key") }

// masterKeySource is how the master key stands in a log.
func (f *databaseFlags) masterKeySource() string {
	if f.MasterKey == "" {
		return "in " + f.masterKeyFile()
	}
	return "set"
}

// masterKey is the key as text, from the flag or from the file. It is well
// formed: the component could only find out at its first request.
func (f *databaseFlags) masterKey() (string, error) {
	text, err := f.masterKeyText()
	if err == nil {
		_, err = auth.ParseKeyring(text)
	}
	return text, err
}

func (f *databaseFlags) masterKeyText() (string, error) {
	if f.MasterKey != "" {
		return f.MasterKey, nil
	}
	path := f.masterKeyFile()
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("master key: %w", err)
	}
	key := make([]byte, 32)
	random(key)
	made, err := keepNew(path, []byte(hex.EncodeToString(key)+"\n"))
	if err != nil {
		return "", fmt.Errorf("master key: %w", err)
	}
	if !made {
		return f.masterKeyText()
	}
	return hex.EncodeToString(key), nil
}

// keepNew writes a secret to a file of its own; false means that there is one. The
// file gets its name when it is whole: two processes that start together must
// end up with one secret, and one that is killed must not leave half of one.
func keepNew(path string, secret []byte) (bool, error) {
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

// open opens and migrates the database and returns the use cases on it.
func (f *databaseFlags) open(e *env) (*program.Engine, error) {
	key, err := f.masterKey()
	if err != nil {
		return nil, err
	}
	keys, err := auth.ParseKeyring(key)
	if err != nil {
		return nil, err
	}
	url, err := f.url()
	if err != nil {
		return nil, err
	}
	db, err := store.Open(url, f.DatabaseToken)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(e.ctx, now()); err != nil {
		_ = db.Close()
		return nil, err
	}
	return &program.Engine{
		DB: db, Keys: keys, Now: now, Entropy: random, Wake: func() {}, TryGateway: job.TryGateway, FindCustomer: job.FindCustomer,
	}, nil
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
