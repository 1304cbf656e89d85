package store

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"kith/core"
)

// Put is a statement that stores rows of one tenant in a table. Values that are the
// same in all rows (see Tuples.Fold) are passed once. A server gets the other values
// as one JSON argument, because each statement is a round trip. A file gets them as
// VALUES of up to ManyRows rows, which takes half the time of reading JSON.
type Put struct {
	// Table is the name of the table.
	Table string
	// Columns are the columns of a row's values, without the tenant.
	Columns []string
	// At are columns that get the time of the transaction; it may be empty.
	At []string
	// Conflict is the ON CONFLICT clause. If it is empty, a row that exists already
	// is an error.
	Conflict string

	mu    sync.Mutex
	texts map[putShape]string
}

// putShape determines the text of a Put: the columns whose value is the same in all
// rows, and how many rows are passed as VALUES; 0 is any number, as JSON.
type putShape struct {
	same columnSet
	rows int
}

const (
	// ManyRows is how many rows one statement writes to a file. More are hardly
	// faster, and a statement of this size is prepared quickly. The rest is written
	// row by row, so the number of rows of a Put is best a multiple of it.
	ManyRows = 32
	// maxTexts limits the texts of a Put, each of which connections keep prepared.
	maxTexts = 16
)

// text returns the statement for rows of a shape, and the shape that the statement
// is for: once there are maxTexts texts, that of rows without common values.
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

// Statements returns the statement for rows as JSON and the one for two rows as
// VALUES, for tests that check them.
func (p *Put) Statements() []string { return []string{p.make(putShape{}), p.make(putShape{rows: 2})} }

// make returns a statement. Its first parameters are the tenant, the common values,
// and the time.
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
		given = append(given, `value ->> `+strconv.Itoa(i))
	}
	return text + `SELECT ` + strings.Join(given, `, `) + ` FROM ` + Elements(parameter()) + ` WHERE true ` + p.Conflict
}

// Put stores rows of a tenant with the statement p. Fold need not have been called.
func (tx *Tx) Put(ctx context.Context, p *Put, tenant core.TenantAlias, rows *Tuples) error {
	return tx.putBy(p, tenant, rows, func(text string, args []any) error { return tx.Exec(ctx, "put "+p.Table, text, args...) })
}

// PutCounted is like Put and returns how many rows were inserted or changed.
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

// common appends the arguments that a statement takes once.
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

// Columns returns the names in a comma-separated list.
func Columns(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
