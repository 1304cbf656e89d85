package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/users"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

// Concurrent deletions and identifications of a user leave the user with a code, or no
// user.
func TestDeleteUser_AgainstIdentification(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, err := range concurrently(func(i int) error {
			if i%2 == 0 {
				return b.Erasures.DeleteUser(t.Context(), b.tenant, "friend", "u", users.DeleteOptions{})
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", claim(referral.SourceInit, "ANNA10"), email("f@example.com")))
			return err
		}) {
			if err != nil {
				requireCode(t, core.CodeNotFound, err)
			}
		}
		stored, err := b.Users.ByID(t.Context(), b.tenant, "friend", "u")
		if err == nil {
			require.Len(t, stored.User.Codes, 1)
			require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "friend", "u", users.DeleteOptions{}))
		}
		_, err = b.Accounts.ByID(t.Context(), b.tenant, "friend")
		requireCode(t, core.CodeNotFound, err)
		_, total, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Words: []string{"f@example"}, Limit: 1})
		require.NoError(t, err)
		require.Zero(t, total)
	})
}

// After a deletion with doNotTrack, no concurrent call identifies the user again.
func TestDeleteUser_DoNotTrackAgainstIdentification(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend")
		for _, err := range concurrently(func(i int) error {
			if i == 0 {
				return b.Erasures.DeleteUser(t.Context(), b.tenant, "friend", "u", users.DeleteOptions{DoNotTrack: true, PreserveEmptyAccount: true})
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend"))
			return err
		}) {
			if err != nil {
				requireCode(t, core.CodeForbidden, err)
			}
		}
		_, err := b.Users.ByID(t.Context(), b.tenant, "friend", "u")
		requireCode(t, core.CodeNotFound, err)
		_, err = b.Identification.Identify(t.Context(), b.tenant, identification("friend"))
		requireCode(t, core.CodeForbidden, err)
	})
}

// An account that was deleted with its last user, not to be tracked, is not created again by
// what names only the account; a user who was not deleted may make it again.
func TestDeleteUser_DeletedAccountIsNotTracked(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend", b.cookie("ANNA10"))
		_, err := b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{Account: "friend", Provider: "c-friend", Code: "ANNA10"})
		require.NoError(t, err)
		require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "friend", "u", users.DeleteOptions{DoNotTrack: true}))

		_, err = b.Accounts.Sync(t.Context(), b.tenant, update("friend", referral.Paid, "ANNA10"))
		requireCode(t, core.CodeForbidden, err)
		_, err = b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{Account: "friend", Provider: "c-friend", Code: "ANNA10"})
		requireCode(t, core.CodeForbidden, err)
		_, err = b.Accounts.ByID(t.Context(), b.tenant, "friend")
		requireCode(t, core.CodeNotFound, err)

		_, err = b.Identification.Identify(t.Context(), b.tenant, identification("friend", func(in *rules.Identification) { in.Update.ID = "other" }))
		require.NoError(t, err)
		b.sync(t, "friend", referral.Paid, "")
	})
}

// An account whose only user was deleted pays, and converts once it has another user.
func TestDeleteUser_AccountWithoutUsersPays(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, c := range []struct {
			account string
			refer   func(account string)
		}{
			{"before", func(account string) { b.sync(t, account, "", "ANNA10") }},
			{"at-once", func(string) {}},
			{"discount", func(account string) {
				_, err := b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{Account: core.AccountID(account), Provider: "c-friend", Code: "ANNA10"})
				require.NoError(t, err)
			}},
		} {
			b.identify(t, c.account)
			require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, core.AccountID(c.account), "u", users.DeleteOptions{PreserveEmptyAccount: true}))
			c.refer(c.account)
			paid := b.sync(t, c.account, referral.Paid, "ANNA10")
			require.Equal(t, []any{referral.InProgress, true}, []any{paid.Standing.Referral, paid.Standing.FirstPaid != 0}, c.account)
			b.identify(t, c.account, func(in *rules.Identification) { in.Update.ID = "other" })
			ref := b.referral(t, c.account)
			require.Equal(t, referral.Converted, ref.State)
			require.EqualValues(t, "other", ref.Referred.User)
		}
	})
}

