package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An error about a duration, a level or a number names the flag or the variable, the value, and a
// value that would be accepted. That of an unknown flag shows the usage of the command.
func TestRun_WrongValues(t *testing.T) {
	for _, c := range []struct{ name, value, command, args, want string }{
		{"", "", "key rotate", "key rotate demo default --overlap=5", `--overlap: "5" is not a duration of 0 or more; give numbers with units, such as 500ms, 15s, 10m or 24h`},
		{"", "", "serve", "serve --stop-timeout=-15s", `--stop-timeout: "-15s" is not a duration of 0 or more; give numbers with units, such as 500ms, 15s, 10m or 24h`},
		{"", "", "dev", "dev --max-connections=-1", `--max-connections: "-1" is not a whole number of 0 or more; give digits without a unit, such as 100`},
		{"", "", "serve", "serve --trace-ratio=half", `--trace-ratio: "half" is not a number; give one such as 0.25`},
		{"", "", "serve", "serve --log-level TRACE", `--log-level: "TRACE" is not a level; give DEBUG, INFO, WARN or ERROR`},
		{"", "", "analytics series", "analytics series --tenant demo --from 31.5.2026", `--from: "31.5.2026" is not a day; give one such as 2026-05-31`},
		{"KITH_MAX_BODY", "8MB", "edge", "edge", `--max-body: "8MB" is not a whole number; give digits without a unit, such as 100 (from envar KITH_MAX_BODY="8MB")`},
	} {
		if c.name != "" {
			t.Setenv(c.name, c.value)
		}
		var out, errOut strings.Builder
		require.Equal(t, 2, run(strings.Fields(c.args), &out, &errOut), c.args)
		require.Equal(t, "kith: "+c.want+"\nSee kith "+c.command+" --help.\n", errOut.String())
	}
	var out, errOut strings.Builder
	require.Equal(t, 2, run([]string{"tenant", "show", "--tenant", "demo"}, &out, &errOut))
	require.Equal(t, "kith: unknown flag --tenant\nUsage: kith tenant show <alias> [flags]\nSee kith tenant show --help.\n", errOut.String())
	errOut.Reset()
	require.Equal(t, 1, run([]string{"sample", "--type", "QUERY/USER"}, &out, &errOut))
	require.Equal(t, "kith: type: must be one of MUTATION/USER, MUTATION/DELETE_USER, MUTATION/USER_EVENT, MUTATION/REDEEMABLE_REWARD_BALANCE, not \"QUERY/USER\"\n", errOut.String())
}

// kith help shows what --help shows, also of a command.
func TestRun_Help(t *testing.T) {
	t.Parallel()
	for of, args := range map[string][]string{"": nil, "tenant": {"tenant"}, "tenant show": {"tenant", "show"}} {
		var flag, word, errOut strings.Builder
		require.Zero(t, run(append(args, "--help"), &flag, &errOut))
		require.Zero(t, run(append([]string{"help"}, args...), &word, &errOut), of)
		require.Equal(t, flag.String(), word.String())
		require.Contains(t, word.String(), "Usage: kith "+of)
	}
}

// kith dev warns if its public keys can be used from other machines.
func TestWarnOfPublicKeys(t *testing.T) {
	t.Parallel()
	for addr, warned := range map[string]bool{
		"127.0.0.1:3000": false, "localhost:3000": false, "[::1]:3000": false, "0.0.0.0:3000": true, ":3000": true, "192.0.2.7:3000": true,
	} {
		var out bytes.Buffer
		warnOfPublicKeys(&out, "127.0.0.1:8080", addr)
		require.Equal(t, warned, strings.Contains(out.String(), "WARNING: the API keys of kith dev are public. Each machine that reaches "+addr), addr)
	}
}
