package testenv_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// Eight commits play each case once, and a run without a sample plays all.
func TestSampled(t *testing.T) {
	times := make([]int, 20)
	for commit := range 8 {
		t.Setenv("KITH_SAMPLE", strconv.Itoa(1000+commit))
		for i := range times {
			if testenv.Sampled(t, i) {
				times[i]++
			}
		}
	}
	for i, n := range times {
		require.Equal(t, 1, n, i)
	}
	t.Setenv("KITH_SAMPLE", "")
	for i := range times {
		require.True(t, testenv.Sampled(t, i))
	}
}
