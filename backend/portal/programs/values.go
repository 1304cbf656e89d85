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
	set("id", string(p.Key))
	set("name", p.Name)
	if p.MoneyBack != referral.KeepMoneyBack {
		set("rewards.moneyBackDuration", "0")
		setDuration(v, "rewards.moneyBackDuration", p.MoneyBack)
	}
	set(fieldWhen, whenPaid)
	if p.Conversion.ByEvent() {
		set(fieldWhen, whenEvent)
	}
	for _, s := range referral.Settings() {
		if p.Conversion.ByEvent() || !strings.HasPrefix(s.Path, "conversion.") {
			setSetting(v, s, &p)
		}
	}
	for _, side := range sideKeys {
		at := "rewards." + string(side) + "."
		earningValues(v, at, p.Earning(side))
		if which := at + "orders" + suffixWhich; !p.Conversion.ByEvent() && v.Has(which) {
			set(which, "first") // the API's default, for when an event is chosen
		}
	}
	for tag, i := range p.Invitations {
		set("invitations."+string(tag)+".subject", i.Subject)
		set("invitations."+string(tag)+".message", i.Message)
	}
	if p.Modified != 0 {
		set(fieldModified, strconv.FormatInt(int64(p.Modified), 10))
	}
	return v
}

// setSetting sets the value of a setting, unless it is not set.
func setSetting(v url.Values, s referral.Setting, p *referral.Program) {
	switch from := s.At(p).(type) {
	case *string:
		v.Set(s.Path, *from)
	case *bool:
		if *from {
			v.Set(s.Path, "true")
		}
	case *int64:
		if *from != 0 {
			v.Set(s.Path, strconv.FormatInt(*from, 10))
		}
	case *core.Time:
		if s.Unset == referral.AsItIs {
			v.Set(s.Path, "0")
		}
		setDuration(v, s.Path, *from)
	case *reward.BasisPoints:
		if *from != 0 {
			v.Set(s.Path, from.String())
		}
	case *referral.Handling:
		v.Set(s.Path, string(cmp.Or(*from, referral.HandleNone)))
	case *[]string:
		v.Set(s.Path, strings.Join(*from, "\n"))
	case *[]conversion.Condition:
		lines := make([]string, len(*from))
		for i, c := range *from {
			lines[i] = c.String()
		}
		v.Set(s.Path, strings.Join(lines, "\n"))
	case *map[referral.Signal]referral.Handling:
		for signal, handling := range *from {
			v.Set(s.Path+"."+string(signal), string(handling))
		}
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
		amount(o.Kind.Traits().Value, o.Amount, o.InUnit())
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
