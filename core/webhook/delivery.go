package webhook

import "kith/core"

// State is where a delivery stands: one event on its way to one endpoint.
type State string

const (
	// Waiting is a delivery whose next attempt has a time. An event, a replay
	// and a failed attempt with another to come bring it here.
	Waiting State = "waiting"
	// Sending is a delivery that a worker has leased for one attempt. When the
	// lease ends without a result, any worker takes it again.
	Sending State = "sending"
	// Delivered is a delivery whose endpoint answered 2xx.
	Delivered State = "delivered"
	// Failed is a delivery that no further attempt will be made for, unless it
	// is replayed.
	Failed State = "failed"
)

// ParseState returns s as a state or an error about field.
func ParseState(field, s string) (State, error) {
	switch State(s) {
	case Waiting, Sending, Delivered, Failed:
		return State(s), nil
	}
	return "", core.Invalid(field, "must be one of waiting, sending, delivered, failed")
}

// Place names a delivery.
type Place struct {
	Tenant   core.TenantAlias
	Endpoint Endpoint
	// Event is the id of the event.
	Event string
}

// Delivery is a delivery as the log shows it.
type Delivery struct {
	Place
	Type  Type
	State State
	// Due is when the next attempt may begin, or, of one that is being sent,
	// when its lease ends; zero when it has ended.
	Due core.Time
	// Created is when the event happened, Ended when the delivery did, or zero.
	Created, Ended core.Time
	// Attempts are the last MaxAttemptsShown, the first first. An attempt whose
	// process died has left none.
	Attempts []Attempt
}

// MaxAttemptsShown bounds the attempts that the log shows of a delivery: as
// many as two runs through the schedule.
const MaxAttemptsShown = 20

// Attempt is one try to deliver.
type Attempt struct {
	// Number counts the attempts of a delivery from 1, over replays. It is also
	// the fence: the result of an attempt counts only while no later one began.
	Number  int
	Started core.Time
	// Duration is how long it took, in milliseconds.
	Duration core.Time
	// Status is the HTTP status of the answer; 0 when there was none.
	Status int
	// Error says why there was no answer; empty when there was one.
	Error string
	// Answer is the beginning of the answer's body, up to MaxAnswer bytes.
	Answer string
}

// Bounds of an attempt.
const (
	// Patience is how long an endpoint may take to answer, from the first byte
	// of the connection on.
	//
	// Spec silent: Standard Webhooks advises 15 to 30 seconds.
	Patience = 15 * core.Second
	// Lease is how long an attempt belongs to the worker that began it.
	Lease = 4 * Patience
	// MaxAnswer is how much of an answer is kept, in bytes.
	MaxAnswer = 1024
)

// Kept is how long a delivery is remembered after it has ended (reference, 6).
const Kept = 30 * core.Day

// gone is the status by which an endpoint says that it wants no more events.
const gone = 410

// Next is what follows from an attempt.
type Next struct {
	State State
	// Delay is how long to wait for the next attempt when State is Waiting.
	Delay core.Time
	// Disable is true when the endpoint is to get no more events.
	Disable bool
}

// After decides what follows from the result of an attempt that was the
// tries-th since the delivery began, or was replayed. luck is random and
// spreads the attempts that failed together.
//
// Any 2xx is success. The reference counts 200 alone, which would send again
// and again to the many receivers that answer 204 or 202 and mean it. Anything
// else fails, redirects too. 410 Gone fails for good and disables the endpoint,
// as Standard Webhooks has it.
func After(tries int, a Attempt, luck uint8) Next {
	switch {
	case a.Status >= 200 && a.Status <= 299:
		return Next{State: Delivered}
	case a.Status == gone:
		return Next{State: Failed, Disable: true}
	}
	delay, again := Delay(tries, luck)
	if !again {
		return Next{State: Failed}
	}
	return Next{State: Waiting, Delay: delay}
}
