package sftp_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"kith/backend/app"
	"kith/backend/sftp"
	"kith/core/job"
)

// users returns a file of n users.
func users(n int) string {
	var b strings.Builder
	b.WriteString("accountId,id,firstName\n")
	for i := range n {
		fmt.Fprintf(&b, "a%d,u%d,User %d\n", i, i, i)
	}
	return b.String()
}

// The name of a file decides the type of its job; the job exists once the file is
// closed.
func TestUpload_BecomesAJobWhenItIsClosed(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	for _, c := range []struct {
		name, text string
		typ        job.Type
		stats      job.Stats
	}{
		{"users_may.csv", users(3), job.ImportUser, job.Stats{Processed: 3}},
		{"/userEvents_may.jsonl", `{"accountId":"a0","userId":"u0","event":{"key":"purchase"}}` + "\n", job.ImportUserEvent, job.Stats{Processed: 1}},
		{"redeemRewards_may.csv", "accountId,id,unit,valueToRedeem\na0,u0,CENTS,5\n", job.ImportRedeem, job.Stats{Processed: 1, Errors: 1}},
		{"deleteUsers_may.csv", "accountId,id\na1,u1\n", job.ImportDelete, job.Stats{Processed: 1}},
	} {
		require.NoError(t, s.send(t, c.name, c.text), s.stderr)
		made := d.done(t, "acme")
		require.Equal(t, c.typ, made.Type)
		require.Equal(t, strings.TrimPrefix(c.name, "/"), made.Name)
		require.Equal(t, job.RequesterSFTP, made.Requester)
		require.Equal(t, job.Completed, made.Status, made.Message)
		require.Equal(t, c.stats, made.Stats)
		require.Equal(t, c.text, d.source(t, made.ID))
	}
	require.Empty(t, d.jobs(t, "other"))
	require.Empty(t, s.stderr.String(), "a successful upload prints nothing")
}

// A file of 10 MB arrives whole from a client that sends chunks one after the other,
// and from one that sends them in no order.
func TestUpload_ChunksInAnyOrder(t *testing.T) {
	t.Parallel()
	d := open(t)
	text := users(1) + strings.Repeat("a,u,"+strings.Repeat("x", 1000)+"\n", 10_000)
	for _, concurrent := range []bool{false, true} {
		s := d.connect(t, "acme", d.acme, client.UseConcurrentWrites(concurrent))
		f, err := s.Create("users_many.csv")
		require.NoError(t, err)
		n, err := f.ReadFromWithConcurrency(strings.NewReader(text), 64)
		require.NoError(t, err)
		require.EqualValues(t, len(text), n)
		require.NoError(t, f.Close())
		made := d.jobs(t, "acme")[0]
		require.Equal(t, job.Pending, made.Status, "the job waits for a worker")
		require.True(t, text == d.source(t, made.ID), "the stored bytes equal those that were sent")
	}
}

