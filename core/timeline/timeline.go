// Package timeline explains one referral to people: what happened to it and why, and why
// each side has its reward or has none. Its functions are pure.
package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// The most rows of each kind that a timeline shows, the latest ones.
const (
	MaxDecisions  = 50
	MaxOrders     = 50
	MaxRewards    = 50
	MaxLedger     = 200
	MaxDeliveries = 50
	MaxActs       = 50
)

// Facts is all that a timeline is made of.
type Facts struct {
	Now      core.Time
	Referral referral.Referral
	// Account is that of the referred user.
	Account referral.Account
	// Identified is when the referred user was first identified; zero if no user of the
	// account was.
	Identified core.Time
	// Program is the program of the referral as it is now.
	Program referral.Program
	// Decisions are those about codes of the account.
	Decisions []wire.Decision
	Orders    []state.Order
	// Rewards are those of the referral at Now, and Ledger their entries, the latest first.
	Rewards []reward.Reward
	Ledger  []reward.Entry
	// Dues are the sides whose reward waits for a code of a fuel tank.
	Dues       []referral.SideKey
	Deliveries []webhook.Delivery
	// Acts are what people did in the portal.
	Acts []Act
	// Cut is true if there is more than the facts have.
	Cut bool
}

// Act is what a person did about a referral or one of its rewards.
type Act struct {
	At core.Time
	// By is the address of the person.
	By string
	// Decision is what the person decided about the referral; it is empty for a reward, and
	// if it is not known any more. Denied is true for a denial.
	Decision referral.Action
	Denied   bool
	// Reason is why; it may be empty.
	Reason string
	// Reward is the id of the reward that was cancelled, or empty.
	Reward string
}

// Sentence is a text for people with times in it, which a reader sees in their own zone.
type Sentence []Part

// Part is a piece of a sentence: a text, or a time if At is not zero.
type Part struct {
	Text string
	At   core.Time
}

// say returns a sentence of texts and times.
func say(parts ...any) (s Sentence) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			if part != "" {
				s = append(s, Part{Text: part})
			}
		case core.Time:
			s = append(s, Part{At: part})
		case Sentence:
			s = append(s, part...)
		}
	}
	return s
}

// String returns the sentence with times in UTC.
func (s Sentence) String() string {
	var text strings.Builder
	for _, part := range s {
		text.WriteString(part.Text)
		if part.At != 0 {
			text.WriteString(time.UnixMilli(int64(part.At)).UTC().Format("2006-01-02 15:04 UTC"))
		}
	}
	return text.String()
}

// Kind is the kind of an entry.
type Kind string

// The kinds.
const (
	Visit          Kind = "visit"
	Attribution    Kind = "attribution"
	Identification Kind = "identification"
	Payment        Kind = "payment"
	Ordering       Kind = "order"
	Conversion     Kind = "conversion"
	Rewarding      Kind = "reward"
	Discount       Kind = "discount"
	Refund         Kind = "refund"
	Moderation     Kind = "moderation"
	Webhook        Kind = "webhook"
	End            Kind = "end"
)

// Tone says whether an entry brings a reward nearer.
type Tone string

// The tones; the empty one is neither.
const (
	Good    Tone = "good"
	Bad     Tone = "bad"
	Waiting Tone = "waiting"
)

// Entry is one event of a timeline.
type Entry struct {
	// At is when it happened, or will; zero if that is not recorded.
	At   core.Time
	Kind Kind
	Tone Tone
	// Text says what happened, and Why gives the reason; Why may be empty.
	Text, Why Sentence
	// By is the address of the person who did it, or empty.
	By string
}

