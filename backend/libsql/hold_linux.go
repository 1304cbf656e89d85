package libsql

import "golang.org/x/sys/unix"

// lockOwner returns a process that has a lock on bytes of an open file, or 0 if none has;
// a process of another PID namespace is -1. known is false if the kernel does not say.
func lockOwner(fd int, r byteRange) (pid int, known bool) {
	// A lock of an open file description conflicts with all locks of processes, also with
	// those of this one, which F_GETLK does not show.
	lock := r.flock(unix.F_WRLCK)
	if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &lock); err != nil {
		return 0, false
	}
	if lock.Type == unix.F_UNLCK {
		return 0, true
	}
	if lock.Pid == 0 {
		return -1, true
	}
	return int(lock.Pid), true
}

// flush writes the data of a file to the disk, and the metadata that is needed to read it,
// but not the modification time: writing over the log changes nothing else, and flushing
// it would cost a write to the file system's journal.
func flush(fd int) error {
	for {
		if err := unix.Fdatasync(fd); err != unix.EINTR {
			return err
		}
	}
}
