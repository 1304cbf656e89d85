package transcript

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var goTest = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)

// shown returns the names of all stories and tests, which may show a row.
func shown(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	paths, err := stories("testdata/story")
	require.NoError(t, err)
	for _, path := range paths {
		names[strings.TrimSuffix(filepath.Base(path), suffix)] = true
	}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == "node_modules" || d.Name() == "bin" {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range goTest.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	}))
	return names
}

// call matches a row that begins with a call: its method, and its path below
// /api/v1/{tenant}, or a whole path that begins with /a.
var (
	call      = regexp.MustCompile(`^(GET|POST|PUT|DELETE) (/[^?:,\[ ]*)`)
	parameter = regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`)
)

// called reports whether one of the stories makes a call.
func called(exchanges []Exchange, stories []string, method, path string) bool {
	if !strings.HasPrefix(path, "/a/") && !strings.HasPrefix(path, "/.well-known/") {
		path = "/api/v1/{tenant}" + path
	}
	form := regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
	return slices.ContainsFunc(exchanges, func(x Exchange) bool {
		target, _, _ := strings.Cut(x.Target, "?")
		return x.Method == method && form.MatchString(target) && slices.Contains(stories, x.Story)
	})
}

// Each row of testdata/reference.txt names an existing story or test, or the reason why
// the feature is not offered.
func TestReference_EveryRowIsShown(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.txt")
	require.NoError(t, err)
	names := shown(t)
	exchanges, err := Exchanges("testdata/story")
	require.NoError(t, err)
	section, rows := "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "# "); ok {
			section = title
			continue
		}
		if section == "" || line == "" {
			continue
		}
		rows++
		row, by, ok := strings.Cut(line, " -> ")
		if !assert.True(t, ok && by != "", "%s: no story or test shows %q", section, row) || strings.HasPrefix(by, "not offered: ") {
			continue
		}
		refs := strings.Split(by, ", ")
		for _, name := range refs {
			test, _, _ := strings.Cut(name, "/") // the source has no function for a subtest
			assert.True(t, names[test], "%s: %s: no story or test %s", section, row, name)
		}
		if m := call.FindStringSubmatch(row); m != nil {
			assert.True(t, called(exchanges, refs, m[1], m[2]), "%s: none of %s calls %s %s", section, by, m[1], m[2])
		}
	}
	require.NotZero(t, rows)
}
