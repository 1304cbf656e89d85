package wire

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
)

// CheckJSONType returns an error if a body's Content-Type is not JSON (RS046). An
// empty Content-Type is accepted, because older clients send none.
func CheckJSONType(contentType string) error {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.TrimSpace(kind)
	if kind == "" || strings.EqualFold(kind, "application/json") ||
		len(kind) > 5 && strings.EqualFold(kind[len(kind)-5:], "+json") {
		return nil
	}
	return &core.Error{
		Code: core.CodeMediaType, RS: "RS046",
		Message: "the Content-Type must be application/json",
	}
}

// checkObject checks that a body is valid JSON, within the limits, and begins with
// "{".
func checkObject(body []byte, limit int) error {
	if err := checkJSON(body, limit); err != nil {
		return err
	}
	if bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
		return core.Malformed("", "the body must be a JSON object")
	}
	return nil
}

// checkJSON checks that a body is valid JSON, within the limits.
func checkJSON(body []byte, limit int) error {
	switch {
	case len(body) > limit:
		return TooLarge(limit)
	case !utf8.Valid(body):
		return core.Malformed("", "the body must be UTF-8")
	case tooDeep(body):
		return core.Malformed("", "the body is nested more than "+strconv.Itoa(maxDepth)+" levels deep")
	// fastjson accepts some invalid numbers, escapes and control characters; gjson
	// does not.
	case !gjson.ValidBytes(body):
		return core.Malformed("", "the body is not valid JSON")
	case loneSurrogate(body):
		return core.Malformed("", "the body has an unpaired surrogate escape, \\uD800 to \\uDFFF; write the character itself or both escapes")
	}
	return nil
}

// parsers are reused, so that parsing a body of a similar size needs no new memory.
// maxKept is the largest body, in bytes, whose parser is put back, because a parser
// keeps about 12 times as much memory.
var parsers fastjson.ParserPool

const maxKept = 16 << 10

// object parses a body that must be one JSON object, and calls take as fields does.
// The values are invalid after it returns.
func object(body []byte, limit int, at string, take func(r *reader, key string, v *fastjson.Value) bool) error {
	if err := checkObject(body, limit); err != nil {
		return err
	}
	return walk(body, at, take)
}

// walk is like object, for a body that checkObject has checked.
func walk(body []byte, at string, take func(r *reader, key string, v *fastjson.Value) bool) error {
	return parseChecked(body, func(v *fastjson.Value) error { return fields(v, at, take) })
}

// parseChecked calls do with the value of a body that checkObject has checked. The value
// is valid until do returns.
func parseChecked(body []byte, do func(*fastjson.Value) error) error {
	p := parsers.Get()
	if len(body) <= maxKept {
		defer parsers.Put(p)
	}
	v, err := p.ParseBytes(body)
	if err != nil {
		return core.Malformed("", "the body is not valid JSON")
	}
	return do(v)
}

// ParseNothing checks the body of a call without parameters: it must be empty or an
// empty object.
func ParseNothing(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	return object(body, MaxBody, "", func(*reader, string, *fastjson.Value) bool { return false })
}

// tooDeep reports whether a body has more than maxDepth levels of nesting, without
// parsing it.
func tooDeep(body []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// loneSurrogate reports whether valid JSON has an unpaired surrogate escape. Parsers
// disagree on its value: a replacement character, or invalid UTF-8.
func loneSurrogate(body []byte) bool {
	for {
		at := bytes.IndexByte(body, '\\')
		if at < 0 {
			return false
		}
		body = body[at:]
		switch half := surrogate(body); {
		case half == 0:
			body = body[2:]
		case half == 'D' || surrogate(body[6:]) != 'D':
			return true
		default:
			body = body[12:]
		}
	}
}

// surrogate returns 'U' if a text begins with the escape of a high surrogate, 'D' for
// a low one, and 0 otherwise.
func surrogate(text []byte) byte {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' || text[2]|0x20 != 'd' {
		return 0
	}
	switch c := text[3] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return 'U'
	case c >= 'c' && c <= 'f':
		return 'D'
	}
	return 0
}

// reader reads the keys of one object.
type reader struct {
	at  string // path of the object with a trailing dot, or ""
	err error
}

