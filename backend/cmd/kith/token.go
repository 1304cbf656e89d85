package main

import (
	"fmt"
	"time"

	"kith/backend/app"
	"kith/core"
	"kith/core/wire"
)

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
	return c.with(e, func(engine *app.Engine) error {
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
	})
}
