package reward

import (
	"strconv"
	"strings"

	"kith/core"
)

// ParsePercent returns a percentage from 0 to 100 with at most two decimals,
// such as "12.5", in basis points, or an error about field.
func ParsePercent(field, s string) (BasisPoints, error) {
	whole, fraction, pointed := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole+(fraction + "00")[:2], 10, 16)
	if err != nil || whole == "" || pointed && fraction == "" || len(fraction) > 2 || n > 10000 {
		return 0, core.Invalid(field, "must be a percentage from 0 to 100 with at most two decimals")
	}
	return BasisPoints(n), nil
}
