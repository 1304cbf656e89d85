// Package billing decides what the payment gateway's state means for accounts: which
// accounts have paid, what discount a subscription should have, how much credit a
// bill used, and what to refund. Decisions depend only on the state that was read,
// not on the order of notifications, so repeated, late and missing notifications have
// the same result.
package billing

import (
	"net/url"
	"slices"

	"kith/core"
)

// Limits of a connection's settings.
const (
	// MaxKeys is the most key pairs of one connection: the one in use, and further
	// ones while it is being replaced.
	MaxKeys = 5

	maxKey     = 128
	maxBaseURL = 300
)

// Key is one API key of a merchant at the gateway.
type Key struct {
	// Public is the key's name at the gateway.
	Public string
	// Private signs requests and notifications. It is never returned to callers. In a
	// change, empty means the stored one of the same public key.
	Private string
	// Until is when the key becomes invalid; zero: it does not.
	Until core.Time
}

// Kind is the kind of a gateway, as in the paths of the API.
type Kind string

// The kinds of gateways.
const (
	Braintree Kind = "braintree"
	Stripe    Kind = "stripe"
)

// SearchOverlap returns the time by which a search of the gateway overlaps the last one,
// since clocks differ and the search may lag: a day at Braintree, which searches by the
// day, and an hour at Stripe, which lists each event within seconds.
func (k Kind) SearchOverlap() core.Time {
	if k == Stripe {
		return core.Hour
	}
	return core.Day
}

// CreditForm is the form in which credit reaches a gateway.
type CreditForm string

// The forms of credit.
const (
	// CreditCoupon makes credit a part of the discount of the next bill, which redeems
	// what it used.
	CreditCoupon CreditForm = "coupon"
	// CreditBalance redeems credit first, and gives it as a balance of the customer.
	CreditBalance CreditForm = "balance"
)

// ParseCreditForm returns s as the form of credit, or an error about field. Empty is
// CreditCoupon.
func ParseCreditForm(field, s string) (CreditForm, error) {
	switch f := CreditForm(s); f {
	case "":
		return CreditCoupon, nil
	case CreditCoupon, CreditBalance:
		return f, nil
	}
	return "", core.Invalid(field, "must be coupon or balance")
}

// Connection has the settings for calls to a tenant's payment gateway.
type Connection struct {
	Kind Kind
	// MerchantID is the tenant's merchant id at the gateway; at Stripe, the id of the
	// account.
	MerchantID string
	// Keys are 1 to MaxKeys keys: the first signs calls, all verify notifications. At
	// Stripe the first is the API key, which makes calls only, and the others are the
	// secrets by which webhooks are signed. Their public names are made by StripeKey and
	// StripeSecret.
	Keys []Key
	// BaseURL replaces the URL of the gateway's sandbox, for a test tenant only.
	// Empty means the gateway's own host.
	BaseURL string
	// Endpoint is the webhook endpoint that Kith made at the gateway, or empty.
	Endpoint string
	// Credit is how credit reaches the gateway. CountTax and CountShipping say whether
	// they are revenue of a purchase. At Braintree they mean nothing.
	Credit                  CreditForm
	CountTax, CountShipping bool
	// Created is when the tenant was first connected. Checked is when Braintree's button
	// "Check URL" was last used, or when the first notification arrived from Stripe after
	// the endpoint was made or a test was begun. Zero means never.
	Created, Checked core.Time
}

// Same reports whether two connections lead to the same merchant in the same way.
func (c Connection) Same(o Connection) bool {
	return c.Kind == o.Kind && c.MerchantID == o.MerchantID && c.BaseURL == o.BaseURL && c.Credit == o.Credit &&
		c.CountTax == o.CountTax && c.CountShipping == o.CountShipping && slices.Equal(c.Keys, o.Keys)
}

// Check returns an error about the first invalid setting. The error has the field's
// name in the API. live is false for a test tenant.
func (c Connection) Check(live bool) error {
	switch {
	case c.Kind == Stripe:
		return c.checkStripe(live)
	case c.Kind != Braintree:
		return core.Invalid("kind", "must be braintree or stripe")
	case !word(c.MerchantID, maxKey):
		return core.Invalid("merchantId", "must be 1 to 128 of A-Z a-z 0-9 _ -")
	case len(c.Keys) == 0:
		return core.Invalid("publicKey", "is required")
	case len(c.Keys) > MaxKeys:
		return core.Invalid("furtherKeys", "must be 4 at most")
	case c.BaseURL != "" && live:
		return core.Invalid("baseUrl", "is for test tenants: a live tenant's gateway is the gateway's own host")
	case c.BaseURL != "" && !baseURL(c.BaseURL):
		return core.Invalid("baseUrl", "must be http or https, a host, and a path at most")
	}
	seen := map[string]bool{}
	for i, k := range c.Keys {
		public, private := "publicKey", "privateKey"
		if i > 0 {
			public, private = "furtherKeys.publicKey", "furtherKeys.privateKey"
		}
		switch {
		case !word(k.Public, maxKey):
			return core.Invalid(public, "must be 1 to 128 of A-Z a-z 0-9 _ -")
		case seen[k.Public]:
			return core.Invalid(public, "occurs twice")
		case !printable(k.Private, maxKey):
			return core.Invalid(private, "is required: 1 to 128 printable characters")
		}
		seen[k.Public] = true
	}
	return nil
}

// word reports whether s is 1 to most characters of A-Z a-z 0-9 _ -.
func word(s string, most int) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func printable(s string, most int) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= most
}

func baseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxBaseURL && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
