package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/members"
	"kith/backend/identity"
	"kith/backend/portal/account"
	"kith/core"
	"kith/core/link"
	"kith/core/people"
)

type personCommand struct {
	Invite        personInviteCommand `cmd:"" help:"Invite a person to the portal of a tenant, and print the link once. The link is valid for 7 days."`
	List          personListCommand   `cmd:"" help:"List the members of a tenant, and its open invitations."`
	Role          personRoleCommand   `cmd:"" help:"Change the role of a member. The last owner stays."`
	Remove        personRemoveCommand `cmd:"" help:"Remove a member, or revoke an invitation. A person who is a member of no other tenant is deleted."`
	ResetPassword personResetCommand  `cmd:"" help:"Print a link once, with which a person chooses a new password. The link is valid for 1 hour."`
}

// portalFlags say where people open the portal.
type portalFlags struct {
	PortalURL string `env:"KITH_PORTAL_URL" default:"http://127.0.0.1:3000" help:"Origin at which people open the portal, such as https://portal.example. Links begin with it; without it, they lead to the portal of kith dev at its default address." placeholder:"ORIGIN"`
}

// link returns a link into the portal.
func (f portalFlags) link(path string) string { return strings.TrimSuffix(f.PortalURL, "/") + path }

type personInviteCommand struct {
	databaseFlags
	portalFlags
	Alias string `arg:"" help:"Alias of the tenant. Its members also work in its test tenant."`
	Email string `arg:"" help:"Address of the person."`
	Role  string `default:"owner" enum:"owner,manager,support,viewer" help:"What the person may do: ${enum}."`
}

// Run makes the invitation and prints its link.
func (c *personInviteCommand) Run(e *env) error {
	if err := checkOrigin("portal-url", c.PortalURL); err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		_, token, err := engine.Members.Invite(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), c.Email, c.Role)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, c.link(members.InvitationPath+token))
		return err
	})
}

type personListCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints one line for each member and each invitation.
func (c *personListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		operator := people.OperatorOf(core.TenantAlias(c.Alias))
		if _, err := engine.Tenants.ByAlias(e.ctx, operator.Tenant); err != nil {
			return err
		}
		all, open, err := engine.Members.List(e.ctx, operator)
		if err != nil {
			return err
		}
		out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, m := range all {
			steps, seen := "one-step sign-in", "never signed in"
			if m.TOTP {
				steps = "two-step sign-in"
			}
			if m.SignedIn != 0 {
				seen = "signed in " + clock(m.SignedIn)
			}
			if by := m.Voucher(); by != "" {
				seen += "\tinvited by " + by
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", m.Email, m.Role, steps, seen)
		}
		for _, i := range open {
			fmt.Fprintf(out, "%s\t%s\tinvited by %s\tuntil %s\n", i.Email, i.Role, i.By, clock(i.Expires))
		}
		return out.Flush()
	})
}

type personRoleCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
	Email string `arg:"" help:"Address of the member."`
	Role  string `arg:"" enum:"owner,manager,support,viewer" help:"What the person may do: ${enum}."`
}

// Run changes the role.
func (c *personRoleCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		operator := people.OperatorOf(core.TenantAlias(c.Alias))
		m, err := engine.Members.ByEmail(e.ctx, operator, c.Email)
		if err == nil {
			err = engine.Members.ChangeRole(e.ctx, operator, m.Person, c.Role)
		}
		if err == nil {
			_, err = fmt.Fprintf(e.out, "%s is %s of tenant %s\n", m.Email, c.Role, people.Home(operator.Tenant))
		}
		return err
	})
}

type personRemoveCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
	Email string `arg:"" help:"Address of the member, or of the invited person."`
}

// Run removes the member, or revokes the invitation if there is no such member.
func (c *personRemoveCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		operator := people.OperatorOf(core.TenantAlias(c.Alias))
		_, open, err := engine.Members.List(e.ctx, operator)
		if err != nil {
			return err
		}
		for _, i := range open {
			if strings.EqualFold(i.Email, strings.TrimSpace(c.Email)) {
				if err := engine.Members.RevokeInvitation(e.ctx, operator, i.ID); err != nil {
					return err
				}
				_, err = fmt.Fprintf(e.out, "the invitation of %s is revoked\n", i.Email)
				return err
			}
		}
		m, err := engine.Members.ByEmail(e.ctx, operator, c.Email)
		if err == nil {
			err = engine.Members.Remove(e.ctx, operator, m.Person)
		}
		if err == nil {
			_, err = fmt.Fprintf(e.out, "%s is no member of tenant %s any more\n", m.Email, people.Home(operator.Tenant))
		}
		return err
	})
}

