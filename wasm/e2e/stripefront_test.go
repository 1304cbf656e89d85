package e2e

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// stripeFront is a proxy between Kith and Stripe, which holds a call while a process is
// killed.
type stripeFront struct {
	url   string
	proxy *httputil.ReverseProxy

	mu sync.Mutex
	// calls and writes are how many there were.
	calls, writes int
	// keyless are writes without an idempotency key.
	keyless []string
	hold    *stripeHold
}

// stripeHold is about the call that is held.
type stripeHold struct {
	// left is how many calls come until it; with money, only refunds and credit count.
	left  int
	money bool
	// before is true to hold the call before Stripe has it, and false to hold the answer.
	before bool
	// reached is closed when the call is held, and released when it is to be answered.
	reached, released chan struct{}
}

func newStripeFront(t *testing.T, lab string) *stripeFront {
	t.Helper()
	target, err := url.Parse(lab)
	require.NoError(t, err)
	f := &stripeFront{proxy: httputil.NewSingleHostReverseProxy(target)}
	// The error is that a process was killed, whose call cannot be answered.
	f.proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// ServeHTTP forwards a call, also if its caller was killed meanwhile: Stripe gets what was
// sent.
func (f *stripeFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	hold := f.count(r)
	if hold == nil {
		f.proxy.ServeHTTP(w, r)
		return
	}
	if hold.before {
		close(hold.reached)
		<-hold.released
		f.proxy.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	f.proxy.ServeHTTP(answer, r)
	close(hold.reached)
	<-hold.released
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// count counts a call, and returns how to hold it, or nil.
func (f *stripeFront) count(r *http.Request) *stripeHold {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	// A preview changes nothing.
	write := r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/create_preview")
	if write {
		f.writes++
		if r.Method == http.MethodPost && r.Header.Get("Idempotency-Key") == "" {
			f.keyless = append(f.keyless, r.URL.Path)
		}
	}
	money := write && (strings.HasSuffix(r.URL.Path, "/refunds") || strings.HasSuffix(r.URL.Path, "/balance_transactions"))
	h := f.hold
	if h == nil || h.money && !money {
		return nil
	}
	if h.left--; h.left > 0 {
		return nil
	}
	f.hold = nil
	return h
}

// holdRandom holds one of the next calls: half of the times the answer to the next one that
// moves money.
func (f *stripeFront) holdRandom(r *rand.Rand) *stripeHold {
	h := &stripeHold{left: 1 + r.IntN(12), before: r.IntN(2) == 0, reached: make(chan struct{}), released: make(chan struct{})}
	if r.IntN(2) == 0 {
		h.money, h.left, h.before = true, 1, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = h
	return h
}

// release resumes the held call, or holds none if no call came so far.
func (f *stripeFront) release(h *stripeHold) {
	f.mu.Lock()
	if f.hold == h {
		f.hold = nil
	}
	f.mu.Unlock()
	close(h.released)
}
