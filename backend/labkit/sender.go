package labkit

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Mode is how messages are sent.
type Mode string

// Modes. A mode applies to the messages that are made while it is set.
const (
	// Normal sends each once, in the order in which they were made, and again after pauses
	// as long as it is not answered 2xx.
	Normal Mode = "normal"
	// Duplicate sends each twice.
	Duplicate Mode = "duplicate"
	// Reorder sends those that are due together in reverse order.
	Reorder Mode = "reorder"
	// Shuffle sends those that are due together in random order.
	Shuffle Mode = "shuffle"
	// Stale sends, after each, the one before it about the same subject once more.
	Stale Mode = "stale"
	// Hold delays them until another mode is set.
	Hold Mode = "hold"
	// Drop never sends them.
	Drop Mode = "drop"
)

var modes = []Mode{Normal, Duplicate, Reorder, Shuffle, Stale, Hold, Drop}

// Try is one attempt to send a message, done or scheduled.
type Try[M any] struct {
	Message M
	// To is the destination, by whatever name the lab has for it.
	To string
	// Attempt counts the tries before it that failed.
	Attempt int
	// Due is the scheduled time, and Done the time when it was sent; zero if not yet.
	Due, Done time.Time
	Held      bool
	// Status is that of the answer; 0 if there was none, and then Problem is the reason.
	Status  int
	Problem string
}

// Accepted reports whether the destination has the message.
func (t *Try[M]) Accepted() bool { return t.Status >= 200 && t.Status <= 299 }

// Outbox is what a Sender needs of its lab. The lab is locked when its functions are called.
type Outbox[M any] struct {
	// Lab is the lock of the lab.
	Lab sync.Locker
	// Now returns the time, and Live runs what is due, and adds its messages.
	Now  func() time.Time
	Live func()
	// Before returns the last message before one about the same subject, if there is one.
	Before func(M) (M, bool)
	// Request makes the request of a try. One for which there is none is not repeated.
	Request func(*Try[M]) (*http.Request, error)
	// Again returns after how long a try that was sent is repeated, or 0 if it is not.
	Again func(*Try[M]) time.Duration
	// Timeout is how long an answer may take.
	Timeout time.Duration
}

// Sender sends the messages of a lab, which are notifications or events.
type Sender[M any] struct {
	outbox Outbox[M]
	client *http.Client
	// wake contains at most one signal that there may be something to send.
	wake chan struct{}
	// sending is locked while messages are sent, so that they stay in order.
	sending sync.Mutex

	// The lock of the lab guards the fields below.
	mode  Mode
	tries []*Try[M]
}

// NewSender returns a sender in the mode Normal.
func NewSender[M any](o Outbox[M]) *Sender[M] {
	return &Sender[M]{
		outbox: o, wake: make(chan struct{}, 1), mode: Normal,
		// A process may close the idle connections of the default transport while an answer
		// arrives: what was accepted would be sent again.
		client: &http.Client{Timeout: o.Timeout, Transport: http.DefaultTransport.(*http.Transport).Clone(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// maxTries bounds the attempts that are remembered.
const maxTries = 50_000

// Add schedules a message. The lab is locked.
func (s *Sender[M]) Add(message M, to string, due time.Time) {
	if s.mode == Drop {
		return
	}
	s.tries = append(s.tries, &Try[M]{Message: message, To: to, Due: due, Held: s.mode == Hold})
	switch s.mode {
	case Duplicate:
		s.tries = append(s.tries, &Try[M]{Message: message, To: to, Due: due})
	case Stale:
		if old, has := s.outbox.Before(message); has {
			s.tries = append(s.tries, &Try[M]{Message: old, To: to, Due: due})
		}
	}
	s.tries = s.tries[max(len(s.tries)-maxTries, 0):]
}

// Tries returns all tries, oldest first. The lab is locked.
func (s *Sender[M]) Tries() []*Try[M] { return s.tries }

// Mode returns the mode. The lab is locked.
func (s *Sender[M]) Mode() Mode { return s.mode }

// SetMode changes how messages are sent, and sends the delayed ones.
func (s *Sender[M]) SetMode(mode Mode) error {
	if !slices.Contains(modes, mode) {
		return errors.New("mode: want normal, duplicate, reorder, shuffle, stale, hold or drop")
	}
	s.outbox.Lab.Lock()
	defer s.outbox.Lab.Unlock()
	s.outbox.Live()
	s.mode = mode
	if mode != Hold {
		for _, t := range s.tries {
			t.Held = false
		}
	}
	s.Wake()
	return nil
}

// tick is the interval at which scheduled events are run.
const tick = time.Second

// Run runs what is due and sends messages until ctx ends. Without it, what is due runs before
// each call, and Flush sends messages.
func (s *Sender[M]) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		s.Flush(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// Wake wakes Run, and does not block.
func (s *Sender[M]) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Flush sends all messages that are due, and returns when each was answered or failed.
func (s *Sender[M]) Flush(ctx context.Context) {
	s.sending.Lock()
	defer s.sending.Unlock()
	for ctx.Err() == nil {
		due := s.due()
		if len(due) == 0 {
			return
		}
		for _, t := range due {
			s.send(ctx, t)
		}
	}
}

func (s *Sender[M]) due() (due []*Try[M]) {
	s.outbox.Lab.Lock()
	defer s.outbox.Lab.Unlock()
	s.outbox.Live()
	now := s.outbox.Now()
	for _, t := range s.tries {
		if t.Done.IsZero() && !t.Held && !t.Due.After(now) {
			due = append(due, t)
		}
	}
	switch s.mode {
	case Reorder:
		slices.Reverse(due)
	case Shuffle:
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] }) // #nosec G404 -- no secret depends on the order
	}
	return due
}

// send posts a message, and schedules the next try after a failure.
func (s *Sender[M]) send(ctx context.Context, t *Try[M]) {
	s.outbox.Lab.Lock()
	request, err := s.outbox.Request(t)
	s.outbox.Lab.Unlock()
	sent, status := err == nil, 0
	if sent {
		status, _, err = s.Do(ctx, request)
	}
	s.outbox.Lab.Lock()
	defer s.outbox.Lab.Unlock()
	t.Done, t.Status = s.outbox.Now(), status
	if err != nil {
		t.Problem = err.Error()
	}
	if !sent {
		return
	}
	if pause := s.outbox.Again(t); pause > 0 {
		s.tries = append(s.tries, &Try[M]{Message: t.Message, To: t.To, Attempt: t.Attempt + 1, Due: t.Done.Add(pause)})
	}
}

// Do sends a request to a destination, and returns the status and the beginning of the answer.
func (s *Sender[M]) Do(ctx context.Context, request *http.Request) (status int, text string, err error) {
	bounded, cancel := context.WithTimeout(ctx, s.outbox.Timeout)
	defer cancel()
	answer, err := s.client.Do(request.WithContext(bounded)) // #nosec G704 -- the lab sends to where its user says
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, string(body), err
}
