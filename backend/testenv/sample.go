package testenv

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// How many samples the cases of an expensive test are divided into, and the expensive tests.
const (
	samples = 8
	turns   = 4
)

// Whole reports whether this run plays all cases and all expensive tests: if KITH_SAMPLE is
// empty, as in make race.
func Whole() bool { return os.Getenv("KITH_SAMPLE") == "" }

// Sampled reports whether this run plays case i of an expensive test. KITH_SAMPLE=n, which
// make test sets to the number of commits, chooses one case of eight, and others at the next
// commit. Without it a run plays all cases. It fails the test if KITH_SAMPLE is not a number.
func Sampled(t testing.TB, i int) bool {
	t.Helper()
	return Whole() || i%samples == sample(t)%samples
}

// InTurn skips an expensive test, unless it is its turn. It has one in four runs of make test:
// KITH_SAMPLE=n, the number of commits, and a test's name decide which. A run without
// KITH_SAMPLE plays all. What such a test finds first is to be what no cheaper one can.
// wasm/toolchain/test.sh knows the text of the skip: any other one is a failure.
func InTurn(t testing.TB) {
	t.Helper()
	if Whole() {
		return
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(t.Name())) // never fails
	if turn := int(hash.Sum32() % turns); turn != sample(t)%turns {
		t.Skipf("not its turn: KITH_SAMPLE=%d plays it", turn)
	}
}

func sample(t testing.TB) int {
	t.Helper()
	text := os.Getenv("KITH_SAMPLE")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("KITH_SAMPLE=%q: not a number from 0", text)
	}
	return n
}
