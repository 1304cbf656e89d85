package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kith/core"
	"kith/core/event"
)

func TestParseGraphQL(t *testing.T) {
	for body, want := range map[string]GraphQLRequest{
		`{"query":"{a}"}`: {Query: "{a}"},
		`{"query":"{a}","operationName":null,"variables":null,"extensions":null}`:                    {Query: "{a}"},
		`{"query":"{\n\"a\"}","operationName":"b","variables":{"c":[1.50]},"extensions":{"d":[{}]}}`: {Query: "{\n\"a\"}", Operation: "b", Variables: `{"c":[1.50]}`},
		`{"\u0076ariables":{},"query":"a"}`:                                                          {Query: "a", Variables: "{}"},
	} {
		if got, err := ParseGraphQL([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	long := strings.Repeat("a", 100_000)
	if got, err := ParseGraphQL([]byte(`{"query":"` + long + `"}`)); err != nil || got.Query != long {
		t.Error("a document has no other limit than its body:", err)
	}
}

func TestParseGraphQL_Refuses(t *testing.T) {
	for body, want := range map[string]string{
		``:                            "the body is not valid JSON",
		`[{"query":"{a}"}]`:           "the body must be a JSON object",
		`{}`:                          "query: is required",
		`{"query":""}`:                "query: is required",
		`{"query":null}`:              "query: is required",
		`{"query":1}`:                 "query: must be a string",
		`{"query":"a","query":"b"}`:   "query: occurs twice",
		`{"query":"a","other":1}`:     "other: is not a key of this request",
		`{"query":"a","variables":1}`: "variables: must be an object",
		`{"query":"a","variables":{"b":[{"c":1,"c":2}]}}`: "variables.b[0].c: occurs twice",
		`{"query":"a","extensions":[]}`:                   "extensions: must be an object",
		`{"query":"a","operationName":{}}`:                "operationName: must be a string",
	} {
		if got, err := ParseGraphQL([]byte(body)); err == nil || err.Error() != want || got != (GraphQLRequest{}) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestGraphQLAnswer(t *testing.T) {
	refused := core.Invalid("a", "is bad")
	refused.RS = "RS034"
	const apiError = `{"message":"a: is bad","statusCode":400,"apiErrorCode":"VALIDATION_FAILED","rsCode":"RS034"}`
	const hidden = `{"message":"something went wrong on our side; it has been logged","statusCode":500,"apiErrorCode":"INTERNAL"}`
	for name, c := range map[string]struct {
		data   string
		done   bool
		errs   []GraphQLError
		status int
		body   string
	}{
		"data":  {`{"a":1}`, true, nil, 200, `{"data":{"a":1}}`},
		"error": {"", false, []GraphQLError{{Err: refused, Kind: GraphQLValidation}}, 200, `{"errors":[{"message":"a: is bad","extensions":{"apiError":` + apiError + `,"code":"VALIDATION_FAILED","classification":"ValidationError"}}],"extensions":{"apiError":` + apiError + `}}`},
		"both": {
			`{"a":null,"b":1}`, true, []GraphQLError{{Err: refused, At: []Position{{1, 2}, {3, 4}}, Path: `["a",0]`, Kind: GraphQLFetching}, {Err: errors.New("secret"), Kind: GraphQLSyntax}}, 200,
			`{"data":{"a":null,"b":1},"errors":[{"message":"a: is bad","locations":[{"line":1,"column":2},{"line":3,"column":4}],"path":["a",0],"extensions":{"apiError":` + apiError + `,"code":"VALIDATION_FAILED","classification":"DataFetchingException"}},` +
				`{"message":"something went wrong on our side; it has been logged","extensions":{"apiError":` + hidden + `,"code":"INTERNAL","classification":"InvalidSyntax"}}],"extensions":{"apiError":` + apiError + `}}`,
		},
	} {
		status, body := GraphQLAnswer(c.data, c.done, c.errs)
		if status != c.status || string(body) != c.body || !json.Valid(body) {
			t.Errorf("%s: %d %s\nwant %d %s", name, status, body, c.status, c.body)
		}
	}
}

// Only a call that was received before is refused with 409 (spec 7.1), and only one that
// did nothing because a part of the service was away with 503.
func TestGraphQLAnswer_Status(t *testing.T) {
	duplicate, exists := GraphQLError{Err: event.Duplicate("")}, GraphQLError{Err: &core.Error{Code: core.CodeConflict, RS: "RS048"}}
	away := GraphQLError{Err: &core.Error{Code: core.CodeUnavailable}}
	for name, c := range map[string]struct {
		done bool
		errs []GraphQLError
		want int
	}{
		"not done, key used": {false, []GraphQLError{duplicate}, 409},
		"twice":              {false, []GraphQLError{duplicate, duplicate}, 409},
		"partly done":        {true, []GraphQLError{duplicate}, 200},
		"another error too":  {false, []GraphQLError{duplicate, exists}, 200},
		"another conflict":   {false, []GraphQLError{exists}, 200},
		"no error":           {false, nil, 200},
		"no database":        {false, []GraphQLError{away, away}, 503},
		"database lost":      {true, []GraphQLError{away}, 200},
	} {
		if status, _ := GraphQLAnswer("{}", c.done, c.errs); status != c.want {
			t.Errorf("%s: %d, want %d", name, status, c.want)
		}
	}
}

// The Java SDK reads message and statusCode of a response with this status.
func TestGraphQLAnswer_RepeatedKey(t *testing.T) {
	const want = `"message":"idempotencyKey: these events were received before, within the last 24 hours; nothing was recorded again","statusCode":409}`
	status, body := GraphQLAnswer(`{"a":null}`, false, []GraphQLError{{Err: event.Duplicate(""), Path: `["a"]`}})
	if status != 409 || !strings.HasSuffix(string(body), "}},"+want) || !json.Valid(body) {
		t.Errorf("%d %s", status, body)
	}
}

func TestGraphQLType(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                  JSONType,
		"*/*":                               JSONType,
		"text/html":                         JSONType,
		"application/json":                  JSONType,
		"application/graphql-response+json": GraphQLResponseType,
		"Application/GraphQL-Response+JSON; charset=utf-8":                                                                  GraphQLResponseType,
		"application/graphql-response+json, application/json":                                                               GraphQLResponseType,
		"application/json, application/graphql-response+json":                                                               JSONType,
		"application/graphql-response+json;q=0.5, application/json;q=0.50":                                                  GraphQLResponseType,
		"application/graphql-response+json;q=0.5,application/json; q=1.0":                                                   JSONType,
		"application/json;q=0.9, application/graphql-response+json":                                                         GraphQLResponseType,
		"application/graphql-response+json;q=0, */*":                                                                        JSONType,
		"application/graphql-response+json;q=0.000":                                                                         JSONType,
		"application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed": GraphQLResponseType,
		"text/html;q=1, application/graphql-response+json;charset=utf-8;q=0.2":                                              GraphQLResponseType,
	} {
		if got := GraphQLType(accept); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
}

func TestParseUserEvents(t *testing.T) {
	b, err := ParseUserEvents([]byte(`{"userId":"bob","accountId":"a@b.c","idempotencyKey":"12345678","events":[{"key":"purchase","fields":{"revenue":1.50},"id":"x"}]}`))
	if err != nil || b.User != "bob" || b.Account != "a@b.c" || b.Key != "12345678" || len(b.Events) != 1 || b.Events[0].Fields != `{"revenue":1.50}` {
		t.Errorf("%+v, %v", b, err)
	}
	for body, want := range map[string]string{
		`{"accountId":"a","events":[{"key":"x"}]}`:                         "userId: is required",
		`{"userId":"b","events":[{"key":"x"}]}`:                            "accountId: is required",
		`{"userId":null,"accountId":"a","events":[{"key":"x"}]}`:           "userId: is required",
		`{"userId":"","accountId":"a","events":[{"key":"x"}]}`:             "userId: must not be empty",
		`{"userId":"b","accountId":"a"}`:                                   "events: must have at least one event",
		`{"userId":"b","accountId":"a","events":[{"key":"x"}],"other":1}`:  "other: is not a key of this request",
		`{"userId":"b","accountId":"a","events":[{"key":"x","fields":1}]}`: "events[0].fields: must be an object",
	} {
		if got, err := ParseUserEvents([]byte(body)); err == nil || err.Error() != want || got.User != "" || got.Events != nil {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}
