package stripelab

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Mode is how events are sent to webhook endpoints.
type Mode string

// Modes. A mode applies to the events that are made while it is set.
const (
	// Normal sends each once, in the order in which they were made, and again after
	// pauses as long as it is not answered 2xx.
	Normal Mode = "normal"
	// Duplicate sends each twice.
	Duplicate Mode = "duplicate"
	// Reorder sends those that are due together in reverse order.
	Reorder Mode = "reorder"
	// Shuffle sends those that are due together in random order.
	Shuffle Mode = "shuffle"
	// Stale sends, after each, the one before it about the same record once more.
	Stale Mode = "stale"
	// Hold delays them until another mode is set.
	Hold Mode = "hold"
	// Drop never sends them.
	Drop Mode = "drop"
)

var modes = []Mode{Normal, Duplicate, Reorder, Shuffle, Stale, Hold, Drop}

// sendTimeout is how long an answer may take.
const sendTimeout = 20 * time.Second

// pauses are those between the attempts to send an event: exponential, up to three days as
// the gateway documents. The single pauses are the lab's.
var pauses = []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour}

// post is the state of sending.
type post struct {
	mode  Mode
	tries []*try
}

// try is one attempt to send an event to an endpoint, done or scheduled.
type try struct {
	event    object
	endpoint string
	attempt  int
	// due is the scheduled time, and done the time when it was sent; zero if not yet.
	due, done time.Time
	held      bool
	// status is that of the answer; 0 if there was none, and then err is the reason.
	status int
	err    string
}

// maxTries bounds the attempts that are remembered.
const maxTries = 50_000

// enqueue schedules the sending of new events.
func (l *Lab) enqueue() {
	p := &l.post
	for _, n := range l.book.notes {
		if p.mode == Drop {
			continue
		}
		due := l.book.now
		for _, endpoint := range n.endpoints {
			p.tries = append(p.tries, &try{event: n.event, endpoint: endpoint, due: due, held: p.mode == Hold})
			switch p.mode {
			case Duplicate:
				p.tries = append(p.tries, &try{event: n.event, endpoint: endpoint, due: due})
			case Stale:
				if old := l.eventBefore(n.event); old != nil {
					p.tries = append(p.tries, &try{event: old, endpoint: endpoint, due: due})
				}
			}
		}
	}
	l.book.notes = nil
	if n := len(p.tries) - maxTries; n > 0 {
		p.tries = slices.Clone(p.tries[n:])
	}
}

// eventBefore returns the last event before one about the same record.
func (l *Lab) eventBefore(event object) object {
	var before object
	for _, id := range l.book.tables["event"] {
		if id == event.id() {
			break
		}
		if other := l.book.all[id]; other.text("_subject") == event.text("_subject") {
			before = other
		}
	}
	return before
}

// SetMode changes how events are sent, and sends the delayed ones.
func (l *Lab) SetMode(mode Mode) error {
	if !slices.Contains(modes, mode) {
		return errors.New("mode: want normal, duplicate, reorder, shuffle, stale, hold or drop")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	l.post.mode = mode
	if mode != Hold {
		for _, t := range l.post.tries {
			t.held = false
		}
	}
	l.nudge()
	return nil
}

// Flush sends all events that are due, and returns when each was answered or failed.
func (l *Lab) Flush(ctx context.Context) {
	l.sending.Lock()
	defer l.sending.Unlock()
	for ctx.Err() == nil {
		due := l.due()
		if len(due) == 0 {
			return
		}
		for _, t := range due {
			l.send(ctx, t)
		}
	}
}

func (l *Lab) due() (due []*try) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	for _, t := range l.post.tries {
		if t.done.IsZero() && !t.held && !t.due.After(l.book.now) {
			due = append(due, t)
		}
	}
	switch l.post.mode {
	case Reorder:
		slices.Reverse(due)
	case Shuffle:
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] }) // #nosec G404 -- no secret depends on the order
	}
	return due
}

// send posts an event, and schedules the next attempt after a failure.
func (l *Lab) send(ctx context.Context, t *try) {
	l.mu.Lock()
	endpoint := l.book.find("webhook_endpoint", t.endpoint)
	to, payload, signature := "", []byte(nil), ""
	if endpoint != nil && endpoint.text("status") == "enabled" {
		to = endpoint.text("url")
		rendered, _ := l.book.render(t.event, nil)
		payload = encode(rendered)
		signature = sign(l.options.Now(), payload, l.book.secrets(endpoint))
	}
	l.mu.Unlock()
	status, err := 0, errors.New("the endpoint is disabled or deleted")
	if to != "" {
		status, err = l.deliver(ctx, to, payload, signature)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.done, t.status = l.now(), status
	if err != nil {
		t.err = err.Error()
	}
	if status >= 200 && status <= 299 {
		t.event["pending_webhooks"] = max(t.event.num("pending_webhooks")-1, 0)
		return
	}
	if to != "" && t.attempt < len(pauses) {
		l.post.tries = append(l.post.tries, &try{event: t.event, endpoint: t.endpoint, attempt: t.attempt + 1, due: t.done.Add(pauses[t.attempt])})
	}
}

func (l *Lab) deliver(ctx context.Context, to string, payload []byte, signature string) (status int, err error) {
	bounded, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodPost, to, bytes.NewReader(payload)) // #nosec G704 -- the lab sends to where its user says
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	request.Header.Set("Stripe-Signature", signature)
	answer, err := l.sender.Do(request) // #nosec G704 -- see above
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	return answer.StatusCode, nil
}

