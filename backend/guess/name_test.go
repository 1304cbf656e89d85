package guess

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNames_BoundsFailures(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(0)
	n := NewNames(3, time.Minute, func() time.Time { return now })
	for range 3 {
		require.False(t, n.Exhausted("ann"))
		n.Fail("ann")
	}
	require.True(t, n.Exhausted("ann"))
	require.False(t, n.Exhausted("ben"), "names are counted apart")
	// Attempts while it is exhausted do not make it longer.
	for range 100 {
		n.Fail("ann")
	}
	now = now.Add(61 * time.Second)
	require.False(t, n.Exhausted("ann"), "the failures of the previous window count in part")
	n.Fail("ann")
	require.True(t, n.Exhausted("ann"))
	now = now.Add(2 * time.Minute)
	require.False(t, n.Exhausted("ann"))
	n.Fail("ann")
	n.Fail("ann")
	n.Succeed("ann")
	n.Fail("ann")
	require.False(t, n.Exhausted("ann"), "a success forgets the failures")
}

func TestNames_IsBounded(t *testing.T) {
	t.Parallel()
	n := NewNames(1, time.Minute, func() time.Time { return time.UnixMilli(0) })
	for i := range maxNames + 10 {
		n.Fail(fmt.Sprint(i))
	}
	require.Len(t, n.current, maxNames)
	require.True(t, n.Exhausted("0"))
	require.False(t, n.Exhausted(fmt.Sprint(maxNames)))
}
