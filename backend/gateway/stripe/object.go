package stripe

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
)

// The types below have what Kith reads of Stripe's objects. A field that has another object
// has its id, unless the call expands it.

// read reads an object. A required field must be there: without the amount of a refund, or
// without the data of a list, money could move twice.
func read[T any](data []byte, into *T, required ...string) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	for _, name := range required {
		if gjson.GetBytes(data, name).Type == gjson.Null {
			return errors.New("it has no " + name)
		}
	}
	return nil
}

// isID reads the id of an object that the call does not expand, and reports whether data is
// one.
func isID(data []byte, id *string) bool { return json.Unmarshal(data, id) == nil }

// named is the id of an object, expanded or not.
type named string

func (n *named) UnmarshalJSON(data []byte) error {
	var o identified
	if isID(data, (*string)(n)) {
		return nil
	}
	err := json.Unmarshal(data, &o)
	*n = named(o.ID)
	return err
}

// identified is an object of which only the id is read.
type identified struct {
	ID string `json:"id"`
}

func (o identified) key() string { return o.ID }

func (o *identified) UnmarshalJSON(data []byte) error {
	type plain identified
	return read(data, (*plain)(o), "id")
}

// listOf is a page of a list.
type listOf[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"has_more"`
}

func (o *listOf[T]) UnmarshalJSON(data []byte) error {
	type plain listOf[T]
	return read(data, (*plain)(o), "data", "has_more")
}

type subscription struct {
	ID         string            `json:"id"`
	Status     string            `json:"status"`
	Currency   string            `json:"currency"`
	Created    int64             `json:"created"`
	TrialStart int64             `json:"trial_start"`
	Customer   *customer         `json:"customer"`
	Discounts  []discount        `json:"discounts"`
	Metadata   map[string]string `json:"metadata"`
	Pause      *struct{}         `json:"pause_collection"`
	Items      struct {
		Data []struct {
			CurrentPeriodStart int64 `json:"current_period_start"`
			CurrentPeriodEnd   int64 `json:"current_period_end"`
		} `json:"data"`
	} `json:"items"`
}

func (o *subscription) UnmarshalJSON(data []byte) error {
	type plain subscription
	return read(data, (*plain)(o), "id", "status", "currency", "created", "customer", "discounts", "items.data")
}

// discount is a discount that the call expands.
type discount struct {
	ID     string `json:"id"`
	Source struct {
		Coupon named `json:"coupon"`
	} `json:"source"`
	PromotionCode *promotionCode `json:"promotion_code"`
}

func (o *discount) UnmarshalJSON(data []byte) error {
	type plain discount
	return read(data, (*plain)(o), "id", "source")
}

type promotionCode struct {
	ID        string `json:"id"`
	Code      string `json:"code"`
	Promotion struct {
		Coupon named `json:"coupon"`
	} `json:"promotion"`
}

func (o promotionCode) key() string { return o.ID }

func (o *promotionCode) UnmarshalJSON(data []byte) error {
	type plain promotionCode
	if isID(data, &o.ID) {
		return nil
	}
	return read(data, (*plain)(o), "id", "code", "promotion")
}

type customer struct {
	ID       string            `json:"id"`
	Deleted  bool              `json:"deleted"`
	Email    string            `json:"email"`
	Name     string            `json:"name"`
	Currency string            `json:"currency"`
	Balance  *int64            `json:"balance"`
	Metadata map[string]string `json:"metadata"`
}

func (o *customer) UnmarshalJSON(data []byte) error {
	type plain customer
	if isID(data, &o.ID) {
		return nil
	}
	return read(data, (*plain)(o), "id")
}

type invoice struct {
	ID            string            `json:"id"`
	Status        string            `json:"status"`
	Currency      string            `json:"currency"`
	AmountPaid    int64             `json:"amount_paid"`
	Total         int64             `json:"total"`
	Customer      *customer         `json:"customer"`
	CustomerEmail string            `json:"customer_email"`
	CustomerName  string            `json:"customer_name"`
	Metadata      map[string]string `json:"metadata"`
	Parent        parent            `json:"parent"`
	Discounted    []discounted      `json:"total_discount_amounts"`
	TotalTaxes    []taxed           `json:"total_taxes"`
	ShippingCost  *shipped          `json:"shipping_cost"`
	Transitions   struct {
		PaidAt int64 `json:"paid_at"`
	} `json:"status_transitions"`
}

func (o *invoice) UnmarshalJSON(data []byte) error {
	type plain invoice
	return read(data, (*plain)(o), "id", "status", "currency", "amount_paid", "total", "status_transitions")
}

// parent is what an invoice is for.
type parent struct {
	SubscriptionDetails struct {
		Subscription named `json:"subscription"`
	} `json:"subscription_details"`
}

// preview is the next invoice of a subscription.
type preview struct {
	Subtotal   int64        `json:"subtotal"`
	Discounted []discounted `json:"total_discount_amounts"`
}

func (o *preview) UnmarshalJSON(data []byte) error {
	type plain preview
	return read(data, (*plain)(o), "subtotal")
}

// discounted is the amount of a discount in an invoice.
type discounted struct {
	Amount   int64    `json:"amount"`
	Discount discount `json:"discount"`
}

func (o *discounted) UnmarshalJSON(data []byte) error {
	type plain discounted
	return read(data, (*plain)(o), "amount", "discount")
}

type taxed struct {
	Amount int64 `json:"amount"`
}

func (o *taxed) UnmarshalJSON(data []byte) error {
	type plain taxed
	return read(data, (*plain)(o), "amount")
}

// shipped is the price of shipping, without tax.
type shipped struct {
	Amount int64 `json:"amount_subtotal"`
}

func (o *shipped) UnmarshalJSON(data []byte) error {
	type plain shipped
	return read(data, (*plain)(o), "amount_subtotal")
}

// invoicePayment is a payment of an invoice.
type invoicePayment struct {
	Invoice named `json:"invoice"`
	Payment struct {
		PaymentIntent named `json:"payment_intent"`
	} `json:"payment"`
}

func (o *invoicePayment) UnmarshalJSON(data []byte) error {
	type plain invoicePayment
	return read(data, (*plain)(o), "invoice", "payment")
}

type paymentIntent struct {
	Status         string            `json:"status"`
	Currency       string            `json:"currency"`
	AmountReceived int64             `json:"amount_received"`
	Created        int64             `json:"created"`
	Customer       *customer         `json:"customer"`
	Metadata       map[string]string `json:"metadata"`
	LatestCharge   struct {
		Created int64 `json:"created"`
	} `json:"latest_charge"`
}

func (o *paymentIntent) UnmarshalJSON(data []byte) error {
	type plain paymentIntent
	return read(data, (*plain)(o), "status", "currency", "amount_received", "created")
}

type session struct {
	AmountTotal       *int64            `json:"amount_total"`
	ClientReferenceID string            `json:"client_reference_id"`
	Customer          *customer         `json:"customer"`
	Metadata          map[string]string `json:"metadata"`
	CustomerDetails   struct {
		Email string `json:"email"`
		Name  string `json:"name"`
	} `json:"customer_details"`
	Discounts []struct {
		PromotionCode *promotionCode `json:"promotion_code"`
	} `json:"discounts"`
	TotalDetails struct {
		AmountTax      int64 `json:"amount_tax"`
		AmountShipping int64 `json:"amount_shipping"`
	} `json:"total_details"`
}

// paid is a checkout session, a refund or a dispute, of which only the payment is read.
type paid struct {
	ID            string `json:"id"`
	PaymentIntent named  `json:"payment_intent"`
}

func (o paid) key() string { return o.ID }

func (o *paid) UnmarshalJSON(data []byte) error {
	type plain paid
	return read(data, (*plain)(o), "id")
}

type refund struct {
	ID       string            `json:"id"`
	Amount   int64             `json:"amount"`
	Created  int64             `json:"created"`
	Status   string            `json:"status"`
	Metadata map[string]string `json:"metadata"`
}

func (o refund) key() string { return o.ID }

func (o *refund) UnmarshalJSON(data []byte) error {
	type plain refund
	return read(data, (*plain)(o), "id", "amount", "created")
}

type dispute struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
	Status string `json:"status"`
}

func (o dispute) key() string { return o.ID }

// open reports whether the bank has not decided.
func (o dispute) open() bool {
	return !slices.Contains([]string{disputeLost, "won", "warning_closed", "prevented"}, o.Status)
}

func (o *dispute) UnmarshalJSON(data []byte) error {
	type plain dispute
	return read(data, (*plain)(o), "id", "amount", "status")
}

// balanceTransaction is a change of a customer's balance.
type balanceTransaction struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
}

func (o balanceTransaction) key() string { return o.ID }

func (o *balanceTransaction) UnmarshalJSON(data []byte) error {
	type plain balanceTransaction
	return read(data, (*plain)(o), "id")
}

type event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Livemode bool   `json:"livemode"`
	Data     struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

func (o event) key() string { return o.ID }

func (o *event) UnmarshalJSON(data []byte) error {
	type plain event
	return read(data, (*plain)(o), "id", "type", "livemode", "data.object")
}

type endpoint struct {
	ID            string            `json:"id"`
	URL           string            `json:"url"`
	Status        string            `json:"status"`
	APIVersion    string            `json:"api_version"`
	EnabledEvents []string          `json:"enabled_events"`
	Metadata      map[string]string `json:"metadata"`
	// Secret is in the answer to the call that makes the endpoint.
	Secret string `json:"secret"`
}

func (o endpoint) key() string { return o.ID }

func (o *endpoint) UnmarshalJSON(data []byte) error {
	type plain endpoint
	return read(data, (*plain)(o), "id", "url", "status", "enabled_events")
}
