package main

import (
	"fmt"
	"time"

	"kith/backend/program"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
)

type tenantCommand struct {
	Create tenantCreateCommand `cmd:"" help:"Make a tenant and its test tenant, and print their API keys once."`
}

type tenantCreateCommand struct {
	databaseFlags
	Alias         string        `arg:"" help:"Alias of the live tenant; the test tenant is test_ALIAS."`
	LandingURL    string        `required:"" help:"Page that share links lead to." placeholder:"URL"`
	AllowedHosts  []string      `name:"allow-host" help:"Further host that rsLandingPage may name. May be repeated." placeholder:"HOST"`
	Consent       string        `default:"off" enum:"off,opt-in,opt-out" help:"When the attribution cookie may be set: ${enum}."`
	ConsentCookie string        `help:"Cookie with the visitor's answer, for opt-in and opt-out." placeholder:"NAME"`
	CookieLife    time.Duration `default:"720h" help:"How long a visit is remembered."`
	DiscountID    string        `default:"svc_discount" help:"The tenant's discount at the payment gateway."`
}

const maxCookieLife = 400 * 24 * time.Hour

// Run makes both tenants.
func (c *tenantCreateCommand) Run(e *env) error {
	if c.Consent != string(link.ConsentOff) && c.ConsentCookie == "" {
		return core.Invalid("consent-cookie", "is required with consent "+c.Consent)
	}
	if c.CookieLife < time.Second || c.CookieLife > maxCookieLife {
		return core.Invalid("cookie-life", "must be 1s to 9600h: browsers keep no cookie for more than 400 days")
	}
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	var tenants []program.NewTenant
	for _, alias := range []core.TenantAlias{core.TenantAlias(c.Alias), core.TenantAlias(program.TestPrefix + c.Alias)} {
		tenants = append(tenants, program.NewTenant{
			Alias: alias, Key: engine.MakeKey(alias), Program: c.program(),
			Policy:     link.Policy{Consent: link.Consent(c.Consent), ConsentCookie: c.ConsentCookie},
			DiscountID: c.DiscountID,
		})
	}
	if err := engine.CreateTenants(e.ctx, tenants...); err != nil {
		return err
	}
	width := len(program.TestPrefix) + len(c.Alias)
	fmt.Fprintf(e.out, "%-*s  API key (shown only now)\n", width, "tenant")
	for _, t := range tenants {
		fmt.Fprintf(e.out, "%-*s  %s\n", width, t.Alias, t.Key)
	}
	return nil
}

func (c *tenantCreateCommand) program() referral.Program {
	p := referral.DefaultProgram(c.LandingURL)
	p.AllowedHosts, p.CookieLife = c.AllowedHosts, core.Time(c.CookieLife.Milliseconds())
	return p
}
