package referral

import (
	"strconv"
	"strings"

	"kith/core"
	"kith/core/conversion"
	"kith/core/reward"
)

// Sentence says in English what a program does, for the person who runs it.
type Sentence struct {
	// About is the setting in the API that the sentence is about, or the object that has
	// the settings.
	About string
	Text  string
}

// Summary returns what a program gives, in one sentence.
func (p Program) Summary() string {
	var gives []string
	for _, side := range []struct {
		key  SideKey
		name string
	}{{ReferrerSide, "the referrer"}, {ReferredSide, "the friend"}} {
		if e := p.Earning(side.key); !e.Offer.None() {
			gives = append(gives, side.name+" gets "+worth(e.Offer, p.eachOrder(e)))
		}
	}
	when := " when the friend's account becomes PAID."
	if p.Conversion.ByEvent() {
		when = " for the event " + quoted(p.Conversion.Event) + " of the friend."
	}
	if len(gives) == 0 {
		return "No reward is given" + when
	}
	return upper(strings.Join(gives, " and ")) + when
}

// Describe returns what a program does, in the order of the settings in the API.
func (p Program) Describe() []Sentence {
	var d description
	d.conversion(p)
	d.side("rewards.referrer", "The referrer", p.Earning(ReferrerSide), p)
	d.side("rewards.referred", "The friend", p.Earning(ReferredSide), p)
	if r := p.Conversion; r.ByEvent() && r.Reversal != "" {
		d.add("conversion.reversalEvent", "The event "+quoted(r.Reversal)+" takes back the rewards of its order: in full, or by the share of the order that its revenue is.")
	}
	d.settings("limits", p)
	d.sharing(p)
	d.fraud(p)
	if tags := InvitationTags(p.Invitations); len(tags) > 0 {
		names := make([]string, len(tags))
		for i, tag := range tags {
			names[i] = string(tag)
		}
		d.add("invitations", "Users send your own text to friends in "+core.Listed(names, "and")+", and the default text in other languages.")
	}
	return d.all
}

type description struct{ all []Sentence }

func (d *description) add(about, text string) { d.all = append(d.all, Sentence{about, text}) }

func (d *description) conversion(p Program) {
	r := p.Conversion
	if !r.ByEvent() {
		d.add("conversion", "A referral counts when the friend's account becomes PAID for the first time.")
		if p.MoneyBack > 0 {
			d.add("rewards.moneyBackDuration", "If all of the first payment is refunded within "+core.InWords(p.MoneyBack)+", both sides lose the reward.")
		}
		return
	}
	s := "A referral counts when the event " + quoted(r.Event) + " arrives for the friend's account"
	conditions := make([]string, len(r.Conditions))
	for i, c := range r.Conditions {
		conditions[i] = c.Words()
	}
	if len(conditions) > 0 {
		s += ", if " + core.Listed(conditions, "and")
	}
	if r.Within != 0 {
		s += ", at most " + core.InWords(r.Within) + " after the referral"
	}
	d.add("conversion", s+".")
	d.settings("conversion", p)
}

// settings adds the sentences that the settings of an object have each for itself.
func (d *description) settings(object string, p Program) {
	for _, s := range SettingsOf(object) {
		if s.Says == nil {
			continue
		}
		if text := s.Says(p); text != "" {
			d.add(s.Path, text)
		}
	}
}

// eachOrder reports whether more orders of a friend than the first one earn.
func (p Program) eachOrder(e conversion.Earning) bool {
	return p.Conversion.ByEvent() && e.MostOrders() != 1
}

