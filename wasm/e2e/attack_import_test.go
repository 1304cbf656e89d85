package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
	"kith/core/job"
)

// importedWith uploads a file, imports it with params, and waits for the end.
func (s *site) importedWith(t *testing.T, name, text, params string) client.Job {
	t.Helper()
	c := s.client("demo")
	ref, err := c.Upload(t.Context(), name, strings.NewReader(text))
	require.NoError(t, err)
	made, err := c.CreateJob(t.Context(), client.Input{Type: job.ImportUser, FileRef: ref, Params: []byte(params)})
	require.NoError(t, err)
	return s.ended(t, made.ID)
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return b.String()
}

// A compressed file of 2 kB with a million invalid rows makes an errors file of only
// 10,000 rows, and the job says where it stopped. The caller may change the limit.
func TestAttack_SmallFileLargeErrors(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	bomb := packed(t, strings.Repeat("0\n", 1_000_000))
	require.Less(t, len(bomb), 3000)
	for _, row := range []struct {
		params string
		most   int
	}{
		{`{}`, job.DefaultMaxErrors},
		{`{"maxErrors":3}`, 3},
		{`{"maxErrors":12000}`, 12_000},
	} {
		j := s.importedWith(t, "bomb.jsonl.gz", bomb, row.params)
		require.EqualValues(t, row.most, j.Stats.RecordsProcessed, row.params)
		require.EqualValues(t, row.most, j.Stats.Errors, row.params)
		require.Contains(t, j.Message, fmt.Sprintf("stopped because %d rows were rejected; rows after row %[1]d were not processed", row.most))
		failed := s.download(t, j.ID, job.ErrorsFile)
		require.Equal(t, row.most+1, strings.Count(failed, "\n"), row.params)
		require.Less(t, len(failed), 100*(row.most+1))
	}
}

// A result file is cut at the maximum size of an upload, and the job says so.
func TestAttack_SmallFileLargeResult(t *testing.T) {
	t.Parallel()
	const rows = 8000
	s := demoSite(t)
	text := "accountId,id\n"
	for i := range rows {
		text += fmt.Sprintf("a%d,u%[1]d\n", i)
	}
	s.serve(t, fmt.Sprintf("KITH_MAX_FILE=%d", len(text)))
	j := s.importedWith(t, "users.csv", text, `{}`)
	require.EqualValues(t, rows, j.Stats.RecordsProcessed)
	require.Zero(t, j.Stats.Errors)
	require.Equal(t, fmt.Sprintf("the result file ends after %d bytes of rows; all rows were processed", len(text)), j.Message)
	result := s.download(t, j.ID, job.ResultFile)
	require.GreaterOrEqual(t, len(result), len(text))
	require.Less(t, strings.Count(result, "\n"), rows)
}

// Reading a file with few rows and many empty lines takes longer than the worker's lease.
// No other worker takes over the job, and its progress is stored between rows by small
// batches.
func TestAttack_EmptyLinesOutlastNoLease(t *testing.T) {
	t.Parallel()
	const rows = 64
	s := demoSite(t)
	s.serve(t, "KITH_JOB_LEASE=1s")
	db := s.open(t)
	text, gap := strings.Builder{}, strings.Repeat("\n", 1<<20)
	for i := range rows {
		fmt.Fprintf(&text, `%s{"accountId":"a%d","id":"u%[2]d"}`, gap, i)
		text.WriteByte('\n')
	}
	id := s.beginJob(t, string(job.ImportUser), "gaps.jsonl", text.String())
	reached := map[string]bool{}
	await(t, func() error {
		for _, processed := range texts(t, db, `SELECT processed FROM job WHERE status = 'PENDING' AND processed > 0`) {
			reached[processed] = true
		}
		if number(t, db, `SELECT count(*) FROM job WHERE status = 'PENDING'`) > 0 {
			return fmt.Errorf("the job is pending")
		}
		return nil
	})
	j := s.ended(t, id)
	require.EqualValues(t, rows, j.Stats.RecordsProcessed)
	require.Greater(t, len(reached), 3, "a batch is committed after no more than 1 MiB")
	require.Equal(t, 1, number(t, db, `SELECT attempt FROM job`), "no other worker takes the job over")
}

// An id that a spreadsheet would interpret as a formula is escaped in result files, and is
// restored when such a file is imported.
func TestAttack_FormulasInIDs(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	first := s.importedWith(t, "users.csv", "accountId,id,firstName\n=1+1,=cmd(),Eve\n", "{}")
	result := s.download(t, first.ID, job.ResultFile)
	require.Contains(t, result, "'=1+1")
	require.Contains(t, result, "'=cmd()")
	again := s.importedWith(t, "users.csv", "accountId,id,firstName\n'=1+1,'=cmd(),Mallory\n", "{}")
	require.Zero(t, again.Stats.Errors)
	a := mustCall(t, http.StatusOK, "GET", s.backend+"/api/v1/demo/account/%3D1%2B1/user/%3Dcmd%28%29", "", s.auth("demo"))
	require.Contains(t, a.body, `"firstName":"Mallory"`)
}
