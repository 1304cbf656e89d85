package wire

import (
	"kith/core"
	"kith/core/billing"
	"kith/core/reward"
)

// The keys of the events that payments at a gateway are.
const (
	PurchaseKey = "purchase"
	RefundKey   = "refund"
)

// Purchase returns the fields of the event of a payment. The code attributes it, as the
// field of any other event does.
func Purchase(p billing.Payment, code core.ReferralCode) string {
	w := payment(p, p.Revenue)
	if p.Subscription != "" {
		w.text("subscription_id", p.Subscription)
	}
	if code != "" {
		w.text("referral_code", string(code))
	}
	w.close()
	return string(w.b)
}

// Refund returns the fields of the event by which some of a payment's revenue was given
// back.
func Refund(p billing.Payment, revenue int64) string {
	w := payment(p, revenue)
	w.close()
	return string(w.b)
}

func payment(p billing.Payment, revenue int64) writer {
	w := writer{}
	w.open()
	w.text("order_id", p.ID)
	w.raw("revenue", reward.Pretty(revenue, reward.UnitCents, p.Currency, reward.NumberUnformatted))
	w.text("currency", p.Currency)
	return w
}
