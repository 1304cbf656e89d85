package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// graphQLEvents is a call that logs one event, in the form that the edge answers itself.
const graphQLEvents = `{"query":"mutation log($userEventInput: UserEventInput!) { logUserEvent(userEventInput: $userEventInput) { events { id } } }",` +
	`"operationName":"log","variables":{"userEventInput":{"userId":"anna","accountId":"anna","idempotencyKey":%q,"events":[{"key":%q,"fields":{"revenue":29.00,"currency":"USD"}}]}}}`

// Of many senders of one key one is served (spec 7.1), whichever way they
// come and wherever they are answered: by GraphQL and REST, at the edge and, for
// what is not in the plain form, in the backend.
func TestGraphQLEvents_OneKeyFromManySenders(t *testing.T) {
	t.Parallel()
	for _, ground := range grounds {
		t.Run(ground.name, func(t *testing.T) {
			s := newSite(t)
			ground.lay(t, s)
			tenant := alias(t, s, "onegraph-"+ground.name)
			s.serve(t)
			s.serveEdge(t)
			s.identify(t, s.backend, tenant, "anna", `{}`)
			if ground.name == "replica" {
				sqldtest.Shared(t).WaitForSync(t)
			}
			answers := atOnce(senders, func(i int) outcome {
				key := fmt.Sprintf("sender-%d", i)
				if i%3 == 0 {
					a, err := s.sendEvents(s.edge, tenant, "anna", fmt.Sprintf(`{"idempotencyKey":"order-1001","events":[{"key":%q}]}`, key))
					return outcome{a, err}
				}
				body := fmt.Sprintf(graphQLEvents, "order-1001", key)
				if i%3 == 1 {
					body = strings.Replace(body, "events { id }", "events { id fields }", 1)
				}
				a, err := call("POST", s.edge+"/api/v1/"+tenant+"/graphql", body, s.auth(tenant))
				return outcome{a, err}
			})
			require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusConflict: senders - 1}, statuses(t, answers))
			db := s.open(t)
			waitProcessed(t, db)
			for i, a := range answers {
				if a.status == http.StatusOK {
					require.Equal(t, []string{fmt.Sprintf("sender-%d", i)}, texts(t, db, `SELECT key FROM event WHERE tenant = ?`, tenant))
				}
			}
			require.Equal(t, 1, number(t, db, `SELECT count(*) FROM intake WHERE tenant = ?`, tenant))
		})
	}
}

// With the backend down the edge still accepts events by GraphQL in their plain form; other
// GraphQL calls get 503.
func TestGraphQLEvents_BackendIsDown(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	backend := s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{}`)
	token := s.token(t, "anna")
	backend.kill()
	s.serveEdge(t)
	url := s.edge + "/api/v1/demo/graphql"
	for i, auth := range []string{s.auth("demo"), "Authorization: Bearer " + token, "X-SaaSquatch-User-Token: " + token} {
		a := mustCall(t, http.StatusOK, "POST", url, fmt.Sprintf(graphQLEvents, fmt.Sprintf("order-100%d", i), "visit"), auth)
		require.Regexp(t, `^{"data":{"logUserEvent":{"events":\[{"id":"[0-9a-f]{24}"}\]}}}$`, a.body)
	}
	a := mustCall(t, http.StatusConflict, "POST", url, fmt.Sprintf(graphQLEvents, "order-1000", "visit"), s.auth("demo"))
	require.Contains(t, a.body, `{"data":{"logUserEvent":null},"errors":[{"message":"idempotencyKey: `)
	for _, body := range []string{
		`{"query":"{ tenant { tenantAlias } }"}`,
		strings.Replace(fmt.Sprintf(graphQLEvents, "order-1009", "visit"), "events { id }", "events { fields }", 1),
		strings.Replace(fmt.Sprintf(graphQLEvents, "order-1009", "visit"), `"userId":"anna"`, `"userId":"nobody"`, 1),
		fmt.Sprintf(graphQLEvents, "short", "visit"),
	} {
		mustCall(t, http.StatusServiceUnavailable, "POST", url, body, s.auth("demo"))
	}
	s.serve(t)
	db := s.open(t)
	waitProcessed(t, db)
	require.Equal(t, 3, number(t, db, `SELECT count(*) FROM event`))
}

// introspection is the query that GraphiQL sends when it opens.
const introspection = `query IntrospectionQuery { __schema { queryType { name kind } mutationType { name kind } subscriptionType { name kind }
	types { ...FullType } directives { name description locations args { ...InputValue } } } }
	fragment FullType on __Type { kind name description
		fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason }
		inputFields { ...InputValue } interfaces { ...TypeRef }
		enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
	fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
	fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
		ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`

// In development there is a GraphiQL page, which loads nothing from other servers, and
// introspection is allowed.
func TestDev_GraphiQL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dev(t)
	url := s.edge + "/api/v1/demo/graphql"
	page := mustCall(t, http.StatusOK, "GET", url, "")
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	loads := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page.body, -1)
	require.Len(t, loads, 5, page.body)
	for _, file := range loads {
		require.Regexp(t, `^graphql/[a-z.-]+$`, file[1])
		a := mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/"+file[1], "")
		require.NotEmpty(t, a.body)
		kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}[path.Ext(file[1])]
		require.Equal(t, kind, a.header.Get("Content-Type"), file[1])
	}
	mustCall(t, http.StatusNotFound, "GET", url+"/other.js", "")
	body, err := json.Marshal(map[string]string{"query": introspection})
	require.NoError(t, err)
	a := mustCall(t, http.StatusOK, "POST", url, string(body))
	require.Contains(t, a.body, `"name":"logUserEvents"`)
	require.NotContains(t, a.body, `"errors":[`)
}

// In production there is no GraphiQL page, and introspection needs the API key.
func TestServe_NoGraphiQL(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	url := s.backend + "/api/v1/demo/graphql"
	mustCall(t, http.StatusBadRequest, "GET", url, "")
	mustCall(t, http.StatusNotFound, "GET", url+"/page.js", "")
	body, err := json.Marshal(map[string]string{"query": introspection})
	require.NoError(t, err)
	a := mustCall(t, http.StatusOK, "POST", url, string(body), s.auth("demo"))
	require.Contains(t, a.body, `"name":"logUserEvents"`)
	require.NotContains(t, a.body, `"errors":[`)
	a = mustCall(t, http.StatusOK, "POST", url, string(body))
	require.Contains(t, a.body, "without the API key")
	require.NotContains(t, a.body, "logUserEvents")
}
