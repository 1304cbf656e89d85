// Package wat compiles WebAssembly modules in text form, for tests of what runs modules.
package wat

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Compile returns the binary form of a module. Options are those of wat2wasm, without which
// the test fails.
func Compile(t testing.TB, text string, options ...string) []byte {
	t.Helper()
	source := filepath.Join(t.TempDir(), "module.wat")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := source + ".wasm"
	message, err := exec.Command("wat2wasm", append(options, source, "-o", out)...).CombinedOutput() // #nosec G204 -- a test
	if err != nil {
		t.Fatalf("wat2wasm, of the Debian package wabt: %v: %s", err, message)
	}
	code, err := os.ReadFile(out) // #nosec G304 -- written above
	if err != nil {
		t.Fatal(err)
	}
	return code
}
