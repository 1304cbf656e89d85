package api

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
)

// behindEdge verifies what the edge vouches for. A request that does not come
// over an edge is taken as it is, and its X-Forwarded headers are read only when
// it comes from a trusted proxy; a hop that is signed wrongly is refused, since then
// edge and backend do not share their master key or their time. Every answer to a
// hop is in an envelope.
func (a *API) behindEdge(next http.Handler) http.Handler {
	edge, bad := a.Engine.Keys.Hop(), a.observe("none", a.adapt(badHop))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signature := r.Header.Get(auth.HopHeader)
		if signature == "" {
			next.ServeHTTP(w, a.behindProxy(r))
			return
		}
		sealed := &envelope{ResponseWriter: w}
		hop := auth.Hop{
			Method: r.Method, URI: r.RequestURI,
			For:   r.Header.Get(auth.ForwardedForHeader),
			Proto: r.Header.Get(auth.ForwardedProtoHeader),
			Host:  r.Header.Get(auth.ForwardedHostHeader),
		}
		if !hop.Verify(edge, signature, a.Engine.Now()) {
			bad.ServeHTTP(sealed, r)
			return
		}
		next.ServeHTTP(sealed, r.WithContext(context.WithValue(r.Context(), hopKey{}, hop)))
		sealed.seal()
	})
}

func badHop(http.ResponseWriter, *http.Request) error {
	return &core.Error{
		Code: core.CodeUnauthenticated, Field: auth.HopHeader,
		Message: "the edge's signature is not valid: edge and backend must share their master key, and their clocks must be within 5 minutes",
	}
}

type (
	hopKey   struct{}
	proxyKey struct{}
)

// behindProxy adds what a trusted proxy says of a request.
func (a *API) behindProxy(r *http.Request) *http.Request {
	if !a.Proxies.Trusted(r.RemoteAddr) {
		return r
	}
	last := func(name string) string { return auth.LastForwarded(strings.Join(r.Header.Values(name), ",")) }
	seen := auth.Hop{Proto: last(auth.ForwardedProtoHeader), Host: last(auth.ForwardedHostHeader)}
	if client, ok := auth.Client(r.RemoteAddr, strings.Join(r.Header.Values(auth.ForwardedForHeader), ","), a.Proxies); ok {
		seen.For = client.String()
	}
	return r.WithContext(context.WithValue(r.Context(), proxyKey{}, seen))
}

// seenBy is what the edge, or a proxy in front of the backend, saw of a request.
func seenBy(r *http.Request) auth.Hop {
	if hop, ok := r.Context().Value(hopKey{}).(auth.Hop); ok {
		return hop
	}
	seen, _ := r.Context().Value(proxyKey{}).(auth.Hop)
	return seen
}

// seenHost is the host that the visitor asked for.
func seenHost(r *http.Request) string {
	if hop := seenBy(r); hop.Host != "" {
		return hop.Host
	}
	return r.Host
}

// seenScheme is the scheme that the visitor used.
func seenScheme(r *http.Request) string {
	if hop := seenBy(r); hop.Proto != "" {
		return hop.Proto
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// origin is where links to the service begin: at its public URL, whatever host the
// visitor asked for; on a developer's machine at that host.
func (a *API) origin(r *http.Request) string {
	if host := seenHost(r); link.Loopback(host) {
		return seenScheme(r) + "://" + host
	}
	return a.Engine.PublicURL
}

// seenIP is the visitor's address.
func seenIP(r *http.Request) string {
	if hop := seenBy(r); hop.For != "" {
		return hop.For
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return host
}

// envelope writes an answer to a hop: the status and the Location that are meant
// for the visitor go into headers of their own, and a redirect leaves as 200. See
// auth.StatusHeader.
type envelope struct {
	http.ResponseWriter
	sealed bool
}

// WriteHeader seals the envelope, unless the status is informational.
func (e *envelope) WriteHeader(status int) {
	if status < 200 || e.sealed {
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.sealed = true
	h := e.Header()
	h.Set(auth.StatusHeader, strconv.Itoa(status))
	if location := h.Get("Location"); location != "" {
		h.Del("Location")
		h.Set(auth.LocationHeader, location)
	}
	if status >= 300 && status < 400 {
		status = http.StatusOK
	}
	e.ResponseWriter.WriteHeader(status)
}

func (e *envelope) Write(b []byte) (int, error) {
	e.seal()
	return e.ResponseWriter.Write(b)
}

// seal seals an envelope that has no status yet, as net/http would: with 200.
func (e *envelope) seal() {
	if !e.sealed {
		e.WriteHeader(http.StatusOK)
	}
}

// Unwrap lets http.ResponseController reach what is below.
func (e *envelope) Unwrap() http.ResponseWriter { return e.ResponseWriter }
