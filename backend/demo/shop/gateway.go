package shop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"kith/backend/gateway/xmltree"
)

// Gateway is the shop's account at the payment gateway, which is the gateway lab.
type Gateway struct {
	// URL is the base URL of the lab.
	URL                 string
	MerchantID          string
	PublicKey, Password string
	// DiscountID is the discount of the merchant with which the shop lowers a charge.
	DiscountID string
}

// checkout calls the gateway for one page, as a merchant does, and records the calls.
type checkout struct {
	Gateway
	*recorder
}

// noGo is shown in place of Go code: the gateway has no library for Go.
const noGo = "// Braintree has no library for Go. Send the request of curl with net/http."

var errNoGateway = &refusal{"The demo shop cannot take payments: the gateway lab is off. Start kith dev without KITH_LAB_ADDR=off."}

// call makes a call of the gateway's API.
func (g checkout) call(ctx context.Context, title, typeScript, method, path string, body *xmltree.Node) (*xmltree.Node, error) {
	g.announce(title, noGo, typeScript)
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body.Encode())
	}
	r, err := http.NewRequestWithContext(ctx, method, g.URL+"/merchants/"+g.MerchantID+path, content)
	if err != nil {
		return nil, err
	}
	r.SetBasicAuth(g.PublicKey, g.Password)
	if body != nil {
		r.Header.Set("Content-Type", "application/xml")
	}
	return g.send(r)
}

func (g checkout) send(r *http.Request) (*xmltree.Node, error) {
	if g.URL == "" {
		return nil, errNoGateway
	}
	response, text, err := g.exchange(r)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if response.StatusCode == http.StatusUnprocessableEntity {
		doc, _ := xmltree.Parse(text)
		return nil, refuse("The gateway declined: %s", doc.Value("message"))
	}
	if response.StatusCode > 299 {
		return nil, fmt.Errorf("gateway: %s %s was answered with %d", r.Method, r.URL.Path, response.StatusCode)
	}
	if !strings.Contains(response.Header.Get("Content-Type"), "xml") {
		return nil, nil
	}
	return xmltree.Parse(text)
}

// testCard is the card of every customer: the one that the gateway accepts in tests.
const testCard = "4111111111111111"

// customer creates a customer with a card.
func (g checkout) customer(ctx context.Context, c Customer) error {
	_, err := g.call(ctx, "Gateway: create the customer with a test card",
		"await gateway.customer.create({\n  id: '"+c.ID+"', creditCard: { number: '"+testCard+"', expirationDate: '12/2040' },\n});",
		http.MethodPost, "/customers", xmltree.Object("customer", xmltree.Text("id", c.ID), xmltree.Text("email", c.Email),
			xmltree.Object("credit_card", xmltree.Text("number", testCard), xmltree.Text("expiration_date", "12/2040"))))
	return err
}

// sale charges the customer's card and returns the id of the transaction.
func (g checkout) sale(ctx context.Context, c Customer, order string, amount cents) (string, error) {
	doc, err := g.call(ctx, "Gateway: charge the card",
		"const { transaction } = await gateway.transaction.sale({\n  customerId: '"+c.ID+"', amount: '"+amount.decimal()+"', orderId: '"+order+"', options: { submitForSettlement: true },\n});",
		http.MethodPost, "/transactions", xmltree.Object("transaction", xmltree.Text("type", "sale"), xmltree.Text("customer_id", c.ID),
			xmltree.Text("amount", amount.decimal()), xmltree.Text("order_id", order), xmltree.Object("options", xmltree.Bool("submit_for_settlement", true))))
	return doc.Value("id"), err
}

// refund settles a transaction, as the sandbox of a gateway can, and refunds it.
func (g checkout) refund(ctx context.Context, transaction string) error {
	_, err := g.call(ctx, "Gateway: settle the charge, which a real gateway does overnight",
		"await gateway.testing.settle('"+transaction+"');", http.MethodPut, "/transactions/"+transaction+"/settle", nil)
	if err != nil {
		return err
	}
	_, err = g.call(ctx, "Gateway: refund the charge", "await gateway.transaction.refund('"+transaction+"');",
		http.MethodPost, "/transactions/"+transaction+"/refund", xmltree.Object("transaction", xmltree.Text("order_id", "refund")))
	return err
}

// plan is the gateway's plan of a subscription.
const plan = "morrow-coffee"

