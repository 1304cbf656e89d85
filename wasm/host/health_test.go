package host

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv/manualclock"
)

// Calls to a server that hangs fail while other calls continue, and later ones fail without
// being sent, until the server answers a health check. A slow server that answers its
// checks is waited for.
func TestHealth_ServerHangs(t *testing.T) {
	t.Parallel()
	// pause is that of package watchdog.
	const healthTimeout, pause = 500 * time.Millisecond, 250 * time.Millisecond
	var hangs atomic.Bool
	var asked atomic.Int64
	released := make(chan struct{})
	slow := make(chan struct{})
	port := backend(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz" && !hangs.Load():
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable) // a response
			return
		case r.URL.Path == "/slow":
			<-slow
			return
		case r.URL.Path != "/healthz":
			asked.Add(1)
		}
		<-released
	})
	t.Cleanup(func() { close(released) })
	clk := manualclock.New()
	b := start(t, probe(t), port, func(o *Options) {
		o.withTimeout, o.HealthTimeout = clk.WithTimeout, healthTimeout
		o.HealthChecks = []string{"http://127.0.0.1:" + port + "/healthz"}
		o.Timeout = 1000 * deadline // of this clock
	})
	dog := b.host.watchdogs["http://127.0.0.1:"+port]
	// pass lets time pass until a condition holds.
	pass := func(until func() bool) {
		t.Helper()
		eventually(t, func() bool { clk.Advance(healthTimeout / 10); return until() })
	}
	late := b.begin(t, "/send?http://127.0.0.1:"+port+"/slow")
	for range 10 {
		clk.Pass(t, pause, 1) // between two checks
	}
	require.GreaterOrEqual(t, clk.Total(healthTimeout), 5)
	require.False(t, dog.Away())
	close(slow)
	require.Equal(t, 200, (<-late).status)

	hangs.Store(true)
	var waiting []chan answer
	for range b.host.options.Instances - b.host.options.reserved() {
		waiting = append(waiting, b.begin(t, "/send?http://127.0.0.1:"+port))
	}
	eventually(t, func() bool { return asked.Load() == int64(len(waiting)) })
	require.Equal(t, 200, b.do(t, "GET", "/clock", "").status)
	pass(dog.Away)
	for _, w := range waiting {
		require.Equal(t, answerText(502, "abi: http request failed"), text(<-w))
	}
	require.Equal(t, answerText(502, "abi: http request failed"), text(b.do(t, "GET", "/send?http://127.0.0.1:"+port, "")))
	require.EqualValues(t, len(waiting), asked.Load(), "nothing is sent to a server that hangs")
	require.Zero(t, b.host.Stats().TimedOut)
	require.True(t, b.host.Away())

	hangs.Store(false)
	pass(func() bool { return !b.host.Away() })
}

func TestHealth_InvalidURL(t *testing.T) {
	t.Parallel()
	_, err := Load(t.Context(), "spin.toml", Options{HealthChecks: []string{"localhost/healthz"}})
	require.EqualError(t, err, `host: health check "localhost/healthz": must be an absolute http or https URL, such as http://127.0.0.1:8080/healthz`)
}
