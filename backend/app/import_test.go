package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/jobs"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/eventdb"
	"kith/backend/store/jobdb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
	"kith/core/wire"
)

func (b bundle) upload(t testing.TB, name, text string) core.FileRef {
	t.Helper()
	ref, err := b.Files.Upload(t.Context(), b.tenant, name, strings.NewReader(text))
	require.NoError(t, err)
	return ref
}

// imported runs an import of any size to its end.
func (b bundle) imported(t testing.TB, typ job.Type, name, text, params string) job.Job {
	t.Helper()
	in := b.jobInput(typ, params)
	in.File = b.upload(t, name, text)
	made := b.create(t, in)
	for made.Status == job.Pending {
		did, err := b.Jobs.Work(t.Context())
		require.NoError(t, err)
		require.True(t, did, "another worker has the job")
		made, err = b.Jobs.ByID(t.Context(), b.tenant, made.ID)
		require.NoError(t, err)
	}
	return made
}

// userRows returns rows of MUTATION/USER with an account for each user.
func userRows(from, to int) string {
	var text strings.Builder
	text.WriteString("accountId,id,firstName\n")
	for i := from; i < to; i++ {
		n := strconv.Itoa(i)
		text.WriteString("a" + n + ",u" + n + ",User " + n + "\n")
	}
	return text.String()
}

func TestImport_Users(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		done := b.imported(t, job.ImportUser, "list.csv", "\ufeffid,accountId,firstName,email,referable,customFields.age,customFields.zip,referralCodes.classic,referredBy.code,dateCreated\r\n"+
			"bob,bob-inc,\"Bob, the \"\"first\"\"\",bob@example.com,TRUE,42,01234,BOBBY1,ANNA10,1500000000000\r\n"+
			"eve,bob-inc,,,false,,,,,\r\n", `{"segments":["imported"]}`)
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 2}, done.Stats)
		require.Empty(t, done.Errors)

		bob, err := b.Users.ByID(t.Context(), b.tenant, "bob-inc", "bob")
		require.NoError(t, err)
		require.Equal(t, `Bob, the "first"`, bob.User.FirstName)
		require.Equal(t, `{"age":42,"zip":"01234"}`, bob.User.CustomFields)
		require.Equal(t, []string{"imported"}, bob.User.Segments)
		require.Equal(t, []referral.UserCode{{Program: "classic", Code: "BOBBY1"}}, bob.User.Codes)
		require.EqualValues(t, 1500000000000, bob.User.Created)
		require.EqualValues(t, "ANNA10", bob.ReferredBy.Referral.Code)
		eve, err := b.Users.ByID(t.Context(), b.tenant, "bob-inc", "eve")
		require.NoError(t, err)
		require.False(t, eve.User.Referable)
		require.Len(t, eve.User.Codes, 1, "each user has a code")

		rows := b.rows(t, done.ID, job.ResultFile)
		require.Equal(t, []string{"id", "accountId", "email", "firstName"}, rows[0][:4])
		require.Equal(t, []string{"bob", "bob-inc", "bob@example.com", `Bob, the "first"`}, rows[1][:4])
		require.Equal(t, "eve", rows[2][0])
		_, err = b.Jobs.Download(t.Context(), b.tenant, done.ID, job.ErrorsFile)
		require.Equal(t, core.NotFound("this job has no such file"), err)
		source := b.rows(t, done.ID, job.SourceFile)
		require.Len(t, source, 3)
	})
}

// A row that fails is reported and changes nothing. The others are applied.
func TestImport_RowsThatFail(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		done := b.imported(t, job.ImportUser, "list.jsonl", `{"accountId":"a1","id":"u1"}
{"accountId":"a2","id":""}
{"accountId":"a3","id":"u3","referralCodes":{"classic":"ANNA10"}}
{"accountId":"a4","id":"u4","=cmd|' /C calc'!A0":1}
{"accountId":"a5","id":"u5","dateCreated":4102444800000}
not json
{"accountId":"a7","id":"u7"}
`, "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 7, Errors: 5}, done.Stats)
		require.Equal(t, [][]string{
			{"recordNumber", "message", "apiErrorCode", "statusCode"},
			{"2", "id: must not be empty", "VALIDATION_FAILED", "400"},
			{"3", "referralCodes.classic: this code belongs to another user", "CONFLICT", "409"},
			{"4", "'=cmd|' /C calc'!A0: is not a key of this request", "INVALID_JSON_REQUEST", "400"},
			{"5", "dateCreated: must not be in the future", "VALIDATION_FAILED", "400"},
			{"6", "the row is not a valid JSON object", "INVALID_JSON_REQUEST", "400"},
		}, b.rows(t, done.ID, job.ErrorsFile))
		rows := b.rows(t, done.ID, job.ResultFile)
		require.Equal(t, []string{"u1", "u7"}, []string{rows[1][0], rows[2][0]})
		for _, id := range []core.UserID{"u3", "u5"} {
			_, known, err := userdb.User(t.Context(), b.DB.Reads, b.tenant, core.AccountID("a"+string(id[1:])), id)
			require.NoError(t, err)
			require.False(t, known)
			_, known, err = userdb.Account(t.Context(), b.DB.Reads, b.tenant, core.AccountID("a"+string(id[1:])))
			require.NoError(t, err)
			require.False(t, known, "not even the account")
		}
	})
}

