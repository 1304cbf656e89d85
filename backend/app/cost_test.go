package app_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/store"
	"kith/core"
	"kith/core/job"
	"kith/core/reward"
	"kith/core/webhook"
)

// An imported user costs as many rows of tables and entries of indexes as are recorded here.
// Each takes time in every import, and room in every replica and backup.
func TestImport_CostsOfAUser(t *testing.T) {
	t.Parallel()
	const imported = 200
	for name, c := range map[string]struct {
		text          string
		rows, entries float64
	}{
		"a user":                              {manyUsers(imported), 3, 4.05},
		"a referred user":                     {referred(imported, 1, ""), 5, 15.05},
		"a user who is referred and converts": {referred(imported, 1, "true"), 9, 32.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := newBundle(t)
			in.imported(t, job.ImportUser, "owners.csv", owners(imported/10), "{}")
			rows, entries := in.entries(t)
			done := in.imported(t, job.ImportUser, "users.csv", c.text, "{}")
			require.Equal(t, job.Stats{Processed: imported}, done.Stats)
			rowsAfter, entriesAfter := in.entries(t)
			// A few rows more are those of the job.
			require.InDelta(t, c.rows, float64(rowsAfter-rows)/imported, 0.05, "rows")
			require.InDelta(t, c.entries, float64(entriesAfter-entries)/imported, 0.05, "entries of indexes")
		})
	}
}

// A batch sends as many statements as are recorded here, with BEGIN and COMMIT, whatever the
// number of its rows is: only those that a file stores as values are sent for each 32.
func TestBatches_Statements(t *testing.T) {
	t.Parallel()
	const rows = 64
	b := newBundle(t)
	var draws []reward.Draw
	var deletions []users.Deletion
	for i := range rows {
		account := "shop" + strconv.Itoa(i)
		b.identify(t, account)
		b.reward(t, points(account, 100))
		draws = append(draws, reward.Draw{Account: core.AccountID(account), Unit: "POINT", Amount: 1})
		deletions = append(deletions, users.Deletion{Account: core.AccountID(account), User: "u"})
	}
	queue := b.subscribe(t, hook)
	for range rows {
		_, err := b.Webhooks.Test(t.Context(), b.tenant, hook)
		require.NoError(t, err)
	}
	sent := 0
	b.DB.Observe = func(_ context.Context, wait, _ string) func(error) {
		if wait == "" {
			sent++
		}
		return nil
	}
	statements := func(what string, want int, do func() error) {
		t.Helper()
		sent = 0
		require.NoError(t, do(), what)
		require.Equal(t, want, sent, what)
	}
	var begun [][]webhooks.Sending
	statements("begin webhooks", 6, func() (err error) {
		begun, err = b.Deliveries.Begin(t.Context(), webhook.Slots{All: 64, PerQueue: 8, PerSlot: 8}, webhook.Busy{Quick: map[webhook.Queue]bool{queue: true}})
		return err
	})
	var made []webhooks.Sent
	for _, s := range slices.Concat(begun...) {
		made = append(made, webhooks.Sent{Sending: s, Attempt: webhook.Attempt{Number: s.Number, Started: start, Status: 200}})
	}
	require.Equal(t, rows, len(made))
	statements("record webhooks", 5, func() error { return second(b.Deliveries.End(t.Context(), made)) })
	require.NoError(t, b.Webhooks.Unsubscribe(t.Context(), b.tenant, hook))
	statements("redeem credit", 10, func() error {
		return b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			return second(b.Redemptions.DrawWithin(t.Context(), tx, b.tenant, draws))
		})
	})
	statements("delete users", 53, func() error {
		return b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			return second(b.Erasures.DeleteWithin(t.Context(), tx, b.tenant, deletions))
		})
	})
}

// entries returns the number of rows in all tables of a file, and of entries in all indexes,
// without those of the index of search terms: their number depends on when they are merged.
func (b bundle) entries(t *testing.T) (rows, entries int64) {
	count := func(query string) (n int64) {
		require.NoError(t, b.DB.QueryRowContext(t.Context(), query).Scan(&n), query)
		return n
	}
	tables, err := b.DB.Reads.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'user_index%' AND name NOT LIKE 'sqlite_%'`)
	require.NoError(t, err)
	var names []string
	for tables.Next() {
		var name string
		require.NoError(t, tables.Scan(&name))
		names = append(names, name)
	}
	require.NoError(t, tables.Err())
	for _, name := range names {
		rows += count(`SELECT count(*) FROM "` + name + `"`)
	}
	return rows, count(`SELECT sum(ncell) FROM dbstat WHERE name IN (SELECT name FROM sqlite_schema WHERE type = 'index')`)
}
