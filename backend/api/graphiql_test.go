package api

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The embedded third-party files are unchanged: each has its hash in sha256sums, and
// sha256sums lists no other file.
func TestGraphiQL_ThirdPartyFilesAreUnchanged(t *testing.T) {
	t.Parallel()
	folder, err := fs.Sub(thirdParty, "graphiql/third_party")
	require.NoError(t, err)
	list, err := fs.ReadFile(folder, "sha256sums")
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		require.Len(t, words, 2, line)
		want[words[1]] = words[0]
	}
	got := map[string]string{}
	require.NoError(t, fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(name) == "." {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		sum := sha256.Sum256(text)
		got[name] = hex.EncodeToString(sum[:])
		return err
	}))
	require.Equal(t, want, got)
	for _, name := range graphiQLFiles {
		require.Contains(t, want, name)
	}
}
