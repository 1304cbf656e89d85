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

// hopAge bounds how old or how far ahead a signature may be: the clock skew
// between an edge and the backend.
const hopAge = 5 * core.Minute

// Hop is what the edge vouches for when it forwards a request.
type Hop struct {
	Method string
	// URI is path and query exactly as sent.
	URI string
	// For, Proto and Host are the values of the three X-Forwarded headers.
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

// ClientIP is the visitor's own address in the value of ForwardedForHeader. The
// last of several is the proxy that the edge trusts and the one before it is
// whom that proxy saw; anything further left may be what a visitor made up.
func ClientIP(forwardedFor string) string {
	list := strings.Split(forwardedFor, ",")
	if len(list) > 1 {
		list = list[:len(list)-1]
	}
	return strings.TrimSpace(list[len(list)-1])
}
