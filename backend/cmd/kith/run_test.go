package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error about a duration or a number names the flag or the variable, the value, and a value
// that would be accepted.
func TestRun_WrongValues(t *testing.T) {
	for _, c := range []struct{ name, value, args, want string }{
		{"", "", "key rotate demo default --overlap=5", `--overlap: "5" is not a duration; give numbers with units, such as 500ms, 15s, 10m or 24h`},
		{"", "", "dev --max-connections=-1", `--max-connections: "-1" is not a whole number of 0 or more; give digits without a unit, such as 100`},
		{"", "", "serve --trace-ratio=half", `--trace-ratio: "half" is not a number; give one such as 0.25`},
		{"KITH_MAX_BODY", "8MB", "edge", `--max-body: "8MB" is not a whole number; give digits without a unit, such as 100 (from envar KITH_MAX_BODY="8MB")`},
	} {
		if c.name != "" {
			t.Setenv(c.name, c.value)
		}
		var out, errOut strings.Builder
		require.Equal(t, 2, run(strings.Fields(c.args), &out, &errOut), c.args)
		require.Equal(t, "kith: "+c.want+"\nSee kith --help.\n", errOut.String())
	}
}
