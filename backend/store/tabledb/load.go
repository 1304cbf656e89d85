package tabledb

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/backend/store/userdb"
	"kith/core"
)

// Load says which rows LoadRows adds, and how.
type Load struct {
	// Tenant selects the rows of one tenant, which are added to those of others and
	// get new numbers in their order. If it is empty, all rows are added unchanged.
	Tenant core.TenantAlias
	// Shift is subtracted from the numbers of event calls if Tenant is set; see
	// IntakeShift.
	Shift int64
}

// LoadRows adds rows to a table and returns how many. They are lines as Dump writes
// them, each with a line feed. A shop's host that another tenant has is skipped.
func LoadRows(ctx context.Context, tx *store.Tx, t Table, lines []byte, how Load) (int, error) {
	if t.Name == sequences {
		// SQLite has already counted the rows that were loaded.
		if err := tx.Exec(ctx, "load "+t.Name, `DELETE FROM `+sequences); err != nil {
			return 0, err
		}
	}
	into, from := t.names(anyColumn), []string{}
	hex := bytes.Contains(lines, []byte(inHex))
	for _, c := range t.Columns {
		value := loaded(c, hex)
		if how.Tenant != "" {
			value = unleased(t, c, value)
		}
		from = append(from, value)
	}
	where, args := ``, []any{string(rowList(lines))}
	switch {
	case how.Tenant != "":
		where = ` WHERE value ->> ` + literal(t.Tenant) + ` = ?`
		args = append(args, string(how.Tenant))
		if t.Name == intake {
			from[0] += ` - ?`
			args = append([]any{how.Shift}, args...)
		} else if t.numbered() {
			into, from = into[1:], from[1:]
		}
	case t.hidden && t.Name != sequences:
		into, from = append(into, rowid), append(from, `value ->> 'rowid'`)
	}
	if t.Name == "site" {
		// Without WHERE, SQLite would parse ON as part of a join.
		where = strings.Replace(` WHERE true`+where, ` WHERE true WHERE`, ` WHERE`, 1) + ` ON CONFLICT DO NOTHING`
	}
	load := func() (int, error) {
		return tx.Count(ctx, "load "+t.Name, `INSERT INTO `+quoted(t.Name)+` (`+strings.Join(into, `, `)+`)
			SELECT `+strings.Join(from, `, `)+` FROM `+store.Elements(`?`)+where, args...)
	}
	if t.Name == users && t.numbered() {
		return userdb.IndexAdded(ctx, tx, load)
	}
	return load()
}

// unleased returns the value of a column of a tenant's row without the lease that the row had. The
// process that had it may run, but does not work on the restored row: the token becomes that of a
// process that does not exist, whose work others take over. A job gets a new attempt, so that
// nothing more is accepted of one that still runs.
func unleased(t Table, c Column, value string) string {
	const lease = `value ->> 'leased_by'`
	switch {
	case c.Name == "leased_by":
		return `'restored.' || (` + lease + `)`
	case t.Name == "job" && c.Name == "attempt":
		return value + ` + (` + lease + ` IS NOT NULL)`
	}
	return value
}

// loaded returns an SQL expression for the value of a column of a row in JSON.
func loaded(c Column, hex bool) string {
	value := `value ->> ` + literal(c.Name)
	unhexed := `unhex(value ->> ` + literal("$."+c.Name+".hex") + `)`
	switch {
	case !hex || c.Type == "INTEGER":
		return value
	case c.Type == "BLOB":
		return unhexed
	}
	return `CASE json_type(value, ` + literal("$."+c.Name) + `) WHEN 'object' THEN CAST(` + unhexed + ` AS TEXT) ELSE ` + value + ` END`
}

