package files_test

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"kith/backend/portal/portaltest"
	"kith/core/importfile"
	"kith/core/job"
)

// fields returns the hidden fields of the form of a page, and the chosen options, as a browser
// sends them.
func fields(t *testing.T, page portaltest.Answer) url.Values {
	t.Helper()
	sent := url.Values{}
	for _, found := range hidden.FindAllStringSubmatch(page.Body, -1) {
		sent.Set(found[1], html.UnescapeString(found[2]))
	}
	for _, found := range choice.FindAllStringSubmatch(page.Body, -1) {
		value := ""
		if chosen := selected.FindStringSubmatch(found[2]); chosen != nil {
			value = html.UnescapeString(chosen[1])
		}
		sent.Set(found[1], value)
	}
	sent.Del("csrf")
	require.NotEmpty(t, sent.Get("h0"), page.Text())
	return sent
}

var (
	hidden   = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	choice   = regexp.MustCompile(`(?s)<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>`)
	selected = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

func pairs(form url.Values) (all []string) {
	for name, values := range form {
		all = append(all, name, values[0])
	}
	return all
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../sheet/testdata/" + name)
	require.NoError(t, err)
	return string(text)
}

// Files that people have are imported after one look at their columns: what is missing is
// guessed, and can be changed.
func TestImport_FilesThatPeopleHave(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)

	page := upload(t, b, "USER", "audience.csv", fixture(t, "mailchimp.csv"))
	seen := page.Text()
	require.Contains(t, seen, "5 rows, and no problems")
	require.Contains(t, seen, "No column is known to say who a person is, so “ Email Address ” is proposed.")
	require.Contains(t, seen, "Not imported: Address , Phone Number")
	require.Contains(t, seen, "ana.lopez@example.com · ben@example.org · chloe.martin@example.net")
	form := fields(t, page)
	require.Equal(t, []string{"0", "0", "email", "firstName", ""}, []string{form.Get("accountId"), form.Get("id"), form.Get("c0"), form.Get("c1"), form.Get("c22")})

	// The tags are wanted, and the last names are not.
	form.Set("c22", "customFields.TAGS")
	form.Set("c2", "")
	to := page.Header.Get("Location")
	again := check(t, b, to, form)
	require.Equal(t, http.StatusOK, again.Status)
	require.Contains(t, again.Text(), "Not imported: Last Name , Address")
	kept := fields(t, again)
	require.NotEqual(t, form.Get("once"), kept.Get("once"))
	form.Set("once", kept.Get("once"))
	require.Equal(t, form, kept, "the choice is kept")
	require.NotContains(t, again.Header.Get("Location"), "csrf")
	started := b.Post(t, to, base+"/start", pairs(form)...)
	require.Equal(t, http.StatusSeeOther, started.Status, started.Body)
	seen = b.Get(started.Header.Get("Location")).Text()
	require.Contains(t, seen, "5 rows imported")
	require.Contains(t, seen, "ignored columns: Last Name, Address, Phone Number")
	ana, err := w.Engine.Users.ByID(t.Context(), "acme", "ana.lopez@example.com", "ana.lopez@example.com")
	require.NoError(t, err)
	require.Equal(t, "Ana", ana.User.FirstName)
	require.Empty(t, ana.User.LastName)
	require.JSONEq(t, `{"TAGS":"\"spring\",\"vip\""}`, ana.User.CustomFields)

	// The next file with this header is read in the same way, also one that comes over SFTP.
	page = upload(t, b, "USER", "audience.csv", strings.ReplaceAll(fixture(t, "mailchimp.csv"), "Ana", "Anna"))
	require.Contains(t, page.Text(), "These are the choices of the last file with this header")
	require.Equal(t, "customFields.TAGS", fields(t, page).Get("c22"))
	received, err := w.Engine.Jobs.Receive(t.Context(), "acme", "users_audience.csv", strings.NewReader(fixture(t, "mailchimp.csv")))
	require.NoError(t, err)
	require.Empty(t, received.Fatal)
	require.EqualValues(t, 5, received.Job.Stats.Processed)
	require.Zero(t, received.Job.Stats.Errors)
	received, err = w.Engine.Jobs.Receive(t.Context(), "rival", "users_audience.csv", strings.NewReader(fixture(t, "mailchimp.csv")))
	require.NoError(t, err)
	require.NotEmpty(t, received.Fatal, "choices are those of one tenant")
}

