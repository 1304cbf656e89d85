// Package lan gives processes of a test a network of their own, whose faults the test
// chooses: each host is a network namespace, and the test forwards the packets between
// them. A link can be cut in one direction or both, delay packets, or lose a share of them.
//
// A host's interface is a TUN device whose packets the test reads. So the faults need no
// netem, which is missing in many kernels, and no tool (ip, tc, nft): they are the same on
// each machine, and a seed decides which packets are lost. The connections above are those
// of the kernel, with its retransmissions and timeouts.
//
// A test that uses it begins with
//
//	if !lan.Inside() {
//		lan.Rerun(t)
//		return
//	}
//
// Rerun starts the test program again, in namespaces of its own, in which it may create
// hosts; nothing that it sends leaves them.
package lan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mtu is the size of the largest packet, near the largest of IPv4: fewer packets take
	// less time of the test, which forwards each of them.
	mtu = 60_000
	// queued is how many packets may wait in a link that delays them; more are lost.
	queued = 4096
	device = "lan0"
)

// Network is a set of hosts, each of which reaches all others.
type Network struct {
	mu     sync.Mutex
	random *rand.Rand
	hosts  map[[4]byte]*Host
	links  map[direction]*link
	closed bool
}

// Host is a network namespace with one address.
type Host struct {
	Name string
	// IP is the host's address, as text.
	IP string

	ip  [4]byte
	tun *os.File
	// run has the functions that the host's thread, which is in the namespace, runs.
	run chan func()
}

// Fault is what happens to the packets from one host to another. The zero value is none.
type Fault struct {
	// Cut loses every packet.
	Cut bool
	// Loss is the share of the packets that are lost, from 0 to 1.
	Loss float64
	// Delay is added to the time of each packet.
	Delay time.Duration
}

type direction struct{ from, to [4]byte }

// link is a direction that has, or had, a fault.
type link struct {
	fault   Fault
	delayed chan delayed
}

type delayed struct {
	due    time.Time
	packet []byte
}

// New returns a network without hosts. The seed decides which packets a lossy link loses.
func New(seed uint64) *Network {
	return &Network{random: rand.New(rand.NewPCG(seed, 0)), hosts: map[[4]byte]*Host{}, links: map[direction]*link{}} // #nosec G404 -- a test repeats it
}

// Here adds the namespace of the calling process as a host, so that the test reaches the
// others.
func (n *Network) Here() (*Host, error) { return n.add("here", 1, func(f func()) { f() }) }

// Add adds a host, whose address ends in number.
func (n *Network) Add(name string, number byte) (*Host, error) {
	run := make(chan func())
	made := make(chan error)
	go func() {
		// The thread keeps the namespace. It is never unlocked, so that no other
		// goroutine runs in it; it ends with the goroutine.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		made <- err
		if err != nil {
			return
		}
		for f := range run {
			f()
		}
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("lan: create a network namespace: %w", err)
	}
	h, err := n.add(name, number, func(f func()) {
		done := make(chan struct{})
		run <- func() { defer close(done); f() }
		<-done
	})
	if err != nil {
		close(run)
		return nil, err
	}
	h.run = run
	return h, nil
}

func (n *Network) add(name string, number byte, within func(func())) (*Host, error) {
	h := &Host{Name: name, ip: [4]byte{10, 77, 0, number}}
	h.IP = netip.AddrFrom4(h.ip).String()
	var err error
	within(func() { h.tun, err = h.plug() })
	if err != nil {
		return nil, fmt.Errorf("lan: host %s: %w", name, err)
	}
	n.mu.Lock()
	n.hosts[h.ip] = h
	n.mu.Unlock()
	go n.forward(h)
	return h, nil
}

// plug creates the interface of the namespace that the calling thread is in.
func (h *Host) plug() (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the device of network interfaces: %w; as root run: modprobe tun; chmod 666 /dev/net/tun", err)
	}
	// The file takes part in polling only after the device exists.
	err = h.configure(fd)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), device), nil // #nosec G115 -- a file descriptor
}

func (h *Host) configure(tun int) error {
	request, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(tun, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("create the interface: %w", err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	type step struct {
		what, device string
		request      uint
		set          func(*unix.Ifreq) error
	}
	up := func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }
	for _, s := range []step{
		{"start the loopback interface", "lo", unix.SIOCSIFFLAGS, up},
		{"set the address", device, unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(h.ip[:]) }},
		{"set the network", device, unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr([]byte{255, 255, 255, 0}) }},
		{"set the size of packets", device, unix.SIOCSIFMTU, func(r *unix.Ifreq) error { r.SetUint32(mtu); return nil }},
		{"start the interface", device, unix.SIOCSIFFLAGS, up},
	} {
		request, err := unix.NewIfreq(s.device)
		if err == nil {
			err = s.set(request)
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, s.request, request)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// Start starts a command on the host. The kernel kills it when this process ends.
func (h *Host) Start(command *exec.Cmd) (err error) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done := make(chan struct{})
	h.run <- func() { defer close(done); err = command.Start() }
	<-done
	return err
}

// Set sets the fault of the packets from one host to another; the packets in the other
// direction keep theirs.
func (n *Network) Set(from, to *Host, f Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := direction{from.ip, to.ip}
	l := n.links[d]
	if l == nil {
		l = &link{delayed: make(chan delayed, queued)}
		n.links[d] = l
		go l.deliver(to)
	}
	l.fault = f
}

// Between sets the fault of the packets between two hosts, in both directions.
func (n *Network) Between(a, b *Host, f Fault) {
	n.Set(a, b, f)
	n.Set(b, a, f)
}

// Heal removes all faults.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.fault = Fault{}
	}
}

// Close removes the hosts. Their processes must have ended.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	for _, l := range n.links {
		close(l.delayed)
	}
	for _, h := range n.hosts {
		_ = h.tun.Close()
		if h.run != nil {
			close(h.run)
		}
	}
}

// forward forwards the packets that a host sends, until it is removed.
func (n *Network) forward(from *Host) {
	buffer := make([]byte, mtu)
	for {
		size, err := from.tun.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		// IPv4 only: the kernel also sends discovery packets of IPv6.
		if err != nil || size < 20 || buffer[0]>>4 != 4 {
			continue
		}
		if to := n.passes(from, [4]byte(buffer[16:20]), buffer[:size]); to != nil {
			_, _ = to.tun.Write(buffer[:size]) // a full queue loses the packet, as on any network
		}
	}
}

// passes returns the host that gets a packet now, or nil if the packet is lost or delayed.
func (n *Network) passes(from *Host, to [4]byte, packet []byte) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	host := n.hosts[to]
	l := n.links[direction{from.ip, to}]
	if l == nil || host == nil || n.closed {
		return host
	}
	switch f := l.fault; {
	case f.Cut, f.Loss > 0 && n.random.Float64() < f.Loss:
		return nil
	case f.Delay > 0:
		select {
		case l.delayed <- delayed{time.Now().Add(f.Delay), append([]byte(nil), packet...)}:
		default:
		}
		return nil
	}
	return host
}

// deliver delivers delayed packets in their order.
func (l *link) deliver(to *Host) {
	for d := range l.delayed {
		time.Sleep(time.Until(d.due))
		_, _ = to.tun.Write(d.packet)
	}
}
