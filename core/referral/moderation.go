package referral

import (
	"cmp"
	"slices"

	"kith/core"
)

// SideStatus is where the moderation of one side of a referral stands
// (reference, 1.4). It decides about that side's reward.
type SideStatus string

const (
	// SidePending: fraud handling wants somebody to decide; the reward is held.
	// A moderation moves it on.
	SidePending SideStatus = "PENDING"
	// SideApproved: no sign of fraud, or somebody said that it is none. Fraud
	// handling moves it on until somebody decides, and a moderation at any time.
	SideApproved SideStatus = "APPROVED"
	// SideDenied: the reward is cancelled, as far as it was not redeemed. A
	// moderation moves it on.
	SideDenied SideStatus = "DENIED"
)

// ParseSideStatus returns s as a status or an error about field.
func ParseSideStatus(field, s string) (SideStatus, error) {
	switch status := SideStatus(s); status {
	case SidePending, SideApproved, SideDenied:
		return status, nil
	}
	return "", core.Invalid(field, "must be one of PENDING, APPROVED, DENIED")
}

// Side is the moderation of one side. An empty status counts as SideApproved.
type Side struct {
	Status SideStatus
	// ByHand is true once somebody decided: fraud handling leaves the side
	// alone from then on.
	ByHand bool
}

// ModerationState is where a referral stands between signs of fraud and its
// rewards.
type ModerationState struct {
	Referrer, Referred Side
	// Signals are the signs of fraud that were ever found, each signal once.
	Signals []Finding
	// Moderated is when the statuses were decided last, by fraud handling or by
	// somebody; ByHand is when somebody did, zero before.
	Moderated, ByHand core.Time
}

// Stored returns the state as it is stored with a referral that began at a time: a
// side without a status is approved, and what was never moderated was so then.
func (m ModerationState) Stored(began core.Time) ModerationState {
	m.Referrer.Status = cmp.Or(m.Referrer.Status, SideApproved)
	m.Referred.Status = cmp.Or(m.Referred.Status, SideApproved)
	m.Moderated = cmp.Or(m.Moderated, began)
	return m
}

func (m ModerationState) same(as ModerationState) bool {
	return m.Referrer == as.Referrer && m.Referred == as.Referred && slices.Equal(m.Signals, as.Signals) &&
		m.Moderated == as.Moderated && m.ByHand == as.ByHand
}

// Status sums both sides up: PENDING while somebody has to decide, or ACTIONED
// (reference, 1.4).
func (m ModerationState) Status() string {
	if m.Referrer.Status == SidePending || m.Referred.Status == SidePending {
		return "PENDING"
	}
	return "ACTIONED"
}

// Shows reports whether a signal was found.
func (m ModerationState) Shows(s Signal) bool {
	return slices.ContainsFunc(m.Signals, func(f Finding) bool { return f.Signal == s })
}

// Automoderate applies a program's fraud handling to what was found. It decides
// about the sides about which nobody did, and only ever becomes stricter: what
// was denied stays denied until somebody says otherwise.
func (m ModerationState) Automoderate(p FraudPolicy, found []Finding, now core.Time) ModerationState {
	m.Signals = merge(m.Signals, found)
	wanted := SideApproved
	for _, f := range m.Signals {
		wanted = stricter(wanted, p.For(f).status())
	}
	return m.atLeast(wanted, now)
}

// Refuse denies the sides about which nobody decided, for a reason that is no
// sign of fraud.
func (m ModerationState) Refuse(now core.Time) ModerationState { return m.atLeast(SideDenied, now) }

func (m ModerationState) atLeast(wanted SideStatus, now core.Time) ModerationState {
	for _, side := range []*Side{&m.Referrer, &m.Referred} {
		if status := stricter(side.Status, wanted); !side.ByHand && status != side.Status {
			side.Status, m.Moderated = status, now
		}
	}
	return m
}

// merge adds findings to those that are there; of two of one signal the
// stronger stays.
func merge(have, found []Finding) []Finding {
	out := slices.Clone(have)
	for _, f := range found {
		i := slices.IndexFunc(out, func(h Finding) bool { return h.Signal == f.Signal })
		switch {
		case i < 0:
			out = append(out, f)
		case f.Score > out[i].Score:
			out[i] = f
		}
	}
	return out
}

// stricter is the stricter of two statuses; an unset one is none.
func stricter(a, b SideStatus) SideStatus {
	order := []SideStatus{"", SideApproved, SidePending, SideDenied}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// Action is what somebody decides about a referral (reference, 1.4).
type Action string

// The actions: about both sides, and about one.
const (
	Approve         Action = "APPROVED"
	Deny            Action = "DENIED"
	ApproveReferrer Action = "REFERRER_APPROVED"
	ApproveReferred Action = "REFERRED_APPROVED"
	DenyReferrer    Action = "REFERRER_DENIED"
	DenyReferred    Action = "REFERRED_DENIED"
)

// ParseAction returns s as an action or an error about field.
func ParseAction(field, s string) (Action, error) {
	switch a := Action(s); a {
	case Approve, Deny, ApproveReferrer, ApproveReferred, DenyReferrer, DenyReferred:
		return a, nil
	}
	return "", core.Invalid(field, "must be one of APPROVED, DENIED, REFERRER_APPROVED, REFERRED_APPROVED, REFERRER_DENIED, REFERRED_DENIED")
}

// Decide applies what somebody decided.
func (m ModerationState) Decide(a Action, now core.Time) ModerationState {
	approved, denied := Side{Status: SideApproved, ByHand: true}, Side{Status: SideDenied, ByHand: true}
	switch a {
	case Approve:
		m.Referrer, m.Referred = approved, approved
	case Deny:
		m.Referrer, m.Referred = denied, denied
	case ApproveReferrer:
		m.Referrer = approved
	case ApproveReferred:
		m.Referred = approved
	case DenyReferrer:
		m.Referrer = denied
	case DenyReferred:
		m.Referred = denied
	}
	m.Moderated, m.ByHand = now, now
	return m
}

// MaxModerations is the most referrals that one call moderates (reference, 6).
const MaxModerations = 100

// Moderation is what somebody decides about one referral.
type Moderation struct {
	Referral string
	Action   Action
}
