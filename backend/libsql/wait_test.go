package libsql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv/manualclock"
)

// deadline bounds every wait of these tests. A test that passes never waits that long.
const deadline = 2 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, is func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, is, deadline, time.Millisecond, why...)
}

// manual returns a clock that the test advances.
func manual(clk *manualclock.Clock) clock { return clock{clk.Now, clk.WithTimeout} }

// servers returns the servers of a database that is not a file.
func (d *Database) servers() *replicas { return d.source.(*replicas) }
