package webhooks

import (
	"kith/backend/app/base"
	"kith/core"
	"kith/core/job"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// sampleTime is when the samples happened, 2026-03-01 09:00 UTC: the same sample has the
// same bytes in each answer.
const sampleTime core.Time = 1772355600000

// Samples returns a sample event of each type, in the form in which it is sent. They are
// of invented users, and are not sent. share builds the share links in them.
func (ss *Subscriptions) Samples(tenant core.TenantAlias, share link.Share, types ...webhook.Type) []wire.WebhookEvent {
	events := make([]wire.WebhookEvent, len(types))
	for i, t := range types {
		events[i] = wire.WebhookEvent{
			Tenant: tenant, Live: base.Live(tenant), ID: sampleID(byte(i)), Type: t, Created: sampleTime, Sequence: int64(i) + 1,
			Data: string(sampleData(t, share)),
		}
	}
	return events
}

func sampleID(n byte) string { return core.NewID(sampleTime, [6]byte{0, 0, 0, 0, 0, n}) }

// sampleData returns the data of a sample event; nil for a type without one.
func sampleData(t webhook.Type, share link.Share) []byte {
	switch t {
	case webhook.UserCreated:
		return wire.UserCreated(sampleUser(share))
	case webhook.CouponCreated:
		return wire.CouponCreated(referral.UserCode{Program: core.ClassicProgram, Code: "BOB1234567890AB"}, sampleTime)
	case webhook.RewardCreated:
		return wire.Reward(sampleReward(reward.FriendSignup, "anna"))
	case webhook.RewardReversed:
		w := sampleReward(reward.FriendSignup, "anna")
		w.Sums.Reversed, w.Refunded = 250, 250
		return wire.Reward(w)
	case webhook.RewardBalanceChanged:
		return wire.RewardBalanceChanged(reward.Change{Owner: reward.Owner{Account: "anna", User: "anna", Unit: "CENTS"}, Available: 1000, Version: 1})
	case webhook.ReferralStarted:
		r := sampleReferral()
		r.State, r.Converted, r.ReferrerReward, r.ReferredReward = referral.InProgress, 0, nil, nil
		return wire.ReferralEvent(r)
	case webhook.ReferralEnded:
		r := sampleReferral()
		r.Ended = sampleTime + 30*core.Day
		return wire.ReferralEvent(r)
	case webhook.ReferralConverted, webhook.ReferralAutomoderated:
		return wire.ReferralEvent(sampleReferral())
	case webhook.ExportCreated:
		j := sampleJob(job.User)
		j.Status, j.Stats, j.Completed, j.Expires = job.Pending, job.Stats{}, 0, 0
		return wire.JobEvent(j)
	case webhook.ExportCompleted:
		return wire.JobEvent(sampleJob(job.User))
	case webhook.JobCompleted:
		return wire.JobEvent(sampleJob(job.ImportUser))
	}
	return nil
}

func sampleUser(share link.Share) wire.UserInfo {
	u := referral.NewUser("bob", "bob", sampleTime)
	u.FirstName, u.LastName, u.Email, u.Locale, u.CountryCode = "Bob", "Barker", "bob@example.com", "en_US", "US"
	u.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "BOB1234567890AB"}}
	return wire.UserInfo{User: u, Account: referral.NewAccount("bob", sampleTime), Share: share}
}

func sampleReward(source reward.Source, user string) reward.Reward {
	return reward.Reward{
		ID: sampleID(101), Account: core.AccountID(user), User: core.UserID(user), Program: core.ClassicProgram, Referral: sampleID(100), Source: source,
		Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 1000, Currency: "USD"}, Cancellable: true, Created: sampleTime, Given: sampleTime,
	}
}

func sampleReferral() referral.Referral {
	referrer, referred := sampleReward(reward.FriendSignup, "anna"), sampleReward(reward.Referred, "bob")
	return referral.Referral{
		ID: sampleID(100), Program: core.ClassicProgram, State: referral.Converted, Code: "ANNA10",
		Referrer:        referral.Identity{Account: "anna", User: "anna", Email: "anna@example.com"},
		Referred:        referral.Identity{Account: "bob", User: "bob", Email: "bob@example.com"},
		ReferrerProfile: referral.Profile{FirstName: "Anna", LastName: "Abel"}, ReferredProfile: referral.Profile{FirstName: "Bob", LastName: "Barker"},
		Started: sampleTime, Converted: sampleTime, Modified: sampleTime, ReferrerReward: &referrer, ReferredReward: &referred,
	}
}

func sampleJob(t job.Type) job.Job {
	return job.Job{
		ID: sampleID(102), Input: job.Input{Type: t, Name: "Sample", Requester: "API", Format: job.CSV, Params: "{}"}, Status: job.Completed,
		Stats: job.Stats{Processed: 3}, Created: sampleTime, Completed: sampleTime + core.Minute, Expires: sampleTime + job.Life,
	}
}
