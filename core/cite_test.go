//go:build !tinygo

package core_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// citedDocs are the documents whose rules are cited, by the word of a citation.
var citedDocs = map[string]string{
	"spec":    "docs/spec.md",
	"clients": "docs/clients.md",
	"gateway": "docs/gateway.md",
}

var (
	// A rule is a heading, an item of a list, or a row of a table that begins with
	// a number.
	ruleHeading = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)*) \S`)
	ruleItem    = regexp.MustCompile(`^(?:- \*\*(\d+(?:\.\d+)+)\*\* \S|\| (\d+(?:\.\d+)+) \| )`)

	// within is a rule that another rule of its document names.
	within = regexp.MustCompile(`\((\d+(?:\.\d+)+)\)`)

	// citation is the one form of a citation.
	citation = regexp.MustCompile(`\b(spec|clients|gateway) (\d+(?:\.\d+)*)\b`)
	// otherCitations are texts that look like a citation in another form: "reference,
	// 1.3", "specification 6.2", "spec, Limits", "clients.md 1.8", "gateway, section 2".
	otherCitations = []*regexp.Regexp{
		regexp.MustCompile(`(?i)\b(?:GraphQL )?(?:spec(?:ification)?|reference|client-api|clients|gateway|peers|design|style|architecture)(?:\.md)?,? \(?(?:(?:§|sections?|part|chapter|rule|no\.) ?)?\d+(?:\.\d+)*`),
		regexp.MustCompile(`\b(?i:spec|specification|reference), [A-Z][a-z]+`),
		regexp.MustCompile(`§ *\d`),
	}
	// A comment continues on the next line.
	commentBreak = regexp.MustCompile(`[ \t]*\n[ \t]*(?://+|#+|--|\*)?[ \t]*`)
)

// thirdParty matches files that others wrote.
var thirdParty = regexp.MustCompile(`(^|/)(third_party/|LICENSE$|go\.sum$|package-lock\.json$)`)

// rulesOf reads the numbers of a document.
func rulesOf(t *testing.T, root, file string) map[string]bool {
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	rules, above := map[string]bool{}, ""
	add := func(number string) {
		assert.False(t, rules[number], "%s has the number %s twice", file, number)
		rules[number] = true
	}
	for line := range strings.Lines(string(text)) {
		if m := ruleHeading.FindStringSubmatch(line); m != nil {
			above = m[1]
			add(above)
		} else if m := ruleItem.FindStringSubmatch(line); m != nil {
			number := m[1] + m[2]
			assert.Equal(t, above, number[:strings.LastIndexByte(number, '.')], "%s: the rule %s stands below the heading %s", file, number, above)
			add(number)
		}
	}
	require.NotEmpty(t, rules, file)
	for _, m := range within.FindAllStringSubmatch(string(text), -1) {
		assert.True(t, rules[m[1]], "%s: %s: the document has no such number", file, m[0])
	}
	return rules
}

// cite is a citation, or a text that looks like one.
type cite struct {
	line         int
	text         string
	word, number string // empty for another form
}

// citations finds all citations of a text, also those that a line break parts.
func citations(text string) []cite {
	joined := commentBreak.ReplaceAllString(text, "\x00")
	flat := strings.ReplaceAll(joined, "\x00", " ")
	lineOf := func(at int) int { return 1 + strings.Count(joined[:at], "\x00") }
	var all []cite
	good := map[int]bool{}
	for _, m := range citation.FindAllStringSubmatchIndex(flat, -1) {
		good[m[0]] = true
		all = append(all, cite{line: lineOf(m[0]), text: flat[m[0]:m[1]], word: flat[m[2]:m[3]], number: flat[m[4]:m[5]]})
	}
	for _, form := range otherCitations {
		for _, m := range form.FindAllStringIndex(flat, -1) {
			if found := flat[m[0]:m[1]]; !good[m[0]] && !strings.HasPrefix(found, "GraphQL ") {
				all = append(all, cite{line: lineOf(m[0]), text: found})
			}
		}
	}
	return all
}

// Every citation of a rule, in code, comments, tests, stories and documents, leads to
// a rule of docs/spec.md, docs/clients.md or docs/gateway.md, and is in the one form
// that this test can follow.
func TestCitations(t *testing.T) {
	const root = ".."
	rules := map[string]map[string]bool{}
	for word, file := range citedDocs {
		rules[word] = rulesOf(t, root, file)
	}
	list, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	require.NoError(t, err)
	followed := map[string]int{}
	for file := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if thirdParty.MatchString(file) || file == "core/cite_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) { // removed, and not yet committed
			continue
		}
		require.NoError(t, err)
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for _, c := range citations(string(text)) {
			if c.word == "" {
				t.Errorf("%s:%d: %q: a citation has the form %q, and its rule stands in %s", file, c.line, c.text, "spec 3.1", "docs/spec.md, docs/clients.md or docs/gateway.md")
				continue
			}
			assert.True(t, rules[c.word][c.number], "%s:%d: %s: %s has no such number", file, c.line, c.text, citedDocs[c.word])
			followed[c.word]++
		}
	}
	for word, file := range citedDocs {
		assert.NotZero(t, followed[word], "nothing cites %s", file)
	}
	t.Logf("citations followed: %v", followed)
}

// The forms that TestCitations follows, and those that it refuses.
func TestCitations_Forms(t *testing.T) {
	for text, want := range map[string]cite{
		"as in spec 3.1.5.":               {line: 1, text: "spec 3.1.5", word: "spec", number: "3.1.5"},
		"// one (clients\n\t// 1.8), two": {line: 1, text: "clients 1.8", word: "clients", number: "1.8"},
		"a\n-- (gateway 2)":               {line: 2, text: "gateway 2", word: "gateway", number: "2"},
		"(reference, 1.3)":                {line: 1, text: "reference, 1.3"},
		"x (reference,\n// 1.3)":          {line: 1, text: "reference, 1.3"},
		"specification, 6":                {line: 1, text: "specification, 6"},
		"the specification 6.2":           {line: 1, text: "specification 6.2"},
		"spec, Limits":                    {line: 1, text: "spec, Limits"},
		"Spec, Referral, row 4":           {line: 1, text: "Spec, Referral"},
		"clients, 1.8":                    {line: 1, text: "clients, 1.8"},
		"docs/clients.md 1.8":             {line: 1, text: "clients.md 1.8"},
		"gateway, section 2":              {line: 1, text: "gateway, section 2"},
		"see § 4":                         {line: 1, text: "§ 4"},
	} {
		assert.Equal(t, []cite{want}, citations(text), "%q", text)
	}
	for _, text := range []string{"GraphQL specification, section 6.3.2", "RFC 9110, 7.6.1", "two clients", "the gateway's 3 keys", "a reference, and"} {
		assert.Empty(t, citations(text), text)
	}
}