// An import stops when too many of its rows are rejected, and reports where. The rows that
// were applied stay. The caller may set the limit.
func TestImport_StopsAfterTooManyRejectedRows(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		const more = 200
		bad := strings.Repeat("\n0", job.DefaultMaxErrors+more)
		done := b.imported(t, job.ImportUser, "bomb.jsonl", `{"accountId":"a1","id":"u1"}`+bad+`
{"accountId":"a2","id":"u2"}
`, "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: job.DefaultMaxErrors + 1, Errors: job.DefaultMaxErrors}, done.Stats)
		require.Equal(t, "stopped because 10000 rows were rejected; rows after row 10001 were not processed. Correct the file, or raise maxErrors in the job's params", done.Message)
		require.Len(t, b.rows(t, done.ID, job.ErrorsFile), job.DefaultMaxErrors+1)
		_, known, err := userdb.User(t.Context(), b.DB.Reads, b.tenant, "a1", "u1")
		require.NoError(t, err)
		require.True(t, known)
		_, known, err = userdb.User(t.Context(), b.DB.Reads, b.tenant, "a2", "u2")
		require.NoError(t, err)
		require.False(t, known)

		// Rows that can be parsed and are then refused count too.
		taken := `{"accountId":"a3","id":"u3","referralCodes":{"classic":"ANNA10"}}` + "\n"
		done = b.imported(t, job.ImportUser, "few.jsonl", strings.Repeat(taken, 9), `{"maxErrors":3}`)
		require.Equal(t, job.Stats{Processed: 3, Errors: 3}, done.Stats)
		done = b.imported(t, job.ImportUser, "all.jsonl", strings.Repeat(taken, 9), `{"maxErrors":10}`)
		require.Equal(t, job.Stats{Processed: 9, Errors: 9}, done.Stats)

		// They count in a file whose rows are applied together, too. The rows after the
		// last one are not applied.
		done = b.imported(t, job.ImportDelete, "gone.jsonl", strings.Repeat("0\n", 9)+`{"accountId":"a1","userId":"u1"}`+"\n", `{"maxErrors":3}`)
		require.Equal(t, job.Stats{Processed: 3, Errors: 3}, done.Stats)
		_, known, err = userdb.User(t.Context(), b.DB.Reads, b.tenant, "a1", "u1")
		require.NoError(t, err)
		require.True(t, known)
	})
}

// An import removes the escapes that an export adds for spreadsheets.
func TestImport_EscapedFormulas(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		done := b.imported(t, job.ImportUser, "list.csv", "id,accountId,firstName\n'=1+1,'@sum,'Ann\n", "{}")
		require.Equal(t, job.Stats{Processed: 1}, done.Stats)
		user, err := b.Users.ByID(t.Context(), b.tenant, "@sum", "=1+1")
		require.NoError(t, err)
		require.Equal(t, "'Ann", user.User.FirstName)
		require.Equal(t, []string{"'=1+1", "'@sum", "", "'Ann"}, b.rows(t, done.ID, job.ResultFile)[1][:4])
	})
}

func TestImport_Events(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		done := b.imported(t, job.ImportUserEvent, "events.csv", `accountId,userId,event.key,event.dateTriggered,event.fields.revenue,event.fields.order_id,idempotencyKey
anna,u,purchase,1500000000000,19.90,000123,order-000123
anna,u,purchase,,5,7,order-000123
anna,nobody,purchase,,5,7,
anna,u,visit,yesterday,,,
anna,u,visit,,,,
`, "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 5, Errors: 3}, done.Stats)
		errors := b.rows(t, done.ID, job.ErrorsFile)
		require.Equal(t, []string{"3", "409"}, []string{errors[1][0], errors[1][3]}, "a key that was used is a conflict")
		require.Equal(t, []string{"4", "404"}, []string{errors[2][0], errors[2][3]})
		require.Equal(t, []string{"5", "event.dateTriggered: must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00", "VALIDATION_FAILED", "400"}, errors[3])
		rows := b.rows(t, done.ID, job.ResultFile)
		require.Equal(t, []string{"user.accountId", "user.id", "event.id", "event.key", "event.dateTriggered", "event.dateReceived", "event.dateProcessed", "event.fields"}, rows[0])
		require.Equal(t, []string{"anna", "u", "purchase", "1500000000000", "1700000000000", "", `{"order_id":"000123","revenue":19.90}`},
			append(rows[1][:2:2], rows[1][3:]...))
		require.Equal(t, "visit", rows[2][3])
		again := b.imported(t, job.ImportUserEvent, "events.jsonl", `{"accountId":"anna","userId":"u","idempotencyKey":"order-000123","event":{"key":"purchase"}}`, "{}")
		require.Equal(t, job.Stats{Processed: 1, Errors: 1}, again.Stats, "in another file too")
	})
}

// An invalid file changes nothing, wherever the error is.
func TestImport_InvalidFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	many := userRows(0, 3000)
	bomb := packed(t, strings.Repeat(strings.Repeat("0", 1<<20), 8))
	b.Files.Max = 2 << 20
	for _, c := range []struct{ name, file, text, want string }{
		{"no rows", "a.csv", "accountId,id\n", "the file has no rows"},
		{"nothing but a BOM", "a.csv", "\ufeff", "the file is empty"},
		{"nothing but blanks", "a.jsonl", " \n\n", "the file has no rows"},
		{"wrong header", "a.csv", "account,id,id\na,b,c\n", `column account: is not a column of this type of job; say in params.columns what it is, or leave it out; column id: is there twice; column accountId: is required, and the header does not have it; if this column says who a person is, set params.columns to {"accountId":"id"}`},
		{"quote at the end", "a.csv", many + "x,\"y,z\n", "row 3002: a quote is missing at the end of a field"},
		{"not UTF-8 at the end", "a.csv", many + "x,é,\xff\n", "row 3002: is not UTF-8; save the file with that encoding"},
		{"a long line", "a.jsonl", `{"accountId":"` + strings.Repeat("x", 1<<20), "row 1: is longer than 1 MiB; write each object on a line of its own"},
		{"a zip bomb", "a.csv.gz", bomb, "row 1: is longer than 1 MiB; a quote may be missing at the end of a field"},
		{"half a gzip", "a.csv.gz", packed(t, many)[:2000], "corrupt gzip; compress and upload the file again"},
		{"gzip of too much", "a.csv.gz", packed(t, userRows(0, 150_000)), "the file decompresses to more than 2097152 bytes; divide it into several files"},
		{"100,000 columns", "a.csv", "accountId,id" + strings.Repeat(",x", 99_998) + "\na,b\n", "the header has 100000 columns; a file may have 1000"},
	} {
		done := b.imported(t, job.ImportUser, c.file, c.text, "{}")
		require.Equal(t, job.Aborted, done.Status, c.name)
		require.Equal(t, c.want, done.Message, c.name)
		require.Zero(t, done.Stats.Processed, c.name)
		require.Empty(t, done.Result, c.name)
	}
	_, known, err := userdb.User(t.Context(), b.DB.Reads, b.tenant, "a0", "u0")
	require.NoError(t, err)
	require.False(t, known)
}

