package app_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
	"kith/core/job"
)

// benchRows returns the number of rows that the benchmarks import: KITH_BENCH_ROWS, or
// 100,000.
func benchRows(b *testing.B) int {
	b.Helper()
	text := os.Getenv("KITH_BENCH_ROWS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err, "KITH_BENCH_ROWS")
	return n
}

// manyUsers returns n typical rows of MUTATION/USER.
func manyUsers(n int) string {
	var text strings.Builder
	text.WriteString("accountId,id,firstName,lastName,email,locale,countryCode,customFields.plan\n")
	for i := range n {
		fmt.Fprintf(&text, "acct-%07d,user-%07d,First%d,Last%d,user%d@example.com,en_US,US,pro\n", i, i, i%997, i%1009, i)
	}
	return text.String()
}

// BenchmarkImport_Users imports users from the upload to the result file, on an embedded
// database and on a server. Each has a baseline that stores the same rows and does
// nothing else: the .import command of sqlite3, and bare statements with one JSON
// argument for many rows. "of-baseline" is the rate divided by that of the baseline,
// which ran just before on the same machine.
func BenchmarkImport_Users(b *testing.B) {
	rows := benchRows(b)
	text := manyUsers(rows)
	var baseline float64
	b.Run("file/sqlite3-import", func(b *testing.B) { baseline = perSecond(b, rows, func() func() { return sqliteImport(b, text) }) })
	b.Run("file", func(b *testing.B) {
		rate := perSecond(b, rows, func() func() { return usersImport(b, newBundle(b), text, rows) })
		b.ReportMetric(rate/baseline, "of-baseline")
	})
	b.Run("server/bare-insert", func(b *testing.B) { baseline = perSecond(b, rows, func() func() { return bareInserts(b, rows) }) })
	b.Run("server", func(b *testing.B) {
		rate := perSecond(b, rows, func() func() { return usersImport(b, bundleOn(b, aloneServer(b)), text, rows) })
		b.ReportMetric(rate/baseline, "of-baseline")
	})
}

// perSecond measures the function that prepare returns, and reports rows per second.
func perSecond(b *testing.B, rows int, prepare func() (measured func())) float64 {
	for b.Loop() {
		b.StopTimer()
		run := prepare()
		b.StartTimer()
		run()
	}
	rate := float64(rows*b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "rows/s")
	return rate
}

func usersImport(b *testing.B, in bundle, text string, rows int) func() {
	return func() {
		done := in.imported(b, job.ImportUser, "users.csv", text, "{}")
		require.Equal(b, job.Stats{Processed: int64(rows)}, done.Stats)
	}
}

// sameIndexes is a table of the columns of manyUsers, with an index for each index that Kith
// has on users: on the account, the user, the account at the payment provider, the code,
// the owner of the code, and the search terms. In place of a random code it has a hash of
// the row's number.
const sameIndexes = `
CREATE TABLE users (accountId TEXT NOT NULL, id TEXT NOT NULL, firstName TEXT, lastName TEXT, email TEXT, locale TEXT,
	countryCode TEXT, plan TEXT, PRIMARY KEY (accountId, id)) WITHOUT ROWID;
CREATE INDEX users_account ON users (accountId);
CREATE INDEX users_provider ON users (nullif(locale, locale), accountId);
CREATE UNIQUE INDEX users_code ON users (printf('%08X', (substr(id, 6) * 2654435761) & 4294967295) COLLATE NOCASE);
CREATE INDEX users_owner ON users (accountId, id, printf('%08X', (substr(id, 6) * 2654435761) & 4294967295));
CREATE INDEX users_term1 ON users (lower(accountId));
CREATE INDEX users_term2 ON users (lower(id));
CREATE INDEX users_term3 ON users (lower(email));
CREATE INDEX users_term4 ON users (lower(substr(email, instr(email, '@') + 1)));
CREATE INDEX users_term5 ON users (lower(firstName));
CREATE INDEX users_term6 ON users (lower(lastName));`

// samePragmas are the pragmas of Kith's writing connection.
const samePragmas = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;"

func sqliteImport(b *testing.B, text string) func() {
	dir := b.TempDir()
	csv, db := filepath.Join(dir, "users.csv"), filepath.Join(dir, "users.db")
	require.NoError(b, os.WriteFile(csv, []byte(text), 0o600))
	run := func(args ...string) {
		out, err := exec.Command("sqlite3", append([]string{"-bail", db}, args...)...).CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	run(sameIndexes)
	return func() { run(samePragmas, ".import --csv --skip 1 "+csv+" users") }
}

// aloneServer starts a new server without replicas.
func aloneServer(b *testing.B) *store.Primary {
	db, err := store.Open(sqldtest.Start(b).PrimaryURL(), "")
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() }) // the server has ended before
	require.NoError(b, db.Migrate(b.Context(), start))
	return db
}

