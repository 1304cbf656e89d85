package graphql_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/event"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
)

// plainBodies are calls that log events. Some have the plain form that the edge answers,
// others differ a little from it.
var plainBodies = []string{
	`{"query":"mutation log($userEventInput: UserEventInput!) { logUserEvent(userEventInput: $userEventInput) { events { id } } }","operationName":"log","variables":{"userEventInput":{"userId":"anna","accountId":"anna","idempotencyKey":"order-2001","events":[{"key":"purchase","fields":{"revenue":29.00}}]}}}`,
	`{"query":"mutation($i:[UserEventInput!]!){a:logUserEvents(userEventInputs:$i){__typename u:userId accountId events{__typename b:id userId accountId key dateTriggered dateReceived dateProcessed}}}","variables":{"i":[{"userId":"a@b.c\u2028<","accountId":"<&>/","events":[{"key":"<&>\"\\\u0001\u007f\b\f\/","dateTriggered":7},{"key":"b"}]}]}}`,
	`{"query":"\n\r\nmutation\r(,$a:\tUserEventInput!,){\rä:logUserEvent(userEventInput:$a){userId}}","variables":{"a":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"\r\n mutation,x(\n$a:UserEventInput!)\r{\r\n a : logUserEvent ( userEventInput : $a ) { userId } }\n","variables":{"a":{"userId":"a","accountId":"a","idempotencyKey":"12345678","events":[{"key":"a"}]}}}`,
	`{"query":"mutation mutation($mutation:UserEventInput!){logUserEvent:logUserEvent(userEventInput:$mutation){events:events{key:id id:key}}}","operationName":null,"variables":{"mutation":{"userId":"a","accountId":"a","events":[{"key":"a","fields":null,"id":"x"}]}}}`,
	`{"query":"mutation($i:[UserEventInput!]!){logUserEvents(userEventInputs:$i){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvents(userEventInputs:[$i]){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}events{key}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){events{fields}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}} #","variables":{"i":{"userId":"a","accountId":"a","events":{"key":"a"}}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvent(userEventInput:$i)@skip(if:true){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){events{}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"query($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation a($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}}","operationName":"b","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}}}`,
	`{"query":"mutation a($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]},"j":1}}`,
	`{"query":"mutation a($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}],"x":1}}}`,
	`{"query":"mutation a($i:UserEventInput!){logUserEvent(userEventInput:$i){events{id}}}","variables":{"i":{"userId":"a","accountId":"a","events":[{"key":"a"}]}},"extensions":{}}`,
}

// The backend answers every call that the edge accepts as plain with the same bytes as
// the edge.
func FuzzGraphQLEvents(f *testing.F) {
	for _, body := range plainBodies {
		f.Add([]byte(body))
	}
	b := newBench(f)
	f.Fuzz(func(t *testing.T, body []byte) { b.sameAtEdgeAndBackend(t, body) })
}

// sameAtEdgeAndBackend compares the answers of edge and backend to a call. It reports whether
// the edge answers such a call.
func (b *bench) sameAtEdgeAndBackend(t *testing.T, body []byte) bool {
	t.Helper()
	plain, ok := wire.ParseGraphQLEvents(body)
	if !ok {
		return false
	}
	random := b.Entropy
	_, err := b.Identification.Identify(t.Context(), "acme", rules.Identification{Update: referral.UserUpdate{Account: plain.Call.Account, ID: plain.Call.User}})
	require.NoError(t, err)
	b.Entropy = func(p []byte) { clear(p) }
	status, answer := b.send(t, b.keyHolder(t), string(body))
	b.Entropy = random
	plain.Call.Stamp(b.Now(), [6]byte{})
	want, edge := plain.Answer()
	if status == 409 {
		want, edge = plain.Refused(event.Duplicate(""))
	}
	require.Equal(t, want, status, "%s\n%s", body, answer)
	require.Equal(t, string(edge), answer, "%s", body)
	return true
}

