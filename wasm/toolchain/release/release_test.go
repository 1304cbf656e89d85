package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tests examine a finished release: make release-test. They run as root, since they
// install packages into a new root folder and start programs as other users.

// root is the top folder of the checkout.
const root = "../../.."

// released returns the folder of the release that KITH_RELEASE names.
func released(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("KITH_RELEASE")
	if folder == "" {
		t.Fatal("KITH_RELEASE: is not set; run make release-test")
	}
	return folder
}

// must returns what a command printed.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// one returns the only file of the release that matches.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(released(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v %v", pattern, found, err)
	}
	return found[0]
}

// version returns the version of the release.
func version(t *testing.T) string {
	t.Helper()
	return strings.TrimPrefix(strings.TrimSpace(must(t, filepath.Join(released(t), host.binary()), "--version")), "kith ")
}

// A second release from a clone in another folder, with empty caches of the compilers,
// another umask and another time zone, has the same files.
func TestRelease_SameBytes(t *testing.T) {
	clone, cache := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	must(t, "git", "clone", "-q", root, clone)
	// The hash of the component that make test recorded here.
	record, err := os.ReadFile(filepath.Join(root, testedFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(clone, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(clone, testedFile), record, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("bash", "-c", "umask 077; exec make release VERSION="+version(t))
	command.Dir = clone
	command.Env = append(os.Environ(), "GOCACHE="+cache, "TZ=Asia/Kathmandu", "MAKELEVEL=0", "MAKEFLAGS=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, err := os.ReadFile(filepath.Join(released(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(clone, "bin", "release", version(t), "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("first:\n%s\nsecond:\n%s", first, second)
	}
}

// The checksums are those of the files, and name all of them.
func TestRelease_Files(t *testing.T) {
	folder := released(t)
	sums, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	if string(sums) != want.String() {
		t.Errorf("SHA256SUMS:\n%s\nfiles:\n%s", sums, &want)
	}
	for _, pattern := range []string{
		"kith-linux-amd64", "kith-linux-arm64", "kith-darwin-amd64", "kith-darwin-arm64", "kith-*-*.cdx.json", "edge.wasm", "spin.toml",
		"kith.1.gz", "kith.bash", "_kith", "kith.fish", licensesFile, "*_amd64.deb", "*_arm64.deb", "*.x86_64.rpm", "*.aarch64.rpm",
		"kith-image-linux-amd64.tar", "kith-image-linux-arm64.tar",
	} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(found) == 0 {
			t.Errorf("no file %s", pattern)
		}
	}
}

// The units restrict the processes as the operator's guide says, and systemd reads them.
func TestUnits(t *testing.T) {
	for _, unit := range []string{"kith-backend.service", "kith-edge.service"} {
		source := filepath.Join(root, "deploy", "package", unit)
		// The threshold has a decimal place: 20 is 2.0.
		t.Log(last(must(t, "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", source)))
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		// This machine has no kith, and perhaps no man pages.
		local := strings.NewReplacer("/usr/bin/kith", "/bin/true", "Documentation=man:kith(1)\n", "").Replace(string(text))
		copied := filepath.Join(t.TempDir(), unit)
		if err := os.WriteFile(copied, []byte(local), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := must(t, "systemd-analyze", "verify", copied); out != "" {
			t.Errorf("%s: %s", unit, out)
		}
	}
}

func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
