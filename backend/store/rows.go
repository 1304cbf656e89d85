package store

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
)

// Tuples are the rows of a statement: Row begins a row, and the other methods add
// its values, in the order of the columns. All rows have the same number of
// values. The zero value is empty and ready to use.
type Tuples struct {
	// values are texts, integers and nil.
	values []any
	// Rows is the number of rows. Row counts it.
	Rows int
	// same has the columns whose value is the same in all rows; see Fold.
	same columnSet
	// encoded is the result of String, after which no row is added.
	encoded string
}

// columnSet is a set of columns of a row: one bit for each.
type columnSet uint64

func (s columnSet) has(column int) bool { return s>>column&1 == 1 }

// Row begins a row.
func (t *Tuples) Row() { t.Rows++ }

// Grow allocates memory for rows of a statement.
func (t *Tuples) Grow(p *Put, rows int) { t.values = slices.Grow(t.values, rows*len(p.Columns)) }

// Text adds texts. Bytes that are not UTF-8 become U+FFFD.
func (t *Tuples) Text(texts ...string) {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			// A server fails on such a text, and JSON cannot represent it.
			s = string([]rune(s))
		}
		t.values = append(t.values, s)
	}
}

// TextOrNull adds a text; "" is NULL.
func (t *Tuples) TextOrNull(s string) {
	if s == "" {
		t.null()
		return
	}
	t.Text(s)
}

func (t *Tuples) null() { t.values = append(t.values, nil) }

// Integer adds an integer.
func (t *Tuples) Integer(n int64) { t.values = append(t.values, n) }

// IntegerOrNull adds n, or NULL if it is not given.
func (t *Tuples) IntegerOrNull(n int64, given bool) {
	if given {
		t.Integer(n)
	} else {
		t.null()
	}
}

// Boolean adds 1 for true and 0 for false.
func (t *Tuples) Boolean(b bool) { t.Integer(int64(BoolInt(b))) }

// Time adds times; zero is NULL.
func (t *Tuples) Time(times ...core.Time) {
	for _, one := range times {
		if one == 0 {
			t.null()
			continue
		}
		t.Integer(int64(one))
	}
}

// Texts adds a list of texts as one value: a JSON array.
func (t *Tuples) Texts(list []string) { t.Text(TextList(list)) }

// TextList returns a list of texts as one parameter: a JSON array, which a
// statement reads with json_each.
func TextList[S ~string](list []S) string {
	size := 2
	for _, s := range list {
		size += len(s) + 4
	}
	b := append(make([]byte, 0, size), '[')
	for _, s := range list {
		b = append(gjson.AppendJSONString(b, string(s)), ',')
	}
	return string(append(bytes.TrimSuffix(b, []byte{','}), ']'))
}

// Elements returns an SQL table with the columns key and value: the elements of the JSON
// array that is a parameter, such as ?2. A statement that uses the value of an element
// several times reads it from here: json_each writes an object or array as text again for
// each use of its column value.
func Elements(parameter string) string {
	return `(WITH part AS MATERIALIZED (SELECT key, value FROM json_each(` + parameter + `)) SELECT key, value FROM part)`
}

// Fold finds the columns whose value is the same in all rows. A statement then takes
// these values once, and String leaves them out. Most columns of an import file are
// empty in all rows.
func (t *Tuples) Fold() {
	if t.Rows < 2 {
		return
	}
	width := len(t.values) / t.Rows
	for column := range width {
		first, same := t.values[column], true
		for at := column + width; same && at < len(t.values); at += width {
			same = t.values[at] == first
		}
		if same {
			t.same |= 1 << column
		}
	}
}

// String returns the rows as one parameter: a JSON array of arrays, which a
// statement reads with json_each. No row may be added after.
func (t *Tuples) String() string {
	if t.encoded == "" {
		t.encoded = t.json()
	}
	return t.encoded
}

func (t *Tuples) json() string {
	width, size := len(t.values)/max(t.Rows, 1), 2+2*t.Rows+8*len(t.values)
	for _, v := range t.values {
		if s, ok := v.(string); ok {
			size += len(s)
		}
	}
	b := append(make([]byte, 0, size), '[')
	for row := range t.Rows {
		b = append(b, '[')
		for column, v := range t.values[row*width : (row+1)*width] {
			if !t.same.has(column) {
				b = append(appendJSON(b, v), ',')
			}
		}
		b = append(bytes.TrimSuffix(b, []byte{','}), ']', ',')
	}
	return string(append(bytes.TrimSuffix(b, []byte{','}), ']'))
}

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return gjson.AppendJSONString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	}
	return append(b, "null"...)
}
