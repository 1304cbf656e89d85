package graphql

import (
	"math"
	"strconv"

	"kith/core"
	"kith/core/reward"
)

// amount is a value as a number: a percentage for one in basis points.
func amount(value int64, unit string) decimal {
	if unit == reward.UnitPercent {
		return decimal(reward.BasisPoints(value).String())
	}
	return decimal(strconv.FormatInt(value, 10))
}

// prettyArguments say how a value is written. It is written in English whatever
// the locale.
type prettyArguments struct{ Locale, FormatType argument }

func (a prettyArguments) pretty(value int64, unit, currency string) (*string, error) {
	format, err := a.FormatType.text("formatType")
	return pointer(reward.Pretty(value, unit, currency, reward.Format(format))), err
}

// FormatRewardPrettyValue writes a value as people read it.
func (*query) FormatRewardPrettyValue(args struct {
	Value, Unit argument
	prettyArguments
}) (*string, error) {
	value, err := args.Value.number("value", 0)
	if err != nil {
		return nil, err
	}
	unit, err := args.Unit.text("unit")
	if err != nil {
		return nil, err
	}
	if unit == reward.UnitPercent {
		if value > math.MaxInt64/100 || value < math.MinInt64/100 {
			return nil, core.Invalid("value", "is out of range")
		}
		value *= 100
	}
	return args.pretty(value, unit, "")
}
