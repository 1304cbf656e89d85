package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// A batch that finds out while it writes that it took too much for granted is
// given up as a whole, in whichever part that is, and the next transaction begins
// as if there had been none.
func TestBatch_TakenCodeGivesItUp(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			if err := putUser(ctx, tx, b.tenant, "owner", "u"); err != nil {
				return err
			}
			_, err := tx.InsertCode(ctx, b.tenant, aCode("TAKEN"), "owner", "u")
			return err
		})
		for taken := range 3 {
			require.True(t, store.BatchFailed(b.parts(t, 3, func(tx *store.Tx, part int) error {
				code := fmt.Sprintf("FREE%d", part)
				if part == taken {
					code = "taken" // which nobody asked about
				}
				_, err := tx.InsertCode(t.Context(), b.tenant, aCode(code), account(part), "u")
				return err
			})), taken)
			b.requireUsers(t, "owner")
		}
	})
}

// What ends a transaction while a part is being written waits for that, and
// nothing remains; what is whole remains as it was said.
func TestBatch_EndsWhileItWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		require.ErrorIs(t, b.parts(t, 3, func(_ *store.Tx, part int) error {
			if part == 2 {
				return errTest
			}
			return nil
		}), errTest)
		b.requireUsers(t)
		require.NoError(t, b.parts(t, 3, func(tx *store.Tx, part int) error {
			if part == 0 {
				return nil
			}
			// The part before may not be written yet, and is known.
			_, known, err := tx.User(t.Context(), b.tenant, account(part-1), "u")
			require.True(t, known)
			return err
		}))
		b.requireUsers(t, account(0), account(1), account(2))
	})
}

// A batch on a file reads, and makes its first calls, while others may write. When
// nobody did, that stands; when somebody did, it is done again under the lock.
func TestWriteBatch_BeforeTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		// meanwhile writes before the lock is taken.
		meanwhile bool
		runs      int
	}{"nobody wrote": {false, 1}, "somebody wrote": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			b := onFile(t)
			other, err := store.Open(b.url, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = other.Close() })
			ctx, runs, waits := t.Context(), 0, 0
			wait := func() {
				if waits++; !c.meanwhile {
					return
				}
				require.NoError(t, other.Write(ctx, now, func(tx *store.Tx) error { return putUser(ctx, tx, b.tenant, account(0), "u") }))
			}
			known := false
			require.NoError(t, b.db.WriteBatch(ctx, now, b.tenant, aboutParts(2), wait, func(tx *store.Tx) error {
				runs++
				for part := range 2 {
					require.NoError(t, tx.Try(ctx, func() (err error) {
						if part == 0 {
							if _, known, err = tx.User(ctx, b.tenant, account(0), "u"); known || err != nil {
								return err
							}
						}
						return putUser(ctx, tx, b.tenant, account(part), "u")
					}))
					tx.Behind(ctx)
				}
				return tx.EndBatch(ctx)
			}))
			require.Equal(t, c.runs, runs)
			require.Equal(t, 1, waits)
			require.Equal(t, c.meanwhile, known)
			b.requireUsers(t, account(0), account(1))
		})
	}
}

// A call that is to run by itself has the lock, and what ends a batch before it has
// the lock leaves nothing behind.
func TestWriteBatch_CallByItself(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		ctx, locked := t.Context(), !b.db.Embedded()
		unknown := func(tx *store.Tx) error {
			return tx.Try(ctx, func() error {
				if err := putUser(ctx, tx, b.tenant, "unknown", "u"); err != nil {
					return err
				}
				require.True(t, locked)
				return nil
			})
		}
		wait := func() { locked = true }
		require.NoError(t, b.db.WriteBatch(ctx, now, b.tenant, aboutParts(1), wait, func(tx *store.Tx) error {
			return errors.Join(unknown(tx), tx.EndBatch(ctx))
		}))
		b.requireUsers(t, "unknown")
		require.ErrorIs(t, b.db.WriteBatch(ctx, now, b.tenant, aboutParts(1), wait, func(*store.Tx) error { return errTest }), errTest)
		require.NoError(t, b.parts(t, 1, func(*store.Tx, int) error { return nil }))
		b.requireUsers(t, account(0), "unknown")
	})
}

func aboutParts(n int) (about store.About) {
	for part := range n {
		about.Users = append(about.Users, referral.Identity{Account: account(part), User: "u"})
	}
	return about
}

func account(part int) core.AccountID { return core.AccountID(fmt.Sprintf("part%d", part)) }

func aCode(code string) referral.UserCode {
	return referral.UserCode{Code: core.ReferralCode(code), Program: core.ClassicProgram}
}

// parts runs a batch of so many parts, each of which puts a user and does what
// also does.
func (b bundle) parts(t *testing.T, n int, also func(tx *store.Tx, part int) error) error {
	ctx := t.Context()
	return b.db.Write(ctx, now, func(tx *store.Tx) error {
		if err := tx.Batch(ctx, b.tenant, aboutParts(n)); err != nil {
			return err
		}
		for part := range n {
			if err := tx.Try(ctx, func() error {
				if err := putUser(ctx, tx, b.tenant, account(part), "u"); err != nil {
					return err
				}
				return also(tx, part)
			}); err != nil {
				return err
			}
			tx.Behind(ctx)
		}
		return tx.EndBatch(ctx)
	})
}

func (b bundle) requireUsers(t *testing.T, want ...core.AccountID) {
	t.Helper()
	users, total, err := b.db.Users(t.Context(), b.tenant, referral.UserFilter{Limit: 10})
	require.NoError(t, err)
	require.Equal(t, len(want), total)
	for i, u := range users {
		require.Equal(t, want[i], u.Account)
	}
}
