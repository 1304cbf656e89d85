package graphql_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/graphql"
	"kith/backend/store"
	"kith/backend/store/storetest"
)

// A field that fails is null, and the other fields have their values. Its error has the
// path of response names and the position of the field.
func TestErrors_OneOfSeveralFields(t *testing.T) {
	b := newBench(t)
	b.run(t, `mutation{upsertUser(userInput:{accountId:"ben",id:"ben",referredByCodes:["ANNA10"]}){id}}`)
	status, answer := b.send(t, b.keyHolder(t), document(`{
		good: user(accountId: "anna", id: "anna") { id }
		list: referrals { data { mine: referrerUser { theirs: referrals(limit: -1) { count } } } }
		bad: user(accountId: "", id: "anna") { id }
	}`))
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"good":{"id":"anna"},"list":{"data":[{"mine":{"theirs":null}}]},"bad":null}`, gjson.Get(answer, "data").Raw)
	require.JSONEq(t, `[["list","data",0,"mine","theirs"],["bad"]]`, gjson.Get(answer, "errors.#.path").Raw)
	require.JSONEq(t, `[[{"line":3,"column":49}],[{"line":4,"column":3}]]`, gjson.Get(answer, "errors.#.locations").Raw)
	require.Equal(t, gjson.Get(answer, "errors.0.extensions.apiError").Raw, gjson.Get(answer, "extensions.apiError").Raw)
}

// The fields of a mutation run in order. One that fails does not stop the others.
func TestErrors_MutationContinues(t *testing.T) {
	b := newBench(t)
	_, answer := b.send(t, b.keyHolder(t), document(`mutation{
		a:upsertUser(userInput:{accountId:"a",id:"a",firstName:"first"}){id}
		b:upsertUser(userInput:{accountId:"b",id:"b",locale:"?"}){id}
		c:upsertUser(userInput:{accountId:"a",id:"a",firstName:"second"}){firstName}
		d:logUserEvent(userEventInput:{userId:"a",accountId:"a",idempotencyKey:"12345678",events:[{key:"x"}]}){userId}
		e:logUserEvent(userEventInput:{userId:"a",accountId:"a",idempotencyKey:"12345678",events:[{key:"x"}]}){userId}
	}`))
	require.JSONEq(t, `{"a":{"id":"a"},"b":null,"c":{"firstName":"second"},"d":{"userId":"a"},"e":null}`, gjson.Get(answer, "data").Raw)
	require.JSONEq(t, `["RS039",null]`, `[`+gjson.Get(answer, "errors.0.extensions.apiError.rsCode").Raw+`,null]`)
	require.Equal(t, int64(409), gjson.Get(answer, "errors.1.extensions.apiError.statusCode").Int())
}

// A document that is not valid is refused as a whole: no field of it runs.
func TestErrors_DocumentIsRefusedAsAWhole(t *testing.T) {
	b := newBench(t)
	for _, query := range []string{
		`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id} b:nothing}`,
		`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id} b:upsertUser(userInput:{nothing:1}){id}}`,
		`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id} b:deleteWebhookSubscription{deletedCount}}`,
		`mutation($x:UserInput!){a:upsertUser(userInput:{accountId:"a",id:"a"}){id} b:upsertUser(userInput:$x){id}}`,
		`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id}} query{tenant{tenantAlias}}`,
	} {
		status, answer := b.send(t, b.keyHolder(t), document(query))
		require.Equal(t, http.StatusOK, status)
		require.NotContains(t, answer, `"data"`, query)
		require.NotEmpty(t, gjson.Get(answer, "errors.0.message").String())
		require.JSONEq(t, `{"user":null}`, b.run(t, `{user(accountId:"a",id:"a"){id}}`), query)
	}
}

// An internal error is logged once, and its text is not sent.
func TestErrors_FaultsAreWithheld(t *testing.T) {
	b := newBench(t)
	caller := b.keyHolder(t)
	require.NoError(t, b.DB.Close())
	status, answer := b.send(t, caller, document(`{referrals{count}}`))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, "database")
	require.Equal(t, "INTERNAL", gjson.Get(answer, "errors.0.extensions.code").String())
	require.Equal(t, 1, strings.Count(b.log.String(), "\n"), b.log)
	require.Contains(t, b.log.String(), "sql: database is closed")
}

// A panic is logged and its value is not sent.
func TestErrors_PanicsAreWithheld(t *testing.T) {
	b := newBench(t)
	b.Entropy = func([]byte) { panic("secret") }
	status, answer := b.send(t, b.keyHolder(t), document(`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id} b:identityFunction}`))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, "data")
	status, answer = b.send(t, b.keyHolder(t), document(`mutation{a:upsertUser(userInput:{accountId:"a",id:"a"}){id}}`))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, "secret")
	require.JSONEq(t, `["a"]`, gjson.Get(answer, "errors.0.path").Raw)
	require.Equal(t, int64(500), gjson.Get(answer, "extensions.apiError.statusCode").Int())
	require.Contains(t, b.log.String(), "tenant=acme")
	require.Contains(t, b.log.String(), "secret")
}

// The error of a cancelled call is UNAVAILABLE, so the client may repeat it.
func TestErrors_Cancelled(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	status, answer, err := b.server.Answer(ctx, graphql.Request{Caller: b.keyHolder(t), Body: []byte(document(`{tenant{tenantAlias} referrals{count}}`))})
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "UNAVAILABLE", gjson.GetBytes(answer, "errors.0.extensions.code").String())
	require.NotContains(t, string(answer), "context")
	require.Empty(t, b.log.String(), "the client disconnected")
}

// Events of which none was stored, since the database was away, are answered with a status
// that makes clients send them again.
func TestErrors_NoEventStored(t *testing.T) {
	url := storetest.File(t)
	b := benchOn(t, url+"?_pragma=busy_timeout(1)&_pragma=foreign_keys(1)")
	log := func() (int, []byte) {
		status, answer, err := b.server.Answer(t.Context(), graphql.Request{Caller: b.keyHolder(t), Body: []byte(document(
			`mutation{logUserEvents(userEventInputs:[{accountId:"a",userId:"a",events:[{key:"x"}]},{accountId:"b",userId:"b",events:[{key:"x"}]}]){__typename ...on ApiError{message statusCode}}}`))})
		require.NoError(t, err)
		return status, answer
	}
	b.send(t, b.keyHolder(t), document(`mutation{upsertUsers(userInputs:[{accountId:"a",id:"a"},{accountId:"b",id:"b"}]){__typename}}`))
	other, err := store.Open(url, "")
	require.NoError(t, err)
	defer other.Close()
	locked, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- other.Write(t.Context(), start, func(*store.Tx) error {
			close(locked)
			<-release
			return nil
		})
	}()
	<-locked
	status, answer := log()
	close(release)
	require.NoError(t, <-ended)
	require.Equal(t, http.StatusServiceUnavailable, status, "%s", answer)
	require.EqualValues(t, 503, gjson.GetBytes(answer, "statusCode").Int(), "%s", answer)
}

// An answer without an error has no key errors, not even an empty list.
func TestErrors_NoneIsNoKey(t *testing.T) {
	b := newBench(t)
	status, answer := b.send(t, b.keyHolder(t), document(`{user(accountId:"x",id:"x"){id} referrals{data{id}}}`))
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, `{"data":{"user":null,"referrals":{"data":[]}}}`, answer)
}
