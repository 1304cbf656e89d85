package stripelab

import (
	"time"

	"kith/backend/labkit"
)

func (b *book) createClock(c *call) object {
	c.need("frozen_time")
	at := c.number(c.form, "frozen_time", "frozen_time")
	if c.failed != nil {
		return nil
	}
	o := b.add(object{
		"id": b.id("clock"), "object": "test_helpers.test_clock", "created": b.unix(), "deletes_after": b.now.AddDate(0, 0, 30).Unix(), "frozen_time": at, "livemode": false,
		"name": or(c.form.str("name")), "status": "ready", "status_details": object{},
	})
	b.emit("test_helpers.test_clock.created", o, nil)
	return o
}

// advanceClock runs what is due for the customers of a test clock up to a time. The
// gateway does it after it has answered; the lab has done it already, and answers as the
// gateway does.
func (b *book) advanceClock(c *call) object {
	c.need("frozen_time")
	o := b.named(c, "test_helpers.test_clock")
	at := c.number(c.form, "frozen_time", "frozen_time")
	if o == nil || c.failed != nil {
		return nil
	}
	from, to := time.Unix(o.num("frozen_time"), 0).UTC(), time.Unix(at, 0).UTC()
	if !to.After(from) {
		return c.refuse(invalid("", "frozen_time", "The frozen time must be after the current frozen time."))
	}
	if to.Sub(from) > labkit.MaxAdvance {
		return c.refuse(invalid("", "frozen_time", "A test clock can advance by at most two years at once."))
	}
	o["status"] = "advancing"
	b.emit("test_helpers.test_clock.advancing", o, nil)
	answer, _ := clone(o).(object)
	lab := b.now
	b.now = from
	b.runTo(to, o.id())
	b.now = lab
	o["frozen_time"], o["status"] = at, "ready"
	answer["frozen_time"] = at
	b.emit("test_helpers.test_clock.ready", o, nil)
	return answer
}

func (b *book) deleteClock(c *call) object {
	o := b.named(c, "test_helpers.test_clock")
	if o == nil {
		return nil
	}
	for _, customer := range b.where("customer", "test_clock", o.id()) {
		for _, s := range b.where("subscription", "customer", customer.id()) {
			if live(s) {
				b.cancelNow(s, "cancellation_requested")
			}
		}
		b.remove(customer)
	}
	b.remove(o)
	b.emit("test_helpers.test_clock.deleted", o, nil)
	return object{"id": o.id(), "object": o.kind(), "deleted": true}
}
