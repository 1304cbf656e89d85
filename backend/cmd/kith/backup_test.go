package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"kith/backend/backup"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/auth"
	"kith/wasm/transcript"
)

// storyDatabases returns databases with the rows of stories. Each has rows in a table
// that is empty in the others, and together they have rows in every table: fillRest
// fills the tables that no story does.
func storyDatabases(t *testing.T) (databases []string) {
	t.Helper()
	if storyLeftovers.databases == nil {
		t.Run("stories", func(t *testing.T) { playOnBackend(t, newFixture(t)) })
	}
	dir := t.TempDir()
	for _, l := range storyLeftovers.databases {
		path := filepath.Join(dir, l.story+".db")
		require.NoError(t, os.WriteFile(path, l.content, 0o600))
		databases = append(databases, path)
	}
	require.NotEmpty(t, databases)
	require.Empty(t, storyLeftovers.empty, "no story leaves rows in these tables: add them to fillRest")
	return databases
}

// storyLeftovers has the databases of the stories, after they were played on the backend
// without an error. TestStories plays them before the parallel tests run.
var storyLeftovers leftovers

type leftovers struct {
	databases []leftDatabase
	// empty are the tables that are empty in all of them.
	empty []string
}

type leftDatabase struct {
	story   string
	content []byte
	filled  []string // the tables that have rows
}

// playOnBackend plays every story on the backend, and keeps its database.
func playOnBackend(t *testing.T, g *fixture) {
	t.Helper()
	var all leftovers
	transcript.Run(t, stories, func(t *testing.T) transcript.Target {
		var s *stage
		// Cleanups run in reverse order: when this one runs, the database is closed and
		// its folder still exists.
		_ = t.TempDir()
		t.Cleanup(func() { all.keep(t, filepath.Base(t.Name()), s.flags.DatabaseURL) })
		s = g.stage(t)
		return s.backendTarget("backend")
	})
	if !t.Failed() {
		all.dropCovered()
		storyLeftovers = all
	}
}

// dropCovered drops the databases whose tables all have rows in others.
func (l *leftovers) dropCovered() {
	inDatabases := map[string]int{}
	for _, d := range l.databases {
		for _, table := range d.filled {
			inDatabases[table]++
		}
	}
	l.databases = slices.DeleteFunc(l.databases, func(d leftDatabase) bool {
		if slices.ContainsFunc(d.filled, func(table string) bool { return inDatabases[table] == 1 }) {
			return false
		}
		for _, table := range d.filled {
			inDatabases[table]--
		}
		return true
	})
}

// keep adds a database if it has rows in a table that is empty in those before it.
func (l *leftovers) keep(t *testing.T, story, url string) {
	t.Helper()
	path := strings.TrimPrefix(url, "file:")
	if l.databases != nil && !hasRows(t, path, l.empty) {
		return
	}
	fillRest(t, url)
	rows := dumped(t, url, "")
	if l.databases == nil {
		l.empty = slices.Collect(maps.Keys(rows))
	}
	l.empty = slices.DeleteFunc(l.empty, func(table string) bool { return len(rows[table]) > 0 })
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	maps.DeleteFunc(rows, func(_ string, rows []string) bool { return len(rows) == 0 })
	l.databases = append(l.databases, leftDatabase{story, content, slices.Collect(maps.Keys(rows))})
}

// hasRows reports whether any of the tables has a row.
func hasRows(t *testing.T, path string, tables []string) (any bool) {
	t.Helper()
	if len(tables) == 0 {
		return false
	}
	// Close at once, so that the next writer's Close checkpoints the log into the file.
	db := openSQL(t, "file:"+path)
	defer db.Close()
	query := `SELECT EXISTS (SELECT 1 FROM "` + strings.Join(tables, `") OR EXISTS (SELECT 1 FROM "`) + `")`
	require.NoError(t, db.QueryRow(query).Scan(&any), query)
	return any
}

