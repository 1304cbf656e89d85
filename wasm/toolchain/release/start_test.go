package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// inRoot runs a command in a root folder as a user, in its own PID and mount namespaces.
// prepare are shell commands that run before it as root, outside of the folder.
func inRoot(t *testing.T, folder, user, prepare string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	script := `set -e; folder=$1 user=$2; shift 2
mount --bind "$folder" "$folder"; mkdir -p "$folder/proc"; mount -t proc proc "$folder/proc"
` + prepare + `
exec chroot --userspec="$user" "$folder" "$@"`
	command := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script, "bash", folder, user}, args...)...)
	command.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, env...)
	return command
}

// start runs a command until the test ends.
func start(t *testing.T, command *exec.Cmd) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = file, file
	// The whole group is killed: a program that changes its user does not get the signal of
	// unshare's --kill-child.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
		if text, err := os.ReadFile(file.Name()); err == nil && t.Failed() {
			t.Logf("output:\n%s", text)
		}
	})
}

// freeAddr returns a loopback address on which nothing listens. Its port is below those that
// Linux uses for outgoing connections: one of those could take it before the program does.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000))
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return addr
		}
		if err == nil {
			_ = c.Close()
		}
	}
	t.Fatal("no free port")
	return ""
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// deadline is how long a process may take to start on a busy machine.
const deadline = 3 * time.Minute

// await waits until a URL answers with a status, and returns the Location header.
func await(t *testing.T, url string, status int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var found string
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == status {
				return response.Header.Get("Location")
			}
			found = response.Status
		} else if ctx.Err() == nil {
			found = err.Error()
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %s, not %d", url, found, status)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// The image runs without any other file: its root file system is read-only, the process is
// not root, and its health check succeeds. A share link of the demo is followed.
func TestImage_Dev(t *testing.T) {
	image, err := tarball.ImageFromPath(one(t, target{"linux", host.arch}.imageFile()), nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	unpack := exec.Command("tar", "--extract", "--same-owner", "--directory", folder)
	unpack.Stdin = mutate.Extract(image)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if config.Config.User != "65532:65532" {
		t.Errorf("user %q", config.Config.User)
	}
	edge, ops := freeAddr(t), freeAddr(t)
	env := append(config.Config.Env, "KITH_EDGE_ADDR="+edge, "KITH_OPS_ADDR="+ops, "KITH_BACKEND_ADDR="+freeAddr(t), "KITH_LAB_ADDR="+freeAddr(t), "KITH_STRIPE_LAB_ADDR=off", "KITH_SFTP_ADDR=off")
	// The engine's volume at /data has the owner that the folder has in the image.
	const readOnly = `mkdir -p "$folder/proc"; owner=$(stat -c uid=%u,gid=%g "$folder/data")
mount -t tmpfs -o "$owner,mode=0755" tmpfs "$folder/data"; mount -o remount,ro,bind "$folder"`
	start(t, inRoot(t, folder, config.Config.User, readOnly, env, append(config.Config.Entrypoint, "dev")...))
	await(t, "http://"+edge+"/healthz", http.StatusOK)
	if to := await(t, "http://"+edge+"/s/demo/ANNA10", http.StatusFound); !strings.Contains(to, "rsCode=ANNA10") {
		t.Errorf("the share link leads to %q", to)
	}
	check := config.Config.Healthcheck.Test
	if check[0] != "CMD" {
		t.Fatalf("health check %q", check)
	}
	if out, err := inRoot(t, folder, config.Config.User, readOnly, env, check[1:]...).CombinedOutput(); err != nil {
		t.Errorf("health check: %v: %s", err, out)
	}
	env = append(env, "KITH_OPS_ADDR="+freeAddr(t))
	if out, err := inRoot(t, folder, config.Config.User, readOnly, env, check[1:]...).CombinedOutput(); err == nil {
		t.Errorf("the health check of a process that does not run succeeds: %s", out)
	}
}

// debian returns a new root folder with a minimal Debian. KITH_BARE_BASE names a folder
// that has it, as for wasm/toolchain/bare.sh.
func debian(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "root")
	if base := os.Getenv("KITH_BARE_BASE"); base != "" {
		must(t, "cp", "-a", filepath.Join(base, "bookworm"), folder)
	} else {
		must(t, "debootstrap", "--variant=minbase", "bookworm", folder)
	}
	return folder
}

var setting = regexp.MustCompile(`(?m)^(ExecStart|Environment|User)=(.*)$`)

// unit returns the command of an installed unit, its user and its environment.
func unit(t *testing.T, folder, name string) (args []string, user string, env []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "usr/lib/systemd/system", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range setting.FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "ExecStart":
			args = strings.Fields(m[2])
		case "User":
			user = m[2]
		default:
			env = append(env, m[2])
		}
	}
	return args, user, env
}

