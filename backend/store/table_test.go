package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/sqldtest"
	"kith/backend/store/tabledb"
	"kith/core"
)

// Each table has a tenant column or is listed as a table of the whole service:
// otherwise a backup of a tenant would lack its rows, and an erasure leave them.
func TestTables_EveryRowHasAnOwner(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		all, err := tabledb.Tables(t.Context(), b.db.Reads)
		require.NoError(t, err)
		var service []string
		for _, table := range all {
			if table.Tenant == "" {
				service = append(service, table.Name)
			}
			for _, c := range table.Columns {
				// Other types have no form in an archive.
				require.True(t, slices.Contains([]string{"INTEGER", "TEXT", "BLOB"}, c.Type) || table.Name == "sqlite_sequence", "%s.%s is %s", table.Name, c.Name, c.Type)
				require.NotEqual(t, "rowid", c.Name)
			}
		}
		for _, table := range all {
			require.NoError(t, tabledb.DumpPersonal(t.Context(), b.db.Reads, table, b.tenant, "a", "u", func([]byte) error { return nil }), "add the table to PersonalData in tabledb/personal.go")
		}
		slices.Sort(service)
		require.Equal(t, tabledb.ServiceTables, service, "a table has no column named tenant: add one, or list the table in ServiceTables")
		var count int
		require.NoError(t, b.raw(t).QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT GLOB 'user_index*' AND name NOT GLOB 'restoring*'`).Scan(&count), "a virtual table is not copied: triggers must fill it")
		require.Len(t, all, count+1)
	})
}

// dump returns the lines of a table.
func dump(t *testing.T, r store.Reads, name string, tenant core.TenantAlias) (lines []string) {
	t.Helper()
	all, err := tabledb.Tables(t.Context(), r)
	require.NoError(t, err)
	for _, table := range all {
		if table.Name == name {
			require.NoError(t, tabledb.Dump(t.Context(), r, table, tenant, nil, func(line []byte) error {
				lines = append(lines, string(line))
				return nil
			}))
			return lines
		}
	}
	t.Fatal("no table ", name)
	return nil
}

// Pages are limited in size and lose no row: neither rows larger than a page, nor
// many small ones, nor rows whose keys begin with the same column.
func TestDump_PagesJoin(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		sizes := []int{3, 2 << 20, 1, 900 << 10, 900 << 10, 2 << 20, 2 << 20, 5}
		var want []string
		db := b.raw(t)
		for i, size := range sizes {
			_, err := db.ExecContext(t.Context(), `INSERT INTO intake (tenant, account_id, user_id, events, received_at) VALUES (?, 'a', ?, ?, 1)`,
				string(b.tenant), fmt.Sprint(i), `["`+strings.Repeat("x", size)+`"]`)
			require.NoError(t, err)
			want = append(want, fmt.Sprint(i, " ", size+4))
		}
		var got []string
		for _, line := range dump(t, b.db.Reads, "intake", b.tenant) {
			var row struct {
				User   string `json:"user_id"`
				Events string `json:"events"`
			}
			require.NoError(t, json.Unmarshal([]byte(line), &row))
			got = append(got, fmt.Sprint(row.User, " ", len(row.Events)))
		}
		require.Equal(t, want, got)

		const many = 12_345
		_, err := db.ExecContext(t.Context(), `INSERT INTO do_not_track (tenant, identity, created_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT ?, i, 1 FROM n`, many, string(b.tenant))
		require.NoError(t, err)
		lines := dump(t, b.db.Reads, "do_not_track", b.tenant)
		require.Len(t, lines, many)
		require.True(t, slices.IsSorted(lines))
		require.Len(t, slices.Compact(lines), many)
	})
}

// Values that JSON cannot represent are dumped and loaded unchanged.
func TestLoad_ValuesWithoutAJSONForm(t *testing.T) {
	t.Parallel()
	b := onFile(t)
	db := b.raw(t)
	_, err := db.ExecContext(t.Context(), `INSERT INTO tenant_origin (tenant, origin, created_at) VALUES (?1, CAST(x'61ff00' AS TEXT), 9007199254740993), (?1, '"', -1)`, string(b.tenant))
	require.NoError(t, err)
	lines := dump(t, b.db.Reads, "tenant_origin", b.tenant)
	require.Equal(t, []string{
		`{"tenant":"` + string(b.tenant) + `","origin":"\"","created_at":-1}`,
		`{"tenant":"` + string(b.tenant) + `","origin":{"hex":"61ff00"},"created_at":9007199254740993}`,
	}, lines)
	_, err = db.ExecContext(t.Context(), `DELETE FROM tenant_origin`)
	require.NoError(t, err)
	all, err := tabledb.Tables(t.Context(), b.db.Reads)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(t tabledb.Table) bool { return t.Name == "tenant_origin" })
	b.write(t, func(ctx context.Context, tx *store.Tx) error {
		n, err := tabledb.LoadRows(ctx, tx, all[i], []byte(strings.Join(lines, "\n")+"\n"), tabledb.Load{})
		require.Equal(t, 2, n)
		return err
	})
	require.Equal(t, lines, dump(t, b.db.Reads, "tenant_origin", b.tenant))
	var kinds string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT group_concat(DISTINCT typeof(origin) || typeof(created_at)) FROM tenant_origin`).Scan(&kinds))
	require.Equal(t, "textinteger", kinds)
}

