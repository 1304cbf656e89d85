//go:build unix

package libsql

import (
	"errors"
	"os"
	"syscall"
)

func waitLock(f *os.File) error { return flock(f, syscall.LOCK_SH|syscall.LOCK_NB) }

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

// lookLock reports whether nobody holds the lock.
func lookLock(f *os.File) (nobody bool, err error) {
	err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, unlock(f)
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return os.NewSyscallError("flock", err)
		}
	}
}
