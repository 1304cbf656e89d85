package program_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/program"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
)

const callers = 64

// together makes the calls at once and returns their errors.
func together(call func(i int) error) []error {
	done, errs := make(chan error), make([]error, callers)
	for i := range callers {
		go func() { done <- call(i) }()
	}
	for i := range errs {
		errs[i] = <-done
	}
	return errs
}

func TestSyncAccount_FirstPaidOfManyConvertsOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
		for _, err := range together(func(int) error {
			_, err := b.SyncAccount(t.Context(), b.tenant, update("friend", referral.Paid, ""))
			return err
		}) {
			require.NoError(t, err)
		}
		require.Equal(t, referral.Converted, b.state(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.Referred: 1}, b.rewards(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.FriendSignup: 1}, b.rewards(t, "anna"))
	})
}

func TestSyncAccount_OneOfManyCodesCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		var codes []referral.UserCode
		for i := range callers {
			codes = append(codes, referral.UserCode{Program: core.ClassicProgram, Code: core.ReferralCode("CODE" + strconv.Itoa(i))})
		}
		b.identify(t, "anna", func(in *program.Identification) { in.Update.Codes = codes })
		for _, err := range together(func(i int) error {
			_, err := b.SyncAccount(t.Context(), b.tenant, update("friend", "", codes[i].Code))
			return err
		}) {
			require.NoError(t, err)
		}
		ref := b.referral(t, "friend")
		rules := map[referral.Rule]int{}
		for _, d := range b.decisions(t, "friend") {
			rules[d.Rule]++
			if d.Accepted {
				require.Equal(t, ref.Code, d.Code)
			}
		}
		require.Equal(t, map[referral.Rule]int{referral.RuleFirstCode: 1, referral.RuleAlreadyReferred: callers - 1}, rules)
	})
}

// Identifications of one user with the same cookie, and PAID among them.
func TestIdentify_ManyAtOnceMakeOneUserAndOneReferral(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		created := make(chan bool, callers)
		for _, err := range together(func(i int) error {
			change := []func(*program.Identification){b.cookie("ANNA10")}
			if i%2 == 0 {
				change = append(change, paid)
			}
			out, err := b.Identify(t.Context(), b.tenant, identification("friend", change...))
			created <- out.Created
			return err
		}) {
			require.NoError(t, err)
		}
		news := 0
		for range callers {
			if <-created {
				news++
			}
		}
		require.Equal(t, 1, news)
		require.Equal(t, referral.Converted, b.state(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.Referred: 1}, b.rewards(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.FriendSignup: 1}, b.rewards(t, "anna"))
		user, err := b.User(t.Context(), b.tenant, "friend", "u")
		require.NoError(t, err)
		require.Len(t, user.User.Codes, 1)
	})
}

func TestIdentify_OneOfManyCreates(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, together(func(int) error {
			_, err := b.Identify(t.Context(), b.tenant, identification("friend", func(in *program.Identification) { in.Create = true }))
			return err
		}), &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"})
	})
}

func TestIdentify_OneOfManyGetsTheCode(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, together(func(i int) error {
			_, err := b.Identify(t.Context(), b.tenant, identification(fmt.Sprint("friend", i), func(in *program.Identification) {
				in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "WANTED"}}
			}))
			return err
		}), &core.Error{Code: core.CodeConflict, Field: "referralCodes.classic", Message: "this code belongs to another user"})
	})
}

func TestLogEvents_OneOfManySendersOfAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, together(func(int) error {
			_, err := b.LogEvents(t.Context(), b.tenant, event.Batch{Account: "anna", User: "u", Key: "the-one-key", Events: []event.Event{{Key: "k"}}})
			return err
		}), event.Duplicate())
		require.Equal(t, int64(1), b.woken.Load(), "the worker is called for what was taken in")
	})
}

func requireOneWins(t *testing.T, errs []error, others *core.Error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		var known *core.Error
		switch {
		case err == nil:
			won++
		case errors.As(err, &known):
			require.Equal(t, others, known)
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, 1, won)
}
