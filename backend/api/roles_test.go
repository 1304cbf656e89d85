package api_test

import (
	"encoding/json"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/api"
	"kith/backend/graphql"
	"kith/backend/portal/portaltest"
	"kith/core/auth"
)

var parameter = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// Each call of the OpenAPI document is permitted to the roles of API keys in testdata/roles.txt,
// and refuses all others with a message that names those. With -update the file is
// rewritten: read the diff.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	server, err := graphql.New(w.Engine, slog.New(slog.DiscardHandler), false)
	require.NoError(t, err)
	h := (&api.API{Engine: w.Engine, GraphQL: server, Log: slog.New(slog.DiscardHandler)}).Handler()
	send := func(method, path, secret string) string {
		r := httptest.NewRequest(method, path, strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		if secret != "" {
			r.SetBasicAuth("", secret)
		}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		return out.Body.String()
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(send("GET", "/api/v1/openapi.json", "")), &document))
	var got []string
	for path, methods := range document.Paths {
		rest, ofTenant := strings.CutPrefix(path, "/api/v1/{tenant}")
		for method := range methods {
			if ofTenant && method != "parameters" {
				got = append(got, strings.ToUpper(method)+" "+rest)
			}
		}
	}
	slices.Sort(got)
	secrets := map[auth.Role]string{}
	for _, role := range auth.Roles() {
		_, secret, err := w.Engine.APIKeys.Create(t.Context(), "acme", "key-"+string(role), role, 0)
		require.NoError(t, err)
		secrets[role] = secret
	}
	for i, call := range got {
		method, path, _ := strings.Cut(call, " ")
		var permitted []string
		refusals := map[auth.Role]string{}
		for _, role := range auth.Roles() {
			answer := send(method, "/api/v1/acme"+parameter.ReplaceAllString(path, "none"), secrets[role])
			if strings.Contains(answer, "API key: has the role") {
				refusals[role] = answer
			} else {
				permitted = append(permitted, string(role))
			}
		}
		for role, answer := range refusals {
			require.Equal(t, `{"message":"API key: has the role `+string(role)+`, which does not permit `+call+`; use a key with the role `+
				strings.Join(permitted, " or ")+`","statusCode":403,"apiErrorCode":"FORBIDDEN"}`, answer)
		}
		got[i] += ": " + strings.Join(permitted, " ")
	}
	text := strings.Join(got, "\n") + "\n"
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile("testdata/roles.txt", []byte(text), 0o600))
	}
	want, err := os.ReadFile("testdata/roles.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}
