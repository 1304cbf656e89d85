package tabledb

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"kith/backend/store"
	"kith/core"
)

const (
	// pageBytes limits the size of a page. A single row may be larger.
	pageBytes = 1 << 20
	// pageRows limits the number of rows of a page.
	pageRows = 5000
)

// Dump calls row with each row of a table, in the order of the key. If tenant is not
// empty, only with the rows of that tenant. A row is a JSON object, without a line
// feed, that has the columns for which keep returns true; a nil keep selects all.
// Values that JSON cannot represent are {"hex":"…"}: blobs, and texts that are not
// UTF-8 or have a U+0000. A table that is ordered by rowid, and has no column for it,
// has it as "rowid". The slice is valid until row returns.
//
// Dump reads page by page, because a response of a server is limited to 10 MB; run it
// in a Snapshot, so that all pages are of one moment.
func Dump(ctx context.Context, r store.Reads, t Table, tenant core.TenantAlias, keep func(Column) bool, row func(line []byte) error) error {
	if keep == nil {
		keep = anyColumn
	}
	d := dumper{t: t, keep: keep, row: row}
	if tenant != "" {
		// Scanning the whole table in the order of rowids needs no memory for
		// sorting, and the rows of a tenant are in the order of their creation.
		d.fullScan = len(t.key) == 1
		d.where, d.args = quoted(t.Tenant)+` = ?`, []any{string(tenant)}
	}
	return d.all(ctx, r)
}

// all dumps page by page.
func (d *dumper) all(ctx context.Context, r store.Reads) error {
	for {
		n, err := d.pageSize(ctx, r)
		if err == nil && n > 0 {
			err = d.page(ctx, r, n)
		}
		if err != nil {
			return fmt.Errorf("store: dump %s: %w", d.t.Name, err)
		}
		if n == 0 {
			return nil
		}
	}
}

type dumper struct {
	t Table
	// where is the condition of the rows, with its args; empty: all.
	where string
	args  []any
	// fullScan is true to scan the whole table without an index.
	fullScan bool
	keep     func(Column) bool
	row      func([]byte) error
	// after is the key of the last row that was dumped, nil before the first.
	after []any
	line  []byte
}

// remaining returns the FROM clause and what follows it, for the remaining rows, and
// the arguments; the last argument, the limit, is missing.
func (d *dumper) remaining() (string, []any) {
	from, where, args := ` FROM `+quoted(d.t.Name), []string{}, append([]any{}, d.args...)
	if d.fullScan {
		from += ` NOT INDEXED`
	}
	if d.where != "" {
		where = append(where, d.where)
	}
	if d.after != nil {
		where = append(where, `(`+d.t.quotedKey()+`) > (`+store.Placeholders(len(d.t.key))+`)`)
		args = append(args, d.after...)
	}
	if len(where) > 0 {
		from += ` WHERE ` + strings.Join(where, ` AND `)
	}
	return from + ` ORDER BY ` + d.t.quotedKey() + ` LIMIT ?`, args
}

// pageSize returns the number of rows of the next page: as many as fit into
// pageBytes, but at least 1. It is 0 after the last row.
func (d *dumper) pageSize(ctx context.Context, r store.Reads) (n int, err error) {
	size := `0`
	for _, c := range d.t.Columns {
		if c.Type != "INTEGER" {
			size += ` + coalesce(octet_length(` + quoted(c.Name) + `), 0)`
		}
	}
	from, args := d.remaining()
	err = r.QueryRowContext(ctx, `SELECT count(*) FROM (
			SELECT sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS before FROM (SELECT `+size+` AS size`+from+`))
		WHERE before < ?`, append(args, pageRows, pageBytes)...).Scan(&n)
	return n, err
}

func (d *dumper) page(ctx context.Context, r store.Reads, n int) error {
	from, args := d.remaining()
	rows, err := r.QueryContext(ctx, `SELECT `+d.t.quotedKey()+`, `+strings.Join(d.t.names(anyColumn), `, `)+from, append(args, n)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	values := make([]any, len(d.t.key)+len(d.t.Columns))
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := d.write(values); err != nil {
			return err
		}
	}
	d.after = append([]any{}, values[:len(d.t.key)]...)
	return rows.Err()
}

func (d *dumper) write(values []any) (err error) {
	d.line = append(d.line[:0], '{')
	if d.t.hidden && d.t.Name != sequences {
		d.line, err = field(d.line, rowid, values[0])
	}
	for i, c := range d.t.Columns {
		if err == nil && d.keep(c) {
			d.line, err = field(d.line, c.Name, values[len(d.t.key)+i])
		}
	}
	if err != nil {
		return err
	}
	return d.row(append(d.line, '}'))
}

// field appends a name and its value to a JSON object.
func field(line []byte, name string, value any) ([]byte, error) {
	if len(line) > 1 {
		line = append(line, ',')
	}
	line = append(gjson.AppendJSONString(line, name), ':')
	switch v := value.(type) {
	case nil:
		return append(line, "null"...), nil
	case int64:
		return strconv.AppendInt(line, v, 10), nil
	case string:
		if utf8.ValidString(v) && strings.IndexByte(v, 0) < 0 {
			return gjson.AppendJSONString(line, v), nil
		}
		return appendHex(line, []byte(v)), nil
	case []byte:
		return appendHex(line, v), nil
	}
	return nil, fmt.Errorf("%s: values of the type %T cannot be dumped", name, value)
}

// inHex is the beginning of a value in hex. It cannot occur in a JSON string, where
// quotation marks are escaped.
const inHex = `:{"hex":"`

func appendHex(line, value []byte) []byte {
	line = append(line, inHex[1:]...)
	line = hex.AppendEncode(line, value)
	return append(line, `"}`...)
}
