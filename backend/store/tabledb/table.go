package tabledb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"kith/backend/store"
	"kith/core"
)

// Table is a table as the database has it, whatever migration made it. What is
// copied or erased as a whole is found by it, so that no list of tables can
// forget one.
type Table struct {
	Name    string
	Columns []Column
	// Tenant is the column that names whose a row is; empty for a table of the
	// whole service, see ServiceTables.
	Tenant string
	// key are the columns in whose order its rows are read.
	key []string
	// hidden is true when that is a rowid which is no column.
	hidden bool
}

// Column is a column of a table. Type is INTEGER, TEXT or BLOB.
type Column struct{ Name, Type string }

// Tables of SQLite and of this package that have a meaning of their own here.
const (
	// sequences holds the last number of each AUTOINCREMENT.
	sequences = "sqlite_sequence"
	tenants   = "tenant"
	users     = "user"
	intake    = "intake"
	rowid     = "rowid"
)

// ServiceTables are the tables whose rows belong to no tenant. All others have
// a column that names the tenant.
var ServiceTables = []string{"heartbeat", "intake_cursor", "master_key", "schema_version", sequences, "webhook_key"}

// schemaColumn is a column of a table as SQLite describes it: key is its place in
// the primary key, from 1, and rowless is true in a table WITHOUT ROWID.
type schemaColumn struct {
	table, name, kind string
	key               int
	rowless           bool
}

var schemaColumns = store.Selection[schemaColumn]{
	store.Col(`t.name`, func(c *schemaColumn) any { return &c.table }),
	store.Col(`c.name`, func(c *schemaColumn) any { return &c.name }),
	store.Col(`c.type`, func(c *schemaColumn) any { return &c.kind }),
	store.Col(`c.pk`, func(c *schemaColumn) any { return &c.key }),
	store.Col(`t.wr`, func(c *schemaColumn) any { return &c.rowless }),
}

// Tables returns all tables, by name, but the numbers of AUTOINCREMENT last.
func Tables(ctx context.Context, r store.Reads) ([]Table, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+schemaColumns.SQL()+`
		FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' AND (t.name = '`+sequences+`' OR t.name NOT LIKE 'sqlite\_%' ESCAPE '\')
			AND t.name NOT LIKE 'libsql\_%' ESCAPE '\' AND t.name <> '`+store.RestoringTable+`'
		ORDER BY t.name, c.cid`)
	columns, err := schemaColumns.All(rows, err, "tables")
	if err != nil {
		return nil, err
	}
	var all []Table
	for len(columns) > 0 {
		n := slices.IndexFunc(columns, func(c schemaColumn) bool { return c.table != columns[0].table })
		if n < 0 {
			n = len(columns)
		}
		t, keys := Table{Name: columns[0].table, hidden: !columns[0].rowless}, make([]string, n)
		for _, c := range columns[:n] {
			t.Columns = append(t.Columns, Column{c.name, c.kind})
			if c.name == "tenant" || t.Name == tenants && c.name == "alias" {
				t.Tenant = c.name
			}
			if c.key > 0 {
				keys[c.key-1] = c.name
			}
			if c.key > 0 && c.kind == "INTEGER" {
				// It is the rowid, when it is the only one.
				t.hidden = t.hidden && slices.ContainsFunc(columns[:n], func(o schemaColumn) bool { return o.key > 1 })
			}
		}
		if t.key = slices.DeleteFunc(keys, func(k string) bool { return k == "" }); t.hidden {
			t.key = []string{rowid}
		}
		all, columns = append(all, t), columns[n:]
	}
	// They are known when all else is there.
	slices.SortStableFunc(all, func(a, b Table) int {
		return cmp.Compare(store.BoolInt(a.Name == sequences), store.BoolInt(b.Name == sequences))
	})
	return all, nil
}

// virtual are the names of virtual tables: indexes that triggers fill, so that
// nothing of them is copied or erased by itself.
func virtual(ctx context.Context, r store.Reads) ([]string, error) {
	return store.List[string](ctx, r, "virtual tables", `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'`)
}

// numbered reports whether the rows of a table have numbers that the database
// gives them.
func (t Table) numbered() bool { return len(t.key) == 1 && t.key[0] == "seq" }

// names quotes the columns that keep returns true for.
func (t Table) names(keep func(Column) bool) []string {
	var names []string
	for _, c := range t.Columns {
		if keep(c) {
			names = append(names, quoted(c.Name))
		}
	}
	return names
}

func anyColumn(Column) bool { return true }

// quoted is a name from the schema as SQL.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedKey are the columns of the key as SQL. No table has a column named
// rowid.
func (t Table) quotedKey() string {
	key := make([]string, len(t.key))
	for i, k := range t.key {
		key[i] = quoted(k)
	}
	return strings.Join(key, ", ")
}

// HasRows reports whether any table has a row of the tenant, also when the
// tenant itself is not there: then an erasure or a restore of it did not end.
func HasRows(ctx context.Context, r store.Reads, tenant core.TenantAlias) (has bool, err error) {
	all, err := Tables(ctx, r)
	if err != nil {
		return false, err
	}
	var either []string
	for _, t := range all {
		if t.Tenant != "" {
			either = append(either, `EXISTS (SELECT 1 FROM `+quoted(t.Name)+` WHERE `+quoted(t.Tenant)+` = ?1)`)
		}
	}
	if len(either) == 0 {
		return false, nil
	}
	if err := r.QueryRowContext(ctx, `SELECT `+strings.Join(either, ` OR `), string(tenant)).Scan(&has); err != nil {
		return false, fmt.Errorf("store: rows of a tenant: %w", err)
	}
	return has, nil
}

// Aliases returns the aliases of all tenants.
func Aliases(ctx context.Context, r store.Reads) ([]core.TenantAlias, error) {
	return store.List[core.TenantAlias](ctx, r, "aliases", `SELECT alias FROM tenant ORDER BY alias`)
}
