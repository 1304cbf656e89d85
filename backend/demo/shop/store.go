package shop

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of the shop's own data: it is a demo and keeps it in memory and in a file.
const (
	maxCustomers = 500
	maxOrders    = 20
	maxSessions  = 1000
)

// Customer is a customer of the shop.
type Customer struct {
	// ID is the account and the user at Kith, and the customer at the gateway.
	ID, First, Last, Email string
	Joined                 time.Time
	// Code is the friend's code that Kith attributed at the sign-up, or empty.
	Code string `json:",omitempty"`
	// AtGateway is true once the gateway has the customer and a card.
	AtGateway bool `json:",omitempty"`
	// StripeID is the customer at Stripe, or empty.
	StripeID string `json:",omitempty"`
	// Orders are the orders, the latest first.
	Orders []Order
}

// Order is an order of a product, or a subscription.
type Order struct {
	ID, Product string
	// Form is the token of the checkout form, so that a form that is sent twice is one
	// order.
	Form   string
	Placed time.Time
	Bill   Bill
	// Transaction is the payment of a one-off order at the gateway.
	Transaction string `json:",omitempty"`
	Returned    time.Time
	// Refunded is the part that was refunded before the order was returned.
	Refunded cents `json:",omitempty"`
	// Subscription is the id of a subscription at the gateway; Status is its status
	// there, FirstBill the day of the first charge, and Charges the charges that the
	// shop has reported to Kith.
	Subscription string   `json:",omitempty"`
	Status       string   `json:",omitempty"`
	FirstBill    string   `json:",omitempty"`
	Charges      []Charge `json:",omitempty"`
	// Session is the checkout session of an order that is paid at Stripe, and Checkout
	// its page; that is empty once the order is paid.
	Session  string `json:",omitempty"`
	Checkout string `json:",omitempty"`
}

// put stores an order that changed.
func (c *Customer) put(order Order) error {
	for i := range c.Orders {
		if c.Orders[i].ID == order.ID {
			c.Orders[i] = order
		}
	}
	return nil
}

// Charge is a payment of a subscription.
type Charge struct {
	Transaction string
	Amount      cents
}

// OfProduct returns the product of the order.
func (o Order) OfProduct() *Product { return productByID(o.Product) }

// Unpaid reports whether the customer has not paid at the checkout of Stripe yet.
func (o Order) Unpaid() bool { return o.Checkout != "" }

// IsReturned reports whether the customer has returned the order.
func (o Order) IsReturned() bool { return !o.Returned.IsZero() }

// Refundable reports whether a part of the order may be refunded.
func (o Order) Refundable() bool {
	return o.Session != "" && o.Subscription == "" && !o.Unpaid() && !o.IsReturned() && o.Refunded == 0
}

// OnTrial reports whether a subscription has not been charged yet.
func (o Order) OnTrial() bool { return o.Subscription != "" && !o.Cancelled() && len(o.Charges) == 0 }

// Cancelled reports whether a subscription has ended.
func (o Order) Cancelled() bool { return o.Status == "Canceled" || o.Status == "Expired" }

// records is the content of the shop's file.
type records struct {
	Customers map[string]*Customer
	// Sessions maps the SHA-256 of a session's token to a customer.
	Sessions map[string]string
	Number   int
}

// book is the database of a shop: a JSON file. Its methods may be called concurrently.
type book struct {
	path string

	mu   sync.Mutex
	data records
	// behind has the calls behind the pages of customers, in memory only.
	behind map[string][]Call
}

// openBook reads the file of a shop, which need not exist. If path is empty, the data is
// in memory only.
func openBook(path string) (*book, error) {
	b := &book{path: path, behind: map[string][]Call{}}
	b.data = records{Customers: map[string]*Customer{}, Sessions: map[string]string{}, Number: 1000}
	if path == "" {
		return b, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b.data)
	}
	if err != nil {
		return nil, fmt.Errorf("demo shop: %w; remove the file %s, which has only the customers of the demo shop", err, path)
	}
	return b, nil
}

