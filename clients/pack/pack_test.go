package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program gets the packed module from a proxy and compiles with it.
func TestPack_GoGetsTheModule(t *testing.T) {
	proxy, program := t.TempDir(), t.TempDir()
	require.NoError(t, pack("../..", "shop.example/kith-client", "v0.1.0", proxy))
	require.NoError(t, os.WriteFile(filepath.Join(program, "go.mod"), []byte("module program\n\ngo 1.23\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(`package main

import (
	"fmt"
	"time"

	"shop.example/kith-client"
)

func main() {
	_, err := kith.New(kith.Config{BaseURL: "https://shop.example", Tenant: "shop", APIKey: "k"})
	token, tokenErr := kith.SignUserToken("k", map[string]any{"accountId": "a", "id": "u"}, time.Hour)
	fmt.Print(len(token) > 0, err, tokenErr)
}
`), 0o600))
	absolute, err := filepath.Abs(proxy)
	require.NoError(t, err)
	run := func(args ...string) string {
		c := exec.Command("go", args...)
		c.Dir = program
		c.Env = append(c.Environ(), "GOPROXY=file://"+absolute, "GOSUMDB=off", "CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath -gcflags=all=-dwarf=false", "GOWORK=off", "GOMODCACHE="+filepath.Join(program, "cache"))
		output, err := c.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return string(output)
	}
	run("get", "shop.example/kith-client@v0.1.0")
	require.Equal(t, "true <nil> <nil>", run("run", "."))
	license, err := filepath.Glob(filepath.Join(program, "cache", "shop.example", "*", "LICENSE"))
	require.NoError(t, err)
	require.Len(t, license, 1)
}

func TestPack_NamesTheWrongArgument(t *testing.T) {
	for field, args := range map[string][2]string{
		"module: ":  {"kith/clients/go", "v0.1.0"},
		"version: ": {"shop.example/kith", "0.1.0"},
	} {
		require.ErrorContains(t, pack("../..", args[0], args[1], t.TempDir()), field)
	}
	require.ErrorContains(t, pack("../..", "shop.example/kith", "v0.1.0", ""), "out: ")
	require.ErrorContains(t, pack("../../..", "shop.example/kith", "v0.1.0", t.TempDir()), "LICENSE")
}
