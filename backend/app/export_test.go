package app_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/jobs"
	"kith/backend/app/tenants"
	"kith/backend/file"
	"kith/backend/store"
	"kith/backend/store/jobdb"
	"kith/backend/store/rowtest"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/webhook"
)

// jobInput returns the input of a job with CSV files.
func (b bundle) jobInput(typ job.Type, params string) job.Input {
	return job.Input{Type: typ, Requester: job.RequesterAPI, Format: job.CSV, Params: params}
}

func (b bundle) create(t testing.TB, in job.Input) job.Job {
	t.Helper()
	made, err := b.Jobs.Create(t.Context(), b.tenant, in)
	require.NoError(t, err)
	return made
}

// file returns a file of a job, and its name.
func (b bundle) file(t testing.TB, id string, which job.Attachment) (name string, content []byte) {
	t.Helper()
	d, err := b.Jobs.Download(t.Context(), b.tenant, id, which)
	require.NoError(t, err)
	body, err := d.Open(t.Context(), 0)
	require.NoError(t, err)
	defer body.Close()
	content, err = io.ReadAll(body)
	require.NoError(t, err)
	require.EqualValues(t, d.Size, len(content))
	return d.Name, content
}

// rows returns the rows of a CSV file of a job.
func (b bundle) rows(t testing.TB, id string, which job.Attachment) [][]string {
	t.Helper()
	_, content := b.file(t, id, which)
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	require.NoError(t, err)
	return rows
}

// worked works on the job that waits, and returns it.
func (b bundle) worked(t testing.TB, id string) job.Job {
	t.Helper()
	did, err := b.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.True(t, did)
	done, err := b.Jobs.ByID(t.Context(), b.tenant, id)
	require.NoError(t, err)
	return done
}

// addUsers stores n users, from u0000000 on, without identifications.
func (b bundle) addUsers(t testing.TB, n int) {
	t.Helper()
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		for i := range n {
			id := "u" + strconv.Itoa(1e7 + i)[1:]
			if err := rowtest.PutAccount(t.Context(), tx, b.tenant, referral.NewAccount(core.AccountID(id), tx.Now)); err != nil {
				return err
			}
			if err := rowtest.PutUser(t.Context(), tx, b.tenant, referral.NewUser(core.AccountID(id), core.UserID(id), tx.Now)); err != nil {
				return err
			}
		}
		return nil
	}))
}

// A client that polls finds a small export complete at its first request.
func TestCreateJob_SmallIsDoneAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		b.pass(7)
		made := b.create(t, b.jobInput(job.User, `{"createdSince":0}`))
		require.Equal(t, job.Completed, made.Status)
		require.Equal(t, job.Stats{Processed: 2}, made.Stats)
		require.Equal(t, start+7, made.Completed)
		require.Equal(t, start+7+28*core.Day, made.Expires, "28 days")
		require.Zero(t, b.woken.Load())
		rows := b.rows(t, made.ID, job.ResultFile)
		require.Len(t, rows, 3)
		require.Equal(t, "id", rows[0][0])
		require.Equal(t, []string{"anna", "bert"}, []string{rows[1][1], rows[2][1]})
		require.Equal(t, strconv.FormatInt(int64(start), 10), rows[1][8])
	})
}

// An export emits an event when it is created and when it has completed.
func TestCreateJob_EmitsExportEvents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	queue := b.subscribe(t, hook)
	b.create(t, b.jobInput(job.User, "{}"))
	require.ElementsMatch(t, []webhook.Type{webhook.ExportCreated, webhook.ExportCompleted}, b.sent(t, queue))
}

func TestCreateJob_LargeWaitsForWorkers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput(job.User, "{}"))
	require.Equal(t, job.Pending, made.Status)
	require.EqualValues(t, 1, b.woken.Load())
	_, err := b.Jobs.Download(t.Context(), b.tenant, made.ID, job.ResultFile)
	require.Equal(t, core.NotFound("the job is not completed yet; ask again when its status is COMPLETED"), err)

	done := b.worked(t, made.ID)
	require.Equal(t, job.Completed, done.Status)
	require.Equal(t, job.Stats{Processed: 5002}, done.Stats)
	rows := b.rows(t, made.ID, job.ResultFile)
	require.Len(t, rows, 5003)
	seen := map[string]bool{}
	for _, row := range rows {
		seen[row[1]] = true
	}
	require.Len(t, seen, 5003, "every user once")
	did, err := b.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.False(t, did, "no job waits")
}

