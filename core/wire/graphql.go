package wire

import (
	"errors"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
)

// GraphQLRequest is the body of a GraphQL call (reference, 1.11).
type GraphQLRequest struct {
	// Query is the text of the document.
	Query string
	// Operation names the operation to run; empty when the document has one.
	Operation string
	// Variables is a JSON object as it was sent, or empty.
	Variables string
}

// ParseGraphQL reads the body of a GraphQL call. "extensions", which some
// clients send along, are passed over; an array of calls is no call.
func ParseGraphQL(body []byte) (GraphQLRequest, error) {
	var q GraphQLRequest
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "query":
			return r.document(&q.Query, key, v)
		case "operationName":
			var s *string
			r.text(&s, key, v)
			if s != nil {
				q.Operation = *s
			}
			return true
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
	if variables := gjson.GetBytes(body, "variables"); variables.IsObject() {
		q.Variables = variables.Raw
	}
	return q, nil
}

// document stores a text that is bounded by its body alone.
func (r *reader) document(into *string, key string, v *fastjson.Value) bool {
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeString:
		*into = string(v.GetStringBytes())
	default:
		return r.wrongType(key, "a string")
	}
	return true
}

// keysDiffer refuses a key that is twice in one object, however deep: what two
// readers could read in two ways is refused.
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

// GraphQLResponseType is the media type of answers of which a status that is no
// success says that nothing of the document was run (GraphQL over HTTP, draft).
const GraphQLResponseType = "application/graphql-response+json"

// GraphQLType is the media type of an answer to a client with an Accept header: the
// type that it prefers of JSONType and GraphQLResponseType, the first of equals, and
// JSONType for one that names neither.
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

// quality is the q of a media range without trailing zeros, so that texts are in the
// order of their numbers: "", "0", "0.5", "1".
func quality(parameters string) string {
	for _, one := range strings.Split(parameters, ";") {
		if q, ok := strings.CutPrefix(strings.TrimSpace(one), "q="); ok {
			return strings.TrimRight(strings.TrimRight(q, "0"), ".")
		}
	}
	return "1"
}

// Position is a place in a document, line and column counted from 1 in
// characters. The zero value is no place.
type Position struct{ Line, Column int }

// Kinds of a GraphQL error, in the words that clients know from the service
// that this API comes from.
const (
	GraphQLSyntax     = "InvalidSyntax"
	GraphQLValidation = "ValidationError"
	GraphQLFetching   = "DataFetchingException"
)

// GraphQLError is one of the errors of a GraphQL answer.
type GraphQLError struct {
	// Err is rendered by the rules of Failure.
	Err error
	// At is where in the document it arose.
	At []Position
	// Path leads to the field that failed: a JSON array of response names and
	// list indices, or empty.
	Path string
	// Kind is one of the constants above.
	Kind string
}

// GraphQLAnswer writes the answer to a GraphQL call (reference, 1.11): data, a
// JSON value that is left out when it is empty; errors, left out when there are
// none, since clients take even an empty list for a failure; and extensions with
// the first of them, where other clients look for it.
//
// The status is 200 also for errors, but for two cases. When nothing of the call
// was done because its idempotency key is used up, it is 409 (spec, Limits), and the
// answer has message and statusCode as other answers of that status do: of those
// clients read nothing else. When the call was not run because the API key does not
// permit it, it is 403.
func GraphQLAnswer(data string, done bool, errs []GraphQLError) (status int, body []byte) {
	w := writer{}
	w.open()
	if data != "" {
		w.raw("data", data)
	}
	if len(errs) > 0 {
		w.key("errors")
		w.b = list(w.b, len(errs), func(b []byte, i int) []byte { return appendGraphQLError(b, errs[i]) })
		w.object("extensions", func() { w.apiError(errs[0].Err) })
	}
	status = 200
	if !done && allDuplicate(errs) {
		var shown *core.Error
		shown, status, _ = Shown(errs[0].Err)
		w.text("message", shown.Error())
		w.raw("statusCode", strconv.Itoa(status))
	}
	if data == "" && len(errs) > 0 && isForbidden(errs[0].Err) {
		status = Status(core.CodeForbidden)
	}
	w.close()
	return status, w.b
}

func isForbidden(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeForbidden
}

func allDuplicate(errs []GraphQLError) bool {
	for _, e := range errs {
		var err *core.Error
		if !errors.As(e.Err, &err) || err.Code != core.CodeConflict || err.Field != "idempotencyKey" {
			return false
		}
	}
	return len(errs) > 0
}

func appendGraphQLError(b []byte, e GraphQLError) []byte {
	w := writer{b: b}
	w.open()
	shown, _, word := Shown(e.Err)
	w.text("message", shown.Error())
	if len(e.At) > 0 {
		w.key("locations")
		w.b = list(w.b, len(e.At), func(b []byte, i int) []byte { return appendPosition(b, e.At[i]) })
	}
	if e.Path != "" {
		w.raw("path", e.Path)
	}
	w.object("extensions", func() {
		w.apiError(shown)
		w.text("code", word)
		w.text("classification", e.Kind)
	})
	w.close()
	return w.b
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