// fillRest adds rows that no story leaves: those that exist only during an operation, or
// that come from a gateway.
func fillRest(t *testing.T, url string) {
	t.Helper()
	db := openSQL(t, url)
	defer db.Close()
	for _, statement := range []string{
		`INSERT OR IGNORE INTO job (tenant, id, type, name, requester, mail_to, format, params, status, message, processed, errors, attempt, tries, leased_until, created_at)
			VALUES ('demo', 'running', 'MUTATION/USER', 'n', 'r', '', 'CSV', '{}', 'PENDING', '', 1, 0, 1, 1, 9000000000000, 1)`,
		`INSERT INTO job_part (tenant, job_id, seq, result, errors) VALUES ('demo', 'running', 1, x'00ff1f8b', NULL), ('demo', 'running', 2, x'', x'0a')`,
		`INSERT INTO import_columns (tenant, type, header, columns, used_at) VALUES ('demo', 'MUTATION/USER', '` + strings.Repeat("0", 64) + `', '{"id":"a"}', 1)`,
		`INSERT INTO gateway_subscription (tenant, id, customer_id, status, in_trial, paid, wanted, folded, problem, attempt, tries, created_at)
			VALUES ('demo', 's1', 'c', 'Active', 0, 1, 500, 400, '', 1, 0, 1)`,
		`INSERT INTO gateway_bill (tenant, transaction_id, subscription_id, account_id, amount, discount, credit, first, seen_at) VALUES ('demo', 'b1', 's1', 'bob', 4000, 500, 400, 1, 1)`,
		`INSERT INTO gateway_refund (tenant, transaction_id, account_id, subscription_id, amount, currency, state, key_number, refund_id, problem, created_at)
			VALUES ('demo', 'b1', 'bob', 's1', 500, 'USD', 'waiting', 1, '', '', 1)`,
		`INSERT INTO gateway_payment (tenant, id, subscription_id, account_id, user_id, amount, revenue, currency, created_at) VALUES ('demo', 'in_1', 's1', 'bob', 'bob', 4500, 4000, 'USD', 1)`,
		`INSERT INTO gateway_credit (tenant, id, account_id, customer_id, subscription_id, amount, currency, state, created_at) VALUES ('demo', 'c1', 'bob', 'c', 's1', 400, 'USD', 'waiting', 1)`,
		`INSERT INTO fuel_due (tenant, program, key, referral_id, created_at) VALUES ('demo', 'classic', 'referrer', 'r', 1)`,
		`INSERT INTO order_event (tenant, event_id) VALUES ('demo', 'e')`,
		`INSERT INTO worker_process (id, beat) VALUES ('p', 1)`,
		`INSERT INTO order_replay (tenant, program, account_id, user_id, placed_at, referral_id, order_key, moderated) VALUES ('demo', 'classic', 'anna', 'anna', 1, '', '', '')`,
		`INSERT INTO webhook_subscription (tenant, url, name, secret, created_at) VALUES ('demo', 'https://x.example/', '', 's', 1)`,
		`INSERT INTO webhook_event (tenant, id, type, data, created_at) VALUES ('demo', 'e1', 'test', '{"a":"\u0000"}', 1)`,
		`INSERT INTO webhook_delivery (tenant, url, event_id, state, attempt, tries, due_at, created_at) VALUES ('demo', 'https://x.example/', 'e1', 'waiting', 1, 1, 9000000000000, 1)`,
		`INSERT INTO webhook_attempt (tenant, url, event_id, number, started_at, duration, status, error, answer) VALUES ('demo', 'https://x.example/', 'e1', 1, 1, 1, 500, '', 'oh')`,
		`INSERT INTO sftp_key (tenant, fingerprint, type, note, created_at) VALUES ('demo', 'SHA256:x', 'ssh-ed25519', '', 1)`,
		`INSERT INTO person (id, email, name, password, password_at, totp, totp_on, created_at) VALUES ('p1', 'ann@example.com', 'Ann', '$argon2id$x', 1, 'sealed', 1, 1)`,
		`INSERT INTO failed_sign_in (address, times, last_at, last_from) VALUES ('a1', 2, 1, '192.0.2.1')`,
		`INSERT INTO person_identity (issuer, subject, person, created_at) VALUES ('https://id.example', 's', 'p1', 1)`,
		`INSERT INTO person_recovery (person, hash) VALUES ('p1', 'h1')`,
		`INSERT INTO person_session (hash, id, person, stage, created_at, seen_at, confirmed_at, ip, agent) VALUES ('h2', 's1', 'p1', 'in', 1, 1, 1, '', '')`,
		`INSERT INTO person_reset (person, hash, expires_at) VALUES ('p1', 'h3', 9000000000000)`,
		`INSERT INTO membership (tenant, person, role, created_at) VALUES ('demo', 'p1', 'owner', 1)`,
		`INSERT INTO invitation (tenant, id, hash, email, role, invited_by, created_at, expires_at) VALUES ('demo', 'i1', 'h4', 'ben@example.com', 'viewer', 'ann@example.com', 1, 9000000000000)`,
		`INSERT INTO audit_entry (tenant, at, person, actor, ip, action, subject, was, became, account_id, user_id)
			VALUES ('demo', 1, 'p1', 'ann@example.com', '192.0.2.1', 'member.invited', 'ben@example.com', '', '{"role":"viewer"}', '', '')`,
		`INSERT INTO gateway_coupon (tenant, customer_id, code, problem, tries) VALUES ('demo', 'c', 'ANNA10', '', 0)`,
		`INSERT INTO webhook_allowed (tenant, prefix) VALUES ('test_demo', '127.0.0.0/8')`,
		// Text that JSON cannot represent, and text that it escapes.
		`INSERT INTO tenant_origin (tenant, origin, created_at) VALUES ('demo', 'a' || char(0) || 'b', 1), ('demo', char(1, 9, 10, 13, 34, 92, 127, 8232, 128640) || '{"hex":"00"}:{"hex":"', 2)`,
		// A number of a sequence that is no longer in use.
		`INSERT INTO webhook_event (tenant, id, type, data, created_at) VALUES ('demo', 'gone', 'test', '{}', 1)`,
		`DELETE FROM webhook_event WHERE id = 'gone'`,
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
}

// dumped returns the rows of a database by table, of one tenant or of all.
func dumped(t *testing.T, url string, tenant core.TenantAlias) map[string][]string {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	defer db.Close()
	all := map[string][]string{}
	require.NoError(t, db.Snapshot(context.Background(), func(r store.Reads) error {
		tables, err := tabledb.Tables(context.Background(), r)
		for _, table := range tables {
			if err != nil {
				return err
			}
			if all[table.Name] = nil; tenant == "" || table.Tenant != "" {
				err = tabledb.Dump(context.Background(), r, table, tenant, nil, func(line []byte) error {
					all[table.Name] = append(all[table.Name], string(line))
					return nil
				})
			}
		}
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// numbers matches the columns that get new numbers when a tenant is restored.
var numbers = regexp.MustCompile(`"(rowid|seq)":-?\d+,?`)

// unnumbered removes the numbers that the database has given to rows. It also removes
// the numbers of job_part, which are not such numbers.
func unnumbered(all map[string][]string) map[string][]string {
	for _, rows := range all {
		for i, row := range rows {
			rows[i] = numbers.ReplaceAllString(row, "")
		}
	}
	return all
}

// requireKith runs a command line and returns its output.
func requireKith(t *testing.T, args ...string) string {
	t.Helper()
	out, errOut, status := runKith(t, args...)
	require.Zero(t, status, "%s: %s", args, errOut)
	return out
}

func runKith(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	var o, e strings.Builder
	status = run(append(args, "--master-key", storyKey), &o, &e)
	return o.String(), e.String(), status
}

func TestBackup(t *testing.T) {
	t.Parallel()
	databases := storyDatabases(t)
	t.Run("round trip", func(t *testing.T) { backupRoundTrip(t, databases) })
	t.Run("round trip of an erased tenant", func(t *testing.T) { tenantRoundTrip(t, databases) })
	t.Run("export of a tenant", func(t *testing.T) { tenantExport(t, databases) })
}

// A backup of all that the service stores is restored unchanged: from a file, a server
// and a replica, to a file and a server.
func backupRoundTrip(t *testing.T, databases []string) {
	cluster := sqldtest.StartWith(t, sqldtest.Options{Replicas: 1})
	server, dir := cluster.PrimaryURL(), t.TempDir()
	for i, database := range databases {
		t.Log(filepath.Base(database))
		want := dumped(t, "file:"+database, "")
		archive, again := filepath.Join(dir, "backup"), filepath.Join(dir, "again")
		files := filepath.Join(dir, "files")
		out := requireKith(t, "backup", archive, "--database-url", "file:"+database, "--no-files")
		require.Regexp(t, `backup: \d+ rows, 0 files, \d+ bytes, SHA-256 of its content [0-9a-f]{64}\n$`, out)

		if i > 0 {
			// The server has the earlier database: mark it as an incomplete restore.
			execSQL(t, server, `CREATE TABLE restoring (begun_at INTEGER)`)
		}
		requireKith(t, "restore", archive, "--database-url", server, "--files", files)
		require.Equal(t, want, dumped(t, server, ""))

		cluster.WaitForSync(t)
		requireKith(t, "backup", again, "--database-url", cluster.ReplicaURL(), "--no-files")
		copied := filepath.Join(t.TempDir(), "copied.db")
		requireKith(t, "restore", again, "--database-url", "file:"+copied, "--files", files)
		require.Equal(t, want, dumped(t, "file:"+copied, ""))
		require.Empty(t, orphans(t, copied))
		requireIndexed(t, "file:"+copied)
	}
}

// No row of an erased tenant remains. A restored tenant has its rows as before. Other
// tenants do not change.
func tenantRoundTrip(t *testing.T, databases []string) {
	cluster := sqldtest.Start(t)
	dir := t.TempDir()
	for i, database := range databases {
		t.Log(filepath.Base(database))
		url, archive, whole := "file:"+database, filepath.Join(dir, "demo"), filepath.Join(dir, "whole")
		files := filepath.Join(dir, "files")
		if i%3 == 2 {
			requireKith(t, "backup", whole, "--database-url", url, "--no-files")
			if i > 2 {
				execSQL(t, cluster.PrimaryURL(), `CREATE TABLE restoring (begun_at INTEGER)`)
			}
			url = cluster.PrimaryURL()
			requireKith(t, "restore", whole, "--database-url", url, "--files", files)
		}
		// Event calls that are not processed yet.
		execSQL(t, url, `INSERT INTO intake (tenant, account_id, user_id, idempotency_key, events, received_at, key_id, trusted)
			VALUES ('demo', 'anna', 'anna', 'waits', '[]', 1, 'key', 1), ('bare', 'a', 'b', NULL, '[]', 1, NULL, 0), ('demo', 'bob', 'bob', NULL, '[]', 2, NULL, 0)`)
		want, all := unnumbered(dumped(t, url, "demo")), dumped(t, url, "")
		requireKith(t, "backup", archive, "--tenant", "demo", "--database-url", url, "--no-files")
		requireKith(t, "backup", whole, "--database-url", url, "--no-files")

		out := requireKith(t, "tenant", "erase", "demo", "--yes", "--database-url", url, "--files", files)
		require.Regexp(t, `demo is erased: \d+ rows`, out)
		others := dumped(t, url, "")
		for table, rows := range all {
			require.Equal(t, without(rows, `"tenant":"demo"`, `"alias":"demo"`), others[table], table)
			for _, row := range others[table] {
				require.NotRegexp(t, `"demo"`, row, table)
			}
		}
		_, errOut, status := runKith(t, "tenant", "erase", "demo", "--yes", "--database-url", url, "--files", files)
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "there is no tenant")

		from := archive
		if i%2 == 1 {
			from = whole
		}
		requireKith(t, "restore", from, "--tenant", "demo", "--database-url", url, "--files", files)
		got := dumped(t, url, "")
		for table, rows := range others {
			if table != "sqlite_sequence" {
				require.Equal(t, rows, without(got[table], `"tenant":"demo"`, `"alias":"demo"`), table)
			}
		}
		require.Equal(t, want, unnumbered(dumped(t, url, "demo")))
		requireIndexed(t, url)
		// Only the calls that were waiting wait again.
		require.Equal(t, "3", textSQL(t, url, `SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)`))
		_, errOut, status = runKith(t, "restore", archive, "--tenant", "demo", "--database-url", url, "--files", files)
		require.Equal(t, 1, status)
		require.Contains(t, errOut, "exists already")
	}
}

// Of two restores of the same at once, the later one wins: the other fails, and none
// of its rows remain. An erasure ends a restore, and a restore ends an erasure.
func TestRestore_OfTwoAtOnceTheLaterOneWins(t *testing.T) {
	t.Parallel()
	databases := storyDatabases(t)
	dir := t.TempDir()
	archive := func(database string) string {
		path := filepath.Join(dir, filepath.Base(database)+".backup")
		requireKith(t, "backup", path, "--database-url", "file:"+database, "--no-files")
		return path
	}
	earlier, later := archive(databases[0]), archive(databases[1])
	files := file.Dir(t.TempDir())
	// restore restores into a database. When its nth row was read, it calls then.
	restore := func(from, url string, tenant core.TenantAlias, n int64, then func()) error {
		db, err := store.Open(url, "")
		require.NoError(t, err)
		defer db.Close()
		_, err = backup.Restore(t.Context(), backup.Target{
			DB: db, Files: files, Tenant: tenant, Now: now,
			Progress: func(read int64) {
				if then != nil && read >= n {
					call := then
					then = nil
					call()
				}
			},
		}, func() (io.ReadCloser, error) { return os.Open(from) })
		return err
	}
	url := func(name string) string { return "file:" + filepath.Join(dir, name) }
	from, err := os.Open(earlier)
	require.NoError(t, err)
	_, trailer, err := backup.Verify(from)
	require.NoError(t, errors.Join(err, from.Close()))

	// A restore that is killed while it verifies, or when it has made the file, is repeated.
	data := filepath.Join(dir, "killed")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "master.key"), []byte(storyKey+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(data, "kith.db"), nil, 0o600))
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(data, "kith.db"), long, long))
	damaged := filepath.Join(dir, "damaged")
	require.NoError(t, os.WriteFile(damaged, []byte("no backup"), 0o600))
	_, _, status := runKith(t, "restore", damaged, "--data", data)
	require.Equal(t, 1, status)
	db, err := store.Open(url("killed/kith.db"), "")
	require.NoError(t, err)
	_, errOut, status := runKith(t, "tenant", "show", "demo", "--data", data)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "the database is empty: repeat the restore")
	announced, err := tabledb.NewRun("").Announce(t.Context(), db, now())
	require.NoError(t, errors.Join(err, db.Close()))
	require.True(t, announced, "the mark of the restore that failed is gone")
	_, errOut, status = runKith(t, "tenant", "show", "demo", "--data", data)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "a restore into this database was begun and has not ended")
	requireKith(t, "restore", earlier, "--data", data)
	require.Equal(t, dumped(t, "file:"+databases[0], ""), dumped(t, url("killed/kith.db"), ""))

	var rows int64
	for _, n := range trailer.Rows {
		rows += n
	}
	for i, n := range []int64{1, rows / 2, rows} {
		whole := url(fmt.Sprint("whole", i))
		err := restore(earlier, whole, "", n, func() { require.NoError(t, restore(later, whole, "", 0, nil)) })
		require.ErrorContains(t, err, "another restore")
		require.Equal(t, dumped(t, "file:"+databases[1], ""), dumped(t, whole, ""))
	}
	tenants := url("tenants")
	requireKith(t, "restore", later, "--database-url", tenants)
	erase := func() { requireKith(t, "tenant", "erase", "demo", "--yes", "--database-url", tenants) }
	erase()
	without := dumped(t, tenants, "")
	err = restore(earlier, tenants, "demo", rows/2, func() { require.NoError(t, restore(later, tenants, "demo", 0, nil)) })
	require.ErrorContains(t, err, "another restore")
	require.Equal(t, unnumbered(dumped(t, "file:"+databases[1], "demo")), unnumbered(dumped(t, tenants, "demo")))

	erase()
	require.ErrorContains(t, restore(earlier, tenants, "demo", rows/2, erase), "erasure")
	after := dumped(t, tenants, "")
	for _, all := range []map[string][]string{without, after} {
		delete(all, "sqlite_sequence")
	}
	require.Equal(t, without, after)
}