// The format of dates is that of the params, or else that of the tenant.
func TestExport_Dates(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	date := func(params string) string {
		return b.rows(t, b.create(t, b.jobInput(job.User, params)).ID, job.ResultFile)[1][8]
	}
	const millis, iso = "1700000000000", "2023-11-14T22:13:20.000Z"
	require.Equal(t, millis, date(`{}`))
	require.Equal(t, iso, date(`{"dateFormat":"ISO"}`))
	dates := job.DatesISO
	_, err := b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{ExportDates: &dates})
	require.NoError(t, err)
	require.Equal(t, iso, date(`{}`))
	require.Equal(t, millis, date(`{"dateFormat":"MS"}`))
}

// A file for people has a mark, times in a zone, what an order has, and milliseconds for
// programs; it can be imported again.
func TestExport_ForPeople(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	rows := func(typ job.Type, params string) [][]string {
		made := b.create(t, b.jobInput(typ, params))
		require.Equal(t, job.Completed, made.Status, made.Message)
		return b.rows(t, made.ID, job.ResultFile)
	}
	users := rows(job.User, `{"dateFormat":"LOCAL","timeZone":"Europe/Berlin"}`)
	require.Equal(t, []string{"\ufeffid", "dateCreated (Europe/Berlin)", "dateCreated"}, []string{users[0][0], users[0][8], users[0][17]})
	require.Equal(t, []string{"2023-11-14 23:13:20", "1700000000000"}, []string{users[1][8], users[1][17]})

	// An event is in the file as soon as it was accepted.
	require.NoError(t, b.log(t, "anna", "", `{"key":"purchase","fields":{"order_id":"B-7","revenue":"12.50","currency":"EUR"}}`))
	events := rows(job.UserEvent, `{"dateFormat":"LOCAL"}`)
	require.Len(t, events, 2)
	require.Equal(t, []string{"B-7", "12.50", "EUR"}, events[1][7:10])
	require.NoError(t, b.log(t, "bert", "", `{"key":"purchase","fields":{"order_id":12345678901234567890,"revenue":1234567.89,"currency":"BRL"}}`))
	for _, row := range rows(job.UserEvent, `{"dateFormat":"LOCAL"}`) {
		if row[0] == "bert" {
			require.Equal(t, []string{"12345678901234567890", "1234567.89", "BRL"}, row[7:10], "numbers as they were sent")
		}
	}

	// Without a zone it is that of the tenant.
	zone := "America/New_York"
	_, err := b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{TimeZone: &zone})
	require.NoError(t, err)
	require.Equal(t, "2023-11-14 17:13:20", rows(job.User, `{"dateFormat":"LOCAL"}`)[1][8])

	for _, name := range []string{"Mars/Olympus", "Local", "Factory", "posixrules", "right/UTC", "../etc/passwd"} {
		_, err = b.Jobs.Create(t.Context(), b.tenant, b.jobInput(job.User, `{"dateFormat":"LOCAL","timeZone":"`+name+`"}`))
		require.Equal(t, core.Invalid("params.timeZone", "is not the name of a time zone; give one like Europe/Berlin"), err, name)
	}
	zone = "Local"
	_, err = b.Tenants.Change(t.Context(), b.tenant, tenants.TenantChange{TimeZone: &zone})
	require.Equal(t, core.Invalid("time-zone", "is not the name of a time zone; give one like Europe/Berlin"), err)
}

// An empty export has a header, because readers expect one in the first line.
func TestExport_HeaderAlways(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, typ := range job.Types() {
		if typ.Import() {
			continue
		}
		made := b.create(t, b.jobInput(typ, `{"createdSince":"2030-01-01T00:00:00Z"}`))
		require.Equal(t, job.Completed, made.Status, typ)
		require.Len(t, b.rows(t, made.ID, job.ResultFile), 1, typ)
	}
}

func TestExport_NamesThatAreFormulas(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	name := `=HYPERLINK("https://evil.example","click")`
	_, err := b.Identification.Identify(t.Context(), b.tenant, rules.Identification{
		Update: referral.UserUpdate{Account: "=1+1", ID: "@sum", FirstName: &name},
	})
	require.NoError(t, err)
	rows := b.rows(t, b.create(t, b.jobInput(job.User, `{}`)).ID, job.ResultFile)
	require.Equal(t, []string{"'@sum", "'=1+1", "", "'" + name}, rows[1][:4])
}

