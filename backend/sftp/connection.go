package sftp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"kith/core"
)

// maxSessions is how many sessions one connection may have.
const maxSessions = 4

// Names under which a handshake notes whom it let in.
const (
	grantTenant = "tenant"
	grantKey    = "fingerprint"
)

// sender is who is connected.
type sender struct {
	server *Server
	line   *line
	tenant core.TenantAlias
	// fingerprint is that of the key which it came with.
	fingerprint string
	log         *slog.Logger

	mu sync.Mutex
	// open counts files and listings that are open, held the bytes that came
	// early, in all sessions.
	open, held int
}

// connection serves one connection up to its end.
func (s *Server) connection(ctx context.Context, l *line) {
	who, channels, err := s.handshake(ctx, l)
	if err != nil {
		s.log.Info("sftp: nobody came in", "remote", l.RemoteAddr(), "error", err)
		return
	}
	s.known(l)
	if !s.enter(who.tenant) {
		who.log.Warn("sftp: the tenant has too many connections, or all tenants have")
		return
	}
	defer s.leave(who.tenant)
	if err := s.engine.SFTPKeys.Use(ctx, who.tenant, who.fingerprint); err != nil {
		who.log.Error("sftp: the use of a key is not noted", "error", err)
	}
	var sessions sync.WaitGroup
	defer sessions.Wait()
	free := make(chan struct{}, maxSessions)
	for asked := range channels {
		if asked.ChannelType() != "session" {
			_ = asked.Reject(ssh.Prohibited, "only files can be sent here")
			continue
		}
		select {
		case free <- struct{}{}:
		default:
			_ = asked.Reject(ssh.ResourceShortage, "too many sessions")
			continue
		}
		channel, requests, err := asked.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() {
			defer func() { <-free }()
			who.session(ctx, channel, requests)
		})
	}
}

// handshake learns who is there, within a bounded time.
func (s *Server) handshake(ctx context.Context, l *line) (*sender, <-chan ssh.NewChannel, error) {
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
	// What the library hands back belongs to the key that was proven; whatever
	// was seen while others were tried does not.
	who := &sender{
		server: s, line: l, tenant: core.TenantAlias(conn.Permissions.Extensions[grantTenant]),
		fingerprint: conn.Permissions.Extensions[grantKey],
	}
	who.log = s.log.With("tenant", who.tenant, "remote", l.RemoteAddr(), "key", who.fingerprint)
	return who, channels, nil
}

func (s *Server) config(ctx context.Context) *ssh.ServerConfig {
	config := &ssh.ServerConfig{
		ServerVersion: "SSH-2.0-Kith",
		// RSA with SHA-1 is not among them.
		PublicKeyAuthAlgorithms: []string{ssh.KeyAlgoED25519, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
		PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			return s.grant(ctx, meta.User(), key)
		},
	}
	config.AddHostKey(s.host)
	return config
}

var errUnknownKey = errors.New("the tenant has no such key")

// grant lets a key in, or not; whether there is such a tenant is not said.
func (s *Server) grant(ctx context.Context, user string, key ssh.PublicKey) (*ssh.Permissions, error) {
	tenant, err := core.ParseTenantAlias(user)
	if err != nil || acceptable(key) != nil {
		return nil, errUnknownKey
	}
	fingerprint := ssh.FingerprintSHA256(key)
	known, err := s.engine.SFTPKeys.Known(ctx, tenant, fingerprint)
	if err != nil {
		s.log.Error("sftp: a key cannot be looked up", "tenant", tenant, "error", err)
	}
	if err != nil || !known {
		return nil, errUnknownKey
	}
	return &ssh.Permissions{Extensions: map[string]string{grantTenant: string(tenant), grantKey: fingerprint}}, nil
}

// session serves one session: it waits for the only thing that can be asked for.
func (who *sender) session(ctx context.Context, channel ssh.Channel, requests <-chan *ssh.Request) {
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
		serving.Go(func() { who.serve(ctx, channel) })
	}
}

func (who *sender) serve(ctx context.Context, channel ssh.Channel) {
	b := &box{sender: who, ctx: ctx, aside: channel.Stderr()}
	server := sftp.NewRequestServer(&guard{ReadWriteCloser: channel}, sftp.Handlers{FileGet: b, FilePut: b, FileCmd: b, FileList: b})
	_ = server.Serve()
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{}))
	_ = channel.Close()
}

// take counts something in that a client opens, unless it has too much open.
func (who *sender) take() bool {
	who.mu.Lock()
	defer who.mu.Unlock()
	if who.open >= maxOpen {
		return false
	}
	who.open++
	return true
}

func (who *sender) giveBack() {
	who.mu.Lock()
	defer who.mu.Unlock()
	who.open--
}

// hold counts bytes in that came early, unless there are too many of them.
func (who *sender) hold(n int) bool {
	who.mu.Lock()
	defer who.mu.Unlock()
	if who.held+n > maxHeld {
		return false
	}
	who.held += n
	return true
}
