package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"kith/backend/app"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/core"
	"kith/core/auth"
)

type masterKeyCommand struct {
	New    masterKeyNewCommand    `cmd:"" help:"Create the key that will replace the master key."`
	Rotate masterKeyRotateCommand `cmd:"" help:"Encrypt every secret of the database under the new key, while the service runs."`
}

// Help lists the steps of a replacement.
func (masterKeyCommand) Help() string {
	return `Follow these steps:

  1. Run kith master-key new. It creates the new key. Restart all kith processes, one by one. Each then accepts both keys and signs with the old one.
  2. Run kith master-key rotate. It encrypts every secret under the new key.
  3. Restart all kith processes, one by one. Each then signs with the new key and accepts both.
  4. Run kith master-key rotate again. It encrypts the secrets that were written under the old key in the meantime.
  5. Remove the old key: after 30 days, or at once if it leaked. Cookies that it signed are then ignored. Keep the old key with the backups that were made under it.

Each rotate may be interrupted and run again.`
}

type masterKeyNewCommand struct{ databaseFlags }

// Run creates the key: in a file next to that of the master key, or, if the master key
// is given by a flag or variable, on the terminal.
func (c *masterKeyNewCommand) Run(e *env) error {
	if err := c.exists(); err != nil {
		return err
	}
	if c.MasterKey != "" {
		_, err := fmt.Fprintf(e.out, "%s\nGive it to all kith processes as KITH_MASTER_KEY_NEW, in addition to KITH_MASTER_KEY, and restart them one by one. Then run kith master-key rotate.\n", makeMasterKey())
		return err
	}
	if _, err := os.Stat(c.masterKeyFile()); err != nil {
		return c.noKey("so it cannot be replaced")
	}
	made, err := writeNewSecret(c.newMasterKeyFile(), []byte(makeMasterKey()+"\n"))
	if err != nil {
		return err
	}
	if !made {
		return core.Invalid("master-key-new", "is in "+c.newMasterKeyFile()+" already; restart all kith processes, and run kith master-key rotate")
	}
	giveOwner(c.newMasterKeyFile(), c.masterKeyFile())
	_, err = fmt.Fprintf(e.out, "The new key is in %s. Copy the file to the data folders of the other machines. Restart all kith processes, one by one. Then run kith master-key rotate.\n", c.newMasterKeyFile())
	return err
}

type masterKeyRotateCommand struct{ databaseFlags }

// Run seals all secrets under the new key, or under the first key if there is no new
// one.
func (c *masterKeyRotateCommand) Run(e *env) error {
	next, err := c.newMasterKey()
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		old, err := c.masterKeyText()
		if err != nil {
			return err
		}
		keys := keysFirst(next, old)
		ring, err := auth.ParseKeyring(keys)
		if err != nil {
			return err
		}
		engine.Keys = ring.WithIdentity(engine.Keys)
		resealed, err := engine.MasterKey.Rotate(e.ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%d secrets were encrypted again; all are encrypted under the key %s. Processes that were not restarted since it was made cannot read them: restart those, and keep the files of keys.\n", resealed, ring.Fingerprint()[:8])
		return c.promote(e, next, keys)
	})
}

// keysFirst returns a list of keys with one key moved, or added, to the front.
func keysFirst(first, others string) string {
	var all []string
	for _, key := range strings.Split(first+","+others, ",") {
		if key != "" && (len(all) == 0 || key != first) {
			all = append(all, key)
		}
	}
	return strings.Join(all, ",")
}

// promote makes the new key the first of the file, and prints what to do next.
func (c *masterKeyRotateCommand) promote(e *env, next, keys string) error {
	const then = "restart all kith processes, one by one, and run kith master-key rotate again"
	switch {
	case next == "" && !strings.Contains(keys, ","):
		return nil
	case next == "":
		_, err := fmt.Fprintln(e.out, "No secret needs the further keys. Remove them 30 days after the restart, when the cookies that they signed have expired. Keep them with the backups that were made under them.")
		return err
	case c.MasterKey != "":
		_, err := fmt.Fprintln(e.out, "Now set KITH_MASTER_KEY to the new key, a comma and the old key, without KITH_MASTER_KEY_NEW; "+then+".")
		return err
	}
	if err := replaceKeys(c.masterKeyFile(), keys); err != nil {
		return err
	}
	if err := os.Remove(c.newMasterKeyFile()); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.out, "%s has the new key on its first line and the old one below. Copy the file to the data folders of the other machines. Then %s.\n", c.masterKeyFile(), then)
	return err
}