// Another worker takes over a job whose process stopped. If that process resumes, it changes
// nothing.
func TestWorkJob_TakesOverTheJobOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput(job.User, "{}"))
	paused := b.otherProcess()
	files := &blockingStore{Store: b.Files.Store, at: make(chan struct{}), release: make(chan struct{})}
	paused.Files.Store = files
	late := make(chan error, 1)
	go func() {
		_, err := paused.Jobs.Work(context.Background())
		late <- err
	}()
	<-files.at
	did, err := b.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.False(t, did, "while the other process has the lease")
	b.stopped(t, paused)
	done := b.worked(t, made.ID)
	require.Equal(t, job.Completed, done.Status)
	close(files.release)
	require.ErrorIs(t, <-late, jobs.ErrLeaseLost)
	after, err := b.Jobs.ByID(t.Context(), b.tenant, made.ID)
	require.NoError(t, err)
	require.Equal(t, done, after)
	require.Len(t, b.rows(t, made.ID, job.ResultFile), 5003)
}

// stopped releases the leases of a process, as others do when they see that it stopped.
func (b bundle) stopped(t testing.TB, process *app.Engine) {
	t.Helper()
	ended := b.otherProcess() // not process itself: its clock may block
	ended.Process = process.Process
	require.NoError(t, ended.Leases.Leave(t.Context()))
}

// otherProcess returns the engine of another process on the same database and files.
func (b bundle) otherProcess() *app.Engine {
	e := app.New(*b.Base)
	e.Events.Wake, e.Files.Store, e.Jobs.Wake = b.Events.Wake, b.Files.Store, b.Jobs.Wake
	return e
}

// blockingStore closes at when a file is created, and blocks until release is closed.
type blockingStore struct {
	file.Store
	at, release chan struct{}
}

func (s *blockingStore) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	close(s.at)
	<-s.release
	return s.Store.Create(ctx, ref)
}

// fullStore fails to create any file.
type fullStore struct{ file.Store }

var errFull = errors.New("no space left on device")

func (fullStore) Create(context.Context, core.FileRef) (file.Writer, error) { return nil, errFull }

func TestWorkJob_AbortsAfterFiveAttempts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput(job.User, "{}"))
	disk := b.Files.Store
	b.Files.Store = fullStore{disk}
	b.Jobs.RetryAfter = time.Nanosecond
	for range 5 {
		_, err := b.Jobs.Work(t.Context())
		require.ErrorIs(t, err, errFull)
	}
	done := b.worked(t, made.ID)
	require.Equal(t, job.Aborted, done.Status)
	require.Equal(t, "aborted after 5 attempts without progress", done.Message)
}

// A full disk does not end a job, however often it is tried: the status reports it, and the
// job completes when there is space.
func TestWorkJob_WaitsForSpace(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput(job.User, "{}"))
	disk := b.Files.Store
	b.Files.Store = noSpace{disk}
	b.Jobs.RetryAfter = time.Nanosecond
	for range 20 {
		_, err := b.Jobs.Work(t.Context())
		require.ErrorIs(t, err, syscall.ENOSPC)
		j, err := b.Jobs.ByID(t.Context(), b.tenant, made.ID)
		require.NoError(t, err)
		require.Equal(t, job.Pending, j.Status)
		require.Equal(t, "the disk of the service is full; the job continues by itself when there is space", j.Message)
	}
	b.Files.Store = disk
	done := b.worked(t, made.ID)
	require.Equal(t, job.Completed, done.Status)
	require.Empty(t, done.Message)
}

// An upload to a full disk may be sent again.
func TestUpload_DiskIsFull(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Files.Store = noSpace{b.Files.Store}
	for name, upload := range map[string]func() error{
		"a file": func() error {
			return second(b.Files.Upload(t.Context(), b.tenant, "users.csv", strings.NewReader("id\n")))
		},
		"a piece": func() error { return second(b.Files.AddPiece(t.Context(), b.tenant, strings.NewReader("id\n"))) },
	} {
		err := upload()
		var known *core.Error
		require.ErrorAs(t, err, &known, name)
		require.Equal(t, core.CodeUnavailable, known.Code, name)
		require.Equal(t, "the disk of the service is full; send the file again when there is space", known.Message)
		require.ErrorIs(t, err, syscall.ENOSPC)
	}
}

// noSpace is a disk without space.
type noSpace struct{ file.Store }

func (noSpace) Create(context.Context, core.FileRef) (file.Writer, error) {
	return nil, &fs.PathError{Op: "open", Path: "f", Err: syscall.ENOSPC}
}

// A worker that is stopped releases its job at once.
func TestWorkJob_StopReleasesTheJob(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 5000)
	made := b.create(t, b.jobInput(job.User, "{}"))
	stopped := b.otherProcess()
	ctx, cancel := context.WithCancel(t.Context())
	stopped.Files.Store = cancellingStore{b.Files.Store, cancel}
	_, err := stopped.Jobs.Work(ctx)
	require.ErrorIs(t, err, context.Canceled)
	done := b.worked(t, made.ID)
	require.Equal(t, job.Completed, done.Status)
}

