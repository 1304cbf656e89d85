package bodies

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// deadline bounds every wait. A test that passes never waits that long.
const deadline = 2 * time.Minute

// serve answers each request with its body or the error of Read. A body stays in
// memory until hold is closed, unless hold is nil.
func serve(t *testing.T, b *Budget, most int64, hold chan struct{}) (addr string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, release, err := b.Read(w, r, most)
		defer release()
		if hold != nil && err == nil {
			<-hold
		}
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			body = []byte(err.Error())
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// send writes a request and returns the connection, still open.
func send(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(deadline)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

func answer(t *testing.T, c net.Conn) string {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

func post(size int, body string) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", size, body)
}

func TestRead_Sizes(t *testing.T) {
	t.Parallel()
	const most = 100_000
	b := NewBudget(Limits{})
	addr := serve(t, b, most, nil)
	for _, size := range []int{0, 1, firstRead - 1, firstRead, firstRead + 1, 2 * firstRead, most - 1, most} {
		body := strings.Repeat("b", size)
		require.Equal(t, body, answer(t, send(t, addr, post(size, body))))
		chunked := "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		if size > 0 {
			chunked += fmt.Sprintf("%x\r\n%s\r\n", size, body)
		}
		require.Equal(t, body, answer(t, send(t, addr, chunked+"0\r\n\r\n")))
	}
	body := strings.Repeat("b", most+1)
	require.Contains(t, answer(t, send(t, addr, post(most+1, body))), "too large")
	require.Contains(t, answer(t, send(t, addr, fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", most+1, body))), "too large")
	c := send(t, addr, post(10, "short"))
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	require.Contains(t, answer(t, c), "unexpected EOF")
	require.Eventually(t, func() bool { return b.InFlight() == 0 }, deadline, time.Millisecond)
}

// A stalled client is refused; one that continues to send within the limits is not.
func TestRead_Stalled(t *testing.T) {
	t.Parallel()
	b := NewBudget(Limits{Grace: time.Millisecond})
	for _, body := range []string{"", "a few bytes"} {
		require.Equal(t, ErrSlow.Error(), answer(t, send(t, serve(t, b, 1000, nil), post(1000, body))))
	}
	require.Zero(t, b.InFlight())
}

func TestLimits_Allowed(t *testing.T) {
	t.Parallel()
	l := NewBudget(Limits{}).limits
	for _, row := range []struct {
		arrived int64
		within  time.Duration
	}{
		{0, 10 * time.Second}, {1, 10*time.Second + time.Millisecond}, {1000, 11 * time.Second}, {30_000, 40 * time.Second},
		{50_000, time.Minute}, {8 << 20, time.Minute}, {1 << 40, time.Minute},
	} {
		require.Equal(t, row.within, l.allowed(row.arrived), row.arrived)
	}
}

// A body uses budget for the bytes that have arrived, and release frees it.
func TestRead_Budget(t *testing.T) {
	t.Parallel()
	b := NewBudget(Limits{Bytes: 1 << 20})
	hold := make(chan struct{})
	addr := serve(t, b, 1<<20, hold)
	// A client that announces a large body and sends little uses little.
	for range 50 {
		send(t, addr, post(1<<20, "x"))
	}
	require.Eventually(t, func() bool { return b.InFlight() == 50*firstRead }, deadline, time.Millisecond)
	large := strings.Repeat("x", 500_000)
	kept := send(t, addr, post(len(large), large))
	require.Eventually(t, func() bool { return b.InFlight() == 50*firstRead+500_001 }, deadline, time.Millisecond)
	require.Equal(t, ErrFull.Error(), answer(t, send(t, addr, post(len(large), large))))
	// The last quarter is for small bodies.
	ordinary := send(t, addr, post(5, "small"))
	require.Eventually(t, func() bool { return b.InFlight() == 50*firstRead+500_001+6 }, deadline, time.Millisecond)
	close(hold)
	require.Equal(t, "small", answer(t, ordinary))
	require.Equal(t, large, answer(t, kept))
	require.Equal(t, large, answer(t, send(t, addr, post(len(large), large))))
}

func TestRead_ReleasesOnce(t *testing.T) {
	t.Parallel()
	b := NewBudget(Limits{})
	r := httptest.NewRequest("POST", "/", strings.NewReader("body"))
	body, release, err := b.Read(httptest.NewRecorder(), r, 10)
	require.NoError(t, err)
	require.Equal(t, "body", string(body))
	release()
	release()
	require.Zero(t, b.InFlight())
	r.Body, r.ContentLength = io.NopCloser(failing{}), -1
	_, release, err = b.Read(httptest.NewRecorder(), r, 10)
	require.Error(t, err)
	release()
	require.Zero(t, b.InFlight())
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("gone") }
