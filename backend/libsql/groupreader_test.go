package libsql

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// Statements that arrive together are read together, but each succeeds or fails
// alone: an invalid statement or a result that is too large affects no other.
func TestGroupReader_EachSucceedsOrFailsAlone(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	server(t, cluster.PrimaryURL()).mustQuery(t, "CREATE TABLE t AS SELECT 1 AS one")
	cluster.WaitForSync(t)
	texts := []struct{ text, wantErr string }{
		{"SELECT one, ? FROM t", ""},
		{"SELECT one, ? FRO t", "syntax error"},
		{"SELECT one, ?, nowhere FROM t", "no such column: nowhere"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 11) SELECT i, ? FROM n", "the result is larger than 10 rows"},
		{"SELECT hex(zeroblob(8000)), ?", "the result is larger than 10 rows or 10000 bytes"},
		{"SELECT hex(zeroblob(80000)), ?", "the result is larger than 80000 bytes"},
	}
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			url := strings.Replace(cluster.ReplicaURL(), "ws", scheme, 1)
			d, err := Open(t.Context(), withLongTimeouts(Config{URL: url, MaxRows: 10, MaxRowBytes: 10_000}))
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Close() })
			const n = 200
			var all sync.WaitGroup
			for i := range n {
				query := texts[0]
				if i%10 == 0 {
					query = texts[i/10%len(texts)]
				}
				all.Go(func() {
					r, err := d.query(t.Context(), []byte(query.text), []any{fmt.Sprint(i)})
					if query.wantErr != "" {
						assert.ErrorContains(t, err, query.wantErr)
					} else if assert.NoError(t, err) {
						assert.Equal(t, []any{int64(1), fmt.Sprint(i)}, r.values, "each caller gets its own result")
					}
				})
			}
			all.Wait()
			require.Len(t, d.servers().available(), 1, "the server is still available")
		})
	}
}

// Of calls with the same text and arguments in a group the server runs one, and each
// caller gets its result.
func TestGroupReader_EqualStatementsRunOnce(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	d := server(t, cluster.PrimaryURL())
	r := d.servers().all[0].uptime().groupReader
	args := [][]any{{"a"}, {"a"}, {"b"}, {[]byte("a")}, {[]byte("a")}, {int64(1)}, {1.0}, {nil}, {nil}, {"a"}}
	var calls []*call
	for _, a := range args {
		calls = append(calls, &call{ctx: t.Context(), text: "SELECT hex(randomblob(8)), ?", args: a, result: make(chan outcome, 1)})
	}
	calls = append(calls, &call{ctx: t.Context(), text: "SELECT hex(randomblob(9)), ?", args: args[0], result: make(chan outcome, 1)})
	stream := d.servers().all[0].server.stream()
	t.Cleanup(stream.close)
	r.runGroup(stream, calls)
	var values []any
	for i, c := range calls {
		o := <-c.result
		require.NoError(t, o.err)
		require.Equal(t, c.args[0], o.result.values[1], i)
		values = append(values, o.result.values[0])
	}
	equal := func(i, j int) bool { return values[i] == values[j] }
	require.True(t, equal(0, 1) && equal(0, 9) && equal(3, 4) && equal(7, 8), values)
	different := map[any]bool{}
	for _, v := range values {
		different[v] = true
	}
	require.Len(t, different, 7)
}

// A read returns values of every type unchanged.
func TestGroupReader_EveryType(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	values := []any{int64(9223372036854775807), int64(-9223372036854775808), 0.1, 0.0, "grüße \"\u2028\\", "", []byte("bl\x00b"), []byte{}, nil}
	for _, scheme := range []string{"ws", "http"} {
		d := server(t, strings.Replace(cluster.ReplicaURL(), "ws", scheme, 1))
		r := d.mustQuery(t, "SELECT ? AS i, ? AS n, ? AS r, ? AS w, ? AS t, ? AS e, ? AS b, ? AS z, ? AS u", values...)
		require.Equal(t, &result{columns: []string{"i", "n", "r", "w", "t", "e", "b", "z", "u"}, values: values}, r)
	}
}

// A connection that broke while it was idle neither fails a read nor marks the
// server as unavailable.
func TestGroupReader_IdleConnectionBroke(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	d := server(t, cluster.PrimaryURL())
	before := d.servers().all[0].uptime()
	for range 2 {
		for range 2 * readStreams {
			d.mustQuery(t, "SELECT 1")
		}
		cluster.KillPrimary(t)
		cluster.StartPrimary(t)
	}
	d.mustQuery(t, "SELECT 1")
	require.Same(t, before, d.servers().all[0].uptime())
}

// A server that requires a token answers callers with the right one and refuses
// others with an error.
func TestGroupReader_Token(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1, Auth: true})
	for _, scheme := range []string{"ws", "http"} {
		url := strings.Replace(cluster.ReplicaURL(), "ws", scheme, 1)
		for _, token := range []string{cluster.Token(), "", "wrong"} {
			d, err := Open(t.Context(), withLongTimeouts(Config{URL: url, Token: token}))
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Close() })
			_, err = d.query(t.Context(), []byte("SELECT 1"), nil)
			if token == cluster.Token() {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}
		}
	}
}

// Open refuses a URL with an unknown scheme, with parameters, or without a host.
func TestReplicas_URL(t *testing.T) {
	t.Parallel()
	for url, wantErr := range map[string]string{
		"ftp://a.example":              "want libsql, wss, ws, https or http",
		"ws://a.example?authToken=abc": "has no parameters",
		"http://":                      "the URL of a database has a host, as in http://127.0.0.1:8080",
	} {
		_, err := Open(t.Context(), Config{URL: url})
		require.ErrorContains(t, err, wantErr)
	}
}