func packed(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return out.String()
}

func TestImport_Gzip(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	done := b.imported(t, job.ImportUser, "", packed(t, userRows(0, 2500)), "{}")
	require.Equal(t, job.Completed, done.Status, done.Message)
	require.Equal(t, job.Stats{Processed: 2500}, done.Stats)
	require.True(t, strings.HasSuffix(string(done.File), ".csv.gz"), done.File)
}

// Rows with cells of the wrong type, or with the wrong number of cells, fail.
func TestImport_WrongCells(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	done := b.imported(t, job.ImportUser, "a.csv", "accountId,id,referable,dateCreated\na,1,maybe,\na,2,,01.02.2026\na,3\na,4,,,5\na\x00,5,,\na,6,,\n", "{}")
	require.Equal(t, job.Stats{Processed: 6, Errors: 5}, done.Stats)
	var messages []string
	for _, row := range b.rows(t, done.ID, job.ErrorsFile)[1:] {
		messages = append(messages, row[0]+" "+row[1])
	}
	require.Equal(t, []string{
		"2 referable: must be true or false", "3 dateCreated: must be a time in epoch milliseconds, or as text such as 2026-03-01, 2026-03-01T09:00:00 (UTC) or 2026-03-01T09:00:00+01:00", "4 the row has 2 cells, and the header 4",
		"5 the row has 5 cells, and the header 4", "6 accountId: must be UTF-8 without control characters",
	}, messages)
}

// An import of the same content is recognized, and changes nothing.
func TestImport_SameContentAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := b.imported(t, job.ImportUser, "one.csv", userRows(0, 10), "{}")
	require.Empty(t, first.Message)
	before := b.exportedUsers(t)
	second := b.imported(t, job.ImportUser, "two.csv", userRows(0, 10), "{}")
	require.Equal(t, "the same content was imported before, by job "+first.ID, second.Message)
	require.Equal(t, job.Stats{Processed: 10}, second.Stats)
	require.Equal(t, before, b.exportedUsers(t))
	third := b.imported(t, job.ImportUser, "three.csv", userRows(0, 11), "{}")
	require.Empty(t, third.Message)
}

// written returns the names of all stored files, complete or not.
func (b bundle) written(t testing.TB) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(string(b.Files.Store.(file.Dir))), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// exportedUsers returns all users of the tenant with their codes.
func (b bundle) exportedUsers(t testing.TB) [][]string {
	t.Helper()
	page, _, err := jobdb.ExportPage(t.Context(), b.DB.Reads, b.tenant, job.User, job.Params{}, nil, 1<<20)
	require.NoError(t, err)
	return page
}

// Workers end between two batches. Each time another worker continues where the last one
// stopped. The numbers of rows count empty ones, as a spreadsheet does.
func TestImport_ContinuesWhereItStopped(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		const n = 3500
		in := b.jobInput(job.ImportUser, "{}")
		text := strings.Replace(strings.ReplaceAll(userRows(0, n), ",", ";"), "a1000;", "\n;;\n \na1000;", 1)
		in.File = b.upload(t, "u.csv", text+"x;;\n\n;;y\n;;\n")
		made := b.create(t, in)
		for tries := 0; ; tries++ {
			require.Less(t, tries, n, "each time at least one row is imported")
			ctx, cancel := context.WithCancel(t.Context())
			worker := b.otherProcess()
			// It is cancelled as soon as it has made progress.
			before := made.Stats.Processed
			worker.Now = func() core.Time {
				if j, _ := b.Jobs.ByID(t.Context(), b.tenant, made.ID); j.Stats.Processed > before {
					cancel()
				}
				return b.Now()
			}
			_, err := worker.Jobs.Work(ctx)
			cancel()
			b.stopped(t, worker)
			made, _ = b.Jobs.ByID(t.Context(), b.tenant, made.ID)
			if made.Status != job.Pending {
				require.Greater(t, tries, 2, "the import was interrupted")
				break
			}
			require.Error(t, err)
		}
		require.Equal(t, job.Completed, made.Status, made.Message)
		require.Equal(t, job.Stats{Processed: n + 2, Errors: 2}, made.Stats)
		failed := b.rows(t, made.ID, job.ErrorsFile)
		require.Equal(t, []string{strconv.Itoa(n + 5), strconv.Itoa(n + 7)}, []string{failed[1][0], failed[2][0]})
		rows := b.rows(t, made.ID, job.ResultFile)
		require.Len(t, rows, n+1)
		for i, row := range rows[1:] {
			require.Equal(t, "u"+strconv.Itoa(i), row[0], "in the order of the file, each once")
		}
		chunks, err := jobdb.Chunks(t.Context(), b.DB.Reads, b.tenant, made.ID, 0, 1)
		require.NoError(t, err)
		require.Empty(t, chunks, "all chunks are deleted")
	})
}

