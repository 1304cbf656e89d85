package braintreelab

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// customer is a customer of the merchant.
type customer struct {
	id, firstName, lastName, email, company, phone string
	customFields                                   map[string]string
	methods                                        []*method
	created, updated                               time.Time
}

// method is a card of a customer.
type method struct {
	token    string
	customer *customer
	number   string
	expires  string
	// declines is true while every charge of the card fails.
	declines         bool
	created, updated time.Time
}

// Cards of the gateway's sandbox. A number that ends in 1115 declines.
const (
	goodCard      = "4111111111111111"
	decliningCard = "4000111111111115"
)

// maxCustomField bounds a custom field, in bytes.
const maxCustomField = 255

func (b *book) findCustomer(_ command, found *customer) reply {
	return ok(b.customerXML(found))
}

func (b *book) createCustomer(c command) reply {
	in := c.body.At("customer")
	made := &customer{id: in.Value("id"), customFields: map[string]string{}, created: b.now, updated: b.now}
	if made.id == "" {
		made.id = b.id("customer")
	}
	var bad problems
	switch {
	case !validID(made.id):
		bad.add([]string{"customer"}, "id", "91610")
	case b.customers.find(made.id) != nil:
		bad.add([]string{"customer"}, "id", "91609")
	}
	b.fillCustomer(made, in, &bad)
	card := b.readCard(in, []string{"customer", "credit_card"}, &bad)
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	b.customers.put(made.id, made)
	if card != nil {
		b.vault(made, card)
	}
	return created(b.customerXML(made))
}

func (b *book) updateCustomer(c command, found *customer) reply {
	in, bad := c.body.At("customer"), problems{}
	changed := *found
	changed.customFields = maps.Clone(found.customFields)
	b.fillCustomer(&changed, in, &bad)
	card := b.readCard(in, []string{"customer", "credit_card"}, &bad)
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	changed.updated = b.now
	*found = changed
	if card != nil {
		b.vault(found, card)
	}
	return ok(b.customerXML(found))
}

// fillCustomer sets the fields that a request names, and leaves the others.
func (b *book) fillCustomer(c *customer, in *xmltree.Node, bad *problems) {
	for name, field := range map[string]*string{
		"first_name": &c.firstName, "last_name": &c.lastName, "email": &c.email, "company": &c.company, "phone": &c.phone,
	} {
		if in.At(name) != nil {
			*field = in.Value(name)
		}
	}
	if len(c.email) > 255 {
		bad.add([]string{"customer"}, "email", "81605")
	}
	for _, field := range in.Items("custom_fields") {
		switch {
		case field.Name != b.settings.customField:
			*bad = append(*bad, problem{[]string{"customer"}, "custom_fields", "91602", messages["91602"] + ": " + field.Name})
		case len(field.Text) > maxCustomField:
			bad.add([]string{"customer"}, "custom_fields", "81603")
		default:
			c.customFields[field.Name] = field.Text
		}
	}
}

// deleteCustomer deletes a customer and cancels its subscriptions.
func (b *book) deleteCustomer(_ command, found *customer) reply {
	for _, m := range slices.Clone(found.methods) {
		b.dropMethod(m)
	}
	b.customers.remove(found.id)
	return reply{status: 200}
}

// readCard reads the card of a request, if it has one: a number, or a nonce of
// the gateway's sandbox.
func (b *book) readCard(in *xmltree.Node, path []string, bad *problems) *method {
	card := in.At("credit_card")
	if card == nil {
		card = in
	}
	m := &method{token: card.Value("token"), number: card.Value("number"), expires: card.Value("expiration_date"), created: b.now, updated: b.now}
	if month, year := card.Value("expiration_month"), card.Value("expiration_year"); month != "" && year != "" {
		m.expires = month + "/" + year
	}
	nonce := card.Value("payment_method_nonce")
	if m.number == "" && nonce == "" {
		return nil
	}
	switch {
	case strings.HasPrefix(nonce, "fake-valid"):
		m.number, m.expires = goodCard, "12/2040"
	case strings.HasPrefix(nonce, "fake-processor-declined"):
		m.number, m.expires = decliningCard, "12/2040"
	case nonce != "":
		bad.add(path, "payment_method_nonce", "91732")
	}
	m.declines = m.number == decliningCard
	if nonce == "" && (len(m.number) < 12 || len(m.number) > 19 || strings.Trim(m.number, "0123456789") != "") {
		bad.add(path, "number", "81715")
	}
	if nonce == "" && m.expires == "" {
		bad.add(path, "expiration_date", "81709")
	}
	b.checkToken(m, path, bad)
	return m
}

