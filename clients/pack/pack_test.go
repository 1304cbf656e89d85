package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commands of the README get the packed module from a proxy, and a program compiles
// with it.
func TestPack_GoGetsTheModule(t *testing.T) {
	readme, err := os.ReadFile("../go/README.md")
	require.NoError(t, err)
	require.NotContains(t, string(readme), "](..", "the packed module has no files outside of its folder")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, block)
	settings, err := os.ReadFile("../npm/package.json")
	require.NoError(t, err)
	var npm struct{ Version string }
	require.NoError(t, json.Unmarshal(settings, &npm))
	proxy, program := t.TempDir(), t.TempDir()
	require.NoError(t, pack("../..", "kith.example/client", "v"+npm.Version, proxy))
	require.NoError(t, os.WriteFile(filepath.Join(program, "go.mod"), []byte("module program\n\ngo 1.23\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(`package main

import (
	"fmt"
	"time"

	"kith.example/client"
)

func main() {
	_, err := kith.New(kith.Config{BaseURL: "https://shop.example", Tenant: "shop", APIKey: "k"})
	token, tokenErr := kith.SignUserToken("k", map[string]any{"accountId": "a", "id": "u"}, time.Hour)
	fmt.Print(len(token) > 0, err, tokenErr)
}
`), 0o600))
	commands := strings.Replace(string(block[1]), "/path/to/goproxy", proxy, 1)
	c := exec.Command("bash", "-ec", commands+"go run .")
	c.Dir = program
	c.Env = append(c.Environ(), "CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath -gcflags=all=-dwarf=false", "GOWORK=off", "GOMODCACHE="+filepath.Join(program, "cache"))
	var problems strings.Builder
	c.Stderr = &problems
	output, err := c.Output()
	require.NoError(t, err, "%s", &problems)
	require.Equal(t, "true <nil> <nil>", string(output))
	license, err := filepath.Glob(filepath.Join(program, "cache", "kith.example", "*", "LICENSE"))
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
