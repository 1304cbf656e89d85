package libsql

import (
	"os"
	"syscall"
)

// syncFile flushes the data of a file and the metadata that is needed to read it. It
// does not flush the modification time: writing over the log changes nothing else,
// and flushing it would cost a write to the file system's journal.
func syncFile(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