// checkToken draws a token for a card that has none.
func (b *book) checkToken(m *method, path []string, bad *problems) {
	switch {
	case m.token == "":
		m.token = b.id("card")
	case !validID(m.token):
		bad.add(path, "token", "91718")
	case b.methods.find(m.token) != nil:
		bad.add(path, "token", "91719")
	}
}

func (b *book) vault(c *customer, m *method) {
	m.customer = c
	c.methods = append(c.methods, m)
	b.methods.put(m.token, m)
}

// dropMethod deletes a payment method, and cancels its subscriptions.
func (b *book) dropMethod(m *method) {
	for _, s := range b.subscriptions.order {
		if s.method == m && s.status != braintree.Canceled && s.status != braintree.Expired {
			b.cancel(s)
		}
	}
	b.methods.remove(m.token)
	m.customer.methods = slices.DeleteFunc(m.customer.methods, func(one *method) bool { return one == m })
}

func (b *book) findMethod(_ command, m *method) reply {
	return ok(b.methodXML(m))
}

func (b *book) createMethod(c command) reply {
	in, bad := c.body.At("payment_method"), problems{}
	owner := b.customers.find(in.Value("customer_id"))
	if owner == nil {
		bad.add([]string{"credit_card"}, "customer_id", "91705")
	}
	m := b.readCard(in, []string{"credit_card"}, &bad)
	if m == nil {
		bad.add([]string{"credit_card"}, "payment_method_nonce", "91732")
	}
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	b.vault(owner, m)
	return created(b.methodXML(m))
}

// updateMethod replaces the card of a token.
func (b *book) updateMethod(c command, m *method) reply {
	in, bad := c.body.At("payment_method"), problems{}
	card := b.readCard(in, []string{"credit_card"}, &bad)
	if len(bad) > 0 {
		return refused(bad, nil)
	}
	if card != nil {
		m.number, m.expires, m.declines, m.updated = card.number, card.expires, card.declines, b.now
	}
	return ok(b.methodXML(m))
}

func (b *book) deleteMethod(_ command, m *method) reply {
	b.dropMethod(m)
	return reply{status: 200}
}

func (b *book) customerXML(c *customer) *xmltree.Node {
	fields, cards := xmltree.Object("custom_fields"), xmltree.Array("credit_cards")
	if value, set := c.customFields[b.settings.customField]; set {
		fields.Children = append(fields.Children, xmltree.Text(b.settings.customField, value))
	}
	for _, m := range c.methods {
		cards.Children = append(cards.Children, b.methodXML(m))
	}
	return xmltree.Object("customer",
		xmltree.Text("id", c.id), xmltree.Text("merchant_id", MerchantID), xmltree.TextOrNull("first_name", c.firstName), xmltree.TextOrNull("last_name", c.lastName),
		xmltree.TextOrNull("company", c.company), xmltree.TextOrNull("email", c.email), xmltree.TextOrNull("phone", c.phone),
		xmltree.Null("fax"), xmltree.Null("website"), xmltree.DateTime("created_at", c.created), xmltree.DateTime("updated_at", c.updated),
		fields, cards, xmltree.Array("addresses"), xmltree.Array("paypal_accounts"),
	)
}

func (b *book) methodXML(m *method) *xmltree.Node {
	n := m.cardXML()
	list := xmltree.Array("subscriptions")
	for _, s := range b.subscriptions.order {
		if s.method == m {
			list.Children = append(list.Children, s.xml(b.now))
		}
	}
	n.Children = append(n.Children, list)
	return n
}

// cardXML returns a card without its subscriptions, as transactions contain it.
func (m *method) cardXML() *xmltree.Node {
	month, year, _ := strings.Cut(m.expires, "/")
	return xmltree.Object("credit_card",
		xmltree.Text("token", m.token), xmltree.Text("customer_id", m.customer.id), xmltree.Text("bin", m.number[:6]),
		xmltree.Text("last_4", m.number[len(m.number)-4:]), xmltree.Text("card_type", "Visa"), xmltree.Null("cardholder_name"),
		xmltree.Text("expiration_month", month), xmltree.Text("expiration_year", year), xmltree.Bool("default", len(m.customer.methods) > 0 && m.customer.methods[0] == m),
		xmltree.Bool("expired", false), xmltree.Text("unique_number_identifier", cardID(m.number)), xmltree.Text("customer_location", "US"),
		xmltree.DateTime("created_at", m.created), xmltree.DateTime("updated_at", m.updated),
	)
}

// cardID returns an id that is the same for every use of a number.
func cardID(number string) string {
	sum := sha256.Sum256([]byte("gatewaylab " + number))
	return hex.EncodeToString(sum[:16])
}