// Of two workers on one job, the one whose lease was released writes nothing more.
func TestImport_TwoWorkers(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		const n = 3000
		in := b.jobInput(job.ImportUserEvent, "{}")
		var text strings.Builder
		for i := range n {
			text.WriteString(`{"accountId":"anna","userId":"u","event":{"key":"e` + strconv.Itoa(i) + `"}}` + "\n")
		}
		in.File = b.upload(t, "e.jsonl", text.String())
		made := b.create(t, in)
		slow := b.otherProcess()
		resume, lost := b.pauseWithin(t, slow, made.ID)
		b.stopped(t, slow)
		did, err := b.Jobs.Work(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		close(resume)
		require.ErrorIs(t, <-lost, jobs.ErrLeaseLost)
		require.Len(t, b.written(t), 2, "the upload, and the result file of the worker that finished")
		made, err = b.Jobs.ByID(t.Context(), b.tenant, made.ID)
		require.NoError(t, err)
		require.Equal(t, job.Completed, made.Status)
		require.Equal(t, job.Stats{Processed: n}, made.Stats)
		rows := b.rows(t, made.ID, job.ResultFile)
		require.Len(t, rows, n+1)
		for i, row := range rows[1:] {
			require.Equal(t, "e"+strconv.Itoa(i), row[3])
		}
		done := eventdb.Processed{}
		for {
			require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
				done, err = eventdb.ProcessIntake(t.Context(), tx, 500)
				return err
			}))
			if done.Calls == 0 {
				break
			}
		}
		count, err := jobdb.ExportCount(t.Context(), b.DB.Reads, b.tenant, job.UserEvent, job.Params{}, 2*n)
		require.NoError(t, err)
		require.Equal(t, n, count, "every event once")
	})
}

// pauseWithin lets a worker run an import, and returns when it has applied a first batch and
// waits. The caller closes resume for it to continue, and reads from ended how it ended.
func (b bundle) pauseWithin(t testing.TB, worker *app.Engine, id string) (resume chan<- struct{}, ended <-chan error) {
	t.Helper()
	paused, resumed, result := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	pause := sync.OnceFunc(func() { close(paused); <-resumed })
	worker.Now = func() core.Time {
		if j, _ := b.Jobs.ByID(t.Context(), b.tenant, id); j.Stats.Processed > 0 {
			pause()
		}
		return b.Now()
	}
	go func() {
		_, err := worker.Jobs.Work(context.Background())
		result <- err
	}()
	<-paused
	return resumed, result
}

// An import that is stopped keeps what it has applied, each row once, and lists it.
func TestImport_Stopped(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		in := b.jobInput(job.ImportUser, "{}")
		var text strings.Builder
		const n = 5000
		for i := range n {
			fmt.Fprintf(&text, `{"accountId":"a%d","id":"u%d"}`+"\n", i, i)
		}
		in.File = b.upload(t, "u.jsonl", text.String())
		before, err := userdb.CountUsers(t.Context(), b.DB.Reads, b.tenant)
		require.NoError(t, err)
		made := b.create(t, in)
		worker := b.otherProcess()
		resume, lost := b.pauseWithin(t, worker, made.ID)
		for _, who := range []string{"anna@example.com", "ben@example.com"} {
			made, err = b.Jobs.Stop(t.Context(), b.tenant, made.ID, who)
			require.NoError(t, err)
			require.True(t, made.Stopping())
		}
		close(resume)
		require.ErrorIs(t, <-lost, jobs.ErrLeaseLost)
		did, err := b.Jobs.Work(t.Context())
		require.NoError(t, err)
		require.True(t, did)
		made, err = b.Jobs.ByID(t.Context(), b.tenant, made.ID)
		require.NoError(t, err)
		require.Equal(t, job.Completed, made.Status)
		require.Less(t, made.Stats.Processed, int64(n))
		require.Equal(t, fmt.Sprintf("stopped by anna@example.com; rows after row %d were not processed", made.Stats.Processed), made.Message)
		require.Len(t, b.rows(t, made.ID, job.ResultFile), int(made.Stats.Processed)+1)
		stored, err := userdb.CountUsers(t.Context(), b.DB.Reads, b.tenant)
		require.NoError(t, err)
		require.EqualValues(t, made.Stats.Processed, stored-before)
		again, err := b.Jobs.Stop(t.Context(), b.tenant, made.ID, "ben@example.com")
		require.NoError(t, err)
		require.Equal(t, made, again, "it has ended")
		_, err = b.Jobs.Stop(t.Context(), b.tenant, b.create(t, b.jobInput(job.User, "{}")).ID, "ben@example.com")
		require.ErrorContains(t, err, "must be that of an import")
	})
}

