// Package sftp is an SFTP server to which tenants upload files to import. Access is by
// public key. The name of a file decides the type of its job, and the job begins when
// the client closes the file. Clients can only upload: they cannot list, read, rename
// or remove files, and there is no shell, no command and no forwarding.
//
// Package app decides what a file means and whether it becomes a job. This package
// implements the protocol and bounds the resources that one client can use.
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
	// MaxConnections bounds the authenticated connections of all tenants, MaxPerTenant
	// those of one tenant, and MaxPerAddress the unauthenticated connections from one
	// address (or IPv6 network, /64).
	MaxConnections = 64
	MaxPerTenant   = 8
	MaxPerAddress  = 8
	// Below earlyDrop unauthenticated connections, all new ones are accepted. From
	// earlyDrop on, dropPercent of new connections are refused at random, and the
	// share rises to all of them at maxHandshakes. So a client that tries again is
	// accepted even while others keep silent connections open (OpenSSH: MaxStartups
	// 10:30:100). MaxConnections does not count these connections.
	earlyDrop     = 10
	dropPercent   = 30
	maxHandshakes = 100
	// idleTime is how long a connection may be idle.
	idleTime = 5 * time.Minute
	// quietTime is the idle time after which a stop closes a connection without uploads.
	quietTime = 500 * time.Millisecond
)

// The defaults of Server.Drain and Server.Handshake.
const (
	drainTime     = 15 * time.Second
	handshakeTime = 15 * time.Second
)

// Server receives files. Make it with New.
type Server struct {
	// Drain bounds how long running uploads may continue after the server was
	// stopped; zero means 15 seconds. It must be set before Serve.
	Drain time.Duration
	// Handshake bounds how long a client may take to authenticate; zero means 15
	// seconds. It must be set before Serve.
	Handshake time.Duration

	engine *app.Engine
	host   ssh.Signer
	log    *slog.Logger

	mu sync.Mutex
	// conns has all connections. entered counts the authenticated ones, of by tenant.
	conns    map[*timedConn]bool
	entered  int
	of       map[core.TenantAlias]int
	startups startups
	stopping bool
	running  sync.WaitGroup
}

// New returns a server with the given host key; see HostKey.
func New(engine *app.Engine, host ssh.Signer, log *slog.Logger) *Server {
	return &Server{
		engine: engine, host: host, log: log, startups: newStartups(),
		conns: map[*timedConn]bool{}, of: map[core.TenantAlias]int{},
	}
}

// The library offers extensions of the protocol by default. None is needed to upload
// a file, so this switches them off.
func init() { _ = sftp.SetSFTPExtensions() }

// Serve receives files until the context ends. Then it accepts no new file, lets
// running uploads continue for at most Drain, and closes the remaining connections.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	accepting := make(chan error, 1)
	go func() { accepting <- s.accept(context.WithoutCancel(ctx), listener) }()
	var err error
	select {
	case err = <-accepting:
	case <-ctx.Done():
		// The connections that wait are accepted, and not reset.
		if waiting, ok := listener.(interface{ Drain() }); ok {
			waiting.Drain()
		} else {
			_ = listener.Close()
		}
		<-accepting
		_ = listener.Close()
	}
	s.drain()
	s.running.Wait()
	return err
}

func (s *Server) accept(ctx context.Context, listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		if temporary(err) {
			// For example too many open files, which may be over at the next try.
			s.log.Error("sftp: accept", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		l := &timedConn{Conn: conn}
		l.touch()
		if !s.admit(l) {
			s.log.Warn("sftp: refused: too many unauthenticated connections", "remote", conn.RemoteAddr())
			_ = conn.Close()
			continue
		}
		go func() {
			defer s.dismiss(l)
			s.serveConn(ctx, l)
		}()
	}
}

func temporary(err error) bool {
	var network net.Error
	return err != nil && !errors.Is(err, net.ErrClosed) && errors.As(err, &network)
}

// admit counts a new connection, which has not authenticated yet; false means that
// there are too many of those.
func (s *Server) admit(l *timedConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || !s.startups.enter(l.from(), rand.Float64()) { // #nosec G404 -- a client that foresees it gains one try
		return false
	}
	l.pending = true
	s.conns[l] = true
	s.running.Add(1)
	return true
}

func (s *Server) dismiss(l *timedConn) {
	_ = l.Close()
	s.authenticated(l)
	s.mu.Lock()
	delete(s.conns, l)
	s.mu.Unlock()
	s.running.Done()
}

// authenticated records that a connection has authenticated, or has ended.
func (s *Server) authenticated(l *timedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.pending {
		l.pending = false
		s.startups.leave(l.from())
	}
}

// enter counts a connection for its tenant; false means that there are too many.
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

// drain closes connections as they become idle, and in the end all.
func (s *Server) drain() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	end := time.Now().Add(cmp.Or(s.Drain, drainTime))
	for s.closeConns(time.Now().After(end)) > 0 {
		time.Sleep(quietTime / 10)
	}
}

// closeConns closes the idle connections, or all, and returns how many are left.
func (s *Server) closeConns(all bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.conns {
		if all || l.uploads.Load() == 0 && l.quiet() > quietTime {
			_ = l.Close()
		}
	}
	if all {
		return 0
	}
	return len(s.conns)
}
