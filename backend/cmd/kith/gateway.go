package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/store/tenantdb"
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
	return c.with(e, func(engine *app.Engine) error {
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
	})
}

type gatewayShowCommand struct{ tenantFlags }

// Run prints the connection.
func (c *gatewayShowCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		connection, err := engine.Gateways.Connection(e.ctx, c.Tenant)
		if err != nil {
			return err
		}
		return showGateway(e, c.Tenant, connection)
	})
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
		checked = clock(c.Checked)
	}
	return printLines(e, [][2]string{
		{"merchant id", c.MerchantID}, {"public key", c.Keys[0].Public}, {"private key", "set"},
		{"further public keys", cmp.Or(strings.Join(further, ", "), "none")}, {"host", host},
		{"webhook", braintreeWebhook(tenant)}, {"connected", clock(c.Created)}, {"checked", checked},
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
	return c.with(e, func(engine *app.Engine) error {
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
	})
}

type gatewayDisconnectCommand struct{ tenantFlags }

// Run deletes the connection.
func (c *gatewayDisconnectCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		if err := engine.Gateways.Disconnect(e.ctx, c.Tenant); err != nil {
			return err
		}
		_, err := fmt.Fprintf(e.out, "the payment gateway of tenant %s is disconnected\n", c.Tenant)
		return err
	})
}

type gatewayStripeCommand struct {
	tenantFlags
	APIKey        string             `name:"api-key" env:"KITH_STRIPE_KEY" help:"Restricted key of Stripe. Default: the stored one." placeholder:"KEY"`
	APIKeyFile    string             `name:"api-key-file" help:"File with the restricted key, so that it is in no history of a shell; - reads the standard input." placeholder:"FILE"`
	Credit        billing.CreditForm `help:"How a referrer's credit reaches Stripe: coupon, a discount of the next bill, or balance, a credit of the customer's balance. Default: the stored form, or coupon." placeholder:"FORM"`
	CountTax      *bool              `negatable:"" help:"Count tax as revenue. Default: as stored, or not."`
	CountShipping *bool              `negatable:"" help:"Count shipping as revenue. Default: as stored, or not."`
	PublicURL     string             `env:"KITH_PUBLIC_URL" help:"Origin at which Stripe reaches the service, such as https://go.example. Default: that of the webhook endpoint; at first, the tenant's share origin, or the origin of its landing page." placeholder:"ORIGIN"`
	SigningSecret string             `env:"KITH_STRIPE_SIGNING_SECRET" xor:"endpoint" help:"Signing secret of a webhook endpoint that you made yourself. Default: the stored one; at first, Kith makes the endpoint." placeholder:"SECRET"`
	RollSecret    bool               `xor:"endpoint" help:"Replace the webhook endpoint by one that Kith makes, and so its secret. The former secret stays valid for 24 hours."`
	RevokeSecrets bool               `help:"With --roll-secret or --signing-secret: end the former secrets at once, because one leaked."`
	BaseURL       string             `help:"URL of Stripe's API, for a test tenant only, such as that of a gateway lab. Default: the stored one, or Stripe's own." placeholder:"URL"`
	Wait          time.Duration      `default:"30s" help:"How long to wait for the test event." placeholder:"DURATION"`
}

// Help returns what the key may do, from the one list of permissions.
func (c *gatewayStripeCommand) Help() string {
	return "Create a restricted key in Stripe's Dashboard under Developers, API keys, for a test tenant in a sandbox or in test mode. Give it these permissions:\n\n" + strings.ReplaceAll(permissionText(), "- ", "  - ") +
		"\nA secret key (sk_) works too, but may do everything. Call the command again with another key to replace the key."
}

func permissionText() string {
	var b strings.Builder
	for _, p := range billing.StripePermissions() {
		fmt.Fprintf(&b, "- %s: Kith %s.\n", p.Label(), p.Reason)
	}
	return b.String()
}

// Run connects Stripe, and prints the result of the test. It fails if a check did.
func (c *gatewayStripeCommand) Run(e *env) error {
	if err := checkOrigin("public-url", c.PublicURL, ""); err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		tenant, err := engine.Tenants.ByAlias(e.ctx, c.Tenant)
		if err != nil {
			return err
		}
		settings, err := c.settings(e, engine)
		if err != nil {
			return err
		}
		engine.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
		settings.Move = engine.PublicURL != ""
		origin := cmp.Or(engine.PublicURL, engine.Share(tenant).Origin)
		stored, err := engine.Gateways.ConnectStripe(e.ctx, c.Tenant, settings, origin+payments.StripeWebhook(c.Tenant))
		if err != nil {
			return err
		}
		if err := showStripe(e, c.Tenant, stored); err != nil {
			return err
		}
		fmt.Fprintln(e.out)
		return verifyStripe(e, engine, tenant, c.Wait)
	})
}

