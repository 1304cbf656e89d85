package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// output is what go test -v -bench prints, with lines of other origin in between.
const output = `goos: linux
pkg: kith/backend/app
cpu: AMD EPYC
=== RUN   BenchmarkIdentify
BenchmarkIdentify
BenchmarkIdentify/file/baseline
BenchmarkIdentify/file/baseline-2         	      20	    500000 ns/op
time=2026-11-23T04:00:00Z level=INFO msg=config part=backend
BenchmarkIdentify/file/converts
BenchmarkIdentify/file/converts-2          	      20	   2000000 ns/op	    1423 B/op	      30 allocs/op
BenchmarkIdentify/file/converts-2          	      20	   1000000 ns/op	    1423 B/op	      30 allocs/op
BenchmarkIdentify/file/converts-2          	      20	   9000000 ns/op	    1423 B/op	      30 allocs/op
BenchmarkThroughput/file/links/kith-2         	   10000	         3.456 p50-ms	         4.7891 p99-ms	     12345 req/s
BenchmarkTarget_Component/links/native-2       	   10000	         1 p50-ms	         2 p99-ms	     30000 req/s
BenchmarkFleet_Prompt/replica-paused/fallback 	       1	      1250 longest-ms
BenchmarkTarget_Link/steady/kith-2 	       1	         2.000 p50-ms	        10.00 p99-ms	      2000 req/s
BenchmarkTarget_Link/steady/constant-2 	       1	         0.1000 p50-ms	        3.000 p99-ms	      2000 req/s
BenchmarkTarget_Link/steady/kith#01-2 	       1	         2.000 p50-ms	        9.000 p99-ms	      2000 req/s
BenchmarkTarget_Link/steady/constant#01-2 	       1	         0.1000 p50-ms	        2.000 p99-ms	      2000 req/s
BenchmarkTarget_Link/steady/kith#02-2 	       1	         2.000 p50-ms	        4.000 p99-ms	      2000 req/s
BenchmarkTarget_Link/steady/constant#02-2 	       1	         0.1000 p50-ms	        9.000 p99-ms	      2000 req/s
BenchmarkTarget_Link/cost/kith-2 	       1	         317.9 cpu-us	        5.000 switches
BenchmarkTarget_Link/cost/constant-2 	       1	         100.0 cpu-us	        6.000 switches
BenchmarkTarget_Fleet/events/kith-2 	       1	         20.00 p50-ms	        40.00 p99-ms	      1600 req/s
BenchmarkTarget_Fleet/events/kith#01-2 	       1	         20.00 p50-ms	        30.00 p99-ms	      1400 req/s
BenchmarkTarget_Fleet/events/kith#02-2 	       1	         20.00 p50-ms	        30.00 p99-ms	      1700 req/s
BenchmarkCodes_Among/users=10000-2 	 100000	  10000 ns/op
BenchmarkCodes_Among/users=200000-2 	 100000	  12000 ns/op
BenchmarkUserList/any_offset/users=10000-2 	 1000	  1000000 ns/op
BenchmarkUserList/any_offset/users=200000-2 	 1000	  2000000 ns/op
BenchmarkNew-2	  100	  34954 ns/op	  1423 B/op
BenchmarkNewer/part-2	  100	  7 widgets/s
PASS
ok  	kith/backend/app	2.582s
`

func TestTables(t *testing.T) {
	t.Parallel()
	r, err := parse(strings.NewReader(output))
	require.NoError(t, err)
	require.Equal(t, "AMD EPYC", r.cpu)
	text := tables(r)
	for _, row := range []string{
		"| share links, edge and backend in one process | 12,300 requests/s, median 3.46 ms, 99 of 100 within 4.79 ms | handlers alone, native: 30,000 requests/s | 0.41 |",
		"| identify a new referred user who pays, on a file | 2.00 ms | transaction of one row: 500 µs | 0.25 |",
		"| longest answer of an edge: replica-paused/fallback | 1,250 ms | limit: 2,000 ms | 1.60 |",
		"| share link, whole program, 2,000 per second | 99 of 100 within 9.00 ms, median 2.00 ms | constant 302 of net/http, same headers: 99 of 100 within 3.00 ms | 3.00 | at most 2 × + 2.00 ms | **missed by 12 %** |",
		"| share link, whole program, 1,000 per second | 318 µs of a processor | constant 302 of net/http, same headers: 100 µs of a processor | 3.18 | at most 2 × | **missed by 59 %** |",
		"| share link, whole program, 1,000 per second | 5.00 switches | constant 302 of net/http, same headers: 6.00 switches | 0.833 | at most 6.00 switches | met |",
		"| event calls to both edges of a fleet, each of five runs | 1,400 requests/s |  |  | at least 1,500 requests/s | **missed by 7 %** |",
		"| event calls to both edges of a fleet, each of five runs | 99 of 100 within 40.0 ms |  |  | at most 50.0 ms | met |",
		"| look-up of a random code among 200000 users | 12.0 µs | among 10,000: 10.0 µs | 1.20 | at most 1.3 × | met |",
		"| page of a list of 200000 users: any_offset | 2.00 ms | of 10,000: 1.00 ms | 2.00 | at most 50.0 ms | met |",
		"| `New` | 35.0 µs | | |",
		"| `Newer/part` | 7.00 widgets/s | | |",
	} {
		require.Contains(t, text, row+"\n")
	}
	require.NotContains(t, text, "Identify/file/baseline", "it is shown beside what is compared with it")
	require.NotContains(t, text, "users=10000", "the same")
	require.Equal(t, 5, strings.Count(text, "\n## "), text)
}

