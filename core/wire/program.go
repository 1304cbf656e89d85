package wire

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

// ParseProgram parses the body of POST /programs and PUT /programs/{key}: a whole
// program, in which missing keys have their defaults. key is that of the path or
// empty; if it is set, an id in the body must be equal to it.
func ParseProgram(key core.ProgramKey, body []byte) (referral.Program, error) {
	p, err := ReadProgram(key, body)
	if err != nil {
		return p, err
	}
	return p, p.Check()
}

// ReadProgram is ParseProgram without Program.Check, for a program that was stored after
// that check.
func ReadProgram(key core.ProgramKey, body []byte) (referral.Program, error) {
	p := programParser{path: key, body: body, p: referral.NewProgram(key)}
	if err := object(body, MaxBody, "", p.take); err != nil {
		return referral.Program{}, err
	}
	p.p.SetDefaults()
	if p.p.Conversion.ByEvent() && !p.before {
		p.p.Conversion.Before = conversion.DefaultBefore
	}
	switch {
	case p.p.Key == "":
		return referral.Program{}, core.Invalid("id", "is required")
	case p.name != nil:
		p.p.Name = *p.name
	default:
		p.p.Name = string(p.p.Key)
	}
	return p.p, nil
}

// ReadStoredProgram reads a program that Program has written, and when it was last changed.
func ReadStoredProgram(text []byte) (p referral.Program, modified core.Time, err error) {
	if p, err = ReadProgram("", text); p.MoneyBack == referral.KeepMoneyBack {
		p.MoneyBack = 0
	}
	return p, core.Time(gjson.GetBytes(text, "dateModified").Int()), err
}

// programParser collects the values of a body.
type programParser struct {
	path core.ProgramKey
	body []byte
	name *string
	p    referral.Program
	// before is true if the body has conversion.beforeDuration.
	before bool
}

func (p *programParser) take(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "id":
		return p.id(r, key, v)
	case "name":
		return r.text(&p.name, key, v)
	case "sharing", "conversion", "limits", "fraud":
		return r.nested(key, v, p.setting)
	case "rewards":
		return r.nested(key, v, p.rewards)
	case "invitations":
		return r.nested(key, v, p.invitation)
	// These are in a program that a caller read and sends back.
	case "dateCreated", "dateModified":
		var n *int64
		return r.integer(&n, key, v, 0)
	}
	return false
}

func (p *programParser) id(r *reader, key string, v *fastjson.Value) bool {
	if p.path != "" {
		return r.same(key, v, string(p.path))
	}
	return setParsed(r, key, v, &p.p.Key, core.ParseProgramKey)
}

func (p *programParser) rewards(r *reader, key string, v *fastjson.Value) bool {
	switch key {
	case "referrer":
		return r.earning(&p.p.Referrer, &p.p.ReferrerTerms, key, v, p.body)
	case "referred":
		return r.earning(&p.p.Referred, &p.p.ReferredTerms, key, v, p.body)
	case "moneyBackDuration":
		return setParsed(r, key, v, &p.p.MoneyBack, core.ParseDuration)
	}
	return false
}

// invitation reads the invitation in one language.
func (p *programParser) invitation(r *reader, key string, v *fastjson.Value) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	tag, err := text.ParseTag(r.path(key), key)
	if err != nil {
		return r.fail(err)
	}
	if _, given := p.p.Invitations[tag]; given {
		return r.fail(core.Invalid(r.path(key), "is given twice, in two spellings"))
	}
	if len(p.p.Invitations) == text.MaxInvitations {
		return r.fail(core.Invalid("invitations", "must not have more than "+strconv.Itoa(text.MaxInvitations)+" languages"))
	}
	var i text.Invitation
	r.nested(key, v, func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "subject":
			return take(r.text, &i.Subject, key, v)
		case "message":
			return take(r.text, &i.Message, key, v)
		}
		return false
	})
	if p.p.Invitations == nil {
		p.p.Invitations = map[text.Tag]text.Invitation{}
	}
	p.p.Invitations[tag] = i
	return true
}

func (r *reader) count(into *int64, key string, v *fastjson.Value) bool {
	return take(func(n **int64, key string, v *fastjson.Value) bool { return r.integer(n, key, v, 0) }, into, key, v)
}

