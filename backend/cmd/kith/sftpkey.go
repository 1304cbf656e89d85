package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"kith/backend/sftp"
	"kith/core"
)

type sftpKeyCommand struct {
	Add    sftpKeyAddCommand    `cmd:"" help:"Let a public key send files of a tenant: who connects names the tenant as the user."`
	Remove sftpKeyRemoveCommand `cmd:"" help:"End that, also for who is connected."`
	List   sftpKeyListCommand   `cmd:"" help:"Print the keys of a tenant, and when each was last used."`
}

// maxKeyFile bounds the file of a public key, in bytes.
const maxKeyFile = 64 << 10

type sftpKeyAddCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant; its test tenant has keys of its own."`
	File  string `arg:"" help:"File of an RSA or Ed25519 public key, as ssh-keygen writes it (.pub); -: the standard input."`
}

// Run prints the key's fingerprint.
func (c *sftpKeyAddCommand) Run(e *env) error {
	in := os.Stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxKeyFile))
	if err != nil {
		return err
	}
	key, err := sftp.ParseKey(text)
	if err != nil {
		return err
	}
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	added, err := engine.AddSFTPKey(e.ctx, core.TenantAlias(c.Alias), key)
	if err != nil {
		return err
	}
	already := ""
	if !added {
		already = "  (there already)"
	}
	_, err = fmt.Fprintln(e.out, key.Fingerprint+already)
	return err
}

type sftpKeyRemoveCommand struct {
	databaseFlags
	Alias       string `arg:"" help:"Alias of the tenant."`
	Fingerprint string `arg:"" help:"Fingerprint of the key, as add and list print it (SHA256:…)."`
}

// Run fails when the tenant has no such key.
func (c *sftpKeyRemoveCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	return engine.RemoveSFTPKey(e.ctx, core.TenantAlias(c.Alias), c.Fingerprint)
}

type sftpKeyListCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints one key on each line.
func (c *sftpKeyListCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	keys, err := engine.SFTPKeys(e.ctx, core.TenantAlias(c.Alias))
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		used := "never used"
		if k.Used != 0 {
			used = "used " + clock(k.Used)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", k.Fingerprint, k.Type, used, k.Note)
	}
	return out.Flush()
}
