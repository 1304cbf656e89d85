package main

import (
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
BenchmarkThroughput/file/links/native-2       	   10000	         1 p50-ms	         2 p99-ms	     30000 req/s
BenchmarkFleet_Prompt/replica-paused/fallback 	       1	      1250 longest-ms
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
		"| links, handlers alone, native (baseline) | 30,000 requests/s, median 1.00 ms, 99 of 100 within 2.00 ms |  |  |",
		"| identify a new referred user who pays, on a file | 2.00 ms | transaction of one row: 500 µs | 0.25 |",
		"| longest answer of an edge: replica-paused/fallback | 1,250 ms | limit: 2,000 ms | 1.60 |",
		"| `New` | 35.0 µs | | |",
		"| `Newer/part` | 7.00 widgets/s | | |",
	} {
		require.Contains(t, text, row+"\n")
	}
	require.NotContains(t, text, "Identify/file/baseline", "it is shown beside what is compared with it")
	require.Equal(t, 4, strings.Count(text, "\n## "), text)
}

func TestParse_Failures(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"--- FAIL: BenchmarkRead":           "a benchmark failed: --- FAIL: BenchmarkRead",
		"FAIL\tkith/backend/libsql\t0.030s": "a benchmark failed: FAIL",
		"BenchmarkRead-2 \t 10 \t x ns/op":  "want pairs of a number and a unit",
		"BenchmarkRead-2 \t 10 \t 5":        "want pairs of a number and a unit",
	} {
		_, err := parse(strings.NewReader(text))
		require.ErrorContains(t, err, says, text)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	document := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, os.WriteFile(document, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600))
	for range 2 {
		require.NoError(t, run(strings.NewReader(output), document, "v1-2-gabc"))
	}
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "before\n"+begin+"\n## Machine\n"), string(text))
	require.True(t, strings.HasSuffix(string(text), "\n"+end+"after\n"), string(text))
	require.NotContains(t, string(text), "old")
	require.NotContains(t, string(text), "unknown")
	require.Regexp(t, `\| date \| \d{4}-\d\d-\d\d \|\n\| commit \| v1-2-gabc \|\n\| processor \| AMD EPYC, \d+ cores \|\n\| memory \| [0-9.]+ GiB \|\n\| system \| Linux \S+, \S+ \|\n\| load average [^|]+ \| [0-9.]+ \|\n\| Go \| \S+ \|\n`, string(text))

	require.ErrorContains(t, run(strings.NewReader("PASS\n"), document, ""), "no result of a benchmark")
	after, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, string(text), string(after), "a failed run changes nothing")
	require.NoError(t, os.WriteFile(document, []byte("no lines"), 0o600))
	require.ErrorContains(t, run(strings.NewReader(output), document, ""), "no line")
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
