package labkit_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/labkit"
)

var start = time.Date(2026, time.January, 31, 10, 0, 0, 0, time.UTC)

// A day that a month does not have becomes its last one, and the clock never goes back.
func TestClock(t *testing.T) {
	t.Parallel()
	machine := start
	c := labkit.Clock{Machine: func() time.Time { return machine }, Unit: time.Second}
	for _, step := range []struct{ by, to, want string }{
		{"30s", "", "2026-01-31T10:00:30Z"}, {"1m", "", "2026-02-28T10:00:30Z"}, {"2w", "", "2026-03-14T10:00:30Z"}, {"1y", "", "2027-03-14T10:00:30Z"},
		{"", "2027-05-31", "2027-05-31T00:00:00Z"}, {"13m", "", "2028-06-30T00:00:00Z"}, {"", "2028-07-01T02:00:00+02:00", "2028-07-01T00:00:00Z"},
	} {
		now, err := c.Advance(c.Now(start), step.by, step.to)
		require.NoError(t, err)
		require.Equal(t, step.want, now.Format(time.RFC3339), step)
		require.Equal(t, now, c.Now(start))
	}
	for _, step := range [][2]string{{"", ""}, {"d", ""}, {"-1d", ""}, {"1x", ""}, {"3y", ""}, {"", "2026-01-01"}, {"", "soon"}, {"1é", ""}} {
		_, err := c.Advance(c.Now(start), step[0], step[1])
		require.Error(t, err, step)
	}
	reached := c.Now(start)
	machine = start.AddDate(0, 0, -1)
	require.Equal(t, reached, c.Now(reached))
}

// reopen opens a journal, and returns the calls that it replays.
func reopen(t *testing.T, path string, at time.Time) (j *labkit.Journal, began time.Time, calls []string) {
	t.Helper()
	j, err := labkit.OpenJournal(path, at, func(start time.Time) { began = start }, func(l labkit.Line) error {
		calls = append(calls, l.Call)
		return nil
	})
	require.NoError(t, err)
	return j, began, calls
}

// A journal keeps its start and its commands. After a power cut it may end in an incomplete
// line, which was never answered: the next command takes its place.
func TestJournal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "journal")
	j, began, calls := reopen(t, path, start)
	require.Equal(t, start, began)
	require.Empty(t, calls)
	j.Append(labkit.Line{At: start, Call: "a"})
	require.NoError(t, j.Close())
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"at":"2026-01-01T10:00:00Z","call":"POST /lab/canc`)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	j, began, calls = reopen(t, path, start.AddDate(1, 0, 0))
	require.Equal(t, start, began)
	require.Equal(t, []string{"a"}, calls)
	j.Append(labkit.Line{At: start, Call: "b"})
	require.NoError(t, j.Close())
	j, _, calls = reopen(t, path, start)
	require.Equal(t, []string{"a", "b"}, calls)
	// A lab with an incomplete journal would have another state after a restart.
	require.NoError(t, j.Close())
	j.Append(labkit.Line{At: start, Call: "c"})
	require.ErrorIs(t, j.Close(), os.ErrClosed)

	j, began, _ = reopen(t, "", start)
	j.Append(labkit.Line{At: start, Call: "a"})
	require.Equal(t, start, began)
	require.NoError(t, j.Close(), "a journal that records nothing")
}