// The page of a file says before its import what would surprise afterwards, and offers the
// choice of columns also if no row can be imported.
func TestImport_SaysWhatWouldSurprise(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	const file = "accountId,id,Spitzname\nada,ada,Ada\n"
	page := upload(t, b, "USER", "a.csv", file)
	require.NotContains(t, page.Text(), "imported before")
	form := fields(t, page)
	form.Set("c2", "email")
	page = check(t, b, page.Header.Get("Location"), form)
	require.Contains(t, page.Text(), "No row can be imported")
	require.Contains(t, page.Text(), "2 email “Spitzname” in the file Ada")
	form = fields(t, page)
	form.Set("c2", "firstName")
	page = check(t, b, base+"/import", form)
	require.Contains(t, page.Text(), "1 row, and no problems")
	twoTabs := fields(t, page)
	require.Equal(t, http.StatusSeeOther, b.Post(t, base+"/import", base+"/start", pairs(twoTabs)...).Status)
	require.Equal(t, http.StatusSeeOther, b.Post(t, base+"/import", base+"/start", pairs(twoTabs)...).Status, "a form that is sent twice")
	twoTabs.Del("once") // another window has an id of its own
	page = b.Post(t, base+"/import", base+"/start", pairs(twoTabs)...)
	require.Equal(t, http.StatusUnprocessableEntity, page.Status)
	require.Contains(t, page.Text(), "The same content was imported since this page was opened")
	require.Equal(t, http.StatusSeeOther, b.Post(t, base+"/import", base+"/start", pairs(fields(t, page))...).Status, "imported again on purpose")
	require.Contains(t, upload(t, b, "USER", "b.csv", file).Text(), "The same content was imported before")

	const undated = "No column has the date of the events."
	require.Contains(t, upload(t, b, "USER_EVENT", "c.csv", "accountId,userId,event.key\nada,ada,purchase\n").Text(), undated)
	require.NotContains(t, upload(t, b, "USER_EVENT", "d.csv", "accountId,userId,event.key,Zeitpunkt\nada,ada,purchase,2026-01-02\n").Text(), undated)
}

// A file of German Excel, and its rejected rows: rows have the numbers that Excel shows.
func TestImport_GermanExcel(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := upload(t, b, "USER", "Kunden.csv", fixture(t, "german-excel.csv"))
	seen := page.Text()
	require.Contains(t, seen, "Read as Windows-1252 with semicolons (numbers may have a decimal comma")
	require.Contains(t, seen, "Compare “ Jürgen ” with your program.")
	require.Contains(t, seen, "Jürgen · Zoë · Anna; \"die Große\"")
	require.Contains(t, seen, "1 row of 5 has a problem")
	require.Contains(t, seen, "6 email “E-Mail” in the file keine Adresse")
	started := b.Post(t, page.Header.Get("Location"), base+"/start", pairs(fields(t, page))...)
	at := started.Header.Get("Location")
	require.Contains(t, b.Get(at).Text(), "4 rows imported, 1 rejected")
	require.Contains(t, b.Get(at).Text(), "6 E-Mail must be an e-mail address")
	user, err := w.Engine.Users.ByID(t.Context(), "acme", "00101", "00101")
	require.NoError(t, err)
	require.Equal(t, "Müller", user.User.LastName)
	require.JSONEq(t, `{"umsatz":1234.50}`, user.User.CustomFields)
	rejected := b.Post(t, at, at+"/get", "file", "rejected").Body
	require.Equal(t, "\ufeffKundennummer;Vorname;Nachname;E-Mail;Sprache;Land;Erstellt am;customFields.umsatz;kithProblem\n"+
		"00105;Björn;Öztürk;keine Adresse;de_DE;DE;2023-03-05;7;column E-Mail: must be an e-mail address, give one such as name@example.com, or leave it out\n",
		strings.ReplaceAll(strings.ReplaceAll(rejected, `"`, ""), "address; give", "address, give"))
	page = upload(t, b, "USER", "again.csv", strings.Replace(rejected, "keine Adresse", "b@example.com", 1))
	require.Contains(t, page.Text(), "1 row, and no problems", "the columns are chosen already")
}

