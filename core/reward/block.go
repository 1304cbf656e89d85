package reward

import "kith/core"

// Block is what becomes of the rewards of a user who is blocked: of those that are pending
// or available, and of those that referrals in progress earn until the user is unblocked.
// If it is empty, it was not chosen; see referral.User.BlockedRewards.
type Block string

const (
	// BlockKeep leaves them as they are: referrals in progress still earn.
	BlockKeep Block = "KEEP"
	// BlockHold makes them pending until the user is unblocked.
	BlockHold Block = "HOLD"
	// BlockCancel cancels them for good, also those that only a denial can cancel.
	BlockCancel Block = "CANCEL"
)

// ParseBlock returns s as a Block or an error about field; it may be empty.
func ParseBlock(field, s string) (Block, error) {
	switch b := Block(s); b {
	case "", BlockKeep, BlockHold, BlockCancel:
		return b, nil
	}
	return "", core.Invalid(field, "must be KEEP, HOLD or CANCEL")
}

// Follow returns the reward after its owner was blocked, and the entries that record the
// change; entries may be empty. A Block that changes no rewards gives back what an earlier one
// has held; what it has cancelled stays cancelled. A reward that has ended does not change,
// unless a moderation may restore it.
func (r Reward) Follow(b Block, now core.Time) (Reward, []Entry) {
	if !b.Changes() {
		r, entry := r.unblock(now)
		return r, []Entry{entry}
	}
	if r.Blocked != 0 && b == BlockHold || !r.Denied && !r.taken() && r.open("", now) != nil {
		return r, nil
	}
	r, given := r.Give(now)
	entries := []Entry{given}
	since := r.Blocked
	switch {
	case since != 0: // the end of an earlier block has not reached it
	case r.wasGiven():
		since = max(now, r.Given+1)
	default:
		since = now
	}
	if b == BlockHold && !r.Pending {
		r.Pending = true
		entries = append(entries, r.entry(ActionHold, 0, now))
	}
	r, entry := r.blocked(b, since, now)
	return r, append(entries, entry)
}

// blocked records since when the reward is held, or cancels it.
func (r Reward) blocked(b Block, since, now core.Time) (Reward, Entry) {
	r.Blocked = since
	if b != BlockCancel {
		return r, Entry{}
	}
	if r.Denied {
		r.Denied, r.Cancelled = false, now
		return r, Entry{}
	}
	return r.takeBack(now)
}

// Changes reports whether it changes rewards.
func (b Block) Changes() bool { return b == BlockHold || b == BlockCancel }

// unblock gives back a reward that a block has held.
func (r Reward) unblock(now core.Time) (Reward, Entry) {
	if r.Blocked == 0 || r.Cancelled != 0 && !r.Denied {
		return r, Entry{}
	}
	if !r.wasGiven() && r.Given != 0 {
		r.Given = max(r.Given, now)
	}
	r.Blocked = 0
	return r.Give(now)
}

// OnHold reports whether the reward is pending until it is released or its owner unblocked,
// whatever its date.
func (r Reward) OnHold() bool { return r.Held || r.Blocked != 0 }

// wasGiven reports whether the reward was given before, though it may be held now.
func (r Reward) wasGiven() bool {
	return !r.Pending || r.Given != 0 && (r.Held || r.Given < r.Blocked)
}
