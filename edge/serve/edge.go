// Package serve answers requests at the edge: share links, pages with a code,
// code look-ups, event intake and identifications that tell nothing new from the
// replica, all else from the backend.
//
// A replica may say yes; only the primary says no. Whatever is not found here,
// not allowed here or not readable here is forwarded, so that every refusal
// comes from one place. The exceptions say no by a rule that needs no data (a
// malformed event call, a body above the bound), or by a statement that runs on
// the primary (a repeated idempotency key).
//
// Nothing is kept from one request to the next but what a share link or a code
// resolves to, in the host's key-value store (kept.go).
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

// Variables of the component (spin.toml). On Spin, reading one costs a tenth of an
// answer; so each is read where an answer needs it.
const (
	masterKeyVariable      = "master_key"
	backendVariable        = "backend_url"
	publicVariable         = "backend_public_url"
	maxBodyVariable        = "max_body_bytes"
	trustedProxiesVariable = "trusted_proxies"
	linkAgeVariable        = "link_max_age_ms"
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
	// id names the request in answer and log.
	id string
	// db is the database, once it was opened: on Spin each opening is a new
	// connection, which reads the whole schema.
	db     abi.DB
	opened bool
	// unusable is why the database cannot be worked with, when a statement found
	// that it has not the tables of this component.
	unusable error
	// sites are the sites of the tenant in the path, once they are known.
	sites *string
}

// Serve answers a request.
func (e Edge) Serve(in *abi.Request) abi.Response {
	r := &request{Request: in, edge: e, now: e.Now()}
	r.path, r.query, _ = strings.Cut(in.URI, "?")
	r.id = r.header(core.RequestIDHeader)
	if !core.ValidRequestID(r.id) {
		r.id = core.NewID(r.now, entropy())
	}
	response, err := r.answer()
	if r.unusable != nil {
		response, err = abi.Response{}, r.unusable
	}
	if err == errForward {
		if response, err = r.forward(); err == nil {
			return response
		}
	}
	if err != nil {
		if response = failure(err); response.Status >= 500 {
			r.logFault(err)
		}
	}
	return r.complete(r.acrossOrigins(response))
}

// complete adds what every answer of the edge has: the id of the request, and for
// HEAD the length that GET would have, which Spin leaves out.
func (r *request) complete(response abi.Response) abi.Response {
	response.Headers = append(response.Headers, abi.Header{Name: core.RequestIDHeader, Value: r.id})
	if r.Method == "HEAD" && response.Status != 204 && response.Status != 304 {
		length := strconv.Itoa(len(response.Body))
		response.Headers = append(response.Headers, abi.Header{Name: "content-length", Value: length})
	}
	return response
}

// logFault writes a fault of ours to the host's log, with the cause that the
// caller is not told.
func (r *request) logFault(err error) {
	text := err.Error()
	if cause := errors.Unwrap(err); cause != nil {
		text += ": " + cause.Error()
	}
	println("edge: request " + r.id + ": " + text)
}

// answer returns errForward for what the edge does not answer itself.
func (r *request) answer() (abi.Response, error) {
	if err := r.checkBody(); err != nil {
		return abi.Response{}, err
	}
	if r.preflight() {
		return r.mayCall()
	}
	to := route.Parse(r.Method, r.path)
	if to.Kind >= route.Code && to.Kind != route.Script && wire.CheckQuery(r.query) != nil {
		return abi.Response{}, errForward
	}
	if r.exhausted(to) {
		return abi.Response{}, errForward
	}
	switch to.Kind {
	case route.ShareLink:
		return r.shareLink(to)
	case route.Page:
		return r.page()
	case route.Code:
		return r.code(to)
	case route.Script:
		return r.script(), nil
	case route.Ready:
		return r.ready()
	case route.OpenCode:
		return r.openCode(to)
	case route.Events:
		return r.events(to)
	case route.Identify:
		return r.identify(to)
	case route.GraphQL:
		return r.graphQL(to)
	}
	return abi.Response{}, errForward
}

// exhausted reports whether a request has credentials to be checked and is from a
// network without attempts left to guess. They are most likely wrong, and the backend
// has to say so whatever the replica says.
func (r *request) exhausted(to route.Route) bool {
	switch to.Kind {
	case route.Code, route.Events, route.Identify, route.GraphQL:
		return r.header(auth.GuessesHeader) != ""
	}
	return false
}

// errForward is no error: it says that the backend is to answer.
var errForward error = &core.Error{Message: "forward"}

// checkBody refuses a body above the edge's bound: a component holds a whole
// body in its memory, so a large one must go to the backend itself.
func (r *request) checkBody() error {
	if len(r.Body) == 0 {
		return nil
	}
	limit, err := strconv.Atoi(r.variable(maxBodyVariable))
	if err != nil || limit <= 0 {
		return &core.Error{Message: "the variable max_body_bytes is not a number"}
	}
	if len(r.Body) <= limit {
		return nil
	}
	backend := r.variable(publicVariable)
	if backend == "" {
		backend = r.variable(backendVariable)
	}
	e := wire.TooLarge(limit)
	e.Message += ", the bound of the edge; send it to " + strings.TrimSuffix(backend, "/") + r.path
	return e
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

func failure(err error) abi.Response {
	response := jsonResponse(wire.Failure(err))
	if after := wire.RetryAfter(response.Status); after != "" {
		response.Headers = append(response.Headers, abi.Header{Name: "retry-after", Value: after})
	}
	return response
}
