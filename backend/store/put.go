package store

import (
	"context"
	"slices"
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
	// Key is the column that identifies a row. If it is set, the statement changes rows that
	// exist, and adds none.
	Key string

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

// numbered counts the numbered parameters of a statement.
type numbered int

func (n *numbered) next() string {
	*n++
	return "?" + strconv.Itoa(int(*n))
}

// make returns a statement. Its first parameters are the tenant, the common values,
// and the time.
func (p *Put) make(s putShape) string {
	parameters := numbered(1)
	if p.Key != "" {
		return p.update(s, &parameters)
	}
	into, given := []string{"tenant"}, []string{"?1"}
	var own []string
	for i, name := range p.Columns {
		if s.same.has(i) {
			into, given = append(into, name), append(given, parameters.next())
		} else {
			own = append(own, name)
		}
	}
	if len(p.At) > 0 {
		time := parameters.next()
		for _, name := range p.At {
			into, given = append(into, name), append(given, time)
		}
	}
	text := `INSERT INTO ` + p.Table + ` (` + strings.Join(append(into, own...), `, `) + `) `
	if s.rows > 0 {
		return text + values(s.rows, given, len(own), &parameters) + ` ` + p.Conflict
	}
	for i := range own {
		given = append(given, `value ->> `+strconv.Itoa(i))
	}
	return text + `SELECT ` + strings.Join(given, `, `) + ` FROM ` + Elements(parameters.next()) + ` WHERE true ` + p.Conflict
}

// update returns the statement of a Put with a Key. Without MATERIALIZED, SQLite would read all
// rows of the tenant.
func (p *Put) update(s putShape, parameters *numbered) string {
	var own, set, elements []string
	find := ""
	for i, name := range p.Columns {
		value := "given." + name
		if s.same.has(i) {
			value = parameters.next()
		} else {
			elements = append(elements, `value ->> `+strconv.Itoa(len(own)))
			own = append(own, name)
		}
		if name == p.Key {
			find = value
		} else {
			set = append(set, name+` = `+value)
		}
	}
	given := `SELECT ` + strings.Join(elements, `, `) + ` FROM `
	if s.rows > 0 {
		given = values(s.rows, nil, len(own), parameters)
	} else {
		given += Elements(parameters.next())
	}
	change := `UPDATE ` + p.Table + ` SET ` + strings.Join(set, `, `) + ` FROM given WHERE ` + p.Table + `.tenant = ?1 AND ` + p.Table + `.` + p.Key + ` = ` + find
	return `WITH given (` + strings.Join(own, `, `) + `) AS MATERIALIZED (` + given + `) ` + change
}

// values returns VALUES of rows, which begin with what is the same in all.
func values(rows int, same []string, own int, parameters *numbered) string {
	all := make([]string, rows)
	for i := range all {
		row := slices.Clone(same)
		for range own {
			row = append(row, parameters.next())
		}
		all[i] = `(` + strings.Join(row, `, `) + `)`
	}
	return `VALUES ` + strings.Join(all, `, `)
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
