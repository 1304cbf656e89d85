package reward

import (
	"strconv"

	"kith/core"
)

// Action is the action that an entry of the ledger records.
type Action string

const (
	// ActionGrant is the first entry of a reward, with its value.
	ActionGrant Action = "grant"
	// ActionHold and ActionRelease have no amount. The reward is pending between
	// them. A new reward that is pending has a hold.
	ActionHold    Action = "hold"
	ActionRelease Action = "release"
	// ActionRedeem takes some or all of the amount that is left.
	ActionRedeem Action = "redeem"
	// ActionExpire and ActionCancel take the whole amount that is left.
	ActionExpire Action = "expire"
	ActionCancel Action = "cancel"
	// ActionRestore gives back the amount that a denial took.
	ActionRestore Action = "restore"
	// ActionReverse takes back the share of refunds. A positive amount corrects an
	// earlier one.
	ActionReverse Action = "reverse"
	// ActionAdjust changes the value.
	ActionAdjust Action = "adjust"
	// ActionSettle moves an amount from a credit to a debt of the same owner: there is
	// one entry for each.
	ActionSettle Action = "settle"
)

// Entry is one entry of the ledger. Entries are added and never changed.
type Entry struct {
	// ID is set by the caller.
	ID     string
	Reward string
	Action Action
	// Amount is the change of the balance: positive for a grant and a restoration,
	// zero for a hold and a release, negative for a redemption. A positive amount of
	// an expiry or a cancellation corrects an earlier one.
	Amount int64
	Unit   string
	At     core.Time
	// Key is the idempotency key of a redemption, or empty.
	Key core.IdempotencyKey
}

// None reports whether the entry is empty: there is nothing to record.
func (e Entry) None() bool { return e.Action == "" }

func (r Reward) entry(action Action, amount int64, now core.Time) Entry {
	return Entry{Reward: r.ID, Action: action, Amount: amount, Unit: r.Offer.Unit, At: now}
}

// Begin returns the reward of a grant and its first entries. The caller sets the ids
// of the entries.
func (g Grant) Begin(id string, now core.Time) (Reward, []Entry, error) {
	if err := g.Check(); err != nil {
		return Reward{}, nil, err
	}
	r := Reward{
		ID: id, Account: g.Account, User: g.User, Program: g.Program, ProgramRewardKey: g.ProgramRewardKey,
		GlobalRewardKey: g.GlobalRewardKey, Referral: g.Referral, Order: g.Order, Source: g.Source, Offer: g.Offer,
		FuelTankCode: g.FuelTankCode, FuelTankType: g.FuelTankType, Cancellable: !g.Fixed,
		Created: now, Scheduled: g.Scheduled, Expires: g.Expires,
	}
	r.Offer.Unit, r.Offer.ValidFor, r.Offer.GivenAfter = g.Offer.InUnit(), 0, 0
	switch r.Held = g.Held; {
	case g.Held:
	case g.Given != 0:
		r.Given = g.Given
	default:
		r.Given = max(now, g.Scheduled)
	}
	entries := []Entry{r.entry(ActionGrant, r.Offer.Value(), now)}
	if r.Pending = r.Held || r.Given > now || g.Block.Changes(); r.Pending {
		entries = append(entries, r.entry(ActionHold, 0, now))
	}
	if g.Block.Changes() {
		var entry Entry
		r, entry = r.blocked(g.Block, now, now)
		entries = append(entries, entry)
	}
	return r, entries, nil
}

// Check returns an error about the first invalid field, with its name in the API.
func (g Grant) Check() error {
	if err := g.Offer.Check(); err != nil {
		return err
	}
	if (g.Offer.Kind == FuelTank) != (g.FuelTankCode != "") {
		return core.Invalid("fuelTankCode", "must be set for a FUELTANK reward, and only for one")
	}
	return nil
}

// CheckDates returns an error for a reward that would expire before it is given: such
// a caller probably sent seconds instead of milliseconds.
func (g Grant) CheckDates(now core.Time) error {
	if g.Expires != 0 && g.Expires <= max(now, g.Scheduled) {
		return core.Invalid("dateExpires", "must be later than now and than dateScheduledFor, in epoch milliseconds")
	}
	return nil
}

