package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
)

// many is the number of events in a database that takes a while to restore or erase.
const many = 120_000

// fillEvents inserts n events of a tenant that all contain a mark.
func fillEvents(t testing.TB, db *sql.DB, tenant, mark string, n int) {
	t.Helper()
	_, err := db.Exec(`INSERT INTO event (tenant, id, account_id, user_id, key, fields, triggered_at, received_at, processed_at)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		SELECT ?1, printf('%024d', i), 'anna', 'anna', 'filled', json_object('n', i, 'mark', ?3, 'text', hex(randomblob(40))), i, i, i FROM n`, tenant, n, mark)
	require.NoError(t, err)
}

// shop returns a site with two tenants and data of all kinds that these tests check after
// a restore: a link, a used key, a file.
func shop(t *testing.T) *site {
	t.Helper()
	s := demoSite(t)
	s.createTenant(t, "acme", "--landing-url", "https://acme.example/")
	backend := s.serve(t)
	for _, tenant := range []string{"demo", "acme"} {
		s.identify(t, s.backend, tenant, "anna", `{"referralCode":"ANNA10"}`)
		a, err := s.sendEvents(s.backend, tenant, "anna", usedKey)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.status, a.body)
		mustCall(t, http.StatusOK, "POST", s.backend+"/api/v1/"+tenant+"/export/upload", "accountId,id\nzz-mark,zz-mark\n", s.auth(tenant), "Content-Type: text/csv")
	}
	waitProcessed(t, s.open(t))
	backend.stop(t)
	return s
}

const usedKey = `{"idempotencyKey":"order-0001","events":[{"key":"visit"}]}`

