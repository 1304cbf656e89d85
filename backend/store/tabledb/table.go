// Package tabledb reads, writes and erases whole tables, for backups, restores,
// erasures and exports of personal data. It finds the tables in the database's own
// schema.
package tabledb

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"kith/backend/store"
	"kith/core"
)

// Table is a table of the database's schema. Backups and erasures find the tables
// there, and not in a list, which might lack one.
type Table struct {
	Name    string
	Columns []Column
	// Tenant is the column with the tenant of a row; empty for a table of the whole
	// service, see ServiceTables.
	Tenant string
	// Derived is true if the table is filled from other tables when their rows are stored:
	// then archives leave it out, and a restore fills it again.
	Derived bool
	// key are the columns that order the rows.
	key []string
	// hidden is true if the key is the rowid and no column has it.
	hidden bool
}

// Column is a column of a table. Type is INTEGER, TEXT or BLOB.
type Column struct{ Name, Type string }

// Names of tables and columns with a special meaning.
const (
	// sequences is the table of the last number of each AUTOINCREMENT.
	sequences = "sqlite_sequence"
	tenants   = "tenant"
	users     = "user"
	intake    = "intake"
	rowid     = "rowid"
)

// ServiceTables are the tables whose rows belong to no tenant, in alphabetical order.
// All others have a column with the tenant.
var ServiceTables = []string{"backup_schedule", "failed_sign_in", "heartbeat", "intake_cursor", "master_key", "person", "person_identity", "person_recovery", "person_reset", "person_session", "readiness", "schema_version", sequences, "webhook_key", "worker_process"}

// derivedTables are the tables that triggers fill, or, with user_range, a statement for all
// new users (userdb.IndexNew).
var derivedTables = []string{"referral_day", "reward_day", "user_range", "visit_day"}

// schemaColumn is a column of a table as SQLite describes it: key is its position in
// the primary key, from 1, or 0; rowless is true in a table WITHOUT ROWID.
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

// Tables returns all tables in alphabetical order, with sqlite_sequence last.
func Tables(ctx context.Context, r store.Reads) ([]Table, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+schemaColumns.SQL()+`
		FROM pragma_table_list t JOIN pragma_table_info(t.name) c
		WHERE t.schema = 'main' AND t.type = 'table' AND (t.name = '`+sequences+`' OR t.name NOT LIKE 'sqlite\_%' ESCAPE '\')
			AND t.name NOT LIKE 'libsql\_%' ESCAPE '\' AND t.name NOT IN ('`+store.RestoringTable+`', '`+store.RunningTenants+`')
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
		t, keys := Table{Name: columns[0].table, Derived: slices.Contains(derivedTables, columns[0].table), hidden: !columns[0].rowless}, make([]string, n)
		for _, c := range columns[:n] {
			t.Columns = append(t.Columns, Column{c.name, c.kind})
			if c.name == "tenant" || t.Name == tenants && c.name == "alias" {
				t.Tenant = c.name
			}
			if c.key > 0 {
				keys[c.key-1] = c.name
			}
			if c.key > 0 && c.kind == "INTEGER" {
				// It is the rowid if it is the only column of the key.
				t.hidden = t.hidden && slices.ContainsFunc(columns[:n], func(o schemaColumn) bool { return o.key > 1 })
			}
		}
		if t.key = slices.DeleteFunc(keys, func(k string) bool { return k == "" }); t.hidden {
			t.key = []string{rowid}
		}
		all, columns = append(all, t), columns[n:]
	}
	// The sequences are final when all other tables are loaded.
	slices.SortStableFunc(all, func(a, b Table) int {
		return cmp.Compare(store.BoolInt(a.Name == sequences), store.BoolInt(b.Name == sequences))
	})
	return all, nil
}

// virtual returns the names of the virtual tables: indexes that triggers fill, so
// they are neither copied nor erased.
func virtual(ctx context.Context, r store.Reads) ([]string, error) {
	return store.List[string](ctx, r, "virtual tables", `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'virtual'`)
}

// numbered reports whether the database numbers the rows of a table.
func (t Table) numbered() bool { return len(t.key) == 1 && t.key[0] == "seq" }

// names returns the quoted names of the columns that keep returns true for.
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

// quoted returns a name of the schema as an SQL identifier.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quotedKey returns the columns of the key as SQL. No table has a column named rowid.
func (t Table) quotedKey() string {
	key := make([]string, len(t.key))
	for i, k := range t.key {
		key[i] = quoted(k)
	}
	return strings.Join(key, ", ")
}

// HasRows reports whether any table has a row of a tenant. If it does and the tenant
// does not exist, an erasure or a restore of the tenant did not end.
func HasRows(ctx context.Context, r store.Reads, tenant core.TenantAlias) (bool, error) {
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
	return store.One[bool](ctx, r, "rows of a tenant", `SELECT `+strings.Join(either, ` OR `), string(tenant))
}

// Aliases returns the aliases of all tenants, in alphabetical order.
func Aliases(ctx context.Context, r store.Reads) ([]core.TenantAlias, error) {
	return store.List[core.TenantAlias](ctx, r, "aliases", `SELECT alias FROM tenant ORDER BY alias`)
}

// Count returns the number of rows of a table.
func Count(ctx context.Context, r store.Reads, t Table) (int64, error) {
	return store.One[int64](ctx, r, "count rows", `SELECT count(*) FROM `+quoted(t.Name))
}
