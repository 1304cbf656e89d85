package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands store what the API reads: the settings that set prints are those of show.
func TestPipelineCommands(t *testing.T) {
	g := newFixture(t)
	url := "file:" + g.database
	defaults := requireKith(t, "pipeline", "show", "--tenant", "demo", "--database-url", url)
	require.Contains(t, defaults, `"Order Completed": "purchase"`)
	file := filepath.Join(t.TempDir(), "settings.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"otherEvents": "ignore", "accountId": ["context.groupId"]}`), 0o600))
	changed := requireKith(t, "pipeline", "set", file, "--tenant", "demo", "--database-url", url)
	require.Contains(t, changed, `"otherEvents": "ignore"`)
	require.Equal(t, changed, requireKith(t, "pipeline", "show", "--tenant", "demo", "--database-url", url))
	require.Regexp(t, `^[0-9A-Z]{40}\n$`, requireKith(t, "pipeline", "secret", "--tenant", "demo", "--overlap", "0s", "--database-url", url))
	requireKith(t, "pipeline", "revoke", "--tenant", "demo", "--database-url", url)
	require.NoError(t, os.WriteFile(file, []byte(`{"accountId": "groupId"}`), 0o600))
	for _, test := range []struct {
		args []string
		says string
	}{
		{[]string{"pipeline", "revoke", "--tenant", "demo"}, "the pipeline of this tenant has no secret; make one first"},
		{[]string{"pipeline", "set", file, "--tenant", "demo"}, "accountId: must be an array"},
		{[]string{"pipeline", "secret", "--tenant", "demo", "--overlap", "721h"}, "overlap: must be 0 to 720 hours (30 days)"},
		{[]string{"pipeline", "show", "--tenant", "nowhere"}, "there is no tenant with this alias"},
	} {
		_, errOut, status := runKith(t, append(test.args, "--database-url", url)...)
		require.NotZero(t, status)
		require.Contains(t, errOut, test.says)
	}
}
