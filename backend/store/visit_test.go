package store_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/rowtest"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
)

// today is the day of now.
const today = now - now%core.Day

// visitsOf returns visits of a code of the bundle's tenant, by a person.
func (b bundle) visitsOf(code core.ReferralCode, share link.ShareMedium, day core.Time, times int64) analytics.Visits {
	return analytics.Visits{
		Followed: link.Followed{Tenant: b.tenant, Program: "classic", Code: code, ShareMedium: share, EngagementMedium: "EMAIL", By: link.Person},
		Day:      day, Times: times,
	}
}

func (b bundle) putVisits(t *testing.T, id string, visits ...analytics.Visits) {
	t.Helper()
	require.NoError(t, eventdb.PutVisits(t.Context(), b.db, analytics.VisitBatch{ID: id, Made: now, Visits: visits}))
}

func (b bundle) putUsers(t *testing.T, users ...string) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		for _, user := range users {
			require.NoError(t, putUser(ctx, tx, b.tenant, core.AccountID(user), "u"))
			_, err := rowtest.InsertCode(ctx, tx, b.tenant, referral.UserCode{Program: "classic", Code: core.ReferralCode(user + "-code")}, core.AccountID(user), "u")
			require.NoError(t, err)
		}
		return nil
	})
}

// refer stores a referral of anna's code, which converts days later; 0 is never.
func (b bundle) refer(t *testing.T, who string, started core.Time, days core.Time) {
	t.Helper()
	r := referral.Referral{
		ID: "of-" + who, Program: "classic", State: referral.InProgress, Code: "anna-code", ShareMedium: "SMS", Started: started, Modified: started,
		Referrer: referral.Identity{Account: "anna", User: "u"}, Referred: referral.Identity{Account: core.AccountID(who), User: "u"},
	}
	if days > 0 {
		r.State, r.Converted = referral.Converted, started+days*core.Day
	}
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		require.NoError(t, putUser(ctx, tx, b.tenant, core.AccountID(who), "u"))
		return rowtest.PutReferral(ctx, tx, b.tenant, r)
	})
}

func (b bundle) series(t *testing.T, p analytics.Period, f analytics.SeriesFilter) analytics.Series {
	t.Helper()
	s, err := eventdb.Series(t.Context(), b.db.Reads, b.tenant, p, f)
	require.NoError(t, err)
	return s
}

// sum returns the totals of a series.
func sum(s analytics.Series) (visits, bots, joined, converted int64) {
	for _, p := range s.Points {
		visits, bots, joined, converted = visits+p.Visits, bots+p.BotVisits, joined+p.Joined, converted+p.Converted
	}
	return visits, bots, joined, converted
}

var twoDays = analytics.Period{Interval: analytics.Daily, From: today - core.Day, Until: today + core.Day}

// A batch that is stored again adds nothing. Visits of unknown tenants are left out;
// those of unknown codes count for their program.
func TestPutVisits_AddsABatchOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.putUsers(t, "anna")
		bot := b.visitsOf("anna-code", "SMS", today, 5)
		bot.By = link.Bot
		strange := b.visitsOf("anna-code", "SMS", today, 7)
		strange.Tenant = "unknown"
		batch := []analytics.Visits{b.visitsOf("ANNA-code", "SMS", today, 2), bot, strange, b.visitsOf("gone", "SMS", today, 1), b.visitsOf("", "", today-core.Day, 4)}
		b.putVisits(t, "batch", batch...)
		b.putVisits(t, "batch", batch...)
		b.putVisits(t, "another", b.visitsOf("anna-code", "SMS", today, 1), b.visitsOf("anna-code", "", today, 10))
		s := b.series(t, twoDays, analytics.SeriesFilter{})
		require.Equal(t, []analytics.Point{{Start: today - core.Day, Visits: 4}, {Start: today, Visits: 14, BotVisits: 5}}, s.Points)
		for _, c := range []struct {
			f            analytics.SeriesFilter
			visits, bots int64
		}{
			{analytics.SeriesFilter{Code: "ANNA-CODE"}, 13, 5}, {analytics.SeriesFilter{Code: "gone"}, 0, 0}, {analytics.SeriesFilter{ShareMedium: "SMS"}, 4, 5},
			{analytics.SeriesFilter{ShareMedium: analytics.NoMedium}, 14, 0},
			{analytics.SeriesFilter{EngagementMedium: "EMAIL", Code: "anna-code"}, 13, 5}, {analytics.SeriesFilter{EngagementMedium: "POPUP"}, 0, 0},
			{analytics.SeriesFilter{Program: "classic"}, 18, 5}, {analytics.SeriesFilter{Program: "another"}, 0, 0},
		} {
			visits, bots, _, _ := sum(b.series(t, twoDays, c.f))
			require.Equal(t, []int64{c.visits, c.bots}, []int64{visits, bots}, "%+v", c.f)
		}
	})
}

