// Package sender posts events to the endpoints of tenants, who may be anybody:
// an endpoint is reached at public addresses only, is given no redirect to send
// us elsewhere, and has a bound on its time and on what it may answer.
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

// Sender makes attempts. It is safe for concurrent use.
type Sender struct {
	options Options
	mu      sync.Mutex
	// clients are the connections that are kept, by what they were allowed:
	// one that was made for a test tenant must not serve another tenant.
	clients map[string]*http.Client
}

// Options of a sender; the zero value is the one for production, but for Now.
type Options struct {
	// Now is the clock by which deliveries are signed.
	Now func() core.Time
	// Resolver finds addresses; nil is the system's.
	Resolver *net.Resolver
	// Roots are the authorities that endpoints' certificates are checked with;
	// nil are the system's.
	Roots *x509.CertPool
	// Patience is how long an attempt may take; 0 is webhook.Patience.
	Patience time.Duration
}

// NewSender returns a sender.
func NewSender(o Options) *Sender {
	o.Patience = cmp.Or(o.Patience, time.Duration(webhook.Patience)*time.Millisecond)
	return &Sender{options: o, clients: map[string]*http.Client{}}
}

// Send makes one attempt, within the sender's patience. It always returns a result:
// that an endpoint cannot be reached is one too.
func (s *Sender) Send(ctx context.Context, m webhooks.Sending, key webhooks.SigningKey) webhook.Attempt {
	a := webhook.Attempt{Number: m.Number, Started: s.options.Now(), Error: m.Fault}
	if m.Fault != "" {
		return a
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.options.Patience)
	defer cancel()
	var err error
	if a.Status, a.Answer, err = s.post(ctx, m, key, a.Started); err != nil {
		a.Error = reason(err)
	}
	a.Duration = core.Time(time.Since(begin).Milliseconds())
	return a
}

// post sends a body and returns the status of the answer, and its beginning.
func (s *Sender) post(ctx context.Context, m webhooks.Sending, key webhooks.SigningKey, at core.Time) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(m.Endpoint), bytes.NewReader(m.Body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", wire.WebhookType)
	request.Header.Set("User-Agent", "Kith-Webhook")
	// Not sent: it tells the transport that it may send again on a new connection
	// when the endpoint has closed the one that was kept.
	request.Header["X-Idempotency-Key"] = nil
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

// errStatus is an answer whose status is none.
var errStatus = errors.New("the answer has no HTTP status")

// beginning is the first webhook.MaxAnswer bytes as text. How the rest comes, or
// whether it does, changes nothing: the status has been said. A body that is
// read to its end leaves its connection to the next attempt.
func beginning(body io.Reader) string {
	read, _ := io.ReadAll(io.LimitReader(body, webhook.MaxAnswer+1))
	return clip(string(read), webhook.MaxAnswer)
}

// clip returns the first most bytes of a text that an endpoint wrote, such as
// the database takes them.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text[:min(len(text), most)], "?")
	return strings.ReplaceAll(text, "\x00", "?")
}

// Bounds of connections.
const (
	maxAnswerHead = 64 << 10
	maxIdle       = 256
	maxIdleOfHost = 8
	idleTimeout   = 90 * time.Second
	// maxClients bounds how many lists of allowed addresses have connections.
	maxClients = 32
)

// client returns the client that connects to public addresses and to those that
// are allowed.
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

// newClient follows no redirect, keeps no cookie, and knows no proxy: what is in
// the environment of the process is not the tenant's to be reached through.
func (s *Sender) newClient(g guard) *http.Client {
	dialer := &net.Dialer{Resolver: s.options.Resolver, ControlContext: g.control}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: s.options.Roots},
			DisableCompression: true, MaxResponseHeaderBytes: maxAnswerHead,
			MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdleOfHost, IdleConnTimeout: idleTimeout,
		},
	}
}

// reason is why there was no answer, in words for the tenant. It is one of few
// texts: what the system says of our own side, such as the address of its resolver,
// and what an internal host's certificate says, such as its names, are not theirs
// to see.
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
		// The same words: whether a name means something in our own network is not
		// the tenant's to know.
		return errAddress.Error()
	case errors.As(err, &otherHost):
		return "the certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate has expired, or is not valid yet"
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
