package testenv

import (
	"cmp"
	"os"
	"strconv"
	"testing"
)

// BenchRuns returns how often each side of a benchmark with a target runs: KITH_BENCH_RUNS, or 5.
func BenchRuns(b *testing.B) int {
	b.Helper()
	runs, err := strconv.Atoi(cmp.Or(os.Getenv("KITH_BENCH_RUNS"), "5"))
	if err != nil {
		b.Fatal("KITH_BENCH_RUNS: ", err)
	}
	return runs
}