func TestValidateJob(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	validate := func(typ job.Type, name, text string) []string {
		in := b.jobInput(typ, "{}")
		in.File = b.upload(t, name, text)
		found, err := b.Jobs.Check(t.Context(), b.tenant, in.Type, in.File, nil, jobs.MaxProblems)
		require.NoError(t, err)
		return found.Texts()
	}
	require.Empty(t, validate(job.ImportUser, "a.csv", userRows(0, 3)))
	require.Equal(t, []string{
		"column nick: is not a column of this type of job; say in params.columns what it is, or leave it out",
		`column id: is required, and the header does not have it; if this column says who a person is, set params.columns to {"id":"accountId"}`,
	}, validate(job.ImportUser, "a.csv", "accountId,nick\n1,2\n"))
	require.Equal(t, []string{
		"row 3, column id: is required", "row 5, column referable: must be true or false", "row 6: the row has 1 cells, and the header 3",
		"row 7: is not UTF-8; save the file with that encoding",
	}, validate(job.ImportUser, "a.csv", "accountId,id,referable\né,1,\na,,\n,,\na,2,x\na\na,\xff,\na,3,\n"))
	require.Equal(t, []string{"row 1, column dateCreated: must not be in the future"}, validate(job.ImportUser, "a.jsonl", `{"accountId":"a5","id":"u5","dateCreated":4102444800000}`+"\n"))
	require.Equal(t, []string{"the file has no rows"}, validate(job.ImportUserEvent, "a.jsonl", "\n"))
	require.Len(t, validate(job.ImportUser, "a.csv", "accountId,id\n"+strings.Repeat("a,\n", 1000)), 100)
	in := b.jobInput(job.ImportUser, "{}")
	in.File = "imports/nobody/x_1.csv"
	_, err := b.Jobs.Check(t.Context(), b.tenant, in.Type, in.File, nil, jobs.MaxProblems)
	require.ErrorContains(t, err, "fileRef: there is no such file")
	_, err = b.Jobs.Create(t.Context(), b.tenant, in)
	require.ErrorContains(t, err, "fileRef: there is no such file")
}

// Check counts all rows, and returns the first problems by row, column and value.
func TestCheck_Counts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	long := strings.Repeat("é", 100)
	for name, text := range map[string]string{
		"a.csv":   "accountId,id,email\n" + strings.Repeat("a,b,\n", 300) + "a,b," + long + "\na,b,x\na,,\n",
		"a.jsonl": strings.Repeat(`{"accountId":"a","id":"b"}`+"\n", 300) + `{"accountId":"a","id":"b","email":"` + long + `"}` + "\n" + `{"accountId":"a","id":"b","email":"x"}` + "\n" + `{"accountId":"a"}` + "\n",
	} {
		found, err := b.Jobs.Check(t.Context(), b.tenant, job.ImportUser, b.upload(t, name, text), nil, 2)
		require.NoError(t, err)
		const address = "must be an e-mail address; give one such as name@example.com, or leave it out"
		header := int64(0)
		if found.Dialect.Separator == "," {
			header = 1
			require.Equal(t, []string{"accountId", "id", "email"}, found.Names)
			require.Equal(t, [][]string{{"a", "b", ""}, {"a", "b", ""}, {"a", "b", ""}}, found.Samples)
		}
		require.Equal(t, jobs.Checked{Checked: 303, Rejected: 3, Complete: true, Dialect: found.Dialect, Names: found.Names, Samples: found.Samples, Rows: []importfile.Problem{
			{Row: 301 + header, Column: "email", Value: strings.Repeat("é", 40) + "…", Reason: address}, {Row: 302 + header, Column: "email", Value: "x", Reason: address},
		}}, found, name)
	}
}

// A check warns of a code that two users have, and of events that no program uses.
func TestCheck_Warns(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	found, err := b.Jobs.Check(t.Context(), b.tenant, job.ImportUser, b.upload(t, "a.csv",
		"accountId,id,referralCode,referralCodes.other\na,a,ONE,TWO\nb,b,TWO,\na,a,one,THREE\nc,c,One,FOUR\n"), nil, 2)
	require.NoError(t, err)
	require.Equal(t, []jobs.Repeated{{Code: "TWO", Rows: [2]int64{2, 3}}, {Code: "One", Rows: [2]int64{2, 5}}}, found.Repeated)
	_, err = b.Programs.Update(t.Context(), b.tenant, "classic", func(p *referral.Program) error {
		p.Conversion.Event, p.Conversion.Reversal = "order", "return"
		return nil
	})
	require.NoError(t, err)
	layout, _ := importfile.ParseHeader(job.ImportUser, found.Names, nil)
	require.Equal(t, []string{"referralCode", "referralCodes.other"}, []string{layout.Heading("referralCodes.classic"), layout.Heading("referralCodes.other")})
	found, err = b.Jobs.Check(t.Context(), b.tenant, job.ImportUserEvent, b.upload(t, "b.csv", "accountId,userId,event.key\na,a,order\na,a,Order\na,a,return\na,a,Order\n"), nil, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"Order"}, found.Unused)
}

// A file that is sent in pieces is the same as one that is sent at once. It is stored only if
// all of its pieces are there, and its pieces are removed.
func TestJoin(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	text := userRows(0, 500)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	for name, content := range map[string]string{"a.csv": text, "b.csv.gz": packed.String()} {
		var pieces []core.FileRef
		for rest := content; rest != ""; {
			n := min(len(rest), 1000)
			ref, err := b.Files.AddPiece(t.Context(), b.tenant, strings.NewReader(rest[:n]))
			require.NoError(t, err)
			pieces, rest = append(pieces, ref), rest[n:]
		}
		ref, err := b.Files.Join(t.Context(), b.tenant, name, pieces)
		require.NoError(t, err)
		size, complete, err := b.Files.Stored(t.Context(), b.tenant, ref)
		require.NoError(t, err)
		require.True(t, complete)
		require.Equal(t, int64(len(content)), size)
		found, err := b.Jobs.Check(t.Context(), b.tenant, job.ImportUser, ref, nil, 1)
		require.NoError(t, err)
		require.True(t, found.Complete)
		require.EqualValues(t, 500, found.Checked, name)
		require.Empty(t, found.Texts())
		_, err = b.Files.Join(t.Context(), b.tenant, name, pieces)
		require.ErrorContains(t, err, "pieces: has a piece that is not kept any more; send the file again")
		_, _, err = b.Files.Stored(t.Context(), "rival", ref)
		require.ErrorContains(t, err, "fileRef: there is no such file")
	}
	ref, err := b.Files.AddPiece(t.Context(), b.tenant, strings.NewReader("PK\x03\x04"))
	require.NoError(t, err)
	_, err = b.Files.Join(t.Context(), b.tenant, "a.xlsx", []core.FileRef{ref})
	require.ErrorContains(t, err, "file: is a workbook that is incomplete")
	b.Files.Max = 3
	_, err = b.Files.Join(t.Context(), b.tenant, "a.csv", []core.FileRef{ref})
	require.ErrorContains(t, err, "file: is larger than 3 bytes")
	_, err = b.Files.Join(t.Context(), b.tenant, "a.csv", make([]core.FileRef, jobs.MaxPieces+1))
	require.ErrorContains(t, err, "pieces: must be 1 to 1000 pieces")
	b.Files.Max = 0
	b.pass(core.Day)
	_, err = b.Files.Join(t.Context(), b.tenant, "a.csv", []core.FileRef{ref})
	require.ErrorContains(t, err, "pieces: has a piece that is not kept any more")
}

