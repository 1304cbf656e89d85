package files_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/jobs"
	"kith/backend/file"
	"kith/backend/portal/portaltest"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/importfile"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/people"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const (
	base  = "/portal/t/acme/files"
	owner = portaltest.Owner
)

// users returns a file of users. The rows whose numbers are in wrong have no mail address.
func users(n int, wrong ...int) string {
	var text strings.Builder
	text.WriteString("accountId,id,email,firstName\n")
	for i := 1; i <= n; i++ {
		mail := "u" + strconv.Itoa(i) + "@example.com"
		for _, w := range wrong {
			if w == i {
				mail = "<b>not an address</b>"
			}
		}
		text.WriteString("a" + strconv.Itoa(i) + ",u" + strconv.Itoa(i) + "," + mail + ",Ada\n")
	}
	return text.String()
}

// form returns a form as browsers send it: pairs of name and value, then a file.
func form(t *testing.T, name, text string, fields ...string) (kind string, body *bytes.Buffer) {
	t.Helper()
	var parts []portaltest.Part
	for i := 0; i < len(fields); i += 2 {
		parts = append(parts, portaltest.Part{Name: fields[i], Value: fields[i+1]})
	}
	return portaltest.Multipart(t, append(parts, portaltest.Part{Name: "file", File: name, Value: text})...)
}

// upload sends a file as a page without scripts does, and returns the page that checks it.
func upload(t *testing.T, b *portaltest.Browser, task, name, text string) portaltest.Answer {
	t.Helper()
	kind, body := form(t, name, text, "csrf", b.Get(base+"/import").Token(t), "type", task)
	got := b.SendBody("POST", base+"/upload", kind, body)
	if got.Status == http.StatusSeeOther {
		to := got.Header.Get("Location")
		got = b.Get(to)
		got.Header.Set("Location", to)
	}
	return got
}

// start confirms the page of a checked file, and returns the path of the import.
func start(t *testing.T, b *portaltest.Browser, page portaltest.Answer, fields ...string) string {
	t.Helper()
	at, err := url.Parse(page.Header.Get("Location"))
	require.NoError(t, err)
	q := at.Query()
	before := regexp.MustCompile(`name="before" value="([^"]*)"`).FindStringSubmatch(page.Body)
	require.NotNil(t, before, page.Text())
	fields = append(fields, "type", q.Get("type"), "file", q.Get("file"), "name", q.Get("name"), "before", before[1])
	got := b.Post(t, page.Header.Get("Location"), base+"/start", fields...)
	require.Equal(t, http.StatusSeeOther, got.Status, got.Body)
	return got.Header.Get("Location")
}

