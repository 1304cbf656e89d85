package stripelab

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kith/backend/labkit"
)

// sendTimeout is how long an answer may take.
const sendTimeout = 20 * time.Second

// pauses are those between the attempts to send an event: exponential, up to three days as
// the gateway documents. The single pauses are the lab's.
var pauses = []time.Duration{5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour, 12 * time.Hour}

// newSender returns what sends the events of a lab to webhook endpoints.
func (l *Lab) newSender() *labkit.Sender[object] {
	return labkit.NewSender(labkit.Outbox[object]{
		Lab: &l.mu, Now: l.now, Live: l.live, Before: l.eventBefore, Request: l.delivery, Timeout: sendTimeout,
		Again: func(t *labkit.Try[object]) time.Duration {
			switch {
			case t.Accepted():
				t.Message["pending_webhooks"] = max(t.Message.num("pending_webhooks")-1, 0)
			case t.Attempt < len(pauses):
				return pauses[t.Attempt]
			}
			return 0
		},
	})
}

// enqueue schedules the sending of new events.
func (l *Lab) enqueue() {
	for _, n := range l.book.notes {
		for _, endpoint := range n.endpoints {
			l.Sender.Add(n.event, endpoint, l.book.now)
		}
	}
	l.book.notes = nil
}

// eventBefore returns the last event before one about the same record.
func (l *Lab) eventBefore(event object) (before object, has bool) {
	for _, id := range l.book.tables["event"] {
		if id == event.id() {
			break
		}
		if other := l.book.all[id]; other.text("_subject") == event.text("_subject") {
			before, has = other, true
		}
	}
	return before, has
}

// delivery makes the request that sends an event to an endpoint. The lab is locked.
func (l *Lab) delivery(t *labkit.Try[object]) (*http.Request, error) {
	endpoint := l.book.find("webhook_endpoint", t.To)
	if endpoint == nil || endpoint.text("status") != "enabled" {
		return nil, errors.New("the endpoint is disabled or deleted")
	}
	rendered, _ := l.book.render(t.Message, nil)
	payload := encode(rendered)
	request, err := http.NewRequest(http.MethodPost, endpoint.text("url"), bytes.NewReader(payload)) // #nosec G704 -- the lab sends to where its user says
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	request.Header.Set("Stripe-Signature", sign(l.options.Now(), payload, l.book.secrets(endpoint)))
	return request, nil
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

func (b *book) updateEndpoint(c *call, o object) object {
	changed, _ := clone(o).(object)
	b.setEndpoint(c, changed)
	if c.failed != nil {
		return nil
	}
	maps.Copy(o, changed)
	return o
}

func (b *book) deleteEndpoint(_ *call, o object) object {
	b.remove(o)
	return deleted(o)
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
