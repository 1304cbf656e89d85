package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// document is a Markdown file whose commands TestDocs runs. CONTRIBUTING.md says how
// a writer marks the blocks.
type document struct {
	path   string // from the top of the repository
	lines  []string
	blocks []block
	// by names the test that runs the commands of this document; empty: TestDocs does.
	by string
	// alone: the document starts its own programs; kith dev is not started for it.
	alone bool
}

// block is one fenced block, or the commands of a setup comment.
type block struct {
	// first and end bound its lines in the document: from first up to, not with, end.
	first, end int
	indent     string
	language   string
	// notRun is the reason why the test does not run the block; empty: it does.
	notRun string
	// file is where the text of the block is written, in the working folder.
	file string
	// background: the block runs on while the next one begins. waitFor is the port
	// that must accept connections before that; empty: none.
	background bool
	waitFor    string
}

// languages are those of blocks that hold no command.
var languages = map[string]bool{
	"css": true, "go": true, "graphql": true, "html": true, "http": true, "ini": true, "js": true, "json": true, "mermaid": true,
	"nginx": true, "sql": true, "text": true, "toml": true, "yaml": true,
}

var (
	comment = regexp.MustCompile(`^<!-- doctest: (.*?)(?: -->)?$`)
	fence   = regexp.MustCompile("^( *)(```+)(.*)$")
)

func (b block) text(d *document) string {
	var all strings.Builder
	for _, line := range d.lines[b.first:b.end] {
		all.WriteString(strings.TrimPrefix(line, b.indent) + "\n")
	}
	return all.String()
}

// runs reports whether the test runs commands of the block.
func (b block) runs() bool {
	return b.notRun == "" && (b.language == "sh" || b.language == "console")
}

func readDocument(t testing.TB, path string) *document {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	d := &document{path: path, lines: strings.Split(string(text), "\n")}
	require.NoError(t, d.parse())
	return d
}

func (d *document) parse() error {
	for i := 0; i < len(d.lines); i++ {
		if m := comment.FindStringSubmatch(d.lines[i]); m != nil {
			end, err := d.directive(m[1], i)
			if err != nil {
				return err
			}
			i = end
			continue
		}
		m := fence.FindStringSubmatch(d.lines[i])
		if m == nil {
			continue
		}
		b := block{indent: m[1], first: i + 1}
		for b.end = b.first; b.end < len(d.lines) && strings.TrimSpace(d.lines[b.end]) != m[2]; b.end++ {
		}
		if err := b.read(m[3]); err != nil {
			return fmt.Errorf("%s:%d: %w", d.path, i+1, err)
		}
		if b.end == len(d.lines) {
			return fmt.Errorf("%s:%d: the block has no end", d.path, i+1)
		}
		d.blocks = append(d.blocks, b)
		i = b.end
	}
	return nil
}

// directive reads a comment of a document, which begins in line i, and returns its
// last line.
func (d *document) directive(text string, i int) (end int, err error) {
	by, named := strings.CutPrefix(text, "by ")
	switch {
	case named:
		d.by = by
	case text == "no program":
		d.alone = true
	case text == "setup":
		b := block{language: "sh", first: i + 1}
		for b.end = b.first; b.end < len(d.lines) && d.lines[b.end] != "-->"; b.end++ {
		}
		d.blocks = append(d.blocks, b)
		return b.end, nil
	default:
		return 0, fmt.Errorf("%s:%d: doctest: %q is none of: by TEST, no program, setup", d.path, i+1, text)
	}
	return i, nil
}

// read takes the info string of a fence: the language and what follows it.
func (b *block) read(info string) error {
	language, rest, _ := strings.Cut(strings.TrimSpace(info), " ")
	b.language = language
	if !languages[language] && language != "sh" && language != "console" {
		return fmt.Errorf("the block's language is %q: use sh, console, text or the language of a file", language)
	}
	switch {
	case rest == "":
	case strings.HasPrefix(rest, "not-run: "):
		b.notRun = strings.TrimPrefix(rest, "not-run: ")
	case strings.HasPrefix(rest, "file="):
		b.file = strings.TrimPrefix(rest, "file=")
	case language == "sh" && rest == "background":
		b.background = true
	case language == "sh" && strings.HasPrefix(rest, "background=:"):
		b.background, b.waitFor = true, strings.TrimPrefix(rest, "background=:")
	default:
		return fmt.Errorf("%q is none of: not-run: REASON, file=PATH, background (sh), background=:PORT (sh)", rest)
	}
	return nil
}

