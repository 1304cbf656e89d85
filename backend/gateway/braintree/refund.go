package braintree

import (
	"context"
	"errors"
	"net/http"

	"kith/backend/gateway/xmltree"
)

// Refund describes a refund of a transaction, in part or in full.
type Refund struct {
	// Amount is in the currency of the transaction, and more than 0.
	Amount Amount
	// OrderID is the caller's own reference, by which FindRefund finds the refund.
	OrderID string
	// Key makes the refund at-most-once: of all calls with the same key within 30 days,
	// one has an effect and all get its result. It has 1 to 255 bytes. Use the same key
	// as long as the result is unknown, and never with another body. After a refusal
	// the next call needs another key.
	Key string
}

// errKey reports a call that could move money twice.
var errKey = errors.New("a key of 1 to 255 bytes and an order id are required")

const maxKey = 255

// Refund refunds a transaction that is Refundable. If the gateway does not offer keys to
// the merchant, Refund first checks whether the refund exists, and then sends it without
// a key. It is then at-most-once only if calls do not run concurrently, and if callers
// check (action ReadBack) after a call whose result is unknown.
func (c *Client) Refund(ctx context.Context, transactionID string, r Refund) (Transaction, error) {
	if r.Key == "" || len(r.Key) > maxKey || r.OrderID == "" {
		return Transaction{}, &Error{Action: Alert, Err: errKey}
	}
	where, err := path("transactions", transactionID, "refund")
	if err != nil {
		return Transaction{}, err
	}
	doc, err := c.do(ctx, call{method: http.MethodPost, path: where, body: r.body(xmltree.Text("api_request_key", r.Key))})
	var e *Error
	if errors.As(err, &e) && e.Has(keyNotAllowed) {
		return c.refundWithoutKey(ctx, transactionID, where, r)
	}
	return expect(doc, err, "transaction", (*reader).transaction)
}

func (r Refund) body(key *xmltree.Node) *xmltree.Node {
	return xmltree.Object("transaction", xmltree.Text("amount", string(r.Amount)), xmltree.Text("order_id", r.OrderID), key)
}

func (c *Client) refundWithoutKey(ctx context.Context, transactionID, where string, r Refund) (Transaction, error) {
	found, ok, err := c.FindRefund(ctx, transactionID, r.OrderID)
	if err != nil || ok {
		return found, err
	}
	doc, err := c.do(ctx, call{method: http.MethodPost, path: where, body: r.body(nil), once: true})
	return expect(doc, err, "transaction", (*reader).transaction)
}

// FindRefund returns the refund of a transaction that has the given order id, if it
// exists.
func (c *Client) FindRefund(ctx context.Context, transactionID, orderID string) (Transaction, bool, error) {
	sale, err := c.Transaction(ctx, transactionID)
	if err != nil {
		return Transaction{}, false, err
	}
	for _, id := range sale.RefundIDs {
		refund, err := c.Transaction(ctx, id)
		if err != nil {
			return Transaction{}, false, err
		}
		if refund.OrderID == orderID {
			return refund, true, nil
		}
	}
	return Transaction{}, false, nil
}

// Transaction reads a transaction.
func (c *Client) Transaction(ctx context.Context, id string) (Transaction, error) {
	doc, err := c.get(ctx, "transactions", id)
	return expect(doc, err, "transaction", (*reader).transaction)
}
