package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"kith/backend/gateway/xmltree"
)

// Customer is a customer of the merchant.
type Customer struct {
	ID    string
	Email string
	// CustomFields are those that the merchant has registered as Store and Pass
	// Back, by their API name, such as "svc_coupon". Empty ones are left out.
	CustomFields map[string]string
	// PaymentMethods of all kinds, with their subscriptions: this is the way
	// from a customer to its subscriptions.
	PaymentMethods []PaymentMethod
}

// PaymentMethod is what a customer pays with.
type PaymentMethod struct {
	Token      string
	CustomerID string
	// CardID is the same for every use of one card number, whoever uses it;
	// empty for what is no card.
	CardID        string
	Subscriptions []Subscription
}

// Customer reads a customer.
func (c *Client) Customer(ctx context.Context, id string) (Customer, error) {
	doc, err := c.get(ctx, "customers", id)
	if err != nil {
		return Customer{}, err
	}
	return expect(doc, "customer", (*reader).customer)
}

// SetCustomField stores a text in a custom field of a customer. When the
// merchant has not registered the field, that is SetUp.
func (c *Client) SetCustomField(ctx context.Context, customerID, field, value string) (Customer, error) {
	if field == "" || strings.Trim(field, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || field[0] < 'a' {
		return Customer{}, &Error{Action: Alert, Err: errors.New("a custom field is named by a-z 0-9 _")}
	}
	doc, err := c.send(ctx, http.MethodPut, xmltree.Object("customer", xmltree.Object("custom_fields", xmltree.Text(field, value))), "customers", customerID)
	if err != nil {
		return Customer{}, err
	}
	return expect(doc, "customer", (*reader).customer)
}

// PaymentMethod reads a payment method, of whatever kind: the way from a
// subscription without transactions to its customer.
func (c *Client) PaymentMethod(ctx context.Context, token string) (PaymentMethod, error) {
	doc, err := c.get(ctx, "payment_methods", "any", token)
	if err != nil {
		return PaymentMethod{}, err
	}
	// Its name is the kind: credit-card, paypal-account, ...
	return expect(doc, doc.Name, (*reader).paymentMethod)
}

func (r *reader) customer(n *xmltree.Node) Customer {
	customer := Customer{ID: r.id(n, "id"), Email: n.Value("email"), CustomFields: map[string]string{}}
	for _, field := range n.Items("custom_fields") {
		if field.Text != "" {
			customer.CustomFields[field.Name] = field.Text
		}
	}
	for _, list := range n.Children {
		if list.Type != xmltree.TypeArray || list.Name == "addresses" {
			continue
		}
		for _, item := range list.Children {
			if item.Value("token") != "" {
				customer.PaymentMethods = append(customer.PaymentMethods, r.paymentMethod(item))
			}
		}
	}
	return customer
}

func (r *reader) paymentMethod(n *xmltree.Node) PaymentMethod {
	return PaymentMethod{
		Token: r.id(n, "token"), CustomerID: n.Value("customer_id"), CardID: n.Value("unique_number_identifier"),
		Subscriptions: each(n.Items("subscriptions"), r.subscription),
	}
}