// A file may arrive with its last chunk first: early chunks are kept, up to a bound.
func TestUpload_Backwards(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	text := users(2000)
	f, err := s.Create("users_backwards.csv")
	require.NoError(t, err)
	const chunk = 1000
	for at := len(text) / chunk * chunk; at >= 0; at -= chunk {
		_, err := f.WriteAt([]byte(text[at:min(at+chunk, len(text))]), int64(at))
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	require.Equal(t, job.Stats{Processed: 2000}, d.done(t, "acme").Stats)
}

// A file with missing or repeated bytes is not stored, and its client gets an error.
func TestUpload_ChunksThatDoNotFit(t *testing.T) {
	t.Parallel()
	d := open(t)
	type chunk struct {
		at int64
		n  int
	}
	for name, c := range map[string]struct {
		chunks []chunk
		want   string
	}{
		"a gap":              {[]chunk{{0, 10}, {20, 10}}, "bytes are missing from 10 on"},
		"no beginning":       {[]chunk{{1, 10}}, "bytes are missing from 0 on"},
		"twice":              {[]chunk{{0, 10}, {0, 10}}, "the bytes from 0 on were sent twice"},
		"over sent bytes":    {[]chunk{{0, 10}, {5, 10}}, "the bytes from 5 on were sent twice"},
		"over early bytes":   {[]chunk{{10, 10}, {5, 10}, {0, 5}}, "bytes are missing from 15 on"},
		"early and twice":    {[]chunk{{10, 10}, {10, 10}}, "the bytes from 10 on were sent twice"},
		"too many early":     {[]chunk{{1, 8 << 20}, {8<<20 + 1, 1}}, "the bytes from 0 on are missing"},
		"nothing":            {nil, "file: is empty"},
		"nothing, many ways": {[]chunk{{0, 0}, {5, 0}, {1 << 60, 0}}, "file: is empty"},
	} {
		s := d.connect(t, "acme", d.acme)
		f, err := s.Create("users_chunks.csv")
		require.NoError(t, err, name)
		for _, p := range c.chunks {
			_, _ = f.WriteAt(make([]byte, p.n), p.at)
		}
		err = f.Close()
		require.ErrorContains(t, err, c.want, name)
		s.awaitStderr(t, c.want)
		require.NoError(t, s.conn.Close())
	}
	require.Empty(t, d.jobs(t, "acme"))
	require.Empty(t, d.kept(t))
}

// The number of early chunks is bounded, however short they are.
func TestUpload_ManyEarlyChunks(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	f, err := s.Create("users_chunks.csv")
	require.NoError(t, err)
	for i := range 1025 {
		if _, err = f.WriteAt([]byte("x"), int64(2*i+1)); err != nil {
			require.Equal(t, 1024, i)
		}
	}
	require.ErrorContains(t, err, "the bytes from 0 on are missing")
	require.Error(t, f.Close())
	require.Empty(t, d.jobs(t, "acme"))
}

func TestUpload_SizeIsBounded(t *testing.T) {
	t.Parallel()
	d := open(t, func(e *app.Engine) { e.Files.Max = 100_000 })
	s := d.connect(t, "acme", d.acme)
	f, err := s.Create("users_large.csv")
	require.NoError(t, err)
	_, err = f.ReadFrom(strings.NewReader(users(10_000)))
	require.ErrorContains(t, err, "file: is larger than 100000 bytes")
	require.ErrorContains(t, f.Close(), "file: is larger than 100000 bytes")
	require.Empty(t, d.jobs(t, "acme"))
	require.Empty(t, d.kept(t))
	require.NoError(t, s.send(t, "users_small.csv", users(10)), "the session continues")
}

func TestUpload_StorageIsBounded(t *testing.T) {
	t.Parallel()
	d := open(t, func(e *app.Engine) { e.Files.MaxStorage = 100_000 })
	s := d.connect(t, "acme", d.acme)
	f, err := s.Create("users_large.csv")
	require.NoError(t, err)
	const want = "file: exceeds the 100000 bytes that the files of a tenant may have; remove imports and exports"
	_, err = f.ReadFrom(strings.NewReader(users(10_000)))
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, f.Close(), want)
	require.Empty(t, d.jobs(t, "acme"))
	require.Empty(t, d.kept(t))
	require.NoError(t, s.send(t, "users_small.csv", users(10)), "the session continues")
}

// Closing an invalid file returns an error, and its job records the reason.
func TestUpload_BrokenFile(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	for name, c := range map[string]struct{ text, want string }{
		"small":      {"account,id\na,b\n", "column account: is not a column of this type of job; say in params.columns what it is, or leave it out; column accountId: is required, and the header does not have it"},
		"large":      {strings.Replace(users(10_000), "accountId", "account", 1), "column account: is not a column"},
		"no rows":    {"accountId,id\n", "the file has no rows"},
		"at its end": {users(10) + "x,\"y", "row 12: a quote is missing at the end of a field"},
	} {
		err := s.send(t, "users_broken.csv", c.text)
		require.ErrorContains(t, err, `: nothing was imported; job `, name)
		require.ErrorContains(t, err, c.want, name)
		made := d.done(t, "acme")
		require.Equal(t, job.Aborted, made.Status, name)
		require.Contains(t, made.Message, c.want, name)
		require.Contains(t, err.Error(), made.ID, name)
		d.logged(t, "sftp: file invalid", "job="+made.ID, "tenant=acme")
	}
	_, err := d.Users.ByID(t.Context(), "acme", "a0", "u0")
	require.Error(t, err)
}

// Invalid rows fail alone; the log lists them.
func TestUpload_WrongRows(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	require.NoError(t, s.send(t, "users_rows.csv", "accountId,id\na,\nb,b\n"))
	made := d.done(t, "acme")
	require.Equal(t, job.Completed, made.Status)
	require.Equal(t, job.Stats{Processed: 2, Errors: 1}, made.Stats)
	d.logged(t, "sftp: rows failed", "row 2, column id: is required", "job="+made.ID)
	require.NoError(t, s.send(t, "users_again.csv", "accountId,id\na,\nb,b\n"))
	require.Equal(t, "the same content was imported before, by job "+made.ID, d.done(t, "acme").Message)
}

