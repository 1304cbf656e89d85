package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/client"
)

// sftpClient is OpenSSH's sftp with its own key.
type sftpClient struct {
	dir, addr string
	// options are additional options of ssh.
	options []string
}

// newSFTP makes a key and returns a client with it. The configuration of the user who runs
// the tests is not read.
func newSFTP(t testing.TB, addr, keyType string) *sftpClient {
	t.Helper()
	for _, program := range []string{"sftp", "ssh-keygen"} {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "install openssh-client")
	}
	c := &sftpClient{dir: t.TempDir(), addr: addr}
	out, err := exec.Command("ssh-keygen", "-q", "-t", keyType, "-N", "", "-C", "e2e "+keyType, "-f", c.key()).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return c
}

func (c *sftpClient) key() string { return filepath.Join(c.dir, "key") }

// command returns a command that runs sftp with some commands.
func (c *sftpClient) command(t testing.TB, user, commands string) *exec.Cmd {
	t.Helper()
	host, port, err := net.SplitHostPort(c.addr)
	require.NoError(t, err)
	args := append([]string{"-F", "/dev/null", "-P", port, "-i", c.key(), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
		"-o", "StrictHostKeyChecking=accept-new", "-o", "UserKnownHostsFile=" + filepath.Join(c.dir, "known_hosts")}, c.options...)
	command := exec.Command("sftp", append(args, "-b", "-", user+"@"+host)...)
	command.Dir, command.Stdin = c.dir, strings.NewReader(commands)
	return command
}