// An import from its file to the corrected rows, without scripts.
func TestImport_ARejectedRowIsCorrected(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	require.Contains(t, b.Get(base).Text(), "No imports and exports yet")

	page := upload(t, b, "USER", `C:\files\users of may.csv`, users(1200, 6, 778))
	require.Equal(t, http.StatusOK, page.Status)
	seen := page.Text()
	require.Contains(t, seen, "2 rows of 1,200 have problems")
	require.Contains(t, seen, "7 email <b>not an address</b> must be an e-mail address; give one such as name@example.com, or leave it out")
	require.Contains(t, seen, "779 email")
	require.Contains(t, seen, "Import 1,198 rows and leave 2 out")
	require.Contains(t, seen, "users of may.csv , 37.5 kB")
	_, total, err := w.Engine.Jobs.List(t.Context(), "acme", job.Filter{Limit: 1})
	require.NoError(t, err)
	require.Zero(t, total, "nothing happens before the confirmation")

	at := start(t, b, page)
	seen = b.Get(at).Text()
	require.Contains(t, seen, "1,198 rows imported, 2 rejected")
	require.Contains(t, seen, "779 email must be an e-mail address")
	require.Contains(t, seen, "Download the rejected rows")
	u, err := w.Engine.Users.ByID(t.Context(), "acme", "a1", "u1")
	require.NoError(t, err)
	require.Equal(t, "u1@example.com", u.User.Email)

	rejected := b.Post(t, at, at+"/get", "file", "rejected")
	require.Equal(t, http.StatusOK, rejected.Status)
	require.Regexp(t, `^attachment; filename="user_rejected_[0-9a-f]+\.csv"$`, rejected.Header.Get("Content-Disposition"))
	const problem = `column email: must be an e-mail address; give one such as name@example.com, or leave it out`
	require.Equal(t, "accountId,id,email,firstName,kithProblem\n"+
		`a6,u6,<b>not an address</b>,Ada,"`+problem+"\"\n"+
		`a778,u778,<b>not an address</b>,Ada,"`+problem+"\"\n", rejected.Body)

	// The file is corrected, with the column of the problem still in it.
	page = upload(t, b, "USER", "corrected.csv", strings.ReplaceAll(rejected.Body, "<b>not an address</b>", "right@example.com"))
	require.Contains(t, page.Text(), "2 rows, and no problems")
	require.Contains(t, page.Text(), "Import 2 rows")
	seen = b.Get(start(t, b, page)).Text()
	require.Contains(t, seen, "2 rows imported")
	require.NotContains(t, seen, "rejected")

	list := b.Get(base).Text()
	require.Regexp(t, `corrected\.csv Import: Users Done 2 0 .* users of may\.csv Import: Users Done, rows rejected 1,200 2 `, list)
	require.Contains(t, b.Get(base+"?kind=QUERY").Text(), "No import or export matches the filter")
	require.Contains(t, b.Get(base+"?state=failed").Text(), "No import or export matches the filter")
	require.Contains(t, b.Get(base+"?kind=MUTATION&state=done").Text(), "corrected.csv")

	entries := w.Audit(t, people.AuditFilter{})
	var actions []people.Action
	for _, e := range entries[:3] {
		actions = append(actions, e.Action)
		require.Equal(t, owner, e.Actor)
	}
	require.Equal(t, []people.Action{operation.StartImport.Action, operation.DownloadFile.Action, operation.StartImport.Action}, actions)
	require.Equal(t, "users of may.csv", entries[1].Subject)
	require.JSONEq(t, `{"type":"MUTATION/USER","file":"rejected"}`, entries[1].After)
}

// Each sample file can be imported as it is, if the users that it names exist.
func TestSamples_CanBeImported(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	for _, task := range []string{"USER", "USER_EVENT", "REDEEMABLE_REWARD_BALANCE", "DELETE_USER"} {
		sample := b.Get(base + "/sample/" + task)
		require.Equal(t, http.StatusOK, sample.Status, task)
		require.Contains(t, sample.Header.Get("Content-Disposition"), "attachment", task)
		page := upload(t, b, task, "sample.csv", sample.Body)
		require.Contains(t, page.Text(), "3 rows, and no problems", task)
		at := start(t, b, page)
		seen := b.Get(at).Text()
		if task == "REDEEMABLE_REWARD_BALANCE" {
			require.Contains(t, seen, "0 rows imported, 3 rejected", "the users have no credit")
			continue
		}
		require.Contains(t, seen, "3 rows imported", task)
		require.NotContains(t, seen, "rejected", task)
	}
	require.Equal(t, http.StatusNotFound, b.Get(base+"/sample/REWARD").Status)
}