// The rejected rows of a workbook are a workbook.
func TestImport_Workbook(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	f := excelize.NewFile()
	defer f.Close()
	for i, row := range [][]any{{"Customer ID", "E-Mail", "First name"}, {"007", "a@example.com", "Ada"}, {"008", "no address", "Ben"}} {
		at, err := excelize.CoordinatesToCellName(1, i+1)
		require.NoError(t, err)
		require.NoError(t, f.SetSheetRow("Sheet1", at, &row))
	}
	var book bytes.Buffer
	require.NoError(t, f.Write(&book))
	page := upload(t, b, "USER", "customers.xlsx", book.String())
	require.Contains(t, page.Text(), `Read as the sheet "Sheet1" of a workbook`)
	require.Contains(t, page.Text(), "3 email “E-Mail” in the file no address")
	started := b.Post(t, page.Header.Get("Location"), base+"/start", pairs(fields(t, page))...)
	at := started.Header.Get("Location")
	require.Contains(t, b.Get(at).Text(), "1 row imported, 1 rejected")
	rejected := b.Post(t, at, at+"/get", "file", "rejected")
	require.Contains(t, rejected.Header.Get("Content-Disposition"), ".xlsx")
	corrected, err := excelize.OpenReader(strings.NewReader(rejected.Body))
	require.NoError(t, err)
	defer corrected.Close()
	rows, err := corrected.GetRows("Sheet1")
	require.NoError(t, err)
	require.Equal(t, []string{"Customer ID", "E-Mail", "First name", "kithProblem"}, rows[0])
	require.Equal(t, "008", rows[1][0])
	require.NoError(t, corrected.SetCellValue("Sheet1", "B2", "b@example.com"))
	book.Reset()
	require.NoError(t, corrected.Write(&book))
	page = upload(t, b, "USER", "corrected.xlsx", book.String())
	require.Contains(t, page.Text(), "1 row, and no problems")
}

// check sends a choice of columns, and returns the page that checks the file with it.
func check(t *testing.T, b *portaltest.Browser, from string, form url.Values) portaltest.Answer {
	t.Helper()
	got := b.Post(t, from, base+"/check", pairs(form)...)
	require.Equal(t, http.StatusSeeOther, got.Status, got.Body)
	to := got.Header.Get("Location")
	got = b.Get(to)
	require.Equal(t, http.StatusOK, got.Status, got.Body)
	got.Header.Set("Location", to)
	return got
}

