package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/api/openapi"
	"kith/wasm/transcript"
)

const stories = "../../wasm/transcript/testdata/story"

// document is the part of the OpenAPI document that is compared with the server.
type document struct {
	raw        []byte
	tree       any
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Responses map[string]message
		Headers   map[string]header
	}
}

// endpoint is one method of one documented path.
type endpoint struct {
	path, method string
	// ref is its place in the document, as a JSON pointer.
	ref string
	// form matches the paths of requests.
	form *regexp.Regexp
	body struct {
		OperationID string
		RequestBody *message
		Responses   map[string]message
	}
}

// message is the body of a request or an answer: a reference to a component, or defined
// here.
type message struct {
	Ref     string `json:"$ref"`
	Headers map[string]header
}

// header is a header of an answer: a reference to a component, or defined here.
type header struct {
	Ref      string `json:"$ref"`
	Required bool
}

// schema returns the JSON pointer of the schema of a message's JSON; here is that of the
// message.
func (m message) schema(here string) string {
	if m.Ref != "" {
		here = m.Ref
	}
	return here + "/content/application~1json/schema"
}

// served returns the document as the server sends it.
func served(t *testing.T) document {
	t.Helper()
	w := httptest.NewRecorder()
	(&API{}).adapt(openapiDocument).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/openapi.json", nil))
	require.Equal(t, http.StatusOK, w.Code)
	d := document{raw: w.Body.Bytes()}
	require.NoError(t, json.Unmarshal(d.raw, &d))
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.raw))
	require.NoError(t, err)
	d.tree = tree
	return d
}

// The document that the build wrote is that of the sources.
func TestOpenAPI_IsCurrent(t *testing.T) {
	want, err := openapi.Assemble()
	require.NoError(t, err)
	require.Equal(t, want, served(t).raw, "run make build")
}

// No object of the document has a key twice, which some client generators refuse. The
// document is converted from YAML with merge keys, which could repeat an overridden key.
func TestOpenAPI_GivesNoKeyTwice(t *testing.T) {
	w := httptest.NewRecorder()
	(&API{}).adapt(openapiDocument).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/openapi.json", nil))
	uniqueKeys(t, json.NewDecoder(w.Body), "")
}

// uniqueKeys reads one value and checks the keys of each object in it.
func uniqueKeys(t *testing.T, in *json.Decoder, at string) {
	t.Helper()
	token, err := in.Token()
	require.NoError(t, err)
	seen := map[string]bool{}
	switch token {
	case json.Delim('{'):
		for in.More() {
			key, err := in.Token()
			require.NoError(t, err)
			path := at + "/" + key.(string)
			assert.False(t, seen[path], "%s is given twice", path)
			seen[path] = true
			uniqueKeys(t, in, path)
		}
	case json.Delim('['):
		for i := 0; in.More(); i++ {
			uniqueKeys(t, in, at+"/"+strconv.Itoa(i))
		}
	default:
		return
	}
	_, err = in.Token()
	require.NoError(t, err)
}

