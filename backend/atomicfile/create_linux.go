package atomicfile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// create creates a file without a name, or one with a name of its own if the file system
// has none without.
func create(path string) (f *os.File, name string, err error) {
	fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return createNamed(path)
	}
	return os.NewFile(uintptr(fd), path), "", nil // #nosec G115 -- a file descriptor
}

// link gives a file without a name one beside path.
func link(f *os.File, path string) (name string, err error) {
	name = path + ".part" + rand.Text()
	err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(int(f.Fd())), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return "", &os.LinkError{Op: "link", Old: path, New: name, Err: err}
	}
	return name, nil
}