// bareBatchRows is the number of rows in each transaction of bareInserts.
const bareBatchRows = 4000

// bareInserts inserts the rows of an import of manyUsers into Kith's tables, by the same
// number of statements as the import. The arguments are made before the measurement.
func bareInserts(b *testing.B, rows int) func() {
	url := sqldtest.Start(b).PrimaryURL()
	db, err := store.Open(url, "")
	require.NoError(b, err)
	require.NoError(b, db.Migrate(b.Context(), start))
	in := bundleOn(b, db)
	_ = db.Close() // an error if the server has ended before
	var batches [][3]string
	for n := 0; n < rows; n += bareBatchRows {
		batches = append(batches, bareRows(string(in.tenant), n, min(n+bareBatchRows, rows)))
	}
	connector, err := libsql.NewConnector(url)
	require.NoError(b, err)
	pool := sql.OpenDB(connector)
	b.Cleanup(func() { _ = pool.Close() })
	conn, err := pool.Conn(b.Context())
	require.NoError(b, err)
	return func() {
		for i, arguments := range batches {
			bareBatch(b, conn, string(in.tenant), arguments, i*bareBatchRows)
		}
	}
}

func bareRows(tenant string, from, to int) (arguments [3]string) {
	var accounts, users, codes strings.Builder
	for i := from; i < to; i++ {
		a, u := fmt.Sprintf("acct-%07d", i), fmt.Sprintf("user-%07d", i)
		first, last, email := fmt.Sprintf("First%d", i%997), fmt.Sprintf("Last%d", i%1009), fmt.Sprintf("user%d@example.com", i)
		fmt.Fprintf(&accounts, `,[%q]`, a)
		fmt.Fprintf(&users, `,[%q,%q,%q,%q,%q,"%s"]`, a, u, first, last, email, strings.ToLower(strings.Join([]string{
			tenant + "/" + a, tenant + "/" + u, tenant + "/" + email, tenant + "/example.com", tenant + "/" + first, tenant + "/" + last,
		}, `\u001f`)))
		fmt.Fprintf(&codes, `,["%X%07X",%q,%q]`, i/bareBatchRows*7&15, uint32(i)*2654435761&0xFFFFFFF, a, u)
	}
	for i, all := range []*strings.Builder{&accounts, &users, &codes} {
		arguments[i] = "[" + all.String()[1:] + "]"
	}
	return arguments
}

func bareBatch(b *testing.B, conn *sql.Conn, tenant string, arguments [3]string, before int) {
	exec := func(statement string, args ...any) {
		_, err := conn.ExecContext(context.Background(), statement, args...)
		require.NoError(b, err)
	}
	exec(`BEGIN IMMEDIATE`)
	for i, statement := range []string{
		`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
			SELECT ?1, value ->> 0, 'USD', 'TRIAL', '', 0, '', 1, 1, 1 FROM json_each(?2)`,
		`INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url, locale, country_code, referable, custom_fields, segments, created_at, updated_at, terms)
			SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, '', 'en_US', 'US', 1, '{"plan":"pro"}', '[]', 1, 1, value ->> 5 FROM json_each(?2)`,
		`INSERT INTO code (tenant, code, program, account_id, user_id, created_at)
			SELECT ?1, value ->> 0, 'classic', value ->> 1, value ->> 2, 1 FROM json_each(?2)`,
	} {
		exec(statement, tenant, arguments[i])
	}
	exec(`INSERT INTO user_index (rowid, terms) SELECT seq, terms FROM user WHERE seq > ?1`, before)
	exec(`COMMIT`)
}

// BenchmarkImport_Referred imports users of whom none, every tenth or each was referred.
// The owners of the codes are imported before; each referred ten users. In the last case
// each referral converts, which gives two rewards.
func BenchmarkImport_Referred(b *testing.B) {
	rows := benchRows(b) / 10
	for _, end := range []struct {
		name string
		open func(*testing.B) bundle
	}{
		{"file", func(b *testing.B) bundle { return newBundle(b) }},
		{"server", func(b *testing.B) bundle { return bundleOn(b, aloneServer(b)) }},
	} {
		for _, who := range []struct {
			name      string
			oneIn     int
			converted string
		}{{"none", rows + 1, ""}, {"tenth", 10, ""}, {"all", 1, ""}, {"converted", 1, "true"}} {
			b.Run(end.name+"/"+who.name, func(b *testing.B) {
				referredImport(b, end.open, rows, who.oneIn, who.converted)
			})
		}
	}
}

