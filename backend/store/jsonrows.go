package store

import (
	"strconv"

	"github.com/tidwall/gjson"

	"kith/core"
)

// jsonRows is a list of rows as one parameter of a statement: an array of arrays,
// which the statement reads with json_each.
type jsonRows struct {
	b []byte
	// begun is true within a row, filled behind its first value.
	begun, filled bool
}

// row begins a row.
func (j *jsonRows) row() {
	switch {
	case !j.begun:
		j.b = append(j.b, '[', '[')
	default:
		j.b = append(j.b, ']', ',', '[')
	}
	j.begun, j.filled = true, false
}

func (j *jsonRows) comma() {
	if j.filled {
		j.b = append(j.b, ',')
	}
	j.filled = true
}

func (j *jsonRows) text(texts ...string) {
	for _, s := range texts {
		j.comma()
		j.b = gjson.AppendJSONString(j.b, s)
	}
}

func (j *jsonRows) textOrNull(s string) {
	if s == "" {
		j.null()
		return
	}
	j.text(s)
}

func (j *jsonRows) null() {
	j.comma()
	j.b = append(j.b, "null"...)
}

func (j *jsonRows) integer(n int64) {
	j.comma()
	j.b = strconv.AppendInt(j.b, n, 10)
}

func (j *jsonRows) boolean(b bool) { j.integer(int64(number(b))) }

// time writes times; zero is null.
func (j *jsonRows) time(times ...core.Time) {
	for _, t := range times {
		if t == 0 {
			j.null()
			continue
		}
		j.integer(int64(t))
	}
}

// texts writes a list of texts as one text, which is JSON itself.
func (j *jsonRows) texts(list []string) {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = gjson.AppendJSONString(b, s)
	}
	j.text(string(append(b, ']')))
}

// String is the parameter.
func (j *jsonRows) String() string {
	if !j.begun {
		return "[]"
	}
	return string(j.b) + "]]"
}
