package testenv

import (
	"os"
	"strconv"
	"testing"
)

// Seeds returns the seeds of a property test: one, or with KITH_SEEDS=n, which
// make soak sets, the first n. It fails the test if KITH_SEEDS is not a number
// from 1 to 1000.
func Seeds(t testing.TB) []uint64 {
	t.Helper()
	n := 1
	if text := os.Getenv("KITH_SEEDS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > 1000 {
			t.Fatalf("KITH_SEEDS=%q: not a number from 1 to 1000", text)
		}
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	return seeds
}
