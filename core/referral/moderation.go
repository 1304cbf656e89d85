package referral

import (
	"cmp"
	"slices"

	"kith/core"
)

// SideStatus is the moderation status of one side of a referral (clients 1.4.6). The
// side's reward follows it.
type SideStatus string

const (
	// SidePending means that a moderator must decide; the reward is held. Fraud
	// handling sets it, and a moderation changes it.
	SidePending SideStatus = "PENDING"
	// SideApproved means that there is no fraud signal, or that a moderator approved.
	// Fraud handling changes it unless a moderator decided; a moderation changes it
	// at any time.
	SideApproved SideStatus = "APPROVED"
	// SideDenied means that the reward is cancelled, except for the redeemed amount.
	// A moderation changes it.
	SideDenied SideStatus = "DENIED"
)

// ParseSideStatus returns s as a status or an error about field.
func ParseSideStatus(field, s string) (SideStatus, error) {
	return core.ParseOneOf(field, s, SidePending, SideApproved, SideDenied)
}

// Side is the moderation of one side. An empty status counts as SideApproved.
type Side struct {
	Status SideStatus
	// ByHand is true once a moderator decided: fraud handling does not change the
	// side from then on.
	ByHand bool
}

// ModerationState is the moderation of a referral: its fraud signals and the status
// of each side.
type ModerationState struct {
	Referrer, Referred Side
	// Signals are all fraud signals that were found, each signal once.
	Signals []Finding
	// Refused is why both sides were denied for another reason than fraud, or empty.
	Refused Refusal
	// Moderated is when fraud handling or a moderator last decided. ByHand is when a
	// moderator last decided; zero if none did.
	Moderated, ByHand core.Time
}

// Stored returns the state to store with a referral that started at a time: a side
// without a status is approved, and Moderated defaults to that time.
func (m ModerationState) Stored(began core.Time) ModerationState {
	m.Referrer.Status = cmp.Or(m.Referrer.Status, SideApproved)
	m.Referred.Status = cmp.Or(m.Referred.Status, SideApproved)
	m.Moderated = cmp.Or(m.Moderated, began)
	return m
}

func (m ModerationState) same(as ModerationState) bool {
	return m.Referrer == as.Referrer && m.Referred == as.Referred && slices.Equal(m.Signals, as.Signals) &&
		m.Moderated == as.Moderated && m.ByHand == as.ByHand && m.Refused == as.Refused
}

// Status returns the status of both sides together: PENDING while a moderator must
// decide about one of them, else ACTIONED (clients 1.4.6).
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

// Automoderate applies a program's fraud policy to findings. It changes only sides
// about which no moderator decided, and only to a stricter status.
func (m ModerationState) Automoderate(p FraudPolicy, found []Finding, now core.Time) ModerationState {
	m.Signals = merge(m.Signals, found)
	wanted := SideApproved
	for _, f := range m.Signals {
		wanted = stricter(wanted, p.For(f).status())
	}
	return m.atLeast(wanted, now)
}

// DenyBlocked denies the referrer's side if the referrer was blocked after the referral
// began, without a choice for the rewards, and no moderator has decided. The friend keeps
// what was promised.
func (m ModerationState) DenyBlocked(referrer User, now core.Time) ModerationState {
	if referrer.Blocked != 0 && referrer.BlockedRewards == "" && !m.Referrer.ByHand && m.Referrer.Status != SideDenied {
		m.Referrer.Status, m.Moderated = SideDenied, now
	}
	return m
}

// Refusal is a reason, other than fraud, for which a referral loses its rewards.
type Refusal string

const (
	// ChargedBack: the customer's bank took the first payment back.
	ChargedBack Refusal = "charged-back"
	// MoneyBack: the shop gave all of the first payment back within Program.MoneyBack.
	MoneyBack Refusal = "money-back"
	// Unfit: the referral began without a user, and the code may not refer the one whom
	// the account then got.
	Unfit Refusal = "unfit-user"
)

// Explain returns the reason as a clause for people.
func (r Refusal) Explain() string {
	switch r {
	case ChargedBack:
		return "the bank took the first payment back"
	case MoneyBack:
		return "the shop gave all of the first payment back"
	case Unfit:
		return "the code may not refer this user"
	}
	return string(r)
}

// Refuse denies both sides for what happened at a time, except those about which a moderator
// has decided since then. It reports whether it changed one.
func (m ModerationState) Refuse(why Refusal, at, now core.Time) (after ModerationState, changed bool) {
	after = m
	for _, side := range []*Side{&after.Referrer, &after.Referred} {
		if side.Status != SideDenied && !(side.ByHand && m.ByHand >= at) {
			*side, changed = Side{Status: SideDenied}, true
		}
	}
	if changed {
		after.Refused, after.Moderated = why, now
	}
	return after, changed
}

func (m ModerationState) atLeast(wanted SideStatus, now core.Time) ModerationState {
	for _, side := range []*Side{&m.Referrer, &m.Referred} {
		if status := stricter(side.Status, wanted); !side.ByHand && status != side.Status {
			side.Status, m.Moderated = status, now
		}
	}
	return m
}

// merge adds findings to existing ones. For each signal it keeps the finding with the
// higher score.
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

// stricter returns the stricter of two statuses; an empty one is the least strict.
func stricter(a, b SideStatus) SideStatus {
	order := []SideStatus{"", SideApproved, SidePending, SideDenied}
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// Action is a moderator's decision about a referral (clients 1.4.7).
type Action string

// Actions on both sides, and on one.
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
	return core.ParseOneOf(field, s, Approve, Deny, ApproveReferrer, ApproveReferred, DenyReferrer, DenyReferred)
}

// Decide applies a moderator's decision.
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

// MaxModerations is the most referrals that one call moderates (clients 6.3.3).
const MaxModerations = 100

// Moderation is a moderator's decision about one referral.
type Moderation struct {
	Referral string
	Action   Action
	// Reason is why, for the audit log; empty if it was not given.
	Reason string
	// Seen is Referral.Modified of the referral that the moderator saw. If it is not zero,
	// a referral that has changed since is not moderated.
	Seen core.Time
}

// Changed returns the error of a moderation of a referral that the moderator has not seen
// as it is now.
func Changed() *core.Error {
	return &core.Error{Code: core.CodeConflict, Message: "the referral has changed since you opened it; look at it again, then decide"}
}
