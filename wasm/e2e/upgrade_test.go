package e2e

import (
	"compress/gzip"
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// previousKey is the API key of the tenant shop in testdata/previous.
const previousKey = "LIVE_BGDKA6BTBXNYAZ9NSURT5XYHHLCLJJ27AKQN5PFF" // #nosec G101 -- of test data

// unpack writes an unpacked file of testdata/previous.
func unpack(t testing.TB, name, to string) {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata/previous", name))
	require.NoError(t, err)
	defer packed.Close()
	var from io.Reader = packed
	if strings.HasSuffix(name, ".gz") {
		from, err = gzip.NewReader(packed)
		require.NoError(t, err)
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = io.Copy(file, from)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// previousSite is an installation of the previous version, whose processes are stopped.
func previousSite(t testing.TB) *site {
	t.Helper()
	s := newSite(t)
	s.keys["shop"] = previousKey
	unpack(t, "kith.db.gz", s.file())
	unpack(t, "master.key", filepath.Join(s.data, "master.key"))
	return s
}

// rowCounts returns the numbers of rows of all tables.
func rowCounts(t testing.TB, db *sql.DB) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, table := range texts(t, db, `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'`) {
		all[table] = number(t, db, `SELECT count(*) FROM "`+table+`"`)
	}
	return all
}

// The order of an upgrade, as docs/operate.md has it: back up, then the backend, then the
// edges. The data of the previous version is there, and everything works. A component of
// the previous version works with the new backend until its edge is restarted.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	s := previousSite(t)
	backup := filepath.Join(t.TempDir(), "before.tar.gz")
	s.ok(t, "backup", backup)
	db := s.open(t)
	was, schema := rowCounts(t, db), texts(t, db, `SELECT version FROM schema_version ORDER BY version`)
	require.Equal(t, 1, was["referral"])

	// A new edge does not serve on the old database, and changes nothing in it: it waits for
	// a backend of its version.
	early := s.launch(t, []string{"KITH_BACKEND_URL=" + s.backend}, "edge")
	early.waitLog(t, "start a backend of this version first")
	_, err := noRedirect.Get(s.edge + "/healthz")
	require.Error(t, err, "the edge does not listen")
	require.Equal(t, schema, texts(t, db, `SELECT version FROM schema_version ORDER BY version`), "a backup and an edge migrate nothing")

	backend := s.serve(t)
	eventually(t, http.StatusOK, "GET", s.edge+"/readyz", "")
	early.stop(t)
	is := rowCounts(t, db)
	for table, n := range was {
		// Records of calls and of batches of visits are removed when they are old.
		if !slices.Contains([]string{"intake", "visit_batch"}, table) {
			require.GreaterOrEqual(t, is[table], n, table)
		}
	}
	require.Greater(t, is["schema_version"], was["schema_version"], "the test data is older than this version")

	folder := t.TempDir()
	unpack(t, "edge.wasm.gz", filepath.Join(folder, "edge.wasm"))
	manifest, err := os.ReadFile("testdata/previous/spin.toml")
	require.NoError(t, err)
	require.Contains(t, string(manifest), `"bin/edge.wasm"`)
	path := filepath.Join(folder, "spin.toml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(manifest), `"bin/edge.wasm"`, `"edge.wasm"`, 1)), 0o600))
	for name, env := range map[string]string{"old component": "KITH_MANIFEST=" + path, "new component": "KITH_MANIFEST="} {
		edge := s.serveEdge(t, env)
		eventually(t, http.StatusOK, "GET", s.edge+"/readyz", "")
		for _, base := range []string{s.edge, s.backend} {
			a := mustCall(t, http.StatusOK, "GET", base+"/api/v1/shop/open/account/anna/user/anna", "", s.auth("shop"))
			require.Contains(t, a.body, `"referralCode":"ANNA10"`, name)
			a = mustCall(t, http.StatusOK, "GET", base+"/api/v1/shop/referrals", "", s.auth("shop"))
			require.Contains(t, a.body, `"state":"converted"`, name)
			a = mustCall(t, http.StatusOK, "GET", base+"/api/v1/shop/reward/balance?accountId=anna&userId=anna", "", s.auth("shop"))
			require.Contains(t, a.body, `"totalAssignedCredit":1000`, name)
			a = mustCall(t, http.StatusFound, "GET", base+"/s/shop/ANNA10", "")
			require.Contains(t, strings.Join(a.header["Set-Cookie"], " "), "kith_shop=v1.", name)
			a, err := s.sendEvents(base, "shop", "anna", `{"idempotencyKey":"`+strings.ReplaceAll(name, " ", "-")+`-`+port(t, base)+`","events":[{"key":"visit"}]}`)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, a.status, a.body)
		}
		s.identify(t, s.edge, "shop", "carl", `{"referredBy":{"code":"ANNA10"}}`)
		edge.stop(t)
	}
	waitProcessed(t, db)
	require.Equal(t, was["event"]+4, number(t, db, `SELECT count(*) FROM event WHERE tenant = 'shop' AND key = 'visit'`))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM referral`))
	backend.stop(t)
	out, errOut, status := s.run(t, nil, "doctor")
	require.Zero(t, status, out+errOut)

	// The way back is the backup: it has the schema of before.
	restored := newSite(t)
	unpack(t, "master.key", filepath.Join(restored.data, "master.key"))
	require.Contains(t, restored.ok(t, "restore", "--drill", "--scratch", t.TempDir(), backup), "ok    rows")
}
