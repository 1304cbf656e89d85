package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/people"
	"kith/core/reward"
)

// Limits of fields of a reward, in bytes.
const (
	maxUnit         = 64
	maxFuelTankCode = 200
)

// rewardKeys are the keys that are allowed for all types in the body that creates a reward
// (clients 1.3.18: RewardApiInput).
var rewardKeys = []string{"type", "rewardSource", "name", "unit", "cancellable", "dateScheduledFor", "dateExpires"}

// ParseReward parses the body that creates a reward for a user: one of the four forms
// of clients 1.3.18. Amounts and values are whole numbers, given as
// numbers or strings; a percentage may have two decimals. The default source is
// MANUAL. By default an INTEGRATION is not cancellable and other types are.
func ParseReward(account core.AccountID, user core.UserID, body []byte) (reward.Grant, error) {
	p := rewardParser{g: reward.Grant{Account: account, User: user, Source: reward.Manual}}
	if err := object(body, MaxBody, "", p.take); err != nil {
		return reward.Grant{}, err
	}
	if err := p.check(); err != nil {
		return reward.Grant{}, err
	}
	g := p.g
	if g.Fixed = g.Offer.Kind.Traits().Fixed; slices.Contains(p.given, "cancellable") {
		g.Fixed = !p.cancellable
	}
	if g.Offer.Kind == reward.Integration {
		g.Offer.Settings = gjson.GetBytes(body, "integrationSettings").Raw
	}
	if len(g.Offer.Settings) > maxSettings {
		return reward.Grant{}, core.Invalid("integrationSettings", "must not be longer than "+strconv.Itoa(maxSettings)+" bytes")
	}
	return g, g.Check()
}

// rewardParser collects the keys of all types; check compares them with those of the
// type.
type rewardParser struct {
	g           reward.Grant
	cancellable bool
	// given are the keys that were given and are not null.
	given []string
}

func (p *rewardParser) take(r *reader, key string, v *fastjson.Value) bool {
	if v.Type() != fastjson.TypeNull {
		p.given = append(p.given, key)
	}
	o := &p.g.Offer
	switch key {
	case "type":
		return setParsed(r, key, v, &o.Kind, reward.ParseKind)
	case "rewardSource":
		return setParsed(r, key, v, &p.g.Source, reward.ParseSource)
	case "name":
		return take(r.text, &o.Name, key, v)
	case "description":
		return take(r.text, &o.Description, key, v)
	case "unit":
		return setParsed(r, key, v, &o.Unit, parseUnit)
	case "currency":
		return setParsed(r, key, v, &o.Currency, reward.ParseCurrency)
	case "discountPercent":
		return r.percent(&o.Percent, key, v)
	case "assignedCredit", "amount", "valueInCents":
		return take(r.whole, &o.Amount, key, v)
	case "fuelTankCode":
		return setParsed(r, key, v, &p.g.FuelTankCode, parseFuelTankCode)
	case "fuelTankType":
		return setParsed(r, key, v, &p.g.FuelTankType, parseFuelTankType)
	case "integrationSettings":
		return r.nested(key, v, func(*reader, string, *fastjson.Value) bool { return true })
	case "cancellable":
		return take(r.boolean, &p.cancellable, key, v)
	case "dateScheduledFor":
		return r.date(&p.g.Scheduled, key, v, 1)
	case "dateExpires":
		return r.date(&p.g.Expires, key, v, 1)
	}
	return false
}

// check returns an error if a required key is missing or a key is not of the type.
func (p *rewardParser) check() error {
	kind := p.g.Offer.Kind
	if kind == "" {
		return core.Invalid("type", "is required")
	}
	traits := kind.Traits()
	for _, key := range traits.Must {
		if !slices.Contains(p.given, key) {
			return core.Invalid(key, "is required for "+string(kind))
		}
	}
	for _, key := range p.given {
		if !slices.Contains(rewardKeys, key) && !slices.Contains(traits.Must, key) && !slices.Contains(traits.May, key) {
			return core.Invalid(key, "must be left out for "+string(kind))
		}
	}
	if kind == reward.PercentDiscount && p.g.Offer.Unit != "" && p.g.Offer.Unit != reward.UnitPercent {
		return core.Invalid("unit", "must be % for PCT_DISCOUNT, or be left out")
	}
	if kind == reward.FuelTank {
		return p.fuelTank()
	}
	return nil
}

