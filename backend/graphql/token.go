package graphql

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"kith/core"
	"kith/core/wire"
)

// token is one word of a document.
type token struct {
	// text is the token as the executor's own reader takes it; see document.text.
	text string
	at   wire.Position
}

// lexer cuts a document into tokens by the rules of the GraphQL specification
// (October 2021, 2.1). The executor reads tokens as Go does, which knows no
// block string, no "\/" and no "\uD83D\uDE00", and stops the program's goroutine
// at a whole number beyond 32 bits: so it is given what was understood here.
type lexer struct {
	rest   string
	at     wire.Position
	tokens []token
}

// tokenize returns the tokens of a document.
func tokenize(text string, most int) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, core.Invalid("query", "must be UTF-8")
	}
	l := lexer{rest: strings.TrimPrefix(text, "\ufeff"), at: wire.Position{Line: 1, Column: 1}}
	for l.skip(); l.rest != ""; l.skip() {
		if len(l.tokens) == most {
			return nil, core.Invalid("query", "must not have more than "+strconv.Itoa(most)+" words and signs")
		}
		at := l.at
		word, err := l.next()
		if err != nil {
			return nil, err
		}
		l.tokens = append(l.tokens, token{text: word, at: at})
	}
	return l.tokens, nil
}

// take moves behind the next n bytes and returns them.
func (l *lexer) take(n int) string {
	taken := l.rest[:n]
	l.rest = l.rest[n:]
	for i, r := range taken {
		switch {
		case r == '\n' && i > 0 && taken[i-1] == '\r':
		case r == '\n' || r == '\r':
			l.at = wire.Position{Line: l.at.Line + 1, Column: 1}
		default:
			l.at.Column++
		}
	}
	return taken
}

// skip moves behind blanks, commas and comments.
func (l *lexer) skip() {
	for {
		n := 0
		for n < len(l.rest) && strings.IndexByte(" \t\r\n,", l.rest[n]) >= 0 {
			n++
		}
		if n < len(l.rest) && l.rest[n] == '#' {
			if end := strings.IndexAny(l.rest[n:], "\r\n"); end >= 0 {
				n += end
			} else {
				n = len(l.rest)
			}
		}
		if n == 0 {
			return
		}
		l.take(n)
	}
}

func (l *lexer) next() (string, error) {
	c := l.rest[0]
	switch {
	case strings.HasPrefix(l.rest, "..."):
		return l.take(3), nil
	case strings.IndexByte("!$()=:@[]{}|&", c) >= 0:
		return l.take(1), nil
	case nameStart(c):
		n := 1
		for n < len(l.rest) && (nameStart(l.rest[n]) || digit(l.rest[n])) {
			n++
		}
		return l.take(n), nil
	case digit(c) || c == '-':
		return l.number()
	case strings.HasPrefix(l.rest, `"""`):
		return l.blockString()
	case c == '"':
		return l.quoted()
	}
	r, _ := utf8.DecodeRuneInString(l.rest)
	return "", l.fault("unexpected character " + strconv.QuoteRune(r))
}

func (l *lexer) fault(message string) error { return &syntaxError{l.at, message} }

// syntaxError is a document that cannot be read, and where.
type syntaxError struct {
	at      wire.Position
	message string
}

func (e *syntaxError) Error() string { return e.message }

func nameStart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// maxDigits bounds a whole number in a document, so that it survives as the
// float which the executor makes of one beyond 32 bits.
const maxDigits = 15

// number reads an integer or a float. An integer that 32 bits do not hold
// becomes a float of the same value.
func (l *lexer) number() (string, error) {
	n := 0
	digits := func() (count int) {
		for n < len(l.rest) && digit(l.rest[n]) {
			n, count = n+1, count+1
		}
		return count
	}
	if l.rest[0] == '-' {
		n++
	}
	start := n
	whole := digits()
	good, float := whole == 1 || whole > 1 && l.rest[start] != '0', false
	if n < len(l.rest) && l.rest[n] == '.' {
		n, float = n+1, true
		good = digits() > 0 && good
	}
	if n < len(l.rest) && l.rest[n]|0x20 == 'e' {
		n, float = n+1, true
		if n < len(l.rest) && (l.rest[n] == '+' || l.rest[n] == '-') {
			n++
		}
		good = digits() > 0 && good
	}
	if !good || n < len(l.rest) && (nameStart(l.rest[n]) || l.rest[n] == '.') {
		return "", l.fault("not a number")
	}
	if whole > maxDigits {
		return "", l.fault("a number may have " + strconv.Itoa(maxDigits) + " digits; send a longer one as a variable")
	}
	text := l.take(n)
	if float {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", l.fault("the number is out of range")
		}
		return text, nil
	}
	if _, err := strconv.ParseInt(text, 10, 32); err != nil {
		text += ".0"
	}
	return text, nil
}

// quoted reads a string between single quotation marks.
func (l *lexer) quoted() (string, error) {
	var value strings.Builder
	for n := 1; n < len(l.rest); {
		switch c := l.rest[n]; {
		case c == '"':
			l.take(n + 1)
			return strconv.Quote(value.String()), nil
		case c == '\\':
			r, size := unescape(l.rest[n:])
			if size == 0 {
				return "", l.fault("a string holds an escape that does not exist")
			}
			value.WriteRune(r)
			n += size
		case c < ' ' && c != '\t':
			return "", l.fault("a string does not end on its line, or holds a control character")
		default:
			value.WriteByte(c)
			n++
		}
	}
	return "", l.fault("a string has no end")
}

// unescape reads one escape; size is 0 when there is no such one.
func unescape(s string) (r rune, size int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	if s[1] != 'u' {
		return 0, 0
	}
	if strings.HasPrefix(s, `\u{`) {
		end := strings.IndexByte(s, '}')
		if end < 0 || end > 11 {
			return 0, 0
		}
		if r = scalar(s[3:end]); r < 0 {
			return 0, 0
		}
		return r, end + 1
	}
	if r = unit(s); r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, unit(s[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	return 0, 0
}

// unit reads \uXXXX; -1 when s does not begin with it.
func unit(s string) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// scalar reads the hex digits of \u{…}; -1 when they name no character.
func scalar(digits string) rune {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > utf8.MaxRune || utf16.IsSurrogate(rune(n)) {
		return -1
	}
	return rune(n)
}

// blockString reads a string between triple quotation marks.
func (l *lexer) blockString() (string, error) {
	const mark = `"""`
	var value strings.Builder
	for n := len(mark); n < len(l.rest); {
		switch rest := l.rest[n:]; {
		case strings.HasPrefix(rest, mark):
			l.take(n + len(mark))
			return strconv.Quote(dedent(value.String())), nil
		case strings.HasPrefix(rest, `\`+mark):
			value.WriteString(mark)
			n += 1 + len(mark)
		default:
			value.WriteByte(rest[0])
			n++
		}
	}
	return "", l.fault("a block string has no end")
}

// dedent is BlockStringValue of the specification (2.9.4).
func dedent(raw string) string {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw), "\n")
	common := -1
	for _, line := range lines[1:] {
		if indent := len(line) - len(strings.TrimLeft(line, " \t")); indent < len(line) && (common < 0 || indent < common) {
			common = indent
		}
	}
	for i := range lines[1:] {
		lines[i+1] = lines[i+1][min(max(common, 0), len(lines[i+1])):]
	}
	blank := func(s string) bool { return strings.Trim(s, " \t") == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