func TestUpload_Bounds(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Files.Max = 10
	b.upload(t, "a.csv", "0123456789")
	_, err := b.Files.Upload(t.Context(), b.tenant, "a.csv", strings.NewReader("0123456789x"))
	require.Equal(t, &core.Error{Code: core.CodeTooLarge, Field: "file", Message: "is larger than 10 bytes"}, err)
	_, err = b.Files.Upload(t.Context(), b.tenant, "a.csv", strings.NewReader(""))
	require.Equal(t, core.Invalid("file", "is empty"), err)
	// An incomplete upload stores no file.
	_, err = b.Files.Upload(t.Context(), b.tenant, "a.csv", failing{})
	require.ErrorIs(t, err, errFull)
	// Nor does one that cannot be converted, or that grows too large by that.
	files := len(b.written(t))
	for name, text := range map[string]string{"a.xlsx": "PK\x03\x04123456", "a.csv": "a;b\n\xfc\xfc\xfc\xfc\xfc\xfc"} {
		_, err = b.Files.Upload(t.Context(), b.tenant, name, strings.NewReader(text))
		require.ErrorContains(t, err, "file: is ", name)
	}
	require.Len(t, b.written(t), files)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFull }

// An import emits webhook events unless it is silent.
func TestImport_Webhooks(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	queue := b.subscribe(t, "https://hooks.example/x")
	b.imported(t, job.ImportUser, "a.csv", userRows(0, 2), "{}")
	loud := b.sent(t, queue)
	b.imported(t, job.ImportUser, "a.csv", userRows(2, 4), `{"importEvaluationOptions":{"webhooks":false}}`)
	require.Contains(t, loud, webhook.UserCreated)
	require.Contains(t, loud, webhook.JobCompleted)
	require.ElementsMatch(t, append(loud, webhook.JobCompleted), b.sent(t, queue))
}

// An import has the same effects and refusals as calls with its rows, one after the other,
// even if rows share codes, accounts and payments.
func TestImport_RowsEqualCalls(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		for _, seed := range testenv.Seeds(t) {
			rows := randomRows(rand.New(rand.NewPCG(seed, 7)))
			calls := bundleOn(t, b.DB)
			before := calls.tenantState(t)
			require.Equal(t, before, bundleOn(t, b.DB).tenantState(t), "two new tenants are equal")
			var refused [][]string
			for i, row := range rows {
				if message := calls.call(t, row); message != "" {
					refused = append(refused, []string{strconv.Itoa(i + 1), message})
				}
			}
			file := bundleOn(t, b.DB)
			done := file.imported(t, job.ImportUser, "rows.jsonl", strings.Join(rows, "\n"), "{}")
			require.Equal(t, job.Completed, done.Status, done.Message)
			var failed [][]string
			for _, row := range file.rows(t, done.ID, job.ErrorsFile)[1:] {
				failed = append(failed, row[:2])
			}
			require.Equal(t, refused, failed)
			require.Equal(t, calls.tenantState(t), file.tenantState(t), "seed %d", seed)
			require.NotEqual(t, before, file.tenantState(t))
		}
	})
}

// call makes the call of a row and returns the message of its refusal.
func (b bundle) call(t *testing.T, row string) string {
	t.Helper()
	tenant, err := tenantdb.Find(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	update, since, err := wire.ParseImportedUser(b.tenant, wire.LineRow([]byte(row)))
	if err == nil {
		_, err = b.Identification.Identify(t.Context(), b.tenant, rules.Identification{Update: update, Since: since, Share: base.Caller{Tenant: tenant}.Share("")})
	}
	if err == nil {
		return ""
	}
	message, _, _, ok := wire.RowFailure(err)
	require.True(t, ok, err)
	return message
}

// tenantState returns all data of a tenant's users and referrals, without random values.
func (b bundle) tenantState(t *testing.T) (state []string) {
	t.Helper()
	random := regexp.MustCompile(`"[0-9a-f]{24}"|[2-9A-HJ-NP-Z]{8}\b|` + string(b.tenant))
	users, _, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Limit: 1000})
	require.NoError(t, err)
	for _, u := range users {
		state = append(state, random.ReplaceAllString(string(wire.User(u)), "*"))
	}
	for _, word := range []string{"ann", "anna", "bob", "c@", "example.com", "a3", "u2"} {
		page, total, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Words: []string{word}, Limit: 1000})
		require.NoError(t, err)
		require.Len(t, page, total, word)
		for _, u := range page {
			state = append(state, fmt.Sprint(word, " finds ", u.User.Account, "/", u.User.ID))
		}
	}
	found, _, err := b.Referrals.List(t.Context(), b.tenant, referral.Filter{Limit: 1000})
	require.NoError(t, err)
	var referrals []string
	for _, r := range found {
		referrals = append(referrals, random.ReplaceAllString(string(wire.Referral(r)), "*"))
	}
	slices.Sort(referrals)
	decisions, _, err := b.Referrals.Decisions(t.Context(), b.tenant, "", base.Page{Limit: 1000})
	require.NoError(t, err)
	var verdicts []string
	for _, d := range decisions {
		verdicts = append(verdicts, fmt.Sprint(d.Account, d.User, d.Code, d.Rule, d.Times))
	}
	slices.Sort(verdicts)
	return slices.Concat(state, referrals, verdicts)
}