// What is wrong with a file is said before anything changes.
func TestImport_ProblemsOfTheFile(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	for name, c := range map[string]struct {
		task, text, want string
		status           int
	}{
		"no file":     {"USER", "", "The file is empty", 422},
		"workbook":    {"USER", "PK\x03\x04" + strings.Repeat("x", 100), "is a workbook that is incomplete or damaged; save it again in Excel", 422},
		"no kind":     {"REWARD", users(1), "What the file has is not chosen; choose one of the list", 422},
		"header only": {"USER", "accountId,id\n", "This file cannot be imported", 200},
		"column":      {"USER", "accountId,id,shoeSize\n1,2,3\n", "Not imported: shoeSize", 200},
		"latin 1":     {"USER", "accountId,id,firstName\n1,2,é\n1,3,J\xfcrgen\n", "is not UTF-8; save the file with that encoding", 200},
		"all rows":    {"USER", users(2, 1, 2), "No row can be imported", 200},
		"cells":       {"USER", "accountId,id\n1,2\n3\n", "the row has 1 cells, and the header 2", 200},
	} {
		got := upload(t, b, c.task, "file.csv", c.text)
		require.Equal(t, c.status, got.Status, name)
		require.Contains(t, got.Text(), c.want, name)
		if name == "all rows" || strings.Contains(got.Body, "cannot be imported") {
			require.NotContains(t, got.Body, base+"/start", "%s: there is nothing to start", name)
		}
	}
	_, total, err := w.Engine.Jobs.List(t.Context(), "acme", job.Filter{Limit: 1})
	require.NoError(t, err)
	require.Zero(t, total)
	// A file that is not there.
	require.Equal(t, http.StatusNotFound, b.Get(base+"/check?type=USER&file=imports/acme/x.csv").Status)
	require.Equal(t, http.StatusNotFound, b.Get(base+"/check?type=USER&file=imports/rival/x.csv").Status)
	require.Equal(t, http.StatusNotFound, b.Get(base+"/check").Status)
}

// The errors of the options are shown at their field, and settings reach the import.
func TestImport_Options(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := upload(t, b, "USER", "u.csv", users(30, 5, 6, 7))
	to := page.Header.Get("Location")
	q, err := url.Parse(to)
	require.NoError(t, err)
	file := []string{"type", "USER", "name", "u.csv", "file", q.Query().Get("file")}
	for value, want := range map[string]string{
		"many": "The number of rejected rows must be a number such as 100", "0": "The number of rejected rows must be", "1000001": "must be 1000000 or less",
	} {
		got := b.Post(t, to, base+"/start", append(file, "maxErrors", value)...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, value)
		require.Contains(t, got.Text(), want, value)
	}
	at := start(t, b, page, "maxErrors", "2", "silent", "1")
	seen := b.Get(at).Text()
	require.Contains(t, seen, "stopped because 2 rows were rejected; rows after row 7 were not processed")
	id := at[strings.LastIndex(at, "/")+1:]
	j, err := w.Engine.Jobs.ByID(t.Context(), "acme", id)
	require.NoError(t, err)
	require.JSONEq(t, `{"maxErrors":2,"importEvaluationOptions":{"webhooks":false}}`, j.Params)
	require.Equal(t, owner, j.Requester)
}

// A script sends a file in pieces.
func TestImport_Pieces(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	csrf := b.Get(base + "/import").Token(t)
	whole, pieces := users(300), []string{}
	for rest := whole; rest != ""; {
		n := min(len(rest), 1000)
		got := b.SendBody("POST", base+"/pieces", "application/octet-stream", strings.NewReader(rest[:n]), "X-Csrf-Token", csrf)
		require.Equal(t, http.StatusOK, got.Status)
		pieces, rest = append(pieces, got.Body), rest[n:]
	}
	require.Greater(t, len(pieces), 5)
	got := b.Post(t, base+"/import", base+"/join", "type", "USER", "name", "u.csv", "pieces", strings.Join(pieces, " "))
	require.Equal(t, http.StatusSeeOther, got.Status, got.Body)
	page := b.Get(got.Header.Get("Location"))
	require.Contains(t, page.Text(), "300 rows, and no problems")
	page.Header.Set("Location", got.Header.Get("Location"))
	at := start(t, b, page)
	require.Contains(t, b.Get(at).Text(), "300 rows imported")
	require.Equal(t, whole, b.Post(t, at, at+"/get", "file", "source").Body)

	again := b.Post(t, base+"/import", base+"/join", "type", "USER", "name", "u.csv", "pieces", pieces[0])
	require.Equal(t, http.StatusUnprocessableEntity, again.Status, "pieces are removed")
	require.Contains(t, again.Text(), "The file has a piece that is not kept any more; send the file again")
	for name, refs := range map[string]string{
		"none": "", "an upload": regexp.MustCompile(`imports/acme/[^"&]+`).FindString(page.Body), "of a rival": "pieces/rival/x.part",
	} {
		got := b.Post(t, base+"/import", base+"/join", "type", "USER", "name", "u.csv", "pieces", refs)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, name)
	}
	require.Equal(t, http.StatusRequestEntityTooLarge, b.SendBody("POST", base+"/pieces", "application/octet-stream", io.LimitReader(zeros{}, jobs.MaxPiece+1), "X-Csrf-Token", csrf).Status)
}

