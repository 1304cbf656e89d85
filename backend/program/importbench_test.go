package program_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core/job"
)

// people makes rows of MUTATION/USER as a shop would have them.
func people(n int) string {
	var text strings.Builder
	text.WriteString("accountId,id,firstName,lastName,email,locale,countryCode,customFields.plan\n")
	for i := range n {
		fmt.Fprintf(&text, "acct-%07d,user-%07d,First%d,Last%d,user%d@example.com,en_US,US,pro\n", i, i, i%997, i%1009, i)
	}
	return text.String()
}

// Users from a file, from the upload to the result file.
func BenchmarkImport_Users(b *testing.B) {
	for name, open := range map[string]func(testing.TB) bundle{
		"file":   newBundle,
		"server": func(t testing.TB) bundle { return bundleOn(t, openServer(t)) },
	} {
		b.Run(name, func(b *testing.B) {
			const rows = 100_000
			text := people(rows)
			for b.Loop() {
				b.StopTimer()
				bundle := open(b)
				b.StartTimer()
				done := bundle.imported(b, job.ImportUser, "users.csv", text, "{}")
				require.Equal(b, job.Stats{Processed: rows}, done.Stats)
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
