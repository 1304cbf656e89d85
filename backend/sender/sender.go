// Package sender posts events to the endpoints of tenants. The URL of an endpoint is
// untrusted: the sender connects to public addresses only, follows no redirects, and
// bounds the time and the size of an answer.
package sender

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"kith/backend/app/webhooks"
	"kith/core"
	"kith/core/webhook"
	"kith/core/wire"
)

// Sender makes attempts to deliver events. It is safe for concurrent use.
type Sender struct {
	options Options
	mu      sync.Mutex
	// clients has a client for each list of allowed addresses, so that a connection
	// that was made for a test tenant is not used for a tenant with other rights.
	clients map[string]*http.Client
}

// Options are the settings of a Sender. In production only Now is set.
type Options struct {
	// Now returns the time at which deliveries are signed.
	Now func() core.Time
	// Resolver resolves host names; nil means the system's resolver.
	Resolver *net.Resolver
	// Roots are the certificate authorities that are trusted; nil means the system's.
	Roots *x509.CertPool
	// Timeout bounds one attempt; 0 means webhook.AttemptTimeout.
	Timeout time.Duration
	// Wrap wraps the transport of the attempts; nil means no wrapper.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// NewSender returns a sender.
func NewSender(o Options) *Sender {
	o.Timeout = cmp.Or(o.Timeout, time.Duration(webhook.AttemptTimeout)*time.Millisecond)
	return &Sender{options: o, clients: map[string]*http.Client{}}
}

// Send makes one attempt. It always returns a result, also when the endpoint cannot
// be reached.
func (s *Sender) Send(ctx context.Context, m webhooks.Sending, key webhooks.SigningKey) webhook.Attempt {
	a := webhook.Attempt{Number: m.Number, Started: s.options.Now(), Error: m.Fault}
	if m.Fault != "" {
		return a
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	var err error
	if a.Status, a.Answer, err = s.post(ctx, m, key, a.Started); err != nil {
		a.Error = reason(err)
	}
	a.Duration = core.Time(time.Since(begin).Milliseconds())
	return a
}

// post sends a body, and returns the status and the beginning of the answer.
func (s *Sender) post(ctx context.Context, m webhooks.Sending, key webhooks.SigningKey, at core.Time) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(m.Endpoint), bytes.NewReader(m.Body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", wire.WebhookType)
	request.Header.Set("User-Agent", "Kith-Webhook")
	// This header is not sent. It allows the transport to repeat the request on a new
	// connection when the endpoint has closed the idle one: once, since an endpoint that
	// fails while it handles the request closes the connection too.
	request.Header["X-Idempotency-Key"] = nil
	body, repeated := request.GetBody, false
	request.GetBody = func() (io.ReadCloser, error) {
		if repeated {
			return nil, io.ErrUnexpectedEOF
		}
		repeated = true
		return body()
	}
	if err := sign(request.Header, m, key, at); err != nil {
		return 0, "", err
	}
	client, err := s.client(m.Allowed)
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	if response.StatusCode < 100 { // the transport takes "000" too
		return 0, "", errStatus
	}
	return response.StatusCode, beginning(response.Body), nil
}

// errStatus reports an answer whose status is invalid.
var errStatus = errors.New("the answer has no HTTP status")

// beginning returns the first webhook.MaxAnswer bytes of a body as text. The rest is
// ignored: the status already decides. If the body ends within the limit, the
// connection can serve the next attempt.
func beginning(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, webhook.MaxAnswer+1))
	return clip(string(read), webhook.MaxAnswer)
}

// clip returns at most limit bytes of a text, as UTF-8 without zero bytes, so that
// the database can store it.
func clip(text string, limit int) string {
	text = strings.ToValidUTF8(text[:min(len(text), limit)], "?")
	return strings.ReplaceAll(text, "\x00", "?")
}

// Bounds of connections.
const (
	maxAnswerHead = 64 << 10
	maxIdle       = 256
	maxIdleOfHost = 8
	idleTimeout   = 90 * time.Second
	// maxClients bounds how many lists of allowed addresses have a client.
	maxClients = 32
)

// client returns the client that connects to public addresses and to the allowed
// prefixes.
func (s *Sender) client(allowed []string) (*http.Client, error) {
	name := strings.Join(allowed, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.clients[name]; ok {
		return c, nil
	}
	g, err := newGuard(allowed)
	if err != nil {
		return nil, err
	}
	if len(s.clients) == maxClients {
		for _, c := range s.clients {
			c.CloseIdleConnections()
		}
		clear(s.clients)
	}
	c := s.newClient(g)
	s.clients[name] = c
	return c, nil
}

// newClient returns a client that follows no redirects, keeps no cookies and uses no
// proxy: a proxy in the environment of this process is for the operator, not for
// requests that tenants cause.
func (s *Sender) newClient(g guard) *http.Client {
	dialer := &net.Dialer{Resolver: s.options.Resolver, ControlContext: g.control}
	var transport http.RoundTripper = &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: s.options.Roots},
		DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHead,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdleOfHost, IdleConnTimeout: idleTimeout,
	}
	if s.options.Wrap != nil {
		transport = s.options.Wrap(transport)
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     transport,
	}
}

// reason returns why there was no answer, in words for the tenant. It is one of a few
// fixed texts: the error of the system may contain details of our own network, such
// as the address of a resolver or the names in an internal certificate.
func reason(err error) string {
	var address *net.AddrError
	var name *net.DNSError
	var otherHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &address) && address.Err == errAddress.Error():
		return errAddress.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "there was no answer in time"
	case errors.As(err, &name):
		// The text is the same as for a private address: a tenant must not find out
		// which names exist in our network.
		return errAddress.Error()
	case errors.As(err, &otherHost):
		return "the certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired or is not valid yet"
	case errors.As(err, &certificate):
		return "the certificate is not valid, or not signed by a known authority"
	case errors.Is(err, errStatus):
		return errStatus.Error()
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the endpoint does not speak TLS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	}
	return "the connection broke before there was an answer"
}