// sign returns the header Stripe-Signature of a payload: one signature for each secret.
func sign(at time.Time, payload []byte, secrets []string) string {
	t := strconv.FormatInt(at.Unix(), 10)
	header := "t=" + t
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(t + "."))
		mac.Write(payload)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return header
}

// secrets returns the valid secrets of an endpoint, newest first.
func (b *book) secrets(endpoint object) []string {
	all := []string{endpoint.text("_secret")}
	if old := endpoint.text("_old_secret"); old != "" && endpoint.num("_old_until") > b.unix() {
		all = append(all, old)
	}
	return all
}

// maxEndpoints is the most webhook endpoints of an account in test mode, as the gateway
// documents.
const maxEndpoints = 16

func (b *book) createEndpoint(c *call) object {
	c.need("url", "enabled_events")
	o := object{
		"id": b.id("we"), "object": "webhook_endpoint", "api_version": or(c.form.str("api_version")), "application": nil, "created": b.unix(),
		"livemode": false, "status": "enabled", "metadata": map[string]string{}, "description": nil,
	}
	b.setEndpoint(c, o)
	if version := c.form.str("api_version"); version != "" && version != Version {
		c.refuse(invalid("", "api_version", "Invalid API version: the lab sends events in the version "+Version))
	}
	if len(b.table("webhook_endpoint")) >= maxEndpoints {
		c.refuse(invalid("", "", "You have reached the maximum of 16 test webhook endpoints."))
	}
	if c.failed != nil {
		return nil
	}
	o["_secret"] = b.secret("whsec")
	b.add(o)
	// Only this answer has the secret.
	shown, _ := clone(o).(object)
	shown["secret"] = o.text("_secret")
	return shown
}

func (b *book) setEndpoint(c *call, o object) {
	f := c.form
	if f.has("url") {
		u, err := url.Parse(f.str("url"))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(f.str("url")) > 5000 {
			c.refuse(invalid("url_invalid", "url", "Invalid URL: An explicit scheme (such as https) must be provided."))
		}
		o["url"] = f.str("url")
	}
	if f.has("enabled_events") {
		o["enabled_events"] = f.texts("enabled_events")
		if len(f.texts("enabled_events")) == 0 {
			c.refuse(invalid("parameter_invalid_empty", "enabled_events", "Invalid array"))
		}
	}
	if f.has("disabled") {
		o["status"] = map[bool]string{true: "disabled", false: "enabled"}[f.yes("disabled")]
	}
	if f.has("description") {
		o["description"] = or(f.str("description"))
	}
	o["metadata"] = c.metadata(f, meta(o))
}

func (b *book) updateEndpoint(c *call) object {
	o := b.named(c, "webhook_endpoint")
	if o == nil {
		return nil
	}
	changed, _ := clone(o).(object)
	b.setEndpoint(c, changed)
	if c.failed != nil {
		return nil
	}
	for name, value := range changed {
		o[name] = value
	}
	return o
}

func (b *book) deleteEndpoint(c *call) object {
	o := b.named(c, "webhook_endpoint")
	if o == nil {
		return nil
	}
	b.remove(o)
	return object{"id": o.id(), "object": o.kind(), "deleted": true}
}

// rollSecret replaces the secret of an endpoint, as the gateway's dashboard can. The former
// one stays valid for some hours, 24 unless the form says otherwise.
func (l *Lab) rollSecret(c *call) object {
	b := l.book
	o := b.find("webhook_endpoint", c.form.str("endpoint"))
	if o == nil {
		return c.refuse(missing("webhook_endpoint", c.form.str("endpoint"), "endpoint"))
	}
	hours := int64(24)
	if c.form.has("hours") {
		hours = c.number(c.form, "hours", "hours")
	}
	if c.failed != nil {
		return nil
	}
	o["_old_secret"], o["_old_until"] = o.text("_secret"), b.now.Add(time.Duration(hours)*time.Hour).Unix()
	o["_secret"] = b.secret("whsec")
	return object{"secret": o.text("_secret")}
}
