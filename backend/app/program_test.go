package app_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
)

func aProgram(key core.ProgramKey) referral.Program {
	p := referral.NewProgram(key)
	p.LandingURL = "https://" + string(key) + ".example/"
	return p
}

func TestCreateProgram_ReturnsTheStoredProgram(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	want := aProgram("gift")
	want.Referrer = reward.Offer{Kind: reward.Credit, Amount: 5, Currency: "EUR"}
	want.Limits = referral.Limits{Total: 3}
	want.Invitations = map[text.Tag]text.Invitation{"de": {Subject: "Betreff", Message: "{reward} \u2028 \"bei\" {shop}"}}
	b.pass(core.Second)
	got, err := b.Programs.Create(t.Context(), b.tenant, want)
	require.NoError(t, err)
	want.Created, want.Modified, want.AllowedHosts = start+core.Second, start+core.Second, []string{}
	want.MoneyBack = referral.DefaultMoneyBack
	require.Equal(t, want, got)
	stored, err := b.Programs.ByKey(t.Context(), b.tenant, "gift")
	require.NoError(t, err)
	require.Equal(t, want, stored)
	_, err = b.Programs.Create(t.Context(), b.tenant, want)
	require.Equal(t, &core.Error{Code: core.CodeConflict, Field: "id", Message: "there is a program gift already; give another id"}, err)
	all, err := b.Programs.List(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, want, all[1])
	target, ok, err := programdb.TargetOnHost(t.Context(), b.DB.Reads, "gift.example", "")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, b.tenant, target.Tenant, "the host of the landing page is a shop of the tenant")
	want.LandingURL = ""
	_, err = b.Programs.Create(t.Context(), b.tenant, want)
	require.EqualError(t, err, "sharing.url: must be an absolute http or https URL")
}

func TestCreateProgram_AtMost50(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range referral.MaxPrograms - 1 {
		_, err := b.Programs.Create(t.Context(), b.tenant, aProgram(core.ProgramKey(fmt.Sprint("p", i))))
		require.NoError(t, err)
	}
	_, err := b.Programs.Create(t.Context(), b.tenant, aProgram("one-more"))
	require.Equal(t, core.Invalid("", "a tenant has at most 50 programs"), err)
	require.Len(t, b.identify(t, "friend").User.Codes, referral.MaxPrograms)
}

func TestCreateProgram_OneOfManyWins(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireOneWins(t, concurrently(func(int) error {
			_, err := b.Programs.Create(t.Context(), b.tenant, aProgram("gift"))
			return err
		}), &core.Error{Code: core.CodeConflict, Field: "id", Message: "there is a program gift already; give another id"})
	})
}

func TestUpdateProgram(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.pass(core.Hour)
	got, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		require.Equal(t, "Refer a friend", p.Name)
		*p = aProgram("other")
		p.Referred = reward.Offer{Kind: reward.Credit, Amount: 7, Currency: "USD"}
		return nil
	})
	require.NoError(t, err)
	want := aProgram("other")
	want.Key, want.AllowedHosts, want.Created, want.Modified, want.MoneyBack = core.ClassicProgram, []string{}, start, start+core.Hour, 0
	want.Referred = reward.Offer{Kind: reward.Credit, Amount: 7, Currency: "USD"}
	require.Equal(t, want, got, "the key and the time of creation stay")
	info, err := b.Codes.Lookup(t.Context(), b.tenantRow(t), "ANNA10")
	require.NoError(t, err)
	require.Equal(t, want.Referred, info.Offer)

	refused := errors.New("the test's own")
	for name, row := range map[string]struct {
		key    core.ProgramKey
		change func(*referral.Program) error
		want   error
	}{
		"no such program":        {"nope", nil, core.NotFound("there is no such program")},
		"a change with an error": {core.ClassicProgram, func(*referral.Program) error { return refused }, refused},
		"an invalid program": {core.ClassicProgram, func(p *referral.Program) error {
			p.Name = ""
			return nil
		}, core.Invalid("name", "must be 1 to 200 bytes")},
	} {
		_, err := b.Programs.Update(t.Context(), b.tenant, row.key, row.change)
		require.Equal(t, row.want, err, name)
	}
	stored, err := b.Programs.ByKey(t.Context(), b.tenant, core.ClassicProgram)
	require.NoError(t, err)
	require.Equal(t, want, stored)
}

// Concurrent changes are all kept: each sees the one before.
func TestUpdateProgram_ManyAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, err := range concurrently(func(int) error {
			_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
				p.Limits.Total++
				return nil
			})
			return err
		}) {
			require.NoError(t, err)
		}
		p, err := b.Programs.ByKey(t.Context(), b.tenant, core.ClassicProgram)
		require.NoError(t, err)
		require.Equal(t, int64(callersAtOnce), p.Limits.Total)
	})
}

