package reward

import (
	"strconv"

	"kith/core"
)

// Action is what an entry of the ledger records.
type Action string

const (
	// ActionGrant begins a reward's ledger, with its value.
	ActionGrant Action = "grant"
	// ActionHold and ActionRelease move no amount: from the one to the other
	// the reward is pending. A reward that begins pending begins with a hold.
	ActionHold    Action = "hold"
	ActionRelease Action = "release"
	// ActionRedeem takes a part of what is left, or all of it.
	ActionRedeem Action = "redeem"
	// ActionExpire and ActionCancel take all that is left.
	ActionExpire Action = "expire"
	ActionCancel Action = "cancel"
	// ActionRestore gives back what a cancellation took.
	ActionRestore Action = "restore"
)

// Entry is one line of the ledger. Lines are added and never changed.
type Entry struct {
	// ID is for the caller to set.
	ID     string
	Reward string
	Action Action
	// Amount is what the balance changes by: above zero for a grant and a
	// restoration, zero for a hold and a release, below zero for all others.
	Amount int64
	Unit   string
	At     core.Time
	// Key is the idempotency key of a redemption, or empty.
	Key core.IdempotencyKey
}

// None reports whether there is nothing to record.
func (e Entry) None() bool { return e.Action == "" }

func (r Reward) entry(action Action, amount int64, now core.Time) Entry {
	return Entry{Reward: r.ID, Action: action, Amount: amount, Unit: r.Offer.Unit, At: now}
}

// Begin returns the reward of a grant and the entries that its ledger begins
// with. The ids of the entries are for the caller to set.
func (g Grant) Begin(id string, now core.Time) (Reward, []Entry, error) {
	if err := g.Check(); err != nil {
		return Reward{}, nil, err
	}
	r := Reward{
		ID: id, Account: g.Account, User: g.User, Program: g.Program, ProgramRewardKey: g.ProgramRewardKey,
		GlobalRewardKey: g.GlobalRewardKey, Referral: g.Referral, Source: g.Source, Offer: g.Offer,
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
	if r.Pending = r.Held || r.Given > now; r.Pending {
		entries = append(entries, r.entry(ActionHold, 0, now))
	}
	return r, entries, nil
}

// Check refuses what no reward may be. The error names the field as the call
// that creates a reward does.
func (g Grant) Check() error {
	if err := g.Offer.Check(); err != nil {
		return err
	}
	if (g.Offer.Kind == FuelTank) != (g.FuelTankCode != "") {
		return core.Invalid("fuelTankCode", "is for FUELTANK rewards, which need one")
	}
	return nil
}

// CheckDates refuses a reward that would be over before it begins: whoever asks
// for one has counted seconds, not milliseconds.
func (g Grant) CheckDates(now core.Time) error {
	if g.Expires != 0 && g.Expires <= max(now, g.Scheduled) {
		return core.Invalid("dateExpires", "must be later than now and than dateScheduledFor, in epoch milliseconds")
	}
	return nil
}

// Check refuses what no reward may consist of. The error names the field as the
// call that creates a reward does.
func (o Offer) Check() error {
	value := o.Value()
	switch {
	case o.Kind == PercentDiscount && (value <= 0 || o.Percent > MaxPercent):
		return core.Invalid("discountPercent", "must be more than 0 and at most 100")
	case value <= 0 || value > MaxValue:
		return core.Invalid(amountField(o.Kind), "must be 1 to "+strconv.FormatInt(MaxValue, 10))
	case (o.Kind == Credit || o.Kind == Integration) && o.Unit == UnitPercent:
		return core.Invalid("unit", "must not be %, which is for discounts")
	}
	return nil
}

func amountField(kind Kind) string {
	switch kind {
	case Credit:
		return "assignedCredit"
	case Integration:
		return "valueInCents"
	}
	return "amount"
}

// Redeem takes an amount out of the reward. More than is available, or nothing,
// is an error about "amount".
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
	case amount > available:
		return core.Invalid("amount", "is more than the "+strconv.FormatInt(available, 10)+" "+unit+" that are available")
	}
	return nil
}

// Cancel takes back what is left of the reward. What was redeemed stays
// redeemed. A reward that is not cancellable, or of which nothing is left, is an
// error.
func (r Reward) Cancel(now core.Time) (Reward, Entry, error) {
	if !r.Cancellable {
		return r, Entry{}, core.Invalid("id", "the reward is not cancellable")
	}
	if err := r.open("cancelled", now); err != nil {
		return r, Entry{}, err
	}
	r, entry := r.takeBack(now)
	return r, entry, nil
}