// A tenant without room sends neither files nor pieces, and may not join pieces.
func TestImport_WithoutRoom(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	csrf := b.Get(base + "/import").Token(t)
	piece := func() portaltest.Answer {
		return b.SendBody("POST", base+"/pieces", "application/octet-stream", strings.NewReader(users(1)), "X-Csrf-Token", csrf)
	}
	w.Engine.Files.MaxStorage = int64(len(users(1))) + 1
	sent := piece()
	require.Equal(t, http.StatusOK, sent.Status)
	const want = "exceeds the 55 bytes that the files of a tenant may have; remove imports and exports, wait until files expire, or ask the operator to raise KITH_MAX_STORAGE"
	refused := piece()
	require.Equal(t, http.StatusConflict, refused.Status)
	require.Equal(t, "E"+want[1:]+".", refused.Body)
	join := func() portaltest.Answer {
		return b.Post(t, base+"/import", base+"/join", "type", "USER", "name", "u.csv", "pieces", sent.Body)
	}
	// A file replaces its pieces, once.
	require.Equal(t, http.StatusSeeOther, join().Status)
	again := join()
	require.Equal(t, http.StatusUnprocessableEntity, again.Status)
	require.Equal(t, http.StatusConflict, piece().Status)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// An upload is refused unless a page of the session sends it.
func TestUpload_NeedsTheToken(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	csrf := b.Get(base + "/import").Token(t)
	for name, fields := range map[string][]string{
		"none": {"type", "USER"}, "wrong": {"csrf", csrf[:len(csrf)-2] + "xx", "type", "USER"}, "not the first part": {"type", "USER", "csrf", csrf},
		"too long": {"csrf", strings.Repeat(csrf, 100), "type", "USER"},
	} {
		kind, body := form(t, "u.csv", users(1), fields...)
		got := b.SendBody("POST", base+"/upload", kind, body)
		require.GreaterOrEqual(t, got.Status, 400, name)
		require.Less(t, got.Status, 500, name)
		require.NotContains(t, got.Header.Get("Location"), "check", name)
	}
	require.Equal(t, http.StatusForbidden, b.SendBody("POST", base+"/pieces", "application/octet-stream", strings.NewReader("x")).Status)
	kind, body := form(t, "u.csv", users(1), "csrf", csrf, "type", "USER")
	b.Headers["Sec-Fetch-Site"] = "cross-site"
	require.Equal(t, http.StatusForbidden, b.SendBody("POST", base+"/upload", kind, body).Status)
	b.Headers["Sec-Fetch-Site"] = "same-origin"
	kind, body = form(t, "u.csv", users(1), "csrf", csrf, "type", "USER")
	half := io.LimitReader(body, int64(body.Len()/2))
	got := b.SendBody("POST", base+"/upload", kind, half)
	require.Equal(t, http.StatusBadRequest, got.Status)
	require.Contains(t, got.Text(), "The form did not arrive completely. Send it again.")
}

// Each page is open to the roles that may run imports and exports.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	at := start(t, w.SignedIn(t, owner), upload(t, w.SignedIn(t, owner), "USER", "u.csv", users(3, 2)))
	for _, role := range people.Roles() {
		b := w.As(t, role)
		want := http.StatusForbidden
		if operation.ReadImports.Permits(role) {
			want = http.StatusOK
		}
		for _, page := range []string{base, at, base + "/export", base + "/export/USER", base + "/sftp"} {
			require.Equal(t, want, b.Get(page).Status, "%s %s", role, page)
		}
		csrf := b.Get("/portal/profile").Token(t)
		for path, fields := range map[string]url.Values{
			"/join": {"type": {"USER"}}, "/start": {"type": {"USER"}, "file": {"imports/acme/x.csv"}}, "/export/USER": {"format": {"CSV"}}, "/sftp/add": {"key": {"x"}},
			"/sftp/remove": {"fingerprint": {"x"}}, strings.TrimPrefix(at, base) + "/get": {"file": {"rejected"}}, strings.TrimPrefix(at, base) + "/end": {},
		} {
			if role == people.Owner {
				continue // the import is needed by the next roles
			}
			if operation.ReadImports.Permits(role) {
				continue
			}
			fields.Set("csrf", csrf)
			require.Equal(t, http.StatusForbidden, b.Send("POST", base+path, fields).Status, "%s %s", role, path)
		}
	}
	require.Equal(t, http.StatusNotFound, w.SignedIn(t, owner).Get(strings.Replace(at, "acme", "test_acme", 1)).Status, "a job of another tenant")
}

