package braintreelab

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/gateway/xmltree"
	"kith/backend/labkit"
)

// The only merchant of a lab, and its first key. They are public and used only by labs.
const (
	MerchantID = "lab_merchant"
	PublicKey  = "lab_public_key"
	PrivateKey = "lab_private_key"
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
}

// Lab is a gateway with one merchant. It is an http.Handler.
type Lab struct {
	// Sender sends the lab's notifications. Without its Run, what is due runs before each call, and its
	// Flush sends them.
	*labkit.Sender[*note]
	options Options
	mux     *http.ServeMux
	faults  labkit.Faults

	// mu guards the fields below.
	mu    sync.Mutex
	clock labkit.Clock
	book  *book
	keys  braintree.Keys
	// url is the destination of notifications; if it is empty nothing is sent.
	url string
	// taken is the number of the book's notes that the sender has.
	taken   int
	calls   labkit.Calls
	journal *labkit.Journal
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
		o.Silence = labkit.DefaultSilence
	}
	l := &Lab{options: o, clock: labkit.Clock{Machine: o.Now, Unit: time.Millisecond}, keys: braintree.Keys{{Public: PublicKey, Private: PrivateKey}}}
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

// now returns the time of the lab.
func (l *Lab) now() time.Time { return l.clock.Now(l.book.now) }

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
		l.journal.Append(labkit.Line{At: at, Call: c.call, ID: c.id, Body: string(c.body.Encode())})
	}
	l.Sender.Wake()
	return answer
}