// A snapshot that the server has ended is an error, not a mixture of two moments.
func TestSnapshot_LostIsAnError(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	db := open(t, "http"+strings.TrimPrefix(cluster.PrimaryURL(), "ws"))
	require.NoError(t, db.Migrate(t.Context(), now))
	err := db.Snapshot(t.Context(), func(r store.Reads) error {
		if _, err := tabledb.Aliases(t.Context(), r); err != nil {
			return err
		}
		cluster.KillPrimary(t)
		cluster.StartPrimary(t)
		_, err := tabledb.Aliases(t.Context(), r)
		require.Error(t, err)
		return nil
	})
	require.ErrorContains(t, err, "the server ended the snapshot")
}

// A snapshot does not change while others write.
func TestSnapshot_IsUnchangedByWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		requireUnchangedDuring(t, b, func() {
			for i := range 50 {
				require.NoError(t, b.insertProgram(t, i))
			}
		})
	})
}

// A server does not end a snapshot after 5 seconds, as it ends a write transaction.
func TestSnapshot_OutlastsAWriteThatTheServerEnds(t *testing.T) {
	t.Parallel()
	c := sqldtest.Start(t)
	db, other := open(t, c.PrimaryURL()), open(t, c.PrimaryURL())
	require.NoError(t, db.Migrate(t.Context(), now))
	b := bundle{db, c.PrimaryURL(), newTenant(t, db)}
	requireUnchangedDuring(t, b, func() {
		tries := 0
		require.NoError(t, db.Write(t.Context(), now, func(tx *store.Tx) error {
			if tries++; tries > 1 {
				return nil
			}
			// A transaction begins at the server with its first read.
			if _, err := programdb.List(t.Context(), tx.Reads, b.tenant); err != nil {
				return err
			}
			// This write waits until the server ends the outer transaction, which
			// began after the snapshot.
			return bundle{other, b.url, b.tenant}.insertProgram(t, 0)
		}))
		require.Equal(t, 2, tries)
	})
}

// requireUnchangedDuring takes a snapshot and fails if write changes what it reads.
func requireUnchangedDuring(t *testing.T, b bundle, write func()) {
	t.Helper()
	require.NoError(t, b.db.Snapshot(t.Context(), func(r store.Reads) error {
		before, err := programdb.List(t.Context(), r, b.tenant)
		require.NoError(t, err)
		write()
		after, err := programdb.List(t.Context(), r, b.tenant)
		require.NoError(t, err)
		require.Equal(t, before, after)
		return nil
	}))
	now, err := programdb.List(t.Context(), b.db.Reads, b.tenant)
	require.NoError(t, err)
	require.Greater(t, len(now), 1)
}

func (b bundle) insertProgram(t *testing.T, i int) error {
	t.Helper()
	return b.db.Write(t.Context(), now, func(tx *store.Tx) error {
		_, err := programdb.Insert(t.Context(), tx, b.tenant, aProgram(core.ProgramKey(fmt.Sprint("p", i))))
		return err
	})
}

// Rows of the ledger can be erased only after their tenant was.
func TestEraseRows_NotOfAnExistingTenant(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		_, err := b.raw(t).ExecContext(t.Context(), `INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at) VALUES (?, 'a', 'w', 'grant', 10, 'CENTS', 1)`, string(b.tenant))
		require.NoError(t, err)
		all, err := tabledb.Tables(t.Context(), b.db.Reads)
		require.NoError(t, err)
		ledger := all[slices.IndexFunc(all, func(t tabledb.Table) bool { return t.Name == "reward_ledger" })]
		run := tabledb.NewRun(b.tenant)
		require.NoError(t, b.db.Write(t.Context(), now, func(tx *store.Tx) error { return run.Begin(t.Context(), tx) }))
		_, err = tabledb.EraseRows(t.Context(), b.db, now, ledger, run, 10)
		require.ErrorContains(t, err, "only ever added to")
		was, err := tabledb.EraseTenant(t.Context(), b.db, now, run)
		require.NoError(t, err)
		require.True(t, was)
		n, err := tabledb.EraseRows(t.Context(), b.db, now, ledger, run, 10)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// A connection that did not enforce foreign keys enforces them for its next user.
func TestWriteWithoutForeignKeys_RestoresThem(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		orphan := func(tx *store.Tx) error {
			_, err := programdb.Insert(t.Context(), tx, core.TenantAlias("unknown-"+string(b.tenant)), aProgram("p"))
			return err
		}
		for range 4 {
			require.ErrorIs(t, b.db.WriteWithoutForeignKeys(t.Context(), now, func(tx *store.Tx) error {
				require.NoError(t, orphan(tx))
				return errTest
			}), errTest)
			require.ErrorContains(t, b.db.Write(t.Context(), now, orphan), "FOREIGN KEY")
		}
	})
}