// A double click starts one import, also one whose rows count each time. A form that is sent
// again with other values, as with the browser's Back, starts none before it is sent once more.
func TestImport_StartsOnce(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := upload(t, b, "USER_EVENT", "e.csv", "accountId,userId,event.key\nanna,u,purchase\n")
	form, to := fields(t, page), page.Header.Get("Location")
	var first, second portaltest.Answer
	var both sync.WaitGroup
	for _, answer := range []*portaltest.Answer{&first, &second} {
		both.Go(func() { *answer = b.Post(t, to, base+"/start", pairs(form)...) })
	}
	both.Wait()
	require.Equal(t, http.StatusSeeOther, first.Status, first.Body)
	require.Equal(t, first.Header.Get("Location"), second.Header.Get("Location"))
	imports := func() int {
		_, total, err := w.Engine.Jobs.List(t.Context(), "acme", job.Filter{Limit: 1})
		require.NoError(t, err)
		return total
	}
	require.Equal(t, 1, imports())
	form.Set("maxErrors", "7")
	other := b.Post(t, to, base+"/start", pairs(form)...)
	require.Equal(t, http.StatusUnprocessableEntity, other.Status)
	require.Contains(t, other.Text(), "This form was sent before with other values, which were stored; these were not: send it again to add them too.")
	require.Equal(t, 1, imports())
	for _, name := range []string{"once", "before"} {
		form.Set(name, fields(t, other).Get(name))
	}
	require.Equal(t, http.StatusSeeOther, b.Post(t, to, base+"/start", pairs(form)...).Status)
	require.Equal(t, 2, imports())
	form = fields(t, b.Get(to))
	form.Set("once", "1")
	require.Contains(t, b.Post(t, to, base+"/start", pairs(form)...).Text(), "Is not an id; open the page again.")

	once := regexp.MustCompile(`name="once" value="([0-9a-f]{24})"`).FindStringSubmatch(b.Get(base + "/export/USER").Body)[1]
	for range 2 {
		require.Equal(t, http.StatusSeeOther, b.Post(t, base+"/export/USER", base+"/export/USER", "once", once, "format", "CSV", "dates", "ISO").Status)
	}
	require.Equal(t, 3, imports())
}

// A choice of many columns has no address, which proxies would refuse.
func TestCheck_ManyColumns(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	var header strings.Builder
	for n := range 90 {
		fmt.Fprintf(&header, ",A long name of a column that says a lot about it %d", n)
	}
	page := upload(t, b, "USER", "a.csv", "accountId,id"+header.String()+"\nada,ada"+strings.Repeat(",", 90)+"\n")
	form := fields(t, page)
	got := b.Post(t, page.Header.Get("Location"), base+"/check", pairs(form)...)
	require.Equal(t, http.StatusOK, got.Status)
	require.True(t, strings.Contains(got.Text(), "1 row, and no problems"))
}

// A file with too many columns to choose says so.
func TestCheck_TooManyColumns(t *testing.T) {
	t.Parallel()
	b := portaltest.New(t).SignedIn(t, owner)
	page := upload(t, b, "USER", "a.csv", "Who"+strings.Repeat(",x", 100)+"\nada"+strings.Repeat(",", 100)+"\n")
	require.True(t, strings.Contains(page.Text(), "The file has more than 100 columns, so this page cannot ask what they are"))
}

// A choice that cannot be is shown with its problem, and the file is not lost.
func TestCheck_WrongColumns(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, owner)
	page := upload(t, b, "USER", "a.csv", "Who,Shoe\nAda,7\n")
	require.Contains(t, page.Text(), "This file cannot be imported")
	require.Contains(t, page.Text(), "Choose what its columns are")
	form := fields(t, page)
	form.Set("accountId", "0")
	form.Set("id", "0")
	form.Set("c1", "customFields.Shoe")
	page = check(t, b, page.Header.Get("Location"), form)
	require.Contains(t, page.Text(), "1 row, and no problems")
	form.Set("c1", "customFields.a..b")
	page = check(t, b, base+"/import", form)
	require.Contains(t, page.Text(), "params.columns.customFields.a..b")
	_, total, err := w.Engine.Jobs.List(t.Context(), "acme", job.Filter{Limit: 1})
	require.NoError(t, err)
	require.Zero(t, total)
}

// docs/import.md has each column that an import reads, and each type of import.
func TestColumns_AreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/import.md")
	require.NoError(t, err)
	for _, kind := range job.Types() {
		if !kind.Import() {
			continue
		}
		for _, name := range append(importfile.Known(kind), string(kind)) {
			require.Contains(t, string(text), "`"+name+"`", kind)
		}
	}
}
