package stripelab

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Version is the version of the gateway's API whose shapes the lab answers with.
const Version = "2026-06-24.dahlia"

// The keys that every lab accepts. They are public and used only by labs.
const (
	// SecretKey may make all calls.
	SecretKey = "sk_test_lab0000000000000000secret"
	// PublishableKey may make none: a client that sends it has mixed up its keys.
	PublishableKey = "pk_test_lab00000000000publishable"
)

// Options configure a lab. The zero value is suitable for trying it out.
type Options struct {
	// Now returns the time. The lab's clock is ahead of it by the time that it was
	// advanced; webhooks are signed with it. Default time.Now.
	Now func() time.Time
	// BaseURL is the address of the lab in the links that it answers. Default: the host
	// of the request.
	BaseURL string
	// Journal is a file to which commands are appended. At start it is replayed, which
	// restores the state. Default none.
	Journal string
	// Silence is how long a call without an answer (Silent, Lost) is kept open for a
	// client that does not close it. Default 2 minutes.
	Silence time.Duration
	// Log receives errors that are not in an answer. Default none.
	Log *slog.Logger
}

// Lab is a gateway with one account. It is an http.Handler.
type Lab struct {
	options Options
	mux     *http.ServeMux
	sender  *http.Client
	// wake contains at most one signal that there may be something to send.
	wake chan struct{}
	// sending is locked while events are sent, so that they stay in order.
	sending sync.Mutex

	// mu guards the fields below.
	mu sync.Mutex
	// ahead is how far the clock was advanced.
	ahead   time.Duration
	book    *book
	keys    []*key
	post    post
	faults  []*fault
	seen    []Call
	reads   int
	journal *journal
}

// New returns a lab, with the state from its journal if it has one.
func New(o Options) (*Lab, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Lab{
		options: o, wake: make(chan struct{}, 1), keys: []*key{{text: SecretKey, all: true}}, post: post{mode: Normal},
		// A process may close the idle connections of the default transport while an answer
		// arrives: what was accepted would be sent again.
		sender: &http.Client{Timeout: sendTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	l.mux = l.routes()
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the journal; later commands are not recorded.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.journal.close()
	l.journal = nil
	return err
}

func (l *Lab) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.mux.ServeHTTP(w, r) }

// tick is the interval at which scheduled events are run.
const tick = time.Second

// Run runs what is due and sends events to webhook endpoints until ctx ends. Without Run,
// what is due runs before each call, and Flush sends events.
func (l *Lab) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		l.Flush(ctx)
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-ticker.C:
		}
	}
}

// now returns the time of the lab, in whole seconds. It never goes back, even if the
// machine's clock does.
func (l *Lab) now() time.Time {
	at := l.options.Now().UTC().Add(l.ahead).Truncate(time.Second)
	if at.Before(l.book.now) {
		return l.book.now
	}
	return at
}

// live runs what is due, and schedules the sending of its events.
func (l *Lab) live() {
	l.book.runTo(l.now(), "")
	l.enqueue()
}

// perform runs a call at the current time, and records it unless it only reads.
func (l *Lab) perform(c *call) answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	at := l.book.now
	a := l.book.once(l, c)
	l.enqueue()
	if !c.reads() {
		l.journal.write(at, c)
	}
	l.nudge()
	return a
}

// nudge wakes Run, and does not block.
func (l *Lab) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
