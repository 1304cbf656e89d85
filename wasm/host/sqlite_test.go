package host

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/libsql"
)

// sql makes probe run a statement on "default", with a param header per parameter.
func (b *bench) sql(t testing.TB, statement string, params ...string) answer {
	t.Helper()
	headers := []string{"Database", "default"}
	for _, p := range params {
		headers = append(headers, "Param", p)
	}
	return text(b.do(t, "POST", "/sql", statement, headers...))
}

func TestSQLite_EveryKindBothWays(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		want := "i,n,r,t,e,b,z,u\ni:9223372036854775807;i:-9223372036854775808;r:0.1;t:grüße;t:;b:blob;b:;null;\n"
		for range 2 {
			got := b.sql(t, "SELECT ? AS i, ? AS n, ? AS r, ? AS t, ? AS e, ? AS b, ? AS z, ? AS u",
				"i:9223372036854775807", "i:-9223372036854775808", "r:0.1", "t:grüße", "t:", "b:blob", "b:", "null")
			require.Equal(t, answerText(200, want), got)
			require.Equal(t, answerText(200, "typeof(?)\nt:text;\n"), b.sql(t, "SELECT typeof(?)", "t:"))
			require.Equal(t, answerText(200, "typeof(?)\nt:blob;\n"), b.sql(t, "SELECT typeof(?)", "b:"))
		}
	})
}

func TestSQLite_WritesAreRead(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", change)
		require.Equal(t, answerText(200, "\n"), b.sql(t, "CREATE TABLE t (k TEXT PRIMARY KEY, flag BOOLEAN, day DATE)"))
		got := b.sql(t, "INSERT INTO t VALUES (?, 1, '2026-01-02 03:04:05') RETURNING k", "t:a")
		require.Equal(t, answerText(200, "k\nt:a;\n"), got)
		require.Equal(t, answerText(200, "k,flag,day\nt:a;i:1;t:2026-01-02 03:04:05;\n"), b.sql(t, "SELECT * FROM t"))
		require.Equal(t, answerText(200, "k\n"), b.sql(t, "SELECT k FROM t WHERE k = ?", "t:b"))
		got = b.sql(t, "WITH v AS (SELECT 'c' AS k) INSERT INTO t (k) SELECT k FROM v RETURNING k")
		require.Equal(t, answerText(200, "k\nt:c;\n"), got)
	})
}

func TestSQLite_Errors(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", func(o *Options) { o.Databases = databases(t, libsql.Config{MaxRows: 10, MaxRowBytes: 1000}) })
	const prefix = "abi: database: "
	require.Equal(t, 200, b.sql(t, "CREATE TABLE u (k TEXT UNIQUE)").status)
	require.Equal(t, 200, b.sql(t, "INSERT INTO u VALUES ('a')").status)
	for statement, want := range map[string]string{
		"SELECT * FROM missing":                 "no such table",
		"INSERT INTO u VALUES ('a')":            "UNIQUE constraint failed",
		"SELECT":                                "incomplete input",
		"":                                      "the statement is empty",
		"-- only a comment":                     "the statement is empty",
		"BEGIN":                                 "BEGIN is not allowed",
		"/* x */ commit":                        "COMMIT is not allowed",
		"PRAGMA journal_mode = DELETE":          "PRAGMA is not allowed",
		"ATTACH 'x.db' AS x":                    "ATTACH is not allowed",
		"VACUUM":                                "VACUUM is not allowed",
		"SELECT 1; DELETE FROM u":               "more than one statement",
		"SELECT 1\x00; DELETE FROM u":           "zero byte",
		"EXPLAIN QUERY PLAN SELECT 1; SELECT 2": "more than one statement",
		"SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9,10,11]')": "larger than 10 rows",
		"SELECT zeroblob(1000)": "larger than 10 rows or 1000 bytes",
	} {
		got := b.sql(t, statement)
		require.Equal(t, 500, got.status, statement)
		require.Contains(t, got.body, prefix, statement)
		require.Contains(t, got.body, want, statement)
	}
	require.Equal(t, 200, b.sql(t, "SELECT value FROM json_each('[1,2,3,4,5,6,7,8,9,10]')").status)
	require.Equal(t, answerText(200, "';'\nt:;;\n"), b.sql(t, "SELECT ';' ; -- done"))
}

