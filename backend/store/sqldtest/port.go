package sqldtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// freePorts returns n addresses on which nothing listens.
func freePorts(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		addr, err := FreeAddr()
		if err != nil {
			return nil, err
		}
		addrs[i] = addr
	}
	return addrs, nil
}

// The ports of FreeAddr are below those that Linux uses for outgoing connections:
// such a connection could take the port before the process that it is meant for.
const firstPort, lastPort = 10_000, 32_000

// FreeAddr returns a loopback address on which nothing listens, for a process
// that is to be started. No other call returns it, in this test program or in one
// that runs at the same time, until this one ends.
func FreeAddr() (string, error) {
	var err error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort) // #nosec G404 -- any port will do
		if err = reserve(port); err != nil {
			continue
		}
		// Not a socket that listens for a moment: a process that is being started has a copy
		// of it until it runs its own program, and the port is in use for as long.
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		var c net.Conn
		if c, err = net.DialTimeout("tcp", addr, time.Second); errors.Is(err, syscall.ECONNREFUSED) {
			return addr, nil
		}
		if err == nil {
			_ = c.Close()
			err = fmt.Errorf("a process listens on %s", addr)
		}
	}
	return "", fmt.Errorf("sqldtest: no free port: %w", err)
}

// reserved are the ports that this program has reserved, and a file in which a byte is
// locked for each of them. The system unlocks the bytes when the program ends.
var reserved struct {
	sync.Mutex
	ports map[int]bool
	file  *os.File
}

func reserve(port int) error {
	r := &reserved
	r.Lock()
	defer r.Unlock()
	if r.file == nil {
		f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("kith-test-ports-%d", os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		r.file, r.ports = f, map[int]bool{}
	}
	if r.ports[port] {
		return fmt.Errorf("port %d is reserved by this program", port)
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(port), Len: 1}
	if err := syscall.FcntlFlock(r.file.Fd(), syscall.F_SETLK, &lock); err != nil {
		return fmt.Errorf("port %d is reserved by another program: %w", port, err)
	}
	r.ports[port] = true
	return nil
}
