package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/wire"
)

// behindEdge verifies the signature of a hop, which is a request that an edge
// forwarded, and wraps the answer to it in an envelope. A wrong signature is refused with
// 503: the master keys or the clocks of edge and backend differ. A request that is not a hop is
// served as it is; its X-Forwarded headers are read only if it comes from a trusted
// proxy. A client that sends the header, in another form than edges, is refused with 400.
func (a *API) behindEdge(next http.Handler) http.Handler {
	edge, tolerance := a.Engine.Keys.Hop(), cmp.Or(a.ClockTolerance, auth.ClockTolerance)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signature := r.Header.Get(auth.HopHeader)
		if signature == "" {
			next.ServeHTTP(w, a.behindProxy(r))
			return
		}
		if !auth.HopForm(signature) {
			a.observe("none", a.adapt(answered(core.Invalid(auth.HopHeader, "is for edges only; leave it out")))).ServeHTTP(w, r)
			return
		}
		sealed := &envelope{ResponseWriter: w, by: edge}
		r, bad := withURI(r)
		hop := auth.Hop{
			Method: r.Method, URI: r.RequestURI,
			For:   r.Header.Get(auth.ForwardedForHeader),
			Proto: r.Header.Get(auth.ForwardedProtoHeader),
			Host:  r.Header.Get(auth.ForwardedHostHeader),
		}
		w.Header().Set(auth.TimeHeader, strconv.FormatInt(int64(a.Engine.Now()), 10))
		if refusal := hop.Verify(edge, signature, a.Engine.Now(), tolerance); refusal != "" {
			w.Header().Set(auth.RefusalHeader, string(refusal))
			a.observe("none", a.adapt(answered(badHop(refusal)))).ServeHTTP(sealed, r)
			return
		}
		sealed.hop = signature
		if bad != nil {
			a.observe("none", a.adapt(answered(bad))).ServeHTTP(sealed, r)
			return
		}
		if hop.For == "" && r.Method == http.MethodPost && strings.HasPrefix(hop.URI, auth.VisitsPath+"?") {
			a.observe("edge", a.adapt(a.takeVisits)).ServeHTTP(sealed, r)
			return
		}
		next.ServeHTTP(sealed, r.WithContext(context.WithValue(r.Context(), hopKey{}, hop)))
		sealed.seal()
	})
}

// withURI returns a hop with the URI of auth.URIHeader, if it has one, and an error if that is
// none.
func withURI(r *http.Request) (*http.Request, error) {
	given := r.Header.Get(auth.URIHeader)
	if given == "" {
		return r, nil
	}
	r = r.Clone(r.Context())
	r.Header.Del(auth.URIHeader)
	uri, err := url.PathUnescape(given)
	if err == nil {
		r.RequestURI = uri
		var parsed *url.URL
		if parsed, err = url.ParseRequestURI(uri); err == nil {
			r.URL = parsed
		}
	}
	if err != nil {
		return r, core.Malformed("", "the path is not valid; a path has %25 for %")
	}
	return r, nil
}

// maxVisits is the most bytes of the visits that an edge sends at once.
const maxVisits = 1 << 20

// takeVisits handles POST auth.VisitsPath: it stores the visits that an edge has counted. They may
// come again: a batch is added once.
func (a *API) takeVisits(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxVisits))
	if err != nil {
		return core.Malformed("", "the visits cannot be read")
	}
	var batch analytics.VisitBatch
	if sum := sha256.Sum256(body); r.URL.RawQuery != hex.EncodeToString(sum[:]) || json.Unmarshal(body, &batch) != nil {
		return core.Malformed("", "the visits are not those that the edge has signed")
	}
	if err := a.Engine.Analytics.AddVisits(r.Context(), batch); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, wire.Empty())
	return nil
}

// badHop returns the error of a hop that is refused. The answer is not 401: the caller's
// credentials may be right.
func badHop(why auth.Refusal) error {
	message := "the edge's signature is not valid; give edge and backend the same master key, and let nothing in between change the request"
	if why == auth.RefusedClock {
		message = "the clocks of edge and backend differ by more than is tolerated; synchronize both with a time server"
	}
	return &core.Error{Code: core.CodeUnavailable, Field: auth.HopHeader, Message: message}
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

// FromEdge reports whether an edge forwarded a request, with a signature that was verified.
// Only handlers that API.Observe wraps may ask.
func FromEdge(r *http.Request) bool {
	_, ok := r.Context().Value(hopKey{}).(auth.Hop)
	return ok
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
// visitor requested; without one that host, if it is the developer's own machine.
func (a *API) origin(r *http.Request) string {
	if host := seenHost(r); a.Engine.PublicURL == "" && link.Loopback(host) {
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
// separate headers with a signature, and a redirect has the status 200. See
// auth.StatusHeader.
type envelope struct {
	http.ResponseWriter
	// hop is the verified signature of the hop; empty if the hop is refused. Then the answer is
	// not signed, since any client may have asked.
	hop    string
	by     auth.Signer
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
	if e.hop != "" {
		signed := auth.Envelope{Hop: e.hop, Status: h.Get(auth.StatusHeader), Location: h.Get(auth.LocationHeader), Kept: h.Get(auth.KeptHeader)}
		h.Set(auth.EnvelopeHeader, signed.Sign(e.by))
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
