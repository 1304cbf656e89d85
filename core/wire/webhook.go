package wire

import (
	"net/url"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/referral"
	"kith/core/webhook"
)

// ParseWebhookSubscription parses the body of POST /subscription (clients 1.10.1).
// It does not check the URL; see webhook.ParseEndpoint.
func ParseWebhookSubscription(body []byte) (in webhook.Request, err error) {
	var url *string
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "endpointUrl":
			return r.text(&url, key, v)
		case "name":
			return take(r.text, &in.Name, key, v)
		case "eventTypes":
			if v.Type() == fastjson.TypeArray {
				in.Types = []webhook.Type{}
			}
			return r.items(key, v, len(webhook.Types()), func(i int, v *fastjson.Value) error {
				at := element(r.path(key), i)
				name, err := textItem(at, v)
				if err != nil {
					return err
				}
				t, err := webhook.ParseType(at, name)
				if err == nil && !slices.Contains(in.Types, t) {
					in.Types = append(in.Types, t)
				}
				return err
			})
		}
		return false
	})
	switch {
	case err != nil:
		return webhook.Request{}, err
	case url == nil:
		return webhook.Request{}, core.Invalid("endpointUrl", "is required")
	}
	in.Endpoint = *url
	return in, nil
}

// Replay is a request to send events again: one event, or all that failed since a
// time.
type Replay struct {
	// Event is the id of an event, or empty.
	Event string
	Since core.Time
}

// ParseReplay parses the body of a replay: {"id"} or {"since"}. Exactly one must be
// given.
func ParseReplay(body []byte) (Replay, error) {
	var id *string
	var since *int64
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "id":
			return r.text(&id, key, v)
		case "since":
			return r.millis(&since, key, v, 0)
		}
		return false
	})
	switch {
	case err != nil:
		return Replay{}, err
	case (id == nil) == (since == nil):
		return Replay{}, core.Invalid("", "give either id, the id of an event, or since, a time from which all failed events are sent again")
	case id != nil && *id == "":
		return Replay{}, core.Invalid("id", "must not be empty")
	case id != nil:
		return Replay{Event: *id}, nil
	}
	return Replay{Since: core.Time(*since)}, nil
}

// Replayed returns the number of replayed events as JSON.
func Replayed(n int) []byte {
	w := begin(nil)
	w.number("replayed", int64(n))
	return w.end()
}

// WebhookSubscription returns a subscription as JSON, with its secret if that is set.
func WebhookSubscription(s webhook.Subscription) []byte { return appendWebhookSubscription(nil, s) }

// WebhookSubscriptions returns the response to GET /subscription: an array
// (clients 1.10.1).
func WebhookSubscriptions(all []webhook.Subscription) []byte {
	return list(nil, len(all), func(b []byte, i int) []byte { return appendWebhookSubscription(b, all[i]) })
}

func appendWebhookSubscription(b []byte, s webhook.Subscription) []byte {
	w := begin(b)
	w.text("endpointUrl", string(s.Endpoint))
	w.text("name", s.Name)
	w.list("eventTypes", len(s.Types), func(b []byte, i int) []byte { return appendString(b, string(s.Types[i])) })
	if s.Secret != "" {
		w.text("secret", s.Secret)
	}
	w.date("dateCreated", s.Created)
	w.date("dateFailingSince", s.FailingSince)
	w.date("dateDisabled", s.Disabled)
	return w.end()
}

// WebhookSamples returns events as a JSON array, newest first, in the form in which they
// are sent: automation tools show the first one to the person who maps its fields.
func WebhookSamples(events []WebhookEvent) []byte {
	return list(nil, len(events), func(b []byte, i int) []byte { return append(b, Webhook(events[i])...) })
}

// WebhookTest returns the data of a test event (clients 6.5.13).
func WebhookTest(s webhook.Subscription) []byte {
	w := begin(nil)
	w.text("endpointUrl", string(s.Endpoint))
	w.text("name", s.Name)
	return w.end()
}

// UserCreated returns the data of user.created: the user as in a response, and the
// initial of the last name (clients 6.5.6).
func UserCreated(u UserInfo) []byte {
	w := begin(make([]byte, 0, 6<<10))
	w.user(u)
	w.text("lastInitial", initial(u.User.LastName))
	return w.end()
}