// Every combination of these documents and variables gets the same answer from edge and
// backend, or is left to the backend.
func TestGraphQLEvents_SameAtEdgeAndBackend(t *testing.T) {
	b := newBench(t)
	documents := []string{
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){userId events{key dateTriggered}}}`,
		`mutation log($i:UserEventInput!){a:logUserEvent(userEventInput:$i){__typename accountId}}`,
		`mutation($i:[UserEventInput!]!){logUserEvents(userEventInputs:$i){userId events{key}}}`,
		`mutation($i:UserEventInput){logUserEvent(userEventInput:$i){userId}}`,
		`mutation($i:UserEventInput!={userId:"a",accountId:"a"}){logUserEvent(userEventInput:$i){userId}}`,
		`mutation($i:[UserEventInput]!){logUserEvents(userEventInputs:$i){userId}}`,
		`mutation($i:UserEventInput!,$j:Int){logUserEvent(userEventInput:$i){userId}}`,
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){userId}logUserEvent(userEventInput:$i){userId}}`,
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$j){userId}}`,
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$i,userEventInput:$i){userId}}`,
		`mutation($i:UserEventInput!)@x{logUserEvent(userEventInput:$i){userId}}`,
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){events}}`,
		`mutation($i:UserEventInput!){logUserEvent(userEventInput:$i){userId{id}}}`,
		`query($i:UserEventInput!){logUserEvent(userEventInput:$i){userId}}`,
	}
	const whose = `"userId":"anna","accountId":"anna"`
	inputs := []string{`null`, `1`, `"x"`, `true`, `[]`, `{}`, `{` + whose + `}`, `{` + whose + `,"events":null}`, `{` + whose + `,"events":[]}`, `{` + whose + `,"events":{"key":"x"}}`}
	for _, field := range []string{
		``, `"other":1,`, `"idempotencyKey":null,`, `"idempotencyKey":12345678,`, `"idempotencyKey":"12345678",`, `"idempotencyKey":"short",`,
		`"idempotencyKey":["12345678"],`, `"__typename":"x",`, `"userId":"anna",`, `"userId":5,`,
	} {
		inputs = append(inputs, `{`+field+whose+`,"events":[{"key":"x"}]}`)
	}
	for _, member := range []string{
		`"fields":null`, `"fields":{}`, `"fields":{"a":1.50,"b":null,"c":[1,{"d":"e"}]}`, `"fields":"x"`, `"fields":[]`, `"fields":{"a":1,"a":2}`, `"fields":{"a":[[1]]}`,
		`"dateTriggered":null`, `"dateTriggered":5`, `"dateTriggered":5.0`, `"dateTriggered":1.7E12`, `"dateTriggered":4.5`, `"dateTriggered":"5"`, `"dateTriggered":-1`, `"dateTriggered":1e99`, `"dateTriggered":{}`,
		`"id":null`, `"id":"x"`, `"id":5`, `"id":5.0`, `"id":4.5`, `"id":true`, `"id":{}`, `"id":["x"]`, `"id":{"a":1,"a":2}`, `"\u0069d":{}`,
		`"key":"x"`, `"other":null`, `"Fields":{}`, `"dateReceived":5`,
	} {
		inputs = append(inputs, `{`+whose+`,"events":[{"key":"x",`+member+`}]}`, `{`+whose+`,"events":[null,{"key":"x",`+member+`}]}`)
	}
	for _, key := range []string{`null`, `5`, `""`, `" x"`, `"x\ud800"`, `["x"]`} {
		inputs = append(inputs, `{`+whose+`,"events":[{"key":`+key+`}]}`)
	}
	plain := 0
	for _, d := range documents {
		for _, in := range inputs {
			for _, variables := range []string{`{"i":` + in + `}`, `{"i":[` + in + `]}`, `{"i":` + in + `,"j":1}`} {
				if b.sameAtEdgeAndBackend(t, []byte(bodyOf(d, variables))) {
					plain++
				}
			}
		}
	}
	require.Greater(t, plain, 30)
}

// The edge recognises the plain bodies and no other.
func TestGraphQLEvents_Recognised(t *testing.T) {
	for i, body := range plainBodies {
		require.True(t, json.Valid([]byte(body)), body)
		_, ok := wire.ParseGraphQLEvents([]byte(body))
		require.Equal(t, i < 5 && i != 2, ok, body)
	}
}

// No document causes an internal error, and every answer has the form of GraphQL.
func FuzzDocument(f *testing.F) {
	for _, query := range []string{
		`{user(accountId:"anna",id:"anna"){id ...f}} fragment f on User{referrals(limit:3){data{id}}}`, `query($a:Int=1){referrals(limit:$a){count}}`, deep(16),
		`mutation{logUserEvent(userEventInput:{userId:"anna",accountId:"anna",events:[{key:"x",fields:{a:[1.5,null,true,"\uD83D\uDE00"]},dateTriggered:1772355600000}]}){events{id fields}}}`,
		`{viewer{... on Tenant{tenantAlias}... on User{id}}}`, `{a:identityFunction(value:{b:E,c:-0.5e-3}) @include(if:true)}`, `{__type(name:"User"){name}}`, "query a{tenant{tenantAlias}} query b{__typename}", `{identityFunction(value:"""a"""){b}}`,
		`mutation{upsertUsers(userInputs:[{id:"x",accountId:"y"}]){...on User{id}...on ApiError{message}}}`,
	} {
		f.Add(query, "", `{"a":1}`)
	}
	b := newBench(f)
	keyHolder := b.keyHolder(f)
	f.Fuzz(func(t *testing.T, query, operation, variables string) {
		if !json.Valid([]byte(variables)) || !strings.HasPrefix(variables, "{") {
			variables = "{}"
		}
		text, err := json.Marshal(query)
		require.NoError(t, err)
		name, err := json.Marshal(operation)
		require.NoError(t, err)
		status, answer := b.send(t, keyHolder, `{"query":`+string(text)+`,"operationName":`+string(name)+`,"variables":`+variables+`}`)
		var read struct {
			Data   map[string]any
			Errors []struct {
				Message    string
				Extensions struct{ APIError struct{ StatusCode int } }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(answer), &read))
		if status == 200 {
			require.True(t, read.Data != nil || len(read.Errors) > 0, answer)
		}
		for _, e := range read.Errors {
			require.NotEmpty(t, e.Message)
			require.Less(t, e.Extensions.APIError.StatusCode, 500, "%s %s: %s\n%s", query, variables, answer, b.log)
		}
	})
}
