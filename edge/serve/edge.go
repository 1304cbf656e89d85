// Package serve answers requests at the edge: share links, pages with a code,
// code look-ups and event intake from the replica, all else from the backend.
//
// A replica may say yes; only the primary says no. Whatever is not found here,
// not allowed here or not readable here is forwarded, so that every refusal
// comes from one place. The exceptions say no by a rule that needs no data (a
// malformed event call, a body above the bound), or by a statement that runs on
// the primary (a repeated idempotency key).
//
// Nothing is kept from one request to the next.
package serve

import (
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// Variables of the component (spin.toml).
const (
	masterKeyVariable  = "master_key"
	backendVariable    = "backend_url"
	publicVariable     = "backend_public_url"
	maxBodyVariable    = "max_body_bytes"
	trustProxyVariable = "trust_proxy"
)

// Edge answers requests.
type Edge struct {
	// Variable reads a variable of the component.
	Variable func(name string) (string, error)
	// Now is the clock.
	Now func() core.Time
}

// request is one request on its way through the edge.
type request struct {
	*abi.Request
	edge        Edge
	now         core.Time
	path, query string
}

// Serve answers a request.
func (e Edge) Serve(in *abi.Request) abi.Response {
	r := &request{Request: in, edge: e, now: e.Now()}
	r.path, r.query, _ = strings.Cut(in.URI, "?")
	if response, refused := r.refuseBody(); refused {
		return response
	}
	response, err := r.answer()
	if err == errForward {
		response, err = r.forward()
	}
	if err == nil {
		return response
	}
	response = failure(err)
	if response.Status >= 500 {
		logFault(err)
	}
	return response
}

// logFault writes a fault of ours to the host's log, with the cause that the
// caller is not told.
func logFault(err error) {
	text := err.Error()
	if cause := errors.Unwrap(err); cause != nil {
		text += ": " + cause.Error()
	}
	println("edge: " + text)
}

// answer returns errForward for what the edge does not answer itself.
func (r *request) answer() (abi.Response, error) {
	to := route.Parse(r.Method, r.path)
	switch to.Kind {
	case route.ShareLink:
		return r.shareLink(to)
	case route.Page:
		return r.page()
	case route.Code:
		return r.code(to)
	case route.Events:
		return r.events(to)
	}
	return abi.Response{}, errForward
}

// errForward is no error: it says that the backend is to answer.
var errForward error = &core.Error{Message: "forward"}

// refuseBody answers a body above the edge's bound: a component holds a whole
// body in its memory, so a large one must go to the backend itself.
func (r *request) refuseBody() (abi.Response, bool) {
	if len(r.Body) == 0 {
		return abi.Response{}, false
	}
	limit, err := strconv.Atoi(r.variable(maxBodyVariable))
	if err != nil || limit <= 0 {
		return failure(&core.Error{Message: "the variable max_body_bytes is not a number"}), true
	}
	if len(r.Body) <= limit {
		return abi.Response{}, false
	}
	backend := r.variable(publicVariable)
	if backend == "" {
		backend = r.variable(backendVariable)
	}
	e := wire.TooLarge(limit)
	e.Message += ", the bound of the edge; send it to " + strings.TrimSuffix(backend, "/") + r.path
	return failure(e), true
}

// variable reads a variable; one that cannot be read is empty, and each use
// says what that means.
func (r *request) variable(name string) string {
	value, err := r.edge.Variable(name)
	if err != nil {
		return ""
	}
	return value
}

func (r *request) keys() (auth.Keyring, error) {
	return auth.ParseKeyring(r.variable(masterKeyVariable))
}

// header returns the first value of a header, by its lower-case name.
func (r *request) header(name string) string {
	for i := range r.Headers {
		if r.Headers[i].Name == name {
			return r.Headers[i].Value
		}
	}
	return ""
}

// headers returns all values of a header, joined by what joins them on the wire.
func (r *request) headers(name, separator string) string {
	joined := ""
	for i := range r.Headers {
		if r.Headers[i].Name != name {
			continue
		}
		if joined != "" {
			joined += separator
		}
		joined += r.Headers[i].Value
	}
	return joined
}

// cookies is the Cookie header; HTTP/2 clients split it into several.
func (r *request) cookies() string { return r.headers("cookie", "; ") }

func jsonResponse(status int, body []byte) abi.Response {
	return abi.Response{
		Status: status,
		Headers: []abi.Header{
			{Name: "content-type", Value: wire.JSONType},
			{Name: "cache-control", Value: wire.CacheControl},
		},
		Body: body,
	}
}

func failure(err error) abi.Response { return jsonResponse(wire.Failure(err)) }