// Referrals and rewards stay after a deletion, under the same ids.
func TestDeleteUser_KeepsReferralAndReward(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend", b.cookie("ANNA10"), paid, func(in *rules.Identification) {
			in.Share = link.Share{Origin: "https://go.example", Tenant: b.tenant}
		})
		before := b.referral(t, "friend")
		require.NotNil(t, before.ReferrerReward)
		require.Contains(t, before.ShareLink, "ANNA10")
		b.pass(1)
		ordered := b.reward(t, points("anna", 5, func(g *reward.Grant) {
			g.Referral, g.Source, g.Order, g.Scheduled = before.ID, reward.FriendSignup, "order-of-friend", b.Now()+core.Day
		}))
		_, err := b.Events.Log(t.Context(), b.keyHolder(t), event.Call{Account: "anna", User: "u", Key: "key-of-anna", Events: []event.Event{{Key: "visit"}}})
		require.NoError(t, err)
		for _, account := range []core.AccountID{"anna", "friend"} {
			require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, account, "u", users.DeleteOptions{}))
			_, err := b.Accounts.ByID(t.Context(), b.tenant, account)
			requireCode(t, core.CodeNotFound, err)
		}
		after, err := b.Referrals.ByID(t.Context(), b.tenant, before.ID)
		require.NoError(t, err)
		require.Equal(t, before.State, after.State)
		require.Equal(t, before.ReferrerReward.ID, after.ReferrerReward.ID)
		for _, user := range []referral.Identity{after.Referrer, after.Referred} {
			require.Regexp(t, `^deleted:[0-9a-f]{24}$`, string(user.Account))
			require.Regexp(t, `^deleted:[0-9a-f]{24}$`, string(user.User))
			require.Empty(t, user.Email)
		}
		require.Regexp(t, `^deleted-[0-9a-f]{24}$`, string(after.Code))
		require.Empty(t, after.ShareLink)
		kept, err := rewarddb.ByID(t.Context(), b.DB.Reads, b.tenant, before.ReferrerReward.ID)
		require.NoError(t, err)
		require.Equal(t, after.Referrer, referral.Identity{Account: kept.Account, User: kept.User})
		require.Equal(t, reward.FriendSignup, kept.Source)
		require.Empty(t, kept.Order)
		require.Equal(t, ordered.ID, b.stored(t, ordered.ID).Order, "the order has no meaning any more")
	})
}

// A deleted user earns nothing more: neither the friend whose account orders again, nor the referrer.
func TestErase_EarnsNothingMore(t *testing.T) {
	t.Parallel()
	for erased, want := range map[string]string{"friend": "referrer 2, friend 1", "anna": "referrer 1, friend 2"} {
		t.Run(erased, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.shop(t, func(p *referral.Program) {
				p.Referred, p.ReferredTerms = reward.Offer{Kind: reward.Credit, Amount: 500, Currency: "USD"}, conversion.Terms{}
			})
			b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
			b.pass(core.Minute)
			b.purchase(t, "friend", "o-1", "50")
			b.process(t)
			id := b.referral(t, "friend").ID
			require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, core.AccountID(erased), "u", users.DeleteOptions{PreserveEmptyAccount: true}))
			b.pass(core.Minute)
			b.identify(t, "friend") // who may have returned
			b.purchase(t, "friend", "o-2", "50")
			b.process(t)
			all, _, err := b.Rewards.List(t.Context(), b.tenant, reward.Filter{Referral: id, Limit: 10})
			require.NoError(t, err)
			got := map[reward.Source]int{}
			for _, w := range all {
				got[w.Source]++
			}
			require.Equal(t, want, fmt.Sprintf("referrer %d, friend %d", got[reward.FriendSignup], got[reward.Referred]))
		})
	}
}
