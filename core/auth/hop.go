package auth

import (
	"strconv"
	"strings"

	"kith/core"
)

// Headers of the hop from the edge to the backend. The backend believes the
// X-Forwarded ones only when the hop is signed.
const (
	HopHeader            = "x-kith-hop"
	ForwardedForHeader   = "x-forwarded-for"
	ForwardedProtoHeader = "x-forwarded-proto"
	ForwardedHostHeader  = "x-forwarded-host"
)

// Headers of the backend's answer to a hop, its envelope: the status that the
// visitor gets, and in place of Location where a redirect leads. The HTTP status of
// the answer itself is never 3xx, because Spin follows redirects by itself and
// takes the hop's headers along.
const (
	StatusHeader   = "x-kith-status"
	LocationHeader = "x-kith-location"
)

// GuessesHeader tells the host of an edge how many attempts to guess a code, a key
// or an id an answer was. The host counts them and takes the header off. On a request
// it tells the component that the network has no attempts left.
const GuessesHeader = "x-kith-guesses"

// hopAge bounds how old or how far ahead a signature may be: the clock skew
// between an edge and the backend.
const hopAge = 5 * core.Minute

// Hop is what the edge vouches for when it forwards a request.
type Hop struct {
	Method string
	// URI is path and query exactly as sent.
	URI string
	// For is the address of the client; Proto and Host are what it asked for.
	For, Proto, Host string
}

// Sign returns the value of HopHeader: time, dot, signature.
func (h Hop) Sign(by Signer, now core.Time) string {
	at := strconv.FormatInt(int64(now), 10)
	return at + "." + by.Sign(h.text(at))
}

// Verify reports whether signature was made by Sign with the same signer and
// contents within the last five minutes.
func (h Hop) Verify(by Signer, signature string, now core.Time) bool {
	at, mac, _ := strings.Cut(signature, ".")
	signed, err := strconv.ParseInt(at, 10, 64)
	if err != nil || core.Time(signed) < now-hopAge || core.Time(signed) > now+hopAge {
		return false
	}
	return by.Verify(h.text(at), mac)
}

// text has each part with its length, so that no two hops run together to the
// same text.
func (h Hop) text(at string) string {
	text := ""
	for _, part := range []string{at, h.Method, h.URI, h.For, h.Proto, h.Host} {
		text += strconv.Itoa(len(part)) + ":" + part
	}
	return text
}