// fuelTank sets the default unit of a fuel tank code, and converts a percentage to
// basis points.
func (p *rewardParser) fuelTank() error {
	o := &p.g.Offer
	if p.g.FuelTankType == reward.PercentDiscount && o.Unit == "" {
		o.Unit = reward.UnitPercent
	}
	if o.Unit != reward.UnitPercent {
		return nil
	}
	if o.Amount > int64(reward.MaxPercent/100) {
		return core.Invalid("amount", "must be 1 to 100 for a percentage")
	}
	o.Amount *= 100
	return nil
}

func parseUnit(field, s string) (string, error) { return shortText(field, s, maxUnit) }

func parseFuelTankCode(field, s string) (string, error) { return shortText(field, s, maxFuelTankCode) }

func shortText(field, s string, most int) (string, error) {
	if strings.TrimSpace(s) == "" || len(s) > most {
		return "", core.Invalid(field, "must be 1 to "+strconv.Itoa(most)+" bytes, and not blank")
	}
	return s, nil
}

func parseFuelTankType(field, s string) (reward.Kind, error) {
	switch kind := reward.Kind(s); kind {
	case reward.PercentDiscount, reward.Credit:
		return kind, nil
	}
	return "", core.Invalid(field, "must be one of PCT_DISCOUNT, CREDIT")
}

// whole stores a whole number, given as a number or, by older clients, as a string.
func (r *reader) whole(into **int64, key string, v *fastjson.Value) bool {
	if v.Type() != fastjson.TypeString {
		return r.integer(into, key, v, 0)
	}
	n, ok := wholeText(string(v.GetStringBytes()))
	if !ok || n < 0 {
		return r.fail(core.Invalid(r.path(key), "must be a whole number"))
	}
	*into = &n
	return true
}

// wholeText returns the value of a text that is a whole number.
func wholeText(text string) (int64, bool) {
	if core.Digits(text) {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	if !gjson.Valid(text) || gjson.Parse(text).Type != gjson.Number || strings.TrimSpace(text) != text {
		return 0, false
	}
	return wholeNumber(text)
}

// ParseCancellation parses the body that cancels a reward: {reason}. It may be empty, and so
// is the reason then.
func ParseCancellation(body []byte) (reason string, err error) {
	if len(body) == 0 {
		return "", nil
	}
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "reason" && setParsed(r, key, v, &reason, people.ParseReason)
	})
	return reason, err
}

// ParseRedemption parses the body of POST /credit/{id}/redeem (clients 1.3.11). id is
// that of the reward.
func ParseRedemption(id string, body []byte) (reward.Draw, error) {
	d, err := parseDraw(body, false)
	d.Reward = id
	return d, err
}

// ParseBulkRedemption parses the body of POST /credit/bulkredeem (clients 1.3.12).
func ParseBulkRedemption(body []byte) (reward.Draw, error) { return parseDraw(body, true) }

// parseDraw parses a draw; a bulk one has an account.
func parseDraw(body []byte, bulk bool) (reward.Draw, error) {
	var d reward.Draw
	amount := false
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch {
		case key == "amount":
			amount = v.Type() != fastjson.TypeNull
			return take(func(n **int64, key string, v *fastjson.Value) bool { return r.integer(n, key, v, 1) }, &d.Amount, key, v)
		case key == "unit":
			return setParsed(r, key, v, &d.Unit, parseUnit)
		case key == "currency":
			return setParsed(r, key, v, &d.Currency, reward.ParseCurrency)
		case key == "idempotencyKey":
			return setParsed(r, key, v, &d.Key, core.ParseIdempotencyKey)
		case bulk && key == "accountId":
			return setParsed(r, key, v, &d.Account, core.ParseAccountID)
		case bulk && key == "userId":
			return setParsed(r, key, v, &d.User, core.ParseUserID)
		}
		return false
	})
	switch {
	case err != nil:
	case bulk && d.Account == "":
		err = required("accountId", "RS044")
	case !amount:
		err = core.Invalid("amount", "is required")
	case d.Unit == "":
		err = core.Invalid("unit", "is required")
	}
	return d, err
}