func TestDeleteProgram(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.Equal(t, core.NotFound("there is no such program"), b.Programs.Delete(t.Context(), b.tenant, "nope"))
	require.Equal(t, &core.Error{Code: core.CodeConflict, Message: "the program is in use and cannot be deleted: codes of users: 2, referrals: 0"},
		b.Programs.Delete(t.Context(), b.tenant, core.ClassicProgram))
	_, err := b.Programs.Create(t.Context(), b.tenant, aProgram("gift"))
	require.NoError(t, err)
	require.NoError(t, b.Programs.Delete(t.Context(), b.tenant, "gift"))
	_, err = b.Programs.ByKey(t.Context(), b.tenant, "gift")
	require.Equal(t, core.NotFound("there is no such program"), err)

	empty := base.TestPrefix + b.tenant
	require.NoError(t, b.Tenants.Create(t.Context(), aTenant(empty, b.APIKeys.MakeKey(empty))))
	require.Equal(t, &core.Error{Code: core.CodeConflict, Message: "the last program of a tenant cannot be deleted; create another one first"},
		b.Programs.Delete(t.Context(), empty, core.ClassicProgram))
}

// A program is deleted, or a user has a code in it, but never both.
func TestDeleteProgram_AgainstIdentifications(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		_, err := b.Programs.Create(t.Context(), b.tenant, aProgram("gift"))
		require.NoError(t, err)
		deleted := make(chan bool, callersAtOnce)
		for _, err := range concurrently(func(i int) error {
			if i%2 == 0 {
				err := b.Programs.Delete(t.Context(), b.tenant, "gift")
				deleted <- err == nil
				return nil
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification(fmt.Sprint("friend", i)))
			return err
		}) {
			require.NoError(t, err)
		}
		gone := false
		for range callersAtOnce / 2 {
			gone = <-deleted || gone
		}
		for i := 1; i < callersAtOnce; i += 2 {
			u, err := b.Users.ByID(t.Context(), b.tenant, core.AccountID(fmt.Sprint("friend", i)), "u")
			require.NoError(t, err)
			owns := map[core.ProgramKey]bool{}
			for _, c := range u.User.Codes {
				owns[c.Program] = true
			}
			require.True(t, owns[core.ClassicProgram])
			if gone {
				require.False(t, owns["gift"])
			}
		}
	})
}

// Users get a code in a new program at their next identification.
func TestCreateProgram_UsersGetTheirCodes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Programs.Create(t.Context(), b.tenant, aProgram("gift"))
	require.NoError(t, err)
	stored, err := b.Users.ByID(t.Context(), b.tenant, "anna", "u")
	require.NoError(t, err)
	require.Len(t, stored.User.Codes, 1)
	codes := b.identify(t, "anna").User.Codes
	require.Len(t, codes, 2)
	require.Equal(t, referral.UserCode{Program: core.ClassicProgram, Code: "ANNA10"}, codes[0])
	require.Equal(t, core.ProgramKey("gift"), codes[1].Program)
	require.Equal(t, codes, b.identify(t, "anna").User.Codes, "an identification adds no second code")
}

// Beyond the limits a referral converts, and its referred side gets a reward, but its
// referrer gets none.
func TestLimits_OfRewards(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limits referral.Limits
		// steps has the days before each referral; given says whether Anna got a reward
		// for it.
		steps []core.Time
		given []bool
	}{
		"none":        {referral.Limits{}, []core.Time{0, 0, 0}, []bool{true, true, true}},
		"in all":      {referral.Limits{Total: 2}, []core.Time{0, 0, 100}, []bool{true, true, false}},
		"in a period": {referral.Limits{InPeriod: 2, Period: core.Day}, []core.Time{0, 0, 0, 1, 0, 0}, []bool{true, true, false, true, true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
				p.Limits = row.limits
				return nil
			})
			require.NoError(t, err)
			for i, days := range row.steps {
				b.pass(days * core.Day)
				friend := fmt.Sprint("friend", i)
				b.identify(t, friend, claim(referral.SourceInit, "ANNA10"), paid)
				ref := b.referral(t, friend)
				require.Equal(t, referral.Converted, ref.State)
				require.NotNil(t, ref.ReferredReward)
				require.Equal(t, row.given[i], ref.ReferrerReward != nil, "friend %d", i)
			}
		})
	}
}

// Concurrent conversions do not exceed the limit.
func TestLimits_ManyConversionsAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
			p.Limits.Total = 5
			return nil
		})
		require.NoError(t, err)
		for _, err := range concurrently(func(i int) error {
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification(fmt.Sprint("friend", i), claim(referral.SourceInit, "ANNA10"), paid))
			return err
		}) {
			require.NoError(t, err)
		}
		require.Equal(t, map[reward.Source]int{reward.FriendSignup: 5}, b.rewards(t, "anna"))
	})
}