// percent stores a percentage with at most two decimals.
func (r *reader) percent(into *reward.BasisPoints, key string, v *fastjson.Value) bool {
	var text *string
	if r.decimal(&text, key, v); text == nil {
		return true
	}
	n, _ := parseNumber(*text)
	percent, err := reward.ParsePercent(r.path(key), n.plain())
	*into = percent
	return r.fail(err)
}

// ParseTankCodes parses the body that adds codes to a fuel tank: {codes: […]}.
func ParseTankCodes(body []byte) (codes []string, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "codes" && parsedItems(r, key, v, reward.MaxTankCodes, &codes, reward.ParseTankCode)
	})
	if err == nil && len(codes) == 0 {
		err = core.Invalid("codes", "must have at least one element")
	}
	return codes, err
}

// Tank returns the counts of a fuel tank as JSON.
func Tank(t reward.Tank) []byte {
	w := begin(nil)
	w.number("available", t.Available)
	w.number("given", t.Given)
	w.number("due", t.Due)
	return w.end()
}

// Programs returns the response to GET /programs: {count, totalCount, programs}.
func Programs(all []referral.Program) []byte {
	return pageOf("programs", all, len(all), appendProgram)
}

// Program returns the response to GET /programs/{key}, with the names of a
// program's sharing configuration where there are such (clients 1.7).
func Program(p referral.Program) []byte { return appendProgram(nil, p) }

// ProgramVersion is a program as it was from a change on.
type ProgramVersion struct {
	Since core.Time
	// By is the member of the tenant who made the change, by address; empty if that is
	// not known.
	By      string
	Program referral.Program
}

// ProgramVersions returns the response to GET /programs/{key}/versions: {count, totalCount,
// versions}.
func ProgramVersions(all []ProgramVersion) []byte {
	return pageOf("versions", all, len(all), func(b []byte, v ProgramVersion) []byte {
		w := begin(b)
		w.date("since", v.Since)
		w.textOrNull("by", v.By)
		w.key("program")
		w.b = appendProgram(w.b, v.Program)
		return w.end()
	})
}

func appendProgram(b []byte, p referral.Program) []byte {
	w := begin(b)
	w.text("id", string(p.Key))
	w.text("name", p.Name)
	w.programObject("sharing", p)
	w.object("rewards", func() {
		w.earning("referrer", p.Earning(referral.ReferrerSide), p.Conversion.ByEvent())
		w.earning("referred", p.Earning(referral.ReferredSide), p.Conversion.ByEvent())
		if !p.Conversion.ByEvent() && p.MoneyBack != referral.KeepMoneyBack {
			w.text("moneyBackDuration", core.FormatDuration(p.MoneyBack))
		}
	})
	if p.Conversion.ByEvent() {
		w.programObject("conversion", p)
	}
	w.programObject("limits", p)
	w.programObject("fraud", p)
	w.object("invitations", func() {
		for _, tag := range referral.InvitationTags(p.Invitations) {
			w.object(string(tag), func() {
				w.text("subject", p.Invitations[tag].Subject)
				w.text("message", p.Invitations[tag].Message)
			})
		}
	})
	w.date("dateCreated", p.Created)
	w.date("dateModified", p.Modified)
	return w.end()
}

// maxSettings is the most bytes of an integration's settings.
const maxSettings = 4096

// earning stores the reward of a side of a program. body is the whole body, from which
// settings are copied as sent.
func (r *reader) earning(into *reward.Offer, terms *conversion.Terms, key string, v *fastjson.Value, body []byte) bool {
	o := offerParser{terms: conversion.Terms{Orders: 1}}
	if r.nested(key, v, o.take); r.err != nil || v.Type() == fastjson.TypeNull {
		return true
	}
	settings := gjson.GetBytes(body, r.path(key)+".integrationSettings")
	if settings.IsObject() {
		o.o.Settings = settings.Raw
	}
	if len(o.o.Settings) > maxSettings {
		return r.fail(core.Invalid(r.path(key)+".integrationSettings", "must not be longer than "+strconv.Itoa(maxSettings)+" bytes"))
	}
	offer, err := o.offer(r.path(key))
	*into, *terms = offer, o.terms
	return r.fail(err)
}

// offerParser collects the values of an offer.
type offerParser struct {
	o     reward.Offer
	terms conversion.Terms
	// tank is the type of a fuel tank.
	tank reward.Kind
	// keys are the keys that were given, and tierKeys those of the values of the tiers.
	keys, tierKeys []string
}

