package main

import (
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

// Help says what to do in which order.
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

// Run makes the key: in a file beside that of the master key, or, where that is in the
// environment, on the terminal.
func (c *masterKeyNewCommand) Run(e *env) error {
	if err := c.exists(); err != nil {
		return err
	}
	if c.MasterKey != "" {
		_, err := fmt.Fprintf(e.out, "%s\nGive it to every kith as KITH_MASTER_KEY_NEW, beside KITH_MASTER_KEY, and restart them one by one. Then run kith master-key rotate.\n", makeMasterKey())
		return err
	}
	if _, err := os.Stat(c.masterKeyFile()); err != nil {
		return core.Invalid("master-key", "is not in "+c.masterKeyFile()+": there is none to replace")
	}
	made, err := writeNewSecret(c.newMasterKeyFile(), []byte(makeMasterKey()+"\n"))
	if err != nil {
		return err
	}
	if !made {
		return core.Invalid("master-key-new", "is in "+c.newMasterKeyFile()+" already; restart every kith, and run kith master-key rotate")
	}
	_, err = fmt.Fprintf(e.out, "The new key is in %s. Restart every kith, one by one; elsewhere, put the file there first. Then run kith master-key rotate.\n", c.newMasterKeyFile())
	return err
}

type masterKeyRotateCommand struct{ databaseFlags }

// Run seals all secrets under the new key, or, when there is none, under the first one.
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
	fmt.Fprintf(e.out, "%d secrets were sealed anew; all are sealed under the key %s.\n", resealed, ring.Fingerprint()[:8])
	return c.promote(e, next, keys)
}

// keysFirst are keys in their order, with one of them first that need not be among
// them.
func keysFirst(first, others string) string {
	var all []string
	for _, key := range strings.Split(first+","+others, ",") {
		if key != "" && (len(all) == 0 || key != first) {
			all = append(all, key)
		}
	}
	return strings.Join(all, ",")
}

// promote makes the new key the first of the file, and says what is to be done next.
func (c *masterKeyRotateCommand) promote(e *env, next, keys string) error {
	const then = "restart every kith, one by one, and run kith master-key rotate once more"
	switch {
	case next == "" && !strings.Contains(keys, ","):
		return nil
	case next == "":
		_, err := fmt.Fprintln(e.out, "No secret needs the further keys. Take them away once no cookie that they signed is to count, which is 30 days after the restart; keep them with the backups that were made under them.")
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
	_, err := fmt.Fprintf(e.out, "%s has the new key on its first line and the old one below. Now %s; elsewhere, put the file there first.\n", c.masterKeyFile(), then)
	return err
}

// replaceKeys writes a file of keys anew; it has either the old ones or the new ones.
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
