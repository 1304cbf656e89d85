package libsql

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// isLocked reports whether this process has the lock of a file, or whether that cannot be
// known.
func (f heldFile) isLocked() bool {
	owner, known := lockOwner(f.fd, f.lock)
	if !known || owner == os.Getpid() {
		return true
	}
	if owner == 0 {
		return false
	}
	// The kernel names one of several owners. Its list has all of them, but not always: lines
	// are missing while other programs take and release locks.
	list, err := os.ReadFile("/proc/locks")
	return err == nil && listsLock(string(list), f.inode(), f.lock, os.Getpid()) || f.isLockedByAny()
}

func (f heldFile) inode() uint64 {
	var open unix.Stat_t
	_ = unix.Fstat(f.fd, &open)
	return open.Ino
}

// listsLock reports whether the kernel's list of locks (proc_locks(5)) has one of a process
// on some bytes of a file.
func listsLock(list string, inode uint64, r byteRange, pid int) bool {
	for line := range strings.Lines(list) {
		// "5: POSIX  ADVISORY  READ 7878 fe:00:9986082 128 128"
		l := strings.Fields(line)
		if len(l) == 8 && l[4] == strconv.Itoa(pid) && strings.HasSuffix(l[5], ":"+strconv.FormatUint(inode, 10)) && r.within(l[6], l[7]) {
			return true
		}
	}
	return false
}

// within reports whether the bytes are among those from first to last. The kernel joins
// locks of a process that are adjacent, such as that of the index and one of a reader.
func (r byteRange) within(first, last string) bool {
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil || from > r.start {
		return false
	}
	to, err := strconv.ParseInt(last, 10, 64)
	return last == "EOF" || err == nil && to >= r.start+r.length-1
}

// isLockedByAny reports whether this process took the lock by any of its descriptors of the
// file. The kernel shows that for each descriptor alone (proc_pid_fdinfo(5)); SQLite takes
// the lock by the descriptor of the connection that was first.
func (f heldFile) isLockedByAny() bool {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return true
	}
	var own, other unix.Stat_t
	if unix.Fstat(f.fd, &own) != nil {
		return true
	}
	for _, entry := range fds {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || unix.Fstat(fd, &other) != nil || other.Dev != own.Dev || other.Ino != own.Ino {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
		if err != nil {
			return true
		}
		for line := range strings.Lines(string(info)) {
			if l := strings.Fields(line); len(l) == 9 && l[0] == "lock:" && f.lock.within(l[7], l[8]) {
				return true
			}
		}
	}
	return false
}

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
