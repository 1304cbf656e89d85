package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/api"
)

// kith.gen.go is what this tree's OpenAPI document generates.
func TestGenerate_GoClientIsOfThisTree(t *testing.T) {
	generated := filepath.Join(t.TempDir(), "kith.gen.go")
	require.NoError(t, run("../..", generated, "", ""))
	want, err := os.ReadFile(generated)
	require.NoError(t, err)
	committed, err := os.ReadFile("../go/kith.gen.go")
	require.NoError(t, err)
	require.True(t, string(want) == string(committed), "clients/go/kith.gen.go is of another OpenAPI document: run make clients")
}

// The built @kith/client has the sources that this tree's OpenAPI document generates.
func TestGenerate_NpmClientIsOfThisTree(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, run("../..", "", folder, ""))
	for _, name := range []string{"schema.ts", "operations.ts"} {
		want, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		built, err := os.ReadFile(filepath.Join("../npm/src/generated", name))
		require.NoError(t, err, "run make test-needs")
		require.True(t, string(want) == string(built), "%s of clients/npm is of another OpenAPI document: run make clients", name)
	}
}

// The READMEs list the methods of this tree's OpenAPI document.
func TestGenerate_ReadmesAreOfThisTree(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"go", "npm"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	require.NoError(t, run("../..", "", "", folder))
	for _, name := range []string{"go/README.md", "npm/README.md"} {
		want, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		require.True(t, string(want) == string(committed), "the methods in clients/%s are of another OpenAPI document: run make clients", name)
		require.Regexp(t, "\n\\| `(S|s)yncAccount` \\| [A-Z][^|]+ \\|", string(want))
		require.Contains(t, string(want), "`queryGraphql`", "it is not in the client")
	}
	_, err := withTable([]byte("# Client\n"), "")
	require.ErrorContains(t, err, tableBegins)
}

// The clients have each operation, but those that answer a redirect, a page or a file, and
// those that take a form.
func TestDocument_HasTheOperationsOfClients(t *testing.T) {
	served, err := api.OpenAPI()
	require.NoError(t, err)
	d, err := newDocument(served)
	require.NoError(t, err)
	byName := map[string]operation{}
	for _, o := range d.operations {
		byName[o.name] = o
		assert.Empty(t, repeated(append(pathParameters(o.path), o.query...)), "%s has two parameters with one name", o.name)
		assert.NotContains(t, append(pathParameters(o.path), o.query...), "body", o.name)
	}
	require.Len(t, byName, len(d.operations))
	all := strings.Count(string(served), `"operationId":`)
	left := []string{"followShareLink", "openMessageLink", "inviteByMail", "queryGraphql", "receiveGatewayNotification", "receiveStripeEvent", "receivePipeline", "answerGatewayChallenge", "uploadFile", "downloadFile", "downloadAuditLog"}
	assert.ElementsMatch(t, left, d.left)
	assert.Equal(t, all-len(left), len(byName), "a new operation with a form, a file or a redirect: %v", slices.Sorted(maps.Keys(byName)))

	assert.Equal(t, operation{name: "upsertUser", method: "PUT", path: "/api/v1/{tenant}/open/account/{account}/user/{user}", tag: "users", summary: "Identify a user",
		query: []string{"fields"}, body: true, repeatable: true, page: true, flatLinks: []string{"shareLinks"}}, byName["upsertUser"])
	assert.Equal(t, operation{name: "redeemCredit", method: "POST", path: "/api/v1/{tenant}/credit/bulkredeem", tag: "rewards", summary: "Redeem credit of an account", body: true, keyed: true}, byName["redeemCredit"])
	assert.True(t, byName["syncAccount"].repeatable)
	assert.False(t, byName["deleteAccount"].page, "it always needs the API key")
	assert.Equal(t, []string{"users.shareLinks"}, byName["listUsers"].flatLinks)
	assert.Equal(t, []string{"user.shareLinks"}, byName["renderWidget"].flatLinks)
	assert.Equal(t, []string{""}, byName["getShareLinks"].flatLinks)
	assert.Empty(t, byName["getShareUrls"].flatLinks)
	assert.False(t, byName["countVisit"].body, "its body is ignored")
}

func pathParameters(path string) (names []string) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, found := strings.CutPrefix(segment, "{"); found {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

func repeated(names []string) (twice []string) {
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			twice = append(twice, names[i])
		}
	}
	return twice
}
