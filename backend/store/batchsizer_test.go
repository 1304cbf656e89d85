package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBatchSizer(t *testing.T) {
	b := NewBatchSizer(true, 0)
	require.EqualValues(t, firstRows, b.rows.Load())
	b.rows.Store(500)
	for _, c := range []struct {
		rows int
		took time.Duration
		want int
	}{
		{500, fileBatch, 500},
		{500, 2 * fileBatch, 250},
		{250, time.Hour, 125}, // halved at most
		{125, 0, 250},         // doubled at most
		{100, fileBatch, 125}, // the batch had fewer rows than the size, which stays
		{125, time.Hour, 62}, {62, time.Hour, 31}, {31, time.Hour, minRows}, {20, time.Hour, minRows},
	} {
		b.Took(c.rows, c.took)
		require.EqualValues(t, c.want, b.rows.Load(), c)
	}
	for range 20 {
		b.Took(b.Size(), 0)
	}
	require.EqualValues(t, maxRows, b.rows.Load())
}

// The rows of a batch fill the statements that write many rows.
func TestBatchSizer_FillsStatements(t *testing.T) {
	b := NewBatchSizer(true, 0)
	for rows, want := range map[int64]int{20: 20, 32: 32, 33: 32, 63: 32, 64: 64, 500: 480} {
		b.rows.Store(rows)
		require.Equal(t, want, b.Size(), rows)
	}
}
