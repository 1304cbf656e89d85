package programs

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
)

// The fields of the form have the names of the settings in the API, so that the error about
// a setting is shown at its field. These are of the form only:
const (
	// fieldWhen is whenEvent if an event converts, else whenPaid.
	fieldWhen = "conversion"
	whenEvent = "event"
	whenPaid  = "paid"
	// suffixUnit is added to the name of a duration for its unit.
	suffixUnit = ".unit"
	// suffixWhich is added to "orders" for one of first, some and all.
	suffixWhich = ".which"
	// suffixShare is added to a type whose value is a share of the order.
	suffixShare = "-share"
	// fieldModified is when the program was last changed before the form was opened.
	fieldModified = "dateModified"
)

// fieldsNew are the fields of the texts in a language that the program has none for.
var fieldsNew = struct{ tag, subject, message string }{"invitation.tag", "invitation.subject", "invitation.message"}

// noReward is the type of a side without a reward.
const noReward = "none"

// units are the units of durations, the longest first.
var units = []struct {
	name   string
	length core.Time
	format func(n string) string
}{
	{"days", core.Day, func(n string) string { return "P" + n + "D" }},
	{"hours", core.Hour, func(n string) string { return "PT" + n + "H" }},
	{"minutes", core.Minute, func(n string) string { return "PT" + n + "M" }},
	{"seconds", core.Second, func(n string) string { return "PT" + n + "S" }},
}

var sideKeys = []referral.SideKey{referral.ReferrerSide, referral.ReferredSide}

// valuesOf returns the values of the form for a program.
func valuesOf(p referral.Program) url.Values {
	v := url.Values{}
	set := func(name, value string) { v.Set(name, value) }
	count := func(name string, n int64) {
		if n != 0 {
			set(name, strconv.FormatInt(n, 10))
		}
	}
	set("id", string(p.Key))
	set("name", p.Name)
	set("sharing.url", p.LandingURL)
	set("sharing.allowedHosts", strings.Join(p.AllowedHosts, "\n"))
	setDuration(v, "sharing.cookieExpiryDuration", p.CookieLife)
	set("sharing.utmSource", p.UTMSource)
	set("sharing.utmCampaign", p.UTMCampaign)
	if p.MoneyBack != referral.KeepMoneyBack {
		set("rewards.moneyBackDuration", "0")
		setDuration(v, "rewards.moneyBackDuration", p.MoneyBack)
	}
	conversionValues(v, p.Conversion)
	for _, side := range sideKeys {
		earningValues(v, "rewards."+string(side)+".", p.Earning(side))
	}
	count("limits.rewards", p.Limits.Total)
	count("limits.rewardsInPeriod", p.Limits.InPeriod)
	setDuration(v, "limits.period", p.Limits.Period)
	if p.Limits.Discount != 0 {
		set("limits.discountPercent", p.Limits.Discount.String())
	}
	set("fraud.handling", string(cmp.Or(p.Fraud.Handling, referral.HandleNone)))
	for signal, handling := range p.Fraud.BySignal {
		set("fraud.signals."+string(signal), string(handling))
	}
	count("fraud.dailyRewardLimit", p.Fraud.DailyRewards)
	for tag, i := range p.Invitations {
		set("invitations."+string(tag)+".subject", i.Subject)
		set("invitations."+string(tag)+".message", i.Message)
	}
	count(fieldModified, int64(p.Modified))
	return v
}

func conversionValues(v url.Values, r conversion.Rule) {
	if !r.ByEvent() {
		v.Set(fieldWhen, whenPaid)
		return
	}
	v.Set(fieldWhen, whenEvent)
	v.Set("conversion.event", r.Event)
	v.Set("conversion.reversalEvent", r.Reversal)
	lines := make([]string, len(r.Conditions))
	for i, c := range r.Conditions {
		lines[i] = c.String()
	}
	v.Set("conversion.conditions", strings.Join(lines, "\n"))
	setDuration(v, "conversion.withinDuration", r.Within)
	v.Set("conversion.beforeDuration", "0")
	setDuration(v, "conversion.beforeDuration", r.Before)
	if r.FirstEvent {
		v.Set("conversion.firstEvent", "true")
	}
}

