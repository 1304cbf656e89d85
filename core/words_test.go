//go:build !tinygo

package core_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wordList is where the words are listed, from the root of the repository.
const wordList = "wasm/toolchain/words.txt"

// wordRules is what the list says.
type wordRules struct {
	// byFirst has the phrases that begin with a word.
	byFirst    map[string][]phrase
	exceptions []exception
	// unread are the folders and files that are not checked yet.
	unread []string
}

// phrase is a row of the list: one set of alternatives for each word.
type phrase struct {
	words   [][]string
	text    string
	instead string
}

// exception allows the words of a text, in the files that a pattern of
// path.Match names. A folder that ends in a slash stands for all below it.
type exception struct {
	files, text, reason string
}

// finding is one place in a file with a phrase of the list.
type finding struct {
	line   int // 0: the name of the file
	source string
	phrase phrase
}

// parseWords reads the list.
func parseWords(list string) (wordRules, error) {
	rules := wordRules{byFirst: map[string][]phrase{}}
	section := ""
	for i, line := range strings.Split(list, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '[':
			section = line
			continue
		}
		switch section {
		case "[words]":
			text, instead, ok := strings.Cut(line, " -> ")
			if !ok {
				return rules, fmt.Errorf("line %d: want: pattern -> replacement", i+1)
			}
			p := phrase{text: text, instead: instead}
			for word := range strings.FieldsSeq(text) {
				p.words = append(p.words, strings.Split(word, "|"))
			}
			for _, first := range p.words[0] {
				rules.byFirst[first] = append(rules.byFirst[first], p)
			}
		case "[exceptions]":
			fields := strings.SplitN(line, " | ", 3)
			if len(fields) != 3 {
				return rules, fmt.Errorf("line %d: want: files | text | reason", i+1)
			}
			rules.exceptions = append(rules.exceptions, exception{files: fields[0], text: fields[1], reason: fields[2]})
		case "[not yet read]":
			rules.unread = append(rules.unread, line)
		default:
			return rules, fmt.Errorf("line %d: not in a known section: %s", i+1, section)
		}
	}
	return rules, nil
}

// word is one word of a text, in lower case; "" ends a phrase.
type word struct {
	text string
	line int
}

// words splits a text. Marks of comments at the start of a line, hyphens and
// underscores separate words; other punctuation ends a phrase.
func words(text string) []word {
	all := make([]word, 0, len(text)/5)
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimLeft(line, " \t/#*;-<>!")
		for len(line) > 0 {
			r, size := utf8.DecodeRuneInString(line)
			if unicode.IsLetter(r) {
				end := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
				if end < 0 {
					end = len(line)
				}
				all = appendWords(all, line[:end], i+1)
				line = line[end:]
				continue
			}
			if r == '\\' && len(line) > size {
				size++ // \n in a string is no letter of a word
			}
			if !unicode.IsSpace(r) && r != '-' && r != '_' {
				all = append(all, word{})
			}
			line = line[size:]
		}
	}
	return all
}

// appendWords splits an identifier before each capital that follows a small letter.
func appendWords(all []word, name string, line int) []word {
	if len(name) > 60 {
		return append(all, word{}) // a key or a hash
	}
	begin := 0
	for i := 1; i < len(name); i++ {
		if 'A' <= name[i] && name[i] <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z' {
			all = append(all, word{strings.ToLower(name[begin:i]), line})
			begin = i
		}
	}
	return append(all, word{strings.ToLower(name[begin:]), line})
}

// find lists the phrases in a file. A match in a line that contains the text of
// an exception for this file does not count, and marks the exception as used.
func (r wordRules) find(file, text string, used map[exception]bool) []finding {
	var found []finding
	lines := strings.Split(text, "\n")
	for _, w := range []struct {
		words []word
		named bool
	}{{words(text), false}, {words(file), true}} {
		for i := range w.words {
			p, ok := r.match(w.words[i:])
			if !ok {
				continue
			}
			f := finding{line: w.words[i].line, phrase: p}
			if f.source = strings.TrimSpace(lines[f.line-1]); w.named {
				f.line, f.source = 0, file
			}
			if !r.allowed(file, f.source, used) {
				found = append(found, f)
			}
		}
	}
	return found
}

func (r wordRules) match(text []word) (phrase, bool) {
	for _, p := range r.byFirst[text[0].text] {
		if len(p.words) > len(text) {
			continue
		}
		matches := true
		for i, alternatives := range p.words {
			wildcard := alternatives[0] == "*" && text[i].text != ""
			matches = matches && (wildcard || slices.Contains(alternatives, text[i].text))
		}
		if matches {
			return p, true
		}
	}
	return phrase{}, false
}

