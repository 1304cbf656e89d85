package stripe

import (
	"errors"
	"strings"
	"sync"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// Adapter is the implementation of the port.
var Adapter = gateway.Adapter{Dial: dial, Parse: parse}

// adapter is an account at Stripe behind the port.
type adapter struct {
	api    *client
	tenant core.TenantAlias
	c      billing.Connection
	// coupons are the ids of coupons that exist.
	coupons sync.Map
}

// dial returns the gateway of a tenant. A live connection calls only Stripe's host.
func dial(s gateway.Settings) (gateway.Gateway, error) {
	c := s.Connection
	if len(c.Keys) == 0 {
		return nil, errors.New("job: the gateway's connection has no key")
	}
	if _, err := billing.CheckStripeKey("apiKey", c.Keys[0].Private, !s.Test); err != nil {
		return nil, err
	}
	base := host
	if c.BaseURL != "" {
		if !s.Test {
			return nil, errors.New("gateway: a live connection cannot have a base URL of its own")
		}
		base = strings.TrimSuffix(c.BaseURL, "/")
	}
	return &adapter{api: newClient(base, c.Keys[0].Private), tenant: s.Tenant, c: c}, nil
}

func timeOf(seconds int64) core.Time { return core.Time(seconds) * core.Second }
