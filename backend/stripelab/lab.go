package stripelab

import (
	"net/http"
	"sync"
	"time"

	"kith/backend/labkit"
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
	// Journal is a file to which commands are appended. At start it is replayed, which
	// restores the state. Default none.
	Journal string
	// Silence is how long a call without an answer (Silent, Lost) is kept open for a
	// client that does not close it. Default 2 minutes.
	Silence time.Duration
}

// Lab is a gateway with one account. It is an http.Handler.
type Lab struct {
	// Sender sends the lab's events. Without its Run, what is due runs before each call, and its
	// Flush sends them.
	*labkit.Sender[object]
	options Options
	mux     *http.ServeMux
	faults  labkit.Faults

	// mu guards the fields below.
	mu      sync.Mutex
	clock   labkit.Clock
	book    *book
	keys    []*key
	calls   labkit.Calls
	reads   int
	journal *labkit.Journal
}

// New returns a lab, with the state from its journal if it has one.
func New(o Options) (*Lab, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Silence == 0 {
		o.Silence = labkit.DefaultSilence
	}
	l := &Lab{options: o, clock: labkit.Clock{Machine: o.Now, Unit: time.Second}, keys: []*key{{text: SecretKey, all: true}}}
	l.Sender = l.newSender()
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
	err := l.journal.Close()
	l.journal = nil
	return err
}

func (l *Lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, labkit.MaxBody)
	l.mux.ServeHTTP(w, r)
}

// now returns the time of the lab, in whole seconds.
func (l *Lab) now() time.Time { return l.clock.Now(l.book.now) }

// live runs what is due, and schedules the sending of its events.
func (l *Lab) live() {
	l.book.runTo(l.now())
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
	l.record(at, c)
	l.Sender.Wake()
	return a
}
