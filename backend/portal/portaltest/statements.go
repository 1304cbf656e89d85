package portaltest

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/core/people"
)

// CountStatements counts the statements with which the pages of the portal read from now
// on.
func (w *World) CountStatements() *atomic.Int64 {
	n := new(atomic.Int64)
	w.Engine.DB.Reads = store.NewReads(counted{w.Engine.DB.Reads, n})
	return n
}

// counted counts the statements of a database.
type counted struct {
	store.Reads
	n *atomic.Int64
}

func (c counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.Reads.QueryContext(ctx, query, args...)
}

func (c counted) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	c.n.Add(1)
	return c.Reads.QueryRowContext(ctx, query, args...)
}

func (c counted) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errors.ErrUnsupported // pages do not write with it
}

// SameStatements fails the test if a page takes another number of statements after the
// tenant has grown. n counts the statements.
func (b *Browser) SameStatements(t testing.TB, n *atomic.Int64, pages []string, grow func()) {
	t.Helper()
	b.Pass(people.FailuresShown) // pages soon after a sign-in read what was changed before it
	cost := func(page string) int64 {
		before := n.Load()
		require.Equal(t, http.StatusOK, b.Get(page).Status, page)
		return n.Load() - before
	}
	few := map[string]int64{}
	for _, page := range pages {
		few[page] = cost(page)
		require.Positive(t, few[page], page)
		t.Logf("%d statements: %s", few[page], page)
	}
	grow()
	for _, page := range pages {
		require.Equal(t, few[page], cost(page), page)
	}
}
