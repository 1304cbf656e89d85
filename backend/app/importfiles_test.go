package app_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"kith/backend/store"
	"kith/core"
	"kith/core/job"
)

// asUTF16 returns a text as Excel saves "Unicode text".
func asUTF16(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + strings.ReplaceAll(text, ";", "\t"))) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

// asWorkbook returns the cells of a text with semicolons as a workbook, with a date in the last
// column.
func asWorkbook(t testing.TB, text string) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	date, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	require.NoError(t, err)
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		cells := strings.Split(line, ";")
		for c, cell := range cells {
			at, err := excelize.CoordinatesToCellName(c+1, i+1)
			require.NoError(t, err)
			if day, err := time.Parse(time.DateOnly, cell); err == nil {
				require.NoError(t, f.SetCellValue("Sheet1", at, day))
				require.NoError(t, f.SetCellStyle("Sheet1", at, at, date))
			} else if cell != "" {
				require.NoError(t, f.SetCellValue("Sheet1", at, cell))
			}
		}
	}
	var book bytes.Buffer
	require.NoError(t, f.Write(&book))
	return book.String()
}

// The same people come from each form of a file, in one request or in pieces, with the row
// numbers that a spreadsheet shows.
func TestImport_FilesThatPeopleHave(t *testing.T) {
	t.Parallel()
	const text = "Kundennummer;Vorname;Nachname;Notiz;E-Mail;Erstellt am\n" +
		"0042;Jürgen;Müller;x;j@example.com;2021-03-04\n;;;;;\n0043;Zoë;Weiß;;no address;2021-03-05\n;;;;;\n"
	latin := strings.NewReplacer("ü", "\xfc", "ë", "\xeb", "ß", "\xdf").Replace(text)
	for _, c := range []struct{ name, file, text, read string }{
		{"semicolons", "k.csv", text, "UTF-8 with semicolons (numbers may have a decimal comma, as in 1.234,50)"},
		{"Windows-1252", "k.txt", latin, "Windows-1252 with semicolons (numbers may have a decimal comma, as in 1.234,50)"},
		{"gzip", "k.csv.gz", packed(t, latin), "Windows-1252 with semicolons (numbers may have a decimal comma, as in 1.234,50)"},
		{"UTF-16", "k.txt", asUTF16(text), "UTF-16 with tabs"},
		{"workbook", "k.xlsx", asWorkbook(t, text), `the sheet "Sheet1" of a workbook; only this sheet is read`},
		{"plain", "k.csv", strings.ReplaceAll(text, ";", ","), ""},
	} {
		b := newBundle(t)
		in := b.jobInput(job.ImportUser, `{"columns":{"accountId":"Kundennummer"}}`)
		in.File = b.upload(t, c.file, c.text)
		if c.name != "gzip" {
			in.File = b.joined(t, c.file, c.text)
		}
		done := b.create(t, in)
		require.Equal(t, job.Completed, done.Status, "%s: %s", c.name, done.Message)
		require.Equal(t, job.Stats{Processed: 2, Errors: 1}, done.Stats, c.name)
		want := "ignored columns: Notiz"
		if c.read != "" {
			want = "read as " + c.read + "; " + want
		}
		require.Equal(t, want, done.Message, c.name)
		require.Equal(t, "4", b.rows(t, done.ID, job.ErrorsFile)[1][0], c.name)
		user, err := b.Users.ByID(t.Context(), b.tenant, "0042", "0042")
		require.NoError(t, err, c.name)
		require.Equal(t, "Jürgen Müller", user.User.FirstName+" "+user.User.LastName, c.name)
		require.EqualValues(t, time.Date(2021, 3, 4, 0, 0, 0, 0, time.UTC).UnixMilli(), user.User.Created, c.name)
	}
}

// An export is the same people again, as CSV and as a workbook, in each form of its dates.
func TestImport_ExportedFile(t *testing.T) {
	t.Parallel()
	from := newBundle(t)
	from.imported(t, job.ImportUser, "u.csv", "accountId,id,firstName,lastName,locale,dateCreated\nx,x,,Smith,,2021-03-04 09:00:01\ny,007,Zoë,,de,\n", "{}")
	for _, format := range []job.Format{job.CSV, job.XLSX} {
		for _, dates := range []string{"MS", "ISO", "LOCAL"} {
			in := from.jobInput(job.User, `{"dateFormat":"`+dates+`"}`)
			in.Format = format
			name, content := from.file(t, from.create(t, in).ID, job.ResultFile)
			b := newBundle(t)
			done := b.imported(t, job.ImportUser, name, string(content), "{}")
			require.Equal(t, job.Stats{Processed: 4}, done.Stats, name+dates+done.Message)
			user, err := b.Users.ByID(t.Context(), b.tenant, "x", "x")
			require.NoError(t, err)
			require.Equal(t, []string{"", "Smith", ""}, []string{user.User.FirstName, user.User.LastName, string(user.User.Locale)})
			require.EqualValues(t, time.Date(2021, 3, 4, 9, 0, 1, 0, time.UTC).UnixMilli(), user.User.Created)
		}
	}
}

