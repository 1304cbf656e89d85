package scenario

import (
	"fmt"
	"strings"
)

// Step is one line of a scenario: a verb, the words after it, and named values.
type Step struct {
	// Line is the line number in the text, from 1.
	Line  int
	Verb  string
	Words []string
	// Named are the words of the form name=value, such as discount=svc:5.00.
	Named map[string]string
}

// String returns the step in the form used in errors.
func (s Step) String() string {
	return fmt.Sprintf("line %d: %s", s.Line, strings.Join(append([]string{s.Verb}, s.Words...), " "))
}

// Word returns the i-th word after the verb, or "" if there are fewer.
func (s Step) Word(i int) string {
	if i >= len(s.Words) {
		return ""
	}
	return s.Words[i]
}

// Parse parses a scenario. Empty lines, and lines that begin with #, are ignored. Words
// are separated by blanks, except within double quotes.
func Parse(text string) ([]Step, error) {
	var steps []Step
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		words, err := split(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		steps = append(steps, newStep(number, words))
	}
	return steps, nil
}

func newStep(line int, words []string) Step {
	s := Step{Line: line, Verb: words[0], Named: map[string]string{}}
	for _, word := range words[1:] {
		if name, value, named := strings.Cut(word, "="); named {
			s.Named[name] = value
		} else {
			s.Words = append(s.Words, word)
		}
	}
	return s
}

// split splits a line into words. A quote may begin within a word, as in
// status="Past Due".
func split(line string) (words []string, err error) {
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted, begun = !quoted, true
		case (r == ' ' || r == '\t') && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
