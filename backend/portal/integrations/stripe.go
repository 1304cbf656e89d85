package integrations

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"kith/backend/app/payments"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/billing"
)

// stripePage is what only the form and the checklist of Stripe show.
type stripePage struct {
	Permissions []billing.StripePermission
	// KeysURL is the page of Stripe's Dashboard with the API keys.
	KeysURL string
	// Credits and Revenue are the choices of the form, and Hosts those of what to connect, if
	// there is a choice.
	Credits, Revenue, Hosts []frame.Option
	// Key is the key as the Dashboard shows it, and Secrets are the webhook's.
	Key     string
	Secrets []billing.Key
	// Missing are the permissions that the key lacks, and Others the checks of the webhook.
	Missing, Others []billing.Check
}

// PermissionText returns the permissions as a text for a person who creates the key, one in
// a line.
func (p stripePage) PermissionText() string {
	var b strings.Builder
	for _, permission := range p.Permissions {
		b.WriteString(permission.Label() + "\n")
	}
	return b.String()
}

// newStripePage returns the page with what the visitor entered, or what is stored.
func newStripePage(v *frame.Visit, f *frame.Form, c billing.Connection) stripePage {
	p := stripePage{Permissions: billing.StripePermissions(), KeysURL: "https://dashboard.stripe.com/apikeys"}
	if !v.Live() {
		p.KeysURL = "https://dashboard.stripe.com/test/apikeys"
	}
	if len(c.Keys) > 0 {
		p.Key, p.Secrets = c.Keys[0].Public, c.Keys[1:]
	}
	credit, tax, shipping := c.Credit, c.CountTax, c.CountShipping
	if v.R.Method == http.MethodPost && f.Failed() {
		s := stripeSettings(v)
		credit, tax, shipping = s.Credit, s.CountTax, s.CountShipping
	}
	if at := v.Engine.Gateways.StripeLab.BaseURL; at != "" && !v.Live() && c.MerchantID == "" {
		lab := !f.Failed() || f.Value("host") == "lab"
		p.Hosts = []frame.Option{
			{Value: "lab", Label: "The Stripe lab that this process runs", Hint: "It simulates Stripe at " + at + ". Leave the key empty to use that of the lab.", Chosen: lab},
			{Value: "stripe", Label: "Stripe", Hint: "Stripe must reach this service by a public address.", Chosen: !lab},
		}
	}
	p.Credits = []frame.Option{
		{Value: string(billing.CreditCoupon), Label: "A discount of the next bill", Hint: "The referrer's next invoice shows a coupon. Credit is used up only by what that invoice took.", Chosen: credit != billing.CreditBalance},
		{Value: string(billing.CreditBalance), Label: "The balance of the customer", Hint: "Stripe keeps the credit as the customer's balance, and uses it for any invoice. Credit is used up when it is given.", Chosen: credit == billing.CreditBalance},
	}
	p.Revenue = []frame.Option{
		{Value: "tax", Label: "Count tax as revenue", Hint: "Otherwise rewards that are a share of an order leave tax out.", Chosen: tax},
		{Value: "shipping", Label: "Count shipping as revenue", Hint: "Otherwise rewards that are a share of an order leave shipping out.", Chosen: shipping},
	}
	return p
}

// sort takes the checks of Stripe into the lists of the checklist.
func (p *stripePage) sort(all []billing.Check) {
	names := map[string]bool{}
	for _, permission := range p.Permissions {
		names[permission.Name] = true
	}
	for _, c := range all {
		switch {
		case names[c.Name] && !c.OK:
			p.Missing = append(p.Missing, c)
		case c.Name == billing.CheckWebhook, c.Name == billing.CheckDelivery:
			p.Others = append(p.Others, c)
		}
	}
}

// stripeFields are the fields of the form with their labels.
var stripeFields = map[string]string{"apiKey": "The restricted key", "creditForm": "The form of credit"} // #nosec G101 -- labels