// joined sends a file in two pieces.
func (b bundle) joined(t testing.TB, name, text string) core.FileRef {
	t.Helper()
	var pieces []core.FileRef
	for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
		ref, err := b.Files.AddPiece(t.Context(), b.tenant, strings.NewReader(piece))
		require.NoError(t, err)
		pieces = append(pieces, ref)
	}
	ref, err := b.Files.Join(t.Context(), b.tenant, name, pieces)
	require.NoError(t, err)
	return ref
}

// An audience that Mailchimp exported needs no other mapping than who a person is.
func TestImport_Mailchimp(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	text, err := os.ReadFile("../sheet/testdata/mailchimp.csv")
	require.NoError(t, err)
	done := b.imported(t, job.ImportUser, "audience.csv", string(text), `{"columns":{"accountId":"Email Address","id":"Email Address"}}`)
	require.Equal(t, job.Stats{Processed: 5}, done.Stats)
	require.Contains(t, done.Message, "ignored columns: Address, Phone Number, Birthday, MEMBER_RATING")
	user, err := b.Users.ByID(t.Context(), b.tenant, "chloe.martin@example.net", "chloe.martin@example.net")
	require.NoError(t, err)
	require.Equal(t, "Chloé", user.User.FirstName)
	none := b.imported(t, job.ImportUser, "audience.csv", string(text), "{}")
	require.Equal(t, job.Aborted, none.Status)
	require.Contains(t, none.Message, `set params.columns to {"accountId":"Email Address","id":"Email Address"}`)
}

// A row whose money cannot be read is rejected, and says how to write it. What did nothing is
// counted.
func TestImport_UnreadableMoney(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.imported(t, job.ImportUser, "u.csv", "accountId,id\na,u\n", "{}")
	const head = "accountId,userId,event.key,event.fields.revenue,event.fields.currency\n"
	const amount = "event.fields.revenue: is no number, and amounts are not guessed; write it as 1234.50, without a currency or a thousands separator"
	const thousand = "event.fields.revenue: may be a thousand or a decimal number; write 1234 or 1,2340"
	for _, c := range []struct {
		name, text string
		want       map[string]string
	}{
		{"e.csv", head + "a,u,purchase,abc,\na,u,purchase,\"12,50\",EUR\na,u,purchase,$5,\na,u,purchase,7,€\na,u,purchase,12.50,eur\na,u,purchase,,\n",
			map[string]string{"2": amount, "3": amount, "4": amount, "5": "event.fields.currency: is no code of ISO 4217; write EUR"}},
		{"e.csv", strings.ReplaceAll(head, ",", ";") + "a;u;purchase;12,50;EUR\na;u;purchase;1.234,50;EUR\na;u;purchase;1.234;EUR\na;u;purchase;1.234.567;EUR\na;u;purchase;12,5 €;EUR\n",
			map[string]string{"4": thousand, "6": amount}},
		{"e.jsonl", `{"accountId":"a","userId":"u","event":{"key":"purchase","fields":{"revenue":"","currency":"USD"}}}` + "\n\n" +
			`{"accountId":"a","userId":"u","event":{"key":"purchase","fields":{"revenue":[1]}}}` + "\n" + `{"accountId":"a","userId":"u","event":{"key":"purchase","fields":{"revenue":1}}}`,
			map[string]string{"1": amount, "3": amount}},
	} {
		done := b.imported(t, job.ImportUserEvent, c.name, c.text, "{}")
		require.Equal(t, job.Completed, done.Status, done.Message)
		got := map[string]string{}
		for _, row := range b.rows(t, done.ID, job.ErrorsFile)[1:] {
			got[row[0]] = row[1]
		}
		require.Equal(t, c.want, got)
	}
	draws := b.imported(t, job.ImportRedeem, "d.csv", "accountId,id,unit,valueToRedeem\na,u,CENTS,\na,u,CENTS,0\n", "{}")
	require.Equal(t, "2 of the rows redeem nothing: their valueToRedeem is empty, 0 or negative", draws.Message)
}

// The rejected rows of an import from before rows were counted are found by their records.
func TestWriteRejected_OfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	done := b.imported(t, job.ImportUser, "u.csv", "accountId,id\na,1\n,2\n,3\na,4\n", "{}")
	const problem = `column accountId: is required`
	for row, want := range map[int]string{5: ",2," + problem + "\n,3," + problem, 0: ",3," + problem + "\na,4," + problem} {
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			return tx.Exec(t.Context(), "row", `UPDATE job SET file_row = ? WHERE tenant = ? AND id = ?`, row, string(b.tenant), done.ID)
		}))
		var out bytes.Buffer
		require.NoError(t, b.Jobs.WriteRejected(t.Context(), b.tenant, done.ID, &out))
		require.Equal(t, "accountId,id,kithProblem\n"+want+"\n", out.String())
	}
}
