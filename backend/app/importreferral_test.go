package app_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/tabledb"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/job"
	"kith/core/referral"
)

// An import of referred users, by existing codes and codes of the same file, stores the
// same rows as calls with its rows: referrals, decisions, signs of fraud, rewards and
// webhook events.
func TestImport_ReferralsEqualCalls(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		for _, seed := range testenv.Seeds(t) {
			b.requireReferralsAreCalls(t, 2*seed)
			if b.DB.Embedded() { // calls take long on a server
				b.requireReferralsAreCalls(t, 2*seed+1)
			}
		}
	})
}

func (b bundle) requireReferralsAreCalls(t *testing.T, seed uint64) {
	t.Helper()
	calls, file := bundleOn(t, b.DB), bundleOn(t, b.DB)
	for _, one := range []bundle{calls, file} {
		one.prepareReferrals(t, seed)
		if (seed+seed/4)%2 == 1 { // all pairs of settings and webhooks in eight seeds
			one.subscribe(t, hook)
			defer func() { require.NoError(t, one.Webhooks.Unsubscribe(t.Context(), one.tenant, hook)) }()
		}
	}
	requireSame(t, calls.contents(t), file.contents(t), "two new tenants are equal")
	r := rand.New(rand.NewPCG(seed, 11))
	for round := range 2 {
		rows := referredRows(r)
		var refused, failed [][]string
		for i, row := range rows {
			if message := calls.call(t, row); message != "" {
				refused = append(refused, []string{strconv.Itoa(i + 1), message})
			}
		}
		done := file.imported(t, job.ImportUser, "rows.jsonl", strings.Join(rows, "\n"), "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		if done.Stats.Errors > 0 {
			for _, row := range file.rows(t, done.ID, job.ErrorsFile)[1:] {
				failed = append(failed, row[:2])
			}
		}
		require.Equal(t, refused, failed)
		requireSame(t, calls.contents(t), file.contents(t), "seed %d, round %d", seed, round)
		calls.pass(20 * core.Minute)
		file.pass(20 * core.Minute)
	}
}

// requireSame compares two lists in any order, and shows only the differences.
func requireSame(t *testing.T, want, got []string, args ...any) {
	t.Helper()
	less := func(all, of []string) (left []string) {
		times := map[string]int{}
		for _, s := range of {
			times[s]++
		}
		for _, s := range all {
			if times[s]--; times[s] < 0 {
				left = append(left, s)
			}
		}
		return left
	}
	require.Equal(t, less(want, got), less(got, want), args...)
}

// prepareReferrals creates data for the rows of referredRows: an account without a user,
// one that has paid, owners of codes who have referred others, and one who is blocked. The
// seed selects limits and fraud handling.
func (b bundle) prepareReferrals(t *testing.T, seed uint64) {
	t.Helper()
	b.sync(t, "waits", referral.Trial, "ANNA10")
	b.sync(t, "paidlate", referral.Paid, "bert20")
	b.sync(t, "closed", referral.Paid, "")
	b.owner(t, "carl", "CARL30")
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "carl", "u", ""))
	b.identify(t, "before", claim(referral.SourceCodes, "ANNA10"))
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		switch seed % 4 {
		case 0:
			p.Fraud.DailyRewards = 1
		case 1:
			p.Limits.Total = 2
		case 2:
			p.Fraud.Handling = referral.HandlePending
		}
		return nil
	})
	require.NoError(t, err)
}

// A file whose friends come before their referrers is imported twice, as the documents say: then
// all are referred and converted. A row without a code reports a payment.
func TestImport_FriendsBeforeTheReferrer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	rows := `{"accountId":"friend","id":"u","referredBy":{"code":"LATER1","isConverted":true}}
{"accountId":"payer","id":"u","referredBy":{"isConverted":true}}
{"accountId":"late","id":"u","referralCode":"LATER1"}
`
	for range 2 {
		done := b.imported(t, job.ImportUser, "rows.jsonl", rows, "{}")
		require.Zero(t, done.Stats.Errors)
	}
	require.Equal(t, referral.Converted, b.state(t, "friend"))
	require.NotNil(t, b.referral(t, "friend").ReferrerReward)
	payer, err := b.Accounts.ByID(t.Context(), b.tenant, "payer")
	require.NoError(t, err)
	require.Equal(t, referral.Paid, payer.Status)
}

// referredRows returns random rows of users. Most were referred, by a few referrers, and
// some share an account, an address or a code.
func referredRows(r *rand.Rand) (rows []string) {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	for i := range 70 {
		account := pick("waits", "paidlate", "closed", "before", "a"+strconv.Itoa(r.IntN(30)), "b"+strconv.Itoa(r.IntN(1000)))
		row := `{"accountId":"` + account + `","id":"` + pick("u", "u", "v") + `","firstName":"` + pick("Ann", "Bob") + `","lastName":"L` + strconv.Itoa(r.IntN(20)) + `"`
		for _, part := range []struct {
			one  int
			text string
		}{
			{2, `,"referredBy":{"code":"` + pick("ANNA10", "bert20", "CARL30", "FILE"+strconv.Itoa(r.IntN(12)), "NOBODY") + `"}`},
			{9, `,"referredBy":{"code":"` + pick("anna10", "BERT20", "file"+strconv.Itoa(r.IntN(12))) + `","isConverted":true}`},
			{6, `,"referralCodes":{"classic":"FILE` + strconv.Itoa(r.IntN(12)) + `"}`},
			{9, `,"referredByCodes":["` + pick("NOBODY", "FILE1") + `","ANNA10"]`}, {12, `,"referral_code":"BERT20"`},
			{4, `,"email":"` + pick("anna@example.com", "bert@example.org", "p"+strconv.Itoa(i)+"@mailinator.com") + `"`},
			{12, `,"referable":false`}, {20, `,"paymentProviderId":"p` + strconv.Itoa(i) + `"`},
		} {
			if r.IntN(part.one) == 0 && (!strings.Contains(part.text, `"referredBy"`) || !strings.Contains(row, `"referredBy"`)) {
				row += part.text
			}
		}
		rows = append(rows, row+"}")
	}
	return rows
}

// contents returns all rows of a tenant except those of its jobs, without random values,
// sorted.
func (b bundle) contents(t *testing.T) (lines []string) {
	t.Helper()
	random := regexp.MustCompile(`\b[0-9a-f]{24}\b|\b[2-9A-HJ-NP-Z]{8}\b|"(rowid|seq|sequence|resourceVersion)\\?":\d+|` + string(b.tenant) + `\b`)
	tables, err := tabledb.Tables(t.Context(), b.DB.Reads)
	require.NoError(t, err)
	for _, table := range tables {
		if slices.Contains(tabledb.ServiceTables, table.Name) || slices.Contains([]string{"tenant", "api_key", "site", "job", "job_part", "file", "program", "webhook_subscription", "webhook_delivery", "webhook_counter"}, table.Name) {
			continue
		}
		err := tabledb.Dump(t.Context(), b.DB.Reads, table, b.tenant, func(tabledb.Column) bool { return true }, func(line []byte) error {
			if text := string(line); !strings.Contains(text, `"job.completed"`) {
				lines = append(lines, table.Name+" "+random.ReplaceAllString(text, "*"))
			}
			return nil
		})
		require.NoError(t, err)
	}
	slices.Sort(lines)
	return lines
}
