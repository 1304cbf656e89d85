// Package sftp is the drop box: an SFTP server to which tenants send files to
// import. Who may come is a matter of public keys, what a file is for is a matter
// of its name, and the job begins when the sender closes the file. Files can be
// sent, and nothing else can be done: none can be listed, read, renamed or
// removed, and there is no shell, no command and no forwarding.
//
// What a file means, and whether it is whole enough to become a job, program
// decides; this package speaks the protocol and bounds what one sender can take.
package sftp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"kith/backend/app"
	"kith/core"
)

// Bounds of a server.
const (
	// MaxConnections is how many may be connected, MaxPerTenant how many of them
	// with the name of one tenant, and MaxPerAddress how many from one address (or
	// IPv6 network, /64) that have not authenticated.
	MaxConnections = 64
	MaxPerTenant   = 8
	MaxPerAddress  = 8
	// Of clients that have not authenticated, earlyDrop may be connected
	// without more ado. From then on dropPercent of new connections are refused at
	// random, and more and more of them, up to all when there are maxHandshakes: a
	// client that tries again gets in, while others hold connections open in silence
	// (OpenSSH: MaxStartups 10:30:100). MaxConnections do not count them.
	earlyDrop     = 10
	dropPercent   = 30
	maxHandshakes = 100
	// idleTime is how long a connection may stand still.
	idleTime = 5 * time.Minute
	// quietTime is how long nothing has passed on a connection that is done.
	quietTime = 500 * time.Millisecond
)

// What Server.Drain and Server.Handshake are unless they are set.
const (
	drainTime     = 15 * time.Second
	handshakeTime = 15 * time.Second
)

// Server takes files. Make it with New.
type Server struct {
	// Drain is what files that are on their way have left when the server is told
	// to stop; zero means 15 seconds. It must be set before Serve.
	Drain time.Duration
	// Handshake bounds how long a client may take to show who it is; zero means 15
	// seconds. It must be set before Serve.
	Handshake time.Duration

	engine *app.Engine
	host   ssh.Signer
	log    *slog.Logger

	mu sync.Mutex
	// lines are all connections, of them entered those of tenants.
	lines    map[*line]bool
	entered  int
	of       map[core.TenantAlias]int
	startups startups
	stopping bool
	running  sync.WaitGroup
}

// New returns a server that shows itself by a host key, as HostKey makes it.
func New(engine *app.Engine, host ssh.Signer, log *slog.Logger) *Server {
	return &Server{
		engine: engine, host: host, log: log, startups: newStartups(),
		lines: map[*line]bool{}, of: map[core.TenantAlias]int{},
	}
}

// The library offers extensions of the protocol unless told not to: none of them
// is about sending a file.
func init() { _ = sftp.SetSFTPExtensions() }

// Serve takes files until the context ends. Then it takes no new one, lets those
// that are on their way come for a while, and cuts off what is left.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	accepting := make(chan error, 1)
	go func() { accepting <- s.accept(context.WithoutCancel(ctx), listener) }()
	var err error
	select {
	case err = <-accepting:
	case <-ctx.Done():
		_ = listener.Close()
		<-accepting
	}
	s.drain()
	s.running.Wait()
	return err
}

func (s *Server) accept(ctx context.Context, listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if temporary(err) {
			// Such as too many open files: the next may be gone already.
			s.log.Error("sftp: accept", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		l := &line{Conn: conn}
		l.touch()
		if !s.admit(l) {
			s.log.Warn("sftp: too many connections that have not authenticated", "remote", conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		go func() {
			defer s.dismiss(l)
			s.connection(ctx, l)
		}()
	}
}

func temporary(err error) bool {
	var network net.Error
	return err != nil && !errors.Is(err, net.ErrClosed) && errors.As(err, &network)
}

// admit counts a connection in that has not shown yet who it is, unless there are
// too many of those.
func (s *Server) admit(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || !s.startups.enter(l.from(), rand.Float64()) { // #nosec G404 -- a client that foresees it gains one try
		return false
	}
	l.waiting = true
	s.lines[l] = true
	s.running.Add(1)
	return true
}

func (s *Server) dismiss(l *line) {
	_ = l.Close()
	s.known(l)
	s.mu.Lock()
	delete(s.lines, l)
	s.mu.Unlock()
	s.running.Done()
}

// known counts a connection out of those that have not authenticated.
func (s *Server) known(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.waiting {
		l.waiting = false
		s.startups.leave(l.from())
	}
}

// enter counts a connection to its tenant, unless that has too many or all have.
func (s *Server) enter(tenant core.TenantAlias) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[tenant] >= MaxPerTenant || s.entered >= MaxConnections {
		return false
	}
	s.entered++
	s.of[tenant]++
	return true
}

func (s *Server) leave(tenant core.TenantAlias) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entered--
	if s.of[tenant]--; s.of[tenant] == 0 {
		delete(s.of, tenant)
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// drain closes the connections that are done, and at last all.
func (s *Server) drain() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	end := time.Now().Add(cmp.Or(s.Drain, drainTime))
	for s.closeLines(time.Now().After(end)) > 0 {
		time.Sleep(quietTime / 10)
	}
}

// closeLines closes those that are done, or all, and returns how many are left.
func (s *Server) closeLines(all bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.lines {
		if all || l.uploads.Load() == 0 && l.quiet() > quietTime {
			_ = l.Close()
		}
	}
	if all {
		return 0
	}
	return len(s.lines)
}
