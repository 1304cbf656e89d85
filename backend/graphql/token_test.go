package graphql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/wire"
)

// texts are the tokens of a document as the executor reads them.
func texts(t *testing.T, document string) []string {
	t.Helper()
	tokens, err := tokenize(document, maxTokens)
	require.NoError(t, err, document)
	out := make([]string, len(tokens))
	for i, token := range tokens {
		out[i] = token.text
	}
	return out
}

func TestTokenize(t *testing.T) {
	for document, want := range map[string][]string{
		"":                                                     {},
		"\ufeff{ a,b\t# no } \r\n c:d }":                       {"{", "a", "b", "c", ":", "d", "}"},
		"query($a:[Int!]=1)@x{...on B{_9}}":                    {"query", "(", "$", "a", ":", "[", "Int", "!", "]", "=", "1", ")", "@", "x", "{", "...", "on", "B", "{", "_9", "}", "}"},
		"0 -1 12 1.50 -0.5e-3 1E9":                             {"0", "-1", "12", "1.50", "-0.5e-3", "1E9"},
		"2147483647 -2147483648":                               {"2147483647", "-2147483648"},
		"2147483648 -2147483649 1772355600000":                 {"2147483648.0", "-2147483649.0", "1772355600000.0"},
		`"" "a" "\"\\\/\b\f\n\r\t" "\u00e4"`:                   {`""`, `"a"`, `"\"\\/\b\f\n\r\t"`, `"ä"`},
		`"\uD83D\uDE00" "\u{1F600}" "😀"`:                       {`"😀"`, `"😀"`, `"😀"`},
		"\"\"\"a \\\"\"\" \"b\" \\n\"\"\"":                     {`"a \"\"\" \"b\" \\n"`},
		"\"\"\"\n    a\n      b\n\n    c\n\"\"\" \"\"\"\"\"\"": {`"a\n  b\n\nc"`, `""`},
	} {
		require.Equal(t, want, texts(t, document), document)
	}
}

func TestTokenize_Refuses(t *testing.T) {
	for _, document := range []string{
		"?", "%", "ä", "{a\x00}", "..", ".", "01", "-", "1.", "1.e3", ".5", "1e", "1a", "1.2.3", "0x1", "1_000", "1e999", "1234567890123456",
		`"`, `"a`, "\"a\nb\"", `"\x41"`, `"\a"`, `"\u00g0"`, `"\u{}"`, `"\u{110000}"`, `"\u{d800}"`, `"\uD83D"`, `"\uD83D\u0041"`, `"\uDE00\uD83D"`, `"\`, `"""`, `"""a""`,
		"\xff", "`a`", "'a'",
	} {
		_, err := tokenize("{"+document, maxTokens)
		require.Error(t, err, "%q", document)
	}
}

// Lines and columns count characters, as an editor shows them.
func TestTokenize_Places(t *testing.T) {
	tokens, err := tokenize("{\r\n  \"ä😀\" b\n#c\r d}", maxTokens)
	require.NoError(t, err)
	var places []wire.Position
	for _, token := range tokens {
		places = append(places, token.at)
	}
	require.Equal(t, []wire.Position{{Line: 1, Column: 1}, {Line: 2, Column: 3}, {Line: 2, Column: 8}, {Line: 4, Column: 2}, {Line: 4, Column: 3}}, places)
}

// The executor's lines are the numbers of tokens.
func TestDocument_LinesAreTokens(t *testing.T) {
	d, err := parse("{ a(x: \"\"\"1\n2\"\"\") { b } }", knownBounds)
	require.NoError(t, err)
	require.Equal(t, len(d.tokens), strings.Count(d.text(), "\n"))
	at, ok := d.place(8)
	require.True(t, ok)
	require.Equal(t, wire.Position{Line: 2, Column: 7}, at)
	_, ok = d.place(0)
	require.False(t, ok)
	_, ok = d.place(len(d.tokens) + 1)
	require.False(t, ok)
}

func TestParse_Refuses(t *testing.T) {
	for _, document := range []string{
		"{", "}", "{a", "{a:}", "{a:b:c}", "{a(}", "{a(b)}", "{a(b:)}", "{a(b:$)}", "{a(b:{c})}", "{a(b:[1}", "{...}", "{...on}", "{@a}", "{a@}",
		"query", "query(", "query($){a}", "query($a){a}", "query($a:){a}", "query($a:[Int){a}", "query($a:Int=){a}",
		"mutation", "fragment", "fragment a", "fragment a on", "fragment a on B", "fragment a of B{c}", "subscription{a}", "type A{b:C}", "query a b{c}", `{"a"}`,
		"fragment a on B{c} fragment a on B{c}",
	} {
		_, err := parse(document, knownBounds)
		require.Error(t, err, document)
	}
}
