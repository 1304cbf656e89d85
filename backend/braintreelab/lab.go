package braintreelab

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"kith/backend/gateway"
	"kith/backend/gateway/xmltree"
)

// The one merchant of a lab, and its first key. They are public: nothing but a
// lab has them.
const (
	MerchantID = "lab_merchant"
	PublicKey  = "lab_public_key"
	PrivateKey = "lab_private_key"

	merchantID = MerchantID
)

// Options set a lab up. The zero value is one to play with.
type Options struct {
	// Now tells the time; the lab's clock runs with it, and ahead of it by
	// what it was advanced. nil: time.Now.
	Now func() time.Time
	// DiscountID is the discount that the merchant has made; "svc_discount"
	// when empty.
	DiscountID string
	// CustomField is the custom field that the merchant has registered;
	// "svc_coupon" when empty.
	CustomField string
	// Journal is a file that commands are appended to, and read from at start,
	// so that the gateway is as it was; empty: none.
	Journal string
	// Silence is how long a call that gets no answer (Silent, Lost) is kept open
	// for a client that does not hang up; 2 minutes when zero.
	Silence time.Duration
	// Log gets what goes wrong besides answers; nil: nothing.
	Log *slog.Logger
}

// Lab is a gateway with one merchant. It is an http.Handler.
type Lab struct {
	options Options
	mux     *http.ServeMux
	sender  *http.Client
	// wake holds at most one note that there may be something to send.
	wake chan struct{}
	// sending is held while notifications are sent, so that they keep their
	// order.
	sending sync.Mutex

	// mu guards all below.
	mu sync.Mutex
	// ahead is how far the clock was advanced.
	ahead   time.Duration
	book    *book
	keys    gateway.Keys
	post    post
	faults  []*fault
	seen    []Call
	journal *journal
}

// New returns a lab, as its journal says when it has one.
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
		options: o, wake: make(chan struct{}, 1), keys: gateway.Keys{{Public: PublicKey, Private: PrivateKey}}, post: post{mode: Normal},
		sender: &http.Client{Timeout: sendTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	l.mux = l.routes()
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// Close closes the journal; what is done after that is not written down.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.journal.close()
	l.journal = nil
	return err
}

func (l *Lab) ServeHTTP(w http.ResponseWriter, r *http.Request) { l.mux.ServeHTTP(w, r) }

// tick is how often the clock is looked at for what happens by itself.
const tick = time.Second

// Run lets time pass and sends notifications until ctx ends. Without it, time
// passes with every command, and Flush sends.
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

// now is the time in the lab. It never goes back, whatever the machine's clock
// does.
func (l *Lab) now() time.Time {
	at := l.options.Now().UTC().Add(l.ahead).Truncate(time.Millisecond)
	if at.Before(l.book.now) {
		return l.book.now
	}
	return at
}

// live lets happen what is due, and takes what was told on its way.
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

// perform carries a command out at the present time, and writes it down unless
// it only reads.
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
