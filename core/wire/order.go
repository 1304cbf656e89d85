package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/link"
	"kith/core/reward"
)

// Order is an order of a referral, with what was decided and its rewards.
type Order struct {
	conversion.Order
	conversion.Outcome
	// Rewards are by conversion.Side; nil for none.
	Rewards [2]*reward.Reward
}

// WhyDetail completes the reason of the order for people, or says which field cannot be
// read.
func (o Order) WhyDetail() string {
	if o.Reason != "" {
		return o.Detail
	}
	return o.Unread()
}

// Orders returns the response to GET /referrals/{id}/orders: {count, totalCount,
// orders}. total is the number of orders on all pages.
func Orders(page []Order, total int) []byte {
	return pageOf("orders", page, total, appendOrder)
}

func appendOrder(b []byte, o Order) []byte {
	w := begin(b)
	w.text("orderId", o.Order.Key)
	w.textOrNull("eventId", o.Event)
	w.date("dateOrdered", o.At)
	if o.HasRevenue {
		w.number("revenueInCents", o.Revenue)
	} else {
		w.raw("revenueInCents", "null")
	}
	w.textOrNull("currency", o.Currency)
	refunded, whole := o.Refunded()
	w.number("refundedInCents", refunded)
	w.boolean("refunded", whole)
	w.boolean("counts", o.Number > 0)
	w.numberOrNull("number", o.Number)
	w.numberOrNull("conversion", o.Conversion)
	w.reason("reason", o.Reason)
	w.textOrNull("detail", o.WhyDetail())
	w.object("rewards", func() {
		for side, name := range []string{"referrer", "referred"} {
			w.object(name, func() {
				w.reason("reason", o.Sides[side].Reason)
				w.reward("reward", o.Rewards[side])
			})
		}
	})
	return w.end()
}

// reason writes why nothing is earned, for programs and for people; null if it is.
func (w *writer) reason(name string, r conversion.Reason) {
	w.objectOrNull(name, r != "", func() {
		w.text("code", string(r))
		w.text("message", r.Sentence())
	})
}

// Trial is the body of POST /programs/{key}/try.
type Trial struct {
	Event event.Event
	// Account is a referred account; empty to assume the numbers of Trial.
	Account core.AccountID
	// Trial has no event.
	conversion.Trial
}

// ParseTrial parses the body of POST /programs/{key}/try.
func ParseTrial(body []byte) (t Trial, err error) {
	given, assumed := false, ""
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "event":
			if v.Type() == fastjson.TypeNull {
				return true
			}
			given = true
			e, err := parseEvent(key, v)
			t.Event = e
			if f := gjson.GetBytes(body, "event.fields"); f.IsObject() {
				t.Event.Fields = f.Raw
			}
			return r.fail(err)
		case "accountId":
			return setParsed(r, key, v, &t.Account, core.ParseAccountID)
		}
		assumed = key
		switch key {
		case "dateAttributed":
			return r.date(&t.Since, key, v, 1)
		case "orders":
			return r.count(&t.Orders, key, v)
		case "conversions":
			return r.count(&t.Conversions, key, v)
		case "rewards":
			return r.count(&t.Rewards, key, v)
		case "earlierEvent":
			return take(r.boolean, &t.Earlier, key, v)
		}
		return false
	})
	switch {
	case err != nil:
		return Trial{}, err
	case !given:
		return Trial{}, core.Invalid("event", "is required: an event with key and fields")
	case t.Account != "" && assumed != "":
		return Trial{}, core.Invalid(assumed, "must be left out with accountId, which has its own")
	}
	t.Earned = [2]int64{t.Orders, t.Orders}
	return t, nil
}

// Tried returns the response to POST /programs/{key}/try.
func Tried(d conversion.Decision, steps []conversion.Step) []byte {
	w := begin(nil)
	w.boolean("counts", d.Counts())
	w.boolean("converts", d.Number == 1)
	w.reason("reason", d.Reason)
	w.object("rewards", func() {
		for side, name := range []string{"referrer", "referred"} {
			e := d.Earned[side]
			if !d.Counts() || !e.Gives() {
				w.raw(name, "null")
				continue
			}
			w.earning(name, conversion.Earning{Offer: e.Offer}, false)
		}
	})
	w.list("steps", len(steps), func(b []byte, i int) []byte {
		w := begin(b)
		w.boolean("passed", steps[i].Passed)
		w.text("text", steps[i].Text)
		return w.end()
	})
	return w.end()
}

// OrderEvent returns an event with the data that rules of conversion read from its
// fields. names are the fields that conditions name.
func OrderEvent(e event.Event, names []string) conversion.Event {
	out := conversion.Event{ID: e.ID, Key: e.Key, At: e.Triggered, Fields: map[string][]string{}}
	var agent conversion.Event
	gjson.Parse(e.Fields).ForEach(func(name, v gjson.Result) bool {
		values := fieldValues(v)
		one := ""
		if len(values) > 0 {
			one = values[0]
		}
		switch name.Str {
		case "order_id":
			out.OrderID = one
		case "refund_id":
			out.RefundID = one
		case "revenue":
			out.Revenue = emptyAsJSON(v, given(v, one))
		case "currency":
			out.Currency = given(v, one)
		case "referral_code", "referralCode":
			out.Code = core.Trim(one)
		case "attribution", "affiliate_attribution":
			takeAttribution(&agent, v)
		}
		if slices.Contains(names, name.Str) {
			out.Fields[name.Str] = values
		}
		return true
	})
	if out.Code == "" {
		out.Code, out.Token, out.Agent = agent.Code, agent.Token, true
	}
	return out
}

// takeAttribution takes the code or the token of the attribution of an agent's checkout: an
// object with the parameters of the share link (Universal Commerce Protocol), or with a token
// (Agentic Commerce Protocol). Other names, such as ref, are those of other programs.
func takeAttribution(out *conversion.Event, v gjson.Result) {
	if !v.IsObject() {
		return
	}
	for _, name := range []string{link.CodeParameter, "referral_code", "referralCode", "token"} {
		text := core.Trim(v.Get(name).String())
		_, noCode := core.ParseReferralCode("", text)
		switch {
		case name == "token" && noCode != nil:
			out.Token = cmp.Or(out.Token, text)
		default:
			out.Code = cmp.Or(out.Code, text)
		}
	}
}

// given returns the value of a field as text: of an object or an array its JSON, which is no
// number and no currency, and not a field that was left out.
func given(v gjson.Result, one string) string {
	if v.IsObject() || v.IsArray() {
		return v.Raw
	}
	return one
}

// emptyAsJSON returns a text without content as its JSON, for a field that must not count as left
// out then: a refund without a revenue is of the whole order.
func emptyAsJSON(v gjson.Result, text string) string {
	if text == "" && v.Type == gjson.String {
		return v.Raw
	}
	return text
}

// fieldValues returns the values of a field as texts: one of a scalar, those of an
// array, none of null and of an object.
func fieldValues(v gjson.Result) (values []string) {
	switch {
	case v.IsArray():
		v.ForEach(func(_, item gjson.Result) bool {
			if !item.IsArray() {
				values = append(values, fieldValues(item)...)
			}
			return true
		})
	case v.Type == gjson.String:
		values = []string{strings.TrimSpace(v.Str)}
	case v.Type == gjson.Number, v.Type == gjson.True, v.Type == gjson.False:
		values = []string{v.Raw}
	}
	return values
}
