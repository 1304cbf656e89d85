package stripelab

// Calls returns the patterns of all calls of the gateway that the lab answers.
func Calls() []string { return sortedKeys(endpoints) }