// whileWriting is a store that calls a function once, before a file gets its first bytes.
type whileWriting struct {
	file.Store
	do func()
}

func (s *whileWriting) Create(ctx context.Context, ref core.FileRef) (file.Writer, error) {
	to, err := s.Store.Create(ctx, ref)
	return &writing{Writer: to, store: s}, err
}

type writing struct {
	file.Writer
	store *whileWriting
}

func (w *writing) Write(p []byte) (int, error) {
	if do := w.store.do; do != nil {
		w.store.do = nil
		do()
	}
	return w.Writer.Write(p)
}

// A running export shows how many rows there are in all.
func TestExport_Progress(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	at := start(t, b, upload(t, b, "USER", "many.csv", users(5001)))
	worked, err := w.Engine.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	require.Contains(t, b.Get(at).Text(), "5,001 rows imported")

	store := &whileWriting{Store: w.Engine.Files.Store}
	w.Engine.Files.Store = store
	w.Engine.Jobs.CallTime = 1 // the call does not run it; a worker does
	made := b.Post(t, base+"/export/USER", base+"/export/USER", "format", "CSV", "dates", "ISO")
	require.Equal(t, http.StatusSeeOther, made.Status, made.Body)
	at = made.Header.Get("Location")
	var seen string
	store.do = func() { seen = b.Get(at).Text() }
	worked, err = w.Engine.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	require.Contains(t, seen, "Rows are being written 0 of 5,001 rows, 0 %")
	require.Contains(t, b.Get(at).Text(), "5,001 rows exported")
}