// literal returns a text as an SQL literal.
func literal(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// rowList returns lines as a JSON array.
func rowList(lines []byte) []byte {
	list := make([]byte, 0, len(lines)+2)
	list = append(list, '[')
	list = append(list, bytes.ReplaceAll(bytes.TrimSuffix(lines, []byte{'\n'}), []byte{'\n'}, []byte{','})...)
	return append(list, ']')
}

// IntakePosition is the state of the intake of a database.
type IntakePosition struct {
	// Cursor is the number of the latest processed event call.
	Cursor int64 `json:"cursor"`
	// Last is the number of the latest event call, 0 if the intake is empty.
	Last int64 `json:"last"`
}

var intakeColumns = store.Selection[IntakePosition]{
	store.Col(`(SELECT seq FROM intake_cursor)`, func(i *IntakePosition) any { return &i.Cursor }),
	store.Col(`(SELECT coalesce(max(seq), 0) FROM intake)`, func(i *IntakePosition) any { return &i.Last }),
}

// ReadIntakePosition returns the current state of the intake.
func ReadIntakePosition(ctx context.Context, r store.Reads) (i IntakePosition, err error) {
	_, err = intakeColumns.One(r.QueryRowContext(ctx, `SELECT `+intakeColumns.SQL()), "intake", &i)
	return i, err
}

// IntakeShift returns what to subtract from the numbers of event calls of another
// database, so that all of them precede those of this one: then the intake worker
// does not process them.
func IntakeShift(ctx context.Context, r store.Reads, from IntakePosition) (int64, error) {
	return store.One[int64](ctx, r, "intake shift", `SELECT ? + 1 - min(0, coalesce(min(seq), 0)) FROM intake`, from.Last)
}

// Requeue moves those event calls of a tenant that were loaded with a shift, and were
// not processed in the other database, to the end of the intake. calls is its table.
func Requeue(ctx context.Context, tx *store.Tx, calls Table, tenant core.TenantAlias, from IntakePosition, shift int64) error {
	kept := strings.Join(calls.names(func(c Column) bool { return c.Name != "seq" && c.Name != calls.Tenant }), `, `)
	args := []any{string(tenant), from.Cursor - shift, from.Last - shift}
	const waiting = ` FROM intake WHERE tenant = ?1 AND seq > ?2 AND seq <= ?3`
	err := tx.Exec(ctx, "requeue", `INSERT INTO intake (tenant, `+kept+`) SELECT tenant, `+kept+waiting+` ORDER BY seq`, args...)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "requeue", `DELETE`+waiting, args...)
}

// Run is one run of a restore of the whole database, or of a restore or an erasure of one
// tenant. A later run of the same takes over, as after a kill: then the transactions of the
// earlier one fail.
type Run struct {
	// Tenant is the tenant that is restored or erased, empty for the whole database.
	Tenant core.TenantAlias
	// ID is random.
	ID string
}

// NewRun returns a run that has not begun.
func NewRun(tenant core.TenantAlias) Run { return Run{tenant, rand.Text()} }

func (r Run) table() string {
	if r.Tenant != "" {
		return store.RunningTenants
	}
	return store.RestoringTable
}

