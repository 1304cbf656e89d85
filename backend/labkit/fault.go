package labkit

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault is an error that a lab simulates for a call.
type Fault string

// Faults.
const (
	// TooMany answers 429, and does nothing.
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
	// InFlight refuses a call as if one with the same idempotency key were running.
	InFlight Fault = "in-flight"
)

var kinds = []Fault{TooMany, Unavailable, Broken, Silent, Lost, Cut, InFlight}

// Planned is a fault that applies to some of the next calls.
type Planned struct {
	Kind Fault
	// times is the number of calls to which it still applies.
	times int
	// method and part select the calls; empty means all.
	method, part string
	// retryAfter is the header of a TooMany or Unavailable, in seconds; empty: none.
	retryAfter string
}

// Faults are the planned faults of a lab.
type Faults struct {
	mu  sync.Mutex
	all []*Planned
}

// maxFaults bounds the planned faults.
const maxFaults = 100

// Plan makes the next calls fail, as a form says; with times 0 it removes all faults.
func (f *Faults) Plan(form url.Values) error {
	times, err := strconv.Atoi(form.Get("times"))
	if err != nil {
		times = 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch kind := Fault(form.Get("kind")); {
	case times == 0:
		f.all = nil
	case !slices.Contains(kinds, kind):
		return errors.New("kind: want 429, 500, 503, silent, lost, cut or in-flight")
	case times < 0 || times > 1000:
		return errors.New("times: want 1 to 1000 calls")
	case len(f.all) >= maxFaults:
		return errors.New("times: there are 100 faults already; remove them first")
	default:
		f.all = append(f.all, &Planned{Kind: kind, times: times, method: form.Get("method"), part: form.Get("path"), retryAfter: form.Get("retry_after")})
	}
	return nil
}

// Take returns the fault of a call, or nil, and counts it.
func (f *Faults) Take(r *http.Request) *Planned {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.all {
		if p.method != "" && p.method != r.Method || !strings.Contains(r.URL.Path, p.part) {
			continue
		}
		if p.times--; p.times == 0 {
			f.all = append(f.all[:i:i], f.all[i+1:]...)
		}
		return p
	}
	return nil
}

// Len returns the number of the planned faults.
func (f *Faults) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.all)
}

// SetRetryAfter sets the header of a call that is refused for a while.
func (p *Planned) SetRetryAfter(h http.Header) {
	if p.retryAfter != "" && (p.Kind == TooMany || p.Kind == Unavailable) {
		h.Set("Retry-After", p.retryAfter)
	}
}

// LoseAnswer ends a call that has run, without an answer.
func (p *Planned) LoseAnswer(r *http.Request, silence time.Duration) {
	if p.Kind == Lost {
		Hang(r, silence)
	}
	// The server closes the connection without an answer.
	panic(http.ErrAbortHandler)
}

// DefaultSilence is longer than the timeout of any client.
const DefaultSilence = 2 * time.Minute

// Hang waits until the client closes the connection, or at most for a time, and then closes it.
func Hang(r *http.Request, silence time.Duration) {
	// The server notices that the client has gone only after reading the body.
	_, _ = io.CopyN(io.Discard, r.Body, MaxBody)
	select {
	case <-r.Context().Done():
	case <-time.After(silence):
	}
	panic(http.ErrAbortHandler)
}