// step is one command of a console block with the answer that is shown below it.
type step struct {
	command string
	// first and end bound the answer's lines in the document.
	first, end int
}

// steps are the commands of a console block: each begins with "$ ", and continues in
// lines that begin with "> " or follow a "\".
func (b block) steps(d *document) (all []step, err error) {
	more := false
	for i := b.first; i < b.end; i++ {
		line := strings.TrimPrefix(d.lines[i], b.indent)
		command, begins := strings.CutPrefix(line, "$ ")
		next, follows := strings.CutPrefix(line, "> ")
		switch {
		case begins:
			all = append(all, step{command: command, first: i + 1, end: i + 1})
			more = strings.HasSuffix(command, `\`)
		case len(all) == 0:
			return nil, fmt.Errorf("%s:%d: a console block begins with a command: $ COMMAND", d.path, i+1)
		case more || follows && all[len(all)-1].end == all[len(all)-1].first:
			s := &all[len(all)-1]
			s.command += "\n" + next
			s.first, s.end = i+1, i+1
			more = strings.HasSuffix(line, `\`)
		default:
			all[len(all)-1].end = i + 1
		}
	}
	return all, nil
}

// matches reports whether an answer is the one that is shown, in which … stands for
// any text of its line, and a line of … alone for any number of lines.
func matches(shown, got string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(shown) {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, `[^\n]*`))
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(got)
}

// varying is what each run answers differently: ids, times, signatures and keys.
var varying = regexp.MustCompile(`\b[0-9a-f]{24,}\b|\b1[0-9]{12}\b|\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|[\w-]{32,}|\b(?:TOKEN_)?(?:LIVE|TEST)_[2-9A-HJ-NP-Z]{40}\b`)

// elided is an answer as -update writes it.
func elided(got string) string {
	return varying.ReplaceAllStringFunc(got, func(found string) string {
		if !strings.ContainsAny(found, "0123456789") { // a long name
			return found
		}
		return "…"
	})
}

func TestDocument_Matches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shown, got string
		want       bool
	}{
		{"a\n", "a\n", true},
		{"a\n", "b\n", false},
		{"a\n", "a\nb\n", false},
		{"{…\"id\":\"…\"}\n", "{\"x\":1,\"id\":\"y\"}\n", true},
		{"a…c\n", "ab\nc\n", false},
		{"a\n…\nz\n", "a\nz\n", true},
		{"a\n…\nz\n", "a\nb\nc\nz\n", true},
		{"a\n…\n", "b\nc\n", false},
	} {
		require.Equal(t, test.want, matches(test.shown, test.got), "%q is shown for %q", test.shown, test.got)
	}
	require.Equal(t, `{"id":"…","at":…}`, elided(`{"id":"01a1fd44c8ce9593e85bd25e","at":1795250506069}`))
	require.Equal(t, "subscription_charged_unsuccessfully", elided("subscription_charged_unsuccessfully"))
}

func TestDocument_Steps(t *testing.T) {
	t.Parallel()
	d := &document{path: "x.md", lines: strings.Split("```console\n$ one\nanswer\n> quoted\n$ two \\\n  more\n$ three\n> more\nanswer\n```", "\n")}
	require.NoError(t, d.parse())
	steps, err := d.blocks[0].steps(d)
	require.NoError(t, err)
	require.Equal(t, []step{{"one", 2, 4}, {"two \\\n  more", 6, 6}, {"three\nmore", 8, 9}}, steps)
	for _, wrong := range []string{"```bash\nx\n```", "```\nx\n```", "```sh\nx", "```sh skip\nx\n```", "<!-- doctest: skip -->"} {
		require.Error(t, (&document{lines: strings.Split(wrong, "\n")}).parse(), wrong)
	}
}