// run runs commands and returns the output and exit status of sftp.
func (c *sftpClient) run(t testing.TB, user string, commands ...string) (string, int) {
	t.Helper()
	command := c.command(t, user, strings.Join(commands, "\n")+"\n")
	out, err := command.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		require.NoError(t, err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// allow adds the client's key to a tenant.
func (s *site) allow(t testing.TB, tenant string, c *sftpClient) {
	t.Helper()
	out, errOut, status := s.run(t, nil, "tenant", "sftp-key", "add", tenant, c.key()+".pub")
	require.Zero(t, status, errOut)
	require.Regexp(t, `^SHA256:\S{43}\n$`, out)
}

// sample writes a file of sample rows to the client's folder.
func (s *site) sample(t testing.TB, c *sftpClient, typ, name string, args ...string) {
	t.Helper()
	args = append([]string{"sample", "--type", typ, "--out", filepath.Join(c.dir, name)}, args...)
	out, errOut, status := s.run(t, nil, args...)
	require.Zero(t, status, out+errOut)
}

// listedJob is a job in the list of jobs.
type listedJob struct {
	client.Job
	Type, Name, Requester string
}

// jobs returns the jobs of a tenant, the newest first.
func (s *site) jobs(t testing.TB, tenant string) []listedJob {
	t.Helper()
	a := mustCall(t, http.StatusOK, "POST", s.backend+"/api/v1/"+tenant+"/graphql",
		`{"query":"{ jobs(limit: 100) { data { id name type requester status message stats { recordsProcessed errors } } } }"}`,
		s.auth(tenant), "Content-Type: application/json")
	return decode[struct {
		Data struct{ Jobs struct{ Data []listedJob } }
	}](t, a).Data.Jobs.Data
}

// OpenSSH's sftp sends files of all four types, with keys of both types; each becomes a job
// of its tenant.
func TestSFTP_OpenSSH(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.sftp = freeAddr(t)
	s.serve(t)
	clients := map[string]*sftpClient{}
	for _, keyType := range []string{"rsa", "ed25519"} {
		clients[keyType] = newSFTP(t, s.sftp, keyType)
		s.allow(t, "demo", clients[keyType])
	}
	for _, send := range []struct {
		typ, name, client string
		args              []string
		errors            int64
	}{
		{"MUTATION/USER", "users_1.csv", "rsa", []string{"--rows", "3000"}, 0},
		{"MUTATION/USER_EVENT", "userEvents_1.jsonl", "ed25519", []string{"--rows", "3000", "--format", "jsonl"}, 0},
		{"MUTATION/REDEEMABLE_REWARD_BALANCE", "redeemRewards_1.csv", "rsa", []string{"--rows", "50"}, 50},
		{"MUTATION/DELETE_USER", "deleteUsers_1.csv", "ed25519", []string{"--rows", "1000"}, 0},
	} {
		c := clients[send.client]
		s.sample(t, c, send.typ, send.name, send.args...)
		out, status := c.run(t, "demo", "put "+send.name)
		require.Zero(t, status, out)
		made := s.jobs(t, "demo")[0]
		require.Equal(t, []string{send.typ, send.name, "SFTP"}, []string{made.Type, made.Name, made.Requester})
		done := s.ended(t, made.ID)
		require.Equal(t, send.errors, done.Stats.Errors, "no user has credit to redeem")
		sent, err := os.ReadFile(filepath.Join(c.dir, send.name))
		require.NoError(t, err)
		require.Equal(t, string(sent), s.download(t, made.ID, "source"))
	}
	require.Empty(t, s.jobs(t, "test_demo"))

	c := clients["rsa"]
	out, status := c.run(t, "demo", "put users_1.csv users_again.csv")
	require.Zero(t, status, out)
	require.Contains(t, s.ended(t, s.jobs(t, "demo")[0].ID).Message, "the same content was imported before, by job ")

	out, status = c.run(t, "demo", "pwd", "cd /", "ls -la", "-ls users_1.csv", "-get users_1.csv", "-rm users_1.csv", "-rename users_1.csv users_2.csv",
		"-mkdir in", "-rmdir in", "-chmod 777 users_1.csv", "-symlink users_1.csv users_2.csv", "-ln users_1.csv users_2.csv", "-df", "-reput users_1.csv",
		"-put users_1.csv list.csv", "-put users_1.csv users_1.csv.filepart", "-put users_1.csv in/users_1.csv", "put users_1.csv users_3.csv")
	require.Zero(t, status, out)
	for _, refused := range []string{
		`File "/users_1.csv" not found.`, "remote delete /users_1.csv: Permission denied", `"/users_1.csv" to "/users_2.csv": Permission denied`,
		`mkdir "/in": Permission denied`, `"/users_1.csv": Permission denied`, `"users_1.csv" to "/users_2.csv": Permission denied`,
		`kith: "list.csv": name: must begin with users_, userEvents_, deleteUsers_ or redeemRewards_`,
		`kith: "users_1.csv.filepart": name: must end in .xlsx, .csv, .tsv, .txt, .jsonl or .ndjson`,
	} {
		require.Contains(t, out, refused)
	}
	require.Len(t, s.jobs(t, "demo"), 6, "only the last file was sent")

	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "users_bad.csv"), []byte("accountId,name\na,b\n"), 0o600))
	out, status = c.run(t, "demo", "put users_bad.csv")
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "column id: is required, and the header does not have it")
	bad := s.jobs(t, "demo")[0]
	require.EqualValues(t, "ABORTED", bad.Status)
	require.Contains(t, bad.Message, "column id: is required, and the header does not have it")

	for _, user := range []string{"test_demo", "nobody", "root"} {
		out, status = c.run(t, user, "put users_1.csv")
		require.Equal(t, 255, status, out)
		require.Contains(t, out, user+"@127.0.0.1: Permission denied (publickey).")
	}
	out, errOut, status := s.run(t, nil, "tenant", "sftp-key", "list", "demo")
	require.Zero(t, status, errOut)
	lines := regexp.MustCompile(`(?m)^(SHA256:\S+)  (ssh-rsa|ssh-ed25519)  +used \S+ .*e2e (rsa|ed25519)$`).FindAllStringSubmatch(out, -1)
	require.Len(t, lines, 2, out)
	for _, line := range lines {
		_, errOut, status = s.run(t, nil, "tenant", "sftp-key", "remove", "demo", line[1])
		require.Zero(t, status, errOut)
	}
	out, status = c.run(t, "demo", "put users_1.csv")
	require.Equal(t, 255, status, out)
}