// inUnit returns a value as a JSON number: a percentage if the unit is UnitPercent.
func inUnit(value int64, unit string) string {
	if unit == reward.UnitPercent {
		return reward.BasisPoints(value).String()
	}
	return strconv.FormatInt(value, 10)
}

// Redemption returns the response to a redemption (clients 1.3.11).
func Redemption(r reward.Redemption) []byte {
	w := begin(nil)
	w.number("creditRedeemed", r.Redeemed)
	w.number("creditAvailable", r.Available)
	w.text("unit", r.Unit)
	return w.end()
}

// RewardBalances returns the response to GET /reward/balance: an array
// (clients 1.3.6).
func RewardBalances(balances []reward.Balance) []byte {
	return list(nil, len(balances), func(b []byte, i int) []byte { return appendBalance(b, balances[i]) })
}

func appendBalance(b []byte, balance reward.Balance) []byte {
	w := begin(b)
	w.text("type", string(balance.Kind))
	w.text("unit", balance.Unit)
	w.textOrNull("currency", balance.Currency)
	w.number("count", balance.Count)
	switch balance.Kind {
	case reward.Credit:
		w.number("totalPendingCredit", balance.Pending)
		w.number("totalAssignedCredit", balance.Assigned)
		w.number("totalRedeemedCredit", balance.Redeemed)
		w.number("totalExpiredCredit", balance.Expired)
		w.number("totalCancelledCredit", balance.Cancelled)
		if balance.Reversed != 0 || balance.Settled != 0 || balance.Debt != 0 {
			w.number("totalReversedCredit", balance.Reversed)
			w.number("totalOwedCredit", balance.Debt)
			w.number("availableCredit", balance.Available())
		}
	case reward.PercentDiscount:
		w.raw("totalDiscountPercent", (balance.Referred + balance.Referrer).String())
		w.raw("referredDiscountPercent", balance.Referred.String())
		w.raw("referrerDiscountPercent", balance.Referrer.String())
	case reward.FuelTank:
		w.number("totalFuelTankCodes", balance.Codes)
	case reward.Integration:
		w.number("totalValueInCents", balance.Assigned)
	}
	return w.end()
}

// RewardBalanceChanged returns the data of the webhook user.reward.balance.changed
// (clients 6.5.9). The value of a discount is a percentage.
func RewardBalanceChanged(c reward.Change) []byte {
	w := begin(nil)
	w.text("userId", string(c.User))
	w.text("accountId", string(c.Account))
	w.text("unit", c.Unit)
	w.textOrNull("currency", c.Currency)
	w.raw("availableValue", inUnit(c.Available, c.Unit))
	w.number("resourceVersion", c.Version)
	return w.end()
}

// offer writes the offer of a code or a program; null if it is empty.
func (w *writer) offer(name string, o reward.Offer) {
	w.objectOrNull(name, !o.None(), func() {
		w.text("type", string(o.Kind))
		w.text("unit", o.InUnit())
		switch o.Kind {
		case reward.PercentDiscount:
			w.raw("discountPercent", o.Percent.String())
			if o.ValidFor > 0 {
				w.number("monthsDiscountIsValid", max(1, int64(o.ValidFor/(30*core.Day))))
			}
		case reward.Credit:
			w.amount("credit", o)
			w.textOrNull("currency", o.Currency)
		case reward.Integration:
			w.amount("valueInCents", o)
			w.rawOrNull("rewardDetails", o.Settings)
		}
	})
}

// amount writes the amount of an offer, or the percentage of the revenue that it is.
func (w *writer) amount(name string, o reward.Offer) {
	if o.OfRevenue != 0 {
		w.raw("percentOfRevenue", o.OfRevenue.String())
		return
	}
	w.number(name, o.Amount)
}