// cancellingStore calls cancel when a file is created.
type cancellingStore struct {
	file.Store
	cancel func()
}

func (c cancellingStore) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	c.cancel()
	return c.Store.Create(ctx, ref)
}

func TestExport_FilesExpireAfter28Days(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	made := b.create(t, b.jobInput(job.User, "{}"))
	_, err := b.Jobs.Download(t.Context(), b.tenant, made.ID, job.ResultFile)
	require.NoError(t, err)

	b.pass(28*core.Day - 1)
	b.removeOldFiles(t)
	require.Len(t, b.rows(t, made.ID, job.ResultFile), 3)
	b.pass(1)
	_, err = b.Jobs.Download(t.Context(), b.tenant, made.ID, job.ResultFile)
	require.Equal(t, core.NotFound("the files of this job have expired: they are kept for 28 days"), err)
	_, err = b.Files.Store.Open(t.Context(), made.Result, 0)
	require.NoError(t, err, "the file is not removed yet")
	b.removeOldFiles(t)
	_, err = b.Files.Store.Open(t.Context(), made.Result, 0)
	require.Error(t, err)
	_, known, err := jobdb.FindFile(t.Context(), b.DB.Reads, b.tenant, made.Result)
	require.NoError(t, err)
	require.False(t, known)
	_, err = b.Jobs.Export(t.Context(), b.tenant, made.ID)
	require.NoError(t, err, "the job stays")
	b.pass(28 * core.Day)
	b.removeOldFiles(t)
	_, err = b.Jobs.Export(t.Context(), b.tenant, made.ID)
	require.Equal(t, core.NotFound("there is no such export"), err)
}

func (b bundle) removeOldFiles(t *testing.T) {
	t.Helper()
	more, err := b.Files.RemoveOld(t.Context())
	require.NoError(t, err)
	require.False(t, more)
}

func TestDeleteJob(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		made := b.create(t, b.jobInput(job.User, "{}"))
		deleted, err := b.Jobs.Delete(t.Context(), "nobody", made.ID)
		require.NoError(t, err)
		require.Zero(t, deleted, "a job of another tenant")
		for want := 1; want >= 0; want-- {
			deleted, err := b.Jobs.Delete(t.Context(), b.tenant, made.ID)
			require.NoError(t, err)
			require.Equal(t, want, deleted)
		}
		_, err = b.Jobs.ByID(t.Context(), b.tenant, made.ID)
		require.Equal(t, core.NotFound("there is no such job"), err)
		old, err := jobdb.ExpiredFiles(t.Context(), b.DB.Reads, b.Now(), 1000)
		require.NoError(t, err)
		require.Contains(t, old, jobdb.File{Tenant: b.tenant, Ref: made.Result})
	})
}

func TestDownloadLink(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	link, err := url.Parse(b.Files.Link(b.tenant, "j", job.ErrorsFile))
	require.NoError(t, err)
	require.Equal(t, "/api/v1/"+string(b.tenant)+"/export/j/download", link.Path)
	q := link.Query()
	expires, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	require.NoError(t, err)
	d := auth.Download{Job: "j", File: q.Get("file"), Expires: core.Time(expires)}
	require.NoError(t, b.Files.CheckLink(b.tenant, d, q.Get("signature")))
	require.Error(t, b.Files.CheckLink("other", d, q.Get("signature")))
	b.pass(core.Hour)
	require.NoError(t, b.Files.CheckLink(b.tenant, d, q.Get("signature")))
	b.pass(1)
	require.Error(t, b.Files.CheckLink(b.tenant, d, q.Get("signature")))
}

// A call that could neither run its job nor release it, because the database was away, leaves it
// to the workers as soon as the database is back.
func TestCreateJob_IsReleasedOnceTheDatabaseIsBack(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.addUsers(t, 3)
	change := func(statement string) {
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error { return tx.Exec(t.Context(), "test", statement) }))
	}
	change(`CREATE TRIGGER away BEFORE UPDATE ON job WHEN new.leased_by IS NULL BEGIN SELECT RAISE(ABORT, 'away'); END`)
	b.Jobs.CallTime = 1 // the call has no time to run it
	made := b.create(t, b.jobInput(job.User, "{}"))
	require.Equal(t, job.Pending, made.Status)
	_, err := b.Jobs.Work(t.Context())
	require.ErrorContains(t, err, "away")
	change(`DROP TRIGGER away`)
	done := b.worked(t, made.ID)
	require.Equal(t, job.Completed, done.Status)
}
