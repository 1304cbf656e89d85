package stripelab

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The gateway keeps events for 30 days. The lab keeps at most maxEvents of them.
const (
	keepEvents = 30 * 24 * time.Hour
	maxEvents  = 50_000
)

// note is an event that is to be sent to webhook endpoints.
type note struct {
	event object
	// endpoints are the ids of those that want it.
	endpoints []string
}

// emit creates an event about a record. before has the former values of its changed
// fields, or is nil.
func (b *book) emit(kind string, o, before object) {
	rendered, _ := b.render(o, nil) // nothing is expanded, so nothing can fail
	data := object{"object": json.RawMessage(encode(rendered))}
	if before != nil {
		data["previous_attributes"] = json.RawMessage(encode(before))
	}
	request := object{"id": nil, "idempotency_key": nil}
	if b.cause != nil {
		request = object{"id": b.cause.request, "idempotency_key": or(b.cause.idempotency)}
	}
	var endpoints []string
	for _, one := range b.table("webhook_endpoint") {
		if wants(one, kind) {
			endpoints = append(endpoints, one.id())
		}
	}
	event := b.add(object{
		"id": b.id("evt"), "object": "event", "api_version": Version, "created": b.unix(), "data": data, "livemode": false,
		"pending_webhooks": int64(len(endpoints)), "request": request, "type": kind, "_subject": o.id(), "_at": b.unix(),
	})
	b.notes = append(b.notes, &note{event, endpoints})
	b.forgetEvents()
}

func wants(endpoint object, kind string) bool {
	enabled := endpoint.texts("enabled_events")
	return endpoint.text("status") == "enabled" && (slices.Contains(enabled, "*") || slices.Contains(enabled, kind))
}

func (b *book) forgetEvents() {
	ids := b.tables["event"]
	limit := b.now.Add(-keepEvents).Unix()
	n := 0
	for len(ids)-n > maxEvents || n < len(ids) && b.all[ids[n]].num("created") < limit {
		delete(b.all, ids[n])
		n++
	}
	b.tables["event"] = ids[n:]
}

// change runs a change of a record, and emits an event with the former values.
func (b *book) change(kind string, o object, do func()) {
	before, _ := clone(o).(object)
	do()
	b.emit(kind, o, changes(before, o))
}

func (b *book) listEvents(c *call) object {
	kinds := c.form.texts("types")
	if len(kinds) > 20 {
		return c.refuse(invalid("", "types", "You can filter by up to 20 types"))
	}
	return b.list(c, "event", nil, func(o object) bool {
		return len(kinds) == 0 || slices.Contains(kinds, o.text("type"))
	})
}

// on runs a call on the record that the path names.
func on(kind string, do func(*book, *call, object) object) func(*book, *call) object {
	return func(b *book, c *call) object {
		o := b.named(c, kind)
		if o == nil {
			return nil
		}
		return do(b, c, o)
	}
}

// retrieve answers one record of a kind.
func retrieve(kind string) func(*book, *call) object {
	return func(b *book, c *call) object { return b.named(c, kind) }
}

// named returns the record that the path names, or refuses the call.
func (b *book) named(c *call, kind string) object {
	if o := b.find(kind, c.id); o != nil {
		return o
	}
	return c.refuse(missing(strings.ReplaceAll(kind, ".", " "), c.id, "id"))
}

// referred returns the record that a parameter names, or refuses the call. It returns nil
// if the parameter is not given.
func (b *book) referred(c *call, kind, id, param string) object {
	if id == "" {
		return nil
	}
	o := b.find(kind, id)
	if o == nil {
		f := missing(strings.ReplaceAll(kind, ".", " "), id, param)
		f.status = 400
		return c.refuse(f)
	}
	return o
}