// replaceKeys replaces a file of keys atomically.
func replaceKeys(path, keys string) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // for its owner only
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(strings.ReplaceAll(keys, ",", "\n") + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	giveOwner(file.Name(), path)
	return os.Rename(file.Name(), path)
}

// giveOwner gives a file to the owner of another one, if this process may: that of root.
func giveOwner(path, like string) {
	info, err := os.Stat(like)
	if err != nil {
		return
	}
	if is, ok := info.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(path, int(is.Uid), int(is.Gid))
	}
}

type dbKeyCommand struct{}

// Help says which process needs which line.
func (dbKeyCommand) Help() string {
	return `It prints two variables, each on a line:

  SQLD_AUTH_JWT_KEY    the public key: for the primary and all replicas (sqld), which then refuse calls without the token. sqld --auth-jwt-key-file reads it from a file.
  KITH_DATABASE_TOKEN  the token, a secret: for all Kith processes. It permits reading and writing, and does not expire.

The private key is not kept. To replace the token, run the command again, and restart all processes with the new variables.`
}

// Run prints a new public key and the only token that it verifies, in the form of Ed25519 that sqld
// reads: a key in base64url, and a JWT whose claim "a" is the access.
func (dbKeyCommand) Run(e *env) error {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	text := base64.RawURLEncoding.EncodeToString
	signed := text([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + text([]byte(`{"a":"rw"}`))
	_, err = fmt.Fprintf(e.out, "SQLD_AUTH_JWT_KEY=%s\nKITH_DATABASE_TOKEN=%s.%s\n", text(public), signed, text(ed25519.Sign(private, []byte(signed))))
	return err
}

// hasKey reports whether there is a master key, or a file of it that cannot be read.
func (f *databaseFlags) hasKey() bool {
	_, err := os.Stat(f.masterKeyFile())
	return f.MasterKey != "" || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// keys returns the master key and its text; ok is false if there is no master key. It
// does not create one.
func (f *databaseFlags) keys() (keys auth.Keyring, text string, ok bool, err error) {
	if !f.hasKey() {
		if f.MasterKeyNew != "" {
			_, err = f.newMasterKey()
		}
		return keys, "", false, err
	}
	text, err = f.masterKey()
	if err == nil {
		keys, err = auth.ParseKeyring(text)
	}
	return keys, text, err == nil, err
}

// checkKey returns an error if the master key does not belong to a database. It returns
// nil if there is no master key.
func (f *databaseFlags) checkKey(has secretdb.MasterKey) error {
	keys, _, ok, err := f.keys()
	if err != nil || !ok {
		return err
	}
	return f.checkKeyOf(keys, has)
}

// checkKeyOf is checkKey for the keys of a running process: its files may have others by
// now.
func (f *databaseFlags) checkKeyOf(keys auth.Keyring, has secretdb.MasterKey) error {
	belongs := func(keys auth.Keyring) bool {
		switch {
		case has.Fingerprint != "":
			_, ok := keys.Find(has.Fingerprint)
			return ok
		case has.Sealed != "":
			_, err := keys.Open(auth.KeyPlace(has.Tenant), has.Sealed)
			return err == nil
		}
		return true
	}
	replaced := func(keys auth.Keyring) bool {
		_, ok := keys.Find(has.Next)
		return has.Next == "" || ok
	}
	if belongs(keys) && replaced(keys) {
		return nil
	}
	if later, _, ok, err := f.keys(); err == nil && ok && belongs(later) && replaced(later) {
		return core.Invalid("master-key", "was rotated since this process started: restart it; the file "+f.masterKeyFile()+" is right, so leave it")
	}
	if !belongs(keys) {
		return f.wrongKey()
	}
	return core.Invalid("master-key", "("+f.masterKeySource()+") is being replaced in this database, and the new key is not here: "+f.giveKey("KITH_MASTER_KEY_NEW", f.newMasterKeyFile(), "the new key"))
}

func (f *databaseFlags) wrongKey() error {
	return core.Invalid("master-key", "("+f.masterKeySource()+") does not belong to this database and cannot decrypt its secrets: "+f.giveKey("KITH_MASTER_KEY", f.masterKeyFile(), "the key that the database was created with"))
}

// giveKey returns what to do so that this process gets a key: it reads the variable if the
// master key is from one, and else the file.
func (f *databaseFlags) giveKey(variable, file, key string) string {
	if f.MasterKey != "" {
		return "set " + variable + " to " + key
	}
	return "put " + key + " into " + file
}

// noKey returns the error of a process without a master key.
func (f *databaseFlags) noKey(so string) *core.Error {
	return core.Invalid("master-key", "is neither in KITH_MASTER_KEY nor in "+f.masterKeyFile()+", "+so+": put it where the other kith processes have it")
}

// withIdentity returns the keys with the database's key of identities.
func withIdentity(keys auth.Keyring, has secretdb.MasterKey) (auth.Keyring, error) {
	if has.Identity != "" {
		return keys.OpenIdentity(has.Identity)
	}
	// The first key of this process may be the one that will replace the database's.
	if of, ok := keys.Find(has.Fingerprint); ok {
		return keys.WithIdentity(of), nil
	}
	return keys, nil
}

// openKeys returns the master key. It creates one if none exists and the database is
// new.
func (f *databaseFlags) openKeys(e *env, db *store.Primary) (keys auth.Keyring, err error) {
	has, err := secretdb.FindMasterKey(e.ctx, db.Reads)
	if err != nil {
		return keys, err
	}
	keys, _, ok, err := f.keys()
	if err == nil && ok {
		return withIdentity(keys, has)
	}
	if err != nil {
		return keys, err
	}
	if has != (secretdb.MasterKey{}) {
		return keys, f.noKey("and this database has one")
	}
	// The tables come first: a file of 0 bytes beside a master key was emptied.
	if err := db.Migrate(e.ctx, now()); err != nil {
		return keys, err
	}
	text, err := f.masterKey()
	if err != nil {
		return keys, err
	}
	return auth.ParseKeyring(text)
}

func (f *databaseFlags) masterKeyFile() string    { return filepath.Join(f.Data, "master.key") }
func (f *databaseFlags) newMasterKeyFile() string { return filepath.Join(f.Data, "master.key.new") }

// masterKeySource returns where the master key is from, for the log.
func (f *databaseFlags) masterKeySource() string {
	if f.MasterKey == "" {
		return "in " + f.masterKeyFile()
	}
	return "set"
}

// masterKey returns the master key as text, from the flag or the file, followed by the
// other accepted keys. It checks the form, because the component would report an error
// only at its first request.
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
	if _, err = auth.ParseKeyring(text); err != nil {
		return text, fmt.Errorf("master-key (%s): %w; %s", f.masterKeySource(), err, f.giveKey("KITH_MASTER_KEY", f.masterKeyFile(), "the right key"))
	}
	return text, nil
}

// newMasterKeySource returns where the new master key is from.
func (f *databaseFlags) newMasterKeySource() string {
	if f.MasterKeyNew != "" || f.MasterKey != "" {
		return "set"
	}
	return "in " + f.newMasterKeyFile()
}

// newMasterKey returns the key that will replace the master key, or "": from the flag,
// or from its file in the data folder.
func (f *databaseFlags) newMasterKey() (string, error) {
	next := f.MasterKeyNew
	if f.newMasterKeySource() != "set" {
		var err error
		if next, err = readKeys(f.newMasterKeyFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if next != "" {
		if _, err := auth.ParseKeyring(next); err != nil {
			return "", fmt.Errorf("master-key-new (%s): %w; give a key that kith master-key new made, or none", f.newMasterKeySource(), err)
		}
	}
	return next, nil
}

// readKeys reads a file with one key per line, in the form that auth.ParseKeyring takes.
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
		return "", fmt.Errorf("master key: %w; let the user that runs kith read it", err)
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

// makeMasterKey returns a new master key.
func makeMasterKey() string {
	key := make([]byte, 32)
	random(key)
	return hex.EncodeToString(key)
}

// writeNewSecret writes a secret to a new file. It returns false if the file exists. The
// file gets its name when it is complete: two processes that start together must use
// the same secret, and a killed process must not leave an incomplete one.
func writeNewSecret(path string, secret []byte) (bool, error) {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return false, err
	}
	file, err := os.CreateTemp(folder, filepath.Base(path)+".*") // for its owner only
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
