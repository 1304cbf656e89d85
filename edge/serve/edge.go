// Package serve handles requests at the edge. It responds from the replica to share
// links, pages with a code, code lookups, event calls, and identifications that
// change nothing. It forwards all other requests to the backend.
//
// Only the backend refuses a request, because a replica may be out of date: a request
// that the replica does not permit, or whose data it does not have, is forwarded. The
// edge itself refuses a request only by a rule that needs no data (a body above the limit),
// or by a statement that runs on the primary (the same event call again).
//
// Nothing is kept between requests, except the targets of share links and codes in
// the host's key-value store (cache.go).
package serve

import (
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/text"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/route"
)

// Variables of the component (spin.toml). On Spin, reading one takes 10 % of the time
// of a response, so each is read only where it is needed.
const (
	masterKeyVariable      = "master_key"
	backendVariable        = "backend_url"
	publicVariable         = "backend_public_url"
	maxBodyVariable        = "max_body_bytes"
	trustedProxiesVariable = "trusted_proxies"
	linkAgeVariable        = "link_max_age_ms"
	countsVariable         = "host_counts"
)

// Edge handles requests.
type Edge struct {
	// Variable reads a variable of the component.
	Variable func(name string) (string, error)
	// Now is the clock.
	Now func() core.Time

	// prepared has the master keys if Prepare was called.
	prepared auth.Keyring
}

// Prepare derives what does not depend on a request, if the variables are valid. The host
// calls it before the first request, if it uses the instance for several.
func (e *Edge) Prepare() {
	keys, err := parseKeys(e.Variable)
	if err == nil {
		e.prepared = keys.Prepared()
	}
}

func parseKeys(variable func(string) (string, error)) (auth.Keyring, error) {
	text, _ := variable(masterKeyVariable) // an error is an invalid key
	return auth.ParseKeyring(text)
}

// request is the state of a request.
type request struct {
	*abi.Request
	edge        *Edge
	now         core.Time
	path, query string
	// id is the request id in the response and in logs.
	id string
	// db is the database, if opened is true. It is opened once for each request,
	// because on Spin each opening is a new connection, which reads the whole schema.
	db     abi.DB
	opened bool
	// without is true once a statement failed because the manifest grants no database: the
	// backend then says what to keep in wanted, if that is set.
	without bool
	wanted  slot
	// unusable is set if a statement failed because the database does not have the
	// schema of this component.
	unusable error
	// sites are the sites of the tenant in the path; nil until they are read.
	sites *string
	// refused is true if the key of an event call was used for other events: the backend
	// answers and records it. If the backend is away, the response of the edge is sent.
	refused bool
}

// Serve handles a request.
func (e *Edge) Serve(in *abi.Request) abi.Response {
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
	if err == errForward || r.refused {
		forwarded, failed := r.forward()
		if failed == nil && (err == errForward || forwarded.Status < 500) {
			return forwarded
		}
		if err == errForward {
			err = failed
		} else if failed != nil {
			r.logError(failed)
		}
	}
	if err != nil {
		if response = r.failure(err); response.Status >= 500 {
			r.logError(err)
		}
	}
	return r.complete(r.addCORS(response))
}

// complete adds the headers of every response: the request id, that browsers must not guess
// the type and, for HEAD, the content-length of GET, which Spin leaves out.
func (r *request) complete(response abi.Response) abi.Response {
	response.Headers = append(response.Headers, abi.Header{Name: core.RequestIDHeader, Value: r.id}, abi.Header{Name: "x-content-type-options", Value: "nosniff"})
	if r.Method == "HEAD" && response.Status != 204 && response.Status != 304 {
		length := strconv.Itoa(len(response.Body))
		response.Headers = append(response.Headers, abi.Header{Name: "content-length", Value: length})
	}
	return response
}

// logError writes an internal error to the host's log, with the cause that the caller
// does not get.
func (r *request) logError(err error) {
	text := err.Error()
	if cause := errors.Unwrap(err); cause != nil {
		text += ": " + cause.Error()
	}
	println("edge: request " + r.id + ": " + text)
}

