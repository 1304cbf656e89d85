package referral

import (
	"cmp"

	"kith/core"
)

// Signal names a sign of fraud, as on the wire (reference, 1.4; FraudType).
type Signal string

const (
	// SignalName: referrer and referred have the same name, or the one's is the
	// other's reversed.
	SignalName Signal = "name"
	// SignalEmail: their addresses are alike.
	SignalEmail Signal = "email"
	// SignalTempEmail: the referred side's address is of a disposable kind.
	SignalTempEmail Signal = "tempEmail"
	// SignalIP: they were seen at the same network address.
	SignalIP Signal = "ip"
	// SignalRate: the referrer has referred many in a short time.
	SignalRate Signal = "rate"
	// SignalDailyLimit: the referrer has got many rewards in a day.
	SignalDailyLimit Signal = "dailyReferralRewardLimit"
	// SignalBlocked: one of the two is blocked. It denies whatever a program
	// says.
	SignalBlocked Signal = "blockedUser"
)

// Signals are all signals whose handling a program may choose, in the order in
// which they are shown.
func Signals() []Signal {
	return []Signal{SignalName, SignalEmail, SignalTempEmail, SignalIP, SignalRate, SignalDailyLimit}
}

// Handling says what a signal does to a referral.
type Handling string

const (
	// HandleNone records the signal and lets the referral pass.
	HandleNone Handling = "NONE"
	// HandlePending holds the rewards until somebody decides.
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

// status is what a handling makes of a side.
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
	// Handling is that of a signal that BySignal does not name; empty is
	// HandleNone.
	Handling Handling
	BySignal map[Signal]Handling
	// DailyRewards is the number of rewards in 24 hours above which
	// SignalDailyLimit shows; zero is never.
	DailyRewards int64
}

// For returns the handling of a finding.
func (p FraudPolicy) For(f Finding) Handling {
	if f.Score >= Certain {
		return HandleDeny
	}
	if h, ok := p.BySignal[f.Signal]; ok {
		return h
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
		return core.Invalid("fraud.dailyRewardLimit", "must be 0 to 1000000; 0 is no limit")
	}
	return nil
}
