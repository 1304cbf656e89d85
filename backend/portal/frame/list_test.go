package frame

import (
	"kith/core"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDaysOf(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	// The day on which summer time begins has 23 hours.
	span, err := Days("2026-03-29", "2026-03-29", berlin)
	require.NoError(t, err)
	require.Equal(t, 23*core.Hour, span.Before-span.From)
	require.Equal(t, "2026-03-28T23:00:00Z", time.UnixMilli(int64(span.From)).UTC().Format(time.RFC3339))
	for wrong, why := range map[string]string{
		"x": "is not a day; give", "31.02.2026": "is not a day; give", "2026-02-30": "is a day that does not exist; give", "2026-13-01": "is a day that does not exist; give",
		"0001-01-01": "must be a day from 1971 to 9998", "9999-12-31": "must be a day from 1971 to 9998",
	} {
		_, err := Days(wrong, "", time.UTC)
		require.ErrorContains(t, err, "from: "+why, wrong)
		_, err = Days("", wrong, time.UTC)
		require.ErrorContains(t, err, "to: "+why, wrong)
	}
	for _, name := range []string{"", "Local", "Nowhere/At_All", "../../etc/passwd", strings.Repeat("a", 100)} {
		require.Equal(t, time.UTC, Zone(name), name)
	}
	require.Equal(t, berlin.String(), Zone("Europe/Berlin").String())
}
