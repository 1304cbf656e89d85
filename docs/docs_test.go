// Package docs_test checks the documents of the repository: their links, headings,
// paths and names of tests, and the size of README.md. The commands in them are run
// by TestDocs of wasm/e2e.
package docs_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// root is the top of the repository, seen from this folder.
const root = ".."

// markdown are all documents, by their path from the top of the repository. A name
// that begins with _ is a draft.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	walk(t, func(name string) {
		if strings.HasSuffix(name, ".md") && !strings.HasPrefix(path.Base(name), "_") {
			text, err := os.ReadFile(filepath.Join(root, name))
			require.NoError(t, err)
			all[name] = string(text)
		}
	})
	require.Contains(t, all, "README.md")
	return all
}

// walk calls visit with the path of each file of the repository.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && (base == "node_modules" || base == "bin" || base == "data" || base == "third_party" || base == ".git") {
			return fs.SkipDir
		}
		if !d.IsDir() {
			name, err = filepath.Rel(root, name)
			visit(filepath.ToSlash(name))
		}
		return err
	}))
}

// prose is a document without its fenced blocks and comments; lines keep their
// numbers.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fence, comment := "", false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"):
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
			lines[i] = ""
		case comment || strings.HasPrefix(trimmed, "<!--"):
			comment = !strings.HasSuffix(trimmed, "-->")
			lines[i] = ""
		}
	}
	return lines
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	noMark  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`([^`]+)`")
)

// anchors are what links to the headings of a document end in, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, line := range prose(text) {
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := link.ReplaceAllString(m[1], "]")
		name = strings.ReplaceAll(noMark.ReplaceAllString(strings.ToLower(name), ""), " ", "-")
		unique := name
		for n := 1; all[unique]; n++ {
			unique = name + "-" + strconv.Itoa(n)
		}
		all[unique] = true
	}
	return all
}

// Every link to a file of the repository leads to one, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	documents := markdown(t)
	for name, text := range documents {
		for i, line := range prose(text) {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				file, anchor, _ := strings.Cut(m[1], "#")
				target := path.Join(path.Dir(name), file)
				if file == "" {
					target = name
				}
				if _, err := os.Stat(filepath.Join(root, target)); !assert.NoError(t, err, "%s:%d: link to %s", name, i+1, m[1]) {
					continue
				}
				if anchor != "" {
					assert.Contains(t, anchors(documents[target]), anchor, "%s:%d: %s has no such heading", name, i+1, target)
				}
			}
		}
	}
}

// folders are those at the top of the repository whose paths documents name.
var folders = []string{"core/", "edge/", "backend/", "wasm/", "docs/", "deploy/"}

// A path in backticks that looks like one of the repository exists. Text behind a
// colon names something in the file; a path that ends in /... is a folder.
func TestPaths(t *testing.T) {
	t.Parallel()
	for name, text := range markdown(t) {
		for i, line := range prose(text) {
			for _, m := range code.FindAllStringSubmatch(line, -1) {
				if !ours(m[1]) {
					continue
				}
				file, _, _ := strings.Cut(strings.TrimSuffix(m[1], "/..."), ":")
				_, err := os.Stat(filepath.Join(root, file))
				assert.NoError(t, err, "%s:%d", name, i+1)
			}
		}
	}
}

func ours(text string) bool {
	for _, folder := range folders {
		if strings.HasPrefix(text, folder) {
			return !strings.ContainsAny(text, " *{}<>$")
		}
	}
	return false
}

// declaration matches text such as `Decide` in `core/referral/standing.go`.
var declaration = regexp.MustCompile("`([A-Za-z]+)` (?:in|of) `([a-z_/]+\\.go)`")

// What a document finds in a Go file is declared there.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, text := range markdown(t) {
		for i, line := range prose(text) {
			for _, m := range declaration.FindAllStringSubmatch(line, -1) {
				source, err := os.ReadFile(filepath.Join(root, m[2]))
				require.NoError(t, err, "%s:%d", name, i+1)
				assert.Regexp(t, `(?m)^(func|type|const|var) (\([^)]*\) )?`+m[1]+`\b`, string(source), "%s:%d: %s", name, i+1, m[0])
				checked++
			}
		}
	}
	require.Greater(t, checked, 20)
}

// goSteps matches the steps of CONTRIBUTING.md that begin with a Go file.
var (
	goSteps      = regexp.MustCompile("(?m)^[0-9]+\\. (`[a-z/]+\\.go`.*)$")
	goFile       = regexp.MustCompile("`([a-z_/]+\\.go)`")
	goIdentifier = regexp.MustCompile("`([A-Z][A-Za-z]+)`")
)

// The exported names in a step of CONTRIBUTING.md are in the files that the step names.
func TestContributing_NamesExist(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, step := range goSteps.FindAllStringSubmatch(markdown(t)["CONTRIBUTING.md"], -1) {
		var source strings.Builder
		for _, m := range goFile.FindAllStringSubmatch(step[1], -1) {
			text, err := os.ReadFile(filepath.Join(root, m[1]))
			require.NoError(t, err)
			source.Write(text)
		}
		for _, m := range goIdentifier.FindAllStringSubmatch(step[1], -1) {
			assert.Contains(t, source.String(), m[1], step[1])
			checked++
		}
	}
	require.Positive(t, checked)
}

var (
	ciTargets  = regexp.MustCompile(`for target in ([a-z ]+); do step make`)
	documented = regexp.MustCompile("(?m)^\\| `make ([a-z]+)` \\| [0-9]+ \\| [0-9]+ \\|")
)

// CONTRIBUTING.md has the seconds of each step of .ci/run, in order. The run prints its own
// beside them.
func TestContributing_HasTheStepsOfCI(t *testing.T) {
	t.Parallel()
	run, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	require.NoError(t, err)
	targets := ciTargets.FindStringSubmatch(string(run))
	require.NotNil(t, targets)
	var steps []string
	for _, m := range documented.FindAllStringSubmatch(markdown(t)["CONTRIBUTING.md"], -1) {
		steps = append(steps, m[1])
	}
	require.Equal(t, strings.Fields(targets[1]), steps)
}

var testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*(?:/[^`]+)?\\*?)`")

// Every test that a document names exists; * at the end of a name stands for any
// text. Of Name/row, Name exists and its file has the text of each part of row.
func TestTestNames(t *testing.T) {
	t.Parallel()
	declared := tests(t)
	for name, text := range markdown(t) {
		if name == "clients/go/README.md" { // the client has methods such as TestSubscription
			continue
		}
		for i, line := range prose(text) {
			for _, m := range testName.FindAllStringSubmatch(line, -1) {
				assert.True(t, exists(declared, m[1]), "%s:%d: there is no test %s", name, i+1, m[1])
			}
		}
	}
}

func exists(declared map[string][]string, name string) bool {
	name, row, _ := strings.Cut(name, "/")
	begin, open := strings.CutSuffix(name, "*")
	for test, files := range declared {
		if test != name && !(open && strings.HasPrefix(test, begin)) {
			continue
		}
		for _, file := range files {
			if hasParts(file, row) {
				return true
			}
		}
	}
	return false
}

func hasParts(file, row string) bool {
	for part := range strings.SplitSeq(row, "/") {
		if !strings.Contains(file, strings.ReplaceAll(part, "_", " ")) && !strings.Contains(file, part) {
			return false
		}
	}
	return true
}

// tests are all tests of the tree with the texts of the files that declare them.
func tests(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	walk(t, func(name string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				all[f.Name.Name] = append(all[f.Name.Name], string(text))
			}
		}
	})
	return all
}

// Each guarantee says what it was tested with, and by which tests.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	lines := strings.Split(markdown(t)["docs/guarantees.md"], "\n")
	claims := 0
	for i, line := range lines {
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		claims++
		require.Less(t, i+2, len(lines))
		assert.Regexp(t, `^- \*\*.*\.\*\*$`, line, "line %d", i+1)
		assert.Regexp(t, `^  - Load: .*\.$`, lines[i+1], "line %d", i+2)
		assert.Regexp(t, "^  - Tests: `.*`$", lines[i+2], "line %d", i+3)
	}
	require.Greater(t, claims, 40)
}

var listed = regexp.MustCompile(`(?m)^- \[(.+)\]\((decisions/[a-z]+\.md)#.+\)$`)

// docs/decisions.md lists each decision once, in the order of its page.
func TestDecisions(t *testing.T) {
	t.Parallel()
	index, decided, documents := map[string][]string{}, map[string][]string{}, markdown(t)
	for _, m := range listed.FindAllStringSubmatch(documents["docs/decisions.md"], -1) {
		index["docs/"+m[2]] = append(index["docs/"+m[2]], m[1])
	}
	for name, text := range documents {
		if path.Dir(name) != "docs/decisions" || path.Base(name) == "values.md" {
			continue
		}
		for _, line := range prose(text) {
			if title, ok := strings.CutPrefix(line, "## "); ok {
				decided[name] = append(decided[name], title)
			}
		}
	}
	require.Greater(t, len(decided), 10)
	require.Equal(t, decided, index)
}

var (
	requirement = regexp.MustCompile(`^\| ([\d., –]+) \| (.+) \| (met|operator|not met|n/a) \| (.+) \|$`)
	numbers     = regexp.MustCompile(`^(\d+\.\d+\.)(\d+)(?:–\d+\.\d+\.(\d+))?$`)
)

// security.md has each requirement once. What is met names a test, or a file where nothing
// can be run.
func TestSecurity(t *testing.T) {
	t.Parallel()
	text := markdown(t)["docs/security.md"]
	states, seen := map[string]int{}, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ASVS |") {
			continue
		}
		row := requirement.FindStringSubmatch(line)
		require.NotNil(t, row, "line %d: %s", i+1, line)
		for part := range strings.SplitSeq(row[1], ", ") {
			n := numbers.FindStringSubmatch(part)
			require.NotNil(t, n, "line %d: %s", i+1, part)
			first, _ := strconv.Atoi(n[2])
			last, _ := strconv.Atoi(cmp.Or(n[3], n[2]))
			for ; first <= last; first++ {
				id := n[1] + strconv.Itoa(first)
				assert.False(t, seen[id], id)
				seen[id] = true
				states[row[3]]++
			}
		}
		if row[3] == "met" {
			assert.Regexp(t, "`(Test|Fuzz)|`[a-z]+[/.]|\\]\\(|make lint|govulncheck", row[4], "line %d", i+1)
		}
	}
	assert.Contains(t, text, fmt.Sprintf("Of %d requirements, %d are met, %d are for the operator, %d are not met, and %d do not apply.",
		len(seen), states["met"], states["operator"], states["not met"], states["n/a"]))
	assert.Equal(t, 259, len(seen))
}

