package braintree

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"kith/backend/gateway/xmltree"
)

// Customer is a customer of the merchant.
type Customer struct {
	ID string
	// CustomFields are the fields that the merchant has registered as Store and Pass
	// Back, by API name, such as "svc_coupon". Empty fields are left out.
	CustomFields map[string]string
	// PaymentMethods are those of all kinds. They contain the customer's subscriptions.
	PaymentMethods []PaymentMethod
}

// PaymentMethod is a payment method of a customer, such as a card.
type PaymentMethod struct {
	Token         string
	CustomerID    string
	Subscriptions []Subscription
}

// Customer reads a customer.
func (c *Client) Customer(ctx context.Context, id string) (Customer, error) {
	doc, err := c.get(ctx, "customers", id)
	return expect(doc, err, "customer", (*reader).customer)
}

// SetCustomField stores a text in a custom field of a customer. If the merchant has not
// registered the field, the error has the action SetUp.
func (c *Client) SetCustomField(ctx context.Context, customerID, field, value string) (Customer, error) {
	if field == "" || strings.Trim(field, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || field[0] < 'a' {
		return Customer{}, &Error{Action: Alert, Err: errors.New("custom field: the name has other characters than a-z 0-9 _")}
	}
	doc, err := c.send(ctx, http.MethodPut, xmltree.Object("customer", xmltree.Object("custom_fields", xmltree.Text(field, value))), "customers", customerID)
	return expect(doc, err, "customer", (*reader).customer)
}

// PaymentMethod reads a payment method of any kind. It names the customer of a
// subscription that has no transactions.
func (c *Client) PaymentMethod(ctx context.Context, token string) (PaymentMethod, error) {
	doc, err := c.get(ctx, "payment_methods", "any", token)
	if err != nil {
		return PaymentMethod{}, err
	}
	// The name of the element is the kind: credit-card, paypal-account, ...
	return expect(doc, nil, doc.Name, (*reader).paymentMethod)
}

func (r *reader) customer(n *xmltree.Node) Customer {
	customer := Customer{ID: r.id(n, "id"), CustomFields: map[string]string{}}
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
	return PaymentMethod{Token: r.id(n, "token"), CustomerID: n.Value("customer_id"), Subscriptions: each(n.Items("subscriptions"), r.subscription)}
}
