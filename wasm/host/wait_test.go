package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds every wait of these tests. It is only ever spent on failure.
const deadline = 2 * time.Minute

// eventually waits for a condition.
func eventually(t testing.TB, is func() bool, why ...any) {
	t.Helper()
	require.Eventually(t, is, deadline, time.Millisecond, why...)
}
