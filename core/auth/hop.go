package auth

import (
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

// GuessesHeader has, on a response of the component, the number of attempts to guess
// a code, a key or an id for which the request counts. The host adds them up and
// removes the header. On a request to the component it means that the client's
// network has no attempts left.
const GuessesHeader = "x-kith-guesses"

// hopAge is how far the time of a signature may be in the past or in the future: the
// clock skew between an edge and the backend.
const hopAge = 5 * core.Minute

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

// Verify reports whether signature was made by Sign with the same signer and
// contents, at most 5 minutes before or after now.
func (h Hop) Verify(by Signer, signature string, now core.Time) bool {
	at, mac, _ := strings.Cut(signature, ".")
	signed, err := strconv.ParseInt(at, 10, 64)
	if err != nil || core.Time(signed) < now-hopAge || core.Time(signed) > now+hopAge {
		return false
	}
	return by.Verify(h.text(at), mac)
}

// text returns the signed text. Each part has its length in front, so that different
// hops have different texts.
func (h Hop) text(at string) string {
	text := ""
	for _, part := range []string{at, h.Method, h.URI, h.For, h.Proto, h.Host} {
		text += strconv.Itoa(len(part)) + ":" + part
	}
	return text
}