// In whatever way a connection ends before the file is closed, no job and no file
// remain.
func TestUpload_CutInTheMiddle(t *testing.T) {
	t.Parallel()
	text := users(50_000)
	for name, cut := range map[string]func(*flakyProxy, *sender){
		"the proxy is cut":       func(c *flakyProxy, _ *sender) { c.cut() },
		"the connection closes":  func(_ *flakyProxy, s *sender) { _ = s.conn.Close() },
		"the session ends":       func(_ *flakyProxy, s *sender) { _ = s.Close() },
		"the server is stopped":  nil,
		"after the first chunk":  func(c *flakyProxy, _ *sender) { c.cut() },
		"before the first chunk": func(c *flakyProxy, _ *sender) { c.cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			if cut == nil {
				d.stop()
				d.serve(t, time.Millisecond, time.Hour)
			}
			c := startFlakyProxy(t, d.addr)
			d.addr = c.addr
			s := d.connect(t, "acme", d.acme)
			f, err := s.Create("users_cut.csv")
			require.NoError(t, err)
			sent := map[string]int{"before the first chunk": 0, "after the first chunk": 100}
			n, ok := sent[name]
			if !ok {
				n = len(text) / 2
			}
			_, err = f.Write([]byte(text[:n]))
			require.NoError(t, err)
			if n > 100 {
				require.NotEmpty(t, d.kept(t), "the file is being written")
			}
			if cut == nil {
				d.stop()
			} else {
				cut(c, s)
			}
			d.logged(t, "sftp: file not stored", "users_cut.csv", "the connection ended before the file was closed")
			require.Empty(t, d.jobs(t, "acme"))
			require.Empty(t, d.kept(t))
			if cut != nil {
				require.NoError(t, d.connect(t, "acme", d.acme).send(t, "users_cut.csv", text), "the file can be sent again")
				require.Len(t, d.jobs(t, "acme"), 1)
			}
		})
	}
}

// A client whose user interrupts the upload closes the incomplete file. OpenSSH and
// most libraries send 32 KiB at a time, so the length shows it.
func TestUpload_InterruptedAndClosed(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	text := users(10_000)
	for _, blocks := range []int{1, 3} {
		err := s.send(t, "users_half.csv", text[:blocks<<15])
		require.ErrorContains(t, err, "it ends at byte "+strconv.Itoa(blocks<<15)+", a multiple of 32768")
	}
	require.Empty(t, d.jobs(t, "acme"))
	require.Empty(t, d.kept(t))
	// A whole file may have such a length too: the error says how to change it.
	whole := users(10)
	whole += strings.Repeat("a,b,x\n", (1<<15-len(whole))/6)
	whole += strings.Repeat("\n", 1<<15-len(whole))
	require.Error(t, s.send(t, "users_whole.csv", whole))
	require.NoError(t, s.send(t, "users_whole.csv", whole+"\n"))
	require.Equal(t, job.Completed, d.done(t, "acme").Status)
}

// A name from which no type of job follows is refused when the file is opened.
func TestOpen_NamesThatAreRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	for name, want := range map[string]string{
		"list.csv":              `"list.csv": name: must begin with users_, userEvents_, deleteUsers_ or redeemRewards_`,
		"users_1.csv.filepart":  "name: must end in .xlsx, .csv, .tsv, .txt, .jsonl or .ndjson",
		"users_1.xls":           "name: must end in",
		".users_1.csv":          "name: must begin with",
		"\x1b[2Jusers_1.csv":    `"[2Jusers_1.csv": name: must begin with`,
		"in/users_1.csv":        "no such folder",
		"../in/../x/users_.csv": "no such folder",
		"/":                     "name: must end in",
	} {
		_, err := s.Create(name)
		require.Error(t, err, name)
		s.awaitStderr(t, want)
	}
	require.NotContains(t, s.stderr.String(), "\x1b")
	require.ErrorIs(t, errOf(s.Create("x.csv")), fs.ErrPermission)
	require.NoError(t, s.send(t, "../../users_up.csv", users(1)), "the folder has no parent")
}

func errOf[T any](_ T, err error) error { return err }

