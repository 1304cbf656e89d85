package base

import (
	"context"
	"encoding/json"

	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
)

// Change is what a member changed, for the audit log.
type Change struct {
	Operation *operation.Operation
	// Subject names what was changed, such as the key of a program.
	Subject string
	// Before and After become JSON objects; each is a map, a struct or a json.RawMessage. Nil
	// is left out. They must have no secrets.
	Before, After any
	// Account and User are the user that the change is about, if it is about one.
	Account core.AccountID
	User    core.UserID
}

// Audit adds a change that a member made to the audit log of the member's tenant. It
// belongs to the transaction that makes the change.
func Audit(ctx context.Context, tx *store.Tx, c people.Caller, change Change) error {
	e, err := change.Entry(c.Person, c.Email, c.From)
	if err != nil {
		return err
	}
	e.InvitedBy = c.InvitedBy
	return peopledb.Audit(ctx, tx, c.Tenant, e)
}

// Act makes a change for a member: it requires that the caller may run the operation of the
// change, calls do, and adds the change to the audit log in the first transaction that do
// commits, or in one of its own if do commits none. do may fill in the change until that
// transaction ends.
func (b *Base) Act(ctx context.Context, c people.Caller, change Change, do func(context.Context, *Change) error) error {
	changes := []Change{change}
	return b.ActAll(ctx, c, change.Operation, changes, func(ctx context.Context) error { return do(ctx, &changes[0]) })
}

// ActValue is Act for a change that has a result.
func ActValue[T any](ctx context.Context, b *Base, c people.Caller, change Change, do func(context.Context, *Change) (T, error)) (result T, err error) {
	err = b.Act(ctx, c, change, func(ctx context.Context, change *Change) error {
		result, err = do(ctx, change)
		return err
	})
	return result, err
}

// ActAll is Act for changes of several things, which do makes in one transaction. The caller must
// be permitted op.
func (b *Base) ActAll(ctx context.Context, c people.Caller, op *operation.Operation, changes []Change, do func(context.Context) error) error {
	if err := op.Require(c); err != nil {
		return err
	}
	ctx, entries := store.WithCompanion(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, change := range changes {
			if err := Audit(ctx, tx, c, change); err != nil {
				return err
			}
		}
		return nil
	})
	if err := do(ctx); err != nil || entries.Committed() {
		return err
	}
	return b.DB.Write(ctx, b.Now(), func(*store.Tx) error { return nil })
}

// Entry returns a change as an entry of the audit log, made by a person from an address.
func (c Change) Entry(person people.PersonID, actor, from string) (e people.Entry, err error) {
	e = people.Entry{Person: person, Actor: actor, From: from, Action: c.Operation.Action, Subject: c.Subject, Account: c.Account, User: c.User}
	if e.Before, err = auditValue(c.Before); err == nil {
		e.After, err = auditValue(c.After)
	}
	return e, err
}

// auditValue returns a value as JSON. One that is larger than people.MaxAuditValue is
// replaced by its size.
func auditValue(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	text, err := json.Marshal(v)
	if err == nil && len(text) > people.MaxAuditValue {
		text, err = json.Marshal(map[string]any{"omittedBytes": len(text)})
	}
	return string(text), err
}

// Acted is what the audit log has about a decision on a referral or a reward.
type Acted struct {
	// Decision is what a moderator decided, with the status of both sides.
	Decision referral.Action     `json:"decision,omitempty"`
	Referrer referral.SideStatus `json:"referrer,omitempty"`
	Referred referral.SideStatus `json:"referred,omitempty"`
	// Reward is the reward that was cancelled.
	Reward string `json:"rewardId,omitempty"`
	Amount string `json:"amount,omitempty"`
	Reason string `json:"reason,omitempty"`
}
