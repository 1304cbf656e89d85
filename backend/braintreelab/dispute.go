package braintreelab

import (
	"slices"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// dispute is a customer's objection to a charge.
type dispute struct {
	id          string
	transaction *transaction
	status      string
	opened      time.Time
}

// disputeKinds has the notification of each state of a dispute.
var disputeKinds = map[string]braintree.Kind{
	"open": braintree.DisputeOpened, "under_review": braintree.DisputeUnderReview, "disputed": braintree.DisputeDisputed, "won": braintree.DisputeWon,
	"lost": braintree.DisputeLost, "accepted": braintree.DisputeAccepted, "auto_accepted": braintree.DisputeAutoAccepted, "expired": braintree.DisputeExpired,
}

// endOfDispute has the final states.
var endOfDispute = []string{"won", "lost", "accepted", "auto_accepted"}

// dispute opens a dispute about a whole sale, or changes the state of an open one. The
// bank decides the state: any state except open may follow, until a final one.
func (b *book) dispute(t *transaction, status string) string {
	kind, known := disputeKinds[status]
	switch {
	case !known:
		return "status: want open, under_review, disputed, won, lost, accepted, auto_accepted or expired"
	case t.kind != braintree.Sale || !t.status.Paid():
		return "only a successful charge can be disputed"
	}
	var d *dispute
	if n := len(t.disputes); n > 0 {
		d = t.disputes[n-1]
	}
	running := d != nil && !slices.Contains(endOfDispute, d.status)
	switch {
	case status == "open" && running:
		return "this charge is disputed already"
	case status == "open":
		d = &dispute{id: b.id("dispute"), transaction: t, opened: b.now}
		t.disputes = append(t.disputes, d)
		b.disputes.put(d.id, d)
	case !running:
		return "this charge is not disputed; open it first"
	}
	d.status = status
	b.notifyDispute(kind, d)
	return ""
}

func (d *dispute) xml() *xmltree.Node {
	amount := string(braintree.NewAmount(d.transaction.amount, d.transaction.currency))
	won := "0.00"
	if d.status == "won" {
		won = amount
	}
	return xmltree.Object("dispute",
		xmltree.Text("id", d.id), xmltree.Text("amount", amount), xmltree.Text("amount_disputed", amount), xmltree.Text("amount_won", won),
		xmltree.Text("currency_iso_code", d.transaction.currency), xmltree.Date("received_date", d.opened),
		xmltree.Date("reply_by_date", d.opened.AddDate(0, 0, 7)), xmltree.Date("date_opened", d.opened), xmltree.Text("kind", "chargeback"),
		xmltree.Text("status", d.status), xmltree.Text("reason", "fraud"),
		xmltree.Object("transaction", xmltree.Text("id", d.transaction.id), xmltree.Text("amount", amount)),
	)
}
