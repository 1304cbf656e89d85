package app_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/store/answerdb"
	"kith/core"
	"kith/core/event"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

const callersAtOnce = 64

// concurrently makes callersAtOnce concurrent calls and returns their errors.
func concurrently(call func(i int) error) []error {
	done, errs := make(chan error), make([]error, callersAtOnce)
	for i := range callersAtOnce {
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
		for _, err := range concurrently(func(int) error {
			_, err := b.Accounts.Sync(t.Context(), b.tenant, update("friend", referral.Paid, ""))
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
		for i := range callersAtOnce {
			codes = append(codes, referral.UserCode{Program: core.ClassicProgram, Code: core.ReferralCode("CODE" + strconv.Itoa(i))})
		}
		b.identify(t, "anna", func(in *rules.Identification) { in.Update.Codes = codes })
		for _, err := range concurrently(func(i int) error {
			_, err := b.Accounts.Sync(t.Context(), b.tenant, update("friend", "", codes[i].Code))
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
		require.Equal(t, map[referral.Rule]int{referral.RuleFirstCode: 1, referral.RuleAlreadyReferred: callersAtOnce - 1}, rules)
	})
}

// Concurrent identifications of one user have the same cookie, and half of them PAID.
func TestIdentify_ManyAtOnceMakeOneUserAndOneReferral(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		created := make(chan bool, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			change := []func(*rules.Identification){b.cookie("ANNA10")}
			if i%2 == 0 {
				change = append(change, paid)
			}
			out, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", change...))
			created <- out.Created
			return err
		}) {
			require.NoError(t, err)
		}
		users := 0
		for range callersAtOnce {
			if <-created {
				users++
			}
		}
		require.Equal(t, 1, users)
		require.Equal(t, referral.Converted, b.state(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.Referred: 1}, b.rewards(t, "friend"))
		require.Equal(t, map[reward.Source]int{reward.FriendSignup: 1}, b.rewards(t, "anna"))
		user, err := b.Users.ByID(t.Context(), b.tenant, "friend", "u")
		require.NoError(t, err)
		require.Len(t, user.User.Codes, 1)
	})
}

func TestIdentify_OneOfManyCreates(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, concurrently(func(int) error {
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", func(in *rules.Identification) { in.Create = true }))
			return err
		}), &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"})
	})
}

func TestIdentify_OneOfManyGetsTheCode(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, concurrently(func(i int) error {
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification(fmt.Sprint("friend", i), func(in *rules.Identification) {
				in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "WANTED"}}
			}))
			return err
		}), &core.Error{Code: core.CodeConflict, Field: "referralCodes.classic", Message: "this code belongs to another user"})
	})
}

func TestLogEvents_OneOfManySendersOfAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, concurrently(func(int) error {
			_, err := b.Events.Log(t.Context(), b.keyHolder(t), event.Call{Account: "anna", User: "u", Key: "the-one-key", Events: []event.Event{{Key: "k"}}})
			return err
		}), event.Duplicate(""))
		require.Equal(t, int64(1), b.woken.Load(), "the worker is woken once, for the stored call")
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

// Of 64 callers who each redeem 70 of the same 1000, 14 succeed: the balance is never
// negative, and each redemption is in the ledger.
func TestRedeemReward_ManyAtOnceNeverOverdraw(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 1000))
		requireSome(t, 14, concurrently(func(int) error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 70})
			return err
		}))
		after := b.stored(t, r.ID)
		require.Equal(t, int64(20), after.Left())
		require.Len(t, after.Redemptions, 14)
		for _, part := range after.Redemptions {
			require.Equal(t, int64(70), part.Amount)
		}
	})
}

// The same with rewards of two users, redeemed by the account, by a user and by the
// reward.
func TestRedeemCredit_ManyAtOnceNeverOverdraw(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		_, err := b.Identification.Identify(t.Context(), b.tenant, rules.Identification{Update: referral.UserUpdate{Account: "anna", ID: "v"}})
		require.NoError(t, err)
		var rewards []reward.Reward
		for i := range 6 {
			rewards = append(rewards, b.reward(t, points("anna", 300, func(g *reward.Grant) {
				g.User, g.Expires = core.UserID("uv"[i%2:i%2+1]), start+core.Time(100-i)
			})))
		}
		redeemed := make(chan int64, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			draw := []reward.Draw{{Account: "anna"}, {Account: "anna", User: "u"}, {Reward: rewards[i%6].ID}}[i%3]
			draw.Unit, draw.Amount = "POINT", int64(50+i%7)
			done, err := b.Redemptions.Draw(t.Context(), b.tenant, draw)
			redeemed <- done.Redeemed
			return err
		}) {
			require.True(t, err == nil || codeOf(err) == core.CodeInvalid, err)
		}
		var answered, stored, parts int64
		for range callersAtOnce {
			answered += <-redeemed
		}
		for _, r := range rewards {
			r = b.stored(t, r.ID)
			require.GreaterOrEqual(t, r.Left(), int64(0))
			stored += r.Sums.Redeemed
			for _, part := range r.Redemptions {
				parts += part.Amount
			}
		}
		require.Equal(t, answered, stored)
		require.Equal(t, stored, parts)
		require.Greater(t, stored, int64(1800-57*2), "the calls redeem nearly all of it")
	})
}

