package wire

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/event"
)

// GraphQLRequest is the body of a GraphQL call (clients 1.11.1).
type GraphQLRequest struct {
	// Query is the text of the document.
	Query string
	// Operation is the name of the operation to run; it may be empty if the document
	// has only one.
	Operation string
	// Variables is the JSON object as sent, or empty.
	Variables string
}

// ParseGraphQL parses the body of a GraphQL call. It ignores "extensions", which some
// clients send. An array of calls is not supported.
func ParseGraphQL(body []byte) (GraphQLRequest, error) {
	var q GraphQLRequest
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "query":
			return take(r.longText, &q.Query, key, v)
		case "operationName":
			return take(r.text, &q.Operation, key, v)
		case "variables", "extensions":
			return r.nested(key, v, keysDiffer)
		}
		return false
	})
	if err == nil && q.Query == "" {
		err = core.Invalid("query", "is required")
	}
	if err != nil {
		return GraphQLRequest{}, err
	}
	if variables := member(gjson.ParseBytes(body), "variables"); variables.IsObject() {
		q.Variables = variables.Raw
	}
	return q, nil
}

// keysDiffer refuses duplicate keys in an object, at any depth, because parsers
// disagree on their value.
func keysDiffer(r *reader, key string, v *fastjson.Value) bool {
	switch v.Type() {
	case fastjson.TypeObject:
		return r.nested(key, v, keysDiffer)
	case fastjson.TypeArray:
		for i, item := range v.GetArray() {
			keysDiffer(r, element(key, i), item)
		}
	}
	return true
}

// GraphQLResponseType is the media type of responses in which an error status means
// that the document was not run (GraphQL over HTTP, draft).
const GraphQLResponseType = "application/graphql-response+json"

// GraphQLType returns the media type of the response to a request with an Accept
// header: the preferred one of JSONType and GraphQLResponseType, the first one if
// both are equal, and JSONType if the header has neither.
func GraphQLType(accept string) string {
	best, most := JSONType, "0"
	for _, one := range strings.Split(accept, ",") {
		kind, parameters, _ := strings.Cut(one, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
		if q := quality(parameters); (kind == JSONType || kind == GraphQLResponseType) && q > most {
			best, most = kind, q
		}
	}
	return best
}

// quality returns the q of a media range without trailing zeros, so that the strings
// sort like numbers: "", "0", "0.5", "1".
func quality(parameters string) string {
	for _, one := range strings.Split(parameters, ";") {
		if q, ok := strings.CutPrefix(strings.TrimSpace(one), "q="); ok {
			return strings.TrimRight(strings.TrimRight(q, "0"), ".")
		}
	}
	return "1"
}

// Position is a position in a document. Line and Column are counted from 1, in
// characters. The zero value is no position.
type Position struct{ Line, Column int }

// Kinds of a GraphQL error, with the names of the service that clients were written
// for.
const (
	GraphQLSyntax     = "InvalidSyntax"
	GraphQLValidation = "ValidationError"
	GraphQLFetching   = "DataFetchingException"
)

// GraphQLError is an error in a GraphQL response.
type GraphQLError struct {
	// Err is written as by Failure.
	Err error
	// At has the positions of the error in the document.
	At []Position
	// Path is the path of the field that failed, a JSON array of response names and
	// list indexes, or empty.
	Path string
	// Kind is one of the constants above.
	Kind string
}

// GraphQLAnswer returns the response to a GraphQL call (clients 1.11.2). It has
// data, a JSON value, unless that is empty; errors, unless that is empty, because
// clients treat an empty list as a failure; and extensions with the first error,
// where other clients read it.
//
// The status is 200 even with errors, except in three cases. It is 409 if the call did
// nothing (done is false) because its idempotency key was used before (spec 7.1), and
// 503 if it did nothing because a part of the service, such as the database, could not
// be reached; the response then also has message and statusCode, because clients read
// only these from such a status. It is 403 if the call was not run because the API key does not permit
// it.
func GraphQLAnswer(data string, done bool, errs []GraphQLError) (status int, body []byte) {
	w := begin(nil)
	if data != "" {
		w.raw("data", data)
	}
	if len(errs) > 0 {
		w.list("errors", len(errs), func(b []byte, i int) []byte { return appendGraphQLError(b, errs[i]) })
		w.object("extensions", func() { w.apiError(errs[0].Err) })
	}
	status = 200
	if !done && (all(errs, event.IsDuplicate) || all(errs, hasCode(core.CodeUnavailable))) {
		var shown *core.Error
		shown, status, _ = Shown(errs[0].Err)
		w.text("message", shown.Error())
		w.raw("statusCode", strconv.Itoa(status))
	}
	if data == "" && len(errs) > 0 && hasCode(core.CodeForbidden)(errs[0].Err) {
		status = Status(core.CodeForbidden)
	}
	return status, w.end()
}

func hasCode(code core.Code) func(error) bool {
	return func(err error) bool {
		var e *core.Error
		return errors.As(err, &e) && e.Code == code
	}
}

// all reports whether there are errors, and each is of a kind.
func all(errs []GraphQLError, is func(error) bool) bool {
	return len(errs) > 0 && !slices.ContainsFunc(errs, func(e GraphQLError) bool { return !is(e.Err) })
}

func appendGraphQLError(b []byte, e GraphQLError) []byte {
	w := begin(b)
	shown, _, word := Shown(e.Err)
	w.text("message", shown.Error())
	if len(e.At) > 0 {
		w.list("locations", len(e.At), func(b []byte, i int) []byte { return appendPosition(b, e.At[i]) })
	}
	if e.Path != "" {
		w.raw("path", e.Path)
	}
	w.object("extensions", func() {
		w.apiError(shown)
		w.text("code", word)
		w.text("classification", e.Kind)
	})
	return w.end()
}

func (w *writer) apiError(err error) {
	_, body := Failure(err)
	w.raw("apiError", string(body))
}

func appendPosition(b []byte, p Position) []byte {
	b = append(b, `{"line":`...)
	b = strconv.AppendInt(b, int64(p.Line), 10)
	b = append(b, `,"column":`...)
	b = strconv.AppendInt(b, int64(p.Column), 10)
	return append(b, '}')
}
