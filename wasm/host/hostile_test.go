package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv/manualclock"
)

// hostilePath is a URI of 777 bytes, at which hostile guests misbehave.
var hostilePath = "/" + strings.Repeat("h", 776)

const unavailableBody = `{"message":"the service cannot answer now, try again later","statusCode":503,"apiErrorCode":"UNAVAILABLE"}`

func TestHostile(t *testing.T) {
	t.Parallel()
	trapped, faulty, timedOut := Stats{Trapped: 3}, Stats{Faulty: 3}, Stats{TimedOut: 3}
	for name, want := range map[string]Stats{
		"trap": trapped, "bomb": trapped, "arena_trap": trapped,
		"loop": timedOut, "realloc_growth": timedOut, "recursion": timedOut, "bulk": timedOut, "arena_loop": timedOut,
		"response_range": faulty, "response_end": faulty, "response_misaligned": faulty, "response_tag": faulty,
		"header_count": faulty, "header_overlap": faulty, "header_range": faulty, "header_split": faulty,
		"body_range": faulty, "status": faulty,
		"statement_range": faulty, "params_range": faulty, "result_range": faulty, "result_misaligned": faulty,
		"realloc_null": faulty, "realloc_range": faulty, "realloc_end": faulty, "realloc_reenters": faulty,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clk := manualclock.New()
			b := start(t, compileWat(t, name+".wat"), "1", func(o *Options) {
				// The race detector follows each page that a guest adds.
				o.now, o.MaxMemory = clk.Now, 8*mib
			})
			for i := range 3 {
				require.Equal(t, answerText(200, "good"), text(b.do(t, "GET", "/", "")))
				hostile := b.begin(t, hostilePath)
				if want == timedOut {
					b.runOut(t, clk, i+1)
				}
				require.Equal(t, answerText(503, unavailableBody), text(<-hostile))
			}
			require.Equal(t, answerText(200, "good"), text(b.do(t, "GET", "/", "")))
			got := b.host.Stats()
			require.Equal(t, want, Stats{Trapped: got.Trapped, Faulty: got.Faulty, TimedOut: got.TimedOut})
			require.Equal(t, uint64(4), got.Made, "a dropped instance is not used again")
		})
	}
}

// begin sends a GET request, and returns a channel that receives its answer.
func (b *bench) begin(t testing.TB, path string) chan answer {
	got := make(chan answer, 1)
	go func() { got <- b.do(t, "GET", path, "") }()
	return got
}

// runOut waits until n guests have printed that their endless work begins, and then lets
// the time limit of the request expire.
func (b *bench) runOut(t testing.TB, clk *manualclock.Clock, nth int) {
	t.Helper()
	eventually(t, func() bool { return strings.Count(b.log.String(), `line="for ever"`) == nth })
	clk.Advance(b.host.options.Timeout + 1)
}

// Every file in testdata is a case in TestHostile or TestLoad_Module.
func TestHostile_AllGuestsAreTried(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.wat")
	require.NoError(t, err)
	tests, err := os.ReadFile("hostile_test.go")
	require.NoError(t, err)
	require.Len(t, files, 33)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".wat")
		if name != "prelude" {
			require.Contains(t, string(tests), `"`+name)
		}
	}
}

func TestHostile_ProbeTrapsAndLoops(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		clk := manualclock.New()
		b := start(t, probe(t), "1", func(o *Options) {
			change(o)
			o.now, o.MaxMemory = clk.Now, 32*mib
		})
		for _, path := range []string{"/trap", "/loop", "/grow?100000000", "/respond?status=7"} {
			hostile := b.begin(t, path)
			if path == "/loop" {
				b.runOut(t, clk, 1)
			}
			require.Equal(t, answerText(503, unavailableBody), text(<-hostile))
			require.Equal(t, 200, b.do(t, "GET", "/echo", "").status)
		}
	})
}