// ensurePlan creates the plan of the subscription, unless the gateway has it.
func (g checkout) ensurePlan(ctx context.Context, p *Product) error {
	if _, err := g.call(ctx, "Gateway: find the plan of the subscription", "await gateway.plan.all();", http.MethodGet, "/plans/"+plan, nil); err == nil {
		return nil
	} else if errors.Is(err, errNoGateway) {
		return err
	}
	_, err := g.call(ctx, "Gateway: create the plan, once", "await gateway.plan.create({ id: '"+plan+"', name: '"+p.Name+"', price: '"+p.Price.decimal()+"' });",
		http.MethodPost, "/plans", xmltree.Object("plan", xmltree.Text("id", plan), xmltree.Text("name", p.Name), xmltree.Text("price", p.Price.decimal()),
			xmltree.Text("currency_iso_code", currency), xmltree.Int("billing_frequency", 1)))
	return err
}

// subscribe begins a subscription with a trial. discount lowers the first charge.
func (g checkout) subscribe(ctx context.Context, c Customer, id string, p *Product, discount cents) (*xmltree.Node, error) {
	token, err := g.card(ctx, c)
	if err != nil {
		return nil, err
	}
	subscription := xmltree.Object("subscription", xmltree.Text("id", id), xmltree.Text("plan_id", plan), xmltree.Text("payment_method_token", token),
		xmltree.Bool("trial_period", true), xmltree.Int("trial_duration", p.TrialDays), xmltree.Text("trial_duration_unit", "day"))
	discounts := ""
	if discount > 0 {
		discounts = ",\n  discounts: { add: [{ inheritedFromId: '" + g.DiscountID + "', amount: '" + discount.decimal() + "', numberOfBillingCycles: 1 }] }"
		subscription.Children = append(subscription.Children, xmltree.Object("discounts", xmltree.Array("add", xmltree.Object("item",
			xmltree.Text("inherited_from_id", g.DiscountID), xmltree.Text("amount", discount.decimal()), xmltree.Int("number_of_billing_cycles", 1)))))
	}
	return g.call(ctx, "Gateway: begin the subscription with its trial",
		fmt.Sprintf("const { subscription } = await gateway.subscription.create({\n  id: '%s', planId: '%s', paymentMethodToken: token, trialPeriod: true, trialDuration: %d, trialDurationUnit: 'day'%s,\n});", id, plan, p.TrialDays, discounts),
		http.MethodPost, "/subscriptions", subscription)
}

// card returns the token of the customer's card.
func (g checkout) card(ctx context.Context, c Customer) (string, error) {
	doc, err := g.call(ctx, "Gateway: read the token of the customer's card",
		"const customer = await gateway.customer.find('"+c.ID+"');\nconst { token } = customer.paymentMethods[0];", http.MethodGet, "/customers/"+c.ID, nil)
	if err != nil {
		return "", err
	}
	if cards := doc.Items("credit_cards"); len(cards) > 0 {
		return cards[0].Value("token"), nil
	}
	return "", errors.New("gateway: the customer has no card")
}

// subscription returns a subscription.
func (g checkout) subscription(ctx context.Context, id string) (*xmltree.Node, error) {
	return g.call(ctx, "Gateway: read the subscription and its charges",
		"const subscription = await gateway.subscription.find('"+id+"');", http.MethodGet, "/subscriptions/"+id, nil)
}

// cancel ends a subscription.
func (g checkout) cancel(ctx context.Context, id string) error {
	_, err := g.call(ctx, "Gateway: cancel the subscription", "await gateway.subscription.cancel('"+id+"');", http.MethodPut, "/subscriptions/"+id+"/cancel", nil)
	return err
}

// skip advances the clock of the lab, which only a lab has.
func (g checkout) skip(ctx context.Context, days int) error {
	g.announce("Gateway lab: advance its clock, so that the trial ends", "// The lab has a clock that can be advanced; a real gateway has none.", "// The lab has a clock that can be advanced; a real gateway has none.")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/lab/advance", strings.NewReader(url.Values{"by": {fmt.Sprintf("%dd", days)}}.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", formType)
	_, err = g.send(r)
	return err
}

// charges returns the paid charges of a subscription, the oldest first.
func charges(subscription *xmltree.Node) (all []Charge, err error) {
	for _, t := range subscription.Items("transactions") {
		if t.Value("type") != "sale" {
			continue
		}
		switch t.Value("status") {
		case "submitted_for_settlement", "settling", "settled":
		default:
			continue
		}
		amount, err := parseCents(t.Value("amount"))
		if err != nil {
			return nil, err
		}
		all = append([]Charge{{Transaction: t.Value("id"), Amount: amount}}, all...)
	}
	return all, nil
}
