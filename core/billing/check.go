package billing

// Check is one thing that a connection needs at its gateway.
type Check struct {
	// Name is the name in the API. Those of CheckKeys and CheckDiscount have a constant;
	// the names of permissions are the gateway's.
	Name string
	// Label says in words what is needed.
	Label string
	// OK is true if the gateway has it. Help says what to do if not.
	OK   bool
	Help string
	// Found is what the gateway has, such as the URL of the webhook endpoint, or empty.
	Found string
}

// Names of checks.
const (
	// CheckKeys: the gateway accepts the keys.
	CheckKeys = "keys"
	// CheckDiscount: the merchant has the tenant's discount.
	CheckDiscount = "discount"
	// CheckWebhook: the gateway sends notifications to Kith.
	CheckWebhook = "webhook"
	// CheckDelivery: a notification has arrived.
	CheckDelivery = "delivery"
)

// Missing returns the checks of a list that are not OK.
func Missing(all []Check) (missing []Check) {
	for _, c := range all {
		if !c.OK {
			missing = append(missing, c)
		}
	}
	return missing
}

// Passed reports whether a list has a check with the name, and it is OK.
func Passed(all []Check, name string) bool {
	for _, c := range all {
		if c.Name == name {
			return c.OK
		}
	}
	return false
}