// Begin ends the earlier runs.
func (r Run) Begin(ctx context.Context, tx *store.Tx) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS ` + r.table() + ` (tenant TEXT NOT NULL, run TEXT NOT NULL) STRICT`,
		`DELETE FROM ` + r.table() + ` WHERE tenant = ?1`,
		`INSERT INTO ` + r.table() + ` (tenant, run) VALUES (?1, ?2)`,
	} {
		args := []any{string(r.Tenant), r.ID}[:strings.Count(statement, `?`)]
		if err := tx.Exec(ctx, "begin run", statement, args...); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error of the code conflict if another run has begun. Each transaction of
// a run must call it.
func (r Run) Check(ctx context.Context, tx *store.Tx) error {
	runs, err := tx.HasTable(ctx, r.table())
	if err == nil && runs {
		runs, err = store.One[bool](ctx, tx.Reads, "run", `SELECT count(*) > 0 FROM `+r.table()+` WHERE tenant = ? AND run = ?`, string(r.Tenant), r.ID)
	}
	if err == nil && !runs {
		err = &core.Error{Code: core.CodeConflict, Message: "stopped: another restore or erasure of the same has begun meanwhile; run one at a time"}
	}
	return err
}

// End ends the run of one tenant.
func (r Run) End(ctx context.Context, tx *store.Tx) error {
	if err := r.Check(ctx, tx); err != nil {
		return err
	}
	return tx.Exec(ctx, "end run", `DELETE FROM `+store.RunningTenants+` WHERE tenant = ?`, string(r.Tenant))
}

// Announce marks an empty database as one that is being restored, so that no other command
// takes it for a new one before BeginRestore. It returns false if the database has tables, or
// a mark.
func (r Run) Announce(ctx context.Context, p *store.Primary, now core.Time) (bool, error) {
	return store.WriteValue(ctx, p.Write, now, func(tx *store.Tx) (bool, error) {
		begun, err := tx.HasTable(ctx, store.RestoringTable)
		if err != nil || begun {
			return false, err
		}
		all, err := Tables(ctx, tx.Reads)
		if err != nil || len(withoutSequences(all)) > 0 {
			return false, err
		}
		return true, r.Begin(ctx, tx)
	})
}

// Withdraw removes the mark of Announce, unless another run has begun.
func (r Run) Withdraw(ctx context.Context, p *store.Primary, now core.Time) error {
	return p.Write(ctx, now, func(tx *store.Tx) error {
		if r.Check(ctx, tx) != nil {
			return nil
		}
		return tx.Exec(ctx, "withdraw a restore", `DROP TABLE `+store.RestoringTable)
	})
}

// BeginRestore begins a restore into an empty database: until EndRestore no other
// process may use the database. It creates the tables of the given migrations,
// without rows. An earlier restore that did not end is discarded. It returns an error
// if the database has other tables, or if this program lacks any of the migrations.
func BeginRestore(ctx context.Context, p *store.Primary, now core.Time, run Run, versions []int) error {
	if err := store.CheckBackup(versions); err != nil {
		return err
	}
	err := p.WriteWithoutForeignKeys(ctx, now, func(tx *store.Tx) error {
		begun, err := tx.HasTable(ctx, store.RestoringTable)
		if err != nil {
			return err
		}
		all, err := Tables(ctx, tx.Reads)
		if err != nil {
			return err
		}
		all = withoutSequences(all)
		if len(all) > 0 && !begun {
			return &core.Error{Code: core.CodeConflict, Message: "the database is not empty: restore into a new one (move DATA/kith.db away, or give another --data), or one tenant with --tenant"}
		}
		drop, err := virtual(ctx, tx.Reads)
		if err != nil {
			return err
		}
		// The index is dropped first, and with the tables their triggers, which refer
		// to it.
		for _, t := range all {
			drop = append(drop, t.Name)
		}
		if begun {
			drop = append(drop, store.RestoringTable)
		}
		for _, name := range drop {
			if err := tx.Exec(ctx, "discard a restore", `DROP TABLE `+quoted(name)); err != nil {
				return err
			}
		}
		return run.Begin(ctx, tx)
	})
	if err != nil {
		return err
	}
	if err := p.MigrateTo(ctx, now, versions, run.Check); err != nil {
		return err
	}
	return p.WriteWithoutForeignKeys(ctx, now, func(tx *store.Tx) error {
		if err := run.Check(ctx, tx); err != nil {
			return err
		}
		all, err := Tables(ctx, tx.Reads)
		for _, t := range all {
			if err == nil {
				err = tx.Exec(ctx, "empty "+t.Name, `DELETE FROM `+quoted(t.Name))
			}
		}
		return err
	})
}

func withoutSequences(all []Table) []Table {
	kept := all[:0]
	for _, t := range all {
		if t.Name != sequences {
			kept = append(kept, t)
		}
	}
	return kept
}

// EndRestore brings a restored database to the newest schema and releases it for use.
// It returns an error if a row refers to a row that does not exist.
func EndRestore(ctx context.Context, p *store.Primary, now core.Time, run Run) error {
	broken, err := store.One[int](ctx, p.Reads, "check references", `SELECT count(*) FROM pragma_foreign_key_check`)
	if err != nil {
		return err
	}
	if broken > 0 {
		return fmt.Errorf("store: rows that refer to missing rows: %d", broken)
	}
	if err := p.MigrateTo(ctx, now, nil, run.Check); err != nil {
		return err
	}
	return p.Write(ctx, now, func(tx *store.Tx) error {
		if err := run.Check(ctx, tx); err != nil {
			return err
		}
		return tx.Exec(ctx, "end restore", `DROP TABLE `+store.RestoringTable)
	})
}