// side describes the reward of one side. name begins a sentence.
func (d *description) side(about, name string, e conversion.Earning, p Program) {
	o := e.Offer
	if o.None() {
		d.add(about, name+" gets no reward.")
		return
	}
	parts := []string{words(name, "gets", worth(o, p.eachOrder(e)))}
	if e.Min != 0 {
		parts = append(parts, "at least "+money(e.Min, o))
	}
	if e.Max != 0 {
		parts = append(parts, "at most "+money(e.Max, o))
	}
	if o.GivenAfter != 0 {
		parts = append(parts, "after "+core.InWords(o.GivenAfter))
	}
	d.add(about, strings.Join(parts, ", ")+".")
	if e.Bounded() {
		d.add(about+".currency", "An order in another currency than "+string(o.Currency)+" earns nothing.")
	}
	if o.Name != "" {
		d.add(about+".name", "People see it as "+quoted(o.Name)+".")
	}
	for i, t := range e.Tiers {
		s := "From the referrer's conversion " + strconv.FormatInt(t.From, 10) + " on"
		if i+1 < len(e.Tiers) {
			s = "At the referrer's conversions " + strconv.FormatInt(t.From, 10) + " to " + strconv.FormatInt(e.Tiers[i+1].From-1, 10)
		}
		d.add(about+".tiers", s+", it is "+worth(e.At(t.From), false)+".")
	}
	if p.Conversion.ByEvent() {
		d.orders(about, e)
	}
	if o.ValidFor != 0 {
		d.add(about+".expiryDuration", "The reward expires "+core.InWords(o.ValidFor)+" after it was given.")
	}
}

func (d *description) orders(about string, t conversion.Earning) {
	switch {
	case t.Orders == 0 && t.MostOrders() == 1:
		d.add(about+".orders", "The first order of a friend earns it; further orders do not add to it.")
	case t.Orders == 1:
		d.add(about+".orders", "Only the first order of a friend earns it.")
	case t.Orders > 1:
		d.add(about+".orders", "The first "+strconv.FormatInt(t.Orders, 10)+" orders of a friend earn it.")
	default:
		d.add(about+".orders", "Each order of a friend earns it.")
	}
	if t.Months != 0 {
		d.add(about+".months", "Orders later than "+core.Count(t.Months, "month")+" after the friend's first one earn nothing.")
	}
}

func (d *description) sharing(p Program) {
	s := "Share links lead to " + p.LandingURL
	if len(p.AllowedHosts) > 0 {
		s += ", or to a page of " + core.Listed(p.AllowedHosts, "or") + " that the link names"
	}
	d.add("sharing", s+". A visit counts as a referral for "+core.InWords(p.CookieLife)+".")
	d.settings("sharing", p)
}

func (d *description) fraud(p Program) {
	f := p.Fraud
	effects := map[Handling]string{
		HandleNone: "is only recorded: it neither holds nor cancels rewards", HandlePending: "makes the rewards wait until a person approves them",
		HandleDeny: "cancels the rewards",
	}
	handling := f.Handling
	if handling == "" {
		handling = HandleNone
	}
	d.add("fraud.handling", "A sign of fraud "+effects[handling]+".")
	for _, s := range Signals() {
		if h := f.handling(s); h != handling {
			d.add("fraud.signals."+string(s), upper(s.Words())+" "+effects[h]+".")
		}
	}
	d.settings("fraud", p)
}

// Words returns what a signal is, as words that begin a sentence.
func (s Signal) Words() string {
	switch s {
	case SignalName:
		return "the same name of referrer and friend"
	case SignalEmail:
		return "the same or a similar e-mail address of referrer and friend"
	case SignalTempEmail:
		return "a disposable e-mail address of the friend"
	case SignalIP:
		return "the same IP address of referrer and friend"
	case SignalRate:
		return "a referrer who refers many users in a short time"
	case SignalDailyLimit:
		return "a referrer with more rewards in a day than the daily limit"
	case SignalMutual:
		return "a friend who has referred the referrer"
	case SignalBlocked:
		return "a blocked referrer or friend"
	}
	return string(s)
}

// worth returns what an offer gives, as the object of a verb.
func worth(o reward.Offer, eachOrder bool) string {
	kind := o.Kind.Traits()
	if o.OfRevenue != 0 {
		order := "the order"
		if eachOrder {
			order = "each order"
		}
		return kind.Says(words(o.OfRevenue.String()+"%", "of", order), false, true)
	}
	value := reward.Pretty(o.Value(), o.InUnit(), o.Currency, reward.UnitFormatted)
	parts := []string{kind.Says(value, o.InUnit() == reward.UnitPercent, false)}
	if eachOrder {
		parts = append(parts, "for each order")
	}
	return words(parts...)
}

// words returns words as one text.
func words(all ...string) string { return strings.Join(all, " ") }

func money(amount int64, o reward.Offer) string {
	return reward.Pretty(amount, reward.UnitCents, o.Currency, reward.UnitFormatted)
}

func quoted(s string) string { return "“" + s + "”" }

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