func (r Reward) takeBack(now core.Time) (Reward, Entry) {
	left := r.Left()
	r.Cancelled = now
	r.Sums.Cancelled += left
	return r, r.moved(ActionCancel, left, now)
}

// Deny is what becomes of a reward when the moderation denies its referral: what
// is left of it is taken back, cancellable or not. A reward that is over stays
// as it is.
func (r Reward) Deny(now core.Time) (Reward, Entry) {
	if r.open("", now) != nil {
		return r, Entry{}
	}
	r.Denied = true
	return r.takeBack(now)
}

// Restore gives back what Deny took. What somebody cancelled stays cancelled.
func (r Reward) Restore(now core.Time) (Reward, Entry) {
	if !r.Denied {
		return r, Entry{}
	}
	taken := r.Sums.Cancelled
	r.Denied, r.Cancelled, r.Sums.Cancelled = false, 0, 0
	return r, r.moved(ActionRestore, -taken, now)
}

// Moderation is what the moderation of a referral says of one side's rewards.
type Moderation string

const (
	// ModerationPending holds them until it is decided.
	ModerationPending Moderation = "PENDING"
	// ModerationApproved releases them, and gives back what a denial took.
	ModerationApproved Moderation = "APPROVED"
	// ModerationDenied takes them back until they are approved.
	ModerationDenied Moderation = "DENIED"
)

// Moderate is what becomes of a reward when its referral is moderated, and the
// entries that record it; some may be none. A reward that is over for another
// reason than a moderation stays as it is.
func (r Reward) Moderate(m Moderation, now core.Time) (Reward, []Entry) {
	step := Reward.Release
	switch m {
	case ModerationDenied:
		after, entry := r.Deny(now)
		return after, []Entry{entry}
	case ModerationPending:
		step = Reward.Hold
	}
	r, restored := r.Restore(now)
	after, entry, err := step(r, now)
	if err != nil {
		return r, []Entry{restored}
	}
	return after, []Entry{restored, entry}
}

// moved is the entry of an amount, or none when there is none: a reward of the
// time before the ledger may be worth nothing.
func (r Reward) moved(action Action, amount int64, now core.Time) Entry {
	if amount == 0 {
		return Entry{}
	}
	return r.entry(action, -amount, now)
}

// Expire ends the reward: when its date has passed, or at once because somebody
// says so. Its date is then not later than now.
func (r Reward) Expire(now core.Time) (Reward, Entry, error) {
	if status := r.Status(now); status != StatusExpired {
		if err := r.open("expired", now); err != nil {
			return r, Entry{}, err
		}
		r.Expires = now
	}
	left := r.Left()
	r.Sums.Expired += left
	return r, r.moved(ActionExpire, left, now), nil
}

// Hold makes the reward pending until it is released: its referral waits for
// moderation, or somebody says so.
func (r Reward) Hold(now core.Time) (Reward, Entry, error) {
	if err := r.open("held", now); err != nil {
		return r, Entry{}, err
	}
	r.Held = true
	if r.Pending {
		r.Given = 0
		return r, Entry{}, nil
	}
	r.Pending = true
	return r, r.entry(ActionHold, 0, now), nil
}

// Release ends a hold. A reward that was not given before is given now, or on
// its date when that is still to come.
func (r Reward) Release(now core.Time) (Reward, Entry, error) {
	if err := r.open("released", now); err != nil {
		return r, Entry{}, err
	}
	r.Held = false
	if r.Given == 0 {
		r.Given = max(now, r.Scheduled)
	}
	r, entry := r.Give(now)
	return r, entry, nil
}

// Give records that the reward was given, once its date has come.
func (r Reward) Give(now core.Time) (Reward, Entry) {
	if !r.Pending || r.Held || r.Given > now {
		return r, Entry{}
	}
	r.Pending = false
	return r, r.entry(ActionRelease, 0, now)
}

// GivenSince reports whether the reward was given between two states of it, for
// the first time. The zero Reward is before all.
func (r Reward) GivenSince(before Reward) bool {
	switch {
	case r.Pending:
		return false
	case before.ID == "":
		return true
	}
	return before.Pending && (!before.Held || before.Given == 0)
}

// open is an error unless the reward is pending or available.
func (r Reward) open(to string, now core.Time) error {
	switch status := r.Status(now); status {
	case StatusPending, StatusAvailable:
		return nil
	default:
		return core.Invalid("id", "the reward is "+string(status)+", so it cannot be "+to)
	}
}

// To moves the reward to the status that somebody wants it to have: PENDING
// holds it, AVAILABLE gives it whatever its date, REDEEMED redeems all that is
// left, EXPIRED and CANCELLED end it.
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
