package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/link"
)

type gatewayStripeCommand struct {
	tenantFlags
	APIKey        string             `name:"api-key" env:"KITH_STRIPE_KEY" help:"Restricted key of Stripe. Default: the stored one." placeholder:"KEY"`
	APIKeyFile    string             `name:"api-key-file" help:"File with the restricted key, so that it is in no history of a shell; - reads the standard input." placeholder:"FILE"`
	Credit        billing.CreditForm `help:"How a referrer's credit reaches Stripe: coupon, a discount of the next bill, or balance, a credit of the customer's balance. Default: the stored form, or coupon." placeholder:"FORM"`
	CountTax      *bool              `negatable:"" help:"Count tax as revenue. Default: as stored, or not."`
	CountShipping *bool              `negatable:"" help:"Count shipping as revenue. Default: as stored, or not."`
	PublicURL     string             `env:"KITH_PUBLIC_URL" help:"Origin at which Stripe reaches the service, such as https://go.example. Default: the tenant's share origin, or the origin of its landing page." placeholder:"ORIGIN"`
	SigningSecret string             `env:"KITH_STRIPE_SIGNING_SECRET" help:"Signing secret of a webhook endpoint that you made yourself. Default: Kith makes the endpoint." placeholder:"SECRET"`
	RollSecret    bool               `help:"Replace the webhook endpoint that Kith made, and so its secret. The former secret stays valid for 24 hours."`
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
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	tenant, err := engine.Tenants.ByAlias(e.ctx, c.Tenant)
	if err != nil {
		return err
	}
	settings, err := c.settings(e, engine)
	if err != nil {
		return err
	}
	engine.PublicURL = c.PublicURL
	origin := cmp.Or(c.PublicURL, engine.Share(tenant).Origin)
	if !link.ValidOrigin(origin) {
		return core.Invalid("public-url", "must be an origin, such as https://go.example")
	}
	stored, err := engine.Gateways.ConnectStripe(e.ctx, c.Tenant, settings, origin+payments.StripeWebhook(c.Tenant))
	if err != nil {
		return err
	}
	if err := showStripe(e, c.Tenant, stored); err != nil {
		return err
	}
	fmt.Fprintln(e.out)
	return verifyStripe(e, engine, tenant, c.Wait)
}

// settings returns what the flags give, and the stored settings for the others.
func (c *gatewayStripeCommand) settings(e *env, engine *app.Engine) (s payments.StripeSettings, err error) {
	before, err := engine.Gateways.Connection(e.ctx, c.Tenant)
	if err != nil && !base.IsNotFound(err) {
		return s, err
	}
	s = payments.StripeSettings{
		APIKey: strings.TrimSpace(c.APIKey), Roll: c.RollSecret, BaseURL: cmp.Or(c.BaseURL, before.BaseURL),
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
	var in io.Reader = os.Stdin
	if name != "-" {
		file, err := os.Open(name) // #nosec G304 -- the operator names the file
		if err != nil {
			return "", err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxSecretFile))
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
			text += " (until " + dateText(k.Until) + ")"
		}
		secrets = append(secrets, text)
	}
	key, checked := c.Keys[0].Public, "never"
	if c.Unrestricted() {
		key += ", which may do everything: a restricted key is safer"
	}
	if c.Checked != 0 {
		checked = dateText(c.Checked)
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
		{"webhook", payments.StripeWebhook(tenant)}, {"endpoint", cmp.Or(c.Endpoint, "none that Kith made")}, {"connected", dateText(c.Created)}, {"checked", checked},
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
		mark, help := "✓ ", ""
		if !c.OK {
			mark, help = "✗ ", ": "+c.Help
		}
		fmt.Fprintln(e.out, mark+c.Label+help)
	}
	if n := len(billing.Missing(found.Checks)); n > 0 {
		return core.Invalid("", fmt.Sprintf("the connection is stored, but %d of %d checks failed: do what is written at each ✗, and run kith gateway test --tenant %s", n, len(found.Checks), tenant.Alias))
	}
	_, err = fmt.Fprintln(e.out, "\nStripe is connected.")
	return err
}
