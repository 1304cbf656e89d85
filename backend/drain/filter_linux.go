package drain

import (
	"net"

	"golang.org/x/sys/unix"
)

// onlyEstablished drops the segments that begin a connection (SYN without ACK), and keeps
// all others: the data of the filter begins with the TCP header, whose flags are its byte 13.
var onlyEstablished = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 13},
	{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0x12},
	{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: 0x02},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
}

// ignoreNew has the kernel ignore new connections to a listener.
func ignoreNew(l *net.TCPListener) error {
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(onlyEstablished)), Filter: &onlyEstablished[0]} // #nosec G115 -- it is 5
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
	}); err != nil {
		return err
	}
	return failed
}
