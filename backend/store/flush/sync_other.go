//go:build !linux

package flush

import "os"

func syncFile(f *os.File) error { return f.Sync() }
