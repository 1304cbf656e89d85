//go:build !linux

package libsql

import "os"

func syncFile(f *os.File) error { return f.Sync() }
