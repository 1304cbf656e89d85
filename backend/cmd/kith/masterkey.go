package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
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
	fmt.Fprintf(e.out, "%d secrets were encrypted again; all are encrypted under the key %s.\n", resealed, ring.Fingerprint()[:8])
	return c.promote(e, next, keys)
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
	return os.Rename(file.Name(), path)
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
