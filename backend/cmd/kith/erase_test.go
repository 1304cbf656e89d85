package main

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/rules"
)

// After deletions no table has personal data of the users, whether their accounts are
// deleted or not.
func TestDeleteUser_NothingPersonalRemains(t *testing.T) {
	t.Parallel()
	g := &fixture{database: strings.TrimPrefix(storetest.File(t), "file:"), values: map[string]string{}}
	g.createTenant(t, "acme", "--landing-url", "https://acme.example/")
	engine := openStory(t, "file:"+g.database, new(storyClock))
	t.Cleanup(func() { require.NoError(t, engine.DB.Close()) })
	marked := func(s string) *string { s = "zz-" + s; return &s }
	for _, name := range []string{"anna", "ben", "carl"} {
		id, code := "zz-"+name, core.ReferralCode("zz-code-"+name)
		update := referral.UserUpdate{
			Account: core.AccountID(id), ID: core.UserID(id), FirstName: marked("first"), LastName: marked("last"),
			Email: marked(name + "@mail.example"), ImageURL: marked("image"), Segments: []string{"zz-segment"},
			CustomFields: []referral.CustomField{{Name: "zz-name", Value: `"zz-value"`}},
			Codes:        []referral.UserCode{{Program: core.ClassicProgram, Code: code}},
		}
		paid := referral.Paid
		switch name {
		case "ben":
			update.Claims, update.Status = []referral.Claim{{Code: "zz-code-anna", Source: referral.SourceInit}}, &paid
		case "carl":
			update.Claims = []referral.Claim{{Code: "zz-code-ben", Source: referral.SourceInit}, {Code: "zz-code-anna", Source: referral.SourceBody}}
		}
		for range 2 {
			_, err := engine.Identification.Identify(t.Context(), "acme", rules.Identification{Update: update, IP: "192.0.2.77"})
			require.NoError(t, err)
		}
		_, err := engine.Events.Log(t.Context(), base.Caller{Tenant: tenantdb.Tenant{Alias: "acme"}, Key: true, Role: auth.RoleAll}, event.Call{
			Account: update.Account, User: update.ID, Key: core.IdempotencyKey("key-of-" + name),
			Events: []event.Event{{Key: "visit", Fields: `{"who":"zz-field"}`}},
		})
		require.NoError(t, err)
	}
	for _, id := range []string{"zz-anna", "zz-ben", "zz-carl"} {
		err := engine.Erasures.DeleteUser(t.Context(), "acme", core.AccountID(id), core.UserID(id), users.DeleteOptions{DoNotTrack: true})
		require.NoError(t, err)
	}
	for _, cell := range cells(t, g.database) {
		require.NotContains(t, strings.ToLower(cell), "zz-")
		require.NotContains(t, cell, "192.0.2.77")
	}
}

// cells returns all values of a database, each with its table and column.
func cells(t *testing.T, path string) (all []string) {
	t.Helper()
	db := openSQL(t, "file:"+path)
	defer db.Close()
	names, err := db.QueryContext(t.Context(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	require.NoError(t, err)
	defer names.Close()
	var tables []string
	for names.Next() {
		var name string
		require.NoError(t, names.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(t, names.Err())
	for _, table := range tables {
		all = append(all, cellsOf(t, db, table)...)
	}
	require.NotEmpty(t, all)
	return all
}

func cellsOf(t *testing.T, db *sql.DB, table string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT * FROM `+table)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		require.NoError(t, rows.Scan(values...))
		for i, v := range values {
			all = append(all, fmt.Sprintf("%s.%s: %s", table, columns[i], *v.(*any)))
		}
	}
	require.NoError(t, rows.Err())
	return all
}

// openSQL opens a database by its URL without the store. It waits for the write lock of
// a file, because a running kith may write to it.
func openSQL(t *testing.T, url string) *sql.DB {
	t.Helper()
	if strings.HasPrefix(url, "file:") {
		url += "?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open("libsql", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execSQL(t *testing.T, url, statement string) {
	t.Helper()
	_, err := openSQL(t, url).Exec(statement)
	require.NoError(t, err, statement)
}

func textSQL(t *testing.T, url, query string) (text string) {
	t.Helper()
	require.NoError(t, openSQL(t, url).QueryRow(query).Scan(&text), query)
	return text
}

// orphans returns the rows that refer to missing rows.
func orphans(t *testing.T, path string) (all []string) {
	t.Helper()
	db := openSQL(t, "file:"+path)
	defer db.Close()
	rows, err := db.Query(`SELECT "table" || ' ' || parent FROM pragma_foreign_key_check`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var one string
		require.NoError(t, rows.Scan(&one))
		all = append(all, one)
	}
	require.NoError(t, rows.Err())
	return all
}
