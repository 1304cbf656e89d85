package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app/base"
	"kith/core"
	"kith/core/billing"
)

type gatewayCommand struct {
	Connect    gatewayConnectCommand    `cmd:"" help:"Store how to reach a tenant's payment gateway. Private keys are stored encrypted and never shown."`
	Show       gatewayShowCommand       `cmd:"" help:"Print the stored connection, without the private keys."`
	Test       gatewayTestCommand       `cmd:"" help:"Test the keys. At Braintree, look up the tenant's discount; at Stripe, test each permission of the key, and that a test event arrives."`
	Disconnect gatewayDisconnectCommand `cmd:"" help:"Delete the stored connection and its keys, and the webhook endpoint that Kith made at Stripe."`
}

// gatewayConnectCommand connects Braintree unless another gateway is named.
type gatewayConnectCommand struct {
	Braintree gatewayBraintreeCommand `cmd:"" default:"withargs" help:"Connect Braintree. The word braintree may be left out."`
	Stripe    gatewayStripeCommand    `cmd:"" help:"Connect Stripe by a restricted key, make the webhook endpoint there, and test both."`
}

type gatewayBraintreeCommand struct {
	tenantFlags
	MerchantID  string            `required:"" help:"Merchant id at the gateway." placeholder:"ID"`
	PublicKey   string            `required:"" help:"Public key of the API key pair at the gateway." placeholder:"KEY"`
	PrivateKey  string            `env:"KITH_GATEWAY_PRIVATE_KEY" help:"Private key of the pair. Default: the private key that is stored for this public key." placeholder:"KEY"`
	FurtherKeys map[string]string `name:"further-key" help:"Another key pair, accepted as signer of notifications while you replace a key. May be repeated." placeholder:"PUBLIC=PRIVATE"`
	BaseURL     string            `help:"URL of the gateway, for a test tenant only, such as that of a gateway lab. Default: the gateway's sandbox." placeholder:"URL"`
}

// Run stores the connection and prints it.
func (c *gatewayBraintreeCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	connection := billing.Connection{
		Kind: billing.Braintree, MerchantID: c.MerchantID, BaseURL: c.BaseURL, Keys: []billing.Key{{Public: c.PublicKey, Private: c.PrivateKey}},
	}
	for _, public := range slices.Sorted(maps.Keys(c.FurtherKeys)) {
		connection.Keys = append(connection.Keys, billing.Key{Public: public, Private: c.FurtherKeys[public]})
	}
	stored, err := engine.Gateways.Connect(e.ctx, c.Tenant, connection)
	if err != nil {
		return err
	}
	return showGateway(e, c.Tenant, stored)
}

type gatewayShowCommand struct{ tenantFlags }

// Run prints the connection.
func (c *gatewayShowCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	connection, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	return showGateway(e, c.Tenant, connection)
}

func showGateway(e *env, tenant core.TenantAlias, c billing.Connection) error {
	if c.Kind == billing.Stripe {
		return showStripe(e, tenant, c)
	}
	var further []string
	for _, k := range c.Keys[1:] {
		further = append(further, k.Public)
	}
	host := "the gateway's production"
	if !base.Live(tenant) {
		host = cmp.Or(c.BaseURL, "the gateway's sandbox")
	}
	checked := "never"
	if c.Checked != 0 {
		checked = dateText(c.Checked)
	}
	return printLines(e, [][2]string{
		{"merchant id", c.MerchantID}, {"public key", c.Keys[0].Public}, {"private key", "set"},
		{"further public keys", cmp.Or(strings.Join(further, ", "), "none")}, {"host", host},
		{"webhook", "/api/v1/" + string(tenant) + "/gateway/braintree/webhook"}, {"connected", dateText(c.Created)}, {"checked", checked},
	})
}

// printLines prints names and values in two columns.
func printLines(e *env, lines [][2]string) error {
	out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(out, "%s\t%s\n", line[0], line[1])
	}
	return out.Flush()
}

type gatewayTestCommand struct {
	tenantFlags
	Wait time.Duration `default:"30s" help:"How long to wait for Stripe's test event." placeholder:"DURATION"`
}

// Run tests the connection.
func (c *gatewayTestCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	tenant, err := engine.Tenants.ByAlias(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	connection, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err == nil && connection.Kind == billing.Stripe {
		return verifyStripe(e, engine, tenant, c.Wait)
	}
	found, err := engine.Gateways.Test(e.ctx, tenant)
	switch {
	case err != nil:
		return err
	case !found.Keys:
		return core.Invalid("", "the gateway rejects the merchant id or the keys: connect with others")
	case !found.Discount:
		return core.Invalid("", "the merchant has no discount "+found.DiscountID+": create it at the gateway")
	}
	_, err = fmt.Fprintf(e.out, "the gateway accepts the keys and has the discount %s\n", found.DiscountID)
	return err
}

type gatewayDisconnectCommand struct{ tenantFlags }

// Run deletes the connection.
func (c *gatewayDisconnectCommand) Run(e *env) error {
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	if err := engine.Gateways.Disconnect(e.ctx, c.Tenant); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "the payment gateway of tenant %s is disconnected\n", c.Tenant)
	return err
}