var pathParameter = regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`)

func (d document) operations(t *testing.T) []endpoint {
	t.Helper()
	var all []endpoint
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for method, body := range d.Paths[path] {
			if method == "parameters" {
				continue
			}
			o := endpoint{path: path, method: strings.ToUpper(method)}
			o.ref = "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + method
			o.form = regexp.MustCompile("^" + pathParameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
			require.NoError(t, json.Unmarshal(body, &o.body), "%s %s", o.method, path)
			all = append(all, o)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// Every route is documented, and every documented operation is a route.
func TestOpenAPI_HasEveryRoute(t *testing.T) {
	var offered, documented []string
	for path, methods := range (&API{}).routes() {
		for method := range methods {
			offered = append(offered, method+" "+path)
		}
	}
	for _, o := range served(t).operations(t) {
		documented = append(documented, o.method+" "+o.path)
	}
	assert.ElementsMatch(t, offered, documented)
}

// Every documented operation succeeds in a story. Every answer in the stories has a
// documented status, and the headers and the schema of the document. A body that the
// service refuses for an unknown key does not match the schema either.
func TestOpenAPI_IsWhatTheStoriesSay(t *testing.T) {
	d := served(t)
	operations := d.operations(t)
	open := compiler(t, d)
	closeObjects(d.tree)
	schemas := compiler(t, d)
	exchanges, err := transcript.Exchanges(stories)
	require.NoError(t, err)
	succeeded := map[string]bool{"/paths/~1healthz/get": true, "/paths/~1api~1v1~1openapi.json/get": true}
	for _, x := range exchanges {
		o, ok := called(operations, x)
		if !ok {
			continue
		}
		if x.Status < 400 {
			succeeded[o.ref] = true
		}
		t.Run(x.Story+"/"+x.Title, func(t *testing.T) {
			o.check(t, schemas, x)
			d.checkHeaders(t, o, x)
			o.checkUnknownKey(t, open, x)
		})
	}
	for _, o := range operations {
		assert.True(t, succeeded[o.ref] || !o.maySucceed(), "no story calls %s %s with success", o.method, o.path)
	}
}

// maySucceed reports whether the operation has a documented status below 400. One that
// is always refused has none.
func (o endpoint) maySucceed() bool {
	for status := range o.body.Responses {
		if status < "4" {
			return true
		}
	}
	return false
}

// called returns the operation of a request of a story. If the request matches several,
// it is the one with the fewest path parameters.
func called(operations []endpoint, x transcript.Exchange) (found endpoint, ok bool) {
	path, _, _ := strings.Cut(x.Target, "?")
	if _, err := url.PathUnescape(path); err != nil {
		return found, false
	}
	method := x.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, o := range operations {
		if o.method == method && o.form.MatchString(path) &&
			(!ok || strings.Count(o.path, "{") < strings.Count(found.path, "{")) {
			found, ok = o, true
		}
	}
	return found, ok
}

func (o endpoint) check(t *testing.T, schemas *jsonschema.Compiler, x transcript.Exchange) {
	t.Helper()
	status, response := o.response(t, x.Status)
	if isJSON(x.ResponseType) && x.Method != http.MethodHead {
		validate(t, schemas, response.schema("#"+o.ref+"/responses/"+status), x.Response)
	}
	if x.Status < 300 && isJSON(x.RequestType) && x.Request != "" {
		require.NotNil(t, o.body.RequestBody, "%s %s documents no request body", o.method, o.path)
		validate(t, schemas, o.requestSchema(), recommended(x.Request))
	}
}

// response returns the documented answer for a status and its key in the document.
func (o endpoint) response(t *testing.T, status int) (key string, response message) {
	t.Helper()
	key = strconv.Itoa(status)
	response, ok := o.body.Responses[key]
	if !ok && unexpected[status] {
		key = "default"
		response, ok = o.body.Responses[key]
	}
	require.True(t, ok, "%s %s does not document status %d", o.method, o.path, status)
	return key, response
}

// unexpected are the statuses that the document may describe under "default". A correct
// client does not cause them.
var unexpected = map[int]bool{405: true, 408: true, 429: true, 431: true, 500: true}

// requestSchema returns the JSON pointer of the schema of the request's body.
func (o endpoint) requestSchema() string {
	return o.body.RequestBody.schema("#" + o.ref + "/requestBody")
}

// checkUnknownKey checks that a request which the service refuses for an unknown key does
// not match its schema. schemas are those that are served.
func (o endpoint) checkUnknownKey(t *testing.T, schemas *jsonschema.Compiler, x transcript.Exchange) {
	t.Helper()
	if x.Status != http.StatusBadRequest || !strings.Contains(x.Response, "is not a key of this request") || o.body.RequestBody == nil {
		return
	}
	schema, err := schemas.Compile(documentURL + o.requestSchema())
	require.NoError(t, err)
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(filled(x.Request)))
	require.NoError(t, err)
	assert.Error(t, schema.Validate(body), "the document permits %s", x.Request)
}

func isJSON(contentType string) bool { return strings.HasPrefix(contentType, "application/json") }

// capture matches a captured value in a story.
var capture = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// filled replaces the captured values in a body of a story: a time and an integer become a
// number, any other value a string.
func filled(body string) string {
	return capture.ReplaceAllStringFunc(body, func(s string) string {
		switch {
		case strings.HasSuffix(s, ":ms}}"):
			return "1772355600000"
		case strings.HasSuffix(s, ":int}}"):
			return "1"
		}
		return "captured"
	})
}

// older are forms of requests that the service accepts from older clients and that the
// document describes only in its texts: the schema language cannot express them, or
// every generated client would send them.
var older = []struct {
	form *regexp.Regexp
	now  string
}{
	{regexp.MustCompile(`"user_id":`), `"id":`},
	{regexp.MustCompile(`"account_id":`), `"accountId":`},
	{regexp.MustCompile(`"account_status":`), `"accountStatus":`},
	{regexp.MustCompile(`"first_name":`), `"firstName":`},
	{regexp.MustCompile(`"last_name":`), `"lastName":`},
	{regexp.MustCompile(`"user_image":`), `"imageUrl":`},
	{regexp.MustCompile(`"payment_provider_id":`), `"paymentProviderId":`},
	{regexp.MustCompile(`"user_referral_code":`), `"referralCode":`},
	{regexp.MustCompile(`"referral_code": *("[^"]*"|null),?`), ``},
	{regexp.MustCompile(`,}`), `}`},
	{regexp.MustCompile(`"(amount|valueInCents|assignedCredit)": *"([0-9]+)(\.0)?"`), `"$1":$2`},
	{regexp.MustCompile(`"(createdSince|createdBefore|createdOrUpdatedSince|createdOrUpdatedBefore)": *([0-9][0-9.eE+]*|"[0-9T:-]+")`), `"$1":"2026-03-01T09:00:00Z"`},
}