// requireIndexed is storetest.RequireIndexed for the database at a URL.
func requireIndexed(t *testing.T, url string) {
	t.Helper()
	p, err := store.Open(url, "")
	require.NoError(t, err)
	defer p.Close()
	storetest.RequireIndexed(t, p.Reads)
}

func without(rows []string, marks ...string) (kept []string) {
	for _, row := range rows {
		has := false
		for _, mark := range marks {
			has = has || strings.Contains(row, mark)
		}
		if !has {
			kept = append(kept, row)
		}
	}
	return kept
}

// A truncated file, or one with changed bytes, restores nothing.
func TestRestore_DamagedFileIsRefused(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	dir := t.TempDir()
	archive := filepath.Join(dir, "backup")
	requireKith(t, "backup", archive, "--database-url", "file:"+g.database)
	good, err := os.ReadFile(archive)
	require.NoError(t, err)
	target := filepath.Join(dir, "new.db")
	for i := range 40 {
		bad := bytes.Clone(good)
		if at := i * len(good) / 40; i%2 == 0 {
			bad = bad[:at]
		} else {
			// A single changed bit of the compression may have no effect.
			for k := range min(16, len(bad)-at) {
				bad[at+k] ^= 0xff
			}
		}
		path := filepath.Join(dir, "bad")
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		_, errOut, status := runKith(t, "restore", path, "--database-url", "file:"+target)
		require.Equal(t, 1, status, i)
		require.Contains(t, errOut, "kith: file: ", i)
		require.Equal(t, "0", textSQL(t, "file:"+target, `SELECT count(*) FROM sqlite_schema`))
	}
	require.NoError(t, os.WriteFile(archive, append(good, "more"...), 0o600))
	_, errOut, status := runKith(t, "restore", archive, "--database-url", "file:"+target)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "is truncated or damaged")
}

