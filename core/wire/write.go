package wire

import (
	"strconv"

	"github.com/tidwall/gjson"

	"kith/core"
)

func appendString(b []byte, s string) []byte { return gjson.AppendJSONString(b, s) }

// writer appends the members of one object in the order of the calls.
type writer struct {
	b     []byte
	comma bool
}

// begin returns a writer of an object, which is appended to b.
func begin(b []byte) writer { return writer{b: append(b, '{')} }

// end closes the object and returns what was written.
func (w *writer) end() []byte { return append(w.b, '}') }

func (w *writer) open() { w.b = append(w.b, '{'); w.comma = false }

func (w *writer) close() { w.b = append(w.b, '}'); w.comma = true }

func (w *writer) key(name string) {
	if w.comma {
		w.b = append(w.b, ',')
	}
	w.comma = true
	w.b = appendString(w.b, name)
	w.b = append(w.b, ':')
}

func (w *writer) text(name, s string) { w.key(name); w.b = appendString(w.b, s) }

// textOrNull writes null for an empty string.
func (w *writer) textOrNull(name, s string) {
	if s == "" {
		w.raw(name, "null")
		return
	}
	w.text(name, s)
}

func (w *writer) number(name string, n int64) {
	w.key(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// numberOrNull writes null for 0.
func (w *writer) numberOrNull(name string, n int64) {
	if n == 0 {
		w.raw(name, "null")
		return
	}
	w.number(name, n)
}

// date writes null for "never" (clients 0.1).
func (w *writer) date(name string, t core.Time) { w.numberOrNull(name, int64(t)) }

func (w *writer) boolean(name string, v bool) { w.raw(name, strconv.FormatBool(v)) }

// raw writes a value that is already JSON.
func (w *writer) raw(name, json string) { w.key(name); w.b = append(w.b, json...) }

// rawOrNull writes null for an empty string.
func (w *writer) rawOrNull(name, json string) {
	if json == "" {
		json = "null"
	}
	w.raw(name, json)
}

// object writes a nested object.
func (w *writer) object(name string, members func()) {
	w.key(name)
	w.open()
	members()
	w.close()
}

// objectOrNull writes a nested object if there is one.
func (w *writer) objectOrNull(name string, exists bool, members func()) {
	if !exists {
		w.raw(name, "null")
		return
	}
	w.object(name, members)
}

// list writes an array of n elements; one appends element i.
func (w *writer) list(name string, n int, one func(b []byte, i int) []byte) {
	w.key(name)
	w.b = list(w.b, n, one)
}

// texts writes an array of strings.
func (w *writer) texts(name string, all []string) {
	w.key(name)
	w.b = appendTexts(w.b, all)
}

// list appends an array of n elements; one appends element i.
func list(b []byte, n int, one func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, i)
	}
	return append(b, ']')
}

func appendTexts(b []byte, texts []string) []byte {
	return list(b, len(texts), func(b []byte, i int) []byte { return appendString(b, texts[i]) })
}

// pageOf returns a page of a list as JSON: {count, totalCount, NAME}. total is the number of
// elements on all pages; one appends an element.
func pageOf[T any](name string, page []T, total int, one func(b []byte, t T) []byte) []byte {
	w := begin(nil)
	w.number("count", int64(len(page)))
	w.number("totalCount", int64(total))
	w.list(name, len(page), func(b []byte, i int) []byte { return one(b, page[i]) })
	return w.end()
}

// pageBefore returns a page of a list in falling order: {count, NAME, next}. next is the
// parameter before of the next page; zero becomes null.
func pageBefore[T any](name string, page []T, next int64, one func(b []byte, t T) []byte) []byte {
	w := begin(nil)
	w.number("count", int64(len(page)))
	w.list(name, len(page), func(b []byte, i int) []byte { return one(b, page[i]) })
	w.numberOrNull("next", next)
	return w.end()
}