// referredImport imports users of whom one in oneIn has the code of an owner.
func referredImport(b *testing.B, open func(*testing.B) bundle, rows, oneIn int, converted string) {
	perSecond(b, rows, func() func() {
		in := open(b)
		usersImport(b, in, owners(rows/10), rows/10)()
		return usersImport(b, in, referred(rows, oneIn, converted), rows)
	})
}

// BenchmarkTarget_Bulk measures work on a database file that docs/performance.md has targets
// for: redemptions, deletions, users who are all referred and converted, a call for one of those,
// and an import of users beside the .import command of sqlite3.
func BenchmarkTarget_Bulk(b *testing.B) {
	rows, users := benchRows(b)/10, benchUsers(b)
	text := manyUsers(users)
	file := func(b *testing.B) bundle { return newBundle(b) }
	for range testenv.BenchRuns(b) {
		b.Run("redemptions", func(b *testing.B) { redeemWithin(b, newBundle(b)) })
		b.Run("deletions", func(b *testing.B) { otherImport(b, file, job.ImportDelete, rows) })
		b.Run("converted", func(b *testing.B) { referredImport(b, file, rows, 1, "true") })
		b.Run("payer", func(b *testing.B) { identifyPayers(b, newBundle(b)) })
		b.Run("import/sqlite3-import", func(b *testing.B) { perSecond(b, users, func() func() { return sqliteImport(b, text) }) })
		b.Run("import/kith", func(b *testing.B) {
			perSecond(b, users, func() func() { return usersImport(b, newBundle(b), text, users) })
		})
	}
}

// owners returns n rows of MUTATION/USER with a code each.
func owners(n int) string {
	var text strings.Builder
	text.WriteString("accountId,id,firstName,email,referralCodes.classic\n")
	for i := range n {
		fmt.Fprintf(&text, "owner-%07d,user-%07d,Owner,owner%d@example.com,OWNER%d\n", i, i, i, i)
	}
	return text.String()
}

// referred returns rows like manyUsers, of which one in oneIn has the code of an owner.
func referred(n, oneIn int, converted string) string {
	var text strings.Builder
	text.WriteString("accountId,id,firstName,lastName,email,locale,countryCode,customFields.plan,referredBy.code,referredBy.isConverted\n")
	for i := range n {
		code := ""
		if i%oneIn == oneIn-1 {
			code = fmt.Sprintf("OWNER%d", i*7919%(n/10))
		}
		fmt.Fprintf(&text, "acct-%07d,user-%07d,First%d,Last%d,user%d@example.com,en_US,US,pro,%s,%s\n", i, i, i%997, i%1009, i, code, converted)
	}
	return text.String()
}

// BenchmarkImport_OtherTypes imports the other types, with a tenth of the rows, about
// existing users.
func BenchmarkImport_OtherTypes(b *testing.B) {
	rows := benchRows(b) / 10
	for _, end := range []struct {
		name string
		open func(*testing.B) bundle
	}{
		{"file", func(b *testing.B) bundle { return newBundle(b) }},
		{"server", func(b *testing.B) bundle { return bundleOn(b, aloneServer(b)) }},
	} {
		for _, typ := range []job.Type{job.ImportUserEvent, job.ImportRedeem, job.ImportDelete} {
			b.Run(end.name+"/"+typ.Task(), func(b *testing.B) {
				otherImport(b, end.open, typ, rows)
			})
		}
	}
}

// otherImport imports rows of a type about existing users.
func otherImport(b *testing.B, open func(*testing.B) bundle, typ job.Type, rows int) {
	perSecond(b, rows, func() func() {
		in := open(b)
		usersImport(b, in, manyUsers(rows), rows)()
		return func() {
			done := in.imported(b, typ, "rows.csv", otherRows(typ, rows), "{}")
			require.EqualValues(b, rows, done.Stats.Processed)
		}
	})
}

// otherRows returns rows of a type about the users of manyUsers. Redemptions are refused,
// since no user has credit: they only read.
func otherRows(typ job.Type, n int) string {
	var text strings.Builder
	text.WriteString(map[job.Type]string{
		job.ImportUserEvent: "accountId,userId,idempotencyKey,event.key,event.fields.revenue\n",
		job.ImportRedeem:    "accountId,id,unit,valueToRedeem\n",
		job.ImportDelete:    "accountId,id,preserveEmptyAccount\n",
	}[typ])
	for i := range n {
		fmt.Fprintf(&text, "acct-%07d,user-%07d,", i, i)
		switch typ {
		case job.ImportUserEvent:
			fmt.Fprintf(&text, "event-%07d,purchase,29.00\n", i)
		case job.ImportRedeem:
			text.WriteString("CENTS,100\n")
		case job.ImportDelete:
			text.WriteString("false\n")
		}
	}
	return text.String()
}
