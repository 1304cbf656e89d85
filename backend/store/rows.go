package store

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/core"
)

// tuples are rows for a statement: their values one after the other, each of a
// row at the same place in it.
type tuples struct {
	// values are texts, integers and nil.
	values []any
	rows   int
	// told is what String said; no row is added after.
	told string
}

// row begins a row.
func (t *tuples) row() { t.rows++ }

// room makes room for rows of a statement.
func (t *tuples) room(p *put, rows int) {
	t.values = slices.Grow(t.values, rows*(1+strings.Count(p.columns, ",")))
}

func (t *tuples) text(texts ...string) {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			// A server breaks on such a text, and JSON cannot hold it.
			s = string([]rune(s))
		}
		t.values = append(t.values, s)
	}
}

func (t *tuples) textOrNull(s string) {
	if s == "" {
		t.null()
		return
	}
	t.text(s)
}

func (t *tuples) null() { t.values = append(t.values, nil) }

func (t *tuples) integer(n int64) { t.values = append(t.values, n) }

func (t *tuples) boolean(b bool) { t.integer(int64(number(b))) }

// time writes times; zero is null.
func (t *tuples) time(times ...core.Time) {
	for _, one := range times {
		if one == 0 {
			t.null()
			continue
		}
		t.integer(int64(one))
	}
}

// texts writes a list of texts as one text, which is JSON.
func (t *tuples) texts(list []string) {
	if len(list) == 0 {
		t.text("[]")
		return
	}
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = gjson.AppendJSONString(b, s)
	}
	t.text(string(append(b, ']')))
}

// String is the rows as one parameter: an array of arrays, which a statement reads
// with json_each.
func (t *tuples) String() string {
	if t.told == "" {
		t.told = t.json()
	}
	return t.told
}

func (t *tuples) json() string {
	if t.rows == 0 {
		return "[]"
	}
	width := len(t.values) / t.rows
	b := []byte{'['}
	for i, v := range t.values {
		switch {
		case i == 0:
			b = append(b, '[')
		case i%width == 0:
			b = append(b, ']', ',', '[')
		default:
			b = append(b, ',')
		}
		switch v := v.(type) {
		case string:
			b = gjson.AppendJSONString(b, v)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		default:
			b = append(b, "null"...)
		}
	}
	return string(append(b, ']', ']'))
}

// put is a statement that stores rows of one tenant in a table. On a server it
// takes them as one JSON argument, since each statement is a round trip; on a file
// as values of a few dozen rows, which takes half the time of reading JSON.
type put struct {
	// table and columns are where the values of a row go, besides its tenant.
	table, columns string
	// at are columns with the time of the transaction, or empty.
	at string
	// conflict says what becomes of rows that are there; empty: it is an error.
	conflict string
	// whole has the rows of a file in one statement too, as JSON.
	whole bool

	// JSON, one and many are the statement for any number of rows, for one, and for
	// manyRows of them.
	json, one, many string
}

// manyRows is how many rows a statement on a file takes: more are hardly faster,
// and a statement of so many values is prepared in no time.
const manyRows = 32

// statement makes a put.
func statement(p put) *put {
	width, stamps := len(strings.Split(p.columns, ",")), 0
	into := `INSERT INTO ` + p.table + ` (tenant, ` + p.columns
	if p.at != "" {
		stamps = len(strings.Split(p.at, ","))
		into += `, ` + p.at
	}
	into += `) `
	var given []string
	for i := range width {
		given = append(given, `v ->> `+strconv.Itoa(i))
	}
	// Materialized, each row is made a text once, not once for each of its values.
	p.json = `WITH given (v) AS MATERIALIZED (SELECT value FROM json_each(?2)) ` + into + `SELECT ?1, ` +
		strings.Join(given, `, `) + strings.Repeat(`, ?3`, stamps) + ` FROM given WHERE true ` + p.conflict
	row := `(` + placeholders(1+width+stamps) + `)`
	p.one = into + `VALUES ` + row + ` ` + p.conflict
	p.many = into + `VALUES ` + strings.Repeat(row+`, `, manyRows-1) + row + ` ` + p.conflict
	return &p
}

// put stores rows of a tenant and returns how many were stored or changed.
func (tx *Tx) put(ctx context.Context, p *put, tenant core.TenantAlias, rows *tuples) (n int, err error) {
	if rows.rows == 0 {
		return 0, nil
	}
	if !tx.embedded || p.whole && rows.rows > 1 {
		args := []any{string(tenant), rows.String()}
		if p.at != "" {
			args = append(args, int64(tx.Now)) // a server takes no more than a statement has
		}
		return tx.count(ctx, "put "+p.table, p.json, args...)
	}
	width := len(rows.values) / rows.rows
	var args []any
	for from := 0; from < rows.rows; {
		text, take := p.one, 1
		if rows.rows-from >= manyRows {
			text, take = p.many, manyRows
		}
		args = tx.arguments(args[:0], p, tenant, rows.values[from*width:(from+take)*width], width)
		stored, err := tx.count(ctx, "put "+p.table, text, args...)
		if err != nil {
			return n, err
		}
		n, from = n+stored, from+take
	}
	return n, nil
}

// arguments adds to args those of a statement with the values of some rows.
func (tx *Tx) arguments(args []any, p *put, tenant core.TenantAlias, values []any, width int) []any {
	same, now := any(string(tenant)), any(int64(tx.Now))
	stamps := 0
	if p.at != "" {
		stamps = 1 + strings.Count(p.at, ",")
	}
	args = slices.Grow(args, len(values)/width*(1+width+stamps))
	for ; len(values) > 0; values = values[width:] {
		args = append(append(args, same), values[:width]...)
		for range stamps {
			args = append(args, now)
		}
	}
	return args
}
