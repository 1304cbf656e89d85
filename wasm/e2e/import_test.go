package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/backend/file/bucket/s3test"
	"kith/core"
	"kith/core/job"
)

func (s *site) client(tenant string) *client.Client {
	return &client.Client{URL: s.backend, Tenant: core.TenantAlias(tenant), Key: s.keys[tenant]}
}

// beginJob uploads a file and creates its job.
func (s *site) beginJob(t testing.TB, typ, name, text string) string {
	t.Helper()
	c := s.client("demo")
	ref, err := c.Upload(t.Context(), name, strings.NewReader(text))
	require.NoError(t, err)
	made, err := c.CreateJob(t.Context(), client.Input{Type: job.Type(typ), FileRef: ref})
	require.NoError(t, err)
	return made.ID
}

func (s *site) download(t testing.TB, id string, which job.Attachment) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, s.client("demo").Download(t.Context(), id, which, &text))
	return text.String()
}

// ended waits until a job has completed.
func (s *site) ended(t testing.TB, id string) client.Job {
	t.Helper()
	var j client.Job
	await(t, func() (err error) {
		if j, err = s.client("demo").Job(t.Context(), id); err == nil && j.Status == "PENDING" {
			err = fmt.Errorf("the job is at %d", j.Stats.RecordsProcessed)
		}
		return err
	})
	require.EqualValues(t, "COMPLETED", j.Status, j.Message)
	return j
}

// userRows and eventRows return rows of which a repeated or missing one would be noticed.
// Some users refer others, and some rows fail. Rows are numbered from a multiple of 600.
func userRows(from, n int) string {
	var b strings.Builder
	b.WriteString("accountId,id,firstName,dateCreated,referralCodes.classic,referredBy.code\n")
	for i := from; i < from+n; i++ {
		id, referrer := fmt.Sprintf("u%05d", i), ""
		if i%40 == 39 {
			referrer = fmt.Sprintf("CODE%05d", i-7)
		}
		code := fmt.Sprintf("CODE%05d", i)
		switch i % 100 {
		case 50:
			id = ""
		case 51:
			code = fmt.Sprintf("CODE%05d", i-20)
		}
		fmt.Fprintf(&b, "a%05d,%s,User %d,15000000%05d,%s,%s\n", i, id, i, i, code, referrer)
	}
	return b.String()
}

func eventRows(from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		key := ""
		if i%3 == 0 {
			key = fmt.Sprintf(`,"idempotencyKey":"event-key-%05d"`, i-i%6)
		}
		fmt.Fprintf(&b, `{"accountId":"anna","userId":"anna"%s,"event":{"key":"e%05d","dateTriggered":1500000000000}}`+"\n", key, i)
	}
	return b.String()
}

// state returns the rows that imports leave in the database, without random values and
// times.
func state(t testing.TB, db *sql.DB) []string {
	t.Helper()
	_, err := db.Exec(`INSERT INTO user_index (user_index, rank) VALUES ('integrity-check', 1)`)
	require.NoError(t, err, "the index of words agrees with the users' rows")
	var all []string
	for _, query := range []string{
		`SELECT id || '|' || status || '|' || identified FROM account WHERE tenant = 'demo' ORDER BY 1`,
		`SELECT account_id || '|' || id || '|' || first_name || '|' || created_at FROM user WHERE tenant = 'demo' AND id <> 'anna' ORDER BY 1`,
		`SELECT code || '|' || account_id || '|' || user_id FROM code WHERE tenant = 'demo' AND user_id <> 'anna' ORDER BY 1`,
		`SELECT terms || '|' || account_id || '|' || id FROM user WHERE tenant = 'demo' ORDER BY 1`,
		`SELECT code || '|' || referrer_account_id || '|' || referred_account_id || '|' || state FROM referral WHERE tenant = 'demo' ORDER BY 1`,
		`SELECT account_id || '|' || code || '|' || rule || '|' || times FROM decision WHERE tenant = 'demo' ORDER BY 1`,
		`SELECT account_id || '|' || coalesce(idempotency_key, '') || '|' || (events ->> '$[0].key') FROM intake WHERE tenant = 'demo' ORDER BY seq`,
	} {
		all = append(all, texts(t, db, query)...)
	}
	return all
}

// beginKilledJob begins the nth of the jobs whose backend is killed, with killedRows rows.
const killedRows = 3000

func (s *site) beginKilledJob(t *testing.T, nth int) string {
	t.Helper()
	from := nth / 2 * killedRows
	if nth%2 == 0 {
		return s.beginJob(t, "MUTATION/USER", fmt.Sprintf("users%d.csv", nth), userRows(from, killedRows))
	}
	return s.beginJob(t, "MUTATION/USER_EVENT", fmt.Sprintf("events%d.jsonl", nth), eventRows(from, killedRows))
}

