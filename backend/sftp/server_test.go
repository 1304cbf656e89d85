package sftp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/sshkey"
	"kith/backend/app/tenants"
	"kith/backend/file"
	"kith/backend/sftp"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
	"kith/core/referral"
)

// deadline bounds every wait. A test that passes never waits that long.
const deadline = sqldtest.Deadline

// testServer is a server on a port of its own, with two tenants that have one key each.
type testServer struct {
	*app.Engine
	addr  string
	host  ssh.PublicKey
	files string
	log   *testenv.Log
	// acme is the key of tenant acme, other that of tenant other.
	acme, other ssh.Signer
	// stop stops the server, and waits for its end.
	stop func()
}

func open(t *testing.T, change ...func(*app.Engine)) *testServer {
	t.Helper()
	d := &testServer{files: t.TempDir(), log: &testenv.Log{}, acme: ed25519Key(t), other: ed25519Key(t)}
	db, err := store.Open(storetest.File(t), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	now := func() core.Time { return core.Time(time.Now().UnixMilli()) }
	require.NoError(t, db.Migrate(t.Context(), now()))
	keys, err := auth.ParseKeyring(strings.Repeat("a", 64))
	require.NoError(t, err)
	d.Engine = app.New(base.Base{DB: db, Keys: keys, Now: now, Entropy: func(p []byte) { _, _ = rand.Read(p) }})
	d.Files.Store, d.Jobs.CallTime = file.Dir(d.files), time.Hour
	for _, c := range change {
		c(d.Engine)
	}
	for tenant, key := range map[core.TenantAlias]ssh.Signer{"acme": d.acme, "other": d.other} {
		require.NoError(t, d.Tenants.Create(t.Context(), tenants.NewTenant{
			Alias: tenant, Key: d.APIKeys.MakeKey(tenant), Policy: link.Policy{Consent: link.ConsentOff},
			Program: referral.DefaultProgram("https://" + string(tenant) + ".example/"),
		}))
		d.allow(t, tenant, key)
	}
	d.serve(t, deadline, time.Hour)
	return d
}

func (d *testServer) serve(t *testing.T, drain, handshake time.Duration) {
	t.Helper()
	private, public, err := sshkey.New("host")
	require.NoError(t, err)
	host, err := sshkey.ParseHost("host", private)
	require.NoError(t, err)
	d.host, _, _, _, err = ssh.ParseAuthorizedKey(public)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d.addr = listener.Addr().String()
	server := sftp.New(d.Engine, host, slog.New(slog.NewTextHandler(d.log, nil)))
	server.Drain, server.Handshake = drain, handshake
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	d.stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-done) })
	t.Cleanup(d.stop)
}

func (d *testServer) allow(t *testing.T, tenant core.TenantAlias, key ssh.Signer) {
	t.Helper()
	parsed, err := sshkey.Parse(ssh.MarshalAuthorizedKey(key.PublicKey()))
	require.NoError(t, err)
	added, err := d.SFTPKeys.Add(t.Context(), tenant, parsed)
	require.NoError(t, err)
	require.True(t, added)
}

func ed25519Key(t *testing.T) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return signer(t, key)
}

func signer(t *testing.T, key any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return s
}

func rsaKey(t *testing.T, bits int) ssh.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return signer(t, key)
}

func ecdsaKey(t *testing.T) ssh.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return signer(t, key)
}

// dial connects without opening a session.
func (d *testServer) dial(user string, methods ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", d.addr, &ssh.ClientConfig{
		User: user, Auth: methods, HostKeyCallback: ssh.FixedHostKey(d.host), Timeout: deadline,
	})
}

// sender is a client with a session, and the standard error of that session.
type sender struct {
	*client.Client
	conn   *ssh.Client
	stderr *testenv.Log
}

func (d *testServer) connect(t *testing.T, user string, key ssh.Signer, options ...client.ClientOption) *sender {
	t.Helper()
	conn, err := d.dial(user, ssh.PublicKeys(key))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	session, err := conn.NewSession()
	require.NoError(t, err)
	s := &sender{conn: conn, stderr: &testenv.Log{}}
	stderr, err := session.StderrPipe()
	require.NoError(t, err)
	go func() { _, _ = io.Copy(s.stderr, stderr) }()
	in, err := session.StdinPipe()
	require.NoError(t, err)
	out, err := session.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, session.RequestSubsystem("sftp"))
	s.Client, err = client.NewClientPipe(out, in, options...)
	require.NoError(t, err)
	return s
}

// send uploads a whole file and returns the error of closing it.
func (s *sender) send(t *testing.T, name, text string) error {
	t.Helper()
	f, err := s.Create(name)
	require.NoError(t, err)
	_, err = f.ReadFrom(strings.NewReader(text))
	require.NoError(t, err)
	return f.Close()
}

// awaitStderr waits until the standard error of the session contains some words.
func (s *sender) awaitStderr(t *testing.T, words string) {
	t.Helper()
	await(t, func() error {
		if !strings.Contains(s.stderr.String(), words) {
			return fmt.Errorf("standard error is %q, without %q", s.stderr, words)
		}
		return nil
	})
}

// jobs returns the jobs of a tenant, the newest first.
func (d *testServer) jobs(t *testing.T, tenant core.TenantAlias) []job.Job {
	t.Helper()
	found, _, err := d.Jobs.List(t.Context(), tenant, job.Filter{Limit: 100})
	require.NoError(t, err)
	return found
}

// source returns the stored file of a job of acme.
func (d *testServer) source(t *testing.T, id string) string {
	t.Helper()
	source, err := d.Jobs.Download(t.Context(), "acme", id, job.SourceFile)
	require.NoError(t, err)
	body, err := source.Open(t.Context(), 0)
	require.NoError(t, err)
	got, err := io.ReadAll(body)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	return string(got)
}

// done waits until the newest job of a tenant has ended, and returns it. A small job
// has usually ended when its upload is closed, unless the machine is busy.
func (d *testServer) done(t *testing.T, tenant core.TenantAlias) (newest job.Job) {
	t.Helper()
	await(t, func() error {
		_, err := d.Jobs.Work(t.Context())
		require.NoError(t, err)
		all := d.jobs(t, tenant)
		require.NotEmpty(t, all)
		if newest = all[0]; newest.Status == job.Pending {
			return fmt.Errorf("the job is at %d", newest.Stats.Processed)
		}
		return nil
	})
	return newest
}

// kept returns the stored files.
func (d *testServer) kept(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(d.files, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func await(t *testing.T, probe func() error) {
	t.Helper()
	end := time.Now().Add(deadline)
	for {
		err := probe()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %v", deadline, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// logged waits for a line in the log that contains all words.
func (d *testServer) logged(t *testing.T, words ...string) {
	t.Helper()
	await(t, func() error {
		for line := range strings.Lines(d.log.String()) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return nil
			}
		}
		return fmt.Errorf("no line with %q in\n%s", words, d.log)
	})
}
