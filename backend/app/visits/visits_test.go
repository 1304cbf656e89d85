package visits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
)

// day is a moment at which a day begins.
const day = 20_000 * core.Day

func follow(code string) link.Followed {
	return link.Followed{Tenant: "shop", Program: "classic", Code: core.ReferralCode(code), By: link.Person}
}

// table stores batches as the database does: a batch once.
type table struct {
	mu     sync.Mutex
	ids    map[string]bool
	sums   map[link.Followed]int64
	days   map[core.Time]int64
	calls  int
	answer func(call int) error
}

func (s *table) store(_ context.Context, b analytics.VisitBatch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	err := s.answer(s.calls)
	if errors.Is(err, errRefused) {
		return err
	}
	if !s.ids[b.ID] {
		s.ids[b.ID] = true
		for _, v := range b.Visits {
			s.sums[v.Followed] += v.Times
			s.days[v.Day] += v.Times
		}
	}
	return err
}

var (
	errRefused = errors.New("refused")     // the batch was not stored
	errLost    = errors.New("answer lost") // it was stored
)

func newTable(answer func(call int) error) *table {
	return &table{ids: map[string]bool{}, sums: map[link.Followed]int64{}, days: map[core.Time]int64{}, answer: answer}
}

func (s *table) total() (n int64) {
	for _, times := range s.sums {
		n += times
	}
	return n
}

func always(int) error { return nil }

func fixed(now *core.Time) func() core.Time { return func() core.Time { return *now } }

func TestCounter_StoresEachVisitOnce(t *testing.T) {
	now := day + 5
	// Of four attempts one succeeds; two of the others store the batch, too.
	s := newTable(func(call int) error { return []error{errLost, errRefused, errLost, nil}[call%4] })
	c := New(fixed(&now), s.store)
	var counting sync.WaitGroup
	for range 8 {
		counting.Go(func() {
			for i := range 2000 {
				c.Add(follow(fmt.Sprint("CODE", i%700)))
				if i%100 == 0 {
					_ = c.Flush(t.Context())
				}
			}
		})
	}
	counting.Wait()
	for c.Flush(t.Context()) != nil {
	}
	require.EqualValues(t, 16_000, s.total())
	require.EqualValues(t, 24, s.sums[follow("CODE1")])
	require.Equal(t, Stats{Counted: 16_000}, c.Stats())
}

func TestCounter_CountsForTheDay(t *testing.T) {
	now := day + core.Day - 1
	s := newTable(always)
	c := New(fixed(&now), s.store)
	c.Add(follow("ANNA10"))
	c.Add(link.Followed{})
	now++
	c.Add(follow("ANNA10"))
	c.Add(follow("ANNA10"))
	require.NoError(t, c.Flush(t.Context()))
	require.Equal(t, map[core.Time]int64{day: 1, day + core.Day: 2}, s.days)
	require.NoError(t, c.Flush(t.Context()))
	require.Equal(t, 1, s.calls, "nothing to store")
}

// With too many different counts a visit counts for its program, and at last for
// nothing. Existing counts continue to grow.
func TestCounter_IsBounded(t *testing.T) {
	now, s := day, newTable(always)
	c := New(fixed(&now), s.store)
	for i := range maxCounts + 5 {
		c.Add(follow(fmt.Sprint(i)))
	}
	c.Add(follow("7"))
	require.Equal(t, Stats{Counted: maxCounts + 6, Folded: 5}, c.Stats())
	for i := range maxFolded + 3 {
		f := follow("X")
		f.Program = core.ProgramKey(fmt.Sprint("p", i))
		c.Add(f)
	}
	require.Equal(t, Stats{Counted: maxCounts + 6 + maxFolded - 1, Folded: 5 + maxFolded - 1, Lost: 4}, c.Stats())
	require.NoError(t, c.Flush(t.Context()))
	require.EqualValues(t, 2, s.sums[follow("7")])
	require.EqualValues(t, 5, s.sums[follow("")])
	require.Equal(t, (maxCounts+maxFolded)/batchSize, s.calls)
}

// While nothing can be stored, memory stays bounded and nothing is lost; after a failure
// an attempt waits longer each time.
func TestCounter_WaitsForTheDatabase(t *testing.T) {
	now, down := day, true
	s := newTable(func(int) error {
		if down {
			return errRefused
		}
		return nil
	})
	c := New(fixed(&now), s.store)
	for range 600 { // 10 minutes
		c.Add(follow("ANNA10"))
		_ = c.Tick(t.Context())
		now += core.Second
	}
	require.Less(t, s.calls, 26)
	require.LessOrEqual(t, len(c.batches), 1)
	require.Len(t, c.counts, 1)
	down = false
	now += maxPause
	require.NoError(t, c.Tick(t.Context()))
	require.EqualValues(t, 600, s.total())
}

// A process that stops tries to store its counts until its time is over, and says what is lost.
func TestCounter_StopTriesAgain(t *testing.T) {
	t.Parallel()
	s := newTable(func(call int) error {
		if call < 3 {
			return errRefused
		}
		return nil
	})
	c := New(func() core.Time { return day }, s.store)
	c.Add(follow("A"))
	require.NoError(t, c.Stop(t.Context()))
	require.EqualValues(t, 1, s.sums[follow("A")])

	s.answer = func(int) error { return errRefused }
	c.Add(follow("A"))
	c.Add(follow("A"))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.ErrorContains(t, c.Stop(stopped), "2 visits of share links are lost")
}

// A batch that is older than the memory of its id is lost, and not stored twice.
func TestCounter_LosesAnOldBatch(t *testing.T) {
	now := day
	s := newTable(func(call int) error { return []error{nil, errLost, nil}[call] })
	c := New(fixed(&now), s.store)
	c.Add(follow("ANNA10"))
	require.ErrorIs(t, c.Flush(t.Context()), errLost)
	c.Add(follow("BEN20"))
	now += analytics.BatchLife
	require.NoError(t, c.Flush(t.Context()))
	require.Equal(t, map[link.Followed]int64{follow("ANNA10"): 1, follow("BEN20"): 1}, s.sums)
	require.Equal(t, Stats{Counted: 1, Lost: 1}, c.Stats(), "the counter cannot know that the batch was stored")
}
