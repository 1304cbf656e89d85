package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shell is a Bash that runs the commands of one document, one after the other, and
// keeps their variables and background programs.
type shell struct {
	scripts string // folder of the commands and their outputs
	in      io.Writer
	status  *os.File // one line for each command that has ended
	lines   *bufio.Reader
	n       int
}

// stopTime is what the programs of a document have to stop, until they are killed.
const stopTime = 20 * time.Second

// newShell starts a Bash in the folder. At the end of the test all its programs are
// ended with it.
func newShell(t testing.TB, folder string, env []string) *shell {
	t.Helper()
	c := exec.Command("bash", "--noprofile", "--norc")
	c.Dir, c.Env = folder, env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := c.StdinPipe()
	require.NoError(t, err)
	status, write, err := os.Pipe()
	require.NoError(t, err)
	alive, held, err := os.Pipe() // each program of the shell has held, until it has ended
	require.NoError(t, err)
	c.ExtraFiles = []*os.File{write, held} // 3 and 4
	require.NoError(t, c.Start())
	require.NoError(t, write.Close())
	require.NoError(t, held.Close())
	s := &shell{scripts: t.TempDir(), in: in, status: status, lines: bufio.NewReader(status)}
	t.Cleanup(func() {
		in.Close()
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) // a command may still run
		lasting := time.AfterFunc(stopTime, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
		defer lasting.Stop()
		_ = c.Wait()
		status.Close()
		// Bash waits for its own children only, and a program that is ending may be writing to
		// the folder that is removed next.
		_ = alive.SetReadDeadline(time.Now().Add(2 * stopTime)) // one that left the group is not killed
		_, _ = alive.Read(make([]byte, 1))
		alive.Close()
	})
	// Also when the test is killed: Bash reads the end of its input then.
	_, err = io.WriteString(in, "trap 'trap \"\" TERM; kill -- -$$; wait' EXIT\n")
	require.NoError(t, err)
	return s
}

// output is what the nth script wrote.
func (s *shell) output(t testing.TB, n int) string {
	t.Helper()
	out, err := os.ReadFile(s.file(n, "out"))
	if !errors.Is(err, fs.ErrNotExist) { // a background program may not have begun
		require.NoError(t, err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

func (s *shell) file(n int, kind string) string {
	return filepath.Join(s.scripts, strconv.Itoa(n)+"."+kind)
}

func (s *shell) start(t testing.TB, script, form string) (n int) {
	t.Helper()
	s.n++
	require.NoError(t, os.WriteFile(s.file(s.n, "sh"), []byte(script), 0o600))
	_, err := fmt.Fprintf(s.in, form+"\necho $? >&3\n", fmt.Sprintf(". '%s' </dev/null >'%s' 2>&1 3>&-", s.file(s.n, "sh"), s.file(s.n, "out")))
	require.NoError(t, err)
	return s.n
}

// run runs a script and returns what it wrote and its exit status.
func (s *shell) run(t testing.TB, script string) (out string, status int) {
	t.Helper()
	n := s.start(t, script, "%s")
	// Much longer than a wait for one condition: a script may build a shop, which took two minutes
	// on a machine with other work.
	require.NoError(t, s.status.SetReadDeadline(time.Now().Add(5*deadline)))
	line, err := s.lines.ReadString('\n')
	require.NoError(t, err, "the shell ended, or the commands did not:\n%s", s.output(t, n))
	status, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	return s.output(t, n), status
}

// background starts a script and does not wait for it. What it writes is in the file.
func (s *shell) background(t testing.TB, script string) (output func() string) {
	t.Helper()
	n := s.start(t, script, "( %s ) 3>&- &")
	require.NoError(t, s.status.SetReadDeadline(time.Now().Add(deadline)))
	_, err := s.lines.ReadString('\n')
	require.NoError(t, err)
	return func() string { return s.output(t, n) }
}

// strictly makes a script end at its first command that fails, and say which.
func strictly(script string) string {
	return "set -eo pipefail\ntrap 'echo \"status $?: $BASH_COMMAND\"' ERR\n" + script + "\ntrap - ERR\nset +eo pipefail\n"
}

// A shell has ended when its programs have, also one that takes its time to stop: it is no
// child of the Bash itself.
func TestShell_WaitsForItsPrograms(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	begun, ended := filepath.Join(folder, "begun"), filepath.Join(folder, "ended")
	t.Run("shell", func(t *testing.T) {
		newShell(t, folder, os.Environ()).background(t,
			`sh -c 'trap "sleep 0.5; echo >ended; exit" TERM; echo >begun; while :; do sleep 0.01; done'`)
		await(t, func() error { _, err := os.Stat(begun); return err })
	})
	require.FileExists(t, ended)
}