// On a Debian without anything, the package installs, its units start, a tenant's share
// link is answered, and the data stays when the package is removed and installed again.
func TestDeb(t *testing.T) {
	folder := debian(t)
	must(t, "cp", one(t, "*_"+host.arch+".deb"), filepath.Join(folder, "kith.deb"))
	in := func(user string, args ...string) string {
		out, err := inRoot(t, folder, user, "", nil, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	in("root:root", "dpkg", "--install", "/kith.deb")
	modes := in("root:root", "stat", "-c", "%U:%G %a %n", "/var/lib/kith", "/etc/kith", "/etc/kith/kith.env", "/etc/kith/backend.env", "/etc/kith/edge.env", "/usr/bin/kith")
	const want = "kith:kith 700 /var/lib/kith\nroot:kith 750 /etc/kith\nroot:kith 640 /etc/kith/kith.env\nroot:kith 640 /etc/kith/backend.env\nroot:kith 640 /etc/kith/edge.env\nroot:root 755 /usr/bin/kith\n"
	if modes != want {
		t.Errorf("modes:\n%s", modes)
	}
	backend, edge, ops := freeAddr(t), freeAddr(t), freeAddr(t)
	own := []string{"KITH_BACKEND_ADDR=" + backend, "KITH_BACKEND_URL=http://" + backend, "KITH_EDGE_ADDR=" + edge}
	args, user, env := unit(t, folder, "kith-backend.service")
	start(t, inRoot(t, folder, user+":"+user, "", append(append(env, own...), "KITH_OPS_ADDR="+ops), args...))
	await(t, "http://"+ops+"/readyz", http.StatusOK)
	args, user, env = unit(t, folder, "kith-edge.service")
	start(t, inRoot(t, folder, user+":"+user, "", append(env, own...), args...))
	await(t, "http://"+edge+"/healthz", http.StatusOK)
	in("kith:kith", "kith", "tenant", "create", "shop", "--landing-url", "https://shop.example/", "--data", "/var/lib/kith")
	in("kith:kith", "kith", "doctor", "--data", "/var/lib/kith")
	await(t, "http://"+edge+"/s/shop/UNKNOWN", http.StatusFound)

	in("root:root", "sh", "-c", "echo KITH_RATE_LIMIT=500 >>/etc/kith/kith.env && dpkg --install /kith.deb && grep -q RATE_LIMIT=500 /etc/kith/kith.env")
	in("root:root", "dpkg", "--purge", "kith")
	in("root:root", "sh", "-c", "test -s /var/lib/kith/kith.db && test -s /var/lib/kith/master.key && ! test -e /usr/bin/kith")
}

// Completions of zsh and fish, in the same Debian.
func TestCompletion(t *testing.T) {
	folder := debian(t)
	must(t, "cp", one(t, "_kith"), one(t, "kith.fish"), folder)
	shell := func(args ...string) string {
		out, err := inRoot(t, folder, "root:root", `cp /etc/resolv.conf "$folder/etc/"; mount --rbind /dev "$folder/dev"`, []string{"DEBIAN_FRONTEND=noninteractive"}, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := shell("sh", "-c", `(apt-get update && apt-get install -y --no-install-recommends zsh fish) >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
fish -c 'source /kith.fish; complete -C "kith tenant sftp-key "; complete -C "kith serve --backend-a"'
zsh -fc 'compadd() { print -r -- zsh: ${(P)2} }; compdef() { : }; source /_kith; words=(kith --log-level DEBUG tenant ""); CURRENT=5; _kith; words=(kith serve --); CURRENT=3; _kith'`)
	for _, want := range []string{"add\t", "--backend-addr\t", "\nzsh: create", "\nzsh: --backend-addr"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\ncreate\t") {
		t.Errorf("fish offers a command of another one:\n%s", out)
	}
}
