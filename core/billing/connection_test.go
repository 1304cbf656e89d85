package billing_test

import (
	"errors"
	"strings"
	"testing"

	"kith/core"
	"kith/core/billing"
)

func TestConnection_Check(t *testing.T) {
	good := func() billing.Connection {
		return billing.Connection{Kind: billing.Braintree, MerchantID: "m-1", Keys: []billing.Key{{Public: "p1", Private: "s1"}, {Public: "p2", Private: "s2"}}}
	}
	for _, c := range []struct {
		name   string
		change func(*billing.Connection)
		live   bool
		field  string
	}{
		{"good", func(*billing.Connection) {}, true, ""},
		{"test with a base URL", func(c *billing.Connection) { c.BaseURL = "http://127.0.0.1:8090" }, false, ""},
		{"live with a base URL", func(c *billing.Connection) { c.BaseURL = "http://127.0.0.1:8090" }, true, "baseUrl"},
		{"base URL with a user", func(c *billing.Connection) { c.BaseURL = "http://a:b@host" }, false, "baseUrl"},
		{"base URL of another scheme", func(c *billing.Connection) { c.BaseURL = "file:///etc/passwd" }, false, "baseUrl"},
		{"no merchant", func(c *billing.Connection) { c.MerchantID = "" }, true, "merchantId"},
		{"a merchant with a path", func(c *billing.Connection) { c.MerchantID = "../x" }, true, "merchantId"},
		{"no key", func(c *billing.Connection) { c.Keys = nil }, true, "publicKey"},
		{"six keys", func(c *billing.Connection) { c.Keys = make([]billing.Key, 6) }, true, "furtherKeys"},
		{"no private key", func(c *billing.Connection) { c.Keys[0].Private = "" }, true, "privateKey"},
		{"a long private key", func(c *billing.Connection) { c.Keys[0].Private = strings.Repeat("x", 129) }, true, "privateKey"},
		{"one key twice", func(c *billing.Connection) { c.Keys[1].Public = "p1" }, true, "furtherKeys.publicKey"},
	} {
		t.Run(c.name, func(t *testing.T) {
			connection := good()
			c.change(&connection)
			var refused *core.Error
			err := connection.Check(c.live)
			errors.As(err, &refused)
			if c.field == "" && err != nil || c.field != "" && (refused == nil || refused.Field != c.field) {
				t.Errorf("%v, want an error about %q", err, c.field)
			}
		})
	}
}
