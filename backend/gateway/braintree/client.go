package braintree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kith/backend/gateway/xmltree"
)

// The gateway's own hosts.
const (
	productionURL = "https://api.braintreegateway.com"
	sandboxURL    = "https://api.sandbox.braintreegateway.com"
)

// Defaults of Config, and the maximum size of an answer: a page of 50 subscriptions with
// their transactions has about 5 MB.
const (
	defaultTimeout  = 30 * time.Second
	defaultAttempts = 4
	maxAnswer       = 16 << 20
)

// Config is a connection to the gateway.
type Config struct {
	// MerchantID names the merchant in every path.
	MerchantID string
	Key        Key
	// Test connects to the sandbox. If it is false, the connection is live, and goes to
	// the production host whatever the other fields are.
	Test bool
	// BaseURL replaces the sandbox, for a test connection only. A live connection would
	// send its keys to that host.
	BaseURL string
	// Timeout bounds one attempt. Default 30 s.
	Timeout time.Duration
	// Attempts bounds how often a repeatable call is sent. Default 4.
	Attempts int
	// Transport sends the requests. Default http.DefaultTransport.
	Transport http.RoundTripper
}

// Client makes calls. All errors of its calls are *Error. It is safe for concurrent
// use; when the gateway asks for a pause, all calls wait.
type Client struct {
	base     string
	key      Key
	timeout  time.Duration
	attempts int
	http     *http.Client
	gate     gate
}

// New returns a client, or an error if the settings are invalid.
func New(c Config) (*Client, error) {
	base := productionURL
	if c.Test {
		base = sandboxURL
	}
	if c.BaseURL != "" {
		if !c.Test {
			return nil, errors.New("gateway: a live connection cannot have a base URL of its own")
		}
		if err := checkBaseURL(c.BaseURL); err != nil {
			return nil, err
		}
		base = strings.TrimSuffix(c.BaseURL, "/")
	}
	if !isID(c.MerchantID) || c.Key.Public == "" || c.Key.Private == "" {
		return nil, errors.New("gateway: merchant id, public key and private key are required")
	}
	client := &Client{base: base + "/merchants/" + c.MerchantID, key: c.Key, timeout: c.Timeout, attempts: c.Attempts}
	if client.timeout <= 0 {
		client.timeout = defaultTimeout
	}
	if client.attempts <= 0 {
		client.attempts = defaultAttempts
	}
	client.http = &http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		// The gateway does not redirect; another server's redirect would get the keys.
		return http.ErrUseLastResponse
	}}
	return client, nil
}

func checkBaseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("gateway: base URL: want http:// or https://, a host, and optionally a path")
	}
	return nil
}

// call is one request.
type call struct {
	method string
	// path is the path below the merchant's. The function path made it.
	path string
	body *xmltree.Node
	// once marks a call that must not be sent again when its result is unknown.
	once bool
}

// path joins parts to a path. Each part must have the form of an id, so that no input
// can change the target of a call.
func path(parts ...string) (string, error) {
	for _, part := range parts {
		if !isID(part) {
			return "", &Error{Action: Missing, Err: fmt.Errorf("%q is not an id", part)}
		}
	}
	return "/" + strings.Join(parts, "/"), nil
}

func (c *Client) get(ctx context.Context, parts ...string) (*xmltree.Node, error) {
	return c.send(ctx, http.MethodGet, nil, parts...)
}

func (c *Client) send(ctx context.Context, method string, body *xmltree.Node, parts ...string) (*xmltree.Node, error) {
	where, err := path(parts...)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, call{method: method, path: where, body: body})
}

// attempt sends a call once.
func (c *Client) attempt(ctx context.Context, out call) (*xmltree.Node, error) {
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var body io.Reader
	if out.body != nil {
		body = bytes.NewReader(out.body.Encode())
	}
	request, err := http.NewRequestWithContext(bounded, out.method, c.base+out.path, body)
	if err != nil {
		return nil, &Error{Action: Alert, Err: err}
	}
	request.SetBasicAuth(c.key.Public, c.key.Private)
	request.Header.Set("X-ApiVersion", "6")
	request.Header.Set("Accept", "application/xml")
	request.Header.Set("User-Agent", "Kith")
	if body != nil {
		request.Header.Set("Content-Type", "application/xml")
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, out.lost(0, err)
	}
	defer answer.Body.Close()
	doc, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && len(doc) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, out.lost(answer.StatusCode, err)
	}
	return out.result(answer, doc)
}

// lost returns the error for a call whose result is unknown.
func (out call) lost(status int, err error) *Error {
	if out.once {
		return &Error{Action: ReadBack, Status: status, Err: err}
	}
	return &Error{Action: Retry, Status: status, Err: err}
}

// result interprets a complete answer.
func (out call) result(answer *http.Response, doc []byte) (*xmltree.Node, error) {
	switch status := answer.StatusCode; {
	case status == http.StatusOK || status == http.StatusCreated || status == http.StatusUnprocessableEntity:
		root, err := readDocument(answer.Header.Get("Content-Type"), doc)
		if err != nil {
			// A proxy in between answered, not the gateway.
			return nil, out.lost(status, err)
		}
		if status == http.StatusUnprocessableEntity {
			return nil, refusal(status, root)
		}
		return root, nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, &Error{Action: SetUp, Status: status}
	case status == http.StatusNotFound:
		return nil, &Error{Action: Missing, Status: status}
	case status == http.StatusTooManyRequests:
		// The call had no effect, so even a call with once set may be repeated.
		return nil, &Error{Action: Retry, Status: status, RetryAfter: retryAfter(answer)}
	case status == http.StatusRequestTimeout || status >= 500:
		e := out.lost(status, nil)
		e.RetryAfter = retryAfter(answer)
		return nil, e
	default:
		return nil, &Error{Action: Alert, Status: status}
	}
}

func readDocument(contentType string, doc []byte) (*xmltree.Node, error) {
	if !strings.Contains(contentType, "application/xml") {
		return nil, fmt.Errorf("the answer is %q, not XML", contentType)
	}
	return xmltree.Parse(doc)
}

// expect returns the result of a call: its error, or its answer, which must have the requested
// kind.
func expect[T any](doc *xmltree.Node, err error, name string, read func(*reader, *xmltree.Node) T) (none T, _ error) {
	if err != nil {
		return none, err
	}
	if doc.Name != name {
		return none, &Error{Action: Alert, Status: http.StatusOK, Err: fmt.Errorf("gateway: the answer is a %s, not a %s", doc.Name, name)}
	}
	r := &reader{}
	value := read(r, doc)
	if r.err != nil {
		return none, &Error{Action: Alert, Status: http.StatusOK, Err: r.err}
	}
	return value, nil
}