// newIdentity returns a public key of age, and a file with its secret key.
func newIdentity(t *testing.T) (recipient, file string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "key.txt")
	require.NoError(t, os.WriteFile(file, []byte("# a key\n"+key.String()+"\n"), 0o600))
	return key.Recipient().String(), file
}

// An encrypted backup is restored by the key of any recipient, and by no other; a truncated
// or changed one restores nothing.
func TestBackup_Encrypted(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	url, dir := "file:"+g.database, t.TempDir()
	archive, target := filepath.Join(dir, "backup"), filepath.Join(dir, "new.db")
	first, firstFile := newIdentity(t)
	second, secondFile := newIdentity(t)
	_, otherFile := newIdentity(t)
	_, errOut, status := runKith(t, "backup", archive, "--database-url", url)
	require.Zero(t, status)
	require.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	require.Contains(t, errOut, "the backup is not encrypted: set KITH_BACKUP_RECIPIENT")
	_, errOut, status = runKith(t, "backup", archive, "--database-url", url, "--backup-recipient", first+", "+second)
	require.Zero(t, status)
	require.Empty(t, errOut)

	want := dumped(t, url, "")
	for _, file := range []string{firstFile, secondFile} {
		copied := filepath.Join(t.TempDir(), "copied.db")
		requireKith(t, "restore", archive, "--database-url", "file:"+copied, "--identity-file", file)
		require.Equal(t, want, dumped(t, "file:"+copied, ""))
	}
	require.Contains(t, requireKith(t, "restore", "--drill", archive, "--database-url", url, "--identity-file", firstFile), "ok    rows")
	export := filepath.Join(dir, "export")
	requireKith(t, "tenant", "export", "demo", export, "--database-url", url, "--backup-recipient", first)
	for _, test := range []struct{ args, says string }{
		{"restore " + archive, "identity-file: is needed, because the file is encrypted: give that of a recipient by --identity-file or KITH_BACKUP_IDENTITY_FILE"},
		{"restore --drill " + archive, "identity-file: is needed"},
		{"restore " + archive + " --identity-file " + otherFile, "identity-file: has no key that decrypts the file"},
		{"restore " + archive + " --identity-file " + archive, "identity-file: is not a list of secret keys of age"},
		{"restore " + archive + " --identity-file " + dir + "/absent", "identity-file: open " + dir + "/absent: no such file"},
		{"restore " + export + " --identity-file " + secondFile, "identity-file: has no key"},
		{"restore " + export + " --identity-file " + firstFile, "file: is an export"},
		{"backup " + dir + "/x --backup-recipient " + first + " --backup-recipient age1x", "backup-recipient: key 2 is not a public key of age"},
		{"tenant export demo " + dir + "/x --backup-recipient AGE-SECRET-KEY-1", "backup-recipient: key 1 is not a public key of age"},
	} {
		args := append(strings.Fields(test.args), "--database-url", "file:"+target)
		if !strings.HasPrefix(test.args, "restore") {
			args[len(args)-1] = url
		}
		_, errOut, status := runKith(t, args...)
		require.Equal(t, 1, status, test.args)
		require.Contains(t, errOut, test.says)
		require.NotContains(t, errOut, "SECRET")
	}

	good, err := os.ReadFile(archive)
	require.NoError(t, err)
	bad := filepath.Join(dir, "bad")
	for i := range 40 {
		damaged := bytes.Clone(good)
		if at := i * len(good) / 40; i%2 == 0 {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1
		}
		require.NoError(t, os.WriteFile(bad, damaged, 0o600))
		_, errOut, status := runKith(t, "restore", bad, "--database-url", "file:"+target, "--identity-file", firstFile)
		require.Equal(t, 1, status, i)
		require.Regexp(t, "^kith: (file: is truncated or damaged|identity-file: has no key that decrypts the file)", errOut, i)
	}
	for _, damaged := range [][]byte{good[:len(good)-1], append(bytes.Clone(good), 'x')} {
		require.NoError(t, os.WriteFile(bad, damaged, 0o600))
		_, errOut, _ := runKith(t, "restore", bad, "--database-url", "file:"+target, "--identity-file", firstFile)
		require.Contains(t, errOut, "file: is truncated or damaged")
	}
	require.Equal(t, "0", textSQL(t, "file:"+target, `SELECT count(*) FROM sqlite_schema`))
}