// Check returns an error about the first invalid field, with its name in the API.
func (o Offer) Check() error {
	value := o.Value()
	switch {
	case o.OfRevenue < 0 || o.OfRevenue > MaxPercent:
		return core.Invalid("percentOfRevenue", "must be more than 0 and at most 100")
	case o.OfRevenue != 0 && value != 0:
		return core.Invalid(o.Kind.Traits().Assigned, "must be left out with percentOfRevenue")
	case o.OfRevenue != 0:
		return nil
	case o.Kind == PercentDiscount && (value <= 0 || o.Percent > MaxPercent):
		return core.Invalid("discountPercent", "must be more than 0 and at most 100")
	case value <= 0 || value > MaxValue:
		return core.Invalid(o.Kind.Traits().Assigned, "must be 1 to "+strconv.FormatInt(MaxValue, 10)).
			InForm("must be more than 0, and at most " + Pretty(MaxValue, o.InUnit(), o.Currency, UnitFormatted))
	case o.Kind.Traits().Divisible && o.Unit == UnitPercent:
		return core.Invalid("unit", "must not be %, which is only for PCT_DISCOUNT")
	}
	return nil
}

// Redeem redeems an amount of the reward. The error is about "amount" if it is more
// than is available or not positive, and about "id" if the reward is not available.
func (r Reward) Redeem(amount int64, now core.Time) (Reward, Entry, error) {
	if status := r.Status(now); status != StatusAvailable {
		return r, Entry{}, core.Invalid("id", "the reward is "+string(status)+", so nothing of it can be redeemed")
	}
	if err := checkAmount(amount, r.Left(), r.Offer.Unit); err != nil {
		return r, Entry{}, err
	}
	r.Sums.Redeemed += amount
	return r, r.entry(ActionRedeem, -amount, now), nil
}

func checkAmount(amount, available int64, unit string) error {
	switch {
	case amount <= 0:
		return core.Invalid("amount", "must be 1 or more")
	case available < 0:
		return core.Invalid("amount", "nothing is available: "+strconv.FormatInt(-available, 10)+" "+unit+" of refunded orders are owed")
	case amount > available:
		return core.Invalid("amount", "is more than the "+strconv.FormatInt(available, 10)+" "+unit+" that are available")
	}
	return nil
}

// Cancel cancels the amount that is left of the reward. The redeemed amount stays
// redeemed. It returns an error if the reward is not cancellable, or is redeemed,
// expired or cancelled.
func (r Reward) Cancel(now core.Time) (Reward, Entry, error) {
	if !r.Cancellable {
		return r, Entry{}, core.Invalid("id", "the reward is not cancellable")
	}
	if err := r.open("cancelled", now); err != nil {
		return r, Entry{}, err
	}
	r.Blocked = 0 // it is not the block that cancels it
	r, entry := r.takeBack(now)
	return r, entry, nil
}

// CancelLeft is Cancel for a caller who saw that an amount was left: another amount is a
// conflict.
func (r Reward) CancelLeft(left int64, now core.Time) (Reward, Entry, error) {
	if r.Left() != left {
		return r, Entry{}, &core.Error{Code: core.CodeConflict, Message: "the reward has changed since you opened it; look at it again, then decide"}
	}
	return r.Cancel(now)
}

func (r Reward) takeBack(now core.Time) (Reward, Entry) {
	left := max(0, r.Left())
	r.Cancelled = now
	r.Sums.Cancelled += left
	return r, r.moved(ActionCancel, left, now)
}

// deny cancels the amount that is left of a reward whose referral was denied, even if
// the reward is not cancellable. A redeemed, expired or cancelled reward does not
// change.
func (r Reward) deny(now core.Time) (Reward, Entry) {
	if r.open("", now) != nil && !r.taken() {
		return r, Entry{}
	}
	r.Denied = true
	return r.takeBack(now)
}

// restore gives back the amount that deny cancelled. It does not restore an amount
// that Cancel cancelled. The caller then applies refunds again: see Reverse.
func (r Reward) restore(now core.Time) (Reward, Entry) {
	if !r.Denied {
		return r, Entry{}
	}
	taken := r.Sums.Cancelled
	r.Denied, r.Cancelled, r.Sums.Cancelled = false, 0, 0
	return r, r.moved(ActionRestore, -taken, now)
}

// Moderation is the moderation of one side of a referral, which its rewards follow.
type Moderation string

const (
	// ModerationPending holds the rewards until it is decided.
	ModerationPending Moderation = "PENDING"
	// ModerationApproved releases them, and gives back the amount that a denial
	// cancelled.
	ModerationApproved Moderation = "APPROVED"
	// ModerationDenied cancels them until they are approved.
	ModerationDenied Moderation = "DENIED"
)

// Moderate returns the reward after a moderation of its referral, and the entries
// that record the change; entries may be empty. A reward that is redeemed, expired,
// or cancelled by a call does not change.
func (r Reward) Moderate(m Moderation, now core.Time) (Reward, []Entry) {
	switch m {
	case ModerationDenied:
		after, entry := r.deny(now)
		return after, []Entry{entry}
	case ModerationPending:
		return r.restoreAnd(Reward.hold, now)
	}
	return r.restoreAnd(Reward.release, now)
}

