// Package upstream checks, for an edge, whether its backend answers and accepts its
// signature, and whether their clocks agree. An edge without a database sends it visits.
package upstream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
)

// Backend is the backend of an edge.
type Backend struct {
	// URL is the URL at which the edge reaches it.
	URL string
	// Keys are the master keys of the edge.
	Keys auth.Keyring
	// Tolerance is how far the clocks may be apart.
	Tolerance core.Time
	// Now is the clock of the edge.
	Now func() core.Time
}

// ErrAway reports that the backend does not answer or is not ready. An edge without it
// still answers share links and look-ups.
var ErrAway = errors.New("the backend does not answer, or is not ready")

// client follows no redirects: the signature is for one request.
var client = &http.Client{
	Timeout:       time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxBody is how much of an answer is read, so that its connection can be used again.
const maxBody = 4 << 10

// Check sends the backend a signed GET /healthz. The error is ErrAway if the backend
// cannot serve, and a core.Error if it refuses this edge, has another master key, or the clocks
// differ.
func (b Backend) Check(ctx context.Context) error {
	return b.send(ctx, http.MethodGet, "/healthz", nil)
}

// AddVisits sends the backend the visits that this edge has counted. The error is that of Check.
func (b Backend) AddVisits(ctx context.Context, batch analytics.VisitBatch) error {
	body, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	return b.send(ctx, http.MethodPost, auth.VisitsPath+"?"+hex.EncodeToString(sum[:]), body)
}

// send sends a request that is for no client.
func (b Backend) send(ctx context.Context, method, uri string, body []byte) error {
	hop := auth.Hop{Method: method, URI: uri, Proto: "http", Host: "edge"}
	r, err := http.NewRequestWithContext(ctx, hop.Method, strings.TrimSuffix(b.URL, "/")+hop.URI, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	sent := b.Now()
	signed := hop.Sign(b.Keys.Hop(), sent)
	for name, value := range map[string]string{
		auth.ForwardedForHeader: hop.For, auth.ForwardedProtoHeader: hop.Proto, auth.ForwardedHostHeader: hop.Host,
		auth.HopHeader: signed,
	} {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxBody)
	return b.judge(response, signed, sent)
}

// judge returns the result of a response to a signed hop.
func (b Backend) judge(response *http.Response, hop string, sent core.Time) error {
	difference := core.Time(0)
	if theirs, err := strconv.ParseInt(response.Header.Get(auth.TimeHeader), 10, 64); err == nil {
		difference = auth.ClockDifference(sent, b.Now(), core.Time(theirs))
	}
	envelope := auth.Envelope{
		Hop: hop, Status: response.Header.Get(auth.StatusHeader),
		Location: response.Header.Get(auth.LocationHeader), Kept: response.Header.Get(auth.KeptHeader),
	}
	signature := response.Header.Get(auth.EnvelopeHeader)
	refusal, _ := auth.ParseRefusal(response.Header.Get(auth.RefusalHeader))
	switch {
	case refusal == auth.RefusedKey:
		return unavailable("the backend at %s refuses the signature of this edge: give both the same master key, and let nothing in between change requests", b.URL)
	case refusal == auth.RefusedClock, max(difference, -difference) > b.Tolerance:
		return unavailable("the clock of the backend at %s differs by %+.1f s from that of this edge, and %g s are tolerated: synchronize both with a time server, or raise the tolerance (KITH_CLOCK_TOLERANCE)",
			b.URL, float64(difference)/float64(core.Second), float64(b.Tolerance)/float64(core.Second))
	case signature == "":
		return fmt.Errorf("%w: the answer at %s is not from a backend of this version", ErrAway, b.URL)
	// During a rotation the backend may know the key of this edge, and sign with a newer one.
	case !envelope.Verify(b.Keys.Hop(), signature):
		return unavailable("the backend at %s signs with a master key that this edge does not have: give both the same master key, and let nothing in between change answers", b.URL)
	case envelope.Status != "200":
		return fmt.Errorf("%w: %s answers %s", ErrAway, b.URL, envelope.Status)
	}
	return nil
}

func unavailable(format string, args ...any) error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf(format, args...)}
}