func TestSQLite_NamesAndConnections(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	for name, want := range map[string]string{
		"other": "abi: access to database denied", "": "abi: access to database denied",
		"unconfigured": "abi: no such database",
	} {
		got := text(b.do(t, "POST", "/sql", "SELECT 1", "Database", name))
		require.Equal(t, answerText(500, want), got)
	}
	got := text(b.do(t, "POST", "/sql", "SELECT 1", "Database", "default", "Closed", "yes"))
	require.Equal(t, answerText(500, "abi: invalid database connection"), got)
	require.Equal(t, 200, b.sql(t, "SELECT 1").status)
}

// A guest can distinguish a full disk from an error in the statement.
func TestSQLite_DiskIsFull(t *testing.T) {
	t.Parallel()
	url := libsql.WithPragmas("file:"+filepath.Join(t.TempDir(), "small.db"), "max_page_count(20)")
	for _, perRequest := range []bool{false, true} {
		d, err := libsql.Open(t.Context(), libsql.Config{URL: url, Timeout: deadline, PerRequest: perRequest})
		require.NoError(t, err)
		b := start(t, probe(t), "1", func(o *Options) { o.Databases = map[string]Database{"default": d} })
		require.Equal(t, 200, b.sql(t, "CREATE TABLE IF NOT EXISTS t (v)").status)
		require.Equal(t, answerText(500, "abi: database full"), b.sql(t, "INSERT INTO t VALUES (zeroblob(1000000))"))
		require.Equal(t, answerText(200, "count(*)\ni:0;\n"), b.sql(t, "SELECT count(*) FROM t"))
	}
}

// When many guests insert the same key at once, one succeeds.
func TestSQLite_ConcurrentWriters(t *testing.T) {
	t.Parallel()
	b := start(t, probe(t), "1", nil)
	require.Equal(t, 200, b.sql(t, "CREATE TABLE intake (k TEXT NOT NULL)").status)
	const senders, keys = 64, 4
	answers := make([]answer, senders)
	var group sync.WaitGroup
	for i := range senders {
		group.Go(func() {
			key := "t:" + strconv.Itoa(i%keys)
			answers[i] = b.sql(t, "INSERT INTO intake SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM intake WHERE k = ?1) RETURNING k", key)
		})
	}
	group.Wait()
	won := map[string]int{}
	for _, a := range answers {
		require.Equal(t, 200, a.status, b.log)
		won[a.body]++
	}
	require.Equal(t, senders-keys, won["k\n"])
	require.Len(t, won, keys+1)
	require.Equal(t, answerText(200, "n\ni:4;\n"), b.sql(t, "SELECT count(*) AS n FROM intake"))
}

// Concurrent requests of all kinds do not affect each other.
func TestServe_Concurrently(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, change func(*Options)) {
		b := start(t, probe(t), "1", func(o *Options) { change(o); o.Instances = 8 })
		var group sync.WaitGroup
		for i := range 16 {
			group.Go(func() {
				for n := range 10 {
					id := strconv.Itoa(100*i + n)
					got := b.do(t, "POST", "/echo?"+id, strings.Repeat(id, 100), "X-Id", id)
					if got.body != strings.Repeat(id, 100) || got.header.Get("Echo-X-Id") != id || got.header.Get("Probe-Uri") != "/echo?"+id {
						t.Errorf("request %s got another's answer", id)
					}
					if got := b.sql(t, "SELECT ? AS id", "i:"+id); got.body != "id\ni:"+id+";\n" {
						t.Errorf("statement %s got %v", id, got)
					}
					if n == 5 {
						b.do(t, "GET", "/trap", "")
					}
				}
			})
		}
		group.Wait()
		require.Equal(t, uint64(16), b.host.Stats().Trapped)
	})
}

func TestReadRuntimeConfig(t *testing.T) {
	t.Parallel()
	got, err := ReadRuntimeConfig("../../edge/runtime-config.file.toml")
	require.NoError(t, err)
	require.Equal(t, map[string]RuntimeDatabase{"default": {URL: "file:data/kith.db"}}, got, "relative to the working directory, as in Spin 3")
	got, err = ReadRuntimeConfig("../../edge/runtime-config.libsql.toml")
	require.NoError(t, err)
	require.Equal(t, map[string]RuntimeDatabase{"default": {URL: "http://127.0.0.1:8081"}}, got)
}
