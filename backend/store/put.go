package store

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"kith/core"
)

// Put is a statement that stores rows of one tenant in a table. What all rows have
// in common it takes once. The rest a server takes as one JSON argument, since each
// statement is a round trip; a file as values of a few dozen rows, which takes half
// the time of reading JSON.
type Put struct {
	// table and columns are where the values of a row go, besides its tenant.
	Table   string
	Columns []string
	// at are columns with the time of the transaction, or none.
	At []string
	// conflict says what becomes of rows that are there; empty: it is an error.
	Conflict string

	mu    sync.Mutex
	texts map[putShape]string
}

// putShape is what the text of a put follows from: the columns that all rows have in
// common, and how many rows it takes as values; 0 is any number as JSON.
type putShape struct {
	same columnSet
	rows int
}

const (
	// ManyRows is how many rows a statement on a file takes: more are hardly faster,
	// and a statement of so many values is prepared in no time. What is left over is
	// written row by row, so parts of a batch are best a multiple of it.
	ManyRows = 32
	// maxTexts bounds the texts of a put, each of which connections keep prepared.
	maxTexts = 16
)

// text is the statement for rows of a shape, and the shape that it is for: when
// there were many others, one for rows that have nothing in common.
func (p *Put) text(s putShape) (string, putShape) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.texts[s]
	if !ok && len(p.texts) >= maxTexts {
		s.same = 0
		text, ok = p.texts[s]
	}
	if !ok {
		text = p.make(s)
		if p.texts == nil {
			p.texts = map[putShape]string{}
		}
		p.texts[s] = text
	}
	return text, s
}

// Statements are those for a list as JSON and for two rows as values.
func (p *Put) Statements() []string { return []string{p.make(putShape{}), p.make(putShape{rows: 2})} }

// make writes a statement. Its first parameters are the tenant, what the rows have
// in common, and the time.
func (p *Put) make(s putShape) string {
	into, given := []string{"tenant"}, []string{"?1"}
	last := 1
	parameter := func() string {
		last++
		return "?" + strconv.Itoa(last)
	}
	var own []string
	for i, name := range p.Columns {
		if s.same.has(i) {
			into, given = append(into, name), append(given, parameter())
		} else {
			own = append(own, name)
		}
	}
	if len(p.At) > 0 {
		time := parameter()
		for _, name := range p.At {
			into, given = append(into, name), append(given, time)
		}
	}
	text := `INSERT INTO ` + p.Table + ` (` + strings.Join(append(into, own...), `, `) + `) `
	if s.rows > 0 {
		// A parameter without a number is the next one.
		for range own {
			given = append(given, "?")
		}
		row := `(` + strings.Join(given, `, `) + `)`
		return text + `VALUES ` + strings.Repeat(row+`, `, s.rows-1) + row + ` ` + p.Conflict
	}
	for i := range own {
		given = append(given, `v ->> `+strconv.Itoa(i))
	}
	// Materialized, each row is made a text once, not once for each of its values.
	return `WITH given (v) AS MATERIALIZED (SELECT value FROM json_each(` + parameter() + `)) ` + text +
		`SELECT ` + strings.Join(given, `, `) + ` FROM given WHERE true ` + p.Conflict
}

// Put stores rows of a tenant, which were folded or not.
func (tx *Tx) Put(ctx context.Context, p *Put, tenant core.TenantAlias, rows *Tuples) error {
	return tx.putBy(p, tenant, rows, func(text string, args []any) error { return tx.Exec(ctx, "put "+p.Table, text, args...) })
}

// PutCounted is put; it returns how many rows were stored or changed.
func (tx *Tx) PutCounted(ctx context.Context, p *Put, tenant core.TenantAlias, rows *Tuples) (n int, err error) {
	err = tx.putBy(p, tenant, rows, func(text string, args []any) error {
		stored, err := tx.Count(ctx, "put "+p.Table, text, args...)
		n += stored
		return err
	})
	return n, err
}

func (tx *Tx) putBy(p *Put, tenant core.TenantAlias, rows *Tuples, run func(text string, args []any) error) error {
	if rows.Rows == 0 {
		return nil
	}
	if !tx.Embedded && rows.Rows > 1 {
		text := p.make(putShape{same: rows.same})
		return run(text, append(tx.common(nil, p, tenant, rows, rows.same), rows.String()))
	}
	width := len(rows.values) / rows.Rows
	var args []any
	for from := 0; from < rows.Rows; {
		take := 1
		if rows.Rows-from >= ManyRows {
			take = ManyRows
		}
		text, shape := p.text(putShape{rows.same, take})
		args = tx.common(args[:0], p, tenant, rows, shape.same)
		for i, v := range rows.values[from*width : (from+take)*width] {
			if !shape.same.has(i % width) {
				args = append(args, v)
			}
		}
		if err := run(text, args); err != nil {
			return err
		}
		from += take
	}
	return nil
}

// common adds to args those that a statement takes once.
func (tx *Tx) common(args []any, p *Put, tenant core.TenantAlias, rows *Tuples, same columnSet) []any {
	args = append(args, string(tenant))
	for i := range p.Columns {
		if same.has(i) {
			args = append(args, rows.values[i])
		}
	}
	if len(p.At) > 0 {
		args = append(args, int64(tx.Now))
	}
	return args
}

// Columns are the columns of a list as SQL has it.
func Columns(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