// works checks that a restored service has its data and still works.
func (s *site) works(t *testing.T, tenant string) {
	t.Helper()
	a := mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/"+tenant+"/open/account/anna/user/anna", "", s.auth(tenant))
	require.Contains(t, a.body, "ANNA10")
	a = mustCall(t, http.StatusFound, "GET", s.edge+"/s/"+tenant+"/ANNA10", "")
	require.Contains(t, a.header.Get("Location"), "rsCode=ANNA10")
	require.NotEmpty(t, a.header.Get("Set-Cookie"))
	for _, base := range []string{s.backend, s.edge} {
		a, err := s.sendEvents(base, tenant, "anna", usedKey)
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, a.status, a.body)
	}
	a, err := s.sendEvents(s.edge, tenant, "anna", `{"events":[{"key":"visit"}]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.status, a.body)
}

// ok runs a kith that must succeed.
func (s *site) ok(t testing.TB, args ...string) string {
	t.Helper()
	out, errOut, status := s.run(t, []string{"KITH_DATABASE_URL=" + s.backendDatabase}, args...)
	require.Zero(t, status, "%s: %s", args, errOut)
	return out
}

// refused runs a kith that must fail, and returns its error output.
func (s *site) refused(t testing.TB, args ...string) string {
	t.Helper()
	out, errOut, status := s.run(t, []string{"KITH_DATABASE_URL=" + s.backendDatabase, "KITH_BACKEND_URL=" + s.backend}, args...)
	require.Equal(t, 1, status, "%s: %s%s", args, out, errOut)
	return errOut
}

// killWithin starts a kith and kills it while only some of the events of fillEvents exist.
// It checks only the first and the last event: counting all of them would take longer than
// erasing them.
func (s *site) killWithin(t *testing.T, db *sql.DB, args ...string) {
	t.Helper()
	p := s.launch(t, []string{"KITH_DATABASE_URL=" + s.backendDatabase}, args...)
	within := func() error {
		var some, both bool
		err := db.QueryRow(`SELECT EXISTS (SELECT 1 FROM event WHERE tenant = 'demo' AND id BETWEEN e.first AND e.last),
				(SELECT count(*) FROM event WHERE tenant = 'demo' AND id IN (e.first, e.last)) = 2
			FROM (SELECT printf('%024d', 1) AS first, printf('%024d', ?) AS last) e`, many).Scan(&some, &both)
		if err == nil && some && !both {
			return nil
		}
		return fmt.Errorf("some: %v, both ends: %v: %w\n%s", some, both, err, p.output)
	}
	p.killWhen(t, within)
}

// both runs a test with a file as target, and with a server as target.
func both(t *testing.T, test func(t *testing.T, database string)) {
	t.Parallel()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		test(t, "")
	})
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		test(t, sqldtest.Start(t).PrimaryURL())
	})
}

// After a killed restore nothing starts on the database. The next restore starts from the
// beginning, and then the service works as before.
func TestKillRestore_NothingLooksRestored(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		s := shop(t)
		from := s.open(t)
		fillEvents(t, from, "demo", "zz-mark", many)
		archive := filepath.Join(t.TempDir(), "kith.backup")
		require.Contains(t, s.ok(t, "backup", archive), "2 files")
		info, err := os.Stat(archive)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

		to := newSite(t)
		to.keys, to.backendDatabase, to.edgeDatabase = s.keys, database, database
		if database == "" {
			// The tables must exist before the restore has begun.
			_, err := to.open(t).Exec(`PRAGMA journal_mode = WAL`)
			require.NoError(t, err)
		}
		key, err := os.ReadFile(filepath.Join(s.data, "master.key"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(to.data, "master.key"), []byte(strings.Repeat("00", 32)), 0o600))
		require.Contains(t, to.refused(t, "restore", archive), "is not that of the time of the backup")
		require.NoError(t, os.WriteFile(filepath.Join(to.data, "master.key"), key, 0o600))

		to.killWithin(t, to.open(t), "restore", archive)
		for _, command := range [][]string{{"serve"}, {"edge"}, {"dev"}, {"tenant", "create", "new", "--landing-url", "https://x.example/"}, {"backup", archive + "2"}, {"restore", archive, "--tenant", "demo"}} {
			require.Contains(t, to.refused(t, command...), "a restore into this database was begun and has not ended: run kith restore again", command)
		}
		require.Contains(t, to.ok(t, "restore", archive), "2 files")
		require.Equal(t, number(t, from, `SELECT count(*) FROM event`), number(t, to.open(t), `SELECT count(*) FROM event`))
		require.Contains(t, to.refused(t, "restore", archive), "the database is not empty")
		to.serve(t)
		to.serveEdge(t)
		to.works(t, "demo")
		to.works(t, "acme")
		files, err := filepath.Glob(filepath.Join(to.data, "files", "imports", "*", "*.csv"))
		require.NoError(t, err)
		require.Len(t, files, 2)
	})
}

// rowsBut returns all rows of all tables except those of a tenant, as texts. Rows that
// workers change continuously are left out.
func rowsBut(t testing.TB, db *sql.DB, tenant string) (all []string) {
	t.Helper()
	for _, table := range texts(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'libsql_%' AND name NOT IN ('heartbeat', 'readiness', 'intake_cursor', 'visit', 'visit_batch', 'visit_day') AND name NOT GLOB 'user_index*'`) {
		columns := texts(t, db, `SELECT 'quote("' || name || '")' FROM pragma_table_info(?)`, table)
		row := strings.Join(columns, ` || ',' || `)
		for _, row := range texts(t, db, `SELECT `+row+` FROM "`+table+`" WHERE instr(`+row+`, ?) = 0`, "'"+tenant+"'") {
			all = append(all, table+": "+row)
		}
	}
	return all
}

// A killed erasure continues when it is started again. From its beginning on, the tenant is
// unknown, its alias cannot be used, and other tenants are served. At the end nothing of
// the tenant exists: no row, no file, no byte in the files of the database.
func TestKillErase_Continues(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		s := shop(t)
		fillEvents(t, s.open(t), "demo", "zz-mark", many)
		if database != "" {
			archive := filepath.Join(t.TempDir(), "kith.backup")
			s.ok(t, "backup", archive)
			s.backendDatabase, s.edgeDatabase = database, database
			s.ok(t, "restore", archive)
		}
		db := s.open(t)
		s.serve(t)
		s.serveEdge(t)
		s.works(t, "demo")
		s.works(t, "acme")
		waitProcessed(t, db)
		want := rowsBut(t, db, "demo")

		require.Contains(t, s.refused(t, "tenant", "erase", "demo"), "yes: is required without a terminal")
		s.works(t, "demo")
		waitProcessed(t, db)
		s.killWithin(t, db, "tenant", "erase", "demo", "--yes")
		for _, base := range []string{s.backend, s.edge} {
			mustCall(t, http.StatusNotFound, "GET", base+"/api/v1/demo/open/account/anna/user/anna", "", s.auth("demo"))
			mustCall(t, http.StatusNotFound, "GET", base+"/s/demo/ANNA10", "")
			a, err := s.sendEvents(base, "demo", "anna", `{"events":[{"key":"visit"}]}`)
			require.NoError(t, err)
			require.Equal(t, http.StatusNotFound, a.status, a.body)
		}
		require.Contains(t, s.refused(t, "tenant", "create", "demo", "--landing-url", "https://x.example/"), "an erasure or a restore of demo has not finished")
		out := s.ok(t, "tenant", "erase", "demo", "--yes")
		require.Regexp(t, `\d+ of event\n`, out)
		require.Contains(t, out, "demo is erased: ")
		require.Contains(t, s.refused(t, "tenant", "erase", "demo", "--yes"), "there is no tenant with this alias")
		require.Equal(t, want, rowsBut(t, db, "demo"))
		require.Equal(t, want, rowsBut(t, db, "no tenant"), "no row names the tenant")
		where := s.data
		if database != "" {
			where = filepath.Join(s.data, "files") // the backup is in the data folder too
		}
		require.Empty(t, containing(t, where, "zz-mark", "acme"))
		s.works(t, "acme")
		s.ok(t, "tenant", "erase", "test_demo", "--yes")
		s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
	})
}

