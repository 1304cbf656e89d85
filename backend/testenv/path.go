// Package testenv finds files of this repository for tests, such as the libSQL server
// and packages that npm installs. Tests run in the folders of their packages. Path
// searches upward from the working directory, since a build with -trimpath does not
// record the folder of the source.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Path returns the absolute path of a file, given by its path in the repository. It
// fails if the working directory is not in a checkout. It does not check whether the
// file exists.
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
