package manual

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

type line struct {
	Level string `env:"X_LEVEL" help:"Least level." placeholder:"LEVEL"`
	Run   struct {
		Quiet bool `help:"Print 'nothing'."`
	} `cmd:"" help:"Run it.\n.Twice."`
	Key struct {
		Add struct {
			File string `arg:"" help:"The key."`
			Days int    `help:"Days until it expires."`
		} `cmd:"" help:"Add a key."`
		Remove struct {
			Name string `arg:""`
			Days int    `help:"Days until it expires."`
		} `cmd:"" help:"Remove a key."`
	} `cmd:"" help:"Manage keys."`
	Secret struct{} `cmd:"" hidden:"" help:"Is not shown."`
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(&line{}, kong.Name("prog"), kong.Description(`Does a\b-c.`))
	require.NoError(t, err)
	return parser.Model
}

func TestMan(t *testing.T) {
	t.Parallel()
	page := Man(model(t), "1.2.3")
	require.NotContains(t, page, "secret")
	for _, part := range []string{
		".TH PROG 1 \"\" \"prog 1.2.3\"\n.SH NAME\nprog \\- Does a\\eb\\-c\n",
		".SS prog run\nRun it.\n.br\n\\&.Twice.\n.TP\n\\fB\\-\\-quiet\\fR\nPrint 'nothing'.\n",
		".SS prog key add\nAdd a key.\n.TP\n.I file\nThe key.\n.PP\nAlso \\fB\\-\\-days\\fR.\n",
		".SH FLAGS OF SEVERAL COMMANDS\n",
		".TP\n\\fB\\-\\-level\\fR=\\fILEVEL\\fR\nLeast level.\nVariable: X_LEVEL.\n",
	} {
		require.Contains(t, page, part)
	}
	require.Equal(t, 1, strings.Count(page, "Days until it expires."), "a shared flag is described once")
}

// Bash answers what the program has at the place of the cursor. The release test does the
// same in zsh and fish, which not every machine has.
func TestCompletion_Bash(t *testing.T) {
	t.Parallel()
	script := Completion(model(t), "bash", map[string][]string{"run": {"GET", "PUT"}, "run GET": {"/a/{id}", "/b"}})
	for typed, want := range map[string]string{
		"prog ":                           "run key",
		"prog k":                          "key",
		"prog key ":                       "add remove",
		"prog key add ":                   "",
		"prog key add --d":                "--days",
		"prog --level DEBUG run --":       "--help --level --quiet",
		"prog key remove name --days 3 -": "--days --help --level",
		"prog s":                          "",
		"prog run ":                       "GET PUT",
		"prog run GET ":                   "/a/{id} /b",
		"prog run GET /a":                 "/a/{id}",
		"prog run GET /b --q":             "--quiet",
	} {
		words := strings.Split(typed, " ")
		command := exec.Command("bash", append([]string{"-c", script + `COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _prog; echo "${COMPREPLY[*]}"`, "test"}, words...)...)
		var errOut bytes.Buffer
		command.Stderr = &errOut
		out, err := command.Output()
		require.NoError(t, err, errOut.String())
		require.Empty(t, errOut.String())
		require.Equal(t, want, strings.TrimSpace(string(out)), typed)
	}
}