// rewriteArchive copies an archive with a changed row or header, and signs it with signer,
// or not at all if signer is nil.
func rewriteArchive(t *testing.T, from, to string, signer *auth.Signer, changeHeader func(*backup.Header)) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	r, err := backup.NewReader(bytes.NewReader(content))
	require.NoError(t, err)
	var out bytes.Buffer
	if changeHeader != nil {
		changeHeader(&r.Header)
	}
	w, err := backup.NewWriter(&out, r.Header)
	require.NoError(t, err)
	w.Signer = signer
	last, changed := "", false
	for {
		part, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.NotEmpty(t, part.Table, "the archive has no files")
		if part.Table != last {
			require.NoError(t, w.Table(part.Table))
			last = part.Table
		}
		for line := range bytes.Lines(part.Rows) {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if changeHeader == nil && part.Table == "tenant" {
				evil := bytes.Replace(line, []byte(`"svc_discount"`), []byte(`"evil_discount"`), 1)
				changed = changed || !bytes.Equal(line, evil)
				line = evil
			}
			require.NoError(t, w.Row(line))
		}
	}
	require.True(t, changed || changeHeader != nil)
	_, err = w.Close()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, out.Bytes(), 0o600))
}

// A changed backup restores nothing, even if its checksums are correct. One without a
// signature is restored with --unsigned only.
func TestRestore_ChangedFileIsRefused(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "backup"), filepath.Join(dir, "bad")
	target := "file:" + filepath.Join(dir, "new.db")
	requireKith(t, "backup", good, "--database-url", "file:"+g.database, "--no-files")
	keys, err := auth.ParseKeyring(strings.Repeat("11", 32))
	require.NoError(t, err)
	stranger := keys.Backup()
	refused := func(why string, where []string, args ...string) {
		t.Helper()
		var out, errOut strings.Builder
		require.Equal(t, 1, run(slices.Concat(args, where, []string{"--database-url", target}), &out, &errOut), "%s", out.String())
		require.Contains(t, errOut.String(), why)
		require.Equal(t, "0", textSQL(t, target, `SELECT count(*) FROM sqlite_schema`))
	}
	here, elsewhere := []string{"--master-key", storyKey}, []string{"--data", t.TempDir()}

	rewriteArchive(t, good, bad, &stranger, nil)
	refused("file: was changed after it was written", here, "restore", bad)
	refused("file: was changed after it was written", here, "restore", bad, "--unsigned")
	rewriteArchive(t, good, bad, &stranger, func(h *backup.Header) { h.Time++ })
	refused("file: was changed after it was written", here, "restore", bad)
	rewriteArchive(t, good, bad, nil, nil)
	refused("file: has no signature", here, "restore", bad)
	refused("file: has no signature", elsewhere, "restore", bad)
	refused("master-key: is needed to verify the file", elsewhere, "restore", good)
	// An archive of another signer may contain the signer's master key.
	rewriteArchive(t, good, bad, &stranger, func(h *backup.Header) { h.MasterKey, h.KeyCheck = strings.Repeat("11", 32), "" })
	refused("the key in the file proves nothing", elsewhere, "restore", bad)

	var out, errOut strings.Builder
	require.Equal(t, 1, run(append([]string{"backup", bad, "--database-url", "file:" + g.database}, elsewhere...), &out, &errOut))
	require.Contains(t, errOut.String(), "master-key: is needed to sign the backup")
	rewriteArchive(t, good, bad, nil, func(*backup.Header) {})
	requireKith(t, "restore", bad, "--database-url", target, "--unsigned")
	require.NotEqual(t, "0", textSQL(t, target, `SELECT count(*) FROM tenant`))
}