// randomRows returns random rows of users that share many ids, codes and addresses.
func randomRows(r *rand.Rand) (rows []string) {
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	for range 120 {
		n := strconv.Itoa(r.IntN(8))
		row := `{"accountId":"a` + n + `","id":"u` + pick("1", "2", "3") + `","firstName":"` + pick("Ann", "Bob") + `"`
		for _, part := range []string{
			`,"referralCodes":{"classic":"MINE` + strconv.Itoa(r.IntN(10)) + `"}`, `,"referredByCodes":["` + pick("ANNA10", "bert20", "MINE1", "mine2", "NOBODY") + `"]`,
			`,"paymentProviderId":"p` + n + pick("", "x") + `"`, `,"referable":` + pick("true", "false"), `,"email":"` + pick("ann", "anna", "c") + `@example.com"`,
			`,"referredBy":{"code":"` + pick("ANNA10", "MINE3") + `","isConverted":true}`, `,"segments":["` + pick("x", "~x", "~*") + `"]`,
			`,"customFields":{"k":` + pick("1", "null", `"t"`) + `}`, `,"dateCreated":` + pick("1", "9999999999999"), `,"nick":1`,
		} {
			if r.IntN(5) == 0 {
				row += part
			}
		}
		rows = append(rows, row+"}")
	}
	return rows
}

// The options in a row of a deletion override those of the job (clients 3.3.3). A user
// who must not be tracked cannot be imported again.
func TestImport_Deletions(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.imported(t, job.ImportUser, "u.csv", "accountId,id\na,1\na,2\nb,1\nc,1\nd,1\n", "{}")
		done := b.imported(t, job.ImportDelete, "d.csv", "accountId,id,doNotTrack,preserveEmptyAccount\n"+
			"a,1,,\nb,1,false,\nc,1,,true\nd,1,,\nd,2,,\nd,1,,\n", `{"doNotTrack":true,"preserveEmptyAccounts":false}`)
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 6, Errors: 2}, done.Stats)
		require.Equal(t, [][]string{{"accountId", "id"}, {"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}}, b.rows(t, done.ID, job.ResultFile))
		errors := b.rows(t, done.ID, job.ErrorsFile)
		require.Equal(t, []string{"6", "404"}, []string{errors[1][0], errors[1][3]})
		require.Equal(t, []string{"7", "404"}, []string{errors[2][0], errors[2][3]})

		left, _, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Limit: 10})
		require.NoError(t, err)
		require.Len(t, left, 3, "anna, bert and the second user of a")
		for account, kept := range map[core.AccountID]bool{"a": true, "b": false, "c": true, "d": false} {
			_, known, err := userdb.Account(t.Context(), b.DB.Reads, b.tenant, account)
			require.NoError(t, err)
			require.Equal(t, kept, known, account)
		}
		again := b.imported(t, job.ImportUser, "u.csv", "accountId,id\na,1\nb,1\nc,1\nd,1\n", "{}")
		require.Equal(t, job.Stats{Processed: 4, Errors: 3}, again.Stats)
		rows := b.rows(t, again.ID, job.ErrorsFile)
		for i, record := range []string{"2", "4", "5"} {
			require.Equal(t, []string{record, "this user was deleted, not to be tracked again", "FORBIDDEN", "403"}, rows[i+1])
		}
	})
}

// Deletions merge the parts of the search index, in which a search then finds who is left. No
// page of it has a word of a deleted user.
func TestImport_ManyDeletions(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		const users = 900
		head, deleted := "accountId,id,lastName\n", "accountId,id,preserveEmptyAccount\n"
		for from := 0; from < users; from += users / 3 {
			text := head
			for i := from; i < from+users/3; i++ {
				text += fmt.Sprintf("a%d,u%d,%dLeft\n", i, i, i)
				if i%4 > 0 {
					text = strings.TrimSuffix(text, "Left\n") + "Deleted\n"
					deleted += fmt.Sprintf("a%d,u%d,false\n", i, i)
				}
			}
			done := b.imported(t, job.ImportUser, "users.csv", text, "{}")
			require.Equal(t, job.Stats{Processed: users / 3}, done.Stats)
		}
		done := b.imported(t, job.ImportDelete, "deleted.csv", deleted, "{}")
		require.Equal(t, job.Stats{Processed: users / 4 * 3}, done.Stats)

		found := func(word string) int {
			_, total, err := b.Users.List(t.Context(), b.tenant, referral.UserFilter{Words: []string{word}, Limit: 1})
			require.NoError(t, err)
			return total
		}
		require.Zero(t, found("2deleted"))
		require.Equal(t, 1, found("4left"))
		storetest.RequireIndexed(t, b.DB.Reads)
		if !b.DB.Embedded() {
			return // other tests use the index of the server
		}
		number := func(query string) int {
			n, err := store.One[int](t.Context(), b.DB.Reads, "index", query)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, 1, number(`SELECT count(DISTINCT segid) FROM user_index_idx`), "parts")
		require.NotZero(t, number(`SELECT count(*) FROM user_index_data WHERE instr(block, CAST('left' AS BLOB))`))
		require.Zero(t, number(`SELECT count(*) FROM user_index_data WHERE instr(block, CAST('deleted' AS BLOB))`))
	})
}

