package main

import (
	"fmt"
	"io"
	"time"

	"kith/backend/app/users"
	"kith/backend/atomicfile"
	"kith/core"
	"kith/core/wire"
)

type userCommand struct {
	Export userExportCommand `cmd:"" help:"Write all data about a user as one JSON document."`
}

type userExportCommand struct {
	archiveFlags
	Tenant  string `required:"" help:"Alias of the tenant." placeholder:"ALIAS"`
	Account string `required:"" help:"Id of the user's account." placeholder:"ID"`
	User    string `required:"" help:"Id of the user." placeholder:"ID"`
	File    string `arg:"" default:"-" help:"File to write; it appears under this name when it is complete. Default: the standard output."`
}

// Help says what the document contains.
func (userExportCommand) Help() string {
	return `The document has every row about the user, by table and column: the user, the account, codes, referrals as referrer and as referred, rewards with their ledger, events, attribution decisions, bills and webhook deliveries. ` +
		`Files that the tenant uploaded or exported may also name the user. They are deleted after 28 days.`
}

// Run writes the export.
func (c *userExportCommand) Run(e *env) error {
	account, err := core.ParseAccountID("account", c.Account)
	if err != nil {
		return err
	}
	user, err := core.ParseUserID("user", c.User)
	if err != nil {
		return err
	}
	db, files, err := c.openStore(e, migrated)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	write := func(to io.Writer) error {
		return users.WritePersonal(e.ctx, db, core.TenantAlias(c.Tenant), account, user, now(), to)
	}
	if c.File == "-" {
		return write(e.out)
	}
	size, err := atomicfile.Write(c.File, write)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s: %d bytes\n", c.File, size)
	return err
}

type tokenCommand struct {
	databaseFlags
	Tenant  string        `required:"" help:"Alias of the tenant." placeholder:"ALIAS"`
	Account string        `required:"" help:"Id of the account." placeholder:"ID"`
	User    string        `required:"" help:"Id of the user." placeholder:"ID"`
	Expires time.Duration `default:"24h" help:"How long the token is valid; 0 is without end."`
}

// Run prints a token.
func (c *tokenCommand) Run(e *env) error {
	var s wire.Subject
	var err error
	if s.Account, err = core.ParseAccountID("account", c.Account); err != nil {
		return err
	}
	if s.User, err = core.ParseUserID("user", c.User); err != nil {
		return err
	}
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	expires := core.Time(0)
	if c.Expires > 0 {
		expires = now() + core.Time(c.Expires.Milliseconds())
	}
	token, err := engine.Tenants.SignToken(e.ctx, core.TenantAlias(c.Tenant), s, expires)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.out, token)
	return err
}
