package store_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/leasedb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rowtest"
	"kith/core"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
)

func aJob(id string, created core.Time) job.Job {
	return job.Job{
		ID: id, Status: job.Pending, Created: created,
		Input: job.Input{Type: job.User, Requester: "API", Format: job.CSV, Params: "{}"},
	}
}

func (b bundle) insertJobs(t *testing.T, jobs ...job.Job) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		for _, j := range jobs {
			require.NoError(t, jobdb.InsertJob(ctx, tx, b.tenant, j))
		}
		return nil
	})
}

// leaseJob leases a job.
func (b bundle) leaseJob(t *testing.T, id string) jobdb.Lease {
	t.Helper()
	var c jobdb.Lease
	b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
		var ok bool
		c, ok, err = jobdb.LeaseJob(ctx, tx, b.tenant, id, "p.1")
		require.True(t, ok)
		return err
	})
	return c
}

func TestJob_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		want := job.Job{
			ID: "j", Status: job.Pending, Created: now,
			Input: job.Input{
				Type: job.RewardBalance, Name: awkward[1], Requester: awkward[2], Format: job.XLSX, MailTo: awkward[3],
				File: "imports/t/f_1.csv", Params: `{"createdSince":"2025-01-01T00:00:00-07:00"}`,
			},
		}
		b.insertJobs(t, want)
		got, ok, err := jobdb.Job(t.Context(), b.db.Reads, b.tenant, "j")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, got)

		c := b.leaseJob(t, "j")
		c.Status, c.Message, c.Stats, c.Result, c.Job.Errors = job.Aborted, awkward[4], job.Stats{Processed: 9, Errors: 2}, "r", "e"
		c.Completed, c.Expires = now+5, now+6
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			ok, err := jobdb.FinishJob(ctx, tx, c)
			require.True(t, ok)
			return err
		})
		got, _, err = jobdb.Job(t.Context(), b.db.Reads, b.tenant, "j")
		require.NoError(t, err)
		require.Equal(t, c.Job, got)

		_, ok, err = jobdb.Job(t.Context(), b.db.Reads, newTenant(t, b.db), "j")
		require.NoError(t, err)
		require.False(t, ok, "of another tenant")
		_, ok, err = jobdb.Job(t.Context(), b.db.Reads, b.tenant, "k")
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// LeaseNext leases the jobs of all tenants, so the test has databases of its own.
func TestLeaseNext_OldestFirstAndEachOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b = worker(t, b)
		for i := range 20 {
			b.insertJobs(t, aJob(strconv.Itoa(i), core.Time(20-i)))
		}
		lease := func(at core.Time) (id string) {
			require.NoError(t, b.db.Write(t.Context(), at, func(tx *store.Tx) error {
				c, ok, err := jobdb.LeaseNext(t.Context(), tx, "p.2")
				if ok {
					require.Equal(t, b.tenant, c.Tenant)
					require.EqualValues(t, 1, c.Attempt)
					id = c.ID
				}
				return err
			}))
			return id
		}
		require.Equal(t, "19", lease(30))
		var mu sync.Mutex
		var workers sync.WaitGroup
		leases := map[string]int{}
		for range 4 {
			workers.Go(func() {
				for id := lease(30); id != ""; id = lease(30) {
					mu.Lock()
					leases[id]++
					mu.Unlock()
				}
			})
		}
		workers.Wait()
		require.Len(t, leases, 19)
		for id, times := range leases {
			require.Equal(t, 1, times, id)
		}
		waits, err := jobdb.AnyWaiting(t.Context(), b.db.Reads)
		require.NoError(t, err)
		require.False(t, waits, "all are leased")
		require.Empty(t, lease(leasedb.Never-1), "a lease does not end by time")
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			_, err := leasedb.Release(ctx, tx, []string{"p.2", "unknown"})
			return err
		})
		waits, err = jobdb.AnyWaiting(t.Context(), b.db.Reads)
		require.NoError(t, err)
		require.True(t, waits, "after they were released")
		for i := range 20 {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				_, err := jobdb.DeleteJob(ctx, tx, b.tenant, strconv.Itoa(i))
				return err
			})
		}
	})
}