// A running import shows its progress, from the database alone, and can be stopped.
func TestJob_ProgressAndStop(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := upload(t, b, "USER", "many.csv", users(5000))
	w.Engine.Jobs.CallTime = 1 // the call does not run it; a worker does
	at := start(t, b, page)
	got := b.Get(at)
	require.Contains(t, got.Body, `hx-trigger="every 1s"`)
	require.Contains(t, got.Body, `<noscript><meta http-equiv="refresh" content="3"></noscript>`)
	require.Empty(t, got.Header.Get("HX-Refresh"))
	require.Contains(t, got.Text(), "Stop the import")
	require.Contains(t, b.Get(base+"?state=running").Text(), "many.csv")

	// A worker applies the rows.
	worked, err := w.Engine.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.True(t, worked)
	b.Headers["HX-Request"] = "true"
	got = b.Get(at)
	require.Equal(t, "true", got.Header.Get("HX-Refresh"), "the page that polls loads the result")
	require.Contains(t, got.Text(), "5,000 rows imported")
	delete(b.Headers, "HX-Request")

	stopped := start(t, b, upload(t, b, "USER", "stopped.csv", users(5000)))
	require.Equal(t, stopped, b.Post(t, stopped, stopped+"/stop").Header.Get("Location"))
	got = b.Get(stopped)
	require.Contains(t, got.Text(), "It stops in a moment")
	require.NotContains(t, got.Text(), "Stop the import")
	_, err = w.Engine.Jobs.Work(t.Context())
	require.NoError(t, err)
	require.Contains(t, b.Get(stopped).Text(), "stopped by "+owner+" Nothing has changed.")
	done := b.Post(t, stopped, stopped+"/end")
	b.Headers["HX-Request"] = "true"
	got = b.Get(stopped)
	require.Equal(t, 286, got.Status, "a page that polls stops, and shows why")
	require.Equal(t, "main", got.Header.Get("HX-Retarget"))
	require.Contains(t, got.Text(), "Page not found")
	delete(b.Headers, "HX-Request")
	done = b.Post(t, at, at+"/end")
	require.Equal(t, base+"?done=job-removed", done.Header.Get("Location"))
	require.Contains(t, b.Get(base).Text(), "No imports and exports yet")
}

// An export, from its form to the file.
func TestExport(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	start(t, b, upload(t, b, "USER", "u.csv", users(12)))
	kinds := b.Get(base + "/export").Text()
	for _, task := range []string{"USER", "REFERRAL", "USER_REFERRAL", "REWARD", "USER_REWARD_BALANCE", "REWARD_BALANCE", "REDEEMABLE_REWARD_BALANCE", "USER_EVENT"} {
		page := base + "/export/" + task
		require.Equal(t, http.StatusOK, b.Get(page).Status, task)
		for _, format := range []string{"CSV", "XLSX"} {
			got := b.Post(t, page, page, "format", format, "dates", "ISO", "from", "2020-01-01", "to", "2030-01-01", "zone", "Europe/Berlin", "event", "purchase", "unit", "CENTS")
			require.Equal(t, http.StatusSeeOther, got.Status, "%s: %s", task, got.Text())
			at := got.Header.Get("Location")
			require.Contains(t, b.Get(at).Text(), "exported", task)
			file := b.Post(t, at, at+"/get", "file", "result")
			require.Equal(t, http.StatusOK, file.Status, task)
			if format == "XLSX" {
				require.True(t, strings.HasPrefix(file.Body, "PK\x03\x04"), task)
				continue
			}
			table, err := csv.NewReader(strings.NewReader(file.Body)).ReadAll()
			require.NoError(t, err, task)
			want := 1
			if task == "USER" || task == "USER_REFERRAL" {
				want = 13
			}
			require.Len(t, table, want, task)
		}
	}
	require.Contains(t, kinds, "Reward balances of users")
	for want, fields := range map[string][]string{
		"The first day is not a day":                    {"format", "CSV", "from", "x"},
		"The last day must not be before the first day": {"format", "CSV", "from", "2026-02-01", "to", "2026-01-01"},
		"The format must be one of CSV, XLSX":           {"format", "PDF"},
		"The form of dates must be MS, ISO or LOCAL":    {"format", "CSV", "dates", "x"},
		"The program must be 1 to 64 of A-Z a-z":        {"format", "CSV", "program", "<x>"},
	} {
		got := b.Post(t, base+"/export/REWARD", base+"/export/REWARD", fields...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, got.Text(), want)
	}
	require.Equal(t, http.StatusNotFound, b.Get(base+"/export/US_TAXABLE_VALUE").Status)
	entries := w.Audit(t, people.AuditFilter{Action: operation.StartExport.Action})
	require.Len(t, entries, 16)
	require.Contains(t, entries[15].After, `QUERY/USER`)
}

