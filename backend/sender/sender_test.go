package sender

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/app/webhooks"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/webhook"
)

const now core.Time = 1772355600999

// newTestSender returns a sender whose attempts have no real time limit.
func newTestSender() *Sender { return senderWith(Options{}) }

func senderWith(o Options) *Sender {
	o.Now, o.Timeout = func() core.Time { return now }, cmp.Or(o.Timeout, time.Hour)
	return NewSender(o)
}

// local allows a message to reach the servers of these tests.
var local = []string{"127.0.0.0/8", "::1/128"}

// message returns a message for an endpoint that a test tenant may reach.
func message(endpoint string) webhooks.Sending {
	return webhooks.Sending{
		DeliveryKey: webhook.DeliveryKey{Tenant: "test_t", Endpoint: webhook.Endpoint(endpoint), Event: "019ca8a03e806096185df3df"}, Number: 3,
		Body: []byte(`{"id":"019ca8a03e806096185df3df"}`), Secrets: []string{"whsec_AAAA"}, APIKey: "key", Allowed: local,
	}
}

// serve starts an endpoint.
func serve(t testing.TB, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server
}

func (s *Sender) send(t testing.TB, m webhooks.Sending) webhook.Attempt {
	t.Helper()
	return s.Send(t.Context(), m, testKey(t))
}

func TestSend_Request(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks")
	})
	m := message(server.URL + "/hook?a=b")
	a := newTestSender().send(t, m)
	require.Equal(t, webhook.Attempt{Number: 3, Started: now, Duration: a.Duration, Status: 202, Answer: "thanks"}, a)
	require.Equal(t, string(m.Body), string(body))
	require.Equal(t, "POST /hook?a=b", got.Method+" "+got.URL.String())
	require.Equal(t, int64(len(body)), got.ContentLength)
	signed := http.Header{}
	require.NoError(t, sign(signed, m, testKey(t), now))
	signed.Set("Content-Type", "application/json; charset=UTF-8")
	signed.Set("User-Agent", "Kith-Webhook")
	signed.Set("Content-Length", fmt.Sprint(len(body)))
	require.Equal(t, signed, got.Header)
}

func TestSend_FollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	target := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) })
		require.Equal(t, status, newTestSender().send(t, message(server.URL)).Status)
	}
	require.Zero(t, elsewhere.Load())
}

// An endless answer counts as an answer, since its status has arrived.
func TestSend_EndlessBody(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write([]byte(strings.Repeat("x", 4096))); err != nil {
				return
			}
		}
	})
	a := newTestSender().send(t, message(server.URL))
	require.Equal(t, 200, a.Status)
	require.Equal(t, strings.Repeat("x", webhook.MaxAnswer), a.Answer)
}

func TestSend_EndpointThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server notice the end of the connection
		<-r.Context().Done()
	})
	// The result is the same at whatever point the timeout ends the attempt.
	s := senderWith(Options{Timeout: 50 * time.Millisecond})
	a := s.send(t, message(server.URL))
	require.Equal(t, "there was no answer in time", a.Error)
	require.Zero(t, a.Status)
	require.GreaterOrEqual(t, a.Duration, core.Time(50))
}

// The status counts even if the body does not arrive.
func TestSend_EndpointThatStopsInItsAnswer(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	// The time until the answer begins depends on the machine, so the timeout grows.
	var a webhook.Attempt
	for timeout := 100 * time.Millisecond; a.Answer == "" && timeout < sqldtest.Deadline; timeout *= 2 {
		a = senderWith(Options{Timeout: timeout}).send(t, message(server.URL))
	}
	require.Equal(t, 200, a.Status, a.Error)
	require.Equal(t, "begin", a.Answer)
}

// raw starts an endpoint that answers with the given bytes.
func raw(t testing.TB, answer string) string {
	t.Helper()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, answer)
			c.Close()
		}
	})
	return server.URL
}

