package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// conversionFlags say what converts a referral; nil means that the flag is not given.
type conversionFlags struct {
	ConvertEvent  *string        `help:"Event that converts a referral and places an order, such as purchase; 'none' is the first PAID of the account. A change pays no referral twice: what one has earned counts as its first order. Default: none." placeholder:"KEY"`
	ReversalEvent *string        `help:"Event that takes an order back, in full or in part. Default: refund." placeholder:"KEY"`
	Condition     []string       `sep:"none" help:"Condition on a field of the event, such as 'revenue >= 50', 'currency = USD' or 'plan in (pro, team)'. May be repeated, all must hold; 'none' removes all." placeholder:"CONDITION"`
	Within        *time.Duration `help:"Longest time from the attribution to the first order, such as 2160h; 0 is no limit. Default: 0." placeholder:"DURATION"`
	OrderBefore   *time.Duration `help:"How long before the attribution the account's first order may be placed, up to 24h; 0 is not before it. Default: 10m." placeholder:"DURATION"`
	FirstEvent    *bool          `negatable:"" help:"Convert only by the first event of its key that the account ever had."`
}

// apply sets the given settings of a rule.
func (f *conversionFlags) apply(r *conversion.Rule) error {
	byEvent := r.ByEvent()
	setIfGiven(&r.Event, f.ConvertEvent)
	if r.ByEvent() && !byEvent {
		r.Before = conversion.DefaultBefore
	}
	if r.Event == "none" {
		*r = conversion.Rule{}
	}
	setIfGiven(&r.Reversal, f.ReversalEvent)
	if len(f.Condition) > 0 {
		r.Conditions = nil
		if len(f.Condition) == 1 && f.Condition[0] == "none" {
			f.Condition = nil
		}
	}
	for _, text := range f.Condition {
		c, err := conversion.ParseCondition("condition", text)
		if err != nil {
			return err
		}
		r.Conditions = append(r.Conditions, c)
	}
	setDuration(&r.Within, f.Within)
	setDuration(&r.Before, f.OrderBefore)
	setIfGiven(&r.FirstEvent, f.FirstEvent)
	return nil
}

// termFlags are the flags of the terms of one side's reward.
type termFlags struct {
	// side is the beginning of the names of the flags.
	side     string
	min, max *string
	tiers    []string
	orders   *string
	months   *int64
	delay    *int64
}

// apply sets the given terms of an earning, whose offer is set.
func (f termFlags) apply(o *reward.Offer, t *conversion.Terms) error {
	if o.None() {
		*t = conversion.Terms{}
	}
	if err := f.setBounds(o, t); err != nil {
		return err
	}
	if o.OfRevenue != 0 {
		o.Currency = cmp.Or(o.Currency, referral.DefaultCurrency)
	}
	if err := f.setTiers(*o, t); err != nil {
		return err
	}
	switch {
	case f.orders == nil:
	case *f.orders == "all":
		t.Orders = 0
	default:
		n, err := strconv.ParseInt(*f.orders, 10, 64)
		if err != nil || n < 1 {
			return core.Invalid(f.side+"-orders", "must be 1 to 1000000, or 'all'")
		}
		t.Orders = n
	}
	setIfGiven(&t.Months, f.months)
	setDays(&o.GivenAfter, f.delay)
	return nil
}

// setBounds sets the given minimum and maximum, whose currency becomes that of the offer.
func (f termFlags) setBounds(o *reward.Offer, t *conversion.Terms) error {
	var currencies [2]string
	for i, bound := range []struct {
		name  string
		given *string
		into  *int64
	}{{"min", f.min, &t.Min}, {"max", f.max, &t.Max}} {
		switch {
		case bound.given == nil && *bound.into != 0:
			currencies[i] = o.Currency
		case bound.given != nil && *bound.given == "none":
			*bound.into = 0
		case bound.given != nil:
			value, err := parseOffer("", *bound.given)
			if err != nil || value.Currency == "" || value.Kind != reward.Credit {
				return core.Invalid(f.side+"-"+bound.name, "must be an amount such as '5.00 USD', or 'none'")
			}
			*bound.into, currencies[i] = value.Amount, value.Currency
		}
	}
	if currencies[0] != "" && currencies[1] != "" && currencies[0] != currencies[1] {
		return core.Invalid(f.side+"-max", "must have the same currency as --"+f.side+"-min; give both, or 'none' for one")
	}
	o.Currency = cmp.Or(currencies[0], currencies[1], o.Currency)
	return nil
}

