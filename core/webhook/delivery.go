package webhook

import "kith/core"

// State is the state of a delivery of one event to one endpoint.
type State string

const (
	// Waiting is a delivery with a scheduled attempt. It is set by a new event, a
	// replay, or a failed attempt that will be repeated.
	Waiting State = "waiting"
	// Sending is a delivery that a worker has leased for one attempt. If the lease
	// expires without a result, any worker may lease it again.
	Sending State = "sending"
	// Delivered is a delivery to which the endpoint responded with 2xx.
	Delivered State = "delivered"
	// Failed is a delivery without further attempts, unless it is replayed.
	Failed State = "failed"
)

// ParseState returns s as a state or an error about field.
func ParseState(field, s string) (State, error) {
	return core.ParseOneOf(field, s, Waiting, Sending, Delivered, Failed)
}

// DeliveryKey identifies a delivery.
type DeliveryKey struct {
	Tenant   core.TenantAlias
	Endpoint Endpoint
	// Event is the id of the event.
	Event string
}

// Delivery is a delivery in the delivery log.
type Delivery struct {
	DeliveryKey
	Type  Type
	State State
	// Due is when the next attempt may begin; in state Sending, when the lease
	// expires; zero when the delivery has ended.
	Due core.Time
	// Created is when the event happened. Ended is when the delivery was Delivered or
	// Failed, or zero.
	Created, Ended core.Time
	// Tried is the number of the last attempt that had ended.
	Tried int
	// Attempts are the last MaxAttemptsShown attempts, oldest first. An attempt whose
	// process died is missing.
	Attempts []Attempt
}

// LastAttempt returns the latest attempt of a delivery, or nil.
func (d Delivery) LastAttempt() *Attempt {
	if len(d.Attempts) == 0 {
		return nil
	}
	return &d.Attempts[len(d.Attempts)-1]
}

const (
	// MaxDeliveryPage is the most deliveries of a page of DeliveryFilter.
	MaxDeliveryPage = 50
	// MaxFailedShown is the highest number of failed deliveries that is counted.
	MaxFailedShown = 1000
)

// DeliveryFilter selects deliveries to an endpoint. The zero value selects all.
type DeliveryFilter struct {
	State State
	// Before is the id of the last event of the page before; empty: the first page.
	Before string
}

// MaxAttemptsShown is the most attempts of a delivery that the log returns: those of
// two runs through the schedule.
const MaxAttemptsShown = 20

// Attempt is one attempt to deliver.
type Attempt struct {
	// Number counts the attempts of a delivery from 1, across replays. It is also a
	// fencing token: the result of an attempt is ignored once a later one has begun.
	Number  int
	Started core.Time
	// Duration is the duration in milliseconds.
	Duration core.Time
	// Status is the HTTP status of the response; 0 if no response arrived.
	Status int
	// Error says why no response arrived; empty if one did.
	Error string
	// Answer is the beginning of the response's body, up to MaxAnswer bytes.
	Answer string
}

// Limits of an attempt.
const (
	// AttemptTimeout is the timeout of an attempt, from the start of the connection
	// to the end of the response.
	//
	// Spec silent: Standard Webhooks advises 15 to 30 seconds.
	AttemptTimeout = 15 * core.Second
	// MaxAnswer is how many bytes of a response are stored.
	MaxAnswer = 1024
)

// Kept is how long a delivery is stored after it has ended (clients 6.3.6).
const Kept = 30 * core.Day

// gone is the HTTP status by which an endpoint refuses further events.
const gone = 410

// Next is what to do after an attempt.
type Next struct {
	State State
	// Delay is the time until the next attempt, if State is Waiting.
	Delay core.Time
	// Disable is true if the endpoint gets no more events.
	Disable bool
}

// OK reports whether the endpoint accepted the event.
func (a Attempt) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// After decides what to do after an attempt. tries is its number, counted from 1
// since the delivery began or was replayed. jitter is random and spreads the next
// attempts of deliveries that failed together.
//
// Any 2xx status is success. Accepting only 200 (clients 6.5.2) would repeat
// deliveries to the many receivers that respond with 202 or 204. Any other status is
// a failure, including redirects. 410 Gone is final and disables the endpoint, as in
// Standard Webhooks.
func After(tries int, a Attempt, jitter uint8) Next {
	switch {
	case a.OK():
		return Next{State: Delivered}
	case a.Status == gone:
		return Next{State: Failed, Disable: true}
	}
	delay, again := Delay(tries, jitter)
	if !again {
		return Next{State: Failed}
	}
	return Next{State: Waiting, Delay: delay}
}
