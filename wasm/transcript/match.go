package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// captures are the captured texts of a story, by name.
type captures map[string]string

// kinds is complete: only ids, times and signed texts may differ between runs.
var kinds = map[string]string{ // #nosec G101 -- kinds of captured values
	"id":     `[A-Za-z0-9_-]{4,64}`,
	"ms":     `[0-9]{13}`,
	"int":    `[0-9]{1,9}`,
	"time":   `[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})`,
	"token":  `[A-Za-z0-9_.~%=-]+`,
	"secret": `[A-Za-z0-9+/]{43}=`,
}

var placeholder = regexp.MustCompile(`\{\{([a-z][a-z0-9_]*)(?::([a-z]+))?\}\}`)

// expand replaces every {{name}} in a line of a request.
func (c captures) expand(text string) (string, error) {
	var err error
	text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		value, ok := c[m[1]]
		if !ok || m[2] != "" {
			err = fmt.Errorf("%s: not captured before this request", p)
		}
		return value
	})
	return text, err
}

// match compares an answer with the expected one, and adds its captures to known.
func match(want, got []string, known captures) error {
	if len(want) == 0 {
		return fmt.Errorf("the expected answer is missing; run with -update and check what it writes:\n%s", block(got))
	}
	if len(want) != len(got) {
		return fmt.Errorf("the answer has %d lines, not %d\n%s", len(got), len(want), diff(want, got, known))
	}
	trial := maps.Clone(known)
	for i := range want {
		ok, err := trial.matchLine(want[i], got[i])
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("the answer differs\n%s", diff(want, got, known))
		}
	}
	maps.Copy(known, trial)
	return nil
}

// matchLine compares one line. Captures are kept only when all of it matches.
func (c captures) matchLine(want, got string) (bool, error) {
	var pattern strings.Builder
	var names []string
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[at:m[0]]))
		at = m[1]
		name := want[m[2]:m[3]]
		value, isKnown := c[name]
		switch {
		case m[4] >= 0: // {{name:kind}}
			kind, ok := kinds[want[m[4]:m[5]]]
			if !ok {
				return false, fmt.Errorf("%s: unknown kind", want[m[0]:m[1]])
			}
			if isKnown || slices.Contains(names, name) {
				return false, fmt.Errorf("%s: %s is captured twice", want[m[0]:m[1]], name)
			}
			names = append(names, name)
			fmt.Fprintf(&pattern, "(%s)", kind)
		case isKnown:
			pattern.WriteString(regexp.QuoteMeta(value))
		default:
			return false, fmt.Errorf("%s: not captured on a line before", want[m[0]:m[1]])
		}
	}
	pattern.WriteString(regexp.QuoteMeta(want[at:]))
	found := regexp.MustCompile(`^` + pattern.String() + `$`).FindStringSubmatch(got)
	if found == nil {
		return false, nil
	}
	for i, name := range names {
		c[name] = found[i+1]
	}
	return true, nil
}

// rewrite returns the answer that an update writes: the received lines, with the captures
// of the lines that they replace, and the lines for other targets.
func rewrite(old []line, got []string, name string, known captures) []line {
	// Captures of a line are needed to recognize references on later lines. The
	// comparison that follows stores them.
	trial := maps.Clone(known)
	mine := slices.DeleteFunc(slices.Clone(old), func(l line) bool { return l.via != "" && l.via != name })
	var lines []line
	for _, text := range got {
		i := slices.IndexFunc(mine, func(l line) bool {
			ok, err := trial.matchLine(l.text, text)
			return ok && err == nil
		})
		if i >= 0 {
			lines = append(lines, mine[i])
			// Of several equal lines, each matches one line.
			mine = slices.Delete(mine, i, i+1)
			continue
		}
		lines = append(lines, line{text: trial.recapture(mine, text)})
	}
	return keepOthers(lines, old, name)
}

// recapture restores captures in a line that has otherwise changed, where the text before
// a capture, back to the last delimiter, is the same.
func (c captures) recapture(old []line, text string) string {
	for _, l := range old {
		for _, m := range placeholder.FindAllStringSubmatchIndex(l.text, -1) {
			before := l.text[:m[0]]
			before = before[strings.LastIndexAny(before, ",{[?&; }")+1:]
			kind, ok := kinds[l.text[max(m[4], 0):max(m[5], 0)]]
			if before == "" || !ok {
				continue
			}
			name := l.text[m[2]:m[3]]
			if _, taken := c[name]; taken {
				continue
			}
			at := regexp.MustCompile(regexp.QuoteMeta(before) + "(" + kind + ")").FindStringSubmatchIndex(text)
			if at == nil {
				continue
			}
			c[name] = text[at[2]:at[3]]
			text = text[:at[2]] + l.text[m[0]:m[1]] + text[at[3]:]
		}
	}
	return c.refer(text)
}

// refer replaces long captured texts by {{name}}; a short text may be equal by chance.
func (c captures) refer(text string) string {
	// Longest first, so that a text that contains another one is replaced as a whole.
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(c[b]), len(c[a])), strings.Compare(a, b))
	})
	for _, name := range names {
		if len(c[name]) >= 12 {
			text = strings.ReplaceAll(text, c[name], "{{"+name+"}}")
		}
	}
	return text
}

// keepOthers restores the lines for other targets, each after the line that it followed,
// or at the end of the headers if that line was removed.
func keepOthers(lines, old []line, name string) []line {
	for i, l := range old {
		if l.via == "" || l.via == name {
			continue
		}
		at := 0
		if i > 0 {
			at = slices.Index(lines, old[i-1]) + 1
			if at == 0 {
				at = slices.IndexFunc(lines, func(l line) bool { return l.text == "" })
			}
			if at < 0 {
				at = len(lines)
			}
		}
		lines = slices.Insert(lines, at, l)
	}
	return lines
}

// diff returns both answers, with marks at the lines that differ.
func diff(want, got []string, known captures) string {
	known = maps.Clone(known)
	var out strings.Builder
	for i := range max(len(want), len(got)) {
		w, g := at(want, i), at(got, i)
		if w != nil && g != nil {
			if ok, _ := known.matchLine(*w, *g); ok {
				fmt.Fprintf(&out, "    < %s\n", *g)
				continue
			}
		}
		if w != nil {
			fmt.Fprintf(&out, "  - < %s\n", *w)
		}
		if g != nil {
			fmt.Fprintf(&out, "  + < %s\n", *g)
		}
	}
	return out.String()
}

func at(lines []string, i int) *string {
	if i < len(lines) {
		return &lines[i]
	}
	return nil
}

func block(lines []string) string {
	return "    < " + strings.Join(lines, "\n    < ") + "\n"
}
