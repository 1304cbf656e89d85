package main

import (
	"fmt"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/members"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/webhook"
)

type webhookCommand struct {
	List       webhookListCommand       `cmd:"" help:"List the endpoints that a tenant's events are sent to."`
	Add        webhookAddCommand        `cmd:"" help:"Send a tenant's events to an endpoint, and print its secret once."`
	Remove     webhookRemoveCommand     `cmd:"" help:"Remove an endpoint, with its deliveries."`
	Test       webhookTestCommand       `cmd:"" help:"Send a test event to an endpoint."`
	Secret     webhookSecretCommand     `cmd:"" help:"Replace the secret of an endpoint. For 24 hours deliveries are signed with both secrets."`
	Deliveries webhookDeliveriesCommand `cmd:"" help:"List the deliveries of an endpoint, newest first."`
	Replay     webhookReplayCommand     `cmd:"" help:"Send an event again, or all events that failed since a time."`
	Allow      webhookAllowCommand      `cmd:"" help:"Allow a test tenant's events to be sent to addresses that are not public."`
	RotateKey  webhookRotateKeyCommand  `cmd:"" help:"Create a new key that signs the deliveries of all tenants. The old key stays published for 7 days."`
}

// webhookFlags name a tenant.
type webhookFlags struct {
	databaseFlags
	Tenant string `required:"" help:"Alias of the tenant." placeholder:"ALIAS"`
}

// on runs do with the use cases of an existing tenant.
func (f *webhookFlags) on(e *env, do func(*app.Engine, core.TenantAlias) error) error {
	alias, err := core.ParseTenantAlias(f.Tenant)
	if err != nil {
		return err
	}
	return f.with(e, func(engine *app.Engine) error {
		tenant, err := tenantdb.Find(e.ctx, engine.DB.Reads, alias)
		if err != nil {
			return err
		}
		return do(engine, tenant.Alias)
	})
}

type webhookListCommand struct{ webhookFlags }

// Run prints one line for each subscription.
func (c *webhookListCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		all, err := engine.Webhooks.List(e.ctx, tenant)
		if err != nil {
			return err
		}
		out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, s := range all {
			state := "working"
			switch {
			case s.Disabled != 0:
				state = "disabled since " + clock(s.Disabled)
			case s.FailingSince != 0:
				state = "failing since " + clock(s.FailingSince)
			case !s.Tried:
				state = "nothing sent"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", s.Endpoint, state, typeNames(s.Types), s.Name)
		}
		return out.Flush()
	})
}

// typeNames returns the types of a subscription as text.
func typeNames(types []webhook.Type) string {
	if len(types) == 0 {
		return "all events"
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " ")
}

type webhookAddCommand struct {
	webhookFlags
	URL  string   `arg:"" help:"URL of the endpoint: https, or http for a test tenant."`
	Name string   `help:"Note that list prints."`
	Type []string `help:"Type of the events to send, such as user.created; repeat the flag for further types. Without it, all types are sent." placeholder:"TYPE"`
}

// Run subscribes an endpoint.
func (c *webhookAddCommand) Run(e *env) error {
	in := webhook.Request{Endpoint: c.URL, Name: c.Name}
	for _, name := range c.Type {
		t, err := webhook.ParseType("type", name)
		if err != nil {
			return err
		}
		in.Types = append(in.Types, t)
	}
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		s, err := engine.Admin.Webhooks.Subscribe(e.ctx, members.OperatorOf(tenant), in)
		if err != nil {
			return err
		}
		if s.Secret == "" {
			_, err = fmt.Fprintln(e.out, "subscribed already; the secret is unchanged")
			return err
		}
		_, err = fmt.Fprintln(e.out, s.Secret)
		return err
	})
}

type webhookRemoveCommand struct {
	webhookFlags
	URL string `arg:"" help:"URL of the endpoint."`
}

// Run removes the subscription of an endpoint.
func (c *webhookRemoveCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		return engine.Admin.Webhooks.Unsubscribe(e.ctx, members.OperatorOf(tenant), webhook.Endpoint(c.URL))
	})
}

type webhookTestCommand struct {
	webhookFlags
	URL string `arg:"" help:"URL of the endpoint."`
}

// Run stores a test event; a running backend sends it.
func (c *webhookTestCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		_, err := engine.Admin.Webhooks.Test(e.ctx, members.OperatorOf(tenant), webhook.Endpoint(c.URL))
		return err
	})
}

type webhookSecretCommand struct {
	webhookFlags
	URL string `arg:"" help:"URL of the endpoint."`
}

// Run replaces the secret and prints the new one.
func (c *webhookSecretCommand) Run(e *env) error {
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		s, err := engine.Admin.Webhooks.RotateSecret(e.ctx, members.OperatorOf(tenant), webhook.Endpoint(c.URL))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, s.Secret)
		return err
	})
}