func (o *offerParser) take(r *reader, key string, v *fastjson.Value) bool {
	if v.Type() != fastjson.TypeNull {
		o.keys = append(o.keys, key)
	}
	switch key {
	case "type":
		return setParsed(r, key, v, &o.o.Kind, reward.ParseKind)
	case "fuelTankType":
		return setParsed(r, key, v, &o.tank, parseFuelTankType)
	case "discountPercent":
		return r.percent(&o.o.Percent, key, v)
	case "credit", "amount", "valueInCents":
		return r.count(&o.o.Amount, key, v)
	case "currency":
		return setParsed(r, key, v, &o.o.Currency, reward.ParseCurrency)
	case "unit":
		return take(r.text, &o.o.Unit, key, v)
	case "name":
		return take(r.text, &o.o.Name, key, v)
	case "description":
		return take(r.text, &o.o.Description, key, v)
	case "percentOfRevenue":
		return r.percent(&o.o.OfRevenue, key, v)
	case "minimum":
		return r.count(&o.terms.Min, key, v)
	case "maximum":
		return r.count(&o.terms.Max, key, v)
	case "orders":
		// Null means all orders.
		o.terms.Orders = 0
		ok := r.count(&o.terms.Orders, key, v)
		if r.err == nil && o.terms.Orders == 0 && v.Type() != fastjson.TypeNull {
			return r.fail(conversion.WrongOrders(r.path(key)))
		}
		return ok
	case "months":
		return r.count(&o.terms.Months, key, v)
	case "tiers":
		return r.items(key, v, conversion.MaxTiers, func(i int, v *fastjson.Value) error {
			tier, value, err := parseTier(element(r.path(key), i), v)
			o.terms.Tiers, o.tierKeys = append(o.terms.Tiers, tier), append(o.tierKeys, value)
			return err
		})
	case "expiryDuration":
		return setParsed(r, key, v, &o.o.ValidFor, core.ParseDuration)
	case "scheduleDuration":
		return setParsed(r, key, v, &o.o.GivenAfter, core.ParseDuration)
	case "integrationSettings":
		return r.nested(key, v, func(*reader, string, *fastjson.Value) bool { return true })
	}
	return false
}

// parseTier parses a tier: from, and one of credit, valueInCents, discountPercent and
// percentOfRevenue, whose key it returns.
func parseTier(at string, v *fastjson.Value) (t conversion.Tier, value string, err error) {
	given := 0
	err = fields(v, at, func(r *reader, key string, v *fastjson.Value) bool {
		if key != "from" {
			given++
			value = key
		}
		switch key {
		case "from":
			return r.count(&t.From, key, v)
		case "credit", "valueInCents":
			return r.count(&t.Value, key, v)
		case "discountPercent":
			var percent reward.BasisPoints
			ok := r.percent(&percent, key, v)
			t.Value = int64(percent)
			return ok
		case "percentOfRevenue":
			return r.percent(&t.OfRevenue, key, v)
		}
		return false
	})
	if err == nil && given != 1 {
		err = core.Invalid(at, "must have from and the value from there on: credit, valueInCents, discountPercent or percentOfRevenue")
	}
	return t, value, err
}

// offer returns the offer. at is its path in the body, for errors.
func (o *offerParser) offer(at string) (reward.Offer, error) {
	if o.o.Kind == "" {
		return reward.Offer{}, core.Invalid(at+".type", "is required")
	}
	for _, key := range o.keys {
		if !slices.Contains(offerKeys(o.o.Kind), key) {
			return reward.Offer{}, core.Invalid(at+"."+key, "must be left out for rewards of type "+string(o.o.Kind))
		}
	}
	if slices.Contains(o.keys, "percentOfRevenue") && o.o.OfRevenue == 0 {
		return reward.Offer{}, core.Invalid(at+".percentOfRevenue", "must be more than 0 and at most 100; leave it out for a fixed value").InForm("must be more than 0 and at most 100")
	}
	if err := o.fuelTank(at); err != nil {
		return reward.Offer{}, err
	}
	want := conversion.Earning{Offer: o.o}.ValueField()
	for i, key := range o.tierKeys {
		if key != want && o.o.Kind != reward.FuelTank {
			return reward.Offer{}, core.Invalid(element(at+".tiers", i)+"."+key, "must be left out: tiers of this reward have "+want)
		}
	}
	if usual := (reward.Offer{Kind: o.o.Kind}); o.o.Unit == usual.InUnit() {
		o.o.Unit = ""
	}
	if o.o.Kind != reward.PercentDiscount && o.o.InUnit() == reward.UnitCents && o.o.Currency == "" {
		o.o.Currency = referral.DefaultCurrency
	}
	return o.o, nil
}

