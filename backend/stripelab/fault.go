package stripelab

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Fault is an error that the lab simulates for a call.
type Fault string

// Faults.
const (
	// TooMany answers 429 with the code rate_limit, and does nothing.
	TooMany Fault = "429"
	// Broken answers 500, and Unavailable 503, and both do nothing.
	Broken      Fault = "500"
	Unavailable Fault = "503"
	// Silent does nothing and never answers.
	Silent Fault = "silent"
	// Lost runs the call and never answers.
	Lost Fault = "lost"
	// Cut runs the call and closes the connection.
	Cut Fault = "cut"
	// InFlight answers 409, as if a call with the same idempotency key were running.
	InFlight Fault = "in-flight"
)

// kinds are all faults.
var kinds = []Fault{TooMany, Unavailable, Broken, Silent, Lost, Cut, InFlight}

// fault is a fault that applies to some of the next calls.
type fault struct {
	kind Fault
	// times is the number of calls to which it still applies.
	times int
	// method and part select the calls; empty means all.
	method, part string
	// retryAfter is the header of a TooMany or Unavailable, in seconds; empty: none.
	retryAfter string
}

// defaultSilence is longer than the timeout of any client.
const defaultSilence = 2 * time.Minute

// addFault makes the next calls fail.
func (l *Lab) addFault(f fault) error {
	known := false
	for _, kind := range kinds {
		known = known || kind == f.kind
	}
	if !known {
		return fmt.Errorf("kind: want 429, 500, 503, silent, lost, cut or in-flight")
	}
	if f.times < 1 || f.times > 1000 {
		return fmt.Errorf("times: want 1 to 1000 calls")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) >= 100 {
		return fmt.Errorf("times: there are 100 faults already; remove them first")
	}
	l.faults = append(l.faults, &f)
	return nil
}

// takeFault returns the fault of a call, or nil, and counts it.
func (l *Lab) takeFault(r *http.Request) *fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.faults {
		if f.method != "" && f.method != r.Method || !strings.Contains(r.URL.Path, f.part) {
			continue
		}
		if f.times--; f.times == 0 {
			l.faults = append(l.faults[:i:i], l.faults[i+1:]...)
		}
		return f
	}
	return nil
}

// failBefore makes a call fail before it runs, and reports whether it did.
func (l *Lab) failBefore(w http.ResponseWriter, r *http.Request, f *fault) bool {
	if f.retryAfter != "" && (f.kind == TooMany || f.kind == Unavailable) {
		w.Header().Set("Retry-After", f.retryAfter)
	}
	why := &failure{kind: "api_error", message: "An unknown error occurred."}
	switch f.kind {
	case TooMany:
		*why = failure{status: http.StatusTooManyRequests, kind: invalidRequest, code: "rate_limit", message: "Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits."}
		w.Header().Set("Stripe-Rate-Limited-Reason", "global-rate")
	case Unavailable:
		why.status = http.StatusServiceUnavailable
	case Broken:
		why.status = http.StatusInternalServerError
	case InFlight:
		*why = failure{status: http.StatusConflict, kind: "idempotency_error", code: "idempotency_key_in_use", message: "There is currently another in-progress request using this Idempotent Key. Please try again later."}
	case Silent:
		l.remember(r, answer{fault: f.kind})
		hang(r, l.options.Silence)
	default:
		return false
	}
	l.finish(w, r, answer{status: why.status, body: encode(why.body()), fault: f.kind})
	return true
}

// after makes the answer fail after the call has run.
func (f *fault) after(r *http.Request, silence time.Duration) {
	if f.kind == Lost {
		hang(r, silence)
	}
	// The server closes the connection without an answer.
	panic(http.ErrAbortHandler)
}

// hang waits until the client closes the connection, or at most for a time, and then
// closes it.
func hang(r *http.Request, silence time.Duration) {
	// The server notices that the client has gone only after reading the body.
	_, _ = io.CopyN(io.Discard, r.Body, maxBody)
	select {
	case <-r.Context().Done():
	case <-time.After(silence):
	}
	panic(http.ErrAbortHandler)
}