// A file is sent compressed to browsers that accept that.
func TestDownload_Compressed(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	at := start(t, b, upload(t, b, "USER", "u.csv", users(500)))
	b.Headers["Accept-Encoding"] = "gzip"
	csrf := ""
	{
		plain := w.SignedIn(t, owner)
		plain.Cookies = b.Cookies
		csrf = plain.Get(at).Token(t)
	}
	got := b.Send("POST", at+"/get", url.Values{"csrf": {csrf}, "file": {"source"}})
	require.Equal(t, "gzip", got.Header.Get("Content-Encoding"))
	zip, err := gzip.NewReader(strings.NewReader(got.Body))
	require.NoError(t, err)
	body, err := io.ReadAll(zip)
	require.NoError(t, err)
	require.Equal(t, users(500), string(body))
	got = b.Send("POST", at+"/get", url.Values{"csrf": {csrf}, "file": {"errors"}})
	require.Equal(t, http.StatusNotFound, got.Status, "there are no errors")
	got = b.Send("POST", at+"/get", url.Values{"csrf": {csrf}, "file": {"x"}})
	require.GreaterOrEqual(t, got.Status, 400)
	w.Pass(job.Life + core.Hour)
	b = w.SignedIn(t, owner)
	seen := b.Get(at).Text()
	require.Contains(t, seen, "Deleted on")
	require.NotContains(t, seen, "The imported file")
	require.Equal(t, http.StatusNotFound, b.Post(t, at, at+"/get", "file", "source").Status)
}

// The history has pages.
func TestHistory_Pages(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	caller := people.Caller{Person: "p", Email: owner, Tenant: "acme", Role: people.Owner}
	for range 30 {
		_, err := w.Engine.Admin.Files.Export(t.Context(), caller, job.Input{Type: job.Reward, Format: job.CSV, Params: "{}"})
		require.NoError(t, err)
		w.Pass(core.Second)
	}
	first := b.Get(base)
	require.Equal(t, 25, strings.Count(first.Body, `data-label="What"`))
	require.Contains(t, first.Body, `href="`+base+`?page=2"`)
	second := b.Get(base + "?page=2")
	require.Equal(t, 5, strings.Count(second.Body, `data-label="What"`))
	require.NotContains(t, second.Body, "Older")
	require.Contains(t, b.Get(base+"?page=9").Text(), "No more imports and exports")
	require.Equal(t, 25, strings.Count(b.Get(base+"?page=-1").Body, `data-label="What"`))
}

// Keys of SFTP clients are added, listed and removed.
func TestSFTP(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl3qY6VtWJ1qlVB3TSiRLSoPxLaYTDGcP9XWJ3ZmV1x anna@shop <b>"
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := base + "/sftp"
	seen := b.Get(page).Text()
	require.Contains(t, seen, "No keys yet")
	require.Contains(t, seen, "This process has no SFTP server")
	for _, p := range importfile.Prefixes() {
		require.Contains(t, seen, p.Text)
	}
	got := b.Post(t, page, page+"/add", "key", "x")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "The key is not a public key")
	got = b.Post(t, page, page+"/add", "key", key)
	require.Equal(t, page+"?done=key-added", got.Header.Get("Location"), got.Text())
	body := b.Get(page).Body
	require.Contains(t, body, "anna@shop &lt;b&gt;")
	got = b.Post(t, page, page+"/add", "key", key)
	require.Contains(t, got.Text(), "The key may send files already; nothing has changed")
	fingerprint := regexp.MustCompile(`name="fingerprint" value="([^"]+)"`).FindStringSubmatch(body)
	require.NotNil(t, fingerprint)
	got = b.Post(t, page, page+"/remove", "fingerprint", strings.ReplaceAll(fingerprint[1], "&#43;", "+"))
	require.Equal(t, page+"?done=key-removed", got.Header.Get("Location"), got.Text())
	require.Equal(t, http.StatusNotFound, b.Post(t, page, page+"/remove", "fingerprint", "x").Status)
	entries := w.Audit(t, people.AuditFilter{Subject: "SHA256:"})
	require.Len(t, entries, 2)
}
