package stripelab

import (
	"maps"
	"slices"
)

// Calls returns the patterns of all calls of the gateway that the lab answers.
func Calls() []string { return slices.Sorted(maps.Keys(endpoints)) }