func TestForgetVisitBatches(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		// Other tests store batches later.
		const made = now - 10*core.Day
		for i := range 3 {
			batch := analytics.VisitBatch{ID: strconv.Itoa(i), Made: made, Visits: []analytics.Visits{b.visitsOf("", "", today, 1)}}
			require.NoError(t, eventdb.PutVisits(t.Context(), b.db, batch))
		}
		left := func() (ids int) {
			require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT count(*) FROM visit_batch WHERE tenant = ?`, string(b.tenant)).Scan(&ids))
			return ids
		}
		forget := func(before core.Time) {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				_, err := eventdb.ForgetVisitBatches(ctx, tx, before, 1000)
				return err
			})
		}
		forget(made)
		require.Equal(t, 3, left())
		forget(made + 1)
		require.Zero(t, left())
		visits, _, _, _ := sum(b.series(t, twoDays, analytics.SeriesFilter{}))
		require.EqualValues(t, 3, visits)
	})
}

func TestSeries_ReferralsAndRewards(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.putUsers(t, "anna")
		b.refer(t, "ben", today-core.Day, 1)
		b.refer(t, "cleo", today, 0)
		b.refer(t, "dan", today-10*core.Day, 10)
		b.refer(t, "eve", today-10*core.Day, 0)
		percent := reward.Grant{Account: "a", User: "u", Source: reward.Manual, Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1500}}
		euros := aGrant()
		euros.Offer.Currency = "EUR"
		b.grant(t, "r", aGrant(), aGrant(), percent, euros)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return rewarddb.AppendLedger(ctx, tx, b.tenant, nil, []reward.Entry{
				{ID: "1", Reward: "r0", Action: reward.ActionRedeem, Amount: -300, Unit: "CENTS", At: now},
				{ID: "2", Reward: "r0", Action: reward.ActionCancel, Amount: -700, Unit: "CENTS", At: now + 5*core.Day},
				{ID: "3", Reward: "r1", Action: reward.ActionExpire, Amount: -1000, Unit: "CENTS", At: now + core.Day},
			})
		})
		s := b.series(t, twoDays, analytics.SeriesFilter{})
		require.Equal(t, []analytics.Point{
			{Start: today - core.Day, Joined: 1},
			{Start: today, Joined: 1, Converted: 2, Rewards: []analytics.Cost{{Unit: "CENTS", Currency: "EUR", Amount: 1000}, {Unit: "CENTS", Currency: "USD", Amount: 1300}}},
		}, s.Points, "what was redeemed or expired is a cost, what was cancelled later is none, and a percentage has no amount")
		weeks := analytics.Period{Interval: analytics.Weekly, From: today - 20*core.Day, Until: today + core.Day}
		_, _, joined, converted := sum(b.series(t, weeks, analytics.SeriesFilter{ShareMedium: "SMS", Code: "ANNA-code"}))
		require.Equal(t, []int64{4, 2}, []int64{joined, converted})
		s = b.series(t, weeks, analytics.SeriesFilter{Code: "anna-code"})
		require.Empty(t, s.Points[2].Rewards, "rewards without a referral belong to no code")
		s = b.series(t, weeks, analytics.SeriesFilter{EngagementMedium: "EMAIL"})
		require.True(t, s.VisitsOnly)
		_, _, joined, _ = sum(s)
		require.Zero(t, joined)
	})
}

// An erased user is no top referrer, and the visits of the code stay in the totals.
func TestTopReferrers(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.putUsers(t, "anna", "ben", "cleo", "dan")
		b.refer(t, "new1", today, 0)
		b.refer(t, "new2", today-core.Day, 1)
		b.putVisits(t, "batch", b.visitsOf("anna-code", "SMS", today, 2), b.visitsOf("BEN-code", "SMS", today, 2), b.visitsOf("ben-code", "", today-core.Day, 3),
			b.visitsOf("cleo-code", "", today, 2), b.visitsOf("dan-code", "", today-9*core.Day, 50), b.visitsOf("", "", today, 99))
		top := func(by analytics.Rank, limit int) (all []analytics.Referrer) {
			all, err := eventdb.TopReferrers(t.Context(), b.db.Reads, b.tenant, analytics.TopFilter{Period: twoDays, By: by, Program: "classic", Limit: limit})
			require.NoError(t, err)
			return all
		}
		anna := analytics.Referrer{Account: "anna", User: "u", Visits: 2, Joined: 2, Converted: 1}
		ben, cleo := analytics.Referrer{Account: "ben", User: "u", Visits: 5}, analytics.Referrer{Account: "cleo", User: "u", Visits: 2}
		require.Equal(t, []analytics.Referrer{ben, anna, cleo}, top(analytics.ByVisits, 10))
		require.Equal(t, []analytics.Referrer{ben}, top(analytics.ByVisits, 1))
		require.Equal(t, []analytics.Referrer{anna}, top(analytics.ByJoined, 10))
		require.Equal(t, []analytics.Referrer{anna}, top(analytics.ByConverted, 10))
		ofMedium := func(by analytics.Rank, medium link.ShareMedium) (all []analytics.Referrer) {
			all, err := eventdb.TopReferrers(t.Context(), b.db.Reads, b.tenant, analytics.TopFilter{Period: twoDays, By: by, ShareMedium: medium, Limit: 10})
			require.NoError(t, err)
			return all
		}
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return tx.Exec(ctx, "share", `UPDATE referral SET share_medium = 'EMAIL' WHERE tenant = ? AND referred_account_id = 'new1'`, string(b.tenant))
		})
		anna.Joined = 1
		require.Equal(t, []analytics.Referrer{anna, {Account: "ben", User: "u", Visits: 2}}, ofMedium(analytics.ByVisits, "SMS"))
		require.Equal(t, []analytics.Referrer{anna}, ofMedium(analytics.ByJoined, "SMS"))
		require.Equal(t, []analytics.Referrer{anna}, ofMedium(analytics.ByConverted, "SMS"))
		require.Equal(t, []analytics.Referrer{{Account: "anna", User: "u", Joined: 1}}, ofMedium(analytics.ByJoined, "EMAIL"))
		require.Empty(t, ofMedium(analytics.ByConverted, "EMAIL"))
		require.Equal(t, []analytics.Referrer{{Account: "ben", User: "u", Visits: 3}, cleo}, ofMedium(analytics.ByVisits, analytics.NoMedium))

		before := b.series(t, twoDays, analytics.SeriesFilter{})
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			return userdb.EraseUsers(ctx, tx, b.tenant, []userdb.Erasure{
				{Account: "anna", User: "u", Pseudonym: "deleted-1", PseudonymCode: "deleted-1"}, {Account: "ben", User: "u", Pseudonym: "deleted-2", PseudonymCode: "deleted-2"},
			})
		})
		require.Equal(t, before, b.series(t, twoDays, analytics.SeriesFilter{}))
		require.Equal(t, []analytics.Referrer{cleo}, top(analytics.ByVisits, 10))
		require.Empty(t, top(analytics.ByConverted, 10))
		visits, _, _, _ := sum(b.series(t, twoDays, analytics.SeriesFilter{Code: "anna-code"}))
		require.Zero(t, visits)
	})
}