// stripeSettings returns what the visitor entered.
func stripeSettings(v *frame.Visit) payments.StripeSettings {
	form := v.R.PostForm
	s := payments.StripeSettings{
		APIKey: strings.TrimSpace(form.Get("apiKey")), Credit: billing.CreditForm(form.Get("creditForm")),
		CountTax: slices.Contains(form["revenue"], "tax"), CountShipping: slices.Contains(form["revenue"], "shipping"),
	}
	if lab := v.Engine.Gateways.StripeLab; form.Get("host") == "lab" {
		s.APIKey, s.BaseURL = cmp.Or(s.APIKey, lab.APIKey), lab.BaseURL
	}
	return s
}

// stripeWebhook returns the URL that Stripe calls: on the developer's machine that of the
// request, else the public one.
func stripeWebhook(v *frame.Visit) (string, error) {
	path := payments.StripeWebhook(v.Caller.Tenant)
	if url := v.Link(path); !strings.HasPrefix(url, "/") {
		return url, nil
	}
	tenant, err := v.Engine.Tenants.ByAlias(v.Ctx(), v.Caller.Tenant)
	return v.Engine.Share(tenant).Origin + path, err
}

// connectStripe connects Stripe, and waits for a test event. The checklist shows whether it
// has arrived.
func connectStripe(v *frame.Visit) error {
	f := v.NewForm()
	s := stripeSettings(v)
	var err error
	if s.Credit, err = billing.ParseCreditForm("creditForm", string(s.Credit)); err == nil {
		err = saveStripe(v, s)
	}
	if err != nil {
		return stripeProblem(v, f, err)
	}
	return v.Done(path(v, "/gateway/check"), "stripe-connected")
}

// rollStripeSecret replaces the webhook endpoint, and so its secret.
func rollStripeSecret(v *frame.Visit) error {
	f := v.NewForm()
	revoke := v.R.FormValue("revoke") == "true"
	c, connected, err := v.Engine.Admin.Gateway.Connection(v.Ctx(), v.Caller)
	if err == nil && (!connected || c.Kind != billing.Stripe) {
		err = core.NotFound("Stripe is not connected.")
	}
	if err == nil {
		err = saveStripe(v, payments.StripeSettings{Roll: true, Revoke: revoke, Credit: c.Credit, CountTax: c.CountTax, CountShipping: c.CountShipping})
	}
	if err != nil {
		return stripeProblem(v, f, err)
	}
	done := "stripe-rolled"
	if revoke {
		done = "stripe-revoked"
	}
	return v.Done(path(v, "/gateway/check"), done)
}

// saveStripe connects Stripe and sends a test event.
func saveStripe(v *frame.Visit, s payments.StripeSettings) error {
	webhook, err := stripeWebhook(v)
	if err == nil {
		err = v.Engine.Admin.Gateway.ConnectStripe(v.Ctx(), v.Caller, s, webhook)
	}
	if err == nil {
		err = v.Engine.Admin.Gateway.SendTest(v.Ctx(), v.Caller)
	}
	return err
}

// sendTestEvent has Stripe send a test event, and waits for it.
func sendTestEvent(v *frame.Visit) error {
	if err := v.Engine.Admin.Gateway.SendTest(v.Ctx(), v.Caller); err != nil {
		return stripeProblem(v, v.NewForm(), err)
	}
	return v.Done(path(v, "/gateway/check"), "test-event-sent")
}

// stripeProblem shows the form again with what is wrong. That Stripe does not answer is
// shown there too: the visitor may try again with what was entered.
func stripeProblem(v *frame.Visit, f *frame.Form, err error) error {
	var known *core.Error
	switch {
	case !errors.As(err, &known):
	case known.Code == core.CodeUnavailable:
		err = &core.Error{Code: core.CodeConflict, Message: known.Message}
	case known.Field == "publicUrl":
		err = core.Invalid("", "the public URL of the service "+known.Message)
	}
	return f.Again(v, err, stripeFields, gatewayPage)
}