// fields calls take for each key of an object. take returns false for an unknown key.
// The first error ends the walk.
func fields(v *fastjson.Value, at string, take func(r *reader, key string, v *fastjson.Value) bool) error {
	if v.Type() != fastjson.TypeObject {
		return core.Malformed(at, "must be an object")
	}
	r := &reader{}
	if at != "" {
		r.at = at + "."
	}
	seen := make(map[string]bool, 8)
	o, _ := v.Object()
	o.Visit(func(k []byte, v *fastjson.Value) {
		if r.err != nil {
			return
		}
		key := string(k)
		if seen[key] {
			r.err = core.Malformed(r.path(key), "occurs twice")
			return
		}
		seen[key] = true
		if !take(r, key, v) && r.err == nil {
			r.err = core.Malformed(r.path(key), "is not a key of this request")
		}
	})
	return r.err
}

func (r *reader) path(key string) string {
	const shown = 64
	if len(key) > shown {
		key = strings.ToValidUTF8(key[:shown], "") + "…"
	}
	return r.at + key
}

func (r *reader) fail(err error) bool {
	if r.err == nil && err != nil {
		r.err = err
	}
	return true
}

func (r *reader) wrongType(key, want string) bool {
	return r.fail(core.Malformed(r.path(key), "must be "+want))
}

// noNUL refuses U+0000, which programs in C take for the end of a text.
const noNUL = "must not contain the character U+0000"

// text stores a string; null does not change the field (clients 2.2.7).
func (r *reader) text(into **string, key string, v *fastjson.Value) bool {
	var s *string
	if r.longText(&s, key, v); s == nil {
		return true
	}
	if why := wrongText(*s); why != "" {
		return r.fail(core.Invalid(r.path(key), why))
	}
	*into = s
	return true
}

// wrongText returns why a text is not allowed, or "".
func wrongText(s string) string {
	switch {
	case len(s) > maxText:
		return "must not be longer than " + strconv.Itoa(maxText) + " bytes"
	case strings.IndexByte(s, 0) >= 0:
		return noNUL
	}
	return ""
}

// longText stores a string whose length only the limit of the body restricts; null does not
// change the field.
func (r *reader) longText(into **string, key string, v *fastjson.Value) bool {
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeString:
		s := string(v.GetStringBytes())
		*into = &s
	default:
		return r.wrongType(key, "a string")
	}
	return true
}

// boolean stores true or false; null does not change the field.
func (r *reader) boolean(into **bool, key string, v *fastjson.Value) bool {
	switch v.Type() {
	case fastjson.TypeNull:
	case fastjson.TypeTrue, fastjson.TypeFalse:
		b := v.Type() == fastjson.TypeTrue
		*into = &b
	default:
		return r.wrongType(key, "true or false")
	}
	return true
}

// integer stores a whole number of at least least, in any JSON notation, because Java
// clients send 1.7E12 and 5.0. Null does not change the field.
func (r *reader) integer(into **int64, key string, v *fastjson.Value, least int64) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	n, ok := int64Of(v)
	if !ok {
		return r.wrongType(key, "a whole number")
	}
	if n < least {
		return r.fail(core.Invalid(r.path(key), "must be "+strconv.FormatInt(least, 10)+" or more"))
	}
	*into = &n
	return true
}

// millis stores a time in epoch milliseconds, which may also be sent as text; see core.ParseTime.
func (r *reader) millis(into **int64, key string, v *fastjson.Value, least int64) bool {
	var n *int64
	if v.Type() == fastjson.TypeString {
		at, ok := core.ParseDate(string(v.GetStringBytes()))
		switch {
		case !ok:
			return r.fail(core.NoTime(r.path(key)))
		case int64(at) < least: // 0 means that no time is given
			return r.fail(core.Invalid(r.path(key), "must be later than the beginning of 1970"))
		}
		n = (*int64)(&at)
	} else if r.integer(&n, key, v, least); n != nil {
		if err := core.CheckMillis(r.path(key), *n); err != nil {
			return r.fail(err)
		}
	}
	if n != nil {
		*into = n
	}
	return true
}

// date is millis for a time whose zero value means that it is missing.
func (r *reader) date(into *core.Time, key string, v *fastjson.Value, least int64) bool {
	var n *int64
	if r.millis(&n, key, v, least); n != nil {
		*into = core.Time(*n)
	}
	return true
}

// int64Of returns the value of a whole number.
func int64Of(v *fastjson.Value) (int64, bool) {
	if v.Type() != fastjson.TypeNumber {
		return 0, false
	}
	if n, err := v.Int64(); err == nil {
		return n, true
	}
	return wholeNumber(string(v.MarshalTo(nil)))
}