// CouponCreated returns the data of coupon.created (clients 6.5.7).
func CouponCreated(c referral.UserCode, created core.Time) []byte {
	w := begin(nil)
	w.text("code", string(c.Code))
	w.date("dateCreated", created)
	w.text("programId", string(c.Program))
	return w.end()
}

// WebhookEvent is an event to send.
type WebhookEvent struct {
	Tenant core.TenantAlias
	// Live is false for a test tenant.
	Live bool
	ID   string
	Type webhook.Type
	// Created is when it happened. Data is its JSON.
	Created core.Time
	Data    string
	// Sequence is the number of the event among those of its tenant.
	Sequence int64
}

// Subject identifies what the event is about, such as "referral/ID": a receiver orders the
// events of one subject by their sequence.
func (e WebhookEvent) Subject() string {
	kind, _, _ := strings.Cut(string(e.Type), ".")
	keys := []string{"id"}
	switch e.Type {
	case webhook.Test:
		return kind
	case webhook.UserCreated:
		keys = []string{"accountId", "id"}
	case webhook.RewardBalanceChanged:
		keys = []string{"accountId", "userId"}
	case webhook.CouponCreated:
		keys = []string{"code"}
	case webhook.ExportCreated, webhook.ExportCompleted:
		kind = "job"
	}
	for _, key := range keys {
		kind += "/" + url.PathEscape(gjson.Get(e.Data, key).String())
	}
	return kind
}

// Webhook returns the body of an event. It is the same at every attempt, because
// consumers verify the signature of these bytes (clients 6.5.3).
func Webhook(e WebhookEvent) []byte {
	w := begin(nil)
	w.text("id", e.ID)
	w.text("type", string(e.Type))
	w.text("tenantAlias", string(e.Tenant))
	w.boolean("live", e.Live)
	w.date("created", e.Created)
	w.text("subject", e.Subject())
	w.number("sequence", e.Sequence)
	w.raw("data", e.Data)
	return w.end()
}

// WebhookType is the Content-Type of an event (clients 6.5.1).
const WebhookType = "application/json; charset=UTF-8"

// SignatureHead returns the header of the JWS that signs a body (clients 6.5.3).
func SignatureHead(kid string) []byte {
	w := begin(nil)
	w.text("alg", "RS256")
	w.text("kid", kid)
	w.text("typ", "JWT")
	return w.end()
}

// Deliveries returns a page of deliveries as JSON. total is the number of deliveries
// on all pages.
func Deliveries(page []webhook.Delivery, total int) []byte {
	return pageOf("deliveries", page, total, appendDelivery)
}

func appendDelivery(b []byte, d webhook.Delivery) []byte {
	w := begin(b)
	w.text("id", d.Event)
	w.text("type", string(d.Type))
	w.text("state", string(d.State))
	w.date("dateCreated", d.Created)
	next := d.Due
	if d.State != webhook.Waiting {
		next = 0
	}
	w.date("dateNextAttempt", next)
	w.date("dateEnded", d.Ended)
	w.list("attempts", len(d.Attempts), func(b []byte, i int) []byte { return appendAttempt(b, d.Attempts[i]) })
	return w.end()
}

func appendAttempt(b []byte, a webhook.Attempt) []byte {
	w := begin(b)
	w.number("number", int64(a.Number))
	w.date("dateStarted", a.Started)
	w.number("durationMs", int64(a.Duration))
	w.numberOrNull("statusCode", int64(a.Status))
	w.textOrNull("error", a.Error)
	w.text("answer", a.Answer)
	return w.end()
}

// KeySet returns the response to GET /.well-known/jwks.json (RFC 7517).
func KeySet(keys []webhook.PublicKey) []byte {
	w := begin(nil)
	w.list("keys", len(keys), func(b []byte, i int) []byte { return appendKey(b, keys[i]) })
	return w.end()
}

func appendKey(b []byte, k webhook.PublicKey) []byte {
	w := begin(b)
	w.text("kty", "RSA")
	w.text("use", "sig")
	w.text("alg", "RS256")
	w.text("kid", k.ID)
	w.text("n", k.Modulus)
	w.text("e", "AQAB")
	return w.end()
}
