package frame

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The embedded third-party files are unchanged: each has its hash in sha256sums, and
// sha256sums lists no other file.
func TestThirdParty_IsUnchanged(t *testing.T) {
	t.Parallel()
	list, err := fs.ReadFile(thirdParty, "third_party/sha256sums")
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, ok, line)
		listed[name] = sum
	}
	found := 0
	folders, err := fs.ReadDir(thirdParty, "third_party")
	require.NoError(t, err)
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		files, err := fs.ReadDir(thirdParty, "third_party/"+folder.Name())
		require.NoError(t, err)
		for _, f := range files {
			name := folder.Name() + "/" + f.Name()
			text, err := fs.ReadFile(thirdParty, "third_party/"+name)
			require.NoError(t, err)
			sum := sha256.Sum256(text)
			require.Equal(t, listed[name], hex.EncodeToString(sum[:]), name)
			found++
		}
	}
	require.Len(t, listed, found)
}
