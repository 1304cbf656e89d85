package e2e

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// At a constant rate a request's time counts from when it was due, so that a server that
// is too slow is not measured as if its clients had waited for it. 50 requests at 100 per
// second, over one connection and 20 ms each, take a second: the last is half a second late.
func TestLoadgen_TimesCountFromWhenDue(t *testing.T) {
	t.Parallel()
	const each = 20 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(each)
		http.Redirect(w, r, "/landing", http.StatusFound)
	}))
	defer server.Close()
	load := loadgen{bases: []string{server.URL}, connections: 1, status: http.StatusFound, request: link("demo")}
	m := load.steady(t, 100, 500*time.Millisecond)
	require.InDelta(t, 51, m.rate*m.wall.Seconds(), 1.5)
	require.GreaterOrEqual(t, m.p99, 25*each-each)
	require.GreaterOrEqual(t, m.p50, 10*each)
	m = load.saturate(t, 100*time.Millisecond)
	require.GreaterOrEqual(t, m.p50, each)
	require.LessOrEqual(t, m.rate, float64(time.Second/each))
}

func TestAnswerSize(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 3\r\n\r\n"
	for text, want := range map[string][2]int{head + "abc": {len(head) + 3, 302}, head: {len(head) + 3, 302}, head[:len(head)-1]: {0, 0}} {
		size, status, err := answerSize([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, [2]int{size, status}, text)
	}
	for _, text := range []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 302 Found\r\nContent-Length: x\r\n\r\n"} {
		_, _, err := answerSize([]byte(text))
		require.Error(t, err, text)
	}
}