func TestSend_InvalidAnswers(t *testing.T) {
	t.Parallel()
	broke := "the connection broke before there was an answer"
	for answer, want := range map[string]string{
		"": broke, "hello\r\n\r\n": broke, "HTTP/1.1 two hundred\r\n\r\n": broke,
		"HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n":                                          errStatus.Error(),
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxAnswerHead) + "\r\n\r\n":                   broke,
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 100)+"\r\n", 2000) + "\r\n": broke,
	} {
		a := newTestSender().send(t, message(raw(t, answer)))
		require.Equal(t, want, a.Error, "%.60q", answer)
		require.Zero(t, a.Status)
	}
}

// The stored beginning of an answer is valid text.
func TestSend_AnswerIsText(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"a\xffb": "a?b", "a\x00b": "a?b", strings.Repeat("ü", 1000): strings.Repeat("ü", 512),
		"x" + strings.Repeat("ü", 1000): "x" + strings.Repeat("ü", 511) + "?",
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		require.Equal(t, want, newTestSender().send(t, message(server.URL)).Answer)
	}
}

// A tenant without permission cannot reach the loopback, in whatever form its address
// is written.
func TestSend_ReachesOnlyPublicAddresses(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	server := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "127.0.0.2"} {
		m := message("http://" + host + ":" + port)
		m.Allowed = nil
		require.Equal(t, errAddress.Error(), newTestSender().send(t, m).Error, host)
		m.Allowed = []string{"10.0.0.0/8"}
		require.Equal(t, errAddress.Error(), newTestSender().send(t, m).Error, host)
	}
	// Some resolvers accept these forms as an address. They are refused, not resolved,
	// or looked up in vain until the timeout.
	limited := senderWith(Options{Timeout: 15 * time.Second})
	for _, host := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1"} {
		m := message("http://" + host + ":" + port)
		m.Allowed = nil
		require.NotEmpty(t, limited.send(t, m).Error, host)
	}
	require.Zero(t, reached.Load())
}

// A connection that was made for a tenant with permission is not used for a tenant
// without.
func TestSend_ConnectionsAreKeptApart(t *testing.T) {
	t.Parallel()
	var connections, requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s := newTestSender()
	for range 3 {
		require.Equal(t, 200, s.send(t, message(server.URL)).Status)
	}
	require.Equal(t, int64(1), connections.Load(), "a connection is kept")
	m := message(server.URL)
	m.Allowed = nil
	require.Equal(t, errAddress.Error(), s.send(t, m).Error)
	require.Equal(t, int64(3), requests.Load())
}

// An endpoint that closes the connection while it handles a request gets the request at most twice,
// however many connections it had.
func TestSend_ClosedWhileItIsHandled(t *testing.T) {
	t.Parallel()
	var asked sync.WaitGroup
	var failing atomic.Bool
	var failed atomic.Int64
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if failing.Load() {
			failed.Add(1)
			panic(http.ErrAbortHandler)
		}
		asked.Done()
		asked.Wait()
	})
	s := newTestSender()
	asked.Add(maxIdleOfHost)
	var sent sync.WaitGroup
	for range maxIdleOfHost {
		sent.Go(func() { s.send(t, message(server.URL)) })
	}
	sent.Wait()
	failing.Store(true)
	require.Equal(t, "the connection broke before there was an answer", s.send(t, message(server.URL)).Error)
	require.LessOrEqual(t, failed.Load(), int64(2))
}

// When an endpoint has closed an idle connection, the attempt still succeeds.
func TestSend_IdleConnectionWasClosed(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newTestSender()
	for range 5 {
		require.Equal(t, 200, s.send(t, message(server.URL)).Status)
		server.CloseClientConnections()
	}
}

// The number of kept clients is bounded, and every list of allowed addresses works.
func TestSend_ManyListsOfAddresses(t *testing.T) {
	t.Parallel()
	server := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := newTestSender()
	for i := range 2*maxClients + 1 {
		m := message(server.URL)
		m.Allowed = []string{fmt.Sprintf("10.0.%d.0/24", i), "127.0.0.1/32"}
		require.Equal(t, 200, s.send(t, m).Status)
		require.LessOrEqual(t, len(s.clients), maxClients)
	}
}