// save writes the file. The caller holds the lock.
func (b *book) save() error {
	if b.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(b.data, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	draft := b.path + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, b.path)
}

// refusal is an error that the visitor of the shop may cause and read.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// join returns the customer with an email address, or adds one.
func (b *book) join(first, last, email string, now time.Time) (c Customer, added bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, known := range b.data.Customers {
		if strings.EqualFold(known.Email, email) {
			return known.copy(), false, nil
		}
	}
	if len(b.data.Customers) >= maxCustomers {
		return c, false, refuse("The demo shop is full: it has %d customers. Stop Kith and remove the file %s.", maxCustomers, b.path)
	}
	c = Customer{ID: slug(first) + "-" + randomHex(3), First: first, Last: last, Email: email, Joined: now}
	b.data.Customers[c.ID] = new(c.copy())
	return c, true, b.save()
}

// forget removes a customer whom Kith refused.
func (b *book) forget(id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.data.Customers, id)
	return b.save()
}

func (c *Customer) copy() Customer {
	copied := *c
	copied.Orders = slices.Clone(c.Orders)
	return copied
}

// change changes a customer.
func (b *book) change(id string, do func(*Customer) error) (Customer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.data.Customers[id]
	if c == nil {
		return Customer{}, refuse("There is no such customer any more. Sign up again.")
	}
	if err := do(c); err != nil {
		return Customer{}, err
	}
	return c.copy(), b.save()
}

// reserve adds an order before it is paid. If its form was sent before, it returns the
// id of that order, and fresh is false.
func (b *book) reserve(id string, o Order) (order string, fresh bool, err error) {
	_, err = b.change(id, func(c *Customer) error {
		if i := slices.IndexFunc(c.Orders, func(known Order) bool { return known.Form == o.Form }); i >= 0 {
			order = c.Orders[i].ID
			return nil
		}
		if len(c.Orders) >= maxOrders {
			return refuse("A customer of the demo shop has at most %d orders. Sign up with another address.", maxOrders)
		}
		b.data.Number++
		o.ID = strconv.Itoa(b.data.Number)
		order, fresh = o.ID, true
		c.Orders = append([]Order{o}, c.Orders...)
		return nil
	})
	return order, fresh, err
}

// release removes an order that could not be paid.
func (b *book) release(id, order string) error {
	_, err := b.change(id, func(c *Customer) error {
		c.Orders = slices.DeleteFunc(c.Orders, func(o Order) bool { return o.ID == order })
		return nil
	})
	return err
}

// begin starts a session of a customer and returns its token.
func (b *book) begin(id string) (token string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.data.Sessions) >= maxSessions {
		clear(b.data.Sessions)
	}
	token = randomHex(16)
	b.data.Sessions[hashed(token)] = id
	return token, b.save()
}

// end ends a session.
func (b *book) end(token string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.data.Sessions, hashed(token))
	return b.save()
}

// customer returns the customer of a session.
func (b *book) customer(token string) (c Customer, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if found := b.data.Customers[b.data.Sessions[hashed(token)]]; found != nil {
		return found.copy(), true
	}
	return c, false
}

// maxBehind is the most pages whose calls are kept.
const maxBehind = 1000

// keep adds the calls that led to a page of a customer.
func (b *book) keep(page string, calls []Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.behind) >= maxBehind {
		clear(b.behind)
	}
	all := append(b.behind[page], calls...)
	b.behind[page] = all[max(0, len(all)-maxCalls):]
}

// kept returns the calls that led to a page of a customer.
func (b *book) kept(page string) []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.behind[page])
}

// slug returns a name as the beginning of an id.
func slug(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') && b.Len() < 20 {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "customer"
	}
	return b.String()
}

func randomHex(bytes int) string {
	raw := make([]byte, bytes)
	_, _ = rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
