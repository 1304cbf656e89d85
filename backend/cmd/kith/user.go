package main

import (
	"fmt"
	"io"

	"kith/backend/backup"
	"kith/core"
)

type userCommand struct {
	Export userExportCommand `cmd:"" help:"Write all that the service holds about a user as one JSON document."`
}

type userExportCommand struct {
	archiveFlags
	Tenant  string `required:"" help:"Alias of the tenant." placeholder:"ALIAS"`
	Account string `required:"" help:"The user's account." placeholder:"ID"`
	User    string `required:"" help:"The user." placeholder:"ID"`
	File    string `arg:"" default:"-" help:"Where to write; it gets its name when it is whole. Default: the standard output."`
}

// Help says what is in it.
func (userExportCommand) Help() string {
	return `Every row about the user, by table and column: themselves and their account, codes, referrals made and got, rewards with their ledger, events, attribution decisions, bills, and what was told to webhooks of them. ` +
		`Files that the tenant uploaded or exported may name the user too; they go after 28 days.`
}

// Run exports.
func (c *userExportCommand) Run(e *env) error {
	account, err := core.ParseAccountID("account", c.Account)
	if err != nil {
		return err
	}
	user, err := core.ParseUserID("user", c.User)
	if err != nil {
		return err
	}
	db, files, err := c.openStore(e, upToDate)
	if err != nil {
		return err
	}
	defer db.Close()
	defer files.Close()
	write := func(to io.Writer) error {
		return backup.Person(e.ctx, db, core.TenantAlias(c.Tenant), account, user, now(), to)
	}
	if c.File == "-" {
		return write(e.out)
	}
	size, err := writeWhole(c.File, write)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s: %d bytes\n", c.File, size)
	return err
}
