package braintreelab

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
	// TooMany answers 429, with Retry-After, and does nothing.
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
	// InFlight refuses a call with a key as if a call with the same key were running.
	InFlight Fault = "in-flight"
)

// fault is a fault that applies to some of the next calls.
type fault struct {
	kind Fault
	// times is the number of calls to which it still applies.
	times int
	// method and part select the calls; empty means all.
	method, part string
	// retryAfter is the header of a TooMany or Unavailable, in seconds; empty:
	// none.
	retryAfter string
}

// defaultSilence is longer than the timeout of any client.
const defaultSilence = 2 * time.Minute

// addFault makes the next calls fail.
func (l *Lab) addFault(f fault) error {
	switch f.kind {
	case TooMany, Broken, Unavailable, Silent, Lost, Cut, InFlight:
	default:
		return fmt.Errorf("kind: want 429, 500, 503, silent, lost, cut or in-flight")
	}
	if f.times < 1 || f.times > 1000 {
		return fmt.Errorf("times: want 1 to 1000 calls")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
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

// before makes a call fail before it runs, and reports whether it did.
func (f *fault) before(w http.ResponseWriter, r *http.Request, silence time.Duration) bool {
	if f == nil {
		return false
	}
	switch f.kind {
	case TooMany, Unavailable:
		if f.retryAfter != "" {
			w.Header().Set("Retry-After", f.retryAfter)
		}
		w.WriteHeader(map[Fault]int{TooMany: http.StatusTooManyRequests, Unavailable: http.StatusServiceUnavailable}[f.kind])
	case Broken:
		w.WriteHeader(http.StatusInternalServerError)
	case Silent:
		hang(r, silence)
	case InFlight:
		write(w, r, refusedKey("915233"))
	default:
		return false
	}
	return true
}

// after makes the answer fail after the call has run.
func (f *fault) after(r *http.Request, silence time.Duration) {
	if f == nil {
		return
	}
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
