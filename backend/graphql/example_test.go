package graphql_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"

	"kith/backend/graphql"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	_ "kith/wasm/transcript" // has the flag -update
)

func loadedSchema(t *testing.T) *ast.Schema {
	t.Helper()
	schema, err := validator.LoadSchema(validator.Prelude, &ast.Source{Input: graphql.SDL()})
	require.NoError(t, err)
	return schema
}

// Every type, field, argument and key of an input is described, in a sentence.
func TestSchema_EverythingIsDescribed(t *testing.T) {
	t.Parallel()
	check := func(what, text string) {
		assert.Regexp(t, "^[A-Z`0-9](?s:.*)[.`]$", text, "%s", what)
	}
	for name, def := range loadedSchema(t).Types {
		if def.BuiltIn {
			continue
		}
		check(name, def.Description)
		for _, f := range def.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			check(name+"."+f.Name, f.Description)
			for _, a := range f.Arguments {
				check(name+"."+f.Name+"."+a.Name, a.Description)
			}
		}
	}
}

// shownExample matches the example of a description: a document and its answer.
var (
	shownExample = regexp.MustCompile("(?s)```graphql\n(.*?)```\n\n```json\n(.*?)```$")
	errorList    = regexp.MustCompile("\n\n(Errors: those of every field\\.|Errors, besides those of every field:\n(- `[A-Z_]+`( \\(`RS[0-9]{3}`\\))?: (?:.+\n)+)+)\n")
	drawnKey     = regexp.MustCompile(`[A-Za-z0-9_-]{300,}`)
	drawnID      = regexp.MustCompile(`\b[0-9a-f]{24}\b`)
)

// exampleIDs are the ids in examples of objects that exist before the examples run.
var exampleIDs = map[string]string{
	"referral": "019ca8a03e80be8113f1a7d4", "reward": "019ca8a03e80c0ffee51a9e2", "job": "019ca8a03e80b1d6e3c0457f",
	"discount": "019ca8a03e80d15c0a4b72e6",
}

// exampleBench returns a bench with the objects that the examples name: bob, whom anna
// referred and who paid, an event of his, an endpoint, and a completed job.
func exampleBench(t *testing.T) (b *bench, real *strings.Replacer) {
	t.Helper()
	b = newBench(t)
	require.NoError(t, b.SigningKeys.Ensure(t.Context()))
	b.run(t, `mutation { upsertUser(userInput: {accountId: "bob", id: "bob", firstName: "Bob", email: "bob@example.com", referralCode: "BOB20",
		referredBy: {code: "ANNA10", isConverted: true}}) { id } }`)
	b.run(t, `mutation { upsertWebhookSubscription(webhookSubscriptionInput: {endpointUrl: "https://shop.example/hook", name: "Shop"}) { name } }`)
	b.run(t, `mutation { logUserEvent(userEventInput: {accountId: "bob", userId: "bob", events: [{key: "purchase", fields: {revenue: 29}}]}) { accountId } }`)
	b.processEvents(t)
	return b, strings.NewReplacer(
		exampleIDs["referral"], gjson.Get(b.run(t, `{ referrals { data { id } } }`), "referrals.data.0.id").String(),
		exampleIDs["reward"], gjson.Get(b.run(t, `{ rewards(filter: {accountId_eq: "anna"}) { data { id } } }`), "rewards.data.0.id").String(),
		exampleIDs["discount"], gjson.Get(b.run(t, `{ rewards(filter: {accountId_eq: "bob"}) { data { id } } }`), "rewards.data.0.id").String(),
		exampleIDs["job"], gjson.Get(b.run(t, `mutation { createJob(jobInput: {type: "QUERY/USER"}) { id } }`), "createJob.id").String(),
	)
}

// Each query and mutation has a list of errors and an example. The engine gives the
// example's answer; with -update it is written. The examples run in the order of the
// schema. Random ids are not compared.
func TestSchema_ExamplesAreRun(t *testing.T) {
	b, real := exampleBench(t)
	schema := loadedSchema(t)
	text := graphql.SDL()
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range root.Fields {
			if strings.HasPrefix(f.Name, "__") {
				continue
			}
			at := root.Name + "." + f.Name
			assert.Regexp(t, errorList, f.Description, at)
			parts := shownExample.FindStringSubmatch(f.Description)
			if !assert.NotNil(t, parts, "%s has no example", at) {
				continue
			}
			query, shown := parts[1], parts[2]
			assert.Contains(t, query, f.Name, at)
			_, answer := b.send(t, b.keyHolder(t), document(real.Replace(query)))
			assert.False(t, gjson.Get(answer, "errors").Exists(), "%s: %s", at, answer)
			got := indented(t, answer)
			if flag.Lookup("update").Value.String() != "true" {
				assert.Equal(t, masked(shown), masked(got), "%s: run the test with -update, and read the difference", at)
				continue
			}
			text = strings.Replace(text, inSchema(query)+"\n\n  ```json\n"+jsonInSchema(shown), inSchema(query)+"\n\n  ```json\n"+jsonInSchema(exampled(got, f.Name)), 1)
		}
	}
	if text != graphql.SDL() {
		require.NoError(t, os.WriteFile("schema.graphql", []byte(text), 0o600))
	}
}

// masked replaces the parts of an answer that differ from run to run.
func masked(text string) string {
	return drawnKey.ReplaceAllString(drawnID.ReplaceAllString(text, "ID"), "KEY")
}

// exampled replaces the random ids in an answer with ids that do not change with an
// update.
func exampled(answer, field string) string {
	drawn := map[string]string{}
	return drawnID.ReplaceAllStringFunc(answer, func(id string) string {
		if drawn[id] == "" {
			drawn[id] = fmt.Sprintf("019ca8a03e80%012x", (len(field)*7919+len(drawn)*104729)*2654435761%(1<<48))
			if known := map[string]string{"referral": exampleIDs["referral"], "referrals": exampleIDs["referral"], "moderateGraphNodes": exampleIDs["referral"]}[field]; known != "" {
				drawn[id] = known
			}
		}
		return drawn[id]
	})
}

func indented(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, []byte(text), "", "  "))
	return out.String() + "\n"
}

// inSchema returns a block of a description as it is written in the schema, with the fence
// that ends it.
func inSchema(block string) string { return jsonInSchema(block) + "  ```" }

func jsonInSchema(block string) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		out.WriteString("  " + line)
	}
	return out.String()
}

// processEvents processes the stored event calls, as a worker does.
func (b *bench) processEvents(t *testing.T) {
	t.Helper()
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		_, err := eventdb.ProcessIntake(t.Context(), tx, 10)
		return err
	}))
}