// restoreAnd restores the reward, applies its refunds again, and then holds or releases
// it if it has not ended.
func (r Reward) restoreAnd(step func(Reward, core.Time) (Reward, Entry), now core.Time) (Reward, []Entry) {
	entries := make([]Entry, 1, 3)
	r, entries[0] = r.restore(now)
	if r.Refunded > 0 || r.Sums.Reversed > 0 {
		var reversed Entry
		r, reversed = r.Reverse(r.Refunded, now)
		entries = append(entries, reversed)
	}
	if r.open("", now) != nil && !r.taken() {
		return r, entries
	}
	r, entry := step(r, now)
	return r, append(entries, entry)
}

// moved returns the entry of an amount, or an empty entry if the amount is 0, which
// rewards from before the ledger may have.
func (r Reward) moved(action Action, amount int64, now core.Time) Entry {
	if amount == 0 {
		return Entry{}
	}
	return r.entry(action, -amount, now)
}

// Expire expires the reward: on its date, or immediately if a call requests it. The
// reward's date is then not later than now.
func (r Reward) Expire(now core.Time) (Reward, Entry, error) {
	if status := r.Status(now); status != StatusExpired {
		if err := r.open("expired", now); err != nil {
			return r, Entry{}, err
		}
		r.Expires = now
	}
	left := max(0, r.Left())
	r.Sums.Expired += left
	return r, r.moved(ActionExpire, left, now), nil
}

// Hold makes the reward pending until it is released, because its referral waits for
// moderation or a call requests it.
func (r Reward) Hold(now core.Time) (Reward, Entry, error) {
	if err := r.open("held", now); err != nil {
		return r, Entry{}, err
	}
	r, entry := r.hold(now)
	return r, entry, nil
}

func (r Reward) hold(now core.Time) (Reward, Entry) {
	given := r.wasGiven()
	r.Held = true
	if r.Pending {
		if !given {
			r.Given = 0
		}
		return r, Entry{}
	}
	r.Pending = true
	return r, r.entry(ActionHold, 0, now)
}

// Release ends a hold. A reward that was not given before is given now, or on its
// date if that is later. It is an error while the owner's block holds the reward.
func (r Reward) Release(now core.Time) (Reward, Entry, error) {
	if err := r.open("released", now); err != nil {
		return r, Entry{}, err
	}
	if r.Blocked != 0 {
		return r, Entry{}, core.Invalid("id", "the reward is held because its owner is blocked; unblock the user")
	}
	r, entry := r.release(now)
	return r, entry, nil
}

func (r Reward) release(now core.Time) (Reward, Entry) {
	r.Held = false
	if r.Given == 0 {
		r.Given = max(now, r.Scheduled)
		if r.Expires != 0 {
			r.Expires += max(0, r.Given-max(r.Created, r.Scheduled))
		}
	}
	return r.Give(now)
}

// Give records that the reward was given, if its date has passed.
func (r Reward) Give(now core.Time) (Reward, Entry) {
	if !r.Pending || r.OnHold() || r.Given > now || r.taken() {
		return r, Entry{}
	}
	r.Pending = false
	return r, r.entry(ActionRelease, 0, now)
}

// GivenSince reports whether the reward was first given after the state before. A
// zero before means that the reward is new.
func (r Reward) GivenSince(before Reward) bool {
	switch {
	case r.Pending:
		return false
	case before.ID == "":
		return true
	}
	return !before.wasGiven()
}

// open returns an error unless the reward is pending or available. to is the intended
// action, for the message.
func (r Reward) open(to string, now core.Time) error {
	switch status := r.Status(now); status {
	case StatusPending, StatusAvailable:
		return nil
	default:
		return core.Invalid("id", "the reward is "+string(status)+", so it cannot be "+to)
	}
}

// To changes the reward to a status: PENDING holds it, AVAILABLE gives it now
// whatever its date, REDEEMED redeems the amount that is left, EXPIRED expires it,
// and CANCELLED cancels it.
func (r Reward) To(status Status, now core.Time) (Reward, Entry, error) {
	switch status {
	case StatusPending:
		return r.Hold(now)
	case StatusAvailable:
		if r.Given == 0 || r.Given > now {
			r.Given = now
		}
		return r.Release(now)
	case StatusRedeemed:
		return r.Redeem(r.Left(), now)
	case StatusExpired:
		return r.Expire(now)
	}
	return r.Cancel(now)
}
