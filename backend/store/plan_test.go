package store

import (
	"context"
	"database/sql"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/referral"
	"kith/core/reward"
)

// explained is a database that fails the test at a query that looks at more
// rows than it has to: all of a table, or all of a tenant.
type explained struct {
	*sql.DB
	t *testing.T
}

var tooMany = regexp.MustCompile(`^SCAN [a-z]|\(tenant=\?\)`)

func (e explained) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	e.explain(query, args)
	return e.DB.QueryContext(ctx, query, args...)
}

func (e explained) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	e.explain(query, args)
	return e.DB.QueryRowContext(ctx, query, args...)
}

func (e explained) explain(query string, args []any) {
	rows, err := e.DB.QueryContext(e.t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	require.NoError(e.t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(e.t, rows.Scan(&id, &parent, &unused, &step))
		require.NotRegexp(e.t, tooMany, step, query)
	}
	require.NoError(e.t, rows.Err())
}

// What a call reads must not grow with what a tenant has, least of all while it
// holds the write lock. Lists of everything are not meant.
func TestReads_FindByIndex(t *testing.T) {
	t.Parallel()
	p, err := Open("file:"+filepath.Join(t.TempDir(), "kith.db"), "")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Migrate(t.Context(), 1))
	r, ctx := Reads{explained{p.read, t}}, t.Context()
	for _, read := range []func() error{
		func() error { _, _, err := r.Account(ctx, "t", "a"); return err },
		func() error { _, err := r.AccountOfProvider(ctx, "t", "p"); return err },
		func() error { _, _, err := r.User(ctx, "t", "a", "u"); return err },
		func() error { _, err := r.UserKnown(ctx, "t", "a", "u"); return err },
		func() error { _, _, err := r.FirstUser(ctx, "t", "a"); return err },
		func() error { _, _, err := r.Code(ctx, "t", "c"); return err },
		func() error { _, err := r.ReferralOf(ctx, "t", "a"); return err },
		func() error { return r.attachRewards(ctx, "t", []referral.Referral{{ID: "1"}, {ID: "2"}}) },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ID: "r"}); return err },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ReferredAccount: "a"}); return err },
		func() error { _, _, err := r.Referrals(ctx, "t", referral.Filter{ReferrerAccount: "a"}); return err },
		func() error {
			_, _, err := r.Referrals(ctx, "t", referral.Filter{ReferrerAccount: "a", ReferrerUser: "u"})
			return err
		},
		func() error { _, err := r.Rewards(ctx, "t", "a", "u", reward.Credit); return err },
		func() error { _, _, err := r.Decisions(ctx, "t", "a", 1, 0); return err },
	} {
		require.NoError(t, read())
	}
}
