package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/eventdb"
)

// baseline measures a transaction that inserts one row: the least that a use case
// can cost on a database. Compare results of different machines as multiples of it.
func baseline(b *testing.B, in bundle) {
	db := in.raw(b)
	db.SetMaxOpenConns(1)
	exec := func(statement string, args ...any) {
		if _, err := db.ExecContext(b.Context(), statement, args...); err != nil {
			b.Fatal(err)
		}
	}
	if strings.HasPrefix(in.url, "file:") {
		exec(`PRAGMA synchronous = NORMAL`)
	}
	exec(`CREATE TABLE IF NOT EXISTS baseline (a INTEGER PRIMARY KEY, b TEXT)`)
	for b.Loop() {
		exec(`BEGIN IMMEDIATE`)
		exec(`INSERT INTO baseline (b) VALUES (?)`, "text")
		exec(`COMMIT`)
	}
}

// everyBench runs a benchmark, and the baseline, on a file and on a server.
func everyBench(b *testing.B, bench func(*testing.B, bundle)) {
	for _, end := range []struct {
		name string
		open func(testing.TB) bundle
	}{{"file", onFile}, {"server", onServer}} {
		b.Run(end.name+"/baseline", func(b *testing.B) { baseline(b, end.open(b)) })
		b.Run(end.name, func(b *testing.B) { bench(b, end.open(b)) })
	}
}

func BenchmarkAppendIntake(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		for b.Loop() {
			if err := appendOne(b.Context(), in.db, in.tenant, "", now); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Concurrent callers share transactions.
func BenchmarkAppendIntake_ManyAtOnce(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		var appends eventdb.Appends
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := appends.Append(b.Context(), in.db, in.tenant, batchOf("", now, 1)); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// Calls of one event, in batches as the worker takes them.
func BenchmarkProcessIntake(b *testing.B) {
	everyBench(b, func(b *testing.B, in bundle) {
		const calls = 500
		in.write(b, func(ctx context.Context, tx *store.Tx) error { return putUser(ctx, tx, in.tenant, "a", "u") })
		raw := in.raw(b)
		_, err := raw.ExecContext(b.Context(), `UPDATE intake_cursor SET seq = (SELECT coalesce(max(seq), 0) FROM intake)`)
		require.NoError(b, err)
		var rows int
		var busy, locked time.Duration
		for b.Loop() {
			b.StopTimer()
			_, err := raw.ExecContext(b.Context(), `INSERT INTO intake (tenant, account_id, user_id, events, received_at)
				WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
				SELECT ?, 'a', 'u', json_array(json_object('id', printf('%024x', ? + n), 'key', 'purchase',
					'fields', json_object('revenue', 9.99, 'currency', 'USD'), 'dateTriggered', 1)), ? FROM n`,
				calls, string(in.tenant), rows, int64(now)) // ids sort by time, as real ones do
			require.NoError(b, err)
			b.StartTimer()
			start := time.Now()
			batch, err := eventdb.NextBatch(b.Context(), in.db.Reads, calls)
			require.NoError(b, err)
			read := time.Now()
			err = in.db.Write(b.Context(), now, func(tx *store.Tx) error {
				done, err := eventdb.ProcessBatch(b.Context(), tx, batch)
				rows += done.Events
				return err
			})
			require.NoError(b, err)
			busy += time.Since(start)
			locked += time.Since(read)
		}
		require.Equal(b, b.N*calls, rows)
		b.ReportMetric(float64(rows)/busy.Seconds(), "rows/s")
		b.ReportMetric(float64(locked.Microseconds())/1000/float64(b.N), "ms-locked")
	})
}
