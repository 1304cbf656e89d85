package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// commands are the lines of a document's blocks of shell.
func commands(t testing.TB, document string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", document))
	require.NoError(t, err)
	shell := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			shell = line == "```sh"
		case shell && !strings.HasPrefix(line, "#"):
			all = append(all, line)
		}
	}
	require.NotEmpty(t, all)
	return all
}

// publicKey writes an Ed25519 public key as ssh-keygen does, and returns its fingerprint.
func publicKey(t testing.TB, path string, fill byte) (fingerprint string) {
	t.Helper()
	var raw []byte
	for _, part := range []string{"ssh-ed25519", strings.Repeat(string([]byte{fill}), 32)} {
		raw = append(binary.BigEndian.AppendUint32(raw, uint32(len(part))), part...)
	}
	require.NoError(t, os.WriteFile(path, []byte("ssh-ed25519 "+base64.StdEncoding.EncodeToString(raw)+"\n"), 0o600))
	sum := sha256.Sum256(raw)
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Every command of the page about leaked keys does what it says, in the order of the
// page.
func TestDocs_LeakedKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.createTenant(t, "shop", "--landing-url", "https://shop.example/")
	s.ok(t, "webhook", "add", "--tenant", "shop", "https://shop.example/hook")
	folder := t.TempDir()
	old := publicKey(t, filepath.Join(folder, "old.pub"), 1)
	publicKey(t, filepath.Join(folder, "new.pub"), 2)
	s.ok(t, "tenant", "sftp-key", "add", "shop", filepath.Join(folder, "old.pub"))
	there := strings.NewReplacer("SHA256:OLD", old, "new.pub", filepath.Join(folder, "new.pub"))
	for _, command := range commands(t, "leaked-key.md") {
		words := strings.Fields(there.Replace(command))
		require.Equal(t, "kith", words[0], command)
		s.ok(t, words[1:]...)
	}
	require.Contains(t, s.ok(t, "key", "list", "shop"), "checkout")
	require.NotContains(t, s.ok(t, "tenant", "sftp-key", "list", "shop"), old)
}