// setTiers sets the given tiers: the number of the first conversion, and a value in the
// form of the reward.
func (f termFlags) setTiers(o reward.Offer, t *conversion.Terms) error {
	if len(f.tiers) == 0 {
		return nil
	}
	if t.Tiers = nil; len(f.tiers) == 1 && f.tiers[0] == "none" {
		return nil
	}
	for _, text := range f.tiers {
		from, value, _ := strings.Cut(text, "=")
		n, err := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
		tier := conversion.Tier{From: n}
		var of reward.Offer
		if err == nil && o.OfRevenue != 0 {
			tier.OfRevenue, err = parsePercent("", strings.TrimSuffix(strings.TrimSpace(value), ofRevenue))
		} else if err == nil {
			of, err = parseOffer("", value)
			tier.Value = of.Value()
		}
		same := o.OfRevenue != 0 || of.InUnit() == o.InUnit() && of.Currency == o.Currency
		if err != nil || !same {
			return core.Invalid(f.side+"-tier", "must be the first conversion and a value like that of --"+f.side+"-reward, such as '5=15%' or '5=15.00 USD'; 'none' removes all")
		}
		t.Tiers = append(t.Tiers, tier)
	}
	return nil
}

// setOrders sets the default of the orders that earn, 1, for rewards that had none.
func setOrders(p *referral.Program, before referral.Program, referrer, referred termFlags) {
	if !p.Conversion.ByEvent() {
		return
	}
	for _, side := range []struct {
		now, before reward.Offer
		terms       *conversion.Terms
		flags       termFlags
	}{{p.Referrer, before.Referrer, &p.ReferrerTerms, referrer}, {p.Referred, before.Referred, &p.ReferredTerms, referred}} {
		if side.flags.orders == nil && (!before.Conversion.ByEvent() || side.before.None()) && !side.now.None() {
			side.terms.Orders = 1
		}
	}
}

// conversionText returns what converts a referral, as a sentence without a full stop.
func conversionText(r conversion.Rule) string {
	text := "the event " + r.Event
	for i, c := range r.Conditions {
		text += []string{" if ", " and "}[min(i, 1)] + c.String()
	}
	if r.Within > 0 {
		text += ", within " + durationText(r.Within) + " of the attribution"
	}
	if r.Before > 0 {
		text += ", the first order also up to " + durationText(r.Before) + " before the attribution"
	}
	if r.FirstEvent {
		text += ", only the first one of the account"
	}
	return text
}

// earningText returns an offer with its terms.
func earningText(e conversion.Earning, byEvent bool) string {
	text := offerText(e.Offer)
	if e.Offer.None() {
		return text
	}
	money := func(amount int64) string {
		return offerText(reward.Offer{Kind: reward.Credit, Amount: amount, Currency: e.Offer.Currency})
	}
	if e.Min > 0 {
		text += ", at least " + money(e.Min)
	}
	if e.Max > 0 {
		text += ", at most " + money(e.Max)
	}
	for _, tier := range e.Tiers {
		o := e.At(tier.From)
		o.ValidFor = 0
		text += fmt.Sprintf("; from conversion %d on %s", tier.From, offerText(o))
	}
	if e.Offer.GivenAfter > 0 {
		text += "; given after " + durationText(e.Offer.GivenAfter)
	}
	if !byEvent {
		return text
	}
	switch e.Orders {
	case 0:
		text += "; for all orders of a referral"
	case 1:
		text += "; for the first order of a referral"
	default:
		text += fmt.Sprintf("; for the first %d orders of a referral", e.Orders)
	}
	switch e.Months {
	case 0:
	case 1:
		text += " within 1 month"
	default:
		text += fmt.Sprintf(" within %d months", e.Months)
	}
	return text
}

type programTryCommand struct {
	tenantFlags
	Key            core.ProgramKey `arg:"" help:"Key of the program."`
	Event          string          `required:"" help:"Key of the event, such as purchase." placeholder:"KEY"`
	Field          []string        `sep:"none" help:"Field of the event, such as revenue=80. A number, true, false or a JSON array is taken as such, and anything else as text. May be repeated." placeholder:"NAME=VALUE"`
	Account        string          `xor:"orders,conversions,rewards,ago,earlier" help:"A referred account, whose orders and referrer count." placeholder:"ID"`
	Orders         int64           `xor:"orders" help:"Without --account: orders of the referral before." placeholder:"N"`
	Conversions    int64           `xor:"conversions" help:"Without --account: conversions of the referrer before, for tiers." placeholder:"N"`
	Rewards        int64           `xor:"rewards" help:"Without --account: rewards of the referrer before, for limits." placeholder:"N"`
	AttributedDays int64           `xor:"ago" help:"Without --account: days since the attribution, for --within." placeholder:"DAYS"`
	EarlierEvent   bool            `xor:"earlier" help:"Without --account: the account had such an event before, for --first-event."`
}

// Help says what the command does not do.
func (programTryCommand) Help() string {
	return "Explains what an event would cause in the program as it is now, step by step. Nothing is stored, sent or rewarded."
}