func TestMissedTargets(t *testing.T) {
	t.Parallel()
	r, err := parse(strings.NewReader(output))
	require.NoError(t, err)
	want := []string{
		"share link, whole program, 2,000 per second: 99 of 100 within 9.00 ms, constant 302 of net/http, same headers: 99 of 100 within 3.00 ms, target at most 2 × + 2.00 ms: missed by 12 %",
		"share link, whole program, 1,000 per second: 318 µs of a processor, constant 302 of net/http, same headers: 100 µs of a processor, target at most 2 ×: missed by 59 %",
		"event calls to both edges of a fleet, each of five runs: 1,400 requests/s, target at least 1,500 requests/s: missed by 7 %",
	}
	lines, failed := missedTargets(r, false)
	require.Equal(t, want, lines)
	require.Equal(t, 1, failed, "only one is missed by more than a quarter")
	lines, failed = missedTargets(r, true)
	require.Subset(t, lines, want)
	require.Contains(t, lines, "event calls, whole program, 2,000 per second: not measured, target at most 30.0 ms")
	require.Equal(t, 1+len(lines)-len(want), failed)

	// A figure whose other side is missing counts as not measured.
	r, err = parse(strings.NewReader("BenchmarkTarget_Link/saturated/kith-2 	 1	 9000 req/s\n"))
	require.NoError(t, err)
	lines, failed = missedTargets(r, false)
	require.Empty(t, lines)
	require.Zero(t, failed)
	lines, _ = missedTargets(r, true)
	require.Contains(t, lines, "share link, whole program, 32 connections: not measured, target at least 0.45 ×")

	// A rate may miss its target by a quarter.
	for rate, want := range map[string]int{"1125": 0, "1124": 1} {
		r, err = parse(strings.NewReader("BenchmarkTarget_Fleet/events/kith-2 	 1	 40 p99-ms	 " + rate + " req/s\n"))
		require.NoError(t, err)
		lines, failed = missedTargets(r, false)
		require.Len(t, lines, 1)
		require.Equal(t, want, failed, rate)
	}
}

func TestParse_Failures(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"BenchmarkRead-2 \t 10 \t x ns/op": "want pairs of a number and a unit",
		"BenchmarkRead-2 \t 10 \t 5":       "want pairs of a number and a unit",
	} {
		_, err := parse(strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	document := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, os.WriteFile(document, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600))
	var printed strings.Builder
	for range 2 {
		require.ErrorContains(t, run(strings.NewReader(output), &printed, document, "v1-2-gabc"), "targets not measured, or missed by more than 25 %: ")
	}
	require.Contains(t, printed.String(), "\nMissed targets:\nshare link, ")
	require.NotContains(t, printed.String(), "## Machine")
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "before\n"+begin+"\n## Machine\n"), string(text))
	require.True(t, strings.HasSuffix(string(text), "\n"+end+"after\n"), string(text))
	require.NotContains(t, string(text), "old")
	require.NotContains(t, string(text), "unknown")
	require.Regexp(t, `\| date \| \d{4}-\d\d-\d\d \|\n\| commit \| v1-2-gabc \|\n\| processor \| AMD EPYC, \d+ cores \|\n\| memory \| [0-9.]+ GiB \|\n\| system \| Linux \S+, \S+ \|\n\| load average [^|]+ \| [0-9.]+ \|\n\| Go \| \S+ \|\n`, string(text))

	require.ErrorContains(t, run(strings.NewReader("PASS\n"), io.Discard, document, ""), "no result of a benchmark")
	after, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, string(text), string(after), "a failed run changes nothing")
	require.NoError(t, os.WriteFile(document, []byte("no lines"), 0o600))
	require.ErrorContains(t, run(strings.NewReader(output), io.Discard, document, ""), "no line")

	// A failed benchmark leaves the document as it is, and does not hide the others.
	printed.Reset()
	const failed = "--- FAIL: BenchmarkRead\nFAIL\tkith/backend/libsql\t0.030s\n"
	err = run(strings.NewReader(output+failed), &printed, document, "")
	require.EqualError(t, err, "benchmarks failed:\n--- FAIL: BenchmarkRead\nFAIL\tkith/backend/libsql\t0.030s")
	require.Contains(t, printed.String(), "Missed targets")

	printed.Reset()
	const met = "BenchmarkTarget_Fleet/events/kith-2 	 1	 40 p99-ms	 1600 req/s\n"
	require.NoError(t, run(strings.NewReader(met), &printed, "", "v1-2-gabc"))
	require.Contains(t, printed.String(), "| event calls to both edges of a fleet, each of five runs | 1,600 requests/s |  |  | at least 1,500 requests/s | met |\n")
	require.NotContains(t, printed.String(), "Missed")
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 0.01234: "0.0123", 0.5: "0.500", 7: "7.00", 28.76: "28.8", 123.4: "123", 1234: "1,230", 999.7: "1,000", 1234567: "1,230,000",
	} {
		require.Equal(t, want, number(value), value)
	}
}

// Every benchmark of the tree has a row in the tables.
func TestTables_EveryBenchmarkHasARow(t *testing.T) {
	t.Parallel()
	function := regexp.MustCompile(`(?m)^func Benchmark(\w+)\(`)
	found := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			found++
			require.True(t, hasRow(m[1]), "%s: no row for Benchmark%s in wasm/bench/tables.go", path, m[1])
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, found, 15)
}

func hasRow(benchmark string) bool {
	for _, s := range sections {
		for _, row := range s.rows {
			if row.of == benchmark || strings.HasPrefix(row.of, benchmark+"/") {
				return true
			}
		}
	}
	return false
}
