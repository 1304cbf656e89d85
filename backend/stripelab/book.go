package stripelab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"kith/backend/labkit"
)

// maxRecords bounds the records of a lab.
const maxRecords = 200_000

// book is the state of the gateway. Callers of its methods hold the mutex of the lab.
type book struct {
	// now is the time of what runs.
	now time.Time
	// run distinguishes the ids of this book from those of all others, since clients of
	// the lab store them.
	run   string
	drawn int64

	all map[string]object
	// tables has the ids of the records by kind, in the order of their creation.
	tables map[string][]string
	// agenda has the records to which something may happen as time goes by.
	agenda []object

	settings settings
	used     map[string]*usedKey
	usedIDs  []string
	notes    []*note
	// cause is the request that runs, for events.
	cause *call
}

// settings are what a merchant sets in the gateway's dashboard, and the lab's own.
type settings struct {
	// retryDays are the days between the attempts to charge an invoice.
	retryDays []int
	// afterRetries is what becomes of a subscription whose last attempt failed:
	// "canceled", "unpaid" or "past_due".
	afterRetries string
	// draft is how long an invoice of a new period stays a draft.
	draft time.Duration
	// taxPercent is the rate of automatic tax.
	taxPercent float64
}

func newBook(start time.Time) *book {
	b := &book{now: start, all: map[string]object{}, tables: map[string][]string{}, used: map[string]*usedKey{}}
	sum := sha256.Sum256([]byte(strconv.FormatInt(start.UnixNano(), 36)))
	b.run = "lab" + hex.EncodeToString(sum[:4])
	b.settings = settings{retryDays: []int{3, 5, 7}, afterRetries: "canceled", draft: time.Hour, taxPercent: 10}
	b.add(object{
		"id": "acct_" + b.run, "object": "account", "business_profile": object{"name": "Stripe lab", "url": nil, "mcc": nil}, "business_type": nil,
		"charges_enabled": true, "country": "US", "created": start.Unix(), "default_currency": "usd", "details_submitted": true,
		"email": "lab@example.com", "payouts_enabled": true, "type": "standard", "metadata": map[string]string{},
	})
	return b
}

// account returns the only account of the lab.
func (b *book) account() object { return b.table("account")[0] }

// id draws an id that no other record has, in this book or another.
func (b *book) id(prefix string) string {
	b.drawn++
	return prefix + "_" + b.run + fmt.Sprintf("%07s", strconv.FormatInt(b.drawn, 36))
}

// secret draws a text that looks secret. It is not: a replay draws the same.
func (b *book) secret(prefix string) string {
	b.drawn++
	sum := sha256.Sum256([]byte(b.run + strconv.FormatInt(b.drawn, 36)))
	return prefix + "_" + hex.EncodeToString(sum[:16])
}

func (b *book) unix() int64 { return b.now.Unix() }

// add stores a record, and returns it.
func (b *book) add(o object) object {
	b.all[o.id()] = o
	b.tables[o.kind()] = append(b.tables[o.kind()], o.id())
	return o
}

// table returns the records of a kind, oldest first.
func (b *book) table(kind string) []object {
	ids := b.tables[kind]
	all := make([]object, len(ids))
	for i, id := range ids {
		all[i] = b.all[id]
	}
	return all
}

// find returns the record of a kind, or nil.
func (b *book) find(kind, id string) object {
	if o := b.all[id]; o != nil && o.kind() == kind && !o.yes("_deleted") {
		return o
	}
	return nil
}

// remove takes a record out of the lists of its kind. References to it stay valid.
func (b *book) remove(o object) {
	o["_deleted"] = true
	b.tables[o.kind()] = slices.DeleteFunc(b.tables[o.kind()], func(id string) bool { return id == o.id() })
}

// deleted is the answer for a record that was removed.
func deleted(o object) object { return object{"id": o.id(), "object": o.kind(), "deleted": true} }

// watch puts a record on the agenda.
func (b *book) watch(o object) {
	if !o.yes("_watched") {
		o["_watched"] = true
		b.agenda = append(b.agenda, o)
	}
}

// runTo runs all that is due up to a time, each at its own time. In a full lab nothing
// happens any more.
func (b *book) runTo(to time.Time) {
	for {
		one, at := b.next(to)
		if one == nil || len(b.all) >= maxRecords {
			break
		}
		if at.After(b.now) {
			b.now = at
		}
		b.happen(one)
	}
	b.now = to
}

// next returns the record to which something happens first, not after a time. Of several
// at the same time it is the oldest on the agenda.
func (b *book) next(limit time.Time) (first object, at time.Time) {
	kept := b.agenda[:0]
	for _, o := range b.agenda {
		due := b.due(o)
		if due == 0 {
			delete(o, "_watched")
			continue
		}
		kept = append(kept, o)
		when := time.Unix(due, 0).UTC()
		if !when.After(limit) && (first == nil || when.Before(at)) {
			first, at = o, when
		}
	}
	b.agenda = kept
	return first, at
}

// due returns when something happens to a record, or 0 if nothing does.
func (b *book) due(o object) int64 {
	switch o.kind() {
	case "subscription":
		return subscriptionDue(o)
	case "invoice":
		return o.num("_due")
	case "checkout.session":
		if o.text("status") == "open" {
			return o.num("expires_at")
		}
	case "discount":
		if !o.yes("_ended") {
			return o.num("end")
		}
	}
	return 0
}

// happen runs what is due for a record. Afterwards it is due later or not at all.
func (b *book) happen(o object) {
	switch o.kind() {
	case "subscription":
		b.subscriptionStep(o)
	case "invoice":
		b.invoiceStep(o)
	case "checkout.session":
		b.expireSession(o)
	case "discount":
		b.endDiscount(o)
	}
}

// after returns the time some intervals of a price later. A day that a month does not have
// becomes its last one.
func after(from time.Time, interval string, count int64) time.Time {
	switch interval {
	case "day":
		return from.AddDate(0, 0, int(count))
	case "week":
		return from.AddDate(0, 0, 7*int(count))
	case "year":
		return labkit.AddMonths(from, 12*int(count))
	}
	return labkit.AddMonths(from, int(count))
}
