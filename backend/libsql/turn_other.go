//go:build !unix

package libsql

import (
	"errors"
	"os"
)

func waitLock(*os.File) error { return nil }

func unlock(*os.File) error { return nil }

func lookLock(*os.File) (nobody bool, err error) { return false, errors.ErrUnsupported }
