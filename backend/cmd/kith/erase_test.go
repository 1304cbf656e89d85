package main

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/tabledb"
)

// docs/operate.md has what the erasure of a user leaves, as tabledb.PersonalData declares it.
// With -update it is rewritten.
func TestOperate_PersonalData(t *testing.T) {
	rows, deleted, without := "", "", ""
	for _, table := range slices.Sorted(maps.Keys(tabledb.PersonalData)) {
		p := tabledb.PersonalData[table]
		switch {
		case p.Erased == "" && len(p.Kept) == 0:
			without += " " + table
			continue
		case len(p.Kept) == 0 && (p.None == "tenant" || p.None == "seq tenant"):
			deleted += " " + table
			continue
		case len(p.Kept) == 0:
			p.Kept = []tabledb.Kept{{}}
		}
		name, erased := codes(table), codes(p.Erased)
		for _, k := range p.Kept {
			kept := codes(k.Columns)
			if k.Reason == tabledb.Sums {
				kept = "amounts, states, times"
			}
			rows += "| " + strings.Join([]string{name, erased, kept, k.Reason, k.Until}, " | ") + " |\n"
			name, erased = "", ""
		}
	}
	requireGenerated(t, "operate.md", "TestOperate_PersonalData", "Rows about the user are deleted from "+codes(deleted)+".\n\n"+
		"| table | erased | kept | why | until |\n|---|---|---|---|---|\n"+rows+"\nThese tables have no personal data: "+codes(without)+".\n")
}

// codes returns names that are separated by spaces as a list in Markdown.
func codes(names string) string {
	if names == "" {
		return ""
	}
	return "`" + strings.Join(strings.Fields(names), "`, `") + "`"
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