func (r wordRules) allowed(file, source string, used map[exception]bool) bool {
	for _, e := range r.exceptions {
		covered := strings.HasSuffix(e.files, "/") && strings.HasPrefix(file, e.files)
		if !covered {
			covered, _ = path.Match(e.files, file)
		}
		if covered && strings.Contains(source, e.text) {
			used[e] = true
			return true
		}
	}
	return false
}

// TestWords_RepositoryUsesNone looks for the words of the list in all files of
// the repository, and for rows of the list that are not needed any more.
func TestWords_RepositoryUsesNone(t *testing.T) {
	root := ".."
	list, err := os.ReadFile(filepath.Join(root, wordList))
	require.NoError(t, err)
	rules, err := parseWords(string(list))
	require.NoError(t, err)

	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir, git.Stderr = root, os.Stderr
	out, err := git.Output()
	require.NoError(t, err, "the words are checked in the files that git lists")

	used, needed, checked := map[exception]bool{}, map[string]bool{}, 0
	for file := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if file == wordList || notOurs(file) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // removed, but not yet from the index
		}
		require.NoError(t, err)
		if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			continue
		}
		checked++
		found := rules.find(file, string(text), used)
		unread := slices.IndexFunc(rules.unread, func(p string) bool {
			return file == p || strings.HasSuffix(p, "/") && strings.HasPrefix(file, p)
		})
		if unread >= 0 {
			needed[rules.unread[unread]] = needed[rules.unread[unread]] || len(found) > 0
			continue
		}
		for _, f := range found {
			t.Errorf("%s:%d: %q is not used here; write instead: %s\n\t%s", file, f.line, f.phrase.text, f.phrase.instead, f.source)
		}
	}
	require.NotZero(t, checked)
	for _, e := range rules.exceptions {
		assert.True(t, used[e], "%s: remove the exception %s | %s: no word needs it", wordList, e.files, e.text)
	}
	for _, p := range rules.unread {
		assert.True(t, needed[p], "%s: remove %s from [not yet read]: it has no such word", wordList, p)
	}
}

// notOurs reports whether others wrote a file, or a program did.
func notOurs(file string) bool {
	name := path.Base(file)
	return strings.Contains(file, "/third_party/") || strings.Contains(file, "/testdata/fuzz/") ||
		name == "LICENSE" || name == "go.sum" || name == "package-lock.json"
}

func TestWords_Find(t *testing.T) {
	rules, err := parseWords(`
# comment
[words]
zig|zigs -> report
at zag -> running
zug * -> no caller
[exceptions]
a/*.go | zigs apart | a reason
b/ | zig | a reason
`)
	require.NoError(t, err)
	for _, c := range []struct {
		name, file, text string
		lines            []int
	}{
		{"a word", "x.go", "// It zigs.\nx", []int{1}},
		{"case does not matter", "x.go", "\nZig users", []int{2}},
		{"part of a word", "x.go", "zigger, azig", nil},
		{"an identifier", "x.go", "var atZag int", []int{1}},
		{"underscores", "x.sql", "at_zag INTEGER", []int{1}},
		{"over the end of a line", "x.go", "\t// those at\n\t// zag", []int{1}},
		{"over the end of a line, shell", "x.sh", "# at\n# zag", []int{1}},
		{"punctuation ends a phrase", "x.go", "look at. Zag", nil},
		{"any word", "x.go", "zug knows", []int{1}},
		{"any word, at the end", "x.go", `"zug"`, nil},
		{"escaped", "x.go", `"\nzig"`, []int{1}},
		{"a file name", "at_zag.go", "", []int{0}},
		{"an exception", "a/x.go", "// zigs apart", nil},
		{"an exception, other file", "a/b/x.go", "// zigs apart", []int{1}},
		{"an exception, other text", "a/x.go", "// zigs", []int{1}},
		{"an exception for a folder", "b/c/x.go", "// zig", nil},
		{"two", "x.go", "zig\nzig", []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lines []int
			for _, f := range rules.find(c.file, c.text, map[exception]bool{}) {
				lines = append(lines, f.line)
			}
			assert.Equal(t, c.lines, lines)
		})
	}
	for _, bad := range []string{"zig -> report", "[words]\nzig", "[exceptions]\na | b"} {
		_, err := parseWords(bad)
		assert.Error(t, err, bad)
	}
}