// containing returns the files below a folder that contain a mark, except those with the
// text but in their path.
func containing(t testing.TB, folder, mark, but string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, but) {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), mark) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// A backup that is taken during writes has the state of one point in time: sums agree with
// the ledger, all references are valid, and every event call is either waiting or
// processed.
func TestBackup_WhileOthersWrite(t *testing.T) {
	both(t, func(t *testing.T, database string) {
		s := newSite(t)
		s.backendDatabase, s.edgeDatabase = database, database
		s.createTenant(t, "demo", "--landing-url", "https://shop.example/")
		s.serve(t)
		s.serveEdge(t)
		s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
		fillEvents(t, s.open(t), "demo", "", 20_000)
		mustCall(t, http.StatusCreated, "POST", s.backend+"/api/v1/demo/rewards/account/anna/user/anna", `{"type":"CREDIT","unit":"POINT","assignedCredit":1000000}`, s.auth("demo"))
		events := s.stream(2, 2, true)
		var spent atomic.Int64
		stop, ended := make(chan struct{}), make(chan error, 2)
		for range 2 {
			go func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						ended <- nil
						return
					default:
					}
					a, err := call("POST", s.backend+"/api/v1/demo/credit/bulkredeem", `{"accountId":"anna","unit":"POINT","amount":1}`, s.auth("demo"))
					if err != nil || a.status == http.StatusServiceUnavailable {
						continue // on a busy machine some calls time out
					}
					if a.status != http.StatusOK {
						ended <- errors.New(a.body)
						return
					}
					spent.Add(1)
				}
			}()
		}
		last := -1
		for i := range 2 * len(testenv.Seeds(t)) {
			await(t, func() error {
				if n := int(spent.Load()); n <= last {
					return fmt.Errorf("%d were redeemed", n)
				}
				return nil
			})
			archive := filepath.Join(t.TempDir(), "kith.backup")
			s.ok(t, "backup", archive, "--with-master-key")
			to := newSite(t)
			to.ok(t, "restore", archive, "--unsigned")
			db := to.open(t)
			require.Empty(t, texts(t, db, `SELECT "table" FROM pragma_foreign_key_check`))
			require.Empty(t, texts(t, db, `SELECT id FROM reward w WHERE redeemed <> (SELECT -coalesce(sum(amount), 0) FROM reward_ledger l
				WHERE l.tenant = w.tenant AND l.reward_id = w.id AND l.action = 'redeem')`))
			redeemed := number(t, db, `SELECT redeemed FROM reward WHERE unit = 'POINT'`)
			require.Greater(t, redeemed, last, "round %d", i)
			last = redeemed
			require.Empty(t, texts(t, db, `SELECT e.value ->> 'id' FROM intake i, json_each(i.events) e
				WHERE (i.seq <= (SELECT seq FROM intake_cursor)) <> EXISTS (SELECT 1 FROM event o WHERE o.tenant = i.tenant AND o.id = e.value ->> 'id')`))
			key, err := os.ReadFile(filepath.Join(to.data, "master.key"))
			require.NoError(t, err)
			own, err := os.ReadFile(filepath.Join(s.data, "master.key"))
			require.NoError(t, err)
			require.Equal(t, string(own), string(key))
		}
		close(stop)
		for range 2 {
			require.NoError(t, <-ended)
		}
		events.end(t)
	})
}
