package e2e

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/backend/file/bucket/s3test"
	"kith/core"
	"kith/core/job"
)

// BenchmarkImport_BesideEvents imports users with kith serve on an embedded file, while
// kith edge on the same file receives event calls: from eight senders with a pause of 10 ms
// on average, or, "seldom", from two senders with a pause of half a second. It imports
// first a tenth of KITH_BENCH_ROWS (default 100,000) users and then all of them. event-p50
// and event-p99 are the times of the event calls, peak-MiB is the largest resident memory
// of kith serve, which must not grow with the rows. "quiet" is without an import.
func BenchmarkImport_BesideEvents(b *testing.B) {
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("KITH_BENCH_ROWS"), "100000"))
	require.NoError(b, err, "KITH_BENCH_ROWS")
	b.Run("quiet", func(b *testing.B) {
		for b.Loop() {
			s, _ := importSite(b)
			stop := s.streamEvents(b, oftenSent)
			time.Sleep(5 * time.Second)
			report(b, stop())
		}
	})
	for _, c := range []struct {
		name string
		rows int
		from eventStream
	}{{"rows", rows / 10, oftenSent}, {"rows", rows, oftenSent}, {"seldom", rows, seldomSent}} {
		n := c.rows
		b.Run(fmt.Sprintf("%s=%d", c.name, n), func(b *testing.B) {
			for b.Loop() {
				s, backend := importSite(b)
				ref, err := s.client("demo").Upload(b.Context(), "users.csv", shopUsers(n, 0))
				require.NoError(b, err)
				stop := s.streamEvents(b, c.from)
				begin := time.Now()
				s.importAll(b, ref, n)
				b.ReportMetric(float64(n)/time.Since(begin).Seconds(), "rows/s")
				report(b, stop())
				b.ReportMetric(float64(peakMemory(b, backend))/(1<<20), "peak-MiB")
			}
		})
	}
}

// The memory of an import does not depend on the size of its file: with a file of 200 MB
// and 50,000 users, kith serve uses less than 128 MiB, including the binary.
func TestImport_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	boundedImport(t, 50_000)
}

// The same is true for a file of 80 MB in a bucket.
func TestImport_MemoryIsBoundedInBucket(t *testing.T) {
	t.Parallel()
	boundedImport(t, 20_000, inBucket(s3test.Start(t))...)
}

// boundedImport imports rows of 4 kB.
func boundedImport(t *testing.T, rows int, env ...string) {
	const ignored = 4000
	s, backend := importSite(t, env...)
	ref, err := s.client("demo").Upload(t.Context(), "users.csv", shopUsers(rows, ignored))
	require.NoError(t, err)
	s.importAll(t, ref, rows)
	peak := peakMemory(t, backend)
	t.Logf("%d MiB", peak>>20)
	require.Less(t, peak, int64(128<<20))
}

// importSite starts a backend and an edge on one file, with the user anna.
func importSite(t testing.TB, env ...string) (*site, *process) {
	t.Helper()
	s := demoSite(t)
	backend := s.serve(t, env...)
	s.serveEdge(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	return s, backend
}

// shopUsers returns realistic rows of MUTATION/USER, of about 80 bytes each, plus a cell of
// the given size that imports ignore.
func shopUsers(n, ignored int) io.Reader {
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, "accountId,id,firstName,lastName,email,locale,countryCode,customFields.plan,shareLink\n")
		rest := strings.Repeat("x", ignored)
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "acct-%07d,user-%07d,First%d,Last%d,user%d@example.com,en_US,US,pro,%s\n", i, i, i%997, i%1009, i, rest)
			if text.Len() > 1<<16 || i == n-1 {
				_, _ = io.WriteString(to, text.String())
				text.Reset()
			}
		}
		_ = to.Close()
	}()
	return from
}

// importAll imports an upload and waits until every row is imported.
func (s *site) importAll(t testing.TB, ref core.FileRef, rows int) {
	t.Helper()
	c := s.client("demo")
	made, err := c.CreateJob(t.Context(), client.Input{Type: job.ImportUser, FileRef: ref})
	require.NoError(t, err)
	for end := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		j, err := c.Job(t.Context(), made.ID)
		require.NoError(t, err)
		if j.Status != "PENDING" {
			require.EqualValues(t, "COMPLETED", j.Status, j.Message)
			require.EqualValues(t, rows, j.Stats.RecordsProcessed)
			require.Zero(t, j.Stats.Errors)
			return
		}
		if j.Stats.RecordsProcessed > made.Stats.RecordsProcessed {
			made, end = j, time.Now()
		}
		require.Less(t, time.Since(end), deadline, "the job makes no progress")
	}
}

// eventStream is a number of senders of event calls, and their maximum pause.
type eventStream struct {
	n    int
	rest time.Duration
}

var oftenSent, seldomSent = eventStream{8, 20 * time.Millisecond}, eventStream{2, time.Second}

// streamEvents sends event calls through the edge until stop is called, which returns how
// long each took.
func (s *site) streamEvents(b *testing.B, from eventStream) (stop func() []time.Duration) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: from.n}}
	took, done := make([][]time.Duration, from.n), make(chan struct{})
	var all sync.WaitGroup
	for i := range from.n {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(rand.N(from.rest)):
				}
				begin := time.Now()
				if err := s.sendEvent(client, fmt.Sprintf("sender-%d-%d", i, n)); err != nil {
					b.Error(err)
					return
				}
				took[i] = append(took[i], time.Since(begin))
			}
		})
	}
	return func() []time.Duration {
		close(done)
		all.Wait()
		return slices.Sorted(slices.Values(slices.Concat(took...)))
	}
}

func (s *site) sendEvent(client *http.Client, key string) error {
	r, err := http.NewRequest(http.MethodPost, s.edge+"/api/v1/demo/open/account/anna/user/anna/events",
		strings.NewReader(`{"idempotencyKey":"`+key+`","events":[{"key":"purchase","fields":{"revenue":29.00,"currency":"USD"}}]}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth("", s.keys["demo"])
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = fmt.Errorf("event %s: %s: %s", key, response.Status, body)
	}
	return err
}

// report reports the median, the 99th percentile and the maximum of sorted times.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	require.NotEmpty(b, took)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(took[len(took)/2]), "event-p50-ms")
	b.ReportMetric(ms(took[len(took)*99/100]), "event-p99-ms")
	b.ReportMetric(ms(took[len(took)-1]), "event-max-ms")
	b.ReportMetric(float64(len(took)), "events")
}

// peakMemory returns the largest resident memory that a process has had, in bytes.
func peakMemory(t testing.TB, p *process) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "status"))
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(words[1], 10, 64)
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