// maxDecimal is the most characters of a decimal number without an exponent.
const maxDecimal = 32

// decimal stores the text of a number of 0 or more, without an exponent; null does
// not change the field.
func (r *reader) decimal(into **string, key string, v *fastjson.Value) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	if v.Type() != fastjson.TypeNumber {
		return r.wrongType(key, "a number")
	}
	s, ok := plainDecimal(string(v.MarshalTo(nil)), maxDecimal)
	if !ok || s[0] == '-' {
		return r.fail(core.Invalid(r.path(key), "must be 0 or more, with at most "+strconv.Itoa(maxDecimal)+" digits"))
	}
	*into = &s
	return true
}

// nested reads a nested object; null is ignored.
func (r *reader) nested(key string, v *fastjson.Value, take func(r *reader, key string, v *fastjson.Value) bool) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	return r.fail(fields(v, r.path(key), take))
}

// items calls take for each element of an array; null counts as an empty array. More
// than most elements are an error.
func (r *reader) items(key string, v *fastjson.Value, most int, take func(i int, v *fastjson.Value) error) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	list, err := v.Array()
	if err != nil {
		return r.wrongType(key, "an array")
	}
	if len(list) > most {
		return r.fail(core.TooMany(r.path(key), most))
	}
	for i, item := range list {
		if err := take(i, item); err != nil {
			return r.fail(err)
		}
	}
	return true
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// parsed parses a string and stores the result; null does not change the field.
func parsed[T any](r *reader, key string, v *fastjson.Value, into **T, parse func(field, s string) (T, error)) bool {
	var s *string
	if r.text(&s, key, v); s == nil {
		return true
	}
	t, err := parse(r.path(key), *s)
	if err != nil {
		return r.fail(err)
	}
	*into = &t
	return true
}

// setParsed is parsed for a value whose zero value means that it is missing.
func setParsed[T any](r *reader, key string, v *fastjson.Value, into *T, parse func(field, s string) (T, error)) bool {
	var t *T
	if parsed(r, key, v, &t, parse); t != nil {
		*into = *t
	}
	return true
}

// take reads a value with read and stores it, unless it is null.
func take[T any](read func(**T, string, *fastjson.Value) bool, into *T, key string, v *fastjson.Value) bool {
	var given *T
	ok := read(&given, key, v)
	if given != nil {
		*into = *given
	}
	return ok
}

// parsedItems parses the strings of an array and appends the results.
func parsedItems[T any](r *reader, key string, v *fastjson.Value, most int, into *[]T, parse func(field, s string) (T, error)) bool {
	return r.items(key, v, most, func(i int, v *fastjson.Value) error {
		at := element(r.path(key), i)
		text, err := textItem(at, v)
		if err != nil {
			return err
		}
		t, err := parse(at, text)
		*into = append(*into, t)
		return err
	})
}

// textItem returns an element of an array that must be a string.
func textItem(at string, v *fastjson.Value) (string, error) {
	if v.Type() != fastjson.TypeString {
		return "", core.Malformed(at, "must be a string")
	}
	s := string(v.GetStringBytes())
	if s == "" || len(s) > maxText {
		return "", core.Invalid(at, "must not be empty or longer than 4096 bytes")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", core.Invalid(at, noNUL)
	}
	return s, nil
}

// anyText is the parser of a text of any form.
func anyText(_, s string) (string, error) { return s, nil }

// same reads a string that must be equal to a value in the path.
func (r *reader) same(key string, v *fastjson.Value, want string) bool {
	var s *string
	r.text(&s, key, v)
	if s != nil && *s != want {
		return r.fail(core.Invalid(r.path(key), "must be the one in the path, or be left out"))
	}
	return true
}

// listParameters may occur several times; each adds to a list.
var listParameters = []string{"fields", "extraFields"}

// CheckQuery returns an error if a query, as sent, is ambiguous: it has a parameter
// twice, a semicolon, which some parsers read as "&", or invalid percent-encoding.
func CheckQuery(query string) error {
	var seen []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		if strings.Contains(pair, ";") {
			return core.Invalid("", "the query has a semicolon; separate parameters by an ampersand, and write %3B for one in a value")
		}
		name, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		_, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return core.Invalid("", "the query is not percent-encoded; write %25 for a percent sign")
		}
		if slices.Contains(seen, name) && !slices.Contains(listParameters, name) {
			return core.Invalid(name, "occurs twice in the query; give it once")
		}
		seen = append(seen, name)
	}
	return nil
}
