package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// loadgen sends prepared requests to servers over persistent connections, one at a time on
// each. One thread drives all connections with epoll. It takes 11 µs of a processor for each
// answer, and clients that are goroutines 17 to 19 µs. This matters because client and
// server share the processors: what the client takes moves each ratio towards 1.
type loadgen struct {
	bases       []string
	connections int
	status      int // of each answer
	request     func(i int) []byte

	epoll, timer int
	conns        map[int32]*loadConn
	idle         []*loadConn
	sent         int
	inFlight     int
	took         []time.Duration
}

// loadConn is one connection.
type loadConn struct {
	fd   int
	in   []byte
	due  time.Time // of the request in progress
	have int
}

// saturate sends the next request on each connection as soon as the previous one is
// answered.
func (g loadgen) saturate(b testing.TB, d time.Duration) measured { return g.run(b, 0, d) }

// steady sends a constant number of requests per second, however fast the server is. The
// time of a request counts from when it was due, also if no connection was idle then.
func (g loadgen) steady(b testing.TB, rate int, d time.Duration) measured { return g.run(b, rate, d) }

func (g loadgen) run(b testing.TB, rate int, d time.Duration) measured {
	b.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer g.close()
	require.NoError(b, g.open(rate))
	began := time.Now()
	require.NoError(b, g.loop(began, rate, d))
	wall := time.Since(began)
	slices.Sort(g.took)
	return measured{rate: float64(len(g.took)) / wall.Seconds(), wall: wall, p50: quantile(g.took, 50), p99: quantile(g.took, 99)}
}

// loop sends until d has passed, and returns when all requests are answered.
func (g *loadgen) loop(began time.Time, rate int, d time.Duration) error {
	end := began.Add(d)
	due := func() time.Time { // of the next request
		if rate == 0 {
			return time.Now()
		}
		return began.Add(time.Duration(g.sent) * time.Second / time.Duration(rate))
	}
	var events [256]unix.EpollEvent
	for {
		now := time.Now()
		for len(g.idle) > 0 {
			at := due()
			if at.After(now) && rate > 0 || at.After(end) {
				break
			}
			if err := g.send(at); err != nil {
				return err
			}
		}
		if g.inFlight == 0 && due().After(end) {
			return nil
		}
		if now.After(end.Add(deadline)) {
			return fmt.Errorf("%d requests are not answered %v after the end", g.inFlight, deadline)
		}
		n, err := unix.EpollWait(g.epoll, events[:], 1000)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == g.timer {
				_, _ = unix.Read(g.timer, make([]byte, 8))
			} else if err := g.receive(g.conns[e.Fd]); err != nil {
				return err
			}
		}
	}
}

// open connects, and starts a timer that fires when a request is due.
func (g *loadgen) open(rate int) (err error) {
	g.conns, g.timer = map[int32]*loadConn{}, -1
	if g.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for i := range g.connections {
		fd, err := connect(g.bases[i%len(g.bases)])
		if err != nil {
			return err
		}
		c := &loadConn{fd: fd, in: make([]byte, 16<<10)}
		g.conns[int32(fd)] = c
		g.idle = append(g.idle, c)
		if err := g.watch(fd); err != nil {
			return err
		}
	}
	if rate == 0 {
		return nil
	}
	if g.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC); err != nil {
		return err
	}
	every := unix.NsecToTimespec(int64(time.Second) / int64(rate))
	if err := unix.TimerfdSettime(g.timer, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil); err != nil {
		return err
	}
	return g.watch(g.timer)
}

func (g *loadgen) watch(fd int) error {
	return unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// connect returns a connection to a server on this machine. The runtime's poller does not
// know it, so that the runtime does no work for it.
func connect(base string) (fd int, err error) {
	addr, err := netip.ParseAddrPort(strings.TrimPrefix(base, "http://"))
	if err != nil {
		return 0, err
	}
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, fmt.Errorf("socket: %w", err)
	}
	err = errors.Join(
		unix.Connect(fd, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}),
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(deadline.Seconds())}))
	if err != nil {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("connect: %w", err)
	}
	return fd, nil
}

func (g *loadgen) close() {
	for _, c := range g.conns {
		_ = unix.Close(c.fd)
	}
	_ = unix.Close(g.timer)
	_ = unix.Close(g.epoll)
}

// send sends the next request on the connection that was idle for the longest time: a server
// closes one that is idle for minutes.
func (g *loadgen) send(due time.Time) error {
	c := g.idle[0]
	g.idle = g.idle[1:]
	request := g.request(g.sent)
	g.sent++
	g.inFlight++
	c.due, c.have = due, 0
	if n, err := unix.Write(c.fd, request); err != nil || n < len(request) {
		return fmt.Errorf("%d bytes written: %w", n, err)
	}
	return nil
}

// receive reads a part of an answer, and takes the time when it is complete.
func (g *loadgen) receive(c *loadConn) error {
	n, err := unix.Read(c.fd, c.in[c.have:])
	if err == unix.EINTR {
		return nil // epoll reports the connection again
	}
	if err != nil || n == 0 {
		return fmt.Errorf("connection closed: %w", err)
	}
	c.have += n
	size, status, err := answerSize(c.in[:c.have])
	if err != nil || size == 0 || c.have < size {
		return err
	}
	if status != g.status {
		return fmt.Errorf("status %d, want %d: %s", status, g.status, c.in[:c.have])
	}
	g.took = append(g.took, time.Since(c.due))
	g.inFlight--
	g.idle = append(g.idle, c)
	return nil
}

// answerSize returns the size and the status of an answer with a Content-Length, or 0
// before its header is complete.
func answerSize(in []byte) (size, status int, err error) {
	head, _, complete := bytes.Cut(in, []byte("\r\n\r\n"))
	if !complete {
		return 0, 0, nil
	}
	_, length, found := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !found || len(head) < 12 {
		return 0, 0, fmt.Errorf("no Content-Length: %s", head)
	}
	digits, _, _ := bytes.Cut(length, []byte("\r"))
	body, err := strconv.Atoi(string(digits))
	if err != nil {
		return 0, 0, err
	}
	status, err = strconv.Atoi(string(head[9:12]))
	return len(head) + 4 + body, status, err
}
