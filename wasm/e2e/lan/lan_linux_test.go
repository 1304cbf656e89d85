package lan_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/wasm/e2e/lan"
)

const echoEnv = "KITH_TEST_ECHO"

func TestMain(m *testing.M) {
	if addr := os.Getenv(echoEnv); addr != "" {
		fmt.Fprintln(os.Stderr, echo(addr))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// echo answers each line with the line, and each datagram with the datagram.
func echo(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	packets, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 100)
		for {
			size, from, err := packets.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = packets.WriteTo(buffer[:size], from)
		}
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				fmt.Fprintln(c, lines.Text())
			}
		}()
	}
}

// datagrams sends datagrams and returns how many were answered.
func datagrams(t *testing.T, addr string, n int) (answered int) {
	c, err := net.Dial("udp", addr)
	require.NoError(t, err)
	defer c.Close()
	go func() {
		for range n {
			_, _ = c.Write([]byte("x"))
			time.Sleep(50 * time.Microsecond) // no queue is full
		}
	}()
	for buffer := make([]byte, 100); ; answered++ {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
		if _, err := c.Read(buffer); err != nil {
			return answered
		}
	}
}

// The faults are those that were set, on this kernel and with its TCP.
func TestNetwork(t *testing.T) {
	t.Parallel()
	if !lan.Inside() {
		lan.Rerun(t)
		return
	}
	n := lan.New(1)
	t.Cleanup(n.Close)
	here, err := n.Here()
	require.NoError(t, err)
	there, err := n.Add("there", 2)
	require.NoError(t, err)
	addr := there.IP + ":7000"
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), echoEnv+"="+addr)
	require.NoError(t, there.Start(server))
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })

	var c net.Conn
	require.Eventually(t, func() bool { c, err = net.Dial("tcp", addr); return err == nil }, time.Minute, time.Millisecond)
	defer c.Close()
	answers := bufio.NewScanner(c)
	send := func(line string, limit time.Duration) (time.Duration, error) {
		began := time.Now()
		require.NoError(t, c.SetDeadline(began.Add(limit)))
		fmt.Fprintln(c, line)
		if !answers.Scan() {
			return time.Since(began), answers.Err()
		}
		require.Equal(t, line, answers.Text())
		return time.Since(began), nil
	}
	_, err = send("one", time.Minute)
	require.NoError(t, err)

	n.Between(here, there, lan.Fault{Delay: 30 * time.Millisecond})
	took, err := send("two", time.Minute)
	require.NoError(t, err)
	require.GreaterOrEqual(t, took, 60*time.Millisecond)
	n.Heal()

	n.Set(here, there, lan.Fault{Loss: 0.2})
	require.InDelta(t, 800, datagrams(t, addr, 1000), 100)
	n.Heal()

	// The server gets the line, and its answer is lost.
	n.Set(there, here, lan.Fault{Cut: true})
	_, err = send("late", 100*time.Millisecond)
	require.True(t, errors.Is(err, os.ErrDeadlineExceeded), err)
	n.Heal()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	answers = bufio.NewScanner(c)
	require.True(t, answers.Scan(), answers.Err())
	require.Equal(t, "late", answers.Text())

	// Nothing answers: a connection is not refused, it times out.
	n.Between(here, there, lan.Fault{Cut: true})
	_, err = net.DialTimeout("tcp", addr, 100*time.Millisecond)
	var failed net.Error
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.Timeout())
}
