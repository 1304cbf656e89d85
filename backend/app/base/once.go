package base

import (
	"cmp"
	"context"
	"errors"

	"kith/backend/store"
	"kith/backend/store/answerdb"
	"kith/core"
)

// Once is a call that is made at most once.
type Once struct {
	// Key is the caller's idempotency key.
	Key core.IdempotencyKey
	// Digest is of the whole call.
	Digest string
	// Answer returns the answer that is kept, from the value of the transaction that makes
	// the call (see store.WriteValue). It need not set Key and Digest.
	Answer func(value any) answerdb.Answer
	// Field is where the caller sends the key; empty: the header Idempotency-Key.
	Field string
}

// errKept means that another call with the key was committed first.
var errKept = errors.New("app: the key was used meanwhile")

// Once makes a call by do, whose first transaction also keeps the answer, so that neither is
// stored without the other. If an answer is kept under the key, it is returned without a
// call of do, and repeated is true; if it is that of another call, the error is a conflict.
// A call that fails keeps nothing: it may be made again with the same key.
func (b *Base) Once(ctx context.Context, tenant core.TenantAlias, o Once, do func(context.Context) error) (answer []byte, repeated bool, err error) {
	if answer, ok, err := b.kept(ctx, tenant, o); ok || err != nil {
		return answer, ok, err
	}
	with, _ := store.WithCompanion(ctx, func(ctx context.Context, tx *store.Tx) error {
		made := o.Answer(tx.Value())
		made.Key, made.Digest = o.Key, o.Digest
		kept, err := answerdb.Keep(ctx, tx, tenant, made)
		if err == nil && !kept {
			err = errKept
		}
		return err
	})
	failed := do(with)
	// Of two calls at a time, the later one may also have failed because of the earlier one:
	// the credit was redeemed.
	answer, ok, err := b.kept(ctx, tenant, o)
	switch {
	case failed == nil:
		return answer, false, err
	case ok || err != nil:
		return answer, ok, err
	}
	return nil, false, failed
}

// kept returns the answer that is kept for a call; ok is false if there is none.
func (b *Base) kept(ctx context.Context, tenant core.TenantAlias, o Once) (answer []byte, ok bool, err error) {
	found, ok, err := answerdb.Find(ctx, b.DB.Reads, tenant, o.Key, b.Now())
	switch {
	case err != nil || !ok:
		return nil, false, err
	case found.Digest == o.Digest && len(found.JSON) == 0:
		return nil, true, &core.Error{
			Code: core.CodeConflict, Field: cmp.Or(o.Field, core.KeyHeader),
			Message: "this call was made within the last 24 hours, and its answer was erased together with its user; nothing was done again",
		}
	case found.Digest == o.Digest:
		return found.JSON, true, nil
	}
	return nil, true, &core.Error{
		Code: core.CodeConflict, Field: cmp.Or(o.Field, core.KeyHeader),
		Message: "another call was made with this key within the last 24 hours; nothing was done: send a new key, or the former call unchanged",
	}
}

// ForgetAnswers removes the answers that are no longer repeated, and returns their number.
func (b *Base) ForgetAnswers(ctx context.Context) (removed int, err error) {
	return b.Forget(ctx, func(tx *store.Tx) (int, error) { return answerdb.DeleteOld(ctx, tx, ForgetBatch) })
}
