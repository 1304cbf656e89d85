package braintreelab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
)

// Mode is how notifications are sent.
type Mode string

// Modes. A mode applies to the notifications that are made while it is set.
const (
	// Normal sends each once, in the order in which they were made, and again
	// every hour for a day as long as it is not answered 2xx.
	Normal Mode = "normal"
	// Duplicate sends each twice.
	Duplicate Mode = "duplicate"
	// Reorder sends those that are due together in reverse order.
	Reorder Mode = "reorder"
	// Stale sends, after each, the one before it about the same subject once
	// more.
	Stale Mode = "stale"
	// Hold delays them until another mode is set.
	Hold Mode = "hold"
	// Drop never sends them.
	Drop Mode = "drop"
)

// How long an answer may take, and how the gateway retries (production): every
// hour for a day.
const (
	sendTimeout = 30 * time.Second
	retryPause  = time.Hour
	retryFor    = 24 * time.Hour
)

// post is the state of sending: the destination and the tries.
type post struct {
	// url is the destination; if it is empty nothing is sent.
	url  string
	mode Mode
	// taken is the number of the book's notes that have been added to tries.
	taken int
	tries []*try
}

// try is one attempt to send a notification, done or scheduled.
type try struct {
	note *note
	// due is the scheduled time, and done the time when it was sent; zero if not yet.
	due, done time.Time
	held      bool
	// status is that of the answer; 0 if there was none, and then err is the reason.
	status int
	err    string
}

// enqueue schedules the tries of new notifications.
func (l *Lab) enqueue() {
	p := &l.post
	for _, n := range l.book.notes[p.taken:] {
		p.taken++
		if p.url == "" || p.mode == Drop {
			continue
		}
		p.tries = append(p.tries, &try{note: n, due: n.at, held: p.mode == Hold})
		switch p.mode {
		case Duplicate:
			p.tries = append(p.tries, &try{note: n, due: n.at})
		case Stale:
			if old := l.noteBefore(n); old != nil {
				p.tries = append(p.tries, &try{note: old, due: n.at})
			}
		}
	}
}

// noteBefore returns the last notification before n about the same subject.
func (l *Lab) noteBefore(n *note) *note {
	var before *note
	for _, other := range l.book.notes {
		if other == n {
			break
		}
		if other.subject == n.subject {
			before = other
		}
	}
	return before
}

// setMode changes how notifications are sent, and sends the delayed ones.
func (l *Lab) setMode(mode Mode) error {
	if !slices.Contains([]Mode{Normal, Duplicate, Reorder, Stale, Hold, Drop}, mode) {
		return errors.New("mode: want normal, duplicate, reorder, stale, hold or drop")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	l.post.mode = mode
	if mode != Hold {
		for _, t := range l.post.tries {
			t.held = false
		}
	}
	return nil
}

// Flush sends all notifications that are due, and returns when each was
// answered or failed. One that failed is due again an hour later.
func (l *Lab) Flush(ctx context.Context) {
	l.sending.Lock()
	defer l.sending.Unlock()
	for ctx.Err() == nil {
		due, url := l.due()
		if len(due) == 0 {
			return
		}
		for _, t := range due {
			l.send(ctx, url, t)
		}
	}
}

func (l *Lab) due() (due []*try, url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	for _, t := range l.post.tries {
		if t.done.IsZero() && !t.held && !t.due.After(l.book.now) {
			due = append(due, t)
		}
	}
	if l.post.mode == Reorder {
		slices.Reverse(due)
	}
	return due, l.post.url
}

// send posts a notification, and schedules the next try after a failure.
func (l *Lab) send(ctx context.Context, url string, t *try) {
	status, err := l.deliver(ctx, url, t.note.payload)
	l.mu.Lock()
	defer l.mu.Unlock()
	t.done, t.status = l.now(), status
	if err != nil {
		t.err = err.Error()
	}
	if next := t.done.Add(retryPause); (status < 200 || status > 299) && !next.After(t.note.at.Add(retryFor)) {
		l.post.tries = append(l.post.tries, &try{note: t.note, due: next})
	}
}

func (l *Lab) deliver(ctx context.Context, to, payload string) (status int, err error) {
	form := url.Values{"bt_signature": {l.sign(payload)}, "bt_payload": {payload}}
	bounded, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := l.sender.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 64<<10)
	return answer.StatusCode, nil
}

// sign signs with every key, as the gateway does.
func (l *Lab) sign(payload string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	pairs := make([]string, len(l.keys))
	for i, k := range l.keys {
		pairs[i] = k.Public + "|" + k.Sign(payload)
	}
	return strings.Join(pairs, "&")
}

// challenge is the text that a destination has to sign. The gateway uses a random one.
const challenge = "20f9f8ed05f77439fe955c977e4c8a53"

// Register makes a URL the destination of notifications. As at the gateway, the
// destination must first answer a challenge, which proves that it has a key. An empty
// URL stops the sending. The journal does not record the destination.
func (l *Lab) Register(ctx context.Context, to string) error {
	if to != "" {
		if err := l.prove(ctx, to); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live()
	l.post.url = to
	return nil
}

func (l *Lab) prove(ctx context.Context, to string) error {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("destination: want an http or https URL")
	}
	query := u.Query()
	query.Set("bt_challenge", challenge)
	u.RawQuery = query.Encode()
	bounded, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, http.MethodGet, u.String(), nil) // #nosec G704 -- the lab sends to where its user says
	if err != nil {
		return err
	}
	answer, err := l.sender.Do(request) // #nosec G704 -- see above
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err != nil || answer.StatusCode != http.StatusOK || !l.proves(string(text)) {
		return fmt.Errorf("the destination does not prove that it has a key: it answered the challenge with status %d", answer.StatusCode)
	}
	return nil
}

func (l *Lab) proves(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.keys, func(k braintree.Key) bool { return text == k.Public+"|"+k.Sign(challenge) })
}