// README.md can be read in one sitting.
func TestREADME_IsShort(t *testing.T) {
	t.Parallel()
	text := markdown(t)["README.md"]
	assert.LessOrEqual(t, strings.Count(text, "\n"), 120, "lines")
	assert.LessOrEqual(t, len(text), 7000, "bytes")
	words := 0
	for i, line := range prose(text) {
		switch {
		case strings.HasPrefix(line, "|"):
			for cell := range strings.SplitSeq(line, "|") {
				assert.LessOrEqual(t, len(strings.Fields(cell)), 25, "README.md:%d: words of a cell", i+1)
			}
			words = 0
		case line == "" || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "#"):
			words = len(strings.Fields(line))
		default:
			words += len(strings.Fields(line))
		}
		assert.LessOrEqual(t, words, 90, "README.md:%d: words of a paragraph", i+1)
	}
}

// A document is UTF-8 without tabs and without spaces at the ends of lines.
func TestText(t *testing.T) {
	t.Parallel()
	for name, text := range markdown(t) {
		assert.True(t, utf8.ValidString(text), name)
		assert.True(t, strings.HasSuffix(text, "\n"), "%s: the last line has no end", name)
		for i, line := range prose(text) {
			assert.Equal(t, strings.TrimRight(line, " \t\r"), line, "%s:%d", name, i+1)
		}
	}
}

// The checks above find what they look for.
func TestChecks(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string]bool{"kiths-api-2-rest": true, "a": true, "a-1": true}, anchors("# Kith's API: 2. REST\n# a\n```text\n# b\n```\n## [a](b.md)\n"))
	declared := map[string][]string{"TestA_One": {`name: "a row"`}}
	assert.True(t, exists(declared, "TestA_*"))
	assert.True(t, exists(declared, "TestA_One/a_row"))
	assert.False(t, exists(declared, "TestA_One/another"))
	assert.False(t, exists(declared, "TestA"))
	assert.True(t, ours("core/doc.go"))
	assert.False(t, ours("docs/*.md"))
	assert.Equal(t, []string{"a", "", "", "", "", "b"}, prose("a\n```sh\nx\n```\n<!-- x -->\nb"))
	assert.Equal(t, []string{"a", "", "", ""}, prose("a\n<!-- x\ny\n-->"))
}
