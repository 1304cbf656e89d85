package graphql_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repeat joins the texts one(0) to one(n-1).
func repeat(n int, one func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(one(i))
	}
	return b.String()
}

// deep returns a document with n levels of nested fields.
func deep(n int) string {
	const step = "referredByReferral{referredUser{"
	pairs := (n - 2) / 2
	leaf := "id"
	if (n-2)%2 == 1 {
		leaf = "referredBy{code}"
	}
	return `{user(accountId:"anna",id:"anna"){` + strings.Repeat(step, pairs) + leaf + strings.Repeat("}}", pairs) + "}}"
}

// A document at a bound runs, and one above it is refused.
func TestBounds(t *testing.T) {
	b := newBench(t)
	fields := func(n int) string {
		return `{user(accountId:"anna",id:"anna"){` + repeat(n-1, func(i int) string { return fmt.Sprintf("a%d:id ", i) }) + `}}`
	}
	root := func(n int) string {
		return "{" + repeat(n, func(i int) string { return fmt.Sprintf("a%d:tenant{tenantAlias} ", i) }) + "}"
	}
	// Each fragment spreads the next twice.
	spreads := func(n int) string {
		return `{user(accountId:"anna",id:"anna"){...f0}}` + repeat(n, func(i int) string {
			return fmt.Sprintf("fragment f%d on User{...f%d ...f%d}", i, i+1, i+1)
		}) + fmt.Sprintf("fragment f%d on User{id}", n)
	}
	chain := func(n int) string {
		return "{tenant{...f1}}" + repeat(n-1, func(i int) string { return fmt.Sprintf("fragment f%d on Tenant{tenantAlias ...f%d}", i+1, i+2) }) +
			fmt.Sprintf("fragment f%d on Tenant{tenantAlias}", n)
	}
	same := func(n int) string { return "{tenant{" + strings.Repeat("tenantAlias ", n) + "}}" }
	for name, c := range map[string]struct{ fits, above, says string }{
		"depth":     {deep(16), deep(17), "must not ask for more than 16 levels of nested fields"},
		"root":      {root(50), root(51), "must not ask for more than 50 fields at the top level"},
		"fields":    {fields(2000), fields(2001), "must not ask for more than 2000 fields"},
		"fragments": {spreads(10), spreads(40), "must not ask for more than 2000 fields"},
		"chain":     {chain(200), chain(201), "must not have more than 200 fragments"},
		"overlap":   {same(316), same(317), "must not use the same names in more than 50000 pairs"},
		"list":      {`{referrals(limit:1000){data{id}}}`, `{referrals(limit:1000){data{rewards{id type user{id email firstName lastName}}}}}`, "must not ask for more than 50000 fields in its answer"},
		"nesting":   {`{identityFunction(value:` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `)}`, `{identityFunction(value:` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `)}`, "exceeded maximum nesting depth of 1000"},
		"types":     {`query($a:[[Int]]){identityFunction(value:[$a])}`, `query($a:` + strings.Repeat("[", 1001) + `Int` + strings.Repeat("]", 1001) + `){identityFunction(value:$a)}`, "exceeded maximum nesting depth of 1000"},
		"tokens":    {`{tenant{tenantAlias}}`, `{identityFunction(value:[` + strings.Repeat("1 ", 20_000) + `])}`, "must not have more than 20000 tokens"},
		"bytes":     {`{tenant{tenantAlias}}` + strings.Repeat(" ", 128<<10-21), `{tenant{tenantAlias}}` + strings.Repeat(" ", 128<<10-20), "query: is larger than 128 KiB"},
		"braces":    {`{tenant{tenantAlias}}`, strings.Repeat("{a", 60<<10), "exceeded maximum nesting depth of 1000"},
		"cycle":     {`{user(accountId:"anna",id:"anna"){...f}}fragment f on User{id}`, `{user(accountId:"anna",id:"anna"){...f}}fragment f on User{...g}fragment g on User{id ...f}`, `within itself`},
		"self":      {`{user(accountId:"anna",id:"anna"){...f}}fragment f on User{id}`, `{user(accountId:"anna",id:"anna"){...f}}fragment f on User{referredByReferrals{referredUser{...f}}}`, `within itself`},
	} {
		t.Run(name, func(t *testing.T) {
			b.run(t, c.fits)
			status, answer := b.send(t, b.keyHolder(t), document(c.above))
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, answer, c.says)
			require.NotContains(t, answer, `"data"`, "no field runs")
		})
	}
}

// A body of a megabyte of braces is refused before it is parsed.
func TestBounds_MegabyteOfBraces(t *testing.T) {
	b := newBench(t)
	for _, brace := range []string{"{", "[", "(", "{a", "{a(b:", "query($a:["} {
		status, answer := b.send(t, b.keyHolder(t), document(strings.Repeat(brace, 1000_000/len(brace))))
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, answer, "query: is larger than 128 KiB")
	}
	status, _ := b.send(t, b.keyHolder(t), document(strings.Repeat("{", 1<<20)))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
}

// The limit of a list counts wherever the call sets it: in the document, in a variable or
// as a default.
func TestBounds_LimitOfAList(t *testing.T) {
	b := newBench(t)
	const selection = `{data{rewards{id type user{id email firstName lastName}}}}`
	for body, fits := range map[string]bool{
		`{"query":"{referrals%s}"}`:                                                                                true,
		`{"query":"{referrals(limit:600)%s}"}`:                                                                     true,
		`{"query":"{referrals(limit:700)%s}"}`:                                                                     false,
		`{"query":"query($n:Int!){referrals(limit:$n)%s}","variables":{"n":600}}`:                                  true,
		`{"query":"query($n:Int!){referrals(limit:$n)%s}","variables":{"n":700}}`:                                  false,
		`{"query":"query($n:Int=600){referrals(limit:$n)%s}"}`:                                                     true,
		`{"query":"query($n:Int=700){referrals(limit:$n)%s}"}`:                                                     false,
		`{"query":"query($n:Int=700){referrals(limit:$n)%s}","variables":{"n":20}}`:                                true,
		`{"query":"query{user(accountId:\"anna\",id:\"anna\"){...f}} fragment f on User{referrals(limit:700)%s}"}`: false,
		`{"query":"query{viewer{...on User{referrals(limit:700)%s}}}"}`:                                            false,
		`{"query":"query a{tenant{tenantAlias}} query b{referrals(limit:700)%s}","operationName":"a"}`:             true,
		`{"query":"query a{tenant{tenantAlias}} query b{referrals(limit:700)%s}","operationName":"b"}`:             false,
		`{"query":"query a($n:Int){referrals(limit:$n)%s}","variables":{"n":null}}`:                                false,
		`{"query":"query a{x:referrals(limit:350)%[1]s y:referrals(limit:350)%[1]s}"}`:                             false,
		`{"query":"query a{x:referrals(limit:350)%[1]s y:referrals(limit:250)%[1]s}"}`:                             true,
		`{"query":"query a{tenant{tenantAlias} ...on Query{referrals(limit:700)%s}}"}`:                             false,
	} {
		body = fmt.Sprintf(body, selection)
		status, answer := b.send(t, b.keyHolder(t), body)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, fits, !strings.Contains(answer, "errors"), "%s\n%s", body, answer)
	}
}
