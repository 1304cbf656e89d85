// Package sqltest checks SQL: that a statement finds its rows by an index, and that it
// names the tenant whose rows it touches.
package sqltest

import (
	"context"
	"database/sql"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Explained is a database that fails the test at a query that looks at more
// rows than it has to: all of a table, or all of a tenant.
type Explained struct {
	*sql.DB
	T testing.TB
}

var (
	tooMany = regexp.MustCompile(`^SCAN [a-z]|\(tenant=\?\)`)
	// few are the lists that a call brings along, what a tenant has few of, an index
	// of what waits, and what the index of words found.
	few = regexp.MustCompile(`^SCAN (json_each|given|hit)\b|_waiting$|^SEARCH (webhook_subscription|gateway_connection|gateway_key|program)\b|^SCAN user_index VIRTUAL TABLE INDEX 0:M1$`)
)

// QueryContext runs a query that was explained.
func (e Explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.Explain(query, args)
	return e.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query that was explained.
func (e Explained) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	e.Explain(query, args)
	return e.DB.QueryRowContext(ctx, query, args...)
}

// Explain fails the test when a query looks at more rows than it has to.
func (e Explained) Explain(query string, args []any) {
	e.T.Helper()
	for _, step := range e.Plan(query, args) {
		if !few.MatchString(step) {
			require.NotRegexp(e.T, tooMany, step, query)
		}
	}
}

// Plan is what SQLite does for a query, step by step.
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
