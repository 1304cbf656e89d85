package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds every wait of these tests. A test that passes never waits that long.
const deadline = 2 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, is func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, is, deadline, time.Millisecond, why...)
}
