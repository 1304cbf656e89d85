package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/core"
	"kith/core/auth"
	"kith/core/people"
)

type keyCommand struct {
	Create keyCreateCommand `cmd:"" help:"Create an API key, and print its secret once."`
	List   keyListCommand   `cmd:"" help:"Print the keys of a tenant, their roles, and when each was last used."`
	Rotate keyRotateCommand `cmd:"" help:"Give a key a new secret, and print it once. The old secret stays valid for the time of --overlap."`
	Revoke keyRevokeCommand `cmd:"" help:"Revoke a key. Backends refuse it at once, edges within 2 seconds, and those without a database after the time that the tenant sets (link-max-age) or when the backend reports it."`
}

type keyCreateCommand struct {
	databaseFlags
	Alias   string        `arg:"" help:"Alias of the tenant. The test tenant has its own keys."`
	Name    string        `required:"" help:"Name of the key, such as that of the system that uses it." placeholder:"NAME"`
	Role    string        `required:"" help:"What the key permits: all, read (every read, no write), events (event calls, users, code look-ups), import (files, jobs, results) or tokens (signs user tokens, makes no call)." placeholder:"ROLE"`
	Expires time.Duration `help:"How long the key is valid, such as 2160h; 0 is without end."`
}

// Run creates the key and prints its secret.
func (c *keyCreateCommand) Run(e *env) error {
	role, err := auth.ParseRole("role", c.Role)
	if err != nil {
		return err
	}
	if c.Expires > 0 && c.Expires < time.Millisecond { // the unit in which it is stored
		return core.Invalid("expires", "must be 1ms or more, or 0 for a key without end")
	}
	return c.with(e, func(engine *app.Engine) error {
		expires := core.Time(0)
		if c.Expires > 0 {
			expires = engine.Now() + core.Time(c.Expires.Milliseconds())
		}
		_, secret, err := engine.Admin.APIKeys.Create(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), c.Name, role, expires)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, secret)
		return err
	})
}

type keyListCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Help says how exact the time of last use is.
func (keyListCommand) Help() string {
	return `The time of last use is exact to within two minutes. Code look-ups that an edge answers are not recorded; events that it receives are.`
}

// Run prints one line for each secret, with its id.
func (c *keyListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		keys, err := engine.APIKeys.List(e.ctx, core.TenantAlias(c.Alias))
		if err != nil {
			return err
		}
		out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			fmt.Fprintf(out, "%s\t%s\t%s\tcreated %s\t%s\t%s\n", k.Name, k.Role, k.ID(), clock(k.Created), lastUse(k.Used), validity(k, engine.Now()))
		}
		return out.Flush()
	})
}

// lastUse returns when a key was last used, as text.
func lastUse(at core.Time) string {
	if at == 0 {
		return "never used"
	}
	return "used " + clock(at)
}

// validity returns until when a secret is valid, as text.
func validity(k auth.APIKey, now core.Time) string {
	switch {
	case !k.Valid(now):
		return "expired " + clock(k.Expires)
	case k.Replaced != 0:
		return "replaced, valid until " + clock(k.Expires)
	case k.Expires != 0:
		return "valid until " + clock(k.Expires)
	}
	return "valid"
}

type keyRotateCommand struct {
	databaseFlags
	Alias   string        `arg:"" help:"Alias of the tenant."`
	Name    string        `arg:"" help:"Name of the key."`
	Overlap time.Duration `default:"24h" help:"How long the old secret stays valid, 0s to 720h; with 0s it ends at once."`
}

// Run rotates the key and prints the new secret.
func (c *keyRotateCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		_, secret, err := engine.Admin.APIKeys.Rotate(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), c.Name, core.Time(c.Overlap.Milliseconds()))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, secret)
		return err
	})
}

type keyRevokeCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
	Name  string `arg:"" help:"Name of the key."`
	Last  bool   `help:"Revoke even the last key with the role all. After that only this command line can create another one."`
}

// Run revokes the key. It fails if the tenant has no such key.
func (c *keyRevokeCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		if err := engine.Admin.APIKeys.Revoke(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), c.Name, c.Last); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.out, "key %s of tenant %s is revoked\n", c.Name, c.Alias)
		return err
	})
}