// A worker whose lease was taken over cannot change the job.
func TestLease_IsFencedByItsAttempt(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.insertJobs(t, aJob("j", now))
		old, current := b.leaseJob(t, "j"), b.leaseJob(t, "j")
		require.EqualValues(t, 1, old.Attempt)
		require.EqualValues(t, 2, current.Attempt)
		require.EqualValues(t, 2, current.Tries)
		renew := func(c jobdb.Lease, processed int64) (ok bool) {
			c.Stats.Processed = processed
			b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
				ok, err = jobdb.RenewLease(ctx, tx, c, "p.3")
				return err
			})
			return ok
		}
		finish := func(c jobdb.Lease) (ok bool) {
			c.Status, c.Completed, c.Expires = job.Completed, now, now+1
			b.write(t, func(ctx context.Context, tx *store.Tx) (err error) {
				ok, err = jobdb.FinishJob(ctx, tx, c)
				return err
			})
			return ok
		}
		require.False(t, renew(old, 7))
		require.False(t, finish(old))
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.ReleaseLease(ctx, tx, old, false) })
		require.True(t, renew(current, 8))
		got, _, err := jobdb.Job(t.Context(), b.db.Reads, b.tenant, "j")
		require.NoError(t, err)
		require.Equal(t, job.Stats{Processed: 8}, got.Stats)
		require.Equal(t, job.Pending, got.Status)

		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.ReleaseLease(ctx, tx, current, false) })
		again := b.leaseJob(t, "j")
		require.EqualValues(t, 3, again.Attempt)
		require.EqualValues(t, 2, again.Tries, "a released lease does not count as a failure")
		require.True(t, finish(again))
		require.False(t, finish(again), "it has ended")
		require.False(t, renew(again, 1))
	})
}

