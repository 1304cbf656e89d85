package app_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/rules"
)

func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	var known *core.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, want, known.Code, err)
}

// Of concurrent blocks of a user one succeeds. No code of the user is attributed after it.
func TestBlockUser_AgainstAttribution(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		blocks := make(chan error, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			if i%8 == 0 {
				blocks <- b.Users.Block(t.Context(), b.tenant, "anna", "u", "")
				return nil
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend"+strconv.Itoa(i), claim(referral.SourceInit, "ANNA10")))
			return err
		}) {
			require.NoError(t, err)
		}
		close(blocks)
		blocked := 0
		for err := range blocks {
			if err == nil {
				blocked++
			} else {
				requireCode(t, core.CodeForbidden, err)
			}
		}
		require.Equal(t, 1, blocked)
		rules := map[referral.Rule]int{}
		for i := range callersAtOnce {
			for _, d := range b.decisions(t, "friend"+strconv.Itoa(i)) {
				rules[d.Rule]++
			}
		}
		_, attributed, err := b.Referrals.List(t.Context(), b.tenant, referral.Filter{ReferrerAccount: "anna", Limit: 1})
		require.NoError(t, err)
		require.Equal(t, attributed, rules[referral.RuleFirstCode])
		require.Equal(t, callersAtOnce-callersAtOnce/8, rules[referral.RuleFirstCode]+rules[referral.RuleBlocked])

		b.identify(t, "late", claim(referral.SourceInit, "ANNA10"))
		require.Equal(t, []string{"referral_code ANNA10: code-of-blocked-user"}, b.rules(t, "late"))
		require.NoError(t, b.Users.Unblock(t.Context(), b.tenant, "anna", "u"))
		b.identify(t, "late", claim(referral.SourceInit, "ANNA10"))
		require.Equal(t, referral.InProgress, b.state(t, "late"))
	})
}

func TestApplyCode_OneOfManyCodesCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend")
		tenant, err := b.Tenants.ByAlias(t.Context(), b.tenant)
		require.NoError(t, err)
		codes := []core.ReferralCode{"ANNA10", "BERT20"}
		applied := make(chan core.ReferralCode, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			_, err := b.Codes.Apply(t.Context(), tenant, codes[i%2], "friend", "u")
			if err == nil {
				applied <- codes[i%2]
			}
			return err
		}) {
			if err != nil {
				requireCode(t, core.CodeInvalid, err)
			}
		}
		close(applied)
		count := map[core.ReferralCode]int{}
		for code := range applied {
			count[code]++
		}
		require.Equal(t, map[core.ReferralCode]int{b.referral(t, "friend").Code: callersAtOnce / 2}, count)
	})
}

func TestIdentify_AccountHasAtMost1000Users(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	rows := "accountId,id\n"
	for i := range referral.MaxUsers {
		rows += "full," + strconv.Itoa(i) + "\n"
	}
	require.Equal(t, job.Stats{Processed: referral.MaxUsers}, b.imported(t, job.ImportUser, "full.csv", rows, "{}").Stats)
	_, err := b.Identification.Identify(t.Context(), b.tenant, identification("full"))
	requireCode(t, core.CodeInvalid, err)
	var known *core.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, "RS013", known.RS)
	in := identification("full")
	in.Update.ID = "7"
	_, err = b.Identification.Identify(t.Context(), b.tenant, in)
	require.NoError(t, err, "a user of a full account")
	_, err = b.Identification.Identify(t.Context(), b.tenant, identification("other"))
	require.NoError(t, err, "a user of another account")
}

// A page of users has the same data as reads of each user alone.
func TestUsersList_EqualsSingleReads(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid, email("f@example.com"))
		b.identify(t, "friend", func(in *rules.Identification) { in.Update.ID = "second" })
		page, total, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Limit: 10})
		require.NoError(t, err)
		require.Equal(t, 4, total)
		require.Len(t, page, 4)
		for _, u := range page {
			alone, err := b.Users.ByID(t.Context(), b.tenant, u.User.Account, u.User.ID)
			require.NoError(t, err)
			require.Equal(t, alone, u)
		}
		page, total, err = b.Users.List(t.Context(), b.tenant, referral.UserFilter{Limit: 10, Offset: 4})
		require.NoError(t, err)
		require.Equal(t, 4, total)
		require.Empty(t, page)
	})
}
