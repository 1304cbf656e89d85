package programs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
	"kith/core/wire"
)

// read returns the program that was entered. key is that of a stored program, or empty. The
// errors have the names of fields. arranged are the values as the form shows them again:
// tiers without gaps, and new languages beside the others.
func read(key core.ProgramKey, entered url.Values) (p referral.Program, arranged url.Values, err error) {
	r := reading{v: arrange(entered)}
	body := r.program(key)
	if err := errors.Join(r.problems...); err != nil {
		return p, r.v, err
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // so that the settings of integrations stay as they are
	if err := to.Encode(body); err != nil {
		return p, r.v, err
	}
	p, err = wire.ParseProgram(key, text.Bytes())
	return p, r.v, inForm(err)
}

// arrange returns the values with tiers moved to the gaps before them, and with the texts
// in a new language among the others.
func arrange(entered url.Values) url.Values {
	v := maps.Clone(entered)
	for _, side := range sideKeys {
		at, next := "rewards."+string(side)+".", 0
		for i := range conversion.MaxTiers {
			from, value := v.Get(tierField(at, i, "from")), v.Get(tierField(at, i, "value"))
			v.Del(tierField(at, i, "from"))
			v.Del(tierField(at, i, "value"))
			if strings.TrimSpace(from+value) != "" {
				v.Set(tierField(at, next, "from"), from)
				v.Set(tierField(at, next, "value"), value)
				next++
			}
		}
	}
	tag := text.TagOf(strings.TrimSpace(v.Get(fieldsNew.tag)))
	at := "invitations." + string(tag) + "."
	written := strings.TrimSpace(v.Get(fieldsNew.subject)+v.Get(fieldsNew.message)) != ""
	if tag != "" && written && strings.TrimSpace(v.Get(at+"subject")+v.Get(at+"message")) == "" {
		v.Set(at+"subject", v.Get(fieldsNew.subject))
		v.Set(at+"message", v.Get(fieldsNew.message))
		v.Del(fieldsNew.tag)
		v.Del(fieldsNew.subject)
		v.Del(fieldsNew.message)
	}
	return v
}

// object is a JSON object.
type object map[string]any

// number is a JSON number.
func number(s string) json.RawMessage { return json.RawMessage(s) }

// reading collects what is wrong with the values of a form while it reads them.
type reading struct {
	v        url.Values
	problems []error
}

func (r *reading) wrong(field, message string) {
	r.problems = append(r.problems, core.Invalid(field, message))
}

func (r *reading) text(name string) string { return strings.TrimSpace(r.v.Get(name)) }

// lines returns the lines of a field that are not empty.
func (r *reading) lines(name string) []string {
	lines := []string{}
	for line := range strings.SplitSeq(r.v.Get(name), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// put adds a text to an object, unless the field is empty.
func (r *reading) put(o object, key, name string) {
	if s := r.text(name); s != "" {
		o[key] = s
	}
}

// limits refuses 0 in fields that limit something. The API reads 0 as no limit, but a person
// who enters it means the opposite.
func (r *reading) limits(names ...string) {
	for _, name := range names {
		if s := strings.TrimRight(r.text(name), " %"); strings.Contains(s, "0") && strings.Trim(s, "0.,") == "" {
			r.wrong(name, "must be more than 0; leave it empty for no limit")
		}
	}
}

// count adds a whole number to an object, unless the field is empty.
func (r *reading) count(o object, key, name string) {
	s := r.text(name)
	if s == "" {
		return
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		r.wrong(name, "must be a whole number such as 10, without a sign or separators")
		return
	}
	o[key] = n
}

// percent adds a percentage to an object, unless the field is empty. A percent sign may
// follow the number.
func (r *reading) percent(o object, key, name string) {
	s := strings.TrimSpace(strings.TrimSuffix(r.text(name), "%"))
	if s == "" {
		return
	}
	percent, err := reward.ParsePercent(name, reward.WithPoint(s))
	if err != nil {
		r.wrong(name, "must be a percentage from 0 to 100 with at most two decimals, such as 15 or 12.5")
		return
	}
	o[key] = number(percent.String())
}

// amount adds an amount in a currency to an object in minor units, unless the field is
// empty.
func (r *reading) amount(o object, key, name, currency string) {
	s := r.text(name)
	if s == "" {
		return
	}
	n, err := reward.ParseAmount(name, s, currency)
	if err != nil {
		r.problems = append(r.problems, err)
		return
	}
	o[key] = n
}

// duration adds a duration to an object, unless the field is empty.
func (r *reading) duration(o object, key, name string) {
	s := r.text(name)
	if s == "" {
		return
	}
	switch n, err := strconv.ParseUint(s, 10, 31); {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		r.wrong(name, "must be a whole number such as 30, without a sign or separators")
		return
	case n > 999_999_999:
		r.wrong(name, "must not be longer than 36500 days")
		return
	}
	for _, u := range units {
		if u.name == cmp.Or(r.text(name+suffixUnit), units[0].name) {
			o[key] = u.format(s)
			return
		}
	}
	r.wrong(name, "must be in days, hours, minutes or seconds")
}

// program returns the program as the API reads it.
func (r *reading) program(key core.ProgramKey) object {
	body := object{}
	if body["id"] = cmp.Or(string(key), r.text("id")); body["id"] == "" {
		body["id"] = keyOf(r.text("name"))
	}
	if body["name"] = r.text("name"); body["name"] == "" {
		r.wrong("name", "must not be empty; people see it in invitations")
	}
	byEvent := r.byEvent()
	for _, s := range referral.Settings() {
		in, key, _ := strings.Cut(s.Path, ".")
		if in == "conversion" && !byEvent {
			continue
		}
		if body[in] == nil {
			body[in] = object{}
		}
		r.setting(body[in].(object), key, s)
	}
	rewards := object{}
	for _, side := range sideKeys {
		if o := r.earning("rewards."+string(side)+".", byEvent); o != nil {
			rewards[string(side)] = o
		}
	}
	r.duration(rewards, "moneyBackDuration", "rewards.moneyBackDuration")
	body["rewards"] = rewards
	body["invitations"] = r.invitations()
	return body
}

// setting adds a setting to its object.
func (r *reading) setting(o object, key string, s referral.Setting) {
	switch s.At(&referral.Program{}).(type) {
	case *string, *referral.Handling:
		r.put(o, key, s.Path)
		return
	case *bool:
		o[key] = r.text(s.Path) == "true"
	case *int64:
		r.count(o, key, s.Path)
	case *core.Time:
		r.duration(o, key, s.Path)
	case *reward.BasisPoints:
		r.percent(o, key, s.Path)
	case *[]string, *[]conversion.Condition:
		o[key] = r.lines(s.Path)
	case *map[referral.Signal]referral.Handling:
		signals := object{}
		for _, signal := range referral.Signals() {
			r.put(signals, string(signal), s.Path+"."+string(signal))
		}
		o[key] = signals
	}
	if s.Unset == referral.AsNull {
		r.limits(s.Path)
	}
}

// inLatin spells letters that Unicode does not take apart into a Latin letter and a mark, and
// the German ones, which people spell with an e.
var inLatin = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "ı", "i")

// keyOf returns the key of a program with a name, or "" if the name has neither Latin
// letters nor digits.
func keyOf(name string) string {
	latin := inLatin.Replace(norm.NFC.String(strings.ToLower(name)))
	key := strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Mn, c): // a mark, which NFD takes off its letter
			return -1
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		}
		return '-'
	}, norm.NFD.String(latin))
	for strings.Contains(key, "--") {
		key = strings.ReplaceAll(key, "--", "-")
	}
	return strings.Trim(key[:min(len(key), 40)], "-")
}

