package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// target is a system that binaries are built for.
type target struct{ os, arch string }

var targets = []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}

// binary returns the name of a target's binary.
func (t target) binary() string { return "kith-" + t.os + "-" + t.arch }

// host is the target on which the release is built.
var host = target{runtime.GOOS, runtime.GOARCH}

// binaries builds kith for each target. The path of the checkout, settings of the user
// and the state of git are not in the bytes. The flags of the compiler are those of make
// build, so that both share its cache.
func (r *release) binaries() error {
	for _, t := range targets {
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", // #nosec G204 -- the version was checked
			"-ldflags=-s -w -X main.version="+r.version, "-o", r.path(t.binary()), "./backend/cmd/kith")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch,
			"GOFLAGS=-mod=readonly", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", t.binary(), err, text)
		}
	}
	printed, err := output(r.path(host.binary()), "--version")
	if err != nil {
		return err
	}
	if want := "kith " + r.version + "\n"; printed != want {
		return fmt.Errorf("%s --version printed %q, not %q", host.binary(), printed, want)
	}
	return nil
}

// The component, and the record of make test with its hash.
const (
	componentFile = "bin/edge.wasm"
	testedFile    = "bin/tested.sha256"
)

// component copies the component that make test tested, and a manifest that finds it in
// its own folder.
func (r *release) component() error {
	built, err := os.ReadFile(componentFile)
	if err != nil {
		return fmt.Errorf("%w; run make edge", err)
	}
	tested, err := os.ReadFile(testedFile)
	if err != nil {
		return fmt.Errorf("%w; run make test, which writes it", err)
	}
	if found := fmt.Sprintf("%x  %s\n", sha256.Sum256(built), componentFile); found != string(tested) {
		return fmt.Errorf("the component is not the one that was tested; run make test\nbuilt:  %stested: %s", found, tested)
	}
	manifest, err := os.ReadFile("spin.toml")
	if err != nil {
		return err
	}
	if manifest, err = r.manifest(manifest); err != nil {
		return err
	}
	return errors.Join(r.write("edge.wasm", built), r.write("spin.toml", manifest))
}

var manifestVersion = regexp.MustCompile(`(?m)^version = ".*"$`)

// manifest returns spin.toml for a folder that has the component and no sources.
func (r *release) manifest(source []byte) ([]byte, error) {
	text, build, ok := strings.Cut(string(source), "\n[component.edge.build]\n")
	if !ok || strings.Contains(build, "\n[") {
		return nil, errors.New("spin.toml: [component.edge.build] is not its last table")
	}
	local := `source = "` + componentFile + `"`
	if strings.Count(text, local) != 1 || len(manifestVersion.FindAllString(text, -1)) != 1 {
		return nil, fmt.Errorf("spin.toml: needs one line %s and one version", local)
	}
	text = strings.Replace(text, local, `source = "edge.wasm"`, 1)
	return []byte(manifestVersion.ReplaceAllString(text, `version = "`+r.version+`"`)), nil
}
