// Package billing decides what the payment gateway's state means for accounts:
// who has paid, what a subscription's discount is to be, which credit a bill has
// used, and what is to be given back. It follows the state that was read, and
// never the order in which news of it arrived, so that repeated, late and
// missing news come to the same.
package billing

import (
	"net/url"

	"kith/core"
)

// Bounds of a connection's settings.
const (
	// MaxKeys is the most key pairs of one connection: the one in use, and
	// others while a key is replaced.
	MaxKeys = 5

	maxKey     = 128
	maxBaseURL = 300
)

// Key is one API key of a merchant at the gateway.
type Key struct {
	// Public names the key.
	Public string
	// Private signs. It is never shown; empty in a change means the one that is
	// stored for the same public key.
	Private string
}

// Connection is how a tenant's payment gateway is reached.
type Connection struct {
	// MerchantID names the tenant at the gateway.
	MerchantID string
	// Keys are one to MaxKeys: the first makes the calls, all verify what
	// arrives.
	Keys []Key
	// BaseURL takes the place of the gateway's sandbox, for a test tenant only;
	// empty: the gateway's own host.
	BaseURL string
	// Created is when the tenant was connected first, Checked when the gateway's
	// button "Check URL" was last pressed; zero: never.
	Created, Checked core.Time
}

// Check refuses settings that make no sense. The error names the field as the
// API does. live is true for a tenant that is no test tenant.
func (c Connection) Check(live bool) error {
	switch {
	case !word(c.MerchantID):
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
		case !word(k.Public):
			return core.Invalid(public, "must be 1 to 128 of A-Z a-z 0-9 _ -")
		case seen[k.Public]:
			return core.Invalid(public, "is given twice")
		case !printable(k.Private):
			return core.Invalid(private, "is required: 1 to 128 printable characters")
		}
		seen[k.Public] = true
	}
	return nil
}

func word(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= maxKey
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxKey
}

func baseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxBaseURL && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