// A tenant that is restored under an earlier master key is served by processes that have only
// the database's key.
func TestRestore_TenantOfAnEarlierKey(t *testing.T) {
	t.Parallel()
	earlier, from, to := strings.Repeat("11", 32), t.TempDir(), t.TempDir()
	archive := filepath.Join(from, "acme.tar.gz")
	with := func(keys string, args ...string) (out, errOut string) {
		t.Helper()
		var o, e strings.Builder
		run(append(args, "--master-key", keys), &o, &e)
		return o.String(), e.String()
	}
	with(earlier, "tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", from)
	for _, call := range []string{"PUT /open/account/a/user/u firstName=A", "DELETE /open/account/a/user/u doNotTrack=true"} {
		with(earlier, append([]string{"api"}, append(strings.Fields(call), "--tenant", "acme", "--data", from)...)...)
	}
	with(earlier, "backup", archive, "--tenant", "acme", "--data", from)
	requireKith(t, "tenant", "create", "other", "--landing-url", "https://other.example/", "--data", to)
	restore := []string{"restore", archive, "--tenant", "acme", "--data", to}
	_, refused := with(storyKey, restore...)
	require.Contains(t, refused, "give the database's key and the earlier one: KITH_MASTER_KEY=PRESENT,EARLIER")
	out, errOut := with(earlier+","+storyKey, restore...) // in any order
	require.Contains(t, out, "encrypted again under the master key of the database: 2 secrets\n", errOut)
	require.Contains(t, errOut, "delete them here again with doNotTrack\" tenant=acme records=1")
	requireKith(t, "token", "--tenant", "acme", "--account", "a", "--user", "u", "--data", to)
	require.Contains(t, requireKith(t, "master-key", "rotate", "--data", to), "0 secrets were encrypted again")
}

