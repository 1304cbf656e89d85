package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// engine is a Docker engine in network, PID and mount namespaces of its own: its ports and
// firewall rules are not those of this machine, and its containers end with it.
type engine struct {
	socket string
	// pid is the process of unshare, whose child is dockerd.
	pid int
	// network is the file of the network namespace.
	network string
	env     []string
}

// installed is where setup.sh unpacks Debian's servers.
var installed = filepath.Join(root, "bin", "debian")

// startEngine starts Debian's dockerd, which keeps its images in a folder of the test.
func startEngine(t *testing.T) *engine {
	t.Helper()
	folder := t.TempDir()
	path, err := filepath.Abs(installed)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{socket: filepath.Join(folder, "docker.sock")}
	e.env = []string{"PATH=" + path + "/usr/bin:" + path + "/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + folder, "DOCKER_HOST=unix://" + e.socket}
	script := `ip link set lo up
exec dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/pid" --host "unix://$1/docker.sock" --bridge none --log-level error`
	command := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", script, "bash", folder)
	command.Env = e.env
	start(t, command)
	e.pid = command.Process.Pid
	e.network = fmt.Sprintf("/proc/%d/ns/net", e.pid)
	until(t, "dockerd", func() error { return e.request(http.MethodGet, "/_ping", nil, nil) })
	return e
}

// until repeats a check until it succeeds.
func until(t *testing.T, what string, check func() error) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Since(begin) > deadline {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// request sends a request to the engine, and decodes the answer into result if it is given.
func (e *engine) request(method, path string, body io.Reader, result any) error {
	api := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", e.socket)
	}}}
	request, err := http.NewRequest(method, "http://docker"+path, body)
	if err != nil {
		return err
	}
	response, err := api.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	// The answer to a load is 200 even if it fails.
	case response.StatusCode != http.StatusOK, strings.Contains(string(text), `"errorDetail"`):
		return fmt.Errorf("%s: %s: %s", path, response.Status, text)
	case result == nil:
		return nil
	}
	return json.Unmarshal(text, result)
}

// load gives the engine an image.
func (e *engine) load(t *testing.T, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := e.request(http.MethodPost, "/images/load", file, nil); err != nil {
		t.Fatal(err)
	}
}

// kill ends the first process of a container, as the kernel does when memory is short: the
// engine does not know why it ended.
func (e *engine) kill(t *testing.T, container string) {
	t.Helper()
	var found struct{ State struct{ Pid int } }
	if err := e.request(http.MethodGet, "/containers/"+container+"/json", nil, &found); err != nil {
		t.Fatal(err)
	}
	dockerd, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", e.pid, e.pid))
	if err != nil {
		t.Fatal(err)
	}
	must(t, "nsenter", "--target", strings.TrimSpace(string(dockerd)), "--pid", "--mount", "kill", "-KILL", strconv.Itoa(found.State.Pid))
}

// client sends requests from the machine of the engine.
func (e *engine) client() *http.Client {
	return &http.Client{
		Timeout:       time.Minute,
		CheckRedirect: client.CheckRedirect,
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network, addr string) (connection net.Conn, err error) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				// The goroutine ends without unlocking, so the thread ends, too.
				runtime.LockOSThread()
				file, failed := os.Open(e.network)
				if err = failed; err != nil {
					return
				}
				defer file.Close()
				if err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err == nil {
					connection, err = net.DialTimeout(network, addr, 10*time.Second)
				}
			}()
			<-done
			return connection, err
		}},
	}
}

// project is a compose file on an engine.
type project struct {
	*engine
	file string
	env  []string
}

// compose runs docker compose, and returns what it printed.
func (p *project) compose(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(root, "bin", "tools", "docker-compose"), append([]string{"--file", filepath.Join(root, "deploy", "compose", p.file)}, args...)...)
	command.Env = append(p.engine.env, p.env...)
	var errOut strings.Builder
	command.Stderr = &errOut
	out, err := command.Output()
	if err != nil {
		t.Fatalf("docker compose %q: %v\n%s%s", args, err, out, &errOut)
	}
	return string(out)
}

// startProject starts the services of a compose file by one command. At the end of a failed
// test, it prints the logs of the containers.
func startProject(t *testing.T, e *engine, file string, env ...string) *project {
	t.Helper()
	p := &project{e, file, append(env, "KITH_VERSION="+version(t))}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(p.compose(t, "ps", "--all"), p.compose(t, "logs", "--no-color", "--tail", "40"))
		}
	})
	p.compose(t, "up", "--detach")
	return p
}

// standIn gives the engine, which reaches no registry, an image of files of this machine and
// of the libraries that they load, under the name that the compose files give to the
// published image.
func (e *engine) standIn(t *testing.T, image string, config v1.Config, files ...string) {
	t.Helper()
	folder := t.TempDir()
	for _, file := range files {
		must(t, "bash", "-c", `cd /; cp --dereference --parents --update "$1" $(ldd "$1" | grep -o '/[^ ]*') "$2"`, "bash", file, folder)
	}
	packed := filepath.Join(t.TempDir(), "layer.tar")
	must(t, "tar", "--create", "--file", packed, "--owner=0", "--group=0", "--mode=u+rwX,go+rX", "--directory", folder, ".")
	layer, err := tarball.LayerFromFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	made, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := made.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	whole.OS, whole.Architecture, whole.Config = host.os, host.arch, config
	if made, err = mutate.ConfigFile(made, whole); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(image)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(file, tag, made); err != nil {
		t.Fatal(err)
	}
	e.load(t, file)
}
