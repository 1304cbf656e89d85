package main

import (
	"fmt"
	"net/netip"
	"strings"

	"kith/backend/app"
	"kith/core"
)

type webhookCommand struct {
	Allow     webhookAllowCommand     `cmd:"" help:"Allow a test tenant's events to be sent to addresses that are not public."`
	RotateKey webhookRotateKeyCommand `cmd:"" help:"Create a new key that signs the deliveries of all tenants. The old key stays published for 7 days."`
}

type webhookAllowCommand struct {
	tenantFlags
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
	return c.with(e, func(engine *app.Engine) error {
		if err := engine.Deliveries.AllowAddresses(e.ctx, c.Tenant, prefixes, c.Remove); err != nil {
			return err
		}
		all, err := engine.Deliveries.AllowedAddresses(e.ctx, c.Tenant)
		for _, prefix := range all {
			fmt.Fprintln(e.out, prefix)
		}
		return err
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
	return c.with(e, func(engine *app.Engine) error {
		id, err := engine.SigningKeys.Rotate(e.ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, id)
		return err
	})
}