// Run prints what an event would cause.
func (c *programTryCommand) Run(e *env) error {
	fields := map[string]json.RawMessage{}
	for _, field := range c.Field {
		name, value, ok := strings.Cut(field, "=")
		if !ok || name == "" {
			return core.Invalid("field", "must be NAME=VALUE, such as revenue=80")
		}
		fields[name] = fieldJSON(value)
	}
	body := map[string]any{"event": map[string]any{"key": c.Event, "fields": fields}}
	if c.Account != "" {
		body["accountId"] = c.Account
	} else {
		body["orders"], body["conversions"], body["rewards"], body["earlierEvent"] = c.Orders, c.Conversions, c.Rewards, c.EarlierEvent
		if c.AttributedDays > 0 {
			body["dateAttributed"] = int64(now() - core.Time(c.AttributedDays)*core.Day)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	trial, err := wire.ParseTrial(text)
	if err != nil {
		return err
	}
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	d, steps, err := engine.Orders.Try(e.ctx, c.Tenant, c.Key, trial)
	if err != nil {
		return err
	}
	return showTrial(e.out, d, steps)
}

// fieldJSON returns the value of a field: a number, a boolean or an array as it is, and
// any other text as a string.
func fieldJSON(value string) json.RawMessage {
	if value != "" && strings.Contains("-0123456789tf[", value[:1]) && json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, _ := json.Marshal(value) // a string: never fails
	return text
}

func showTrial(out io.Writer, d conversion.Decision, steps []conversion.Step) error {
	var text strings.Builder
	for _, step := range steps {
		mark := "✗ "
		if step.Passed {
			mark = "✓ "
		}
		text.WriteString(mark + step.Text + "\n")
	}
	switch {
	case d.Number == 1:
		text.WriteString("The event converts the referral.\n")
	case d.Counts():
		text.WriteString("The event places a further order of the referral.\n")
	default:
		text.WriteString("The event earns nothing.\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

type programOrdersCommand struct {
	tenantFlags
	Account core.AccountID `arg:"" help:"Id of the referred account."`
	Limit   int            `default:"20" help:"Most orders to print, the latest first: 1 to 1000." placeholder:"N"`
}

// Help says for which question the command is.
func (programOrdersCommand) Help() string {
	return "Answers why a user got a reward, or did not: each order of the referred account with its refunds, and what both sides earned or why they earned nothing."
}

// Run prints the orders of an account's referral.
func (c *programOrdersCommand) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return core.Invalid("limit", "must be 1 to 1000")
	}
	engine, err := c.openTenant(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	found, _, err := engine.Referrals.List(e.ctx, c.Tenant, referral.Filter{ReferredAccount: c.Account, Limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err = fmt.Fprintf(e.out, "account %s was not referred\n", c.Account)
		return err
	}
	ref := found[0]
	page, total, err := engine.Orders.List(e.ctx, c.Tenant, ref.ID, c.Limit, 0)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "account %s was referred by %s of account %s with the code %s in the program %s; %s\n",
		c.Account, ref.Referrer.User, ref.Referrer.Account, ref.Code, ref.Program, ref.State)
	for _, o := range page {
		fmt.Fprint(e.out, orderText(o, now()))
	}
	_, err = fmt.Fprintf(e.out, "%d of %d orders\n", len(page), total)
	return err
}

// orderText returns an order in lines: what it is, and what each side earned.
func orderText(o wire.Order, at core.Time) string {
	text := "order " + o.Order.Key
	switch {
	case o.Event == "":
		return text + ": only refunds have come\n"
	case o.HasRevenue:
		text += " of " + dateText(o.At) + ": " + reward.Pretty(o.Revenue, reward.UnitCents, o.Currency, reward.UnitFormatted)
	default:
		text += " of " + dateText(o.At) + ": no revenue"
	}
	switch refunded, whole := o.Refunded(); {
	case whole:
		text += ", refunded in full"
	case refunded > 0:
		text += ", " + reward.Pretty(refunded, reward.UnitCents, o.Currency, reward.UnitFormatted) + " refunded"
	}
	if o.Reason != "" {
		return text + "\n  ✗ " + o.Reason.Sentence() + detailText(o.Detail) + "\n"
	}
	for side, name := range []string{"the referrer", "the friend"} {
		paid, w := o.Sides[side], o.Rewards[side]
		switch {
		case paid.Reason != "":
			text += "\n  ✗ " + name + " earns nothing. " + paid.Reason.Sentence()
		case w == nil:
			text += "\n  ✗ " + name + " has no reward."
		default:
			text += "\n  ✓ " + name + " earns " + prettyReward(*w, w.Offer.Value())
			if w.Sums.Reversed > 0 {
				text += ", of which refunds took back " + prettyReward(*w, w.Sums.Reversed)
			}
			text += "; the reward " + w.ID + " is " + strings.ToLower(frame.RewardStatus(*w, at)) + "."
		}
	}
	if unread := o.Unread(); unread != "" {
		text += "\n  ✗ Not read: " + unread + "."
	}
	return text + "\n"
}

func prettyReward(w reward.Reward, value int64) string {
	return reward.Pretty(value, w.Offer.Unit, w.Offer.Currency, reward.UnitFormatted)
}

func detailText(detail string) string {
	if detail == "" {
		return ""
	}
	return " " + detail + "."
}