type webhookDeliveriesCommand struct {
	webhookFlags
	URL    string `arg:"" help:"URL of the endpoint."`
	State  string `help:"Show only deliveries in this state: waiting, sending, delivered or failed." placeholder:"STATE"`
	Limit  int    `default:"20" help:"Number of deliveries to show, up to 1000."`
	Offset int    `help:"Number of newer deliveries to leave out."`
}

// maxDeliveries is the most deliveries that are listed at once.
const maxDeliveries = 1000

// Run prints a line for each delivery, and one for each of its attempts.
func (c *webhookDeliveriesCommand) Run(e *env) error {
	if c.Limit < 0 || c.Limit > maxDeliveries || c.Offset < 0 {
		return core.Invalid("limit", "must be 0 to 1000, and offset 0 or more")
	}
	var state webhook.State
	if c.State != "" {
		var err error
		if state, err = webhook.ParseState("state", c.State); err != nil {
			return err
		}
	}
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		queue := webhook.Queue{Tenant: tenant, Endpoint: webhook.Endpoint(c.URL)}
		page, total, err := engine.Deliveries.List(e.ctx, queue, state, base.Page{Limit: c.Limit, Offset: c.Offset})
		if err != nil {
			return err
		}
		for _, d := range page {
			printDelivery(e, d)
		}
		_, err = fmt.Fprintf(e.out, "%d of %d\n", len(page), total)
		return err
	})
}

func printDelivery(e *env, d webhook.Delivery) {
	fmt.Fprintf(e.out, "%s  %s  %s  %s\n", d.Event, clock(d.Created), d.Type, d.State)
	for _, a := range d.Attempts {
		result := a.Error
		if a.Status != 0 {
			// %q prints the answer of an endpoint as one line, without control characters.
			result = fmt.Sprintf("%d %q", a.Status, a.Answer)
		}
		fmt.Fprintf(e.out, "    attempt %d  %s  %d ms  %s\n", a.Number, clock(a.Started), a.Duration, result)
	}
	if d.State == webhook.Waiting {
		fmt.Fprintf(e.out, "    next       %s\n", clock(d.Due))
	}
}

func clock(t core.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }

type webhookReplayCommand struct {
	webhookFlags
	URL   string        `arg:"" help:"URL of the endpoint."`
	Event string        `help:"Id of the event to send again." placeholder:"ID" xor:"what"`
	Since time.Duration `help:"Send all events again that failed within this time, such as 24h." placeholder:"AGO" xor:"what"`
}

// Run makes the deliveries due; a running backend sends them.
func (c *webhookReplayCommand) Run(e *env) error {
	if c.Event == "" && c.Since <= 0 {
		return core.Invalid("", "give --event or --since")
	}
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		operator, endpoint := members.OperatorOf(tenant), webhook.Endpoint(c.URL)
		if c.Event != "" {
			return engine.Admin.Webhooks.Replay(e.ctx, operator, endpoint, c.Event)
		}
		n, err := engine.Admin.Webhooks.ReplayFailed(e.ctx, operator, endpoint, engine.Now()-core.Time(c.Since.Milliseconds()))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, n, "events are sent again")
		return err
	})
}

type webhookAllowCommand struct {
	webhookFlags
	Address []string `arg:"" optional:"" help:"Addresses such as 127.0.0.1, or networks such as 10.1.0.0/16. Without one, list what is allowed."`
	Remove  bool     `help:"Remove the addresses from the list."`
}

// Run changes or lists the addresses of a test tenant.
func (c *webhookAllowCommand) Run(e *env) error {
	var prefixes []netip.Prefix
	for _, text := range c.Address {
		prefix, err := parsePrefix(text)
		if err != nil {
			return err
		}
		prefixes = append(prefixes, prefix)
	}
	return c.on(e, func(engine *app.Engine, tenant core.TenantAlias) error {
		if err := engine.Deliveries.AllowAddresses(e.ctx, tenant, prefixes, c.Remove); err != nil {
			return err
		}
		all, err := engine.Deliveries.AllowedAddresses(e.ctx, tenant)
		if err != nil {
			return err
		}
		for _, prefix := range all {
			fmt.Fprintln(e.out, prefix)
		}
		return nil
	})
}

// parsePrefix parses a prefix, or an address as the prefix of only that address.
func parsePrefix(text string) (netip.Prefix, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil && strings.Contains(text, "/") {
		return prefix, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.Prefix{}, core.Invalid("address", "must be an IP address or a prefix such as 10.1.0.0/16")
}

type webhookRotateKeyCommand struct{ databaseFlags }

// Run creates the new key and prints its id.
func (c *webhookRotateKeyCommand) Run(e *env) error {
	engine, err := c.open(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	id, err := engine.SigningKeys.Rotate(e.ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(e.out, id)
	return err
}
