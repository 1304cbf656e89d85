package gateway

import (
	"context"
	"errors"
	"time"
)

// Action is what to do about a failed call.
type Action int

const (
	// Retry: the call itself has no known error; repeat it later.
	Retry Action = iota
	// SetUp: the merchant must change the set-up at the gateway, such as the keys or
	// their permissions.
	SetUp
	// Missing: the gateway has no such object.
	Missing
	// Alert: the call was invalid, or its answer is not understood. An operator must
	// look at it.
	Alert
)

// Error is the error of a call to a gateway.
type Error struct {
	Action Action
	// RetryAfter is the pause that the gateway asks for; 0 if it does not ask.
	RetryAfter time.Duration
	// Err is the error of the gateway's client. Its text has no keys and no data of
	// customers.
	Err error
}

// Error returns the text of the cause, which names the gateway.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ActionOf returns the action of an *Error, and Alert for any other error.
func ActionOf(err error) Action {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Action
	}
	return Alert
}

// Is reports whether err is an error with the given action.
func Is(err error, a Action) bool { return err != nil && ActionOf(err) == a }

// Wait waits for a time, and returns an error when ctx ends first.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Text is an error with a fixed text.
type Text string

// Error returns the text.
func (t Text) Error() string { return string(t) }
