// Package conversion decides which events convert a referral, and what each order
// earns. Its functions are pure.
//
// What orders earn depends only on the set of events, not on the order of their
// arrival: Replay decides the orders of one referrer in a program in the order of the
// times at which they were placed. An event that arrives late makes the later orders
// be decided again.
package conversion

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/reward"
)

// Limits of rules.
const (
	MaxConditions = 20
	MaxCondition  = 500 // bytes of the text of a condition
	MaxValues     = 50
	maxField      = 64
	maxKey        = 128 // as event.MaxKey
	maxWithin     = 3650 * core.Day
	MaxBefore     = core.Day
)

// DefaultBefore is the value of Rule.Before that a program has if it does not set one.
const DefaultBefore = 10 * core.Minute

// DefaultReversal is the key of the event that reverses an order, if a rule names no
// other.
const DefaultReversal = "refund"

// Rule says what converts a referral. The zero Rule means that the first PAID of the
// account does (spec 3.1.4).
type Rule struct {
	// Event is the key of the event that converts; empty for PAID.
	Event string
	// Reversal is the key of the event that takes an order back, in full or in part.
	Reversal string
	// Conditions must all hold for the event.
	Conditions []Condition
	// Within is the longest time between the attribution and the event that converts;
	// zero means any.
	Within core.Time
	// Before is how long before the attribution the account's first order may be placed: a
	// shop may create the order before the account.
	Before core.Time
	// FirstEvent is true if the event that converts must be the first of its key that
	// the account ever had.
	FirstEvent bool
}

// ByEvent reports whether an event converts, and not the first PAID.
func (r Rule) ByEvent() bool { return r.Event != "" }

// Fields returns the names of the event fields that the conditions read.
func (r Rule) Fields() []string {
	var names []string
	for _, c := range r.Conditions {
		if !slices.Contains(names, c.Field) {
			names = append(names, c.Field)
		}
	}
	return names
}

// LeastRevenue returns the least revenue of an order that the conditions admit, in minor units
// of the only currency that they admit, or else in hundredths of any currency, which is then
// empty. It is 0 if they have no such condition.
func (r Rule) LeastRevenue() (least int64, currency string) {
	for _, c := range r.Conditions {
		if c.Field == "currency" && c.Operator == Equal {
			currency = capital(c.Values[0])
		}
	}
	for _, c := range r.Conditions {
		if c.Field != "revenue" || c.Operator != MoreOrEqual {
			continue
		}
		if amount, err := reward.ParseAmount("", c.Values[0], cmp.Or(currency, "USD")); err == nil {
			least = max(least, amount)
		}
	}
	return least, currency
}

// Check returns an error about the first invalid setting, with its name in the API.
func (r Rule) Check() error {
	switch {
	case !r.ByEvent() && (len(r.Conditions) > 0 || r.Within != 0 || r.Before != 0 || r.FirstEvent || r.Reversal != ""):
		return core.Invalid("conversion.event", "is required with any other setting of conversion; without it, the first PAID converts")
	case len(r.Event) > maxKey || strings.TrimSpace(r.Event) != r.Event:
		return core.Invalid("conversion.event", "must be 1 to 128 bytes without blanks around it, such as purchase")
	case len(r.Reversal) > maxKey || strings.TrimSpace(r.Reversal) != r.Reversal:
		return core.Invalid("conversion.reversalEvent", "must be 1 to 128 bytes without blanks around it, such as refund")
	case r.ByEvent() && r.Reversal == r.Event:
		return core.Invalid("conversion.reversalEvent", "must differ from conversion.event; name another event, the default is refund").InForm("must differ from the event that converts; if it is empty, it is refund")
	case len(r.Conditions) > MaxConditions:
		return core.TooMany("conversion.conditions", MaxConditions)
	case r.Within < 0 || r.Within > maxWithin:
		return core.OutsideDuration("conversion.withinDuration", core.Second, maxWithin, true)
	case r.Before < 0 || r.Before > MaxBefore:
		return core.OutsideDuration("conversion.beforeDuration", 0, MaxBefore, true)
	}
	return checkConditions(r.Conditions)
}

// Operator compares a field with values.
type Operator string

// The operators of conditions.
const (
	Equal       Operator = "="
	NotEqual    Operator = "!="
	Less        Operator = "<"
	LessOrEqual Operator = "<="
	More        Operator = ">"
	MoreOrEqual Operator = ">="
	In          Operator = "in"
	NotIn       Operator = "not in"
)

// Condition is a condition on a field of an event. Texts are compared without regard to
// case, numbers by value. A condition on a field that the event does not have fails.
type Condition struct {
	Field    string
	Operator Operator
	// Values has one value, or several for In and NotIn.
	Values []string
}

// ParseCondition parses a condition such as `revenue >= 50`, `currency = USD` or
// `plan in (pro, team)`. A value with a comma, a parenthesis or blanks around it is in
// double quotes, as is one that begins with =, <, > or !. An error is about field.
func ParseCondition(field, s string) (c Condition, err error) {
	if c, err = parseCondition(field, s); err != nil {
		if two := joined(field, s); two != nil {
			err = two
		}
	}
	return c, err
}