// reward writes a reward, or null.
func (w *writer) reward(name string, r *reward.Reward) {
	if r == nil {
		w.raw(name, "null")
		return
	}
	w.key(name)
	w.b = appendReward(w.b, *r)
	w.comma = true
}

// Reward returns the response to GET /reward/{id} and the data of the webhook
// reward.created (clients 1.3.19, clients 6.5.8).
func Reward(r reward.Reward) []byte { return appendReward(nil, r) }

// Rewards returns the response to GET /reward: an array (clients 1.3.7).
func Rewards(rewards []reward.Reward) []byte {
	return list(nil, len(rewards), func(b []byte, i int) []byte { return appendReward(b, rewards[i]) })
}

func appendReward(b []byte, r reward.Reward) []byte {
	w := begin(b)
	w.text("id", r.ID)
	w.text("type", string(r.Offer.Kind))
	w.text("accountId", string(r.Account))
	w.text("userId", string(r.User))
	w.textOrNull("programId", string(r.Program))
	w.textOrNull("programRewardKey", r.ProgramRewardKey)
	w.textOrNull("globalRewardKey", r.GlobalRewardKey)
	w.text("rewardSource", string(r.Source))
	w.text("unit", r.Offer.Unit)
	w.textOrNull("name", r.Offer.Name)
	w.rewardValue(r)
	w.orderMembers(r)
	w.boolean("cancellable", r.Cancellable && r.Cancelled == 0 && r.Left() > 0)
	w.date("dateCreated", r.Created)
	given := r.Given
	if r.Pending {
		given = 0
	}
	w.date("dateGiven", given)
	w.date("dateScheduledFor", r.Scheduled)
	w.date("dateExpires", r.Expires)
	w.date("dateCancelled", r.Cancelled)
	return w.end()
}

// orderMembers writes the members that only rewards of orders have, and those that
// have settled a debt.
func (w *writer) orderMembers(r reward.Reward) {
	if r.Order != "" {
		w.text("orderId", r.Order)
	}
	if r.Order != "" || r.Sums.Reversed != 0 {
		w.raw("reversedValue", inUnit(r.Sums.Reversed, r.Offer.Unit))
	}
	if r.Sums.Settled != 0 {
		w.raw("settledValue", inUnit(r.Sums.Settled, r.Offer.Unit))
	}
}

// rewardValue writes the members that only rewards of one type have.
func (w *writer) rewardValue(r reward.Reward) {
	switch r.Offer.Kind {
	case reward.PercentDiscount:
		w.raw("discountPercent", r.Offer.Percent.String())
	case reward.Credit:
		w.number("assignedCredit", r.Offer.Amount)
		w.number("redeemedCredit", r.Sums.Redeemed)
		w.textOrNull("currency", r.Offer.Currency)
		w.list("redemptions", len(r.Redemptions), func(b []byte, i int) []byte { return appendRedeemed(b, r.Redemptions[i]) })
	case reward.FuelTank:
		// Anyone with the code can redeem it, so it is hidden until the reward is
		// given.
		if r.Pending {
			w.raw("fuelTankCode", "null")
		} else {
			w.text("fuelTankCode", r.FuelTankCode)
		}
		w.raw("amount", inUnit(r.Offer.Amount, r.Offer.Unit))
		// REST responses have the first spelling, webhooks the second.
		w.text("fueltankType", string(r.FuelTankType))
		w.text("fuelTankType", string(r.FuelTankType))
	case reward.Integration:
		w.textOrNull("description", r.Offer.Description)
		w.number("valueInCents", r.Offer.Amount)
		if r.Offer.Currency != "" {
			w.text("currency", r.Offer.Currency)
		}
		w.rawOrNull("integrationSettings", r.Offer.Settings)
	}
}

func appendRedeemed(b []byte, r reward.Redeemed) []byte {
	w := begin(b)
	w.text("id", r.ID)
	w.date("dateRedeemed", r.At)
	w.number("quantityRedeemed", r.Amount)
	return w.end()
}
