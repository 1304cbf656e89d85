package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/atomicfile"
)

// killEnv names the file that TestWrite_Killed writes in a process that is killed meanwhile.
const killEnv = "KITH_TEST_ATOMICFILE"

func names(t *testing.T, dir string) (all []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "backup")
	for _, text := range []string{"first", "second, which replaces it"} {
		size, err := atomicfile.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		require.NoError(t, err)
		require.EqualValues(t, len(text), size)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	full := errors.New("no space left on device")
	_, err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "half")
		return errors.Join(err, full)
	})
	require.ErrorIs(t, err, full)
	require.Equal(t, []string{"backup"}, names(t, dir))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "second, which replaces it", string(got))
	_, err = atomicfile.Write(filepath.Join(dir, "missing", "backup"), func(io.Writer) error { return nil })
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A process that is killed while it writes leaves no file.
func TestWrite_Killed(t *testing.T) {
	if path := os.Getenv(killEnv); path != "" {
		_, _ = atomicfile.Write(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			_ = self.Kill()
			select {}
		})
		return
	}
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, "-test.run=^TestWrite_Killed$")
	c.Env = append(os.Environ(), killEnv+"="+filepath.Join(dir, "backup"))
	out, err := c.CombinedOutput()
	require.ErrorContains(t, err, "killed", string(out))
	require.Empty(t, names(t, dir))
}