func TestRedeem_OneOfManySendersOfAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 1000))
		requireOneWins(t, concurrently(func(int) error {
			_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: 10, Key: "the-one-key"})
			return err
		}), reward.KeyUsed(false))
		require.Equal(t, int64(990), b.stored(t, r.ID).Left())
	})
}

// Of many senders of one call with one key, one makes it, and all get its answer, also if
// the credit suffices for one only. Another call with the key is refused.
func TestOnce_OneOfManySendersOfAKey(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 10))
		var repeats atomic.Int32
		send := func(key core.IdempotencyKey, digest string, amount int64) (string, error) {
			answer, repeated, err := b.Once(t.Context(), b.tenant, base.Once{
				Key: key, Digest: digest,
				Answer: func(v any) answerdb.Answer { return answerdb.Answer{JSON: wire.Redemption(v.(reward.Redemption))} },
			}, func(ctx context.Context) error {
				_, err := b.Redemptions.Draw(ctx, b.tenant, reward.Draw{Account: "anna", Unit: "POINT", Amount: amount})
				return err
			})
			if repeated {
				repeats.Add(1)
			}
			return string(answer), err
		}
		for _, err := range concurrently(func(int) error {
			answer, err := send("the-one-key", "a", 10)
			if want := `{"creditRedeemed":10,"creditAvailable":0,"unit":"POINT"}`; err == nil && answer != want {
				err = errors.New(answer)
			}
			return err
		}) {
			require.NoError(t, err)
		}
		require.Equal(t, int32(callersAtOnce-1), repeats.Load())
		require.Equal(t, int64(0), b.stored(t, r.ID).Left())
		_, err := send("the-one-key", "b", 1)
		requireCode(t, core.CodeConflict, err)
		_, err = send("another-key", "b", 1)
		requireCode(t, core.CodeInvalid, err)
		b.reward(t, points("anna", 1))
		_, err = send("another-key", "b", 1)
		require.NoError(t, err, "a refused call leaves its key unused")

		b.pass(answerdb.Life)
		removed, err := b.ForgetAnswers(t.Context())
		require.NoError(t, err)
		require.NotZero(t, removed)
		b.reward(t, points("anna", 5))
		_, err = send("the-one-key", "b", 5)
		require.NoError(t, err)
	})
}

// The redeemed and the cancelled amount add up to the whole reward, and of all
// cancellations one succeeds.
func TestCancelReward_AgainstRedemptions(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		r := b.reward(t, points("anna", 1000))
		cancelled := make(chan bool, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			if i%2 == 0 {
				_, err := b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Reward: r.ID, Unit: "POINT", Amount: 10})
				return err
			}
			_, err := b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), r.ID, "")
			cancelled <- err == nil
			return err
		}) {
			require.True(t, err == nil || codeOf(err) == core.CodeInvalid, err)
		}
		won := 0
		for range callersAtOnce / 2 {
			if <-cancelled {
				won++
			}
		}
		require.Equal(t, 1, won)
		after := b.stored(t, r.ID)
		require.Equal(t, reward.StatusCancelled, after.Status(b.Now()))
		require.Equal(t, int64(1000), after.Sums.Redeemed+after.Sums.Cancelled)
		require.Equal(t, after.Sums.Redeemed, 10*int64(len(after.Redemptions)))
	})
}

// Workers of several backends settle each reward once.
func TestSettleRewards_ByManyAtOnce(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		var ids []string
		for range 50 {
			ids = append(ids, b.reward(t, points("anna", 10, func(g *reward.Grant) { g.Scheduled = start + core.Hour })).ID)
		}
		b.pass(core.Hour)
		for _, err := range concurrently(func(int) error {
			_, err := b.Rewards.Settle(t.Context())
			return err
		}) {
			require.NoError(t, err)
		}
		created := map[string]int{}
		for _, e := range b.rewardEvents(t, queue) {
			if id, ok := strings.CutPrefix(e, "created "); ok {
				created[id]++
			}
		}
		for _, id := range ids {
			require.Equal(t, 1, created[id])
		}
	})
}

func requireSome(t *testing.T, want int, errs []error) {
	t.Helper()
	got := 0
	for _, err := range errs {
		if err == nil {
			got++
			continue
		}
		require.Equal(t, core.CodeInvalid, codeOf(err), err)
	}
	require.Equal(t, want, got)
}
