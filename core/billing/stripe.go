package billing

import (
	"strings"

	"kith/core"
)

const (
	// maxSecrets is the most signing secrets of a connection: the one in use, and others
	// while it is rotated.
	maxSecrets = MaxKeys - 1
	// minSecret is the fewest characters of a secret after its prefix. Stripe's have 32; fewer
	// remain of a mistake, such as a variable that is not set.
	minSecret = 4
	// maxSecret is the most characters of a key or a secret, as Stripe says.
	maxSecret = 255
)

// StripeKey returns an API key of Stripe as the first key of a connection. Its public name
// has the mode and the last characters, as Stripe's dashboard shows it.
func StripeKey(key string) Key { return Key{Public: masked(key), Private: key} }

// StripeSecret returns a signing secret of a webhook as a further key of a connection.
func StripeSecret(secret string) Key { return Key{Public: masked(secret), Private: secret} }

// masked returns the part of a secret up to its last underscore, and its last 4
// characters.
func masked(secret string) string {
	at := strings.LastIndexByte(secret, '_') + 1
	return secret[:at] + secret[max(at, len(secret)-4):]
}

// SecretOverlap is how long the former signing secret of a webhook stays valid.
const SecretOverlap = core.Day

// Secrets returns the signing secrets of a connection to Stripe that are valid at a time.
func (c Connection) Secrets(now core.Time) (valid []Key) {
	for _, k := range c.Keys[min(1, len(c.Keys)):] {
		if k.Until == 0 || k.Until > now {
			valid = append(valid, k)
		}
	}
	return valid
}

// Unrestricted reports whether the API key of a connection to Stripe is a secret key, which
// may make all calls of the account.
func (c Connection) Unrestricted() bool {
	return c.Kind == Stripe && len(c.Keys) != 0 && strings.HasPrefix(c.Keys[0].Public, "sk_")
}

// StripePermission is a permission that a restricted key of Stripe needs.
type StripePermission struct {
	// Name is that in the API, and in Stripe's refusals after the prefix rak_.
	Name string
	// Resource is the name of the row in the Dashboard, and Level what to choose in it.
	Resource, Level string
	// Reason says what Kith needs it for.
	Reason string
}

// Label returns the permission as the Dashboard shows it.
func (p StripePermission) Label() string { return p.Resource + ": " + p.Level }

// StripePermissions returns the permissions that a restricted key needs, in the order of
// the Dashboard. Write includes Read there. Every list of them is made from this one.
func StripePermissions() []StripePermission {
	return []StripePermission{
		{"charge_write", "Charges and Refunds", "Write", "reads refunds, and gives back the discount that a first bill did not have"},
		{"customer_write", "Customers", "Write", "reads who has paid, shows the referral code at the customer, and gives credit as a balance"},
		{"dispute_read", "Disputes", "Read", "takes rewards back when a payment is lost in a dispute"},
		{"event_read", "Events", "Read", "finds the events whose webhook was lost"},
		{"payment_intent_read", "PaymentIntents", "Read", "reads the payments of orders"},
		{"checkout_session_read", "Checkout Sessions", "Read", "reads the referral code and the promotion code of a checkout"},
		{"coupon_write", "Coupons", "Write", "makes the coupons of discounts and credit, and one that tests the webhook"},
		{"promotion_code_write", "Promotion Codes", "Write", "makes each referral code a code that customers can enter"},
		{"invoice_write", "Invoices", "Write", "reads paid bills, and asks for a preview of the next one; Stripe counts a preview as a write"},
		{"subscription_write", "Subscriptions", "Write", "reads subscriptions, and sets their discounts"},
		{"webhook_write", "Webhook Endpoints", "Write", "makes the webhook endpoint, and replaces it"},
	}
}

// CheckStripeKey returns an error about field if s is not an API key of Stripe for a
// tenant. live is false for a test tenant. A secret key has all permissions; full is true
// for it.
func CheckStripeKey(field, s string, live bool) (full bool, err error) {
	kind, rest, _ := strings.Cut(s, "_")
	mode, rest, _ := strings.Cut(rest, "_")
	switch {
	case kind != "rk" && kind != "sk" || mode != "test" && mode != "live" || !word(rest, maxSecret):
		return false, core.Invalid(field, "must be a restricted key of Stripe, which begins with rk_test_ or rk_live_; create one in the Dashboard under Developers, API keys")
	case live && mode != "live":
		return false, core.Invalid(field, "is a test key, and this tenant is live; give its live key, or connect the test tenant")
	case !live && mode != "test":
		return false, core.Invalid(field, "is a live key, and this tenant is a test tenant; give a test key, or connect the live tenant")
	}
	return kind == "sk", nil
}

// CheckStripeSecret returns an error about field if s is not the signing secret of a
// webhook.
func CheckStripeSecret(field, s string) error {
	if secret, is := strings.CutPrefix(s, "whsec_"); !is || len(secret) < minSecret || !printable(s, maxSecret) {
		return core.Invalid(field, "must be the signing secret of the webhook endpoint, which begins with whsec_ and continues; the Dashboard shows it under Developers, Webhooks")
	}
	return nil
}

func (c Connection) checkStripe(live bool) error {
	switch {
	case len(c.Keys) == 0 || c.Keys[0].Private == "":
		return core.Invalid("apiKey", "is required")
	case len(c.Keys)-1 > maxSecrets:
		return core.Invalid("signingSecrets", "must be 4 at most")
	case c.BaseURL != "" && live:
		return core.Invalid("baseUrl", "is for test tenants: a live tenant's gateway is the gateway's own host")
	case c.BaseURL != "" && !baseURL(c.BaseURL):
		return core.Invalid("baseUrl", "must be http or https, a host, and a path at most")
	case !word(c.MerchantID, maxKey):
		return core.Invalid("account", "must be the id of the account")
	}
	if _, err := CheckStripeKey("apiKey", c.Keys[0].Private, live); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, k := range c.Keys[1:] {
		if err := CheckStripeSecret("signingSecrets", k.Private); err != nil {
			return err
		}
		if seen[k.Public] {
			return core.Invalid("signingSecrets", "occurs twice")
		}
		seen[k.Public] = true
	}
	_, err := ParseCreditForm("creditForm", string(c.Credit))
	return err
}
