package braintreelab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kith/backend/gateway/braintree"
	"kith/backend/labkit"
)

// How long an answer may take, and how the gateway retries (production): every
// hour for a day.
const (
	sendTimeout = 30 * time.Second
	retryPause  = time.Hour
	retryFor    = 24 * time.Hour
)

// newSender returns what sends the notifications of a lab.
func (l *Lab) newSender() *labkit.Sender[*note] {
	return labkit.NewSender(labkit.Outbox[*note]{
		Lab: &l.mu, Now: l.now, Live: l.live, Before: l.noteBefore, Request: l.delivery, Timeout: sendTimeout,
		Again: func(t *labkit.Try[*note]) time.Duration {
			if t.Accepted() || t.Done.Add(retryPause).After(t.Message.at.Add(retryFor)) {
				return 0
			}
			return retryPause
		},
	})
}

// enqueue schedules the sending of new notifications.
func (l *Lab) enqueue() {
	for _, n := range l.book.notes[l.taken:] {
		l.taken++
		if l.url != "" {
			l.Sender.Add(n, l.url, n.at)
		}
	}
}

// noteBefore returns the last notification before n about the same subject.
func (l *Lab) noteBefore(n *note) (before *note, has bool) {
	for _, other := range l.book.notes {
		if other == n {
			break
		}
		if other.subject == n.subject {
			before, has = other, true
		}
	}
	return before, has
}

// delivery makes the request that sends a notification. The lab is locked.
func (l *Lab) delivery(t *labkit.Try[*note]) (*http.Request, error) {
	form := url.Values{"bt_signature": {l.sign(t.Message.payload)}, "bt_payload": {t.Message.payload}}
	request, err := http.NewRequest(http.MethodPost, l.url, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request, nil
}

// sign signs with every key, as the gateway does. The lab is locked.
func (l *Lab) sign(payload string) string {
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
	l.url = to
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
	request, err := http.NewRequest(http.MethodGet, u.String(), nil) // #nosec G704 -- the lab sends to where its user says
	if err != nil {
		return err
	}
	status, text, err := l.Sender.Do(ctx, request)
	if status == 0 {
		return err
	}
	if err != nil || status != http.StatusOK || !l.proves(text) {
		return fmt.Errorf("the destination does not prove that it has a key: it answered the challenge with status %d", status)
	}
	return nil
}

func (l *Lab) proves(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.keys, func(k braintree.Key) bool { return text == k.Public+"|"+k.Sign(challenge) })
}
