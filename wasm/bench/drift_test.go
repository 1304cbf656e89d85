package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fast = "BenchmarkTarget_Link/saturated/kith-2 1 3000 req/s\nBenchmarkTarget_Link/saturated/constant-2 1 10000 req/s\nBenchmarkIdentify/file/converts-2 20 2000000 ns/op\n"
	slow = "BenchmarkTarget_Link/saturated/kith-2 1 1500 req/s\nBenchmarkTarget_Link/saturated/constant-2 1 5000 req/s\nBenchmarkIdentify/file/converts-2 20 4000000 ns/op\n"
)

// A figure that is compared with another one counts by their ratio: a machine that is half as
// fast changes none.
func TestCompare(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "base.txt")
	require.NoError(t, os.WriteFile(base, []byte(fast), 0o600))
	var out strings.Builder
	require.NoError(t, compare(strings.NewReader(fast), &out, base))
	require.Contains(t, out.String(), "| identify a new referred user who pays, on a file | 2.00 ms | 2.00 ms | +0 % |")

	out.Reset()
	require.ErrorContains(t, compare(strings.NewReader(slow), &out, base), "figures that fell by more than 25 %: 1")
	require.Contains(t, out.String(), "| share link, whole program, 32 connections | 3,000 requests/s (0.300) | 1,500 requests/s (0.300) | +0 % |")
	require.Contains(t, out.String(), "| identify a new referred user who pays, on a file | 2.00 ms | 4.00 ms | -50 % **worse** |")

	// A figure that only one commit compares counts by itself.
	const script, empty = "BenchmarkSpin/script-2 1 3000 requests/s\n", "BenchmarkSpin/script-empty-2 1 10000 requests/s\n"
	out.Reset()
	require.NoError(t, os.WriteFile(base, []byte(script), 0o600))
	require.NoError(t, compare(strings.NewReader(script+empty), &out, base))
	require.Contains(t, out.String(), "| `/kith.js` | 3,000 requests/s | 3,000 requests/s (0.300) | +0 % |")

	require.ErrorContains(t, compare(strings.NewReader(fast+"--- FAIL: BenchmarkX\n"), &out, base), "benchmarks failed")
	require.ErrorIs(t, compare(strings.NewReader(fast), &out, base+"?"), os.ErrNotExist)
}
