package reward

import "kith/core"

// Bounds of a fuel tank: codes of one call, of one tank, and bytes of a code.
const (
	MaxTankCodes = 1000
	MaxTank      = 100_000
	maxTankCode  = 200
)

// Tank is how full a fuel tank is.
type Tank struct {
	// Available codes wait to be given; Given ones were.
	Available, Given int64
	// Due are rewards that were earned and wait for a code.
	Due int64
}

// ParseTankCode returns s as a code of a fuel tank, or an error about field: 1
// to 200 bytes without blanks and control characters.
func ParseTankCode(field, s string) (string, error) {
	ok := s != "" && len(s) <= maxTankCode
	for i := range len(s) {
		ok = ok && s[i] > ' ' && s[i] != 0x7f
	}
	if !ok {
		return "", core.Invalid(field, "must be 1 to 200 bytes without blanks and control characters")
	}
	return s, nil
}

// TankType is what a code of a fuel tank is worth: a percentage, when that is
// its unit, or an amount.
func (o Offer) TankType() Kind {
	if o.InUnit() == UnitPercent {
		return PercentDiscount
	}
	return Credit
}
