package conversion

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kith/core"
)

// checkConditions returns an error about the first condition that can never hold: because it
// is two conditions in one text, because of its value, or because of those before it on the same
// field, which has one value.
func checkConditions(all []Condition) error {
	for i, c := range all {
		at := "conversion.conditions[" + strconv.Itoa(i) + "]"
		for _, v := range c.Values {
			if err := cmp.Or(joined(at, v), c.misread(at, v)); err != nil {
				return err
			}
		}
		before := slices.DeleteFunc(slices.Clone(all[:i]), func(o Condition) bool { return o.Field != c.Field })
		for _, o := range before {
			if never([]Condition{o, c}) {
				return core.Invalid(at, "can never hold together with "+o.String()+"; remove one of the two, or give several values in one condition, as in plan in (pro, team)")
			}
		}
		if never(append(before, c)) {
			return core.Invalid(at, "can never hold together with the other conditions on "+c.Field+"; remove one of them")
		}
	}
	return nil
}

// joined returns an error about field if a text has a condition behind "and" or "or".
func joined(field, text string) error {
	lower := strings.ToLower(text)
	for _, word := range []string{" and ", " && ", ";", " or ", " || "} {
		at := strings.Index(lower, word)
		if at < 0 || len(lower) != len(text) {
			continue
		}
		rest := strings.TrimSpace(text[at+len(word):])
		if _, err := parseCondition("", rest); err != nil && joined("", rest) == nil {
			continue
		}
		if word != " or " && word != " || " {
			return core.Invalid(field, `is two conditions in one; give "`+rest+`" as a condition of its own: all conditions must hold`)
		}
		return core.Invalid(field, `has "or", which conditions do not know; give several values, as in plan in (pro, team), or make a program for each`)
	}
	return nil
}

// misread returns an error about field if a value of a condition is probably not what its
// author means, and no event has it.
func (c Condition) misread(field, value string) error {
	switch before, after, or := strings.Cut(value, " or "); {
	case value != strings.TrimSpace(value):
		return core.Invalid(field, "has blanks around a value, which no field keeps; remove them")
	case c.Field == "revenue" && c.belowZero(value):
		return core.Invalid(field, "can never hold: an order has a revenue of 0 or more")
	case c.Field == "currency":
		_, err := ParseCurrency(field, value)
		return err
	case or && c.Operator == Equal:
		either := Condition{Field: c.Field, Operator: In, Values: []string{strings.TrimSpace(before), strings.TrimSpace(after)}}
		return core.Invalid(field, `has "or", which conditions do not know; give several values, as in `+either.String()+`, or one value that has the word, as in `+c.Field+` in (`+value+`)`)
	case strings.ContainsAny(string(c.Operator), "<>") && core.Thousand(value, "."):
		return core.Invalid(field, "may be a thousand or a decimal number; write "+strings.Replace(value, ".", "", 1)+" or "+value[:len(value)-1])
	}
	return nil
}

// belowZero reports whether only numbers below 0 are less than a value, or equal to it.
func (c Condition) belowZero(value string) bool {
	limit, ok := ParseDecimal(value)
	return ok && (c.Operator == Less && limit.sign() <= 0 || c.Operator == LessOrEqual && limit.Negative())
}

// never reports whether no single value meets all of these conditions on one field.
func never(all []Condition) bool {
	var allowed []string
	var least, most *bound
	listed := false
	for _, c := range all {
		switch limit, _ := ParseDecimal(c.Values[0]); c.Operator {
		case Equal, In:
			if !listed {
				listed, allowed = true, c.Values
			}
		case More, MoreOrEqual:
			least = least.tighter(bound{c.Values[0], limit, c.Operator == More}, 1)
		case Less, LessOrEqual:
			most = most.tighter(bound{c.Values[0], limit, c.Operator == Less}, -1)
		}
	}
	if listed {
		return !slices.ContainsFunc(allowed, func(v string) bool {
			return !slices.ContainsFunc(all, func(c Condition) bool { return !c.Holds([]string{v}) })
		})
	}
	if least == nil || most == nil {
		return false
	}
	order := least.limit.Compare(most.limit)
	if order == 0 && !least.open && !most.open { // one value is left
		only := []string{least.text}
		return slices.ContainsFunc(all, func(c Condition) bool { return !c.Holds(only) })
	}
	return order >= 0
}

// bound is a limit of numbers; open means that the limit itself does not meet it.
type bound struct {
	text  string
	limit Decimal
	open  bool
}

// tighter returns the bound that fewer numbers meet, for lower bounds with sign 1, for upper
// ones with sign -1. Nil is no bound.
func (b *bound) tighter(o bound, sign int) *bound {
	if b != nil {
		if order := b.limit.Compare(o.limit) * sign; order > 0 || order == 0 && b.open {
			return b
		}
	}
	return &o
}