// earningValues sets the values of one side of a program. at begins their names.
func earningValues(v url.Values, at string, e conversion.Earning) {
	o := e.Offer
	if o.None() {
		v.Set(at+"type", noReward)
		return
	}
	kind := string(o.Kind)
	money := reward.MoneyIn(o.InUnit(), o.Currency)
	amount := func(name string, n int64, unit string) {
		if n != 0 {
			v.Set(at+name, reward.Pretty(n, unit, o.Currency, reward.NumberUnformatted))
		}
	}
	switch {
	case o.OfRevenue != 0:
		kind += suffixShare
		v.Set(at+"percentOfRevenue", o.OfRevenue.String())
		amount("minimum", e.Min, reward.UnitCents)
		amount("maximum", e.Max, reward.UnitCents)
	case o.Kind == reward.PercentDiscount:
		v.Set(at+"discountPercent", o.Percent.String())
	case o.Kind == reward.FuelTank && o.InUnit() == reward.UnitPercent:
		v.Set(at+"fuelTankType", string(reward.PercentDiscount))
		v.Set(at+"amount", reward.BasisPoints(o.Amount).String())
	default:
		amount(valueFields[o.Kind], o.Amount, o.InUnit())
	}
	v.Set(at+"type", kind)
	if o.Kind == reward.FuelTank && o.InUnit() != reward.UnitPercent {
		v.Set(at+"fuelTankType", string(reward.Credit))
	}
	if o.Unit != "" && o.Unit != reward.UnitPercent {
		v.Set(at+"unit", o.Unit)
	}
	v.Set(at+"currency", o.Currency)
	v.Set(at+"name", o.Name)
	v.Set(at+"description", o.Description)
	v.Set(at+"integrationSettings", o.Settings)
	setDuration(v, at+"expiryDuration", o.ValidFor)
	setDuration(v, at+"scheduleDuration", o.GivenAfter)
	termsValues(v, at, e, money)
}

func termsValues(v url.Values, at string, e conversion.Earning, money string) {
	switch e.Orders {
	case 0:
		v.Set(at+"orders"+suffixWhich, "all")
	case 1:
		v.Set(at+"orders"+suffixWhich, "first")
	default:
		v.Set(at+"orders"+suffixWhich, "some")
		v.Set(at+"orders", strconv.FormatInt(e.Orders, 10))
	}
	if e.Months != 0 {
		v.Set(at+"months", strconv.FormatInt(e.Months, 10))
	}
	for i, t := range e.Tiers {
		v.Set(tierField(at, i, "from"), strconv.FormatInt(t.From, 10))
		value := reward.Pretty(t.Value, reward.UnitCents, money, reward.NumberUnformatted)
		switch {
		case e.Offer.OfRevenue != 0:
			value = t.OfRevenue.String()
		case e.Offer.Kind == reward.PercentDiscount:
			value = reward.BasisPoints(t.Value).String()
		}
		v.Set(tierField(at, i, "value"), value)
	}
}

func tierField(at string, i int, name string) string {
	return at + "tiers[" + strconv.Itoa(i) + "]." + name
}

// valueFields are the names of the values of rewards, in the API and in the form.
var valueFields = map[reward.Kind]string{reward.Credit: "credit", reward.FuelTank: "amount", reward.Integration: "valueInCents"}

// setDuration sets a duration and its unit: the longest one in which it is a whole number.
// Zero is an empty field.
func setDuration(v url.Values, name string, d core.Time) {
	if d == 0 {
		return
	}
	for _, u := range units {
		if d%u.length == 0 {
			v.Set(name, strconv.FormatInt(int64(d/u.length), 10))
			v.Set(name+suffixUnit, u.name)
			return
		}
	}
}

// languagesIn returns the languages of the texts in the values of a form, in alphabetical
// order.
func languagesIn(v url.Values) (tags []string) {
	for name := range v {
		rest, ok := strings.CutPrefix(name, "invitations.")
		if tag, field, two := strings.Cut(rest, "."); ok && two && (field == "subject" || field == "message") && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	slices.Sort(tags)
	return tags
}
