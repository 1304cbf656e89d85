package wire

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// maxSettings bounds the settings of an integration, in bytes.
const maxSettings = 4096

// offer stores what a side of a program earns. body is the whole body, of which
// settings are taken as they are written.
func (r *reader) offer(into *reward.Offer, key string, v *fastjson.Value, body []byte) bool {
	o := offerParser{}
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
	*into = offer
	return r.fail(err)
}

// offerParser collects what the keys of an offer say.
type offerParser struct {
	o reward.Offer
	// tank is the type of a fuel tank.
	tank reward.Kind
	// keys are those that were given.
	keys []string
}

func (o *offerParser) take(r *reader, key string, v *fastjson.Value) bool {
	if v.Type() != fastjson.TypeNull {
		o.keys = append(o.keys, key)
	}
	switch key {
	case "type":
		return take(func(k **reward.Kind, key string, v *fastjson.Value) bool {
			return parsed(r, key, v, k, reward.ParseKind)
		}, &o.o.Kind, key, v)
	case "fuelTankType":
		return word(r, key, v, &o.tank, parseFuelTankType)
	case "discountPercent":
		return r.percent(&o.o.Percent, key, v)
	case "credit", "amount", "valueInCents":
		return r.count(&o.o.Amount, key, v)
	case "currency":
		return take(func(c **string, key string, v *fastjson.Value) bool {
			return parsed(r, key, v, c, parseCurrency)
		}, &o.o.Currency, key, v)
	case "unit":
		return take(r.text, &o.o.Unit, key, v)
	case "name":
		return take(r.text, &o.o.Name, key, v)
	case "description":
		return take(r.text, &o.o.Description, key, v)
	case "expiryDuration":
		return r.duration(&o.o.ValidFor, key, v)
	case "scheduleDuration":
		return r.duration(&o.o.GivenAfter, key, v)
	case "integrationSettings":
		return r.nested(key, v, func(*reader, string, *fastjson.Value) bool { return true })
	}
	return false
}

// offer returns the offer at a place of the body.
func (o *offerParser) offer(at string) (reward.Offer, error) {
	if o.o.Kind == "" {
		return reward.Offer{}, core.Invalid(at+".type", "is required")
	}
	for _, key := range o.keys {
		if !slices.Contains(offerKeys[""], key) && !slices.Contains(offerKeys[o.o.Kind], key) {
			return reward.Offer{}, core.Invalid(at+"."+key, "is not for rewards of type "+string(o.o.Kind))
		}
	}
	if err := o.fuelTank(at); err != nil {
		return reward.Offer{}, err
	}
	if usual := (reward.Offer{Kind: o.o.Kind}); o.o.Unit == usual.InUnit() {
		o.o.Unit = ""
	}
	if o.o.Kind != reward.PercentDiscount && o.o.InUnit() == reward.UnitCents && o.o.Currency == "" {
		o.o.Currency = referral.DefaultCurrency
	}
	return o.o, nil
}

// fuelTank sets the unit that the type of a fuel tank says; an amount in percent
// is in basis points then.
func (o *offerParser) fuelTank(at string) error {
	if o.o.Kind != reward.FuelTank {
		return nil
	}
	percent := o.tank == reward.PercentDiscount || o.tank == "" && o.o.Unit == reward.UnitPercent
	switch {
	case percent && o.o.Unit == "":
		o.o.Unit = reward.UnitPercent
	case percent != (o.o.Unit == reward.UnitPercent):
		return core.Invalid(at+".unit", "is % when fuelTankType is PCT_DISCOUNT, and else not")
	}
	if !percent {
		return nil
	}
	if o.o.Amount < 1 || o.o.Amount > int64(reward.MaxPercent/100) {
		return core.Invalid(at+".amount", "of a percentage must be 1 to 100")
	}
	o.o.Amount *= 100
	return nil
}

// offerKeys are the keys that all offers have, and those that one kind has.
var offerKeys = map[reward.Kind][]string{
	"":                     {"type", "unit", "name", "description", "expiryDuration", "scheduleDuration"},
	reward.PercentDiscount: {"discountPercent"},
	reward.Credit:          {"credit", "currency"},
	reward.FuelTank:        {"fuelTankType", "amount", "currency"},
	reward.Integration:     {"valueInCents", "currency", "integrationSettings"},
}

// programOffer writes what a side of a program earns, as it is read.
func (w *writer) programOffer(name string, o reward.Offer) {
	if o.None() {
		w.raw(name, "null")
		return
	}
	w.object(name, func() {
		w.text("type", string(o.Kind))
		w.text("unit", o.InUnit())
		switch o.Kind {
		case reward.PercentDiscount:
			w.raw("discountPercent", o.Percent.String())
		case reward.Credit:
			w.number("credit", o.Amount)
		case reward.FuelTank:
			w.text("fuelTankType", string(o.TankType()))
			w.raw("amount", inUnit(o.Amount, o.InUnit()))
		case reward.Integration:
			w.number("valueInCents", o.Amount)
			w.settings("integrationSettings", o.Settings)
		}
		if o.Kind != reward.PercentDiscount {
			w.textOrNull("currency", o.Currency)
		}
		w.textOrNull("name", o.Name)
		w.textOrNull("description", o.Description)
		w.durationOrNull("expiryDuration", o.ValidFor)
		w.durationOrNull("scheduleDuration", o.GivenAfter)
	})
}

// durationOrNull writes null for 0.
func (w *writer) durationOrNull(name string, d core.Time) {
	if d == 0 {
		w.raw(name, "null")
		return
	}
	w.text(name, core.FormatDuration(d))
}