// When the backend is killed at twenty random points, each in the middle of an import, and
// started again, the imports have the same results as without kills: the same accounts,
// users, codes, referrals, decisions and events, and the same bytes in result and errors
// files. When a job ends before the next kill, the next job begins.
func TestKillBackend_ImportsLoseNothingAndDoNothingTwice(t *testing.T) {
	t.Parallel()
	const rows, kills = killedRows, 20
	quiet, disturbed := demoSite(t), demoSite(t)
	env := []string{"KITH_JOB_WORKERS=1", "KITH_JOB_LEASE=300ms"}
	run := func(s *site, imports func(backend *process) (*process, []string)) (files, left []string) {
		backend := s.serve(t, env...)
		s.identify(t, s.backend, "demo", "anna", `{}`)
		backend, jobs := imports(backend)
		for _, id := range jobs {
			j := s.ended(t, id)
			require.EqualValues(t, rows, j.Stats.RecordsProcessed)
			require.Positive(t, j.Stats.Errors)
			result := withoutEventIDs(s.download(t, id, job.ResultFile))
			require.Equal(t, rows-int(j.Stats.Errors), strings.Count(result, "\n")-1)
			files = append(files, result, s.download(t, id, job.ErrorsFile))
		}
		backend.stop(t)
		db := s.open(t)
		require.Zero(t, number(t, db, `SELECT count(*) FROM job_part`), "no temporary rows are left")
		return files, state(t, db)
	}
	var begun []string
	gotFiles, gotState := run(disturbed, func(backend *process) (*process, []string) {
		db := disturbed.open(t)
		random := rand.New(rand.NewPCG(1, 2))
		for range kills {
			const done = `SELECT coalesce(sum(processed), 0) FROM job`
			goal := number(t, db, done) + 1 + random.IntN(rows/6)
			working := func() error {
				if n, err := tryNumber(db, done); err != nil || n < goal {
					return fmt.Errorf("%d rows are done, %v", n, err)
				}
				if n, err := tryNumber(db, `SELECT count(*) FROM job WHERE status = 'PENDING' AND attempt > 0`); err != nil || n == 0 {
					return fmt.Errorf("no job is running, %v", err)
				}
				return nil
			}
			await(t, func() error {
				if number(t, db, `SELECT count(*) FROM job WHERE status = 'PENDING'`) == 0 {
					begun = append(begun, disturbed.beginKilledJob(t, len(begun)))
				}
				return backend.killIf(t, working)
			})
			backend = disturbed.serve(t, env...)
		}
		return backend, begun
	})
	require.Equal(t, len(begun)+kills, number(t, disturbed.open(t), `SELECT sum(attempt) FROM job`), "each kill interrupted a running job")
	t.Logf("%d jobs, %d kills", len(begun), kills)
	wantFiles, wantState := run(quiet, func(backend *process) (*process, []string) {
		var jobs []string
		for nth := range begun {
			jobs = append(jobs, quiet.beginKilledJob(t, nth))
			quiet.ended(t, jobs[nth])
		}
		return backend, jobs
	})
	require.Equal(t, wantFiles, gotFiles)
	require.Equal(t, wantState, gotState)
}

// withoutEventIDs removes random ids and times from a result file.
func withoutEventIDs(file string) string {
	var kept []string
	for line := range strings.Lines(file) {
		cells := strings.Split(line, ",")
		if len(cells) == 8 {
			cells[2], cells[5] = "", ""
		}
		kept = append(kept, strings.Join(cells, ","))
	}
	return strings.Join(kept, "")
}

// The client works with a service below any path.
func TestClient_BelowAPath(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	target, err := url.Parse(s.backend)
	require.NoError(t, err)
	front := httptest.NewServer(http.StripPrefix("/kith", httputil.NewSingleHostReverseProxy(target)))
	t.Cleanup(front.Close)
	c := s.client("demo")
	c.URL = front.URL + "/kith/"
	ref, err := c.Upload(t.Context(), "u.csv", strings.NewReader("accountId,id\na,b\nc,\n"))
	require.NoError(t, err)
	in := client.Input{Type: "MUTATION/USER", FileRef: ref, OutputFormat: "CSV"}
	problems, err := c.Validate(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, []string{"row 3, column id: is required"}, problems)
	made, err := c.CreateJob(t.Context(), in)
	require.NoError(t, err)
	await(t, func() error {
		if made, err = c.Job(t.Context(), made.ID); err == nil && made.Status == "PENDING" {
			err = errors.New("the job is pending")
		}
		return err
	})
	require.EqualValues(t, 1, made.Stats.Errors)
	var failed bytes.Buffer
	require.NoError(t, c.Download(t.Context(), made.ID, job.ErrorsFile, &failed))
	require.Equal(t, "recordNumber,message,apiErrorCode,statusCode\n3,id: is required,VALIDATION_FAILED,400\n", failed.String())

	c.Key = "wrong"
	_, err = c.Upload(t.Context(), "u.csv", strings.NewReader("x"))
	var refused *client.Refused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.Status)
}