func parseCondition(field, s string) (c Condition, err error) {
	const form = ` must be a condition such as "revenue >= 50", "currency = USD" or "plan in (pro, team)"`
	bad := core.Invalid(field, form[1:])
	if len(s) > MaxCondition {
		return c, core.Invalid(field, "must not be longer than 500 bytes")
	}
	s = strings.TrimSpace(s)
	end := 0
	for end < len(s) && isName(s[end]) {
		end++
	}
	if c.Field = s[:end]; end == 0 || end > maxField {
		return c, bad
	}
	rest := strings.TrimSpace(s[end:])
	for _, op := range []Operator{MoreOrEqual, LessOrEqual, NotEqual, Equal, More, Less} {
		if after, ok := strings.CutPrefix(rest, string(op)); ok {
			c.Operator = op
			value, after, ok := cutValue(after)
			c.Values = []string{value}
			switch {
			case ok && strings.HasPrefix(after, ","):
				return c, core.Invalid(field, "has a comma; write a number with a point, as in revenue >= 12.50, give a second condition as one of its own, and write another value with a comma in double quotes")
			case !ok || strings.TrimSpace(after) != "":
				return c, bad
			}
			return c, c.checkNumbers(field)
		}
	}
	if c.Operator = In; strings.HasPrefix(rest, "not ") {
		c.Operator, rest = NotIn, strings.TrimSpace(rest[len("not "):])
	}
	rest, ok := strings.CutPrefix(rest, "in")
	rest = strings.TrimSpace(rest)
	if !ok || !strings.HasPrefix(rest, "(") || !strings.HasSuffix(rest, ")") {
		return c, bad
	}
	rest = rest[1 : len(rest)-1]
	for more := true; more; {
		value, after, ok := cutValue(rest)
		if !ok {
			return c, bad
		}
		c.Values = append(c.Values, value)
		after = strings.TrimSpace(after)
		if rest, more = strings.CutPrefix(after, ","); !more && after != "" {
			return c, bad
		}
	}
	if len(c.Values) > MaxValues {
		return c, core.Invalid(field, "must not have more than 50 values")
	}
	return c, nil
}

func (c Condition) checkNumbers(field string) error {
	if c.Operator == Equal || c.Operator == NotEqual {
		return nil
	}
	if _, ok := ParseDecimal(c.Values[0]); !ok {
		return core.Invalid(field, "must compare with a number: "+string(c.Operator)+" is for numbers, as in revenue "+string(c.Operator)+" 50")
	}
	return nil
}

// operators are the characters with which operators other than In and NotIn begin.
const operators = "=<>!"

func isName(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}

// cutValue cuts a value, quoted or not, from the beginning of s. A value that begins
// like an operator is in quotes, so that "plan == pro" is not read as a text "= pro".
func cutValue(s string) (value, rest string, ok bool) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, `"`) {
		value, rest, ok = strings.Cut(s[1:], `"`)
		return value, rest, ok
	}
	end := strings.IndexAny(s, `,()"`)
	if end < 0 {
		end = len(s)
	}
	value = strings.TrimSpace(s[:end])
	return value, s[end:], value != "" && !strings.ContainsAny(value[:1], operators)
}

// String returns the condition in the form that ParseCondition reads.
func (c Condition) String() string {
	if c.Operator != In && c.Operator != NotIn {
		return c.Field + " " + string(c.Operator) + " " + quoted(c.Values[0])
	}
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = quoted(v)
	}
	return c.Field + " " + string(c.Operator) + " (" + strings.Join(values, ", ") + ")"
}

func quoted(value string) string {
	if value == "" || value != strings.TrimSpace(value) || strings.ContainsAny(value, ",()") || strings.ContainsAny(value[:1], operators) {
		return `"` + value + `"`
	}
	return value
}

// Words returns the condition as a clause for people: "revenue is at least 50".
func (c Condition) Words() string {
	values := make([]string, len(c.Values))
	for i, v := range c.Values {
		values[i] = quoted(v)
	}
	verb := map[Operator]string{
		Equal: " is ", NotEqual: " is not ", Less: " is less than ", LessOrEqual: " is at most ", More: " is more than ", MoreOrEqual: " is at least ",
		In: " is ", NotIn: " is not ",
	}[c.Operator]
	return c.Field + verb + strings.Join(values, " or ")
}

// Holds reports whether the condition holds for a field with these values: several for
// an array, none for a missing field. An array meets Equal and In if one of its values
// does, and NotEqual and NotIn if none is equal.
func (c Condition) Holds(values []string) bool {
	if len(values) == 0 {
		return false
	}
	switch c.Operator {
	case Equal, In:
		return slices.ContainsFunc(values, c.equals)
	case NotEqual, NotIn:
		return !slices.ContainsFunc(values, c.equals)
	}
	limit, _ := ParseDecimal(c.Values[0])
	return slices.ContainsFunc(values, func(v string) bool {
		d, ok := ParseDecimal(v)
		if !ok {
			return false
		}
		switch n := d.Compare(limit); c.Operator {
		case Less:
			return n < 0
		case LessOrEqual:
			return n <= 0
		case More:
			return n > 0
		default:
			return n >= 0
		}
	})
}

// equals reports whether a value is equal to one of the condition.
func (c Condition) equals(value string) bool {
	d, number := ParseDecimal(value)
	return slices.ContainsFunc(c.Values, func(v string) bool {
		if o, ok := ParseDecimal(v); ok && number {
			return d.Compare(o) == 0
		}
		return strings.EqualFold(v, value)
	})
}

// Because returns why the condition fails for a field with these values, for people.
func (c Condition) Because(values []string) string {
	if len(values) == 0 {
		return "the event has no field " + c.Field
	}
	text := c.Field + " is " + strings.Join(values, ", ")
	switch c.Operator {
	case Less, LessOrEqual, More, MoreOrEqual:
		if _, ok := ParseDecimal(values[0]); len(values) == 1 && !ok {
			return text + ", which is no number such as 20.00"
		}
	}
	return text
}

// ordinal returns 1st, 2nd, 3rd, 4th, …
func ordinal(n int64) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.FormatInt(n, 10) + suffix
}
