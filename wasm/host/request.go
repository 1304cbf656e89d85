package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"kith/edge/abi"
	"kith/wasm/bodies"
)

// Bounds of data that crosses the ABI in either direction. The server of the Host also
// bounds the headers that it reads, by default to 1 MiB. A client may send maxHeaders
// values; the host adds its own.
const (
	maxHeaders     = 4096
	maxHeaderBytes = 2 * mib
)

// header is one name and value. Names of request headers are in lower case.
type header struct{ name, value string }

// request is the request in the form that the guest gets.
type request struct {
	method  uint32
	uri     string
	headers []header
	body    []byte
	// lookUp is true for GET and HEAD without a body, for which some instances are
	// reserved.
	lookUp bool

	// client is the context of the client's connection.
	client   context.Context
	deadline time.Time
	mu       sync.Mutex
	err      error         // why the request has ended, or nil
	done     chan struct{} // made when it is asked for
	guest    *guest        // that the request runs in, or nil
}

// statusClientClosed is the status of requests whose client closed the connection before the
// answer. It is not sent to clients that are gone; nginx logs it, and so do metrics here.
const statusClientClosed = 499

// ServeHTTP answers one request with the component's response or, if the component fails,
// with 503 and a JSON body. The request waits for an instance only after its body has
// been read, so that slow clients use no instance.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, carried := abi.MethodNumber(r.Method)
	if h.options.StrictSpin && refuseAsSpin(w, r, carried) {
		return
	}
	if !carried {
		// The component's answer to OPTIONS lists the methods of the path.
		method, _ = abi.MethodNumber(http.MethodOptions)
	}
	if countHeaders(r.Header) > maxHeaders {
		refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, "HEADERS_TOO_LARGE", "headers: must not be more than 4096; send fewer")
		return
	}
	if len(r.Header.Values("Content-Type")) > 1 {
		refuse(w, r, http.StatusBadRequest, "INVALID_JSON_REQUEST", "Content-Type: occurs twice; send it once")
		return
	}
	in := &request{method: method, uri: escapedURI(requestURI(r)), client: r.Context()}
	if !strings.HasPrefix(in.uri, "/") {
		refuse(w, r, http.StatusNotFound, "NOT_FOUND", "no route matches this path")
		return
	}
	if h.begin() != nil {
		unavailable(w, r)
		return
	}
	defer h.end()
	body, release, ok := h.readBody(w, r)
	defer release()
	if !ok {
		return
	}
	in.headers = requestHeaders(r, in.uri, h.options.StrictSpin)
	if carried {
		in.body = body
	}
	in.lookUp = len(body) == 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead)
	out, err := h.respond(r, in)
	switch {
	case err == nil:
	case r.Context().Err() != nil:
		// A client that closed only its own side can read this. Without a status, it would
		// read 200 and an empty body.
		w.Header().Set("Connection", "close")
		w.WriteHeader(statusClientClosed)
		return
	case h.options.StrictSpin && !errors.Is(err, errBusy):
		w.WriteHeader(http.StatusInternalServerError)
		return
	default:
		unavailable(w, r)
		return
	}
	// The place in the queue is free again: a client that reads slowly uses only its
	// share of the memory for bodies.
	answered, ok := h.bodies.Reserve(int64(len(out.body)))
	defer answered()
	if !ok {
		h.stats.refused.Add(1)
		unavailable(w, r)
		return
	}
	release()
	out.write(w, r.Method)
}

// countHeaders counts header values: a header that is sent twice counts as two.
func countHeaders(all http.Header) (n int) {
	for _, values := range all {
		n += len(values)
	}
	return n
}

// respond returns the component's response to a request.
func (h *Host) respond(r *http.Request, in *request) (*response, error) {
	if err := h.enter(in); err != nil {
		return nil, err
	}
	defer h.leave(in)
	out, err := h.run(in)
	if err != nil && !errors.Is(err, errBusy) && r.Context().Err() == nil {
		// The log omits the path, which may contain ids of users.
		h.options.Log.Error("request failed", "id", r.Header.Get("X-Request-Id"), "method", r.Method, "error", err)
	}
	if err == nil && h.options.StrictSpin {
		out.headers = lastOfEach(out.headers)
	}
	if _, carried := abi.MethodNumber(r.Method); err == nil && !carried {
		out.refuseMethod(r.Method)
	}
	return out, err
}

