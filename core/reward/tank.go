package reward

import "kith/core"

// Limits of a fuel tank: codes of one call, codes of one tank, and bytes of a code.
const (
	MaxTankCodes = 1000
	MaxTank      = 100_000
	maxTankCode  = 200
)

// Tank counts the codes of a fuel tank.
type Tank struct {
	// Available counts the codes that were not given yet, Given those that were.
	Available, Given int64
	// Due counts the earned rewards that wait for a code.
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

// TankType returns the kind of a fuel tank's value: PercentDiscount if its unit is
// UnitPercent, else Credit.
func (o Offer) TankType() Kind {
	if o.InUnit() == UnitPercent {
		return PercentDiscount
	}
	return Credit
}

// Low reports whether the codes of the tank will soon be used up: fewer are left than a
// tenth of those that were given, or fewer than 10.
func (t Tank) Low() bool { return t.Available < max(10, t.Given/10) }