// recommended converts a request to the form that the schemas describe.
func recommended(body string) string {
	for _, o := range older {
		body = o.form.ReplaceAllString(body, o.now)
	}
	return body
}

func validate(t *testing.T, schemas *jsonschema.Compiler, at, body string) {
	t.Helper()
	schema, err := schemas.Compile(documentURL + at)
	require.NoError(t, err, "the document has no schema at %s", at)
	body = filled(body)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	require.NoError(t, err)
	assert.NoError(t, schema.Validate(value), "%s", body)
}

const documentURL = "https://kith.test/openapi.json"

// compiler returns a compiler of the document's schemas that checks formats.
func compiler(t *testing.T, d document) *jsonschema.Compiler {
	t.Helper()
	allowNull(d.tree)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.AssertFormat()
	require.NoError(t, c.AddResource(documentURL, d.tree))
	return c
}

// allowNull translates "nullable" of OpenAPI 3.0 to JSON Schema.
func allowNull(node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			allowNull(one)
		}
	case map[string]any:
		if node["nullable"] == true {
			delete(node, "nullable")
			if all, ok := node["allOf"]; ok {
				delete(node, "allOf")
				node["anyOf"] = []any{map[string]any{"type": "null"}, map[string]any{"allOf": all}}
			} else {
				node["type"] = []any{node["type"], "null"}
			}
		}
		for _, one := range node {
			allowNull(one)
		}
	}
}

// closeObjects forbids properties that a schema does not name, unless the schema allows
// them. The served document leaves answers open, so that later versions may add
// properties; the tests do not allow undocumented ones.
func closeObjects(node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			closeObjects(one)
		}
	case map[string]any:
		_, names := node["properties"].(map[string]any)
		_, says := node["additionalProperties"]
		_, open := node["unevaluatedProperties"]
		if names && !says && !open && node["type"] != nil {
			node["additionalProperties"] = false
		}
		for _, one := range node {
			closeObjects(one)
		}
	}
}