// settings returns what the flags give, and the stored settings for the others.
func (c *gatewayStripeCommand) settings(e *env, engine *app.Engine) (s payments.StripeSettings, err error) {
	before, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err != nil && !base.IsNotFound(err) {
		return s, err
	}
	s = payments.StripeSettings{
		APIKey: strings.TrimSpace(c.APIKey), Roll: c.RollSecret, Revoke: c.RevokeSecrets, BaseURL: cmp.Or(c.BaseURL, before.BaseURL),
		CountTax: before.CountTax, CountShipping: before.CountShipping,
	}
	if c.SigningSecret != "" {
		s.Secrets = []string{c.SigningSecret}
	}
	if c.CountTax != nil {
		s.CountTax = *c.CountTax
	}
	if c.CountShipping != nil {
		s.CountShipping = *c.CountShipping
	}
	if c.APIKeyFile != "" {
		if s.APIKey, err = readSecret(c.APIKeyFile); err != nil {
			return s, err
		}
	}
	if s.APIKey == "" && before.Kind != billing.Stripe {
		return s, core.Invalid("api-key", "is required: create a restricted key in Stripe's Dashboard under Developers, API keys, with these permissions:\n"+permissionText())
	}
	s.Credit, err = billing.ParseCreditForm("credit", string(cmp.Or(c.Credit, before.Credit)))
	return s, err
}

// maxSecretFile bounds a file with one secret, in bytes.
const maxSecretFile = 4 << 10

// readSecret returns the content of a file with one secret; - is the standard input.
func readSecret(name string) (string, error) {
	text, err := readFile(name, maxSecretFile, os.Open)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = core.Invalid("api-key-file", "is empty; it must have the restricted key")
	}
	return strings.TrimSpace(string(text)), err
}

// showStripe prints a connection to Stripe, without secrets.
func showStripe(e *env, tenant core.TenantAlias, c billing.Connection) error {
	var secrets []string
	for _, k := range c.Keys[1:] {
		text := k.Public
		if k.Until != 0 {
			text += " (until " + clock(k.Until) + ")"
		}
		secrets = append(secrets, text)
	}
	key, checked := c.Keys[0].Public, "never"
	if c.Unrestricted() {
		key += ", which may do everything: a restricted key is safer"
	}
	if c.Checked != 0 {
		checked = clock(c.Checked)
	}
	revenue := "without tax and shipping"
	switch {
	case c.CountTax && c.CountShipping:
		revenue = "with tax and shipping"
	case c.CountTax:
		revenue = "with tax, without shipping"
	case c.CountShipping:
		revenue = "with shipping, without tax"
	}
	return printLines(e, [][2]string{
		{"gateway", "Stripe"}, {"account", c.MerchantID}, {"api key", key}, {"signing secrets", cmp.Or(strings.Join(secrets, ", "), "none")},
		{"credit", string(c.Credit)}, {"revenue", revenue}, {"host", cmp.Or(c.BaseURL, "Stripe's own")},
		{"webhook", payments.StripeWebhook(tenant)}, {"endpoint", cmp.Or(c.Endpoint, "none that Kith made")}, {"connected", clock(c.Created)}, {"checked", checked},
	})
}

// verifyStripe tests a connection, and prints a line for each check. It fails if a check
// did.
func verifyStripe(e *env, engine *app.Engine, tenant tenantdb.Tenant, wait time.Duration) error {
	found, err := engine.Gateways.Verify(e.ctx, tenant, core.Time(wait.Milliseconds()))
	if err != nil {
		return err
	}
	for _, c := range found.Checks {
		mark, more := "✓ ", c.Found
		if !c.OK {
			mark, more = "✗ ", c.Help
		}
		if more != "" {
			more = ": " + more
		}
		fmt.Fprintln(e.out, mark+c.Label+more)
	}
	if n := len(billing.Missing(found.Checks)); n > 0 {
		return core.Invalid("", fmt.Sprintf("the connection is stored, but %d of %d checks failed: do what is written at each ✗, and run kith gateway test --tenant %s", n, len(found.Checks), tenant.Alias))
	}
	_, err = fmt.Fprintln(e.out, "\nStripe is connected.")
	return err
}
