package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Without progress no rate and no time left are shown: both would be wrong.
func TestDisplay_SaysThatNothingMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := New(&out)
		p.Begin("import", "rows", 100)
		for range 4 {
			time.Sleep(5 * time.Second)
			p.At(50)
		}
		time.Sleep(5 * time.Second)
		p.At(75)
		p.At(100)
		p.End()
		require.Equal(t, []string{
			"import   50 %  50 of 100 rows  10/s  5s left",
			"import   50 %  50 of 100 rows  5/s  10s left",
			"import   50 %  50 of 100 rows  3/s  15s left",
			"import   50 %  50 of 100 rows  no progress for 15s",
			"import   75 %  75 of 100 rows  3/s  8s left",
			"import  100 %  100 of 100 rows  4/s",
			"",
		}, strings.Split(out.String(), "\n"))
	})
}