// byEvent reports whether an event converts.
func (r *reading) byEvent() bool {
	switch r.text(fieldWhen) {
	case whenPaid:
		return false
	case whenEvent:
	default:
		r.wrong(fieldWhen, "must be chosen: it is what a referral has to lead to")
		return false
	}
	if r.text("conversion.event") == "" {
		r.wrong("conversion.event", "must not be empty; give the key that your shop sends, such as purchase")
	}
	return true
}

// earning returns the reward of a side, or nil if it has none. at begins the names of its
// fields.
func (r *reading) earning(at string, byEvent bool) object {
	kind, share := strings.CutSuffix(r.text(at+"type"), suffixShare)
	switch kind {
	case noReward:
		return nil
	case "":
		r.wrong(at+"type", "must be chosen; there may be none")
		return nil
	}
	o := object{"type": kind}
	r.put(o, "name", at+"name")
	r.put(o, "description", at+"description")
	r.duration(o, "expiryDuration", at+"expiryDuration")
	r.limits(at + "expiryDuration")
	r.duration(o, "scheduleDuration", at+"scheduleDuration")
	r.value(o, at, reward.Kind(kind), share)
	if byEvent {
		r.orders(o, at)
	}
	return o
}

// value adds the value of a reward and of its tiers.
func (r *reading) value(o object, at string, kind reward.Kind, share bool) {
	unit, currency := cmp.Or(r.text(at+"unit"), reward.UnitCents), strings.ToUpper(r.text(at+"currency"))
	percentTank := kind == reward.FuelTank && r.text(at+"fuelTankType") != string(reward.Credit)
	if kind != reward.PercentDiscount && !percentTank {
		if currency != "" {
			if _, err := conversion.ParseCurrency(at+"currency", currency); err != nil {
				r.problems = append(r.problems, err)
			}
			o["currency"] = currency
		}
		if !share {
			r.put(o, "unit", at+"unit")
		}
	}
	if share {
		unit = reward.UnitCents
	}
	if unit == reward.UnitCents {
		currency = cmp.Or(currency, referral.DefaultCurrency)
	}
	money := reward.MoneyIn(unit, currency)
	put := func(o object, key, name string) { r.amount(o, key, name, money) }
	field := kind.Traits().Value
	switch {
	case share:
		put(o, "minimum", at+"minimum")
		put(o, "maximum", at+"maximum")
		r.limits(at + "maximum")
		put, field = r.percent, "percentOfRevenue"
	case kind == reward.PercentDiscount:
		put = r.percent
	case percentTank:
		o["fuelTankType"] = string(reward.PercentDiscount)
		put = r.percent
	case kind == reward.FuelTank:
		o["fuelTankType"] = string(reward.Credit)
	}
	if field == "" {
		return // an unknown type, which ParseProgram refuses
	}
	if put(o, field, at+field); r.text(at+field) == "" {
		r.wrong(at+field, "must not be empty")
	}
	if s := r.text(at + "integrationSettings"); s != "" && kind == reward.Integration {
		if !json.Valid([]byte(s)) || !strings.HasPrefix(s, "{") {
			r.wrong(at+"integrationSettings", `must be a JSON object such as {"giftCard": "A1"}`)
		} else {
			o["integrationSettings"] = json.RawMessage(s)
		}
	}
	if kind.Traits().Stepped {
		r.tiers(o, at, field, put)
	}
}

