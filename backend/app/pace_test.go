package app

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/storetest"
	"kith/core"
)

func TestPace(t *testing.T) {
	p := newPace(true)
	require.Equal(t, firstRows, p.size())
	for _, c := range []struct {
		rows int
		took time.Duration
		want int
	}{
		{500, quietBatch, 500},
		{500, 2 * quietBatch, 250},
		{250, time.Hour, 125},  // at least half
		{125, 0, 250},          // at most double
		{100, quietBatch, 125}, // few rows were left: no reason to be that small
		{125, time.Hour, 62}, {62, time.Hour, 31}, {31, time.Hour, leastRows}, {20, time.Hour, leastRows},
	} {
		p.took(c.rows, c.took)
		require.Equal(t, c.want, p.size(), c)
	}
	for range 20 {
		p.took(p.size(), 0)
	}
	require.Equal(t, mostRows, p.size())
}

// Batches are short while another process, or another part of this one, writes,
// and longer when they have not for a while; a write now and then changes nothing.
func TestPace_ShortWhileOthersWrite(t *testing.T) {
	url := storetest.File(t)
	here, err := store.Open(url, "")
	require.NoError(t, err)
	there, err := store.Open(url, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(here.Close(), there.Close())) })
	var now core.Time
	write := func(db *store.Primary, do func(*store.Tx) error) {
		now++
		require.NoError(t, db.Write(t.Context(), now, do))
	}
	nothing := func(*store.Tx) error { return nil }
	p := newPace(true)
	batches := func(n int, other func()) {
		for range n {
			write(here, func(tx *store.Tx) error {
				mark, err := tx.Mark(t.Context())
				p.saw(mark)
				return err
			})
			other()
		}
	}
	require.Equal(t, quietBatch, p.aim, "until others have been met")
	batches(17, func() {})
	require.Equal(t, quietBatch, p.aim)
	for name, other := range map[string]func(){
		"another process": func() { write(there, func(tx *store.Tx) error { return tx.Beat(t.Context(), now-1) }) }, "this process": func() { write(here, nothing) },
	} {
		batches(fewOthers, other)
		batches(1, func() {})
		require.Equal(t, quietBatch, p.aim, name)
		batches(1, other)
		batches(1, func() {})
		require.Equal(t, fileBatch, p.aim, name)
		batches(16, func() {})
		require.Equal(t, quietBatch, p.aim, name)
	}
}
