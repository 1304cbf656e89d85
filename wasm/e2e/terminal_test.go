package e2e

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/testenv"
)

// onTerminal runs a kith on a new terminal, and returns its output and exit status.
func (s *site) onTerminal(t testing.TB, env []string, args ...string) (shown string, status int) {
	t.Helper()
	inner := s.command(t, args...)
	var words []string
	for _, arg := range inner.Args {
		words = append(words, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
	}
	c := exec.Command("script", "--quiet", "--return", "--command", strings.Join(words, " "), "/dev/null")
	c.Env = append(append(inner.Env, "TERM=xterm"), env...)
	out, err := c.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// bar matches a progress bar, which is printed repeatedly in one line.
var bar = regexp.MustCompile(`^\r\x1b\[K(upload|import)  (█*)(░*)  +(\d+) %  (\d+) of (\d+) (bytes|rows)  \d+/s(?:  \S+ left)?$`)

// drawn returns the percentages of the bars of a kind, in order. It checks that each bar
// matches its percentage, and that none goes back.
func drawn(t testing.TB, shown, what string) (percents []int) {
	t.Helper()
	for _, piece := range strings.SplitAfter(strings.ReplaceAll(shown, "\r\x1b[K", "\x00\r\x1b[K"), "\x00") {
		piece, _, _ = strings.Cut(strings.TrimSuffix(piece, "\x00"), "\r\n")
		if !strings.HasPrefix(piece, "\r\x1b[K") {
			continue
		}
		m := bar.FindStringSubmatch(piece)
		require.NotNil(t, m, "%q", piece)
		if m[1] != what {
			continue
		}
		percent, err := strconv.Atoi(m[4])
		require.NoError(t, err)
		full, empty := strings.Count(m[2], "█"), strings.Count(m[3], "░")
		require.Equal(t, 30, full+empty)
		require.InDelta(t, percent, float64(full)/30*100, 4, piece)
		if len(percents) > 0 {
			require.GreaterOrEqual(t, percent, percents[len(percents)-1])
		}
		percents = append(percents, percent)
	}
	return percents
}

// On a terminal kith import shows progress bars, which end at the final state; later output
// is on separate lines.
func TestCLI_ImportOnATerminal(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	env := []string{"KITH_TENANT=demo", "KITH_KEY=" + s.keys["demo"], "KITH_URL=" + s.backend}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	users := filepath.Join(dir, "users.csv")
	_, errOut, status := s.run(t, nil, "sample", "--type", "MUTATION/USER", "--rows", "20000", "--out", users)
	require.Zero(t, status, errOut)

	shown, status := s.onTerminal(t, env, "import", users, "--type", "MUTATION/USER")
	require.Zero(t, status, shown)
	for _, what := range []string{"upload", "import"} {
		percents := drawn(t, shown, what)
		require.NotEmpty(t, percents, "%q", shown)
		require.Equal(t, 100, percents[len(percents)-1])
	}
	require.Regexp(t, `\r\njob [0-9a-f]{24}\r\n\r\x1b\[Kimport`, shown)
	require.True(t, strings.HasSuffix(shown, "\r\n20000 rows imported, 0 failed\r\n"), "%q", shown)

	shown, status = s.onTerminal(t, env, "import", write("some.csv", "accountId,id\na,\nb,b\n"), "--type", "MUTATION/USER", "--force")
	require.Equal(t, 1, status, shown)
	require.Equal(t, []int{100}, drawn(t, shown, "import")[len(drawn(t, shown, "import"))-1:])
	require.True(t, strings.HasSuffix(shown, "\r\n1 row imported, 1 failed\r\nkith: 1 row failed; see "+filepath.Join(dir, "some.csv.errors.csv")+" for the reasons\r\n"), "%q", shown)

	shown, status = s.onTerminal(t, env, "import", write("none.csv", "accountId,name\na,b\n"), "--type", "MUTATION/USER")
	require.Equal(t, 2, status, shown)
	require.Equal(t, 100, drawn(t, shown, "upload")[0])
	require.Empty(t, drawn(t, shown, "import"))
	require.Contains(t, shown, " bytes  ")
	require.Regexp(t, `/s\r\nkith: nothing was imported; correct the file:\r\n`, shown)

	// A terminal without control sequences gets lines.
	shown, status = s.onTerminal(t, append(env, "TERM=dumb"), "import", users, "--type", "MUTATION/USER")
	require.Zero(t, status, shown)
	require.NotContains(t, shown, "\x1b")
	require.Contains(t, shown, "\r\nimport  100 %  20000 of 20000 rows  ")
	require.Contains(t, shown, "the same content was imported before, by job ")
}

// Ctrl-C on the terminal of `make run` reaches make, its shell and kith at the same time.
// Whenever that happens, all of them end, no file is incomplete, and the data folder works
// for the next start.
func TestRun_CtrlC(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"master.key", "kith.db", "wasm-cache", "serving"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p, keyboard := s.makeRun(t)
			await(t, func() error {
				if when != "serving" {
					_, err := os.Stat(filepath.Join(s.data, when))
					return err
				}
				a, err := call("GET", s.edge+"/s/demo/ANNA10", "")
				if err == nil && a.status != http.StatusFound {
					err = fmt.Errorf("the share link answers %d", a.status)
				}
				return err
			})
			_, err := keyboard.Write([]byte{3})
			require.NoError(t, err)
			_ = p.command.Wait()
			// 130, or 2 or 0 if make gets the signal while it waits for kith, which ends with 0.
			require.Contains(t, []int{0, 2, 130}, p.command.ProcessState.ExitCode(), p.output)
			require.NotContains(t, p.log(t), "context canceled")
			for _, url := range []string{s.edge, s.backend} {
				_, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
				require.Error(t, err, "%s still listens", url)
			}
			requireWhole(t, s.data)
			s.dev(t)
			mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "")
		})
	}
}

// makeRun starts `make run` on a new terminal, with the existing binaries, and returns the
// input of the terminal.
func (s *site) makeRun(t testing.TB) (p *process, keyboard io.Writer) {
	t.Helper()
	kith := s.command(t)
	// The binaries are not built again, since other tests use them.
	p = &process{output: &testenv.Log{}, command: exec.Command("script", "--quiet", "--return", "--command",
		"make -o bin/kith -o bin/edge.wasm run", "/dev/null")}
	p.command.Dir = root
	for _, entry := range kith.Env {
		if !strings.HasPrefix(entry, "MAKE") {
			p.command.Env = append(p.command.Env, entry)
		}
	}
	keyboard, err := p.command.StdinPipe()
	require.NoError(t, err)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	require.NoError(t, p.command.Start())
	t.Cleanup(p.kill)
	return p, keyboard
}

// requireWhole fails if the folder has a temporary file.
func requireWhole(t testing.TB, folder string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.Contains(filepath.Base(path), ".part") || strings.HasSuffix(path, ".tmp")) {
			err = fmt.Errorf("%s is incomplete", path)
		}
		return err
	}))
}
