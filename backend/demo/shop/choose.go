package shop

import (
	"fmt"
	"net/http"
	"strings"
)

// choice is what pages show of the choice of a gateway.
type choice struct {
	// Here is true if the shop of this page has the choice. Otherwise the shop at URL has
	// it, of the tenant Tenant.
	Here        bool
	URL, Tenant string
	// Stripe is true if new orders are paid at Stripe; Off is the name of the lab that must
	// run for the other gateway, if it does not.
	Stripe bool
	Off    string
}

// Now and Other are the names of the gateway that is connected and of the other one, and
// Value is the value of the form that connects the other one.
func (c choice) Now() string   { return gatewayName(c.Stripe) }
func (c choice) Other() string { return gatewayName(!c.Stripe) }
func (c choice) Value() string { return strings.ToLower(c.Other()) }

func gatewayName(stripe bool) string {
	if stripe {
		return "Stripe"
	}
	return "Braintree"
}

// choice returns the choice of the gateway, or nil if there is none.
func (s *site) choice() *choice {
	if s.chooser == nil {
		return nil
	}
	t := s.chooser.tenant
	c := &choice{Here: s.chooser == s, URL: t.URL + Path, Tenant: t.Alias, Stripe: s.chooser.atStripe.Load()}
	switch {
	case !c.Stripe && t.Stripe.URL == "":
		c.Off = "KITH_STRIPE_LAB_ADDR"
	case c.Stripe && s.Gateway.URL == "":
		c.Off = "KITH_LAB_ADDR"
	}
	return c
}

// chooseGateway connects Kith to the gateway of the form, and opens the shop that is paid
// there. The form names the gateway, so that a form sent twice changes nothing.
func (v *visit) chooseGateway() error {
	have := v.choice()
	if have == nil {
		return refuse("This shop has one payment gateway.")
	}
	value := v.r.PostFormValue("gateway")
	if value != "stripe" && value != "braintree" {
		return refuse("The shop has no such gateway. Choose braintree or stripe.")
	}
	s, stripe := v.chooser, value == "stripe"
	s.choosing.Lock()
	defer s.choosing.Unlock()
	if s.atStripe.Load() != stripe {
		if have.Off != "" {
			return refuse("The lab of %s is off. Start kith dev without %s=off.", gatewayName(stripe), have.Off)
		}
		if err := v.Choose(v.r.Context(), stripe); err != nil {
			return fmt.Errorf("connect %s: %w", gatewayName(stripe), err)
		}
		s.atStripe.Store(stripe)
	}
	http.Redirect(v.w, v.r, have.URL+"#gateway", http.StatusSeeOther)
	return nil
}
