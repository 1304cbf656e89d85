// Package sqltest checks SQL in tests: that a statement finds its rows with an index,
// and that it names the tenant of the rows that it reads or writes.
package sqltest

import (
	"context"
	"database/sql"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Explained is a database that fails the test if a query reads too many rows: all of a
// table, or all of a tenant.
type Explained struct {
	*sql.DB
	// T is the test that fails.
	T testing.TB
}

var (
	tooMany = regexp.MustCompile(`^SCAN [a-z]|\(tenant=\?\)`)
	// few matches steps that read few rows: lists that are arguments of the query, members of
	// a JSON value, tables of which a tenant has few rows (p is program, s is
	// webhook_subscription), those of which a query asks only whether there is a row, indexes
	// of what waits, has failed or is an exception, results with a limit, and those of the
	// full-text index, of whose terms 1537 and 1539 are ranges.
	few = regexp.MustCompile(`^SCAN (json_each|given|hit|top|found|start|member|part|wanted)\b|_waiting$|_(failed|problem|debt|pending|denied|blocked_rewards) \(tenant=\?\)$|^SEARCH (some|webhook_subscription|gateway_connection|gateway_key|program|user_range)\b|^SEARCH [ps] USING PRIMARY KEY \(tenant=\?\)$|^SEARCH (do_not_track|erased_account) USING PRIMARY KEY \(tenant=\?\)$|^SCAN user_index_term VIRTUAL TABLE INDEX 153[79]:$`)
)

// QueryContext explains a query and runs it.
func (e Explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.Explain(query, args)
	return e.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext explains a query and runs it.
func (e Explained) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	e.Explain(query, args)
	return e.DB.QueryRowContext(ctx, query, args...)
}

// Explain fails the test if a query reads too many rows.
func (e Explained) Explain(query string, args []any) {
	e.T.Helper()
	for _, step := range e.Plan(query, args) {
		if !few.MatchString(step) {
			require.NotRegexp(e.T, tooMany, step, query)
		}
	}
}

// Plan returns the steps of SQLite's query plan.
func (e Explained) Plan(query string, args []any) (steps []string) {
	e.T.Helper()
	rows, err := e.DB.QueryContext(e.T.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(e.T, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(e.T, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(e.T, rows.Err())
	return steps
}