// answer returns the response, or errForward if the backend is to handle the request.
func (r *request) answer() (abi.Response, error) {
	if r.byHost(clientAddressHeader) == "" || r.byHost(fullURLHeader) == "" {
		return abi.Response{}, notReady("this edge is not ready; try again", errors.New("the host of the component does not set "+clientAddressHeader+" and "+fullURLHeader))
	}
	if r.path == auth.VisitsPath { // the backend believes what edges send there
		return abi.Response{}, wire.NoSuchPath()
	}
	if r.path == auth.EditsPath {
		return r.edits()
	}
	if err := r.checkBody(); err != nil {
		return abi.Response{}, err
	}
	if r.preflight() {
		return r.answerPreflight()
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
		return r.script()
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

// exhausted reports whether a request has credentials to check but its network has no
// attempts left to guess. The backend then refuses it, even if the replica would
// permit it. The backend also answers requests with a Content-Encoding: only it unpacks.
func (r *request) exhausted(to route.Route) bool {
	switch to.Kind {
	case route.Code, route.Events, route.Identify, route.GraphQL:
		return r.header("content-encoding") != "" || r.header(auth.GuessesHeader) != "" && r.counted()
	}
	return false
}

// errForward is a sentinel: the request is to be forwarded to the backend.
var errForward error = &core.Error{Message: "forward"}

// checkBody returns an error for a body above the edge's limit. A component has the
// whole body in memory, so a larger one must be sent to the backend directly.
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
	e.Message += ", the limit of the edge; a file may be larger at " + strings.TrimSuffix(backend, "/") + r.path
	return e
}

// variable returns the value of a variable, or "" if it cannot be read.
func (r *request) variable(name string) string {
	value, err := r.edge.Variable(name)
	if err != nil {
		return ""
	}
	return value
}

// counted reports whether the headers auth.GuessesHeader and link.FollowedHeader are those
// of the host, which takes them from the response. On Spin they are the client's.
func (r *request) counted() bool {
	return r.header(link.FollowedHeader) != "" && r.variable(countsVariable) == "true"
}

func (r *request) keys() (auth.Keyring, error) {
	if r.edge.prepared.CanSign() {
		return r.edge.prepared, nil
	}
	keys, err := parseKeys(r.edge.Variable)
	if err != nil {
		return keys, notReady("this edge is not ready; try again", err)
	}
	return keys, nil
}

// byHost returns the value of a header that the host sets. Spin appends it to those that a
// client has sent with the same name, so it is the last.
func (r *request) byHost(name string) string {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if h := &r.Headers[i]; len(h.Name) == len(name) && h.Name == name {
			return h.Value
		}
	}
	return ""
}

// header returns the first value of a header, by its lower-case name.
func (r *request) header(name string) string {
	for i := range r.Headers {
		// TinyGo calls a function to compare strings. Most names differ in length.
		if h := &r.Headers[i]; len(h.Name) == len(name) && h.Name == name {
			return h.Value
		}
	}
	return ""
}

// sent returns the values of a header, joined by commas; false if it was not sent.
func (r *request) sent(name string) (values string, sent bool) {
	for i := range r.Headers {
		if h := &r.Headers[i]; len(h.Name) == len(name) && h.Name == name {
			if sent {
				values += ","
			}
			values, sent = values+h.Value, true
		}
	}
	return values, sent
}

// headers returns all values of a header, joined by a separator.
func (r *request) headers(name, separator string) string {
	joined := ""
	for i := range r.Headers {
		if len(r.Headers[i].Name) != len(name) || r.Headers[i].Name != name {
			continue
		}
		if joined != "" {
			joined += separator
		}
		joined += r.Headers[i].Value
	}
	return joined
}

// cookies returns the Cookie header, which HTTP/2 clients split into several.
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

// failure returns the response for an error: a page to a browser that opened a link,
// and JSON to any other client.
func (r *request) failure(err error) abi.Response {
	response := jsonResponse(wire.Failure(err))
	if (r.Method == "GET" || r.Method == "HEAD") && link.OpenedByPeople(r.path) && text.WantsPage(r.headers("accept", ",")) {
		page := text.ErrorPage(response.Status, text.Wanted(link.Locale(r.query), "", r.header("accept-language")))
		response.Headers = []abi.Header{{Name: "cache-control", Value: wire.CacheControl}}
		for _, h := range page.Headers() {
			response.Headers = append(response.Headers, abi.Header{Name: h[0], Value: h[1]})
		}
		response.Body = []byte(page.HTML)
	}
	return withRetryAfter(response)
}

// withRetryAfter adds the Retry-After header if the status needs one.
func withRetryAfter(response abi.Response) abi.Response {
	if after := wire.RetryAfter(response.Status); after != "" {
		response.Headers = append(response.Headers, abi.Header{Name: "retry-after", Value: after})
	}
	return response
}
