package integrations

import (
	"kith/core"
	"kith/core/auth"
	"kith/core/webhook"
)

// keyRoleText says what a key with a role may be used for.
func keyRoleText(r auth.Role) string {
	switch r {
	case auth.RoleAll:
		return "May make every call, signs user tokens, and may manage keys. For your own server only."
	case auth.RoleRead:
		return "May read everything but keys and widgets, and change nothing. For reports and data warehouses."
	case auth.RoleEvents:
		return "May identify users, log events and look up codes. For the server of your shop, and for pipelines."
	case auth.RoleImport:
		return "May upload files, import them and download the results. For nightly imports."
	case auth.RoleTokens:
		return "Signs the user tokens of your pages, and permits no call. For the server that renders your pages."
	}
	return ""
}

// eventText says when an event of a type is sent.
func eventText(t webhook.Type) string {
	switch t {
	case webhook.UserCreated:
		return "A user is identified for the first time."
	case webhook.CouponCreated:
		return "A user gets a referral code."
	case webhook.RewardCreated:
		return "A reward is given."
	case webhook.RewardReversed:
		return "Refunds change how much of a reward they take back."
	case webhook.RewardBalanceChanged:
		return "The amount that a user can redeem changes."
	case webhook.ReferralStarted:
		return "A referral starts: a friend joined by a code."
	case webhook.ReferralConverted:
		return "A referral converts."
	case webhook.ReferralEnded:
		return "A referral ends."
	case webhook.ReferralAutomoderated:
		return "Fraud handling has decided on a referral."
	case webhook.ExportCreated:
		return "An export is created."
	case webhook.ExportCompleted:
		return "An export has ended."
	case webhook.JobCompleted:
		return "An import has ended."
	case webhook.Test:
		return "A test."
	}
	return ""
}

// untriedText says that nothing is known of an endpoint that was subscribed at a time.
// Deliveries that ended before since are no longer stored.
func untriedText(subscribed, since core.Time) string {
	if subscribed < since {
		return "Nothing sent in " + days(webhook.Kept)
	}
	return "Nothing sent yet"
}

// stateText says what the state of a delivery means.
func stateText(s webhook.State) string {
	switch s {
	case webhook.Waiting:
		return "Waiting"
	case webhook.Sending:
		return "Being sent"
	case webhook.Delivered:
		return "Delivered"
	case webhook.Failed:
		return "Failed"
	}
	return string(s)
}