// kith import: its output without a terminal, its files and its exit statuses. The service
// stores files in a folder, and in a bucket.
func TestCLI_Import(t *testing.T) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		importByCommandLine(t)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		bucket := s3test.Start(t)
		importByCommandLine(t, inBucket(bucket)...)
		require.NotEmpty(t, bucket.Keys(t, "imports/demo/"))
		require.NotEmpty(t, bucket.Keys(t, "exports/demo/"))
	})
}

// inBucket returns the variables of a service that stores files in a bucket.
func inBucket(bucket *s3test.Server) []string {
	return append([]string{"KITH_FILES=" + bucket.Files()}, s3test.Env...)
}

func importByCommandLine(t *testing.T, env ...string) {
	s := demoSite(t)
	s.serve(t, env...)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(path(name), []byte(text), 0o600)) }
	command := func(args ...string) (string, string, int) {
		return s.run(t, []string{"KITH_TENANT=demo", "KITH_KEY=" + s.keys["demo"], "KITH_URL=" + s.backend}, args...)
	}
	out, errOut, status := command("sample", "--type", "MUTATION/USER", "--rows", "2000", "--out", path("users.csv"))
	require.Zero(t, status, out+errOut)
	out, errOut, status = command("import", path("users.csv"), "--type", "MUTATION/USER", "--result", path("result.csv"))
	require.Zero(t, status, out+errOut)
	require.Regexp(t, `^(upload .*\n)*upload  100 %  \d+ of \d+ bytes  \d+/s\njob [0-9a-f]{24}\n(import .*\n)*import  100 %  2000 of 2000 rows  \d+/s\n2000 rows imported, 0 failed\n$`, out)
	result, err := os.ReadFile(path("result.csv"))
	require.NoError(t, err)
	require.Equal(t, 2001, strings.Count(string(result), "\n"))

	for _, typ := range []string{"MUTATION/USER_EVENT", "MUTATION/DELETE_USER"} {
		_, errOut, status = command("sample", "--type", typ, "--rows", "10", "--from", "5", "--format", "jsonl", "--out", path("rows.jsonl"))
		require.Zero(t, status, errOut)
		out, errOut, status = command("import", path("rows.jsonl"), "--type", typ)
		require.Zero(t, status, out+errOut)
		require.Contains(t, out, "10 rows imported, 0 failed\n")
	}

	_, errOut, status = command("sample", "--type", "MUTATION/REDEEMABLE_REWARD_BALANCE", "--rows", "2", "--out", path("draws.csv"))
	require.Zero(t, status, errOut)
	out, errOut, status = command("import", path("draws.csv"), "--type", "MUTATION/REDEEMABLE_REWARD_BALANCE")
	require.Equal(t, 1, status, "no user has credit to redeem")
	require.Contains(t, out, "0 rows imported, 2 failed\n")
	require.Equal(t, "kith: 2 rows failed; see "+path("draws.csv.errors.csv")+" for the reasons\n", errOut)
	failed, err := os.ReadFile(path("draws.csv.errors.csv"))
	require.NoError(t, err)
	require.Contains(t, string(failed), "2,valueToRedeem: is more than the 0 CENTS that are available,VALIDATION_FAILED,400\n")

	write("bad.csv", "accountId,id\na,\nb,b\n")
	_, errOut, status = command("import", path("bad.csv"), "--type", "MUTATION/USER")
	require.Equal(t, 2, status)
	require.Equal(t, "kith: nothing was imported; --force imports the valid rows:\n  row 2, column id: is required\n", errOut)
	out, _, status = command("import", path("bad.csv"), "--type", "MUTATION/USER", "--force")
	require.Equal(t, 1, status)
	require.Contains(t, out, "1 row imported, 1 failed\n")
	out, _, status = command("import", path("bad.csv"), "--type", "MUTATION/USER", "--force", "--errors", path("e.csv"))
	require.Equal(t, 1, status)
	require.Contains(t, out, "the same content was imported before, by job ")

	write("broken.csv", "accountId,id\na,\"b\n")
	_, errOut, status = command("import", path("broken.csv"), "--type", "MUTATION/USER", "--force")
	require.Equal(t, 2, status)
	require.Equal(t, "kith: the job was aborted: row 2: a quote is missing at the end of a field\n", errOut)
	for name, args := range map[string][]string{
		"another key":  {"import", path("users.csv"), "--type", "MUTATION/USER", "--key", "wrong"},
		"no such file": {"import", path("nothing.csv"), "--type", "MUTATION/USER"},
		"no such type": {"import", path("users.csv"), "--type", "USER"},
		"no service":   {"import", path("users.csv"), "--type", "MUTATION/USER", "--url", "http://127.0.0.1:1"},
	} {
		_, errOut, status = command(args...)
		require.Equal(t, 2, status, "%s: %s", name, errOut)
	}
}
