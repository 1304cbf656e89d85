package sparse

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLog_Error(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		to := slog.New(slog.NewTextHandler(&out, nil))
		var l Log
		for i := range 250 {
			l.Error(to, "forged", "request failed", "n", i)
			time.Sleep(10 * time.Millisecond)
		}
		l.Error(to, "other", "request failed", "n", "other")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 4)
		for i, want := range []string{"n=0", "n=100 skipped=99", "n=200 skipped=99", "n=other"} {
			require.Contains(t, lines[i], want)
		}
	})
}

func TestLog_IsBounded(t *testing.T) {
	t.Parallel()
	var l Log
	for i := range 10 * maxEvents {
		l.admit(fmt.Sprint(i), time.Time{})
	}
	require.LessOrEqual(t, len(l.events), maxEvents)
}
