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
		require.True(t, n.Take("ann"))
	}
	require.True(t, n.Take("ben"), "names are counted apart")
	// Attempts while it is exhausted do not make it longer.
	for range 100 {
		require.False(t, n.Take("ann"))
	}
	n.Give("ann")
	require.True(t, n.Take("ann"), "an attempt that was given back")
	now = now.Add(61 * time.Second)
	require.True(t, n.Take("ann"), "the failures of the previous window count in part")
	require.False(t, n.Take("ann"))
	now = now.Add(2 * time.Minute)
	require.True(t, n.Take("ann"))
	require.True(t, n.Take("ann"))
	n.Succeed("ann")
	n.Give("ann")
	for range 3 {
		require.True(t, n.Take("ann"), "a success forgets the failures")
	}
	require.False(t, n.Take("ann"))
}

func TestNames_IsBounded(t *testing.T) {
	t.Parallel()
	n := NewNames(1, time.Minute, func() time.Time { return time.UnixMilli(0) })
	for i := range maxNames + 10 {
		n.Take(fmt.Sprint(i))
	}
	require.Len(t, n.failures.current, maxNames)
	require.False(t, n.Take("0"))
	require.False(t, n.Take(fmt.Sprint(maxNames)), "no name escapes the count")
	n.Give("1")
	require.True(t, n.Take(fmt.Sprint(maxNames)), "a name without attempts takes no room")
}