// An incomplete upload does not become a job, however it ends: the client is killed, the
// server is killed, or the user interrupts it, and the client then closes the incomplete
// file. If the server survives, no file remains either.
func TestSFTP_CutInTheMiddle(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.sftp = freeAddr(t)
	server := s.serve(t)
	c := newSFTP(t, s.sftp, "ed25519")
	s.allow(t, "demo", c)
	s.sample(t, c, "MUTATION/USER", "users_1.csv", "--rows", "200000")
	// At this rate in kbit/s the upload takes two minutes; the test waits for the first second.
	c.options = []string{"-l", "1000"}
	begin := func() *exec.Cmd {
		command := c.command(t, "demo", "put users_1.csv\n")
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		require.NoError(t, command.Start())
		t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
		s.awaitImports(t, "demo", "nothing has come yet", begun)
		return command
	}
	nothing := func() {
		t.Helper()
		s.awaitImports(t, "demo", "left behind", none)
		require.Empty(t, s.jobs(t, "demo"))
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		command := begin()
		require.NoError(t, syscall.Kill(-command.Process.Pid, signal))
		require.Error(t, command.Wait(), signal)
		nothing()
	}
	server.waitLog(t, "the connection ended before the file was closed")
	server.waitLog(t, "a multiple of 32768: an interrupted upload ends so too")

	command := begin()
	server.kill()
	require.Error(t, command.Wait())
	s.serve(t)
	require.Empty(t, s.jobs(t, "demo"))

	c.options = nil
	out, status := c.run(t, "demo", "put users_1.csv")
	require.Zero(t, status, out)
	require.Len(t, s.jobs(t, "demo"), 1)
}

// The SFTP server runs as a separate process, with the operator's host key.
func TestSFTP_Alone(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	host := newSFTP(t, "", "ed25519")
	s.sftp = freeAddr(t)
	alone := s.launch(t, []string{"KITH_SFTP_HOST_KEY=" + host.key()}, "sftp")
	c := newSFTP(t, s.sftp, "ed25519")
	s.allow(t, "demo", c)
	public, err := os.ReadFile(host.key() + ".pub")
	require.NoError(t, err)
	name := strings.Replace(s.sftp, "127.0.0.1:", "[127.0.0.1]:", 1)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "known_hosts"), []byte(name+" "+string(public)), 0o600))
	s.sample(t, c, "MUTATION/USER", "users_1.csv", "--rows", "2000")
	await(t, func() error {
		if out, status := c.run(t, "demo", "put users_1.csv"); status != 0 {
			return fmt.Errorf("sftp: %s\n%s", out, alone.output)
		}
		return nil
	})
	require.EqualValues(t, 2000, s.ended(t, s.jobs(t, "demo")[0].ID).Stats.RecordsProcessed)

	for _, wrong := range [][]string{{"KITH_SFTP_ADDR=off"}, {"KITH_SFTP_HOST_KEY=" + host.key() + ".pub"}, {"KITH_SFTP_HOST_KEY=/nothing"}, {"KITH_MAX_FILE=0"}} {
		_, errOut, status := s.run(t, wrong, "sftp")
		require.Equal(t, 1, status, errOut)
		require.Regexp(t, `kith: (sftp-addr|sftp-host-key|max-file): `, errOut)
	}
	_, errOut, status := s.run(t, []string{"KITH_BACKEND_ADDR=" + freeAddr(t)}, "serve")
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "KITH_SFTP_ADDR", "the port is in use")
	alone.stop(t)
}

// The command that the page for developers shows sends a file without a prompt.
func TestSFTP_Dev(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.sftp = freeAddr(t)
	s.dev(t)
	page := mustCall(t, http.StatusOK, "GET", s.edge+"/developers", "").body
	shown := regexp.MustCompile(`<code>sftp (-P [^<]*)</code>`).FindStringSubmatch(page)
	require.NotNil(t, shown, page)
	c := &sftpClient{dir: t.TempDir()}
	s.sample(t, c, "MUTATION/USER", "users_1.csv", "--rows", "10")
	command := exec.Command("sftp", append([]string{"-F", "/dev/null", "-b", "-"}, strings.Fields(shown[1])...)...)
	command.Dir, command.Stdin = c.dir, strings.NewReader("put users_1.csv\n")
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.EqualValues(t, 10, s.ended(t, s.jobs(t, "demo")[0].ID).Stats.RecordsProcessed)
}

// However many silent connections one address has, a client with another address can send
// its file at the first try.
func TestAttack_SilentSFTPConnections(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.sftp = freeAddr(t)
	s.serve(t)
	c := newSFTP(t, s.sftp, "ed25519")
	s.allow(t, "demo", c)
	silent := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for range 200 {
		conn, err := silent.Dial("tcp", s.sftp)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	}
	s.sample(t, c, "MUTATION/USER", "users_1.csv", "--rows", "10")
	out, status := c.run(t, "demo", "put users_1.csv")
	require.Zero(t, status, out)
	require.EqualValues(t, 10, s.ended(t, s.jobs(t, "demo")[0].ID).Stats.RecordsProcessed)
}
