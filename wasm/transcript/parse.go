package transcript

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// story is a parsed file. It keeps the source lines, so that an update changes only the
// answers.
type story struct {
	lines     []string
	exchanges []exchange
}

type exchange struct {
	title   string
	line    int // of the title, from 1
	advance time.Duration
	// until is a text for which the request is repeated; empty to send it once.
	until   string
	request []line
	// response is the expected answer; its source is lines[from:to]. If it is missing,
	// the range is empty, at its place.
	response []line
	from, to int
}

// line is one line of a request or an answer, without its sign.
type line struct {
	text string
	via  string // the only target to which it applies; empty means all
}

// forTarget returns the lines that apply to a target.
func forTarget(lines []line, name string) []string {
	var texts []string
	for _, l := range lines {
		if l.via == "" || l.via == name {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// split splits the lines of a message into head and body.
func split(lines []string) (head, body []string) {
	if i := slices.Index(lines, ""); i >= 0 {
		return lines[:i], lines[i+1:]
	}
	return lines, nil
}

// sortHeaders sorts header lines by name, and keeps the order of values of the same name.
func sortHeaders[L any](lines []L, text func(L) string) {
	name := func(l L) string {
		name, _, _ := strings.Cut(text(l), ":")
		return strings.ToLower(name)
	}
	slices.SortStableFunc(lines, func(a, b L) int { return strings.Compare(name(a), name(b)) })
}

func lineText(l line) string { return l.text }

// parse parses a story. Errors begin with the line number.
func parse(text string) (*story, error) {
	s := &story{lines: strings.Split(text, "\n")}
	via := ""
	for i, l := range s.lines {
		if title, ok := strings.CutPrefix(l, "=== "); ok {
			s.exchanges = append(s.exchanges, exchange{title: title, line: i + 1})
			continue
		}
		if len(s.exchanges) == 0 {
			continue // prose
		}
		if via != "" && !strings.HasPrefix(l, ">") && !strings.HasPrefix(l, "<") {
			return nil, fmt.Errorf("%d: via is not followed by a line of a request or an answer", i+1)
		}
		next, err := s.exchanges[len(s.exchanges)-1].read(i, l, via)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
		via = next
	}
	if len(s.exchanges) == 0 {
		return nil, fmt.Errorf("1: no exchange: no line begins with ===")
	}
	return s, s.check()
}

// read parses source line i. For a via line it returns the target of the next line.
func (x *exchange) read(i int, l, via string) (next string, err error) {
	answered := len(x.response) > 0
	switch {
	case strings.HasPrefix(l, ">"):
		if answered {
			return "", fmt.Errorf("a request line after the answer; begin a new exchange with ===")
		}
		x.request = append(x.request, line{content(l), via})
		x.from, x.to = i+1, i+1
	case strings.HasPrefix(l, "<"):
		if len(x.request) == 0 {
			return "", fmt.Errorf("an answer without a request")
		}
		if !answered {
			x.from = i
			if via != "" {
				x.from--
			}
		} else if gap := i - x.to; gap > 1 || gap == 1 && via == "" {
			return "", fmt.Errorf("an answer must be one block of lines")
		}
		x.response = append(x.response, line{content(l), via})
		x.to = i + 1
	case strings.HasPrefix(l, "via: "):
		return strings.TrimPrefix(l, "via: "), nil
	case strings.HasPrefix(l, "advance: "):
		if len(x.request) > 0 {
			return "", fmt.Errorf("advance must be before the request")
		}
		x.advance, err = time.ParseDuration(strings.TrimPrefix(l, "advance: "))
		return "", err
	case strings.HasPrefix(l, "until: "):
		if len(x.request) > 0 {
			return "", fmt.Errorf("until must be before the request")
		}
		if x.until = strings.TrimSpace(strings.TrimPrefix(l, "until: ")); x.until == "" {
			return "", fmt.Errorf("until needs a text")
		}
	case l != "" && !strings.HasPrefix(l, "#"):
		return "", fmt.Errorf("%q is neither request, answer, directive nor comment", l)
	}
	return "", nil
}

// content is a line without its sign.
func content(l string) string { return strings.TrimPrefix(l[1:], " ") }

// check refuses exchanges that cannot be played, and sorts the expected headers.
func (s *story) check() error {
	for _, x := range s.exchanges {
		if len(x.request) == 0 {
			return fmt.Errorf("%d: %s: no request", x.line, x.title)
		}
		if len(x.response) > 0 {
			sortHeaders(headers(x.response), lineText)
		}
	}
	return nil
}

// headers returns the lines of an answer between status and body. The status may have
// several lines, each for one target.
func headers(response []line) []line {
	end := slices.IndexFunc(response, func(l line) bool { return l.text == "" })
	if end < 0 {
		end = len(response)
	}
	start := 0
	for start < end && !strings.Contains(response[start].text, ":") {
		start++
	}
	return response[start:end]
}

// String returns the current text of the file.
func (s *story) String() string {
	var out []string
	at := 0
	for _, x := range s.exchanges {
		out = append(out, s.lines[at:x.from]...)
		if x.from == x.to && len(x.response) > 0 {
			out = append(out, "")
		}
		for _, l := range x.response {
			if l.via != "" {
				out = append(out, "via: "+l.via)
			}
			out = append(out, strings.TrimSuffix("< "+l.text, " "))
		}
		if x.from == x.to && x.to < len(s.lines) && s.lines[x.to] != "" {
			out = append(out, "")
		}
		at = x.to
	}
	return strings.Join(append(out, s.lines[at:]...), "\n")
}