// The credit that expires first is redeemed first, then that which was given first. No
// row redeems more than is available, pending credit, or another unit (clients 3.3.5).
func TestImport_Draws(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		give := func(amount int64, unit string, expires core.Time) string {
			b.pass(1)
			r, err := b.Rewards.Create(t.Context(), b.tenant, reward.Grant{
				Account: "anna", User: "u", Source: reward.Manual, Expires: expires,
				Offer: reward.Offer{Kind: reward.Credit, Amount: amount, Unit: unit},
			})
			require.NoError(t, err)
			return r.ID
		}
		never, late, soon := give(100, "CENTS", 0), give(100, "CENTS", start+2*core.Day), give(100, "CENTS", start+core.Day)
		secondNever, points := give(100, "CENTS", 0), give(100, "POINT", 0)
		done := b.imported(t, job.ImportRedeem, "r.csv", "user.accountId,user.id,user.email,type,unit,availableValue,valueToRedeem\n"+
			"anna,u,,CREDIT,CENTS,400,250.99\n"+ // all of soon, all of late, half of never
			"anna,u,,CREDIT,CENTS,400,\n"+
			"anna,u,,CREDIT,CENTS,400,-5\n"+
			"anna,u,,CREDIT,CENTS,400,151\n"+
			"anna,u,,CREDIT,CENTS,400,ten\n"+
			"anna,u,,CREDIT,POINT,100,40\n"+
			"anna,u,,CREDIT,CENTS,400,60\n"+ // the rest of never, some of secondNever
			"nobody,u,,CREDIT,CENTS,400,1\n", "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 8, Errors: 3, Idle: 2}, done.Stats)
		require.Equal(t, [][]string{
			{"accountId", "id", "unit", "valueRedeemed", "availableValue"},
			{"anna", "u", "CENTS", "250", "150"}, {"anna", "u", "POINT", "40", "60"}, {"anna", "u", "CENTS", "60", "90"},
		}, b.rows(t, done.ID, job.ResultFile))
		var failed []string
		for _, row := range b.rows(t, done.ID, job.ErrorsFile)[1:] {
			failed = append(failed, row[0]+" "+row[1])
		}
		require.Equal(t, []string{
			"5 valueToRedeem: is more than the 150 CENTS that are available", "6 valueToRedeem: must be a number such as 12 or 12.5",
			"9 valueToRedeem: is more than the 0 CENTS that are available",
		}, failed)
		for id, redeemed := range map[string]int64{soon: 100, late: 100, never: 100, secondNever: 10, points: 40} {
			r, err := rewarddb.ByID(t.Context(), b.DB.Reads, b.tenant, id)
			require.NoError(t, err)
			require.Equal(t, redeemed, r.Sums.Redeemed)
		}
	})
}

// A batch whose rows take too long ends before its last row, so that other writes get their turn.
func TestImport_SlowRows(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Jobs.BatchTime = 1
	const rows = 150
	_, err := b.Rewards.Create(t.Context(), b.tenant, reward.Grant{
		Account: "anna", User: "u", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: rows, Unit: "POINT"},
	})
	require.NoError(t, err)
	var draws, users strings.Builder
	want := [][]string{{"accountId", "id", "unit", "valueRedeemed", "availableValue"}}
	draws.WriteString("accountId,id,unit,valueToRedeem,currency\n")
	users.WriteString("accountId,id\n")
	for n := range rows {
		currency := []string{"", "USD", ""}[n%3] // draws of different credit of an account are not made together
		fmt.Fprintf(&draws, "anna,u,POINT,1,%s\n", currency)
		fmt.Fprintf(&users, "slow%d,u\n", n)
		want = append(want, []string{"anna", "u", "POINT", "1", strconv.Itoa(rows - 1 - n)})
	}
	commits := 0
	b.DB.Observe = func(_ context.Context, _, text string) func(error) {
		if text == "COMMIT" {
			commits++
		}
		return nil
	}
	done := b.imported(t, job.ImportRedeem, "d.csv", draws.String(), "{}")
	require.Equal(t, job.Stats{Processed: rows}, done.Stats, done.Message)
	require.Equal(t, want, b.rows(t, done.ID, job.ResultFile))
	done = b.imported(t, job.ImportUser, "u.csv", users.String(), "{}")
	require.Equal(t, job.Stats{Processed: rows}, done.Stats, done.Message)
	require.Len(t, b.rows(t, done.ID, job.ResultFile), rows+1)
	require.Greater(t, commits, rows, "many more than the batches of both")
}

// The export of redeemable balances, with amounts filled in, can be imported.
func TestImport_DrawsFromTheReport(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Rewards.Create(t.Context(), b.tenant, reward.Grant{
		Account: "anna", User: "u", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: 700, Unit: "CENTS"},
	})
	require.NoError(t, err)
	report := b.rows(t, b.create(t, b.jobInput(job.RedeemableRewardBalance, "{}")).ID, job.ResultFile)
	var text strings.Builder
	for i, row := range report {
		value := "valueToRedeem"
		if i > 0 {
			value = row[slices.Index(report[0], "availableValue")]
		}
		text.WriteString(strings.Join(append(row, value), ",") + "\n")
	}
	done := b.imported(t, job.ImportRedeem, "filled-in.csv", text.String(), "{}")
	require.Equal(t, job.Stats{Processed: 1}, done.Stats)
	require.Equal(t, []string{"anna", "u", "CENTS", "700", "0"}, b.rows(t, done.ID, job.ResultFile)[1])
}