// requestURI returns path and query as the client sent them. r.URL is decoded and does
// not always distinguish "%2F" from "/".
func requestURI(r *http.Request) string {
	uri := r.RequestURI
	if uri == "" { // the request was not read by a server
		return r.URL.RequestURI()
	}
	if strings.HasPrefix(uri, "/") {
		return uri
	}
	_, rest, absolute := strings.Cut(uri, "://")
	if !absolute {
		return uri // "*"
	}
	if i := strings.IndexAny(rest, "/?"); i < 0 {
		return "/"
	} else if rest[i] == '?' {
		return "/" + rest[i:]
	} else {
		return rest[i:]
	}
}

// readBody reads the whole body, or answers the request and returns false. The
// caller must call release in either case.
func (h *Host) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), ok bool) {
	body, release, err := h.bodies.Read(w, r, h.options.MaxBody)
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return body, release, true
	case errors.As(err, &over):
		h.tooLarge(w, r)
	case errors.Is(err, bodies.ErrFull):
		h.stats.refused.Add(1)
		unavailable(w, r)
	case errors.Is(err, bodies.ErrSlow):
		w.Header().Set("Connection", "close")
		refuse(w, r, http.StatusRequestTimeout, "REQUEST_TIMEOUT", "the body arrived too slowly; send at least 1 kB a second, and all of it within 60 seconds")
	default:
		refuse(w, r, http.StatusBadRequest, "BAD_REQUEST", "the body ended early")
	}
	return nil, release, false
}

// routeHeaders are the headers that Spin derives from the route.
var routeHeaders = []header{
	{"spin-matched-route", everyRoute},
	{"spin-base-path", "/"},
	{"spin-raw-component-route", everyRoute},
	{"spin-component-route", ""},
}

// requestHeaders returns the client's headers, and then the host's own with Spin's names
// (crates/trigger-http/src/headers.rs). Those of the client with such names are left out,
// unless the host is strict.
func requestHeaders(r *http.Request, uri string, strict bool) []header {
	headers := make([]header, 0, len(r.Header)+12)
	for name, values := range r.Header {
		if hopByHop(name, r.Header) || !strict && strings.HasPrefix(name, "Spin-") {
			continue
		}
		name = strings.ToLower(name)
		for _, value := range values {
			headers = append(headers, header{name, utf8Text(value)})
		}
	}
	host, scheme := r.Host, "http://"
	if host == "" {
		host = "localhost"
	}
	if r.TLS != nil {
		scheme = "https://"
	}
	path, _, _ := strings.Cut(uri, "?")
	return append(append(headers, routeHeaders...),
		header{"host", utf8Text(host)},
		header{"spin-full-url", scheme + utf8Text(host) + uri},
		header{"spin-path-info", path},
		header{"spin-client-addr", r.RemoteAddr})
}

// utf8Text converts the value of a header to UTF-8, which strings of the ABI must have.
// Browsers send a Referer, and proxies their own headers, in any encoding. A value that
// is not UTF-8 is read as Latin-1, in which every byte is a character.
func utf8Text(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	var b strings.Builder
	for i := range len(value) {
		b.WriteRune(rune(value[i]))
	}
	return b.String()
}

// escapedURI returns a URI as a backend receives it that the component forwards it to: what
// net/http would encode or cut off is percent-encoded, which has the same meaning. These are
// bytes that are not UTF-8, "#", and in a path that begins with "//" all that a URI may
// not have.
func escapedURI(uri string) string {
	valid, double := utf8.ValidString(uri), strings.HasPrefix(uri, "//")
	if valid && !double && strings.IndexByte(uri, '#') < 0 {
		return uri
	}
	var b strings.Builder
	path := true
	for i := range len(uri) {
		c := uri[i]
		path = path && c != '?'
		if c == '#' || c >= utf8.RuneSelf && !valid || path && double && (c >= utf8.RuneSelf || strings.IndexByte("\"<>\\^`{|}", c) >= 0) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hopByHop reports whether a header is valid for one connection only (RFC 9110, 7.6.1):
// by its name, or because the Connection header in all lists it. The name is canonical.
func hopByHop(name string, all http.Header) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	for _, value := range all["Connection"] {
		for option := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(option), name) {
				return true
			}
		}
	}
	return false
}
