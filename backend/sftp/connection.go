package sftp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"kith/backend/app/sshkey"
	"kith/core"
)

// maxSessions is how many sessions one connection may have.
const maxSessions = 4

// Names of the permissions in which a handshake stores the authenticated tenant and key.
const (
	grantTenant = "tenant"
	grantKey    = "fingerprint"
)

// client is an authenticated connection of a tenant.
type client struct {
	server *Server
	conn   *timedConn
	tenant core.TenantAlias
	// fingerprint is that of the key with which the client authenticated.
	fingerprint string
	log         *slog.Logger

	mu sync.Mutex
	// open counts the open files and listings of all sessions, early the bytes that
	// arrived before those in front of them.
	open, early int
}

// serveConn serves one connection up to its end.
func (s *Server) serveConn(ctx context.Context, l *timedConn) {
	c, channels, err := s.handshake(ctx, l)
	if err != nil {
		s.log.Info("sftp: not authenticated", "remote", l.RemoteAddr(), "error", err)
		return
	}
	s.authenticated(l)
	if !s.enter(c.tenant) {
		c.log.Warn("sftp: refused: the tenant, or all tenants together, have too many connections")
		return
	}
	defer s.leave(c.tenant)
	if err := s.engine.SFTPKeys.Use(ctx, c.tenant, c.fingerprint); err != nil {
		c.log.Error("sftp: record the use of a key", "error", err)
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	free := make(chan struct{}, maxSessions)
	for requested := range channels {
		if requested.ChannelType() != "session" {
			_ = requested.Reject(ssh.Prohibited, "this server only accepts uploads")
			continue
		}
		select {
		case free <- struct{}{}:
		default:
			_ = requested.Reject(ssh.ResourceShortage, "too many sessions")
			continue
		}
		channel, requests, err := requested.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() {
			defer func() { <-free }()
			c.serveSession(ctx, channel, requests)
		})
	}
}

// handshake authenticates the client, within a bounded time.
func (s *Server) handshake(ctx context.Context, l *timedConn) (*client, <-chan ssh.NewChannel, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.Handshake, handshakeTime))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			_ = l.Close()
		}
	})()
	conn, channels, requests, err := ssh.NewServerConn(l, s.config(ctx))
	if err != nil {
		return nil, nil, err
	}
	go ssh.DiscardRequests(requests)
	// The library returns the permissions of the key that the client proved to have,
	// not those of other keys that it offered.
	c := &client{
		server: s, conn: l, tenant: core.TenantAlias(conn.Permissions.Extensions[grantTenant]),
		fingerprint: conn.Permissions.Extensions[grantKey],
	}
	c.log = s.log.With("tenant", c.tenant, "remote", l.RemoteAddr(), "key", c.fingerprint)
	return c, channels, nil
}

func (s *Server) config(ctx context.Context) *ssh.ServerConfig {
	config := &ssh.ServerConfig{
		ServerVersion: "SSH-2.0-Kith",
		// RSA with SHA-1 is left out: SHA-1 is broken.
		PublicKeyAuthAlgorithms: []string{ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			return s.grant(ctx, meta.User(), key)
		},
	}
	config.AddHostKey(s.host)
	return config
}

var errUnknownKey = errors.New("the tenant has no such key")

// grant returns the permissions of a key, or errUnknownKey. The error does not show
// whether the tenant exists.
func (s *Server) grant(ctx context.Context, user string, key ssh.PublicKey) (*ssh.Permissions, error) {
	tenant, err := core.ParseTenantAlias(user)
	if err != nil || sshkey.Check(key) != nil {
		return nil, errUnknownKey
	}
	fingerprint := ssh.FingerprintSHA256(key)
	known, err := s.engine.SFTPKeys.Known(ctx, tenant, fingerprint)
	if err != nil {
		s.log.Error("sftp: look up key", "tenant", tenant, "error", err)
	}
	if err != nil || !known {
		return nil, errUnknownKey
	}
	return &ssh.Permissions{Extensions: map[string]string{grantTenant: string(tenant), grantKey: fingerprint}}, nil
}

// session serves one SSH session, in which only the sftp subsystem can be requested.
func (c *client) serveSession(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	begun := false
	for r := range requests {
		var subsystem struct{ Name string }
		ok := !begun && r.Type == "subsystem" && ssh.Unmarshal(r.Payload, &subsystem) == nil && subsystem.Name == "sftp"
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		if !ok {
			continue
		}
		begun = true
		serving.Go(func() { c.serve(ctx, channel) })
	}
}

func (c *client) serve(ctx context.Context, channel ssh.Channel) {
	s := &session{client: c, ctx: ctx, stderr: channel.Stderr()}
	server := sftp.NewRequestServer(&guard{ReadWriteCloser: channel}, sftp.Handlers{FileGet: s, FilePut: s, FileCmd: s, FileList: s})
	_ = server.Serve()
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{}))
	_ = channel.Close()
}

// acquire counts a file or listing that a client opens; false means that too many are open.
func (c *client) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open >= maxOpen {
		return false
	}
	c.open++
	return true
}

func (c *client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

// reserve counts n early bytes; false means that there are too many. A negative n
// frees them again.
func (c *client) reserve(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.early+n > maxEarly {
		return false
	}
	c.early += n
	return true
}