// Every operation except uploading is refused, for uploaded files and for others.
func TestOperations_AreRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	require.NoError(t, s.send(t, "users_1.csv", users(1)))
	const name = "/users_1.csv"
	for what, err := range map[string]error{
		"read":           errOf(s.Open(name)),
		"append":         errOf(s.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE)),
		"write in place": errOf(s.OpenFile(name, os.O_WRONLY)),
		"truncate":       s.Truncate(name, 0),
		"chmod":          s.Chmod(name, 0o777),
		"chown":          s.Chown(name, 0, 0),
		"remove":         s.Remove(name),
		"rename":         s.Rename(name, "/users_2.csv"),
		"posix rename":   s.PosixRename(name, "/users_2.csv"),
		"hard link":      s.Link(name, "/users_2.csv"),
		"symlink":        s.Symlink(name, "/users_2.csv"),
		"read link":      errOf(s.ReadLink(name)),
		"mkdir":          s.Mkdir("/in"),
		"rmdir":          s.RemoveDirectory("/"),
	} {
		require.ErrorIs(t, err, fs.ErrPermission, what)
	}
	for what, err := range map[string]error{
		"stat": errOf(s.Stat(name)), "lstat": errOf(s.Lstat(name)), "list": errOf(s.ReadDir("/in")),
	} {
		require.ErrorIs(t, err, fs.ErrNotExist, what)
	}
	require.Error(t, errOf(s.StatVFS("/")))

	// Clients send these requests before an upload.
	at, err := s.Getwd()
	require.NoError(t, err)
	require.Equal(t, "/", at)
	entries, err := s.ReadDir("/")
	require.NoError(t, err)
	require.Empty(t, entries)
	root, err := s.Stat(".")
	require.NoError(t, err)
	require.True(t, root.IsDir())

	require.Len(t, d.jobs(t, "acme"), 1)
	require.NoError(t, s.send(t, "users_2.csv", users(2)), "the session continues")
}

// A file cannot be read during its upload either, and trying to does not change it.
func TestOperations_OnAnOpenFile(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	text := users(100)
	for _, flags := range []int{os.O_WRONLY | os.O_CREATE | os.O_TRUNC, os.O_RDWR | os.O_CREATE} {
		f, err := s.OpenFile("users_open.csv", flags)
		require.NoError(t, err)
		_, err = f.Write([]byte(text[:1000]))
		require.NoError(t, err)
		for _, at := range []int64{0, 1000} {
			n, err := f.ReadAt(make([]byte, 500), at)
			require.ErrorIs(t, err, fs.ErrPermission)
			require.Zero(t, n)
		}
		require.ErrorIs(t, f.Truncate(0), fs.ErrPermission)
		require.ErrorIs(t, f.Chmod(0o777), fs.ErrPermission)
		require.ErrorIs(t, errOf(f.Stat()), fs.ErrNotExist)
		_, err = f.Write([]byte(text[1000:]))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.Equal(t, job.Stats{Processed: 100}, d.done(t, "acme").Stats)
	}
}

// A connection offers only the sftp subsystem.
func TestConnection_OffersNothingElse(t *testing.T) {
	t.Parallel()
	d := open(t)
	conn, err := d.dial("acme", ssh.PublicKeys(d.acme))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for what, ask := range map[string]func(*ssh.Session) error{
		"shell":     func(s *ssh.Session) error { return s.Shell() },
		"command":   func(s *ssh.Session) error { return s.Start("scp -t /") },
		"terminal":  func(s *ssh.Session) error { return s.RequestPty("xterm", 80, 25, nil) },
		"variable":  func(s *ssh.Session) error { return s.Setenv("LD_PRELOAD", "x") },
		"subsystem": func(s *ssh.Session) error { return s.RequestSubsystem("netconf") },
	} {
		session, err := conn.NewSession()
		require.NoError(t, err)
		require.Error(t, ask(session), what)
		_ = session.Close()
	}
	_, err = conn.Dial("tcp", d.addr)
	require.ErrorContains(t, err, "this server only accepts uploads")
	_, err = conn.Listen("tcp", "127.0.0.1:0")
	require.Error(t, err)
	s, err := client.NewClient(conn)
	require.NoError(t, err, "sftp still works")
	require.NoError(t, s.Close())
}

