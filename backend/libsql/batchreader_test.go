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

// Statements that arrive together are read together, and each stands by itself:
// one that is not SQL and one whose result is too large spoil no other's.
func TestReader_EachStandsByItself(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	server(t, cluster.PrimaryURL()).mustQuery(t, "CREATE TABLE t AS SELECT 1 AS one")
	cluster.WaitForSync(t)
	texts := []struct{ text, wrong string }{
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
			d, err := Open(t.Context(), unhurried(Config{URL: url, MaxRows: 10, MaxRowBytes: 10_000}))
			require.NoError(t, err)
			t.Cleanup(func() { _ = d.Close() })
			const n = 200
			var all sync.WaitGroup
			for i := range n {
				ask := texts[0]
				if i%10 == 0 {
					ask = texts[i/10%len(texts)]
				}
				all.Go(func() {
					r, err := d.query(t.Context(), []byte(ask.text), []any{fmt.Sprint(i)})
					if ask.wrong != "" {
						assert.ErrorContains(t, err, ask.wrong)
					} else if assert.NoError(t, err) {
						assert.Equal(t, []any{int64(1), fmt.Sprint(i)}, r.values, "its own result")
					}
				})
			}
			all.Wait()
			require.Len(t, d.servers().present(), 1, "it is not away")
		})
	}
}

// Values of every kind are read as they are.
func TestReader_EveryKind(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	values := []any{int64(9223372036854775807), int64(-9223372036854775808), 0.1, 0.0, "grüße \"\u2028\\", "", []byte("bl\x00b"), []byte{}, nil}
	for _, scheme := range []string{"ws", "http"} {
		d := server(t, strings.Replace(cluster.ReplicaURL(), "ws", scheme, 1))
		r := d.mustQuery(t, "SELECT ? AS i, ? AS n, ? AS r, ? AS w, ? AS t, ? AS e, ? AS b, ? AS z, ? AS u", values...)
		require.Equal(t, &result{columns: []string{"i", "n", "r", "w", "t", "e", "b", "z", "u"}, values: values}, r)
	}
}

// A connection that died while nobody used it is no reason to fail, nor to think
// that the server is away.
func TestReader_ConnectionDied(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.Start(t)
	d := server(t, cluster.PrimaryURL())
	there := d.servers().all[0].presence()
	for range 2 {
		for range 2 * readStreams {
			d.mustQuery(t, "SELECT 1")
		}
		cluster.KillPrimary(t)
		cluster.StartPrimary(t)
	}
	d.mustQuery(t, "SELECT 1")
	require.Same(t, there, d.servers().all[0].presence())
}

// A server that asks for a token gets it, and who has a wrong one is told so.
func TestReader_Token(t *testing.T) {
	t.Parallel()
	cluster := sqldtest.StartWith(t, sqldtest.Options{Auth: true})
	for _, scheme := range []string{"ws", "http"} {
		url := strings.Replace(cluster.ReplicaURL(), "ws", scheme, 1)
		for _, token := range []string{cluster.Token(), "", "wrong"} {
			d, err := Open(t.Context(), unhurried(Config{URL: url, Token: token}))
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

// A URL that no server can be reached at is refused at once.
func TestReplicas_URL(t *testing.T) {
	t.Parallel()
	for url, wrong := range map[string]string{
		"ftp://a.example":              "want libsql, wss, ws, https or http",
		"ws://a.example?authToken=abc": "has no parameters",
	} {
		_, err := Open(t.Context(), Config{URL: url})
		require.ErrorContains(t, err, wrong)
	}
}
