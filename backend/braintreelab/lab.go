package braintreelab

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
)

// The only merchant of a lab, and its first key. They are public and used only by labs.
const (
	MerchantID = "lab_merchant"
	PublicKey  = "lab_public_key"
	PrivateKey = "lab_private_key"

	merchantID = MerchantID
)

// Options configure a lab. The zero value is suitable for trying it out.
type Options struct {
	// Now returns the time. The lab's clock is ahead of it by the time that it was
	// advanced. Default time.Now.
	Now func() time.Time
	// DiscountID is the discount that the merchant has created. Default "svc_discount".
	DiscountID string
	// CustomField is the custom field that the merchant has registered. Default
	// "svc_coupon".
	CustomField string
	// Journal is a file to which commands are appended. At start it is replayed, which
	// restores the state. Default none.
	Journal string
	// Silence is how long a call without an answer (Silent, Lost) is kept open for a
	// client that does not close it. Default 2 minutes.
	Silence time.Duration
	// Log receives errors that are not in an answer. Default none.
	Log *slog.Logger
}

// Lab is a gateway with one merchant. It is an http.Handler.
type Lab struct {
	options Options
	mux     *http.ServeMux
	sender  *http.Client
	// wake contains at most one signal that there may be something to send.
	wake chan struct{}
	// sending is locked while notifications are sent, so that they stay in order.
	sending sync.Mutex

	// mu guards the fields below.
	mu sync.Mutex
	// ahead is how far the clock was advanced.
	ahead   time.Duration
	book    *book
	keys    braintree.Keys
	post    post
	faults  []*fault
	seen    []Call
	journal *journal
}

// New returns a lab, with the state from its journal if it has one.
func New(o Options) (*Lab, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.DiscountID == "" {
		o.DiscountID = "svc_discount"
	}
	if o.CustomField == "" {
		o.CustomField = "svc_coupon"
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Lab{
		options: o, wake: make(chan struct{}, 1), keys: braintree.Keys{{Public: PublicKey, Private: PrivateKey}}, post: post{mode: Normal},
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

// Run runs scheduled events and sends notifications until ctx ends. Without Run, events
// run before each command, and Flush sends notifications.
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

// now returns the time of the lab. It never goes back, even if the machine's clock does.
func (l *Lab) now() time.Time {
	at := l.options.Now().UTC().Add(l.ahead).Truncate(time.Millisecond)
	if at.Before(l.book.now) {
		return l.book.now
	}
	return at
}

// live runs the due events, and schedules their notifications.
func (l *Lab) live() {
	l.book.runTo(l.now())
	l.enqueue()
}

// command is one request to the gateway, or to the lab.
type command struct {
	// call is the pattern of its route, such as "PUT /subscriptions/{id}".
	call string
	// id is the record that the path names.
	id string
	// body has the parts of the request by name.
	body *xmltree.Node
}

// reads reports whether a command changes nothing.
func (c command) reads() bool {
	return strings.HasPrefix(c.call, http.MethodGet) || strings.Contains(c.call, "advanced_search")
}

// perform runs a command at the current time, and records it unless it only reads.
func (l *Lab) perform(c command, do func(*Lab, command) reply) reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	at := l.book.now
	answer := do(l, c)
	l.enqueue()
	if !c.reads() {
		l.journal.write(at, c)
	}
	l.nudge()
	return answer
}

// nudge wakes Run, and does not block.
func (l *Lab) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
