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

// behindEdge verifies the signature of a hop, which is a request that an edge
// forwarded, and wraps the answer to it in an envelope. A wrong signature is refused: the
// master keys or the clocks of edge and backend differ. A request that is not a hop is
// served as it is; its X-Forwarded headers are read only if it comes from a trusted
// proxy.
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

// behindProxy adds to a request the address, scheme and host that a trusted proxy
// forwarded.
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

// seenBy returns the visitor's address, scheme and host as the edge or a trusted proxy
// saw them; empty values without either.
func seenBy(r *http.Request) auth.Hop {
	if hop, ok := r.Context().Value(hopKey{}).(auth.Hop); ok {
		return hop
	}
	seen, _ := r.Context().Value(proxyKey{}).(auth.Hop)
	return seen
}

// seenHost returns the host that the visitor requested.
func seenHost(r *http.Request) string {
	if hop := seenBy(r); hop.Host != "" {
		return hop.Host
	}
	return r.Host
}

// seenScheme returns the scheme that the visitor used: http or https.
func seenScheme(r *http.Request) string {
	if hop := seenBy(r); hop.Proto != "" {
		return hop.Proto
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// origin returns the origin of links to the service: the public URL, whatever host the
// visitor requested, or that host if it is the developer's own machine.
func (a *API) origin(r *http.Request) string {
	if host := seenHost(r); link.Loopback(host) {
		return seenScheme(r) + "://" + host
	}
	return a.Engine.PublicURL
}

// seenIP returns the visitor's IP address, or "" if it is unknown.
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

// envelope writes the answer to a hop: the visitor's status and Location are sent in
// separate headers, and a redirect has the status 200. See auth.StatusHeader.
type envelope struct {
	http.ResponseWriter
	sealed bool
}

// WriteHeader writes the headers of the envelope, unless the status is informational
// (below 200).
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

// Write writes a part of the body.
func (e *envelope) Write(b []byte) (int, error) {
	e.seal()
	return e.ResponseWriter.Write(b)
}

// seal writes the headers with status 200 if they were not written, as net/http does.
func (e *envelope) seal() {
	if !e.sealed {
		e.WriteHeader(http.StatusOK)
	}
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (e *envelope) Unwrap() http.ResponseWriter { return e.ResponseWriter }