func TestLoad_Module(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"missing_export":  "the module does not export canonical_abi_realloc",
		"wrong_signature": "export handle-http-request: want 10 i32 parameters and 1 results",
		"unknown_import":  "the module imports key-value.get-keys, which this host does not offer",
		"start_section":   "the module has a start section, which could not be interrupted; export _initialize instead",
	} {
		dir := t.TempDir()
		manifest := filepath.Join(dir, "spin.toml")
		text := fmt.Appendf(nil, manifestText, "1", compileWat(t, name+".wat"))
		require.NoError(t, os.WriteFile(manifest, text, 0o600))
		_, err := Load(context.Background(), manifest, Options{
			Variables: map[string]string{"master_key": "k"}, CacheDir: cacheDir,
		})
		require.ErrorContains(t, err, want)
	}
}

// A component that does not end its start is ended at the deadline, and when the start is
// given up.
func TestLoad_EndlessStart(t *testing.T) {
	t.Parallel()
	manifest := filepath.Join(t.TempDir(), "spin.toml")
	text := fmt.Appendf(nil, manifestText, "1", compileWat(t, "initialize_loop.wat"))
	require.NoError(t, os.WriteFile(manifest, text, 0o600))
	load := func(ctx context.Context, timeout time.Duration) error {
		_, err := Load(ctx, manifest, Options{Variables: map[string]string{"master_key": "k"}, CacheDir: cacheDir, Timeout: timeout})
		return err
	}
	require.ErrorIs(t, load(t.Context(), time.Millisecond), context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	require.ErrorIs(t, load(ctx, time.Hour), context.Canceled)
}

// The host writes only into the blocks that it allocated and into the result record: the
// bytes around them do not change.
func TestGuardBytes(t *testing.T) {
	t.Parallel()
	const notes, result, resultSize, heap, mark = 2048, 1600, 12, 8192, 0xAA
	b := start(t, compileWat(t, "guard.wat"), "1", nil)
	in := &request{
		client: t.Context(), uri: "/guarded", body: []byte("body"),
		headers: []header{{"a", "1"}, {"empty", ""}, {"long", strings.Repeat("z", 1000)}},
	}
	g, err := b.host.get(in)
	require.NoError(t, err)
	defer g.close()
	memory, ok := g.memory.Read(0, g.memory.Size())
	require.True(t, ok)
	for i := range memory {
		if i >= heap || i >= result-16 && i < result+32 {
			memory[i] = mark
		}
	}
	_, err = g.serve(in)
	require.NoError(t, err)

	written := make([]bool, len(memory))
	blocks := 0
	for n := notes; word(memory, n) != 0; n += 8 {
		ptr, size := int(word(memory, n)), int(word(memory, n+4))
		for i := ptr; i < ptr+size; i++ {
			written[i] = true
		}
		blocks++
	}
	require.Equal(t, 9, blocks, "uri, five header strings, their list, body, variable")
	for i := heap; i < len(memory); i++ {
		if !written[i] {
			require.Equal(t, byte(mark), memory[i], "byte %d was not allocated", i)
		}
	}
	for i := result - 16; i < result+32; i++ {
		if i < result || i >= result+resultSize {
			require.Equal(t, byte(mark), memory[i], "byte %d is beside the result", i)
		}
	}
	require.Equal(t, "the value", string(memory[word(memory, result+4):][:word(memory, result+8)]))
}

func TestPool_RetiresGrownInstance(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	require.Equal(t, 200, b.do(t, "GET", "/grow?1000", "").status)
	require.Equal(t, Stats{Made: 1, Reused: 1}, b.host.Stats())
	small := b.host.Memory()
	require.Positive(t, small)
	require.Equal(t, 200, b.do(t, "GET", "/grow?17000000", "").status)
	require.Zero(t, b.host.Memory(), "the instance was freed")
	require.Equal(t, 200, b.do(t, "GET", "/echo", "").status)
	require.Equal(t, Stats{Made: 2, Reused: 2, Retired: 1}, b.host.Stats())
	require.LessOrEqual(t, b.host.Memory(), small)
}

// A thousand requests on one instance do not make its memory grow, although its allocator
// never frees any.
func TestPool_ReuseFreesMemory(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	in := &request{client: t.Context(), uri: "/respond?status=200&header=Set-Cookie:a&size=100", headers: []header{{"accept", "*/*"}, {"cookie", "a=b"}}}
	for range 1000 {
		_, err := b.host.run(in)
		require.NoError(t, err)
	}
	require.Equal(t, Stats{Made: 1, Reused: 1000}, b.host.Stats())
}

func TestPool_QueueIsBounded(t *testing.T) {
	t.Parallel()
	port, entered, release := blockingBackend(t)
	b := start(t, probe(t), port, func(o *Options) { o.Instances, o.Queue = 1, 1 })
	answers := make(chan answer, 2)
	request := func() { answers <- b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/", "") }
	go request()
	<-entered // the only instance is busy
	go request()
	eventually(t, func() bool { // the second request waits
		b.host.mu.Lock()
		defer b.host.mu.Unlock()
		return b.host.active == 2
	})
	refused := b.do(t, "GET", "/echo", "")
	require.Equal(t, answerText(503, unavailableBody), text(refused))
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	release()
	require.Equal(t, 200, (<-answers).status)
	require.Equal(t, 200, (<-answers).status)
	require.Equal(t, uint64(1), b.host.Stats().Refused)
}

func TestClose_DrainsRunningRequests(t *testing.T) {
	t.Parallel()
	port, entered, release := blockingBackend(t)
	b := start(t, probe(t), port, nil)
	running, closed := make(chan answer, 1), make(chan error, 1)
	go func() { running <- b.do(t, "GET", "/send?http://127.0.0.1:"+port+"/", "") }()
	<-entered
	go func() { closed <- b.host.Close(context.Background()) }()
	eventually(t, func() bool { return b.do(t, "GET", "/echo", "").status == 503 })
	release()
	require.Equal(t, 200, (<-running).status)
	require.NoError(t, <-closed)
}

func TestClose_EndsWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Timeout = time.Hour })
	running := make(chan answer, 1)
	go func() { running <- b.do(t, "GET", "/loop", "") }()
	eventually(t, func() bool { return b.host.Stats().Reused == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, b.host.Close(ctx), context.Canceled)
	require.Equal(t, 503, (<-running).status)
	require.Equal(t, uint64(1), b.host.Stats().Cancelled)
}

