package program

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	p := newPace(true)
	require.Equal(t, firstRows, p.size())
	for _, c := range []struct {
		rows int
		took time.Duration
		want int
	}{
		{500, fileBatch, 500},
		{500, 2 * fileBatch, 250},
		{250, time.Hour, 125}, // at least half
		{125, 0, 250},         // at most double
		{100, fileBatch, 125}, // few rows were left: no reason to be that small
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

func TestPace_Rest(t *testing.T) {
	server := newPace(false)
	server.took(1, time.Hour)
	require.Zero(t, server.rest(time.Now()), "a server lets waiters in by itself")

	p, now := newPace(true), time.Now()
	rests := func(batches int) (long int) {
		for range batches {
			p.took(100, fileBatch)
			now = now.Add(fileBatch)
			if p.rest(now) == longRest {
				long++
			}
		}
		return long
	}
	require.Equal(t, 2, rests(40), "every half second")
	p.saw(1, now)
	require.Equal(t, 2, rests(40), "nothing is known of before")
	p.saw(1, now)
	require.Equal(t, 2, rests(40), "nobody wrote")
	p.saw(2, now)
	require.Equal(t, 40, rests(40), "after each batch")
	now = now.Add(sharedFor)
	require.Equal(t, 2, rests(40), "nobody wrote for long")
}
