// Package webhook names what the service tells a tenant's own systems, and
// decides how and when it is told again (reference, 6: Webhooks out).
package webhook

// Type is the type of an event that is sent out. Consumers switch on it, so a
// type never changes its meaning.
type Type string

// Types (reference, 6).
const (
	// UserCreated is sent when a user is identified for the first time.
	UserCreated Type = "user.created"
	// CouponCreated is sent when a user gets a code.
	CouponCreated Type = "coupon.created"
	// RewardCreated is sent when a reward is given.
	RewardCreated Type = "reward.created"
	// RewardBalanceChanged is sent when what a user can redeem changes.
	RewardBalanceChanged Type = "user.reward.balance.changed"
	// ReferralStarted, ReferralConverted and ReferralEnded are sent as a
	// referral moves.
	ReferralStarted   Type = "referral.started"
	ReferralConverted Type = "referral.converted"
	ReferralEnded     Type = "referral.ended"
	// ReferralAutomoderated is sent when fraud handling decided on a referral.
	ReferralAutomoderated Type = "referral.automoderation.complete"
	// ExportCreated and ExportCompleted are sent as an export moves.
	ExportCreated   Type = "export.created"
	ExportCompleted Type = "export.completed"
	// JobCompleted is sent when an import or any other job has ended.
	JobCompleted Type = "job.completed"
	// Test is sent when a tenant asks for it.
	Test Type = "test"
)