func TestServe_ClientThatLeavesEndsTheGuest(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Timeout = time.Hour })
	conn := dial(t, b)
	_, err := conn.Write([]byte("GET /loop HTTP/1.1\r\nHost: h\r\n\r\n"))
	require.NoError(t, err)
	eventually(t, func() bool { return b.host.Stats().Reused == 1 })
	require.NoError(t, conn.Close())
	eventually(t, func() bool { return b.host.Stats().Cancelled == 1 })
}

// A client that closes only its own side of the connection does not get 200.
func TestServe_ClientThatClosesItsSide(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Timeout = time.Hour })
	conn := dial(t, b)
	_, err := conn.Write([]byte("GET /loop HTTP/1.1\r\nHost: h\r\n\r\n"))
	require.NoError(t, err)
	eventually(t, func() bool { return b.host.Stats().Reused == 1 })
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(got), "HTTP/1.1 499 ")
}

// Dropped instances are freed: a process that retires instances again and again does not
// grow.
func TestPool_RetiredInstancesAreFreed(t *testing.T) {
	b := start(t, probe(t), "1", nil)
	heap := func() int64 {
		for range 3 { // an object with a finalizer takes two collections
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const retired, size = 20, 5 << 20
	drop := func() {
		for range retired {
			require.Equal(t, 200, b.do(t, "GET", fmt.Sprintf("/grow?%d", size), "").status)
		}
	}
	drop()
	before := heap()
	drop()
	require.EqualValues(t, 2*retired, b.host.Stats().Retired)
	require.Less(t, heap()-before, int64(retired*size/4))
}

// A guest that only computes does not delay garbage collection.
func TestHostile_LoopDoesNotDelayGo(t *testing.T) {
	b := start(t, probe(t), "1", func(o *Options) { o.Timeout = time.Hour })
	ctx, cancel := context.WithCancel(context.Background())
	running := make(chan answer, 1)
	go func() { running <- b.do(t, "GET", "/loop", "") }()
	eventually(t, func() bool { return strings.Contains(b.log.String(), `line="for ever"`) })
	for range 10 {
		runtime.GC()
	}
	require.Empty(t, running, "the guest still runs")
	cancel()
	require.ErrorIs(t, b.host.Close(ctx), context.Canceled)
	require.Equal(t, 503, (<-running).status)
}
