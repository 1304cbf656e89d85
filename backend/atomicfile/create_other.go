//go:build !linux

package atomicfile

import "os"

func create(path string) (f *os.File, name string, err error) { return createNamed(path) }

// link is not called: create gives each file a name.
func link(_ *os.File, path string) (name string, err error) { return path, nil }