// An export of a tenant has all of its rows, without secrets, and cannot be restored.
func tenantExport(t *testing.T, databases []string) {
	database := databases[len(databases)-1]
	execSQL(t, "file:"+database, `UPDATE webhook_subscription SET secret = 'zz-secret', old_secret = 'zz-old', old_until = 1 WHERE tenant = 'demo'`)
	execSQL(t, "file:"+database, `INSERT INTO gateway_connection (tenant, merchant_id, base_url, created_at) VALUES ('demo', 'm', '', 1)`)
	execSQL(t, "file:"+database, `INSERT INTO gateway_key (tenant, public_key, private_key, place) VALUES ('demo', 'zz-public', 'zz-private', 0)`)
	execSQL(t, "file:"+database, `INSERT OR REPLACE INTO pipeline (tenant, settings, secret, old_secret, old_until) VALUES ('demo', '{}', 'zz-pipeline', 'zz-pipeline', 1)`)
	path := filepath.Join(t.TempDir(), "demo.tar.gz")
	requireKith(t, "tenant", "export", "demo", path, "--database-url", "file:"+database, "--no-files")
	text := unpack(t, path)
	for _, secret := range append([]string{"zz-secret", "zz-old", "zz-private", "zz-pipeline", `"h4"`, "key_hash", "key_sealed", "masterKey", "webhook_key", `"bare"`},
		strings.Fields(textSQL(t, "file:"+database, `SELECT group_concat(hash || ' ' || sealed, ' ') FROM api_key`))...) {
		require.NotContains(t, text, secret)
	}
	require.Contains(t, text, "zz-public")
	counted := 0
	for table, rows := range dumped(t, "file:"+database, "demo") {
		if table == "tenant" || table == "api_key" || table == "webhook_subscription" || table == "gateway_key" || table == "pipeline" || table == "invitation" || table == "user_range" ||
			strings.HasSuffix(table, "_day") { // those are derived
			continue
		}
		for _, row := range rows {
			require.Contains(t, text, row+"\n")
			counted++
		}
	}
	require.NotZero(t, counted)
	_, errOut, status := runKith(t, "restore", path, "--tenant", "demo", "--database-url", "file:"+database)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "file: is an export, which has no secrets and cannot be restored; give a backup")
	_, errOut, status = runKith(t, "tenant", "export", "unknown", path, "--database-url", "file:"+database)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "there is no tenant with this alias")
}

func unpack(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	packed, err := gzip.NewReader(file)
	require.NoError(t, err)
	text, err := io.ReadAll(packed)
	require.NoError(t, err)
	return string(text)
}

