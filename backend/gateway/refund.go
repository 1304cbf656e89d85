package gateway

import (
	"context"
	"errors"
	"net/http"

	"kith/backend/gateway/xmltree"
)

// Refund gives back a part of a transaction or all of it.
type Refund struct {
	// Amount is in the currency of the transaction, and more than 0.
	Amount Amount
	// OrderID is the caller's own reference, by which FindRefund finds it.
	OrderID string
	// Key makes the refund at-most-once: of any number of calls with one key,
	// within 30 days, one has the effect and all get its result. 1 to 255
	// bytes; the same for every attempt whose outcome is not known, and never
	// used with another body. A refusal uses it up: what is asked for after
	// one needs another.
	Key string
}

// errKey is a call that could move money twice.
var errKey = errors.New("a key of 1 to 255 bytes and an order id are needed")

const maxKey = 255

// Refund makes a refund, of a transaction that is Refundable. A merchant to
// whom the gateway gives no keys gets the refund too, after a look whether it
// is there; then it is at-most-once only as long as callers take turns and look
// (Action ReadBack) after a call whose outcome they do not know.
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
	if err != nil {
		return Transaction{}, err
	}
	return expect(doc, "transaction", (*reader).transaction)
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
	if err != nil {
		return Transaction{}, err
	}
	return expect(doc, "transaction", (*reader).transaction)
}

// FindRefund looks among the refunds of a transaction for the one with an order
// id.
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

// Void takes a whole transaction back before it settles, at most once by key,
// as Refund does; without keys a second void is refused anyway. What cannot be
// voided any more is AlreadyDone: it was voided, or can be refunded.
func (c *Client) Void(ctx context.Context, transactionID, key string) (Transaction, error) {
	if key == "" || len(key) > maxKey {
		return Transaction{}, &Error{Action: Alert, Err: errKey}
	}
	keyed := xmltree.Object("transaction", xmltree.Text("api_request_key", key))
	doc, err := c.send(ctx, http.MethodPut, keyed, "transactions", transactionID, "void")
	var e *Error
	if errors.As(err, &e) && e.Has(keyNotAllowed) {
		doc, err = c.send(ctx, http.MethodPut, nil, "transactions", transactionID, "void")
	}
	if err != nil {
		return Transaction{}, err
	}
	return expect(doc, "transaction", (*reader).transaction)
}

// Transaction reads a transaction.
func (c *Client) Transaction(ctx context.Context, id string) (Transaction, error) {
	doc, err := c.get(ctx, "transactions", id)
	if err != nil {
		return Transaction{}, err
	}
	return expect(doc, "transaction", (*reader).transaction)
}