// The open files of a connection are bounded; closed files do not count.
func TestConnection_OpenFilesAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	for range 20 {
		require.NoError(t, errOf(s.ReadDir("/")))
	}
	var open []*client.File
	for i := range 8 {
		f, err := s.Create("users_" + strconv.Itoa(i) + ".csv")
		require.NoError(t, err)
		open = append(open, f)
	}
	_, err := s.Create("users_more.csv")
	require.ErrorContains(t, err, "too many files are open on this connection")
	for i, f := range open {
		_, err := f.Write([]byte(users(i + 1)))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.Len(t, d.jobs(t, "acme"), 8)
	require.NoError(t, s.send(t, "users_more.csv", users(9)))
}

func TestConnections_OfATenantAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	var all []*sender
	for range sftp.MaxPerTenant {
		all = append(all, d.connect(t, "acme", d.acme))
	}
	conn, err := d.dial("acme", ssh.PublicKeys(d.acme))
	if err == nil {
		_, err = client.NewClient(conn)
	}
	require.Error(t, err)
	d.logged(t, "have too many connections", "tenant=acme")
	require.NoError(t, d.connect(t, "other", d.other).send(t, "users_1.csv", users(1)), "other tenants are not affected")
	require.NoError(t, all[0].conn.Close())
	await(t, func() error {
		conn, err := d.dial("acme", ssh.PublicKeys(d.acme))
		if err == nil {
			_, err = client.NewClient(conn)
		}
		return err
	})
}

// However many silent connections one address has, another address is accepted at its
// first try.
func TestConnections_OfOneAddressBlockNoOther(t *testing.T) {
	t.Parallel()
	d := open(t)
	silent := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	kept := 0
	for range 40 {
		conn, err := silent.Dial("tcp", d.addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		// The server speaks first, unless it refuses.
		require.NoError(t, conn.SetDeadline(timeout()))
		if n, _ := conn.Read(make([]byte, 1)); n == 1 {
			kept++
		}
	}
	require.Equal(t, sftp.MaxPerAddress, kept)
	conn, err := d.dial("acme", ssh.PublicKeys(d.acme))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// A client that does not authenticate is disconnected after a while, and cannot use up
// the connections of others.
func TestConnections_WithoutAHandshakeAreBounded(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.stop()
	d.serve(t, deadline, time.Second)
	var idle []net.Conn
	for range sftp.MaxConnections + 10 {
		conn, err := net.Dial("tcp", d.addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		idle = append(idle, conn)
	}
	// The server closes all of them in the end, although they send nothing.
	for _, conn := range idle {
		require.NoError(t, conn.SetDeadline(timeout()))
		_, err := io.Copy(io.Discard, conn)
		var network net.Error
		require.False(t, errors.As(err, &network) && network.Timeout(), "the server did not close the connection")
	}
	// The last of them may still be counted when its client sees the end of the
	// connection, and a slow machine may miss the short handshake a few times.
	await(t, func() error {
		conn, err := d.dial("acme", ssh.PublicKeys(d.acme))
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// A stop lets running uploads finish and refuses new ones.
func TestStop_LetsUploadsFinish(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	quiet := d.connect(t, "acme", d.acme)
	f, err := s.Create("users_late.csv")
	require.NoError(t, err)
	stopped := make(chan struct{})
	go func() { defer close(stopped); d.stop() }()
	await(t, func() error {
		if conn, err := net.Dial("tcp", d.addr); err == nil {
			_ = conn.Close()
			return errors.New("the server still listens")
		}
		return nil
	})
	require.Error(t, quiet.Wait(), "a connection without a file is closed")
	_, err = s.Create("users_later.csv")
	require.ErrorContains(t, err, "the service is stopping")
	_, err = f.Write([]byte(users(5)))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	<-stopped
	require.Equal(t, job.Stats{Processed: 5}, d.done(t, "acme").Stats)
}

// When the file store fails, the client gets an error without internal details.
func TestUpload_ServiceFails(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := d.connect(t, "acme", d.acme)
	require.NoError(t, os.RemoveAll(d.files))
	require.NoError(t, os.WriteFile(d.files, nil, 0o600))
	f, err := s.Create("users_1.csv")
	require.NoError(t, err)
	_, _ = f.Write([]byte(users(1)))
	err = f.Close()
	require.ErrorContains(t, err, `: internal error; nothing was stored, send the file again`)
	require.NotContains(t, s.stderr.String(), d.files)
	d.logged(t, "sftp: store file", "not a directory")
	require.Empty(t, d.jobs(t, "acme"))
}