// A drill of a backup without files accepts that the database names some.
func TestDrill_WithoutFiles(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	url, archive := "file:"+g.database, filepath.Join(t.TempDir(), "backup")
	execSQL(t, url, `INSERT INTO file (tenant, ref, size, hash, created_at, expires_at) VALUES ('demo', 'imports/demo/left_1.csv', 3, 'unknown', 1, 9000000000000)`)
	requireKith(t, "backup", archive, "--no-files", "--database-url", url)
	require.Contains(t, requireKith(t, "restore", "--drill", archive, "--database-url", url), "ok    rows")

	// Of a folder, the newest that is not dated in the future is restored.
	folder := t.TempDir()
	require.NoError(t, os.Link(archive, filepath.Join(folder, "kith-20200102T000000Z.tar.gz")))
	for _, name := range []string{"kith-20200101T000000Z.tar.gz", "kith-29990101T000000Z.tar.gz"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	require.Contains(t, requireKith(t, "restore", "--drill", folder, "--database-url", url), "ok    rows")
}

// A backup or restore that is refused reports the reason and writes nothing.
func TestBackup_Refused(t *testing.T) {
	t.Parallel()
	g := newFixture(t)
	url, dir := "file:"+g.database, t.TempDir()
	archive := filepath.Join(dir, "backup")
	requireKith(t, "backup", archive, "--tenant", "bare", "--database-url", url)
	execSQL(t, url, `INSERT INTO file (tenant, ref, size, hash, created_at, expires_at) VALUES
		('demo', 'imports/demo/expired_1.csv', 3, '', 1, 2), ('demo', 'imports/demo/half_1.csv', NULL, '', 1, 9000000000000)`)
	requireKith(t, "backup", archive+"2", "--database-url", url)
	execSQL(t, url, `INSERT INTO file (tenant, ref, size, hash, created_at, expires_at) VALUES ('demo', 'imports/demo/lost_1.csv', 3, 'unknown', 1, 9000000000000)`)
	newer := filepath.Join(dir, "newer.db")
	copyFile(t, g.database, newer)
	execSQL(t, "file:"+newer, `INSERT INTO schema_version (version, applied_at) VALUES (9999, 1)`)
	rewriteArchive(t, archive+"2", archive+"3", nil, func(h *backup.Header) { h.Schema = append(h.Schema, 9999) })
	unreleased := filepath.Join(dir, "unreleased.db")
	copyFile(t, g.database, unreleased)
	execSQL(t, "file:"+unreleased, `DELETE FROM schema_version`)
	execSQL(t, "file:"+unreleased, `INSERT INTO schema_version (version, applied_at) VALUES (160, 1)`)
	rewriteArchive(t, archive, archive+"4", nil, func(h *backup.Header) { h.Schema = []int{1, 160} })
	other := filepath.Join(dir, "other.db")
	copyFile(t, g.database, other)
	execSQL(t, "file:"+other, `ALTER TABLE account ADD COLUMN zz_more TEXT`)
	requireKith(t, "backup", archive+"5", "--no-files", "--database-url", "file:"+other)
	for _, test := range []struct{ args, says string }{
		{"backup " + dir + "/x --database-url " + url, "the file imports/demo/lost_1.csv is not in the file store; correct KITH_FILES, or leave files out by --no-files"},
		{"backup " + dir + "/x --database-url file:" + dir + "/nowhere.db", "there is no database"},
		{"backup " + dir + "/x --tenant unknown --database-url " + url, "there is no tenant with this alias"},
		{"backup " + dir + "/no/x --no-files --database-url " + url, "file: there is no folder " + dir + "/no; make it first"},
		{"backup " + dir + " --no-files --database-url " + url, "file: " + dir + " is a folder; name a file in it, such as " + dir + "/kith.tar.gz"},
		{"tenant export bare " + dir + " --no-files --database-url " + url, "file: " + dir + " is a folder"},
		{"restore " + dir + " --database-url file:" + dir + "/new.db", "file: " + dir + " is a folder; give one of its files"},
		{"restore " + dir + "/nowhere --database-url file:" + dir + "/new.db", "no such file or directory"},
		{"restore " + archive + " --database-url file:" + dir + "/new.db", "tenant: must be bare, the only tenant in the file"},
		{"restore " + archive + " --tenant demo --database-url " + url, "tenant: must be bare"},
		{"restore " + archive + "2 --tenant unknown --database-url " + url, "tenant: is not in the file, which has bare, demo, gateway"},
		{"restore " + archive + " --tenant bare --database-url " + url, "tenant: exists already; remove it with kith tenant erase"},
		{"restore " + archive + "2 --database-url " + url, "the database is not empty"},
		{"restore " + archive + "3 --unsigned --database-url file:" + dir + "/new.db", "the backup has schema 9999 and this version of kith knows"},
		{"restore " + archive + "5 --database-url file:" + dir + "/other2.db", "table account has the columns"},
		{"restore " + archive + " --tenant bare --database-url file:" + newer, "the database has schema 9999, and this kith knows schema "},
		{"backup " + dir + "/x --no-files --database-url file:" + newer, "use the version of kith that made it, or a newer one"},
		{"restore " + archive + "4 --unsigned --tenant bare --database-url " + url, "the backup was made by an unreleased version of kith (schema 160), which this version cannot read: make a new database"},
		{"backup " + dir + "/x --database-url file:" + unreleased, "the database was made by an unreleased version of kith (schema 160), which this version cannot read: make a new database"},
		{"serve --database-url file:" + unreleased, "the database was made by an unreleased version"},
		{"tenant erase bare --database-url " + url, "yes: is required without a terminal"},
		{"tenant erase unknown --yes --database-url " + url, "there is no tenant with this alias"},
	} {
		_, errOut, status := runKith(t, append(strings.Fields(test.args), "--files", filepath.Join(dir, "files"))...)
		require.Equal(t, 1, status, test.args)
		require.Contains(t, errOut, test.says, test.args)
	}
	left, err := filepath.Glob(filepath.Join(dir, "x*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, "0", textSQL(t, "file:"+filepath.Join(dir, "new.db"), `SELECT count(*) FROM sqlite_schema`))
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	require.NoError(t, confirm(io.Discard, strings.NewReader("acme\n"), true, "acme"))
	for _, typed := range []string{"", "\n", "yes\n", "ACME\n", "acme2\n"} {
		require.ErrorContains(t, confirm(io.Discard, strings.NewReader(typed), true, "acme"), "nothing was erased", typed)
	}
	require.ErrorContains(t, confirm(io.Discard, strings.NewReader("acme\n"), false, "acme"), "is required without a terminal")
}
