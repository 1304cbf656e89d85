package referral

import (
	"cmp"

	"kith/core"
)

// Signal is the name of a fraud signal in the API (clients 1.4.8; FraudType).
type Signal string

const (
	// SignalName: referrer and referred have the same name, in any order of its
	// parts.
	SignalName Signal = "name"
	// SignalEmail: their email addresses are the same or similar.
	SignalEmail Signal = "email"
	// SignalTempEmail: the referred user's email address is disposable.
	SignalTempEmail Signal = "tempEmail"
	// SignalIP: they were seen at the same IP address.
	SignalIP Signal = "ip"
	// SignalRate: the referrer has referred many users in a short time.
	SignalRate Signal = "rate"
	// SignalDailyLimit: the referrer got many rewards in a day.
	SignalDailyLimit Signal = "dailyReferralRewardLimit"
	// SignalMutual: the referred account has referred the account of the referrer. Each of the
	// two would be paid for the other. It holds the rewards unless the program says otherwise.
	SignalMutual Signal = "mutualReferral"
	// SignalBlocked: one of the two is blocked. A blocked friend denies the referral, whatever
	// the program's policy; for a blocked referrer see ModerationState.DenyBlocked.
	SignalBlocked Signal = "blockedUser"
)

// Signals returns the signals whose handling a program may choose, in the order of
// responses.
func Signals() []Signal {
	return []Signal{SignalName, SignalEmail, SignalTempEmail, SignalIP, SignalRate, SignalDailyLimit, SignalMutual}
}

// Handling is the effect of a signal on a referral.
type Handling string

const (
	// HandleNone records the signal and approves the referral.
	HandleNone Handling = "NONE"
	// HandlePending holds the rewards until a moderator decides.
	HandlePending Handling = "PENDING"
	// HandleDeny cancels the rewards.
	HandleDeny Handling = "DENY"
)

// ParseHandling returns s as a handling or an error about field.
func ParseHandling(field, s string) (Handling, error) {
	switch h := Handling(s); h {
	case HandleNone, HandlePending, HandleDeny:
		return h, nil
	}
	return "", core.Invalid(field, "must be one of NONE, PENDING, DENY")
}

// status returns the status that a handling gives a side.
func (h Handling) status() SideStatus {
	switch h {
	case HandlePending:
		return SidePending
	case HandleDeny:
		return SideDenied
	}
	return SideApproved
}

// FraudPolicy is how a program handles fraud signals.
type FraudPolicy struct {
	// Handling is the handling of signals that BySignal does not have; empty means
	// HandleNone. SignalMutual is at least HandlePending without an entry of its own.
	Handling Handling
	BySignal map[Signal]Handling
	// DailyRewards is the number of rewards in 24 hours above which there is a
	// SignalDailyLimit; zero means never.
	DailyRewards int64
}

// For returns the handling of a finding.
func (p FraudPolicy) For(f Finding) Handling {
	if f.Score >= Certain {
		return HandleDeny
	}
	return p.handling(f.Signal)
}

// handling returns the handling of a signal that is no proof.
func (p FraudPolicy) handling(s Signal) Handling {
	if h, ok := p.BySignal[s]; ok {
		return h
	}
	if s == SignalBlocked {
		return HandleNone
	}
	if s == SignalMutual && p.Handling != HandleDeny {
		return HandlePending
	}
	return cmp.Or(p.Handling, HandleNone)
}

func (p FraudPolicy) check() error {
	if _, err := ParseHandling("fraud.handling", string(cmp.Or(p.Handling, HandleNone))); err != nil {
		return err
	}
	for _, s := range Signals() {
		if h, ok := p.BySignal[s]; ok {
			if _, err := ParseHandling("fraud.signals."+string(s), string(h)); err != nil {
				return err
			}
		}
	}
	if p.DailyRewards < 0 || p.DailyRewards > maxRewards {
		return outsideLimit("fraud.dailyRewardLimit", maxRewards)
	}
	return nil
}
