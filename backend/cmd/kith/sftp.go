package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"

	"golang.org/x/crypto/ssh"

	"kith/backend/app"
	"kith/backend/app/sshkey"
	"kith/backend/app/tenants"
	"kith/backend/demo"
	"kith/backend/sftp"
	"kith/core"
	"kith/core/people"
)

// sftpFlags configure the SFTP server.
type sftpFlags struct {
	SFTPHostKey string `env:"KITH_SFTP_HOST_KEY" help:"File of the SFTP server's host key: a private key written by ssh-keygen, without a passphrase. Default: the file sftp_host_key in the data folder, created when it is missing." placeholder:"FILE"`
}

// sftpServer is an SFTP server with its listener and host key.
type sftpServer struct {
	server   *sftp.Server
	listener net.Listener
	host     ssh.Signer
}

// openSFTP opens an SFTP server. It returns nil if the address is empty or off.
func (f sftpFlags) openSFTP(e *env, engine *app.Engine, addr, data string) (*sftpServer, error) {
	if addr == "" || addr == off {
		return nil, nil
	}
	host, err := f.hostKey(data)
	if err != nil {
		return nil, err
	}
	listener, err := listen("sftp-addr", addr)
	if err != nil {
		return nil, err
	}
	e.log.Log(e.ctx, e.configLevel, "config", "part", "sftp", "version", version, "addr", listener.Addr().String(), "host_key", ssh.FingerprintSHA256(host.PublicKey()))
	engine.SFTPKeys.Server = &tenants.SFTPServer{Addr: reachable(listener.Addr().String()), HostKey: ssh.FingerprintSHA256(host.PublicKey())}
	server := sftp.New(engine, host, e.log)
	server.Drain = e.stopTimeout
	return &sftpServer{server: server, listener: listener, host: host}, nil
}

// check returns an error if the host key that is given cannot be read.
func (f sftpFlags) check() error {
	if f.SFTPHostKey == "" {
		return nil
	}
	_, err := f.hostKey("")
	return err
}

func (f sftpFlags) hostKey(data string) (ssh.Signer, error) {
	if f.SFTPHostKey != "" {
		text, err := os.ReadFile(f.SFTPHostKey)
		if err != nil {
			return nil, fmt.Errorf("sftp-host-key: %w", err)
		}
		return sshkey.ParseHost(f.SFTPHostKey, text)
	}
	return loadOrCreateKey(filepath.Join(data, "sftp_host_key"), "kith")
}

// loadOrCreateKey returns the key in a file. It creates the file if it does not exist.
func loadOrCreateKey(path, note string) (ssh.Signer, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return sshkey.ParseHost(path, text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("sftp: %w", err)
	}
	private, _, err := sshkey.New(note)
	if err != nil {
		return nil, err
	}
	if _, err := writeNewSecret(path, private); err != nil {
		return nil, fmt.Errorf("sftp: %w", err)
	}
	return loadOrCreateKey(path, note)
}

// start serves in the background until the context ends, and returns a function that
// waits for that. An error of the server is logged, and the other servers continue.
func (s *sftpServer) start(e *env) (wait func()) {
	var running sync.WaitGroup
	if s != nil {
		running.Go(func() {
			if err := s.server.Serve(e.ctx, s.listener); err != nil {
				e.log.Error("sftp", "error", err)
			}
		})
	}
	return running.Wait
}

type sftpCommand struct {
	databaseFlags
	opsFlags
	fileFlags
	sftpFlags
	SFTPAddr string `env:"KITH_SFTP_ADDR" default:"127.0.0.1:2022" help:"Address that the SFTP server listens on."`
}

// Run receives files until the context ends. The workers of the backends import them.
func (c *sftpCommand) Run(e *env) error {
	if err := errors.Join(checkAddr("sftp-addr", c.SFTPAddr), checkAddr("ops-addr", c.OpsAddr, ""), c.fileFlags.check(e, c.Data), c.sftpFlags.check()); err != nil {
		return err
	}
	engine, err := c.databaseFlags.openOrCreate(e)
	if err != nil {
		return err
	}
	defer engine.DB.Close()
	if err := c.fileFlags.apply(e, engine, c.Data); err != nil {
		return err
	}
	defer engine.Files.Store.Close()
	s, err := c.openSFTP(e, engine, c.SFTPAddr, c.Data)
	if err != nil {
		return err
	}
	if err := c.serveOps(e, map[string]probe{"database": engine.Health.Ready}); err != nil {
		return err
	}
	err = s.server.Serve(e.ctx, s.listener)
	e.log.Info("sftp stopped")
	return err
}

