package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"

	"kith/core"
)

// Headers of the hop from the edge to the backend. The backend uses the X-Forwarded
// headers only if the hop is signed.
const (
	HopHeader            = "x-kith-hop"
	ForwardedForHeader   = "x-forwarded-for"
	ForwardedProtoHeader = "x-forwarded-proto"
	ForwardedHostHeader  = "x-forwarded-host"
)

// Headers of the backend's response to a hop: the status for the visitor, and the
// target of a redirect, in place of Location. The HTTP status of the response itself
// is never 3xx, because Spin would follow the redirect and send the hop's headers
// along.
const (
	StatusHeader   = "x-kith-status"
	LocationHeader = "x-kith-location"
)

// URIHeader has the URI of a hop, as HeaderURI writes it, if a client on the way would send
// another one. That of the request is then "/".
const URIHeader = "x-kith-uri"

// HeaderURI returns a URI as the value of URIHeader: %, and what is not printable ASCII, is
// percent-encoded.
func HeaderURI(uri string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(uri)+16)
	for _, c := range []byte(uri) {
		if c == '%' || c <= ' ' || c > '~' {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// KeepsHeader is a header of a hop of an edge without a database: it keeps what KeptHeader has.
// Its value is KeepsForm.
const KeepsHeader = "x-kith-keeps"

// KeepsForm is the form of KeptHeader. An edge of another version asks for another one, and gets
// nothing to keep.
const KeepsForm = "2"

// KeptHeader is a header of the backend's response to such a hop: a wire.Kept in base64.
const KeptHeader = "x-kith-kept"

// VisitsPath is the path to which an edge without a database sends, as JSON, the visits that it
// has counted (analytics.VisitBatch). The query is the SHA-256 of the body, in hex, so that the
// signature covers it, and the hop is for no client.
const VisitsPath = "/edge/visits"

// EnvelopeHeader is a header of the backend's response to a hop: the signature of the
// Envelope.
const EnvelopeHeader = "x-kith-envelope"

// InternalPrefix begins the names of all headers between host, component and backend. A
// client neither sends nor gets one.
const InternalPrefix = "x-kith-"

// GuessesHeader has, on a response of the component, the number of attempts to guess
// a code, a key or an id for which the request counts. The host adds them up and
// removes the header. On a request to the component it means that the client's
// network has no attempts left.
const GuessesHeader = "x-kith-guesses"

// TimeHeader is a header of the backend's response to a hop: the backend's clock in epoch
// milliseconds.
const TimeHeader = "x-kith-time"

// RefusalHeader is a header of the backend's response to a hop that it refused: the
// Refusal. The request was not run.
const RefusalHeader = "x-kith-refused"

// ClockTolerance is the default of how far the clocks of an edge and a backend may be
// apart.
const ClockTolerance = 5 * core.Minute

// Refusal is why a backend refuses a hop; "" if it does not.
type Refusal string

const (
	// RefusedKey is a signature under another master key.
	RefusedKey Refusal = "master-key"
	// RefusedClock is a valid signature whose time is too far in the past or the future.
	RefusedClock Refusal = "clock"
)

// ParseRefusal parses the value of RefusalHeader.
func ParseRefusal(text string) (r Refusal, ok bool) {
	r = Refusal(text)
	return r, r == RefusedKey || r == RefusedClock
}

// ClockDifference returns how far the clock of a backend is ahead of this one, by a
// request that was sent and answered at these times of this clock and had the time of the
// backend in its response. The result is 0 if the request's own duration explains the
// difference.
func ClockDifference(sent, answered, backend core.Time) core.Time {
	switch {
	case backend < sent:
		return backend - sent
	case backend > answered:
		return backend - answered
	}
	return 0
}

// Hop is the part of a forwarded request that the edge signs.
type Hop struct {
	Method string
	// URI is the path and query exactly as sent.
	URI string
	// For is the client's address. Proto and Host are those of the client's request.
	For, Proto, Host string
}

// Sign returns the value of HopHeader: the time in epoch milliseconds, a dot, and the
// signature.
func (h Hop) Sign(by Signer, now core.Time) string {
	at := strconv.FormatInt(int64(now), 10)
	return at + "." + by.Sign(h.text(at))
}

// HopForm reports whether a value of HopHeader has the form of those that Sign returns.
// Others are not from an edge.
func HopForm(signature string) bool {
	at, mac, _ := strings.Cut(signature, ".")
	_, err := strconv.ParseInt(at, 10, 64)
	return err == nil && len(mac) == base64.RawURLEncoding.EncodedLen(sha256.Size)
}

// Verify returns why a signature is to be refused, or "" if it was made by Sign with the
// same signer and contents, at most tolerance before or after now.
func (h Hop) Verify(by Signer, signature string, now, tolerance core.Time) Refusal {
	return verifyAt(by, signature, h.text, now, tolerance)
}

// verifyAt returns why the signature of a text with its time is to be refused.
func verifyAt(by Signer, signature string, text func(at string) string, now, tolerance core.Time) Refusal {
	at, mac, _ := strings.Cut(signature, ".")
	signed, err := strconv.ParseInt(at, 10, 64)
	switch {
	case err != nil || !by.Verify(text(at), mac):
		return RefusedKey
	case core.Time(signed) < now-tolerance || core.Time(signed) > now+tolerance:
		return RefusedClock
	}
	return ""
}

func (h Hop) text(at string) string { return signedText(at, h.Method, h.URI, h.For, h.Proto, h.Host) }

// Edits is the part of a report to an edge that the backend signs.
type Edits struct {
	// Query is the query of EditsPath: the tenants that were edited, separated by commas, or ""
	// if all may have been.
	Query string
}

// EditsPath is the path to which a backend sends which tenants were edited, so that an edge
// removes what it keeps of them.
const EditsPath = "/edge/edits"

// Sign returns the value of HopHeader, as Hop.Sign does.
func (e Edits) Sign(by Signer, now core.Time) string {
	at := strconv.FormatInt(int64(now), 10)
	return at + "." + by.Sign(signedText("edits", at, e.Query))
}

// Verify reports whether a signature was made by Sign with the same signer and contents, at
// most tolerance before or after now.
func (e Edits) Verify(by Signer, signature string, now, tolerance core.Time) bool {
	return verifyAt(by, signature, func(at string) string { return signedText("edits", at, e.Query) }, now, tolerance) == ""
}

// Envelope is the part of a response to a hop that the backend signs: without it, an edge
// would believe any server to which backend_url leads.
type Envelope struct {
	// Hop is the value of HopHeader of the request.
	Hop string
	// Status, Location and Kept are the values of StatusHeader, LocationHeader and
	// KeptHeader.
	Status, Location, Kept string
}

// Sign returns the value of EnvelopeHeader.
func (e Envelope) Sign(by Signer) string { return by.Sign(e.text()) }

// Verify reports whether a signature was made by Sign with the same signer and contents.
func (e Envelope) Verify(by Signer, signature string) bool { return by.Verify(e.text(), signature) }

func (e Envelope) text() string {
	text := signedText("envelope", e.Hop, e.Status, e.Location)
	if e.Kept != "" { // edges of earlier versions know none, and ask for none
		text += signedText(e.Kept)
	}
	return text
}

// signedText returns a text to sign. Each part has its length in front, so that different
// parts have different texts.
func signedText(parts ...string) string {
	text := ""
	for _, part := range parts {
		text += strconv.Itoa(len(part)) + ":" + part
	}
	return text
}
