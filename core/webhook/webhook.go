// Package webhook defines the events that the service sends to a tenant's systems,
// and decides when a delivery is retried (clients 6.5: Webhooks out).
package webhook

import "kith/core"

// Type is the type of an event. Consumers depend on it, so a type never changes its
// meaning.
type Type string

// Types lists the types to which an endpoint may be subscribed: all but Test.
func Types() []Type {
	return []Type{
		UserCreated, CouponCreated, RewardCreated, RewardReversed, RewardBalanceChanged,
		ReferralStarted, ReferralConverted, ReferralEnded, ReferralAutomoderated,
		ExportCreated, ExportCompleted, JobCompleted,
	}
}

// ParseType returns s as a type to which an endpoint may be subscribed, or an error
// about field.
func ParseType(field, s string) (Type, error) { return core.ParseOneOf(field, s, Types()...) }

// Types (clients 6.5).
const (
	// UserCreated is sent when a user is identified for the first time.
	UserCreated Type = "user.created"
	// CouponCreated is sent when a user gets a code.
	CouponCreated Type = "coupon.created"
	// RewardCreated is sent when a reward is given.
	RewardCreated Type = "reward.created"
	// RewardReversed is sent when refunds change how much of a reward they take back
	// (clients 6.5.14).
	RewardReversed Type = "reward.reversed"
	// RewardBalanceChanged is sent when the amount that a user can redeem changes.
	RewardBalanceChanged Type = "user.reward.balance.changed"
	// ReferralStarted, ReferralConverted and ReferralEnded are sent when a referral
	// changes its state.
	ReferralStarted   Type = "referral.started"
	ReferralConverted Type = "referral.converted"
	ReferralEnded     Type = "referral.ended"
	// ReferralAutomoderated is sent when fraud handling decided on a referral.
	ReferralAutomoderated Type = "referral.automoderation.complete"
	// ExportCreated and ExportCompleted are sent when an export is created, and when
	// it has ended.
	ExportCreated   Type = "export.created"
	ExportCompleted Type = "export.completed"
	// JobCompleted is sent when an import has ended.
	JobCompleted Type = "job.completed"
	// Test is sent when a tenant requests it.
	Test Type = "test"
)
