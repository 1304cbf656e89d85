package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBatchSizer(t *testing.T) {
	b := newBatchSizer(true)
	require.Equal(t, firstRows, b.size())
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
		b.took(c.rows, c.took)
		require.Equal(t, c.want, b.size(), c)
	}
	for range 20 {
		b.took(b.size(), 0)
	}
	require.Equal(t, maxRows, b.size())
}