// A worker that stops in the middle of an import releases it with its progress.
func TestReleaseLease_KeepsProgress(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.insertJobs(t, aJob("j", now))
		c := b.leaseJob(t, "j")
		c.Position, c.Stats.Processed = 100, 5
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			ok, err := jobdb.SaveProgress(ctx, tx, c, jobdb.Chunk{Seq: 5}, "p.3")
			require.True(t, ok)
			return err
		})
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.ReleaseLease(ctx, tx, c, false) })
		var until core.Time
		require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT leased_until FROM job WHERE tenant = ?`, string(b.tenant)).Scan(&until))
		require.Equal(t, now, until, "another worker may lease it at once")
		next := b.leaseJob(t, "j")
		require.EqualValues(t, 100, next.Position)
		require.EqualValues(t, 1, next.Tries)
	})
}

func TestJobs_Filter(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for i, typ := range []job.Type{job.User, job.Reward, "MUTATION/USER", job.User} {
			j := aJob(strconv.Itoa(i), now+core.Time(i))
			j.Type = typ
			b.insertJobs(t, j)
		}
		c := b.leaseJob(t, "3")
		c.Status, c.Completed, c.Expires = job.Completed, now+9, now+10
		b.write(t, func(ctx context.Context, tx *store.Tx) error { _, err := jobdb.FinishJob(ctx, tx, c); return err })
		for name, f := range map[string]struct {
			filter job.Filter
			want   []string
		}{
			"all":          {job.Filter{}, []string{"3", "2", "1", "0"}},
			"operation":    {job.Filter{Operation: job.Query}, []string{"3", "1", "0"}},
			"type":         {job.Filter{Type: job.User}, []string{"3", "0"}},
			"not type":     {job.Filter{NotType: job.User}, []string{"2", "1"}},
			"status":       {job.Filter{Statuses: []job.Status{job.Pending}}, []string{"2", "1", "0"}},
			"not status":   {job.Filter{NotStatus: job.Pending}, []string{"3"}},
			"ids":          {job.Filter{IDs: []string{"1", "2", "unknown"}}, []string{"2", "1"}},
			"created":      {job.Filter{Created: core.Span{From: now + 1, Before: now + 3}}, []string{"2", "1"}},
			"completed":    {job.Filter{Completed: core.Span{From: now + 9}}, []string{"3"}},
			"either":       {job.Filter{Or: []job.Filter{{Type: job.Reward}, {Type: job.User, Statuses: []job.Status{job.Pending}}}}, []string{"1", "0"}},
			"both":         {job.Filter{Type: job.User, And: []job.Filter{{NotStatus: job.Completed}, {}}}, []string{"0"}},
			"and in or":    {job.Filter{And: []job.Filter{{IDs: []string{"0", "1"}}}, Or: []job.Filter{{IDs: []string{"1", "2"}}}}, []string{"1"}},
			"nothing left": {job.Filter{Type: job.Referral}, nil},
		} {
			f.filter.Limit = 10
			page, total, err := jobdb.Jobs(t.Context(), b.db.Reads, b.tenant, f.filter)
			require.NoError(t, err, name)
			var got []string
			for _, j := range page {
				got = append(got, j.ID)
			}
			require.Equal(t, f.want, got, name)
			require.Equal(t, len(f.want), total, name)
		}
		page, total, err := jobdb.Jobs(t.Context(), b.db.Reads, b.tenant, job.Filter{Limit: 1, Offset: 1})
		require.NoError(t, err)
		require.Equal(t, 4, total)
		require.Equal(t, "2", page[0].ID)
	})
}

func TestDeleteOldJobs(t *testing.T) {
	t.Parallel()
	b := onFile(t) // DeleteOldJobs deletes jobs of all tenants
	b.insertJobs(t, aJob("old", now), aJob("kept", now), aJob("pending", 1))
	for id, expires := range map[string]core.Time{"old": now + 5, "kept": now + 6} {
		c := b.leaseJob(t, id)
		c.Status, c.Completed, c.Expires = job.Completed, now, expires
		b.write(t, func(ctx context.Context, tx *store.Tx) error { _, err := jobdb.FinishJob(ctx, tx, c); return err })
	}
	b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.DeleteOldJobs(ctx, tx, now+5) })
	page, _, err := jobdb.Jobs(t.Context(), b.db.Reads, b.tenant, job.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, "kept", page[0].ID)
}

func TestFile_RoundTrip(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		want := jobdb.File{Tenant: b.tenant, Ref: core.FileRef(awkward[1]), Size: -1, Created: 5, Expires: 9}
		b.insertFile(t, jobdb.File{Tenant: want.Tenant, Ref: want.Ref, Created: want.Created, Expires: want.Expires})
		check := func(want jobdb.File) {
			got, ok, err := jobdb.FindFile(t.Context(), b.db.Reads, b.tenant, want.Ref)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, want, got)
		}
		check(want)
		want.Size, want.Hash = 1<<40, "h"
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.FinishFile(ctx, tx, want) })
		check(want)
		for _, until := range []core.Time{8, 12, 11} {
			b.write(t, func(ctx context.Context, tx *store.Tx) error {
				return jobdb.ExtendFile(ctx, tx, b.tenant, want.Ref, until)
			})
		}
		want.Expires = 12
		check(want)
		_, ok, err := jobdb.FindFile(t.Context(), b.db.Reads, newTenant(t, b.db), want.Ref)
		require.NoError(t, err)
		require.False(t, ok, "of another tenant")

		old, err := jobdb.ExpiredFiles(t.Context(), b.db.Reads, 11, 1000)
		require.NoError(t, err)
		require.NotContains(t, old, jobdb.File{Tenant: b.tenant, Ref: want.Ref})
		old, err = jobdb.ExpiredFiles(t.Context(), b.db.Reads, 12, 1000)
		require.NoError(t, err)
		require.Contains(t, old, jobdb.File{Tenant: b.tenant, Ref: want.Ref})
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.DeleteFile(ctx, tx, b.tenant, want.Ref) })
		_, ok, err = jobdb.FindFile(t.Context(), b.db.Reads, b.tenant, want.Ref)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

func (b bundle) insertFile(t *testing.T, f jobdb.File) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		ok, err := jobdb.InsertFile(ctx, tx, f, jobdb.Quota{})
		require.True(t, ok)
		return err
	})
}

func TestExpireFile(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.insertFile(t, jobdb.File{Tenant: b.tenant, Ref: "f", Created: now, Expires: now + 1000})
		b.write(t, func(ctx context.Context, tx *store.Tx) error { return jobdb.ExpireFile(ctx, tx, b.tenant, "f") })
		got, _, err := jobdb.FindFile(t.Context(), b.db.Reads, b.tenant, "f")
		require.NoError(t, err)
		require.Equal(t, now, got.Expires)
	})
}

// insertSampleData stores two users, one of whom referred the other, the rewards of
// both, and an event.
func insertSampleData(t *testing.T, b bundle) {
	t.Helper()
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		require.NoError(t, putUser(ctx, tx, b.tenant, "ann-inc", "ann"))
		require.NoError(t, putUser(ctx, tx, b.tenant, "bob-inc", "bob"))
		require.NoError(t, rowtest.PutReferral(ctx, tx, b.tenant, referral.Referral{
			ID: "r1", Program: core.ClassicProgram, State: referral.Converted, Code: "ANN",
			Referrer:    referral.Identity{Account: "ann-inc", User: "ann"},
			Referred:    referral.Identity{Account: "bob-inc", User: "bob"},
			ShareMedium: "EMAIL", Started: now - 5, Converted: now,
		}))
		for _, r := range []reward.Reward{
			{ID: "w1", Account: "ann-inc", User: "ann", Program: core.ClassicProgram, Referral: "r1", Source: reward.FriendSignup,
				Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 1000, Currency: "USD"}, Sums: reward.Sums{Redeemed: 300}, Created: now, Given: now},
			{ID: "w2", Account: "bob-inc", User: "bob", Program: core.ClassicProgram, Referral: "r1", Source: reward.Referred,
				Offer: reward.Offer{Kind: reward.PercentDiscount, Unit: "%", Percent: 1250}, Created: now, Given: now},
			{ID: "w3", Account: "ann-inc", User: "ann", Program: core.ClassicProgram, Referral: "r2", Source: reward.FriendSignup,
				Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 50, Currency: "USD"}, Created: now, Given: now, Cancelled: now + 7,
				Sums: reward.Sums{Cancelled: 50}},
		} {
			require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, r))
		}
		return nil
	})
	_, err := b.raw(t).ExecContext(t.Context(), `INSERT INTO event (tenant, id, account_id, user_id, key, fields, triggered_at,
		received_at, processed_at) VALUES (?, 'e1', 'ann-inc', 'ann', 'purchase', '{"revenue":1.10}', ?, ?, ?)`,
		string(b.tenant), int64(now), int64(now), int64(now))
	require.NoError(t, err)
}

func (b bundle) exported(t *testing.T, typ job.Type, p job.Params) [][]string {
	t.Helper()
	page, _, err := jobdb.ExportPage(t.Context(), b.db.Reads, b.tenant, typ, p, nil, 100)
	require.NoError(t, err)
	count, err := jobdb.ExportCount(t.Context(), b.db.Reads, b.tenant, typ, p, 100)
	require.NoError(t, err)
	require.Equal(t, len(page), count)
	return page
}

// A balance counts only what can be used now: not what is held, given later, expired
// or cancelled.
func TestExportPage_BalanceIsWhatIsAvailable(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			for i, change := range []func(*reward.Reward){
				func(*reward.Reward) {},
				func(w *reward.Reward) { w.Given, w.Held, w.Pending = 0, true, true },
				func(w *reward.Reward) { w.Given = now + 1 },
				func(w *reward.Reward) { w.Expires = now },
				func(w *reward.Reward) { w.Expires, w.Sums.Redeemed = now+1, 30 },
				func(w *reward.Reward) { w.Cancelled, w.Sums.Cancelled = now, 100 },
				func(w *reward.Reward) { w.Offer.Unit, w.Offer.Currency = "POINT", "USD" },
				func(w *reward.Reward) { w.Offer.Unit, w.Offer.Currency = "POINT", "EUR" },
				func(w *reward.Reward) { w.Offer.Currency = "USD" },
				// A debt.
				func(w *reward.Reward) { w.Order, w.Sums = "o-1", reward.Sums{Redeemed: 100, Reversed: 100} },
			} {
				w := reward.Reward{
					ID: strconv.Itoa(i), Account: "a", User: "u", Source: reward.Manual, Created: now, Given: now,
					Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 100},
				}
				change(&w)
				require.NoError(t, rowtest.InsertReward(ctx, tx, b.tenant, w))
			}
			return nil
		})
		require.Equal(t, [][]string{
			{"u", "a", "", "", "", "CREDIT", "170", "CENTS", "~USD"}, {"u", "a", "", "", "", "CREDIT", "100", "POINT", "EUR"},
			{"u", "a", "", "", "", "CREDIT", "100", "POINT", "USD"},
		}, b.exported(t, job.UserRewardBalance, job.Params{At: now}))
	})
}

func TestExportPage_Cells(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		insertSampleData(t, b)
		b.write(t, func(ctx context.Context, tx *store.Tx) error {
			// A debt of a later order.
			return rowtest.InsertReward(ctx, tx, b.tenant, reward.Reward{
				ID: "w4", Account: "ann-inc", User: "ann", Program: core.ClassicProgram, Referral: "r1", Order: "o-2", Source: reward.FriendSignup,
				Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 500, Currency: "USD"}, Created: now + 1, Given: now + 1,
				Refunded: 300, Sums: reward.Sums{Redeemed: 500, Reversed: 300, Settled: -100},
			})
		})
		at := strconv.FormatInt(int64(now), 10)
		before, next, later := strconv.FormatInt(int64(now-5), 10), strconv.FormatInt(int64(now+1), 10), strconv.FormatInt(int64(now+7), 10)
		for typ, want := range map[job.Type][][]string{
			job.User: {
				{"ann", "ann-inc", "", "", "", "", "", "", at, "", "", "", "", "", "", "", ""},
				{"bob", "bob-inc", "", "", "", "", "", "", at, "", "EMAIL", "", "", "", "", "", ""},
			},
			job.UserReferral: {
				{"ann", "ann-inc", "", "", "", at, "", "", "", "", "", "", "", ""},
				{"bob", "bob-inc", "", "", "", at, "r1", "classic", "ANN", "ann", "ann-inc", before, at, ""},
			},
			job.Referral: {
				{"r1", "classic", "bob", "bob-inc", "w2", "APPROVED", "ann", "ann-inc", "w1", "APPROVED", before, at, at, "", before},
			},
			job.Reward: {
				{"w1", "CREDIT", "ann-inc", "ann", "classic", "r1", "FRIEND_SIGNUP", "CENTS", "", "1000", "300", "USD", at, at, "", "", "", "", "", "0", "0"},
				{"w2", "PCT_DISCOUNT", "bob-inc", "bob", "classic", "r1", "REFERRED", "%", "1250", "", "", "", at, at, "", "", "", "", "0", "", ""},
				{"w3", "CREDIT", "ann-inc", "ann", "classic", "r2", "FRIEND_SIGNUP", "CENTS", "", "50", "0", "USD", at, at, "", "", later, "", "", "0", "0"},
				{"w4", "CREDIT", "ann-inc", "ann", "classic", "r1", "FRIEND_SIGNUP", "CENTS", "", "500", "500", "USD", next, next, "", "", "", "o-2", "", "300", "-100"},
			},
			job.RewardBalance: {
				{"ann", "ann-inc", "CREDIT", "500", "CENTS"}, {"bob", "bob-inc", "PCT_DISCOUNT", "12.5", "%"},
			},
			job.UserRewardBalance: {
				{"ann", "ann-inc", "", "", "", "CREDIT", "500", "CENTS", "~USD"}, {"bob", "bob-inc", "", "", "", "PCT_DISCOUNT", "12.5", "%", ""},
			},
			job.RedeemableRewardBalance: {
				{"ann-inc", "ann", "", "", "", "CREDIT", "CENTS", "500", "~USD"}, {"bob-inc", "bob", "", "", "", "PCT_DISCOUNT", "%", "12.5", ""},
			},
			job.UserEvent: {{"ann-inc", "ann", "e1", "purchase", at, at, at, `{"revenue":1.10}`, "", "1.10", ""}},
		} {
			require.Equal(t, want, b.exported(t, typ, job.Params{At: now}), typ)
		}
	})
}

// An export of referrals has the moderation of each side and its time. A decision
// updates the referral, so an export of changed referrals includes it.
func TestExportPage_ModerationOfEachSide(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		insertSampleData(t, b)
		const decided = now + 9
		require.NoError(t, b.db.Write(t.Context(), decided, func(tx *store.Tx) error {
			r, err := referraldb.ByID(t.Context(), tx.Reads, b.tenant, "r1")
			if err != nil {
				return err
			}
			r.Moderation = r.Moderation.Decide(referral.DenyReferrer, tx.Now)
			r.Moderation.Referred.Status = referral.SidePending
			return rowtest.PutReferral(t.Context(), tx, b.tenant, *r)
		}))
		at, before := strconv.FormatInt(int64(now), 10), strconv.FormatInt(int64(now-5), 10)
		require.Equal(t, [][]string{
			{"r1", "classic", "bob", "bob-inc", "w2", "PENDING", "ann", "ann-inc", "w1", "DENIED", before, at, at, "", strconv.FormatInt(int64(decided), 10)},
		}, b.exported(t, job.Referral, job.Params{Updated: core.Span{From: decided}}))
	})
}

// A window includes its start and excludes its end. A balance was changed when any of
// its rewards was last changed.
func TestExportPage_Windows(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		insertSampleData(t, b)
		for name, c := range map[string]struct {
			typ    job.Type
			params job.Params
			want   int
		}{
			"users from":           {job.User, job.Params{Created: core.Span{From: now}}, 2},
			"users after":          {job.User, job.Params{Created: core.Span{From: now + 1}}, 0},
			"users before":         {job.User, job.Params{Created: core.Span{Before: now}}, 0},
			"users updated":        {job.User, job.Params{Updated: core.Span{From: now, Before: now + 1}}, 2},
			"referral created":     {job.Referral, job.Params{Created: core.Span{From: now}}, 0},
			"referral changed":     {job.Referral, job.Params{Changed: core.Span{From: now}}, 1},
			"balances changed":     {job.RewardBalance, job.Params{Changed: core.Span{From: now + 1}}, 1},
			"balances created":     {job.RewardBalance, job.Params{Created: core.Span{From: now + 1}}, 0},
			"program":              {job.Reward, job.Params{Program: core.ClassicProgram}, 3},
			"another program":      {job.Reward, job.Params{Program: "other"}, 0},
			"users of a program":   {job.UserReferral, job.Params{Program: core.ClassicProgram}, 1},
			"events by key":        {job.UserEvent, job.Params{EventKeys: []string{"a", "purchase"}}, 1},
			"events of other keys": {job.UserEvent, job.Params{EventKeys: []string{"a", "b"}}, 0},
			"balances of a unit":   {job.RedeemableRewardBalance, job.Params{Unit: "%"}, 1},
			"balances for people":  {job.RedeemableRewardBalance, job.Params{Dates: job.DatesLocal}, 1},
		} {
			require.Len(t, b.exported(t, c.typ, c.params), c.want, name)
		}
	})
}

// All pages together have every row once, whatever the page size.
func TestExportPage_Pages(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		insertSampleData(t, b)
		for _, typ := range job.Types() {
			if typ.Import() {
				continue
			}
			all := b.exported(t, typ, job.Params{})
			for size := range len(all) {
				var got [][]string
				var after []string
				for {
					page, last, err := jobdb.ExportPage(t.Context(), b.db.Reads, b.tenant, typ, job.Params{}, after, size+1)
					require.NoError(t, err)
					got = append(got, page...)
					if len(page) <= size {
						break
					}
					after = last
				}
				require.Equal(t, all, got, "%s in pages of %d", typ, size+1)
			}
			count, err := jobdb.ExportCount(t.Context(), b.db.Reads, b.tenant, typ, job.Params{}, 1)
			require.NoError(t, err)
			require.Equal(t, min(1, len(all)), count, typ)
		}
	})
}

// A snapshot does not see later writes, and does not block them.
func TestSnapshot_IsOfOneMoment(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		insertSampleData(t, b)
		require.NoError(t, b.db.Snapshot(t.Context(), func(r store.Reads) error {
			for range 2 {
				page, _, err := jobdb.ExportPage(t.Context(), r, b.tenant, job.User, job.Params{}, nil, 100)
				require.NoError(t, err)
				require.Len(t, page, 2)
				b.write(t, func(ctx context.Context, tx *store.Tx) error { return putUser(ctx, tx, b.tenant, "carl-inc", "carl") })
			}
			return nil
		}))
		require.Len(t, b.exported(t, job.User, job.Params{}), 3)
		require.Equal(t, errTest, b.db.Snapshot(t.Context(), func(store.Reads) error { return errTest }))
	})
}

// The columns that a tenant chose are kept by type and header, of the newest headers.
func TestColumns(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		header := func(n int) string { return strings.Repeat("0", 60) + strconv.Itoa(1000+n) }
		put := func(n int, at core.Time, columns string) {
			require.NoError(t, b.db.Write(t.Context(), at, func(tx *store.Tx) error {
				return jobdb.PutColumns(t.Context(), tx, b.tenant, job.ImportUser, header(n), columns)
			}))
		}
		find := func(tenant core.TenantAlias, typ job.Type, n int) string {
			columns, err := jobdb.Columns(t.Context(), b.db.Reads, tenant, typ, header(n))
			require.NoError(t, err)
			return columns
		}
		for n := range jobdb.MostColumns {
			put(n, now+core.Time(n), `{}`)
		}
		put(0, now+jobdb.MostColumns, `{"id":"E-Mail"}`)
		put(jobdb.MostColumns, now+jobdb.MostColumns+1, `{}`)
		require.Equal(t, `{"id":"E-Mail"}`, find(b.tenant, job.ImportUser, 0))
		require.Empty(t, find(b.tenant, job.ImportUser, 1), "it was not used for longest")
		require.Equal(t, `{}`, find(b.tenant, job.ImportUser, 2))
		require.Empty(t, find(b.tenant, job.ImportDelete, 0))
		require.Empty(t, find("rival", job.ImportUser, 0))
	})
}
