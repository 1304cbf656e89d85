package sqldtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errEnded means that a server ended by itself.
var errEnded = errors.New("sqldtest: the server ended")

// node is one server process; it may be started again after it was killed.
type node struct {
	binary, addr string
	token        string // for the probes; empty if the server requires none
	args         []string
	dir          string
	launch       func(*exec.Cmd) error // starts the process
	env          []string              // its variables, besides those of the test

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

func newNode(binary, dir, addr, token string, args ...string) *node {
	args = append([]string{"--no-welcome", "--db-path", dir + "/db", "--http-listen-addr", strings.Replace(addr, "localhost", "127.0.0.1", 1)}, args...)
	return &node{binary: binary, addr: addr, token: token, args: args, dir: dir, launch: (*exec.Cmd).Start}
}

// start starts the server and returns when it answers statements.
func (n *node) start() error {
	if err := n.spawn(); err != nil {
		return err
	}
	err := within(Deadline, func() error {
		select {
		case <-n.ended:
			return errEnded
		default:
			_, err := n.replicationIndex()
			return err
		}
	})
	if err != nil {
		n.kill()
		log, _ := os.ReadFile(n.logPath())
		return fmt.Errorf("sqldtest: start %s: %w\n%s", strings.Join(n.args, " "), err, log)
	}
	return nil
}

func (n *node) spawn() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(n.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(n.binary, n.args...) // #nosec G204 -- tests run it, with their own arguments
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	if n.env != nil {
		cmd.Env = append(os.Environ(), n.env...)
	}
	dieWithParent(cmd)
	started, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		// The kernel kills the child when the thread that started it ends, so this
		// thread must live as long as the child.
		runtime.LockOSThread()
		err := n.launch(cmd)
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("sqldtest: start the server: %w", err)
	}
	n.cmd, n.ended = cmd, ended
	return nil
}

// makeDurable configures the server to write each transaction to disk before it is
// acknowledged, through the address of its administration. The server keeps the setting.
func (n *node) makeDurable(admin string) error {
	const config = `{"block_reads":false,"block_writes":false,"txn_timeout_s":5,"durability_mode":"strong"}`
	res, err := client.Post("http://"+admin+"/v1/namespaces/default/config", "application/json", strings.NewReader(config))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("sqldtest: configure the server: %s", res.Status)
	}
	return nil
}

// kill kills the server and returns when it has ended.
func (n *node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Kill()
	<-n.ended
	n.cmd = nil
}

// pause suspends the server and returns when all its threads are suspended.
func (n *node) pause() error {
	if err := n.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return within(Deadline, n.isPaused)
}

func (n *node) resume() error { return n.signal(syscall.SIGCONT) }

// signal sends a signal to the server, which must be running.
func (n *node) signal(s os.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		return errEnded
	}
	return n.cmd.Process.Signal(s)
}

func (n *node) isPaused() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", n.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("sqldtest: the server has no threads: %w", err)
	}
	for _, t := range threads {
		if status, err := os.ReadFile(t); err == nil && !strings.Contains(string(status), "State:\tT") {
			return fmt.Errorf("sqldtest: the server runs")
		}
	}
	return nil
}

func (n *node) logPath() string { return n.dir + "/log" }

// client limits the time of one probe. Probes are repeated until Deadline.
var client = &http.Client{Timeout: 10 * time.Second}

// replicationIndex returns the number of the last frame of the write-ahead log that the
// server has.
func (n *node) replicationIndex() (uint64, error) {
	const ask = `{"requests":[{"type":"execute","stmt":{"sql":"SELECT 1"}},{"type":"close"}]}`
	req, err := http.NewRequest(http.MethodPost, "http://"+n.addr+"/v2/pipeline", strings.NewReader(ask))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if n.token != "" {
		req.Header.Set("Authorization", "Bearer "+n.token)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var answer struct {
		Results []struct {
			Type     string
			Error    struct{ Message string }
			Response struct {
				Result struct {
					Index *string `json:"replication_index"`
				}
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("sqldtest: %s answered %s: %w", n.addr, res.Status, err)
	}
	if len(answer.Results) == 0 || answer.Results[0].Type != "ok" {
		return 0, fmt.Errorf("sqldtest: %s answered %s: %+v", n.addr, res.Status, answer)
	}
	// Null until the first write.
	index := answer.Results[0].Response.Result.Index
	if index == nil {
		return 0, nil
	}
	return strconv.ParseUint(*index, 10, 64)
}
