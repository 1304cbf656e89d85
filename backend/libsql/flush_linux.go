package libsql

import (
	"os"
	"syscall"
)

// syncFile flushes what a file holds, and of what is noted about it what finding
// that again needs: not the time of the last write, which a log that is written
// over changes alone, and which costs the journal of the file system a write.
func syncFile(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
