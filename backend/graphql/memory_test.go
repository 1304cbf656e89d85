//go:build !race

// The race detector allocates too.

package graphql_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
)

// maxCallMemory is how many bytes one call without credentials may allocate in all, which
// is more than it uses at a time.
const maxCallMemory = 8 << 20

// allocated returns how many bytes a call allocates, and its answer.
func (b *bench) allocated(t *testing.T, c base.Caller, body string) (bytes uint64, answer string) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, answer = b.send(t, c, body)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, answer
}

func withVariables(query string, variables map[string]any) string {
	text, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// No call without credentials allocates more than 8 MiB, measured in the process. The test
// must not run in parallel with others, which allocate too.
func TestMemory_OfOneCall(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", 200)
	aliases := func(n int, field string) string {
		return repeat(n, func(i int) string { return fmt.Sprintf("a%d:%s ", i, field) })
	}
	deepList := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	for name, body := range map[string]string{
		"templates":           document("{" + aliases(20, "renderWidget{"+aliases(15, "template")+"}") + "}"),
		"templates, unlike":   document("{" + aliases(20, "renderWidget{"+repeat(15, func(i int) string { return fmt.Sprintf("t%d:template ", i) })+"}") + "}"),
		"options, unlike":     document("{" + aliases(19, "renderWidget{"+repeat(15, func(i int) string { return fmt.Sprintf("t%d:jsOptions ", i) })+"}") + "}"),
		"same fields":         document("{" + strings.Repeat("identityFunction(value:1) ", 390) + "}"),
		"unknown fields, few": document("{" + repeat(390, func(i int) string { return fmt.Sprintf("renderWidge%d ", i) }) + "}"),
		"deep fragments":      document("{" + repeat(300, func(i int) string { return fmt.Sprintf("...f%d ", i) }) + "}" + repeat(300, func(i int) string { return fmt.Sprintf("fragment f%d on Query{jwks ...f%d}", i, min(i+1, 299)) })),
		"wide fragments": document("{...f0}" + repeat(60, func(i int) string {
			return fmt.Sprintf("fragment f%d on Query{%s jwks}", i, repeat(60-i-1, func(j int) string { return fmt.Sprintf("...f%d ", i+j+1) }))
		})),
		"all templates":      document("{" + aliases(50, "renderWidget{"+aliases(39, "template")+"}") + "}"),
		"templates, spread":  document("{" + aliases(10, "renderWidget{...f ...g}") + "} fragment f on WidgetResponse{" + aliases(90, "template") + "} fragment g on WidgetResponse{...f}"),
		"options":            document("{" + aliases(19, "renderWidget{"+aliases(15, "jsOptions")+"}") + "}"),
		"ids":                document("{" + aliases(20, `renderWidget(user:{accountId:"`+long+`",id:"`+long+`"}){user{`+aliases(15, "accountId")+`}}`) + "}"),
		"long aliases":       document("{" + repeat(300, func(i int) string { return fmt.Sprintf("%s%d:identityFunction ", long[:80], i) }) + "}"),
		"conflicts":          document("{" + repeat(900, func(i int) string { return fmt.Sprintf("a:identityFunction(value:%d)", i) }) + "}"),
		"conflicts, big":     document("{" + repeat(2800, func(i int) string { return fmt.Sprintf("a:identityFunction(value:%d)", i) }) + "}"),
		"conflicts below":    document("{" + repeat(19, func(i int) string { return "renderWidget{user{a:id a:email a:locale a:accountId}}" }) + "}"),
		"other operation":    `{"operationName":"a","query":"query a{jwks} query b{` + repeat(390, func(i int) string { return fmt.Sprintf("a:identityFunction(value:%d)", i) }) + `}"}`,
		"unknown fields":     document("{" + repeat(3900, func(i int) string { return fmt.Sprintf("f%d ", i) }) + "}"),
		"unknown arguments":  document("{identityFunction(" + repeat(1300, func(i int) string { return fmt.Sprintf("a%d:1 ", i) }) + ")}"),
		"unused variables":   document("query(" + repeat(900, func(i int) string { return fmt.Sprintf("$v%d:Int ", i) }) + "){jwks}"),
		"errors":             document("{" + aliases(20, `user(accountId:"`+long+`",id:"`+long+`"){id}`) + "}"),
		"echoed variable":    withVariables("query($v:RSJsonNode){"+aliases(20, "identityFunction(value:$v)")+"}", map[string]any{"v": strings.Repeat("<", 3500)}),
		"echoed numbers":     withVariables("query($v:RSJsonNode){"+aliases(20, "identityFunction(value:$v)")+"}", map[string]any{"v": make([]int, 11_900)}),
		"echoed in errors":   withVariables("query($v:String!){"+aliases(20, "formatRewardPrettyValue(value:1,unit:$v)")+"}", map[string]any{"v": strings.Repeat("\x01", 3500)}),
		"wrong enum":         document("{" + aliases(20, `renderWidget(engagementMedium:`+long+`){template}`) + "}"),
		"long widget type":   withVariables("query($v:WidgetType){"+aliases(20, "renderWidget(widgetType:$v){template}")+"}", map[string]any{"v": strings.Repeat("w", 23_000)}),
		"nested lists":       document("{" + aliases(19, "identityFunction(value:"+deepList+")") + "}"),
		"fragments":          document(`{renderWidget{user{...f0}}}` + repeat(30, func(i int) string { return fmt.Sprintf("fragment f%d on User{...f%d ...f%d}", i, i+1, i+1) }) + `fragment f30 on User{id}`),
		"introspection":      document(`{__schema{types{` + aliases(20, "fields{type{name fields{name}}}") + `}}}`),
		"inputs":             document(`mutation{upsertUsers(userInputs:[` + strings.Repeat(`{accountId:"a",id:"b"}`, 400) + `]){...on User{id}}}`),
		"inputs in variable": withVariables("mutation($v:[UserInput!]!){"+aliases(20, "upsertUsers(userInputs:$v){...on ApiError{message}}")+"}", map[string]any{"v": manyInputs(100, long)}),
		"big body":           withVariables("{jwks}", map[string]any{"v": make([]int, 500_000)}),
		"braces":             document(strings.Repeat("{a", 300_000)),
	} {
		t.Run(name, func(t *testing.T) {
			b.send(t, b.anonymous(t), body) // caches are filled now
			bytes, answer := b.allocated(t, b.anonymous(t), body)
			t.Logf("%d kB, answer of %d kB: %.200s", bytes>>10, len(answer)>>10, answer)
			require.Less(t, bytes, uint64(maxCallMemory))
		})
	}
}

func manyInputs(n int, id string) (all []map[string]any) {
	for range n {
		all = append(all, map[string]any{"accountId": id, "id": id})
	}
	return all
}

// The size of an answer is limited for every caller, and the error says what to do.
func TestMemory_AnswerIsBounded(t *testing.T) {
	b := newBench(t)
	const nested = `{users(limit:10){data{referrals(limit:10){data{id}}}}}`
	b.run(t, nested)
	large := strings.Repeat("x", 25_000)
	query := "query($v:RSJsonNode){" + repeat(50, func(i int) string { return fmt.Sprintf("a%d:identityFunction(value:$v)", i) }) + "}"
	status, answer := b.send(t, b.keyHolder(t), withVariables(query, map[string]any{"v": large}))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, `"errors"`)
	status, answer = b.send(t, b.keyHolder(t), withVariables(query, map[string]any{"v": strings.Repeat(large, 4)}))
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, answer, `"data"`)
	require.Contains(t, answer, "the answer would take more than 4194304 bytes: ask for fewer fields")
	require.Less(t, len(answer), 2000)
	require.Empty(t, b.log.String(), "that is no fault of the service")
}