// demoSFTP opens the SFTP server of `kith dev`, allows a key in the data folder to send
// files of the demo tenants, and returns the command that connects with it. If the
// server is off, it returns nil and "".
func (c *devCommand) demoSFTP(ctx context.Context, e *env, engine *app.Engine) (s *sftpServer, command string, err error) {
	s, err = c.openSFTP(e, engine, c.SFTPAddr, c.Data)
	if err != nil || s == nil {
		return nil, "", err
	}
	path := filepath.Join(c.Data, "sftp_demo_key")
	key, err := loadOrCreateKey(path, "kith-demo")
	if err != nil {
		return nil, "", err
	}
	parsed, err := sshkey.Parse(ssh.MarshalAuthorizedKey(key.PublicKey()))
	if err != nil {
		return nil, "", err
	}
	parsed.Note = "kith dev"
	for _, tenant := range []core.TenantAlias{demo.LiveTenant, demo.TestTenant} {
		if _, err := engine.SFTPKeys.Add(ctx, tenant, parsed); err != nil {
			return nil, "", err
		}
	}
	addr := reachable(s.listener.Addr().String())
	known := filepath.Join(c.Data, "sftp_known_hosts")
	if err := os.WriteFile(known, []byte(sshkey.KnownHost(addr, s.host)), 0o600); err != nil {
		return nil, "", fmt.Errorf("sftp: %w", err)
	}
	host, port, err := net.SplitHostPort(addr)
	return s, fmt.Sprintf("sftp -P %s -i %s -o UserKnownHostsFile=%s %s@%s", port, path, known, demo.LiveTenant, host), err
}

type sftpKeyCommand struct {
	Add    sftpKeyAddCommand    `cmd:"" help:"Allow a public key to send files of a tenant. SFTP clients give the tenant as user name."`
	Remove sftpKeyRemoveCommand `cmd:"" help:"Remove a public key, and close its open sessions."`
	List   sftpKeyListCommand   `cmd:"" help:"Print the public keys of a tenant, and when each was last used."`
}

// maxKeyFile is the largest file of a public key, in bytes.
const maxKeyFile = 64 << 10

type sftpKeyAddCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant; its test tenant has keys of its own."`
	File  string `arg:"" help:"File of an RSA or Ed25519 public key, as written by ssh-keygen (.pub); - is the standard input."`
}

// Run allows the key and prints its fingerprint.
func (c *sftpKeyAddCommand) Run(e *env) error {
	text, err := readFile(c.File, maxKeyFile, os.Open)
	if err != nil {
		return err
	}
	key, err := sshkey.Parse(text)
	if err != nil {
		return err
	}
	return c.with(e, func(engine *app.Engine) error {
		already := ""
		_, err := engine.Admin.SFTPKeys.Add(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), string(text))
		var known *core.Error
		if errors.As(err, &known) && known.Code == core.CodeConflict {
			already, err = "  (already allowed)", nil
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.out, key.Fingerprint+already)
		return err
	})
}

type sftpKeyRemoveCommand struct {
	databaseFlags
	Alias       string `arg:"" help:"Alias of the tenant."`
	Fingerprint string `arg:"" help:"Fingerprint of the key, as printed by add and list (SHA256:…)."`
}

// Run removes the key. It fails if the tenant has no such key.
func (c *sftpKeyRemoveCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		return engine.Admin.SFTPKeys.Remove(e.ctx, people.OperatorOf(core.TenantAlias(c.Alias)), c.Fingerprint)
	})
}

type sftpKeyListCommand struct {
	databaseFlags
	Alias string `arg:"" help:"Alias of the tenant."`
}

// Run prints one line for each key.
func (c *sftpKeyListCommand) Run(e *env) error {
	return c.with(e, func(engine *app.Engine) error {
		keys, err := engine.SFTPKeys.List(e.ctx, core.TenantAlias(c.Alias))
		if err != nil {
			return err
		}
		out := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		for _, k := range keys {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", k.Fingerprint, k.Type, lastUse(k.Used), k.Note)
		}
		return out.Flush()
	})
}