// Of returns the entries of a timeline, the latest last. Entries without a recorded time
// are first.
func Of(f Facts) []Entry {
	c := collector{Facts: f}
	c.addAttribution()
	c.addOrders() // before the conversion, which may have the same time
	c.addPayment()
	c.addModeration() // before the rewards that it gives or cancels
	c.addRewards()
	c.addWebhooks()
	slices.SortStableFunc(c.entries, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	return c.entries
}

// collector collects the entries of a timeline.
type collector struct {
	Facts
	entries []Entry
}

func (c *collector) add(e Entry) { c.entries = append(c.entries, e) }

// Referrer and Referred return the names of the two for people.
func (f Facts) Referrer() string { return name(f.Referral.Referrer, f.Referral.ReferrerProfile) }
func (f Facts) Referred() string { return name(f.Referral.Referred, f.Referral.ReferredProfile) }

func name(who referral.Identity, p referral.Profile) string {
	return cmp.Or(who.Name(p), "the account "+string(who.Account))
}

// owner returns the name of the owner of a reward from a source.
func (f Facts) owner(source reward.Source) string {
	if source == reward.FriendSignup {
		return f.Referrer()
	}
	return f.Referred()
}

func (c *collector) addAttribution() {
	r := c.Referral
	began := false
	for _, d := range c.Decisions {
		why := d.Rule.Explain()
		if d.Times > 1 {
			why += " The same happened " + strconv.FormatInt(d.Times, 10) + " times, last on "
		}
		e := Entry{At: d.First, Kind: Attribution, Tone: Bad, Why: say(why)}
		if d.Times > 1 {
			e.Why = say(why, d.Last, ".")
		}
		code := "A code"
		if d.Code != "" {
			code = "The code " + string(d.Code)
		}
		e.Text = say(code + " from " + d.Source.Explain() + " did not count.")
		if d.Rule == referral.RuleSameCode {
			e.Tone = ""
		}
		if d.Accepted && !began {
			began, e.Tone = true, Good
			e.Text = say(c.Referrer() + " referred " + c.Referred() + " with the code " + string(d.Code) + " from " + d.Source.Explain() + ".")
			if d.Source.Automatic() || r.ShareLink != "" {
				c.addVisit()
			}
		}
		c.add(e)
	}
	if !began {
		c.add(Entry{
			At: r.Started, Kind: Attribution, Tone: Good, Text: say(c.Referrer() + " referred " + c.Referred() + " with the code " + string(r.Code) + "."),
			Why: say("No decision about the code is stored: the referral was imported, or decisions were removed with a user."),
		})
		if r.ShareLink != "" {
			c.addVisit()
		}
	}
	if c.Identified != 0 {
		c.add(Entry{At: c.Identified, Kind: Identification, Tone: Good, Text: say(c.Referred() + " was identified for the first time.")})
	}
}

func (c *collector) addVisit() {
	text := "A share link of " + c.Referrer() + " was followed"
	if c.Referral.ShareLink != "" {
		text += ": " + c.Referral.ShareLink
	}
	if c.Referral.ShareMedium != "" {
		text += " (shared by " + strings.ToLower(c.Referral.ShareMedium) + ")"
	}
	c.add(Entry{Kind: Visit, Text: say(text + "."), Why: say("Visits are counted by day; when a single visitor came is not recorded.")})
}

func (c *collector) addPayment() {
	r := c.Referral
	if paid := c.Account.Standing.FirstPaid; paid != 0 {
		e := Entry{At: paid, Kind: Payment, Tone: Good, Text: say("The account " + string(c.Account.ID) + " became PAID for the first time.")}
		if c.Program.Conversion.ByEvent() {
			e.Tone, e.Why = "", say("The program converts by the event "+c.Program.Conversion.Event+", so this converts nothing.")
		}
		c.add(e)
	}
	if r.Converted != 0 {
		e := Entry{At: r.Converted, Kind: Conversion, Tone: Good, Text: say("The referral converted.")}
		if first := c.firstOrder(); first != nil {
			e.Why = say("The order " + first.Order.Key + " is the first one that counts.")
		} else if c.Account.Standing.FirstPaid != 0 {
			e.Why = say("The account is PAID and a user of it was identified.")
		}
		c.add(e)
	}
	if r.Ended != 0 {
		c.add(Entry{At: r.Ended, Kind: End, Text: say("The account " + string(r.Referred.Account) + " was cancelled, so the referral ended."), Why: say("Rewards that were given stay.")})
	}
}

// firstOrder returns the order that converted the referral, or nil.
func (f Facts) firstOrder() *state.Order {
	for i := range f.Orders {
		if f.Orders[i].Number == 1 {
			return &f.Orders[i]
		}
	}
	return nil
}

// price returns the revenue of an order with " of" in front, or "".
func price(o state.Order) string {
	if !o.HasRevenue {
		return ""
	}
	return " of " + reward.Pretty(o.Revenue, reward.UnitCents, o.Currency, reward.UnitFormatted)
}

func (c *collector) addOrders() {
	for _, o := range c.Orders {
		e := Entry{At: o.At, Kind: Ordering, Tone: Good, Text: say("The order " + o.Order.Key + price(o) + " was placed.")}
		if o.Event == "" {
			e = Entry{Kind: Refund, Text: say("A refund of the order " + o.Order.Key + " arrived, but not the order itself."), Why: say("Nothing is taken back until the order arrives.")}
			for _, r := range o.Refunds {
				e.At = max(e.At, r.At)
			}
			c.add(e)
			continue
		}
		var why []string
		if reason := cmp.Or(o.Reason, o.Refused); o.Number == 0 {
			e.Tone = Bad
			if reason == "" {
				e.Tone, reason = Waiting, ""
				why = append(why, "It has not been decided yet.")
			} else {
				why = append(why, "It does not count. "+orderReason(reason, o.Detail))
			}
		} else {
			why = append(why, "It is order "+strconv.FormatInt(o.Number, 10)+" of the referral that counts.")
			for side, who := range []string{c.Referrer(), c.Referred()} {
				if reason := o.Sides[side].Reason; reason != "" {
					why = append(why, who+" earns nothing for it. "+reason.Sentence())
				}
			}
		}
		if amount, whole := o.Refunded(); whole {
			why = append(why, "All of it was refunded.")
		} else if amount > 0 {
			why = append(why, reward.Pretty(amount, reward.UnitCents, o.Currency, reward.UnitFormatted)+" of it was refunded.")
		}
		if unread := o.Unread(); unread != "" {
			why = append(why, "Not read: "+unread+".")
		}
		e.Why = say(strings.Join(why, " "))
		c.add(e)
	}
}

// orderReason returns why an order does not count, with the condition that failed.
func orderReason(reason conversion.Reason, detail string) string {
	if reason == conversion.ReasonCondition && detail != "" {
		return "The condition does not hold: " + detail + "."
	}
	return reason.Sentence()
}

func (c *collector) addWebhooks() {
	for _, d := range c.Deliveries {
		e := Entry{At: d.Created, Kind: Webhook, Text: say("The webhook " + string(d.Type) + " for " + string(d.Endpoint))}
		last := ""
		if n := len(d.Attempts); n > 0 {
			if last = d.Attempts[n-1].Error; last == "" {
				last = "the endpoint answered with the status " + strconv.Itoa(d.Attempts[n-1].Status)
			}
		}
		switch d.State {
		case webhook.Delivered:
			e.Text = say(e.Text, " was delivered.")
		case webhook.Failed:
			e.Tone, e.Text = Bad, say(e.Text, " was not delivered.")
		default:
			e.Tone, e.Text = Waiting, say(e.Text, " waits for its next attempt.")
		}
		if last != "" && d.State != webhook.Delivered {
			e.Why = say("Last attempt: " + last + ".")
		}
		c.add(e)
	}
}

// Wire returns the timeline for the API.
func Wire(f Facts) wire.Timeline {
	answers := Answers(f)
	t := wire.Timeline{
		Summary: Summary(f).String(), Truncated: f.Cut,
		Referrer: wire.TimelineAnswer{Tone: string(answers[0].Tone), Text: answers[0].Text.String()},
		Referred: wire.TimelineAnswer{Tone: string(answers[1].Tone), Text: answers[1].Text.String()},
	}
	for _, e := range Of(f) {
		t.Entries = append(t.Entries, wire.TimelineEntry{At: e.At, Kind: string(e.Kind), Tone: string(e.Tone), Text: e.Text.String(), Reason: e.Why.String(), ModifiedBy: e.By})
	}
	return t
}