// fuelTank sets the unit by the type of a fuel tank, and converts an amount in
// percent to basis points.
func (o *offerParser) fuelTank(at string) error {
	if o.o.Kind != reward.FuelTank {
		return nil
	}
	percent := o.tank == reward.PercentDiscount || o.tank == "" && o.o.Unit == reward.UnitPercent
	switch {
	case percent && o.o.Unit == "":
		o.o.Unit = reward.UnitPercent
	case percent != (o.o.Unit == reward.UnitPercent):
		return core.Invalid(at+".unit", "must be % if fuelTankType is PCT_DISCOUNT, and must not be % otherwise").
			InForm("must not be % here; choose “a percentage” under “A code is worth”")
	}
	if !percent {
		return nil
	}
	if o.o.Amount < 1 || o.o.Amount > int64(reward.MaxPercent/100) {
		return core.Invalid(at+".amount", "must be 1 to 100 for a percentage")
	}
	o.o.Amount *= 100
	return nil
}

// offerKeys returns the keys of the offers of a kind.
func offerKeys(kind reward.Kind) []string {
	traits := kind.Traits()
	all := append([]string{"type", "unit", "name", "description", "expiryDuration", "scheduleDuration", "orders", "months", "tiers", traits.Value}, traits.Keys...)
	if traits.Divisible {
		all = append(all, "percentOfRevenue", "minimum", "maximum")
	}
	return all
}

// earning writes the reward of a side of a program. Terms that it does not have are left
// out, unless an event converts.
func (w *writer) earning(name string, e conversion.Earning, byEvent bool) {
	o := e.Offer
	w.objectOrNull(name, !o.None(), func() {
		w.text("type", string(o.Kind))
		w.text("unit", o.InUnit())
		switch {
		case o.Kind == reward.PercentDiscount:
			w.raw("discountPercent", o.Percent.String())
		case o.OfRevenue != 0:
			w.raw("percentOfRevenue", o.OfRevenue.String())
			w.numberOrNull("minimum", e.Min)
			w.numberOrNull("maximum", e.Max)
		case o.Kind == reward.FuelTank:
			w.text("fuelTankType", string(o.TankType()))
			w.raw("amount", inUnit(o.Amount, o.InUnit()))
		default:
			w.number(o.Kind.Traits().Value, o.Amount)
		}
		if o.Kind == reward.Integration {
			w.rawOrNull("integrationSettings", o.Settings)
		}
		if o.Kind != reward.PercentDiscount {
			w.textOrNull("currency", o.Currency)
		}
		w.textOrNull("name", o.Name)
		w.textOrNull("description", o.Description)
		w.durationOrNull("expiryDuration", o.ValidFor)
		w.durationOrNull("scheduleDuration", o.GivenAfter)
		if len(e.Tiers) > 0 || byEvent {
			w.list("tiers", len(e.Tiers), func(b []byte, i int) []byte { return appendTier(b, o, e.Tiers[i]) })
		}
		if byEvent {
			w.numberOrNull("orders", e.Orders)
			w.numberOrNull("months", e.Months)
		}
	})
}

func appendTier(b []byte, o reward.Offer, t conversion.Tier) []byte {
	w := begin(b)
	w.number("from", t.From)
	switch field := (conversion.Earning{Offer: o}).ValueField(); {
	case t.OfRevenue != 0:
		w.raw(field, t.OfRevenue.String())
	case o.Kind == reward.PercentDiscount:
		w.raw(field, reward.BasisPoints(t.Value).String())
	default:
		w.number(field, t.Value)
	}
	return w.end()
}

// durationOrNull writes null for 0.
func (w *writer) durationOrNull(name string, d core.Time) {
	if d == 0 {
		w.raw(name, "null")
		return
	}
	w.text(name, core.FormatDuration(d))
}
