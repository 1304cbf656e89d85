package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"

	"kith/core/job"
)

// sheetRows returns the rows of an XLSX file of a job.
func (b bundle) sheetRows(t testing.TB, id string, which job.Attachment) [][]string {
	t.Helper()
	name, content := b.file(t, id, which)
	require.True(t, strings.HasSuffix(name, ".xlsx"), name)
	f, err := excelize.OpenReader(bytes.NewReader(content))
	require.NoError(t, err)
	defer f.Close()
	rows, err := f.GetRows("Sheet1")
	require.NoError(t, err)
	return rows
}

// The files of an import are workbooks if its job asks for them. They have the same rows as
// CSV files, and no formulas.
func TestImport_XLSX(t *testing.T) {
	t.Parallel()
	text := userRows(0, 300) + "x,,\ny,v,\"=HYPERLINK(\"\"http://x\"\")\"\nz,,=1+1\n"
	files := map[job.Format][2][][]string{}
	for _, format := range []job.Format{job.CSV, job.XLSX} {
		b := newBundle(t)
		in := b.jobInput(job.ImportUser, "{}")
		in.Format = format
		in.File = b.upload(t, "list.csv", text)
		id := b.create(t, in).ID
		for did := true; did; {
			var err error
			did, err = b.Jobs.Work(t.Context())
			require.NoError(t, err)
		}
		done, err := b.Jobs.ByID(t.Context(), b.tenant, id)
		require.NoError(t, err)
		require.Equal(t, job.Completed, done.Status, done.Message)
		require.Equal(t, job.Stats{Processed: 303, Errors: 2}, done.Stats)
		read := b.rows
		if format == job.XLSX {
			read = b.sheetRows
		}
		files[format] = [2][][]string{read(t, id, job.ResultFile), read(t, id, job.ErrorsFile)}
	}
	for which, sheet := range files[job.XLSX] {
		csv := files[job.CSV][which]
		require.Len(t, sheet, len(csv))
		for i, row := range sheet {
			if which == 0 && i > 0 {
				row, csv[i] = ids(row), ids(csv[i])
			}
			require.Equal(t, csv[i], row)
		}
	}
	name := files[job.XLSX][0][301][3]
	require.Equal(t, `=HYPERLINK("http://x")`, name, "the text is unchanged, since a workbook marks it as text")
}

// ids returns the columns of a user that are equal in both formats: the service generates
// none of them, and none has a formula, which only CSV escapes.
func ids(row []string) []string { return row[:3] }
