package testenv

import (
	"os"
	"strconv"
	"testing"
)

// samples is how many samples the cases of an expensive test are divided into.
const samples = 8

// Whole reports whether this run plays all cases of expensive tests, as make race does.
func Whole() bool { return os.Getenv("KITH_SAMPLE") == "" }

// Sampled reports whether this run plays case i of an expensive test. KITH_SAMPLE=n, which
// make test sets to the number of commits, chooses one case of eight, and others at the next
// commit. Without it, as in make race, a run plays all cases. It fails the test if KITH_SAMPLE
// is not a number.
func Sampled(t testing.TB, i int) bool {
	t.Helper()
	if Whole() {
		return true
	}
	text := os.Getenv("KITH_SAMPLE")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("KITH_SAMPLE=%q: not a number from 0", text)
	}
	return i%samples == n%samples
}