func (r *reading) tiers(o object, at, field string, put func(o object, key, name string)) {
	tiers := []object{}
	for i := range conversion.MaxTiers {
		from, value := tierField(at, i, "from"), tierField(at, i, "value")
		if r.text(from) == "" && r.text(value) == "" {
			continue
		}
		tier := object{}
		r.count(tier, "from", from)
		put(tier, field, value)
		for _, name := range []string{from, value} {
			if r.text(name) == "" {
				r.wrong(name, "must not be empty; clear both fields to remove the step")
			}
		}
		tiers = append(tiers, tier)
	}
	if len(tiers) > 0 {
		o["tiers"] = tiers
	}
}

// orders adds which orders of a friend earn a reward.
func (r *reading) orders(o object, at string) {
	switch r.text(at + "orders" + suffixWhich) {
	case "all":
		o["orders"] = nil
	case "some":
		if r.count(o, "orders", at+"orders"); r.text(at+"orders") == "" {
			r.wrong(at+"orders", "must not be empty, or choose each order")
		}
	}
	r.count(o, "months", at+"months")
	r.limits(at + "months")
}

// invitations returns the texts of the languages that have some.
func (r *reading) invitations() object {
	all := object{}
	for _, tag := range languagesIn(r.v) {
		at := "invitations." + tag + "."
		subject, message := r.text(at+"subject"), strings.ReplaceAll(r.text(at+"message"), "\r\n", "\n")
		if subject+message != "" {
			all[tag] = object{"subject": subject, "message": message}
		}
	}
	switch written := r.text(fieldsNew.subject)+r.text(fieldsNew.message) != ""; {
	case !written && r.text(fieldsNew.tag) != "":
		r.wrong(fieldsNew.subject, "must be given with a message for the new language; or leave the language out")
	case written:
		r.wrong(fieldsNew.tag, "must be a language such as nl or pt-BR that has no texts above")
	}
	return all
}