type personResetCommand struct {
	databaseFlags
	portalFlags
	Email      string `arg:"" help:"Address of the person."`
	Tenant     string `help:"Alias of a tenant of the person, if several people have the address." placeholder:"ALIAS"`
	TwoStepOff bool   `help:"Turn two-step sign-in off too, for a person who has lost the phone and the recovery codes."`
}

// Run makes the link and prints it.
func (c *personResetCommand) Run(e *env) error {
	if err := checkOrigin("portal-url", c.PortalURL); err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		token, _, err := engine.Resets.MakeLink(e.ctx, c.Email, core.TenantAlias(c.Tenant), c.TwoStepOff)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, c.link(members.ResetPath+token))
		return err
	})
}

// sessionFlags are how long sessions of the portal live.
type sessionFlags struct {
	PortalIdle time.Duration `env:"KITH_PORTAL_IDLE" default:"30m" help:"Time without use after which a session of the portal ends. A page that shows the progress of a job uses it."`
	PortalLife time.Duration `env:"KITH_PORTAL_LIFE" default:"12h" help:"Time after which a session of the portal ends in any case, at most 336h (14 days)."`
}

func (f sessionFlags) limits() people.SessionLimits {
	return people.SessionLimits{Idle: core.Time(f.PortalIdle.Milliseconds()), Life: core.Time(f.PortalLife.Milliseconds())}
}

func (f sessionFlags) check() error {
	limits := f.limits()
	if limits.Life < people.MinSessionIdle || limits.Life > people.MaxSessionLife {
		return core.Invalid("portal-life", "must be 1m to 336h")
	}
	if limits.Idle < people.MinSessionIdle || limits.Idle > limits.Life {
		return core.Invalid("portal-idle", "must be 1m to portal-life")
	}
	return nil
}

// oidcFlags say how people sign in to the portal by OpenID Connect.
type oidcFlags struct {
	Issuer       string `name:"oidc-issuer" env:"KITH_OIDC_ISSUER" help:"URL of the identity provider with which people may sign in to the portal by OpenID Connect, such as https://id.example. Register PORTAL_URL/portal/oidc/callback there. Default: people sign in with passwords only." placeholder:"URL"`
	ClientID     string `name:"oidc-client-id" env:"KITH_OIDC_CLIENT_ID" help:"Id of the portal at the identity provider." placeholder:"ID"`
	ClientSecret string `name:"oidc-client-secret" env:"KITH_OIDC_CLIENT_SECRET" help:"Secret of the portal at the identity provider." placeholder:"SECRET"`
	ProviderName string `name:"oidc-name" env:"KITH_OIDC_NAME" default:"single sign-on" help:"Name of the identity provider on the sign-in page: Sign in with NAME." placeholder:"NAME"`
}

// provider returns the identity provider, or nil if there is none.
func (f oidcFlags) provider(portalURL string) (*account.Provider, error) {
	if f.Issuer == "" {
		return nil, nil
	}
	switch u, err := url.Parse(f.Issuer); {
	case err != nil || u.Host == "" || u.Scheme != "https" && !link.Loopback(u.Host) || u.RawQuery != "":
		return nil, errors.New("oidc-issuer: must be a URL with https, such as https://id.example; http is allowed on this machine only")
	case portalURL == "":
		return nil, errors.New("portal-url: is missing; the identity provider sends people back to it, so set it together with oidc-issuer")
	case f.ClientID == "":
		return nil, errors.New("oidc-client-id: is missing; register the portal at the identity provider, and set the id that it gives")
	}
	return &account.Provider{
		Name: f.ProviderName, Issuer: f.Issuer,
		Provider: identity.New(identity.Settings{
			Issuer: f.Issuer, ClientID: f.ClientID, Secret: f.ClientSecret, Redirect: strings.TrimSuffix(portalURL, "/") + account.CallbackPath,
		}),
	}, nil
}
