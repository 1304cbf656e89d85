package testenv_test

import (
	"fmt"
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

// Four commits in a row play each expensive test once, and a run without a sample plays it.
func TestInTurn(t *testing.T) {
	played := 0
	for _, sample := range []string{"1000", "1001", "1002", "1003", ""} {
		t.Setenv("KITH_SAMPLE", sample)
		turn := &turnTaker{TB: t}
		testenv.InTurn(turn)
		if sample == "" {
			require.Empty(t, turn.skipped)
		}
		if turn.skipped == "" {
			played++
		}
	}
	require.Equal(t, 2, played)
}

// turnTaker is a test that keeps the reason why it is skipped.
type turnTaker struct {
	testing.TB
	skipped string
}

func (t *turnTaker) Skipf(format string, args ...any) { t.skipped = fmt.Sprintf(format, args...) }