// When a name resolves to a private address later (DNS rebinding), the attempt is
// refused: the address of the connection counts.
func TestSend_RebindingName(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	server := serve(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	// The name server answers with the loopback address.
	resolver, asked := nameServer(t, [4]byte{127, 0, 0, 1})
	s := senderWith(Options{Resolver: resolver})
	m := message("http://rebind.example:" + port)
	require.Equal(t, 200, s.send(t, m).Status, "the name server works")
	m.Allowed = nil
	require.Equal(t, errAddress.Error(), s.send(t, m).Error)
	require.Equal(t, int64(1), reached.Load())
	require.Positive(t, asked.Load())
}

// nameServer starts a DNS server that resolves every name to one IPv4 address, and
// returns a resolver that uses it, and the number of its queries.
func nameServer(t testing.TB, address [4]byte) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	asked := new(atomic.Int64)
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			asked.Add(1)
			_, _ = c.WriteTo(nameAnswer(buffer[:n], address), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", c.LocalAddr().String())
	}}, asked
}

// nameAnswer returns the answer to a DNS question: the address for a question of type
// A, no record for other types (RFC 1035, 4).
func nameAnswer(question []byte, address [4]byte) []byte {
	const header = 12
	end := header
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // the root label, type and class
	answer := append([]byte{}, question[:end]...)
	binary.BigEndian.PutUint16(answer[2:], 0x8180) // an answer, no error
	copy(answer[6:header], make([]byte, 6))
	if binary.BigEndian.Uint16(question[end-4:]) != 1 {
		return answer
	}
	answer[7] = 1
	answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	return append(answer, address[:]...)
}

func TestSend_Certificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // the client's refusal is expected
	server.StartTLS()
	t.Cleanup(server.Close)
	a := newTestSender().send(t, message(server.URL))
	require.Equal(t, "the certificate is not valid, or not signed by a known authority", a.Error)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting := senderWith(Options{Roots: roots})
	require.Equal(t, 200, trusting.send(t, message(server.URL)).Status)
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	a = trusting.send(t, message(strings.Replace(plain.URL, "http:", "https:", 1)))
	require.Equal(t, "the endpoint does not speak TLS", a.Error)
}

// Requests to endpoints do not use the proxy in the environment: it is for the
// operator.
func TestSend_NoProxy(t *testing.T) {
	var proxied atomic.Int64
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { proxied.Add(1) })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	require.NotEmpty(t, os.Getenv("HTTP_PROXY"))
	m := message("http://192.0.2.1/")
	require.Equal(t, errAddress.Error(), newTestSender().send(t, m).Error)
	transport := newTestSender().newClient(nil).Transport.(*http.Transport)
	require.Nil(t, transport.Proxy)
	require.Zero(t, proxied.Load())
}

func TestSend_NoServer(t *testing.T) {
	t.Parallel()
	a := newTestSender().send(t, message("http://127.0.0.1:1/"))
	require.Equal(t, "the connection was refused", a.Error)
	s := senderWith(Options{Resolver: &net.Resolver{
		PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed },
	}})
	require.Equal(t, errAddress.Error(), s.send(t, message("http://unknown.example/")).Error)
}

// An attempt that cannot be made counts as failed.
func TestSend_Fault(t *testing.T) {
	t.Parallel()
	m := message("http://127.0.0.1:1/")
	m.Fault = "the secrets of this endpoint cannot be opened"
	require.Equal(t, webhook.Attempt{Number: 3, Started: now, Error: m.Fault}, newTestSender().send(t, m))
}

// No reason contains details of our own network.
func TestReason_HidesOurNetwork(t *testing.T) {
	t.Parallel()
	inner := &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5)}, Err: io.ErrUnexpectedEOF}
	for _, err := range []error{
		inner, &url.Error{Op: "Post", URL: "https://x", Err: inner},
		&net.DNSError{Err: "server misbehaving", Name: "x", Server: "10.0.0.2:53"},
		&net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", Server: "10.0.0.2:53", IsTimeout: true}},
	} {
		require.NotContains(t, reason(err), "10.0.0.")
	}
}
