// Package testenv finds files of this repository for tests, which run in the
// folders of their packages: the libSQL server, the gateway's client library and
// others that npm puts into the tree. It does not ask where the source was
// compiled, which a build with -trimpath does not know.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Path is the absolute path of a file in the repository, given by its path from
// the top. It fails if the working directory is not in a checkout; whether the
// file exists is the caller's question.
func Path(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("testenv: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "spin.toml")); err == nil {
			return filepath.Join(dir, filepath.FromSlash(name)), nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("testenv: no folder above this one has a spin.toml; run the tests in a checkout")
		}
		dir = filepath.Dir(dir)
	}
}
