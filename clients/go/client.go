// Package kith is a client of the Kith referral API.
//
// A server calls with its API key:
//
//	client, err := kith.New(kith.Config{BaseURL: "https://shop.example", Tenant: "shop", APIKey: key})
//	user, err := client.UpsertUser(ctx, "bob", "bob", kith.UpsertUserParams{}, kith.UserInput{Email: kith.Ptr("bob@example.com")})
//
// Each operation of the REST API is a method of Client, with the name of the operation. An
// answer with an error status is an *Error. The package has no dependencies.
package kith

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Config configures a Client.
type Config struct {
	// BaseURL is the URL of an edge or a backend, such as https://shop.example. Required.
	BaseURL string
	// Tenant is the alias of the tenant. Required.
	Tenant string
	// APIKey is the tenant's API key, for calls of a server.
	APIKey string
	// UserToken returns the token of a user, for calls that are limited to this user. It
	// is called for each attempt. Give APIKey, UserToken or neither.
	UserToken func(context.Context) (string, error)
	// HTTPClient sends the requests. Default: http.DefaultClient. The client does not
	// follow redirects, whatever HTTPClient does.
	HTTPClient *http.Client
	// Timeout is the time limit of one attempt. Default: 10 s.
	Timeout time.Duration
	// Retries is how often a call is sent again at most. Default: 2; negative: never.
	Retries int
	// MaxWait is the longest wait between two attempts. If the service asks for a longer
	// one, the call fails. Default: 30 s.
	MaxWait time.Duration
	// MaxAnswer is the most bytes of an answer. Default: 16 MiB.
	MaxAnswer int64
}

// Client calls the API of one tenant. It may be used concurrently.
type Client struct {
	config Config
	base   string
	http   http.Client
}

// New returns a client, or an error that names the field of the configuration.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.BaseURL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("kith: BaseURL: not an http or https URL; give one such as https://shop.example")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("kith: BaseURL: must not have credentials, a query or a fragment; give the key as APIKey")
	case config.Tenant == "":
		return nil, errors.New("kith: Tenant: empty; give the alias of the tenant")
	case config.APIKey != "" && config.UserToken != nil:
		return nil, errors.New("kith: APIKey, UserToken: both are set; give one of them")
	}
	config.Timeout = or(config.Timeout, 10*time.Second)
	config.Retries = or(config.Retries, 2)
	config.MaxWait = or(config.MaxWait, 30*time.Second)
	config.MaxAnswer = or(config.MaxAnswer, 16<<20)
	c := &Client{config: config, base: strings.TrimSuffix(base.String(), "/")}
	if config.HTTPClient != nil {
		c.http = *config.HTTPClient
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// or returns value, or fallback if value is zero.
func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

// NewIdempotencyKey returns a random idempotency key. A call that takes a key and has none
// gets one, so that the client may repeat it. To make the call happen once even if your
// program repeats it, give a key of your own, such as the number of the order: in the body, or by
// WithIdempotencyKey.
func NewIdempotencyKey() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails
	return hex.EncodeToString(raw[:])
}

type idempotencyKey struct{}

// WithIdempotencyKey returns a context for one call whose body takes no key, such as
// CreateReward: a call that is repeated with the key within 24 hours has no further effect and
// the same answer. The key is 8 to 64 of A-Z, a-z, 0-9, "-", "_" and ".", such as the number of
// the order for which a reward is given.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// keyOf returns the key of WithIdempotencyKey, or a random one.
func keyOf(ctx context.Context) string {
	if key, ok := ctx.Value(idempotencyKey{}).(string); ok {
		return key
	}
	return NewIdempotencyKey()
}

// Visitor has the headers of a visitor's request. With them a server identifies a visitor
// who followed a share link: see WithVisitor.
type Visitor struct {
	// Cookie is a Cookie header with the cookies kith_TENANT, _saasquatch and that of the
	// visitor's consent, if they exist. Other cookies are not for Kith.
	Cookie string
	// SecGPC and DNT are the headers with which the visitor's browser refuses tracking.
	SecGPC, DNT string
}

type visitorKey struct{}

// WithVisitor returns a context whose calls have the headers of a visitor.
func WithVisitor(ctx context.Context, v Visitor) context.Context {
	return context.WithValue(ctx, visitorKey{}, v)
}

// ForwardedVisitor returns what Kith needs of a visitor's request: the cookies of Kith and
// the one named consentCookie, if that is not empty, and the privacy signals.
func (c *Client) ForwardedVisitor(r *http.Request, consentCookie string) Visitor {
	var kept []string
	for _, cookie := range r.Cookies() {
		if cookie.Name == "kith_"+c.config.Tenant || cookie.Name == "_saasquatch" || consentCookie != "" && cookie.Name == consentCookie {
			kept = append(kept, cookie.Name+"="+cookie.Value)
		}
	}
	return Visitor{Cookie: strings.Join(kept, "; "), SecGPC: r.Header.Get("Sec-GPC"), DNT: r.Header.Get("DNT")}
}

// Error is an answer with an error status.
type Error struct {
	// StatusCode is the HTTP status.
	StatusCode int
	// APIErrorCode is the kind of the error, such as VALIDATION_FAILED. It is empty if the
	// answer is not from Kith.
	APIErrorCode string
	// RSCode is the finer kind, or empty.
	RSCode string
	// Message names the field, the rule and the way out. It may change: do not compare it.
	Message string
	// RequestID is the id of the request in the logs of the service.
	RequestID string
	// RetryAfter is how long to wait before the next attempt; 0 if the service did not say.
	RetryAfter time.Duration

	// Differs is true if the idempotency key was used for another call: this one was not done.
	// Send it with a new key.
	Differs bool

	keyed bool
}

func (e *Error) Error() string {
	text := fmt.Sprintf("kith: %d", e.StatusCode)
	if e.APIErrorCode != "" {
		text += " " + e.APIErrorCode
	}
	text += ": " + e.Message
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Duplicate reports whether a call with an idempotency key was refused because the
// service has done it before. That is success: do not send the call again.
func (e *Error) Duplicate() bool {
	return e.keyed && e.StatusCode == http.StatusConflict && e.APIErrorCode == "CONFLICT" && !e.Differs
}

// Once returns nil instead of an error that reports a duplicate.
func Once(err error) error {
	var e *Error
	if errors.As(err, &e) && e.Duplicate() {
		return nil
	}
	return err
}

// request is a call of an operation.
type request struct {
	method, path string
	// params has the names and values of the path parameters besides the tenant.
	params []string
	query  url.Values
	body   any
	// repeatable is true if the call may be sent again when it is unknown whether the
	// service has done it.
	repeatable bool
	// keyed is true if the body has an idempotency key.
	keyed bool
	// key is the idempotency key for the header, or empty.
	key string
}

// url returns the URL of the call.
func (r request) url(base, tenant string) (string, error) {
	path := r.path
	for i, params := 0, append([]string{"tenant", tenant}, r.params...); i < len(params); i += 2 {
		// Proxies and HTTP libraries would resolve these two segments.
		if value := params[i+1]; value == "" || value == "." || value == ".." {
			return "", fmt.Errorf("kith: %s: %q cannot be a part of a URL; give another id", params[i], value)
		}
		path = strings.Replace(path, "{"+params[i]+"}", url.PathEscape(params[i+1]), 1)
	}
	if len(r.query) > 0 {
		path += "?" + r.query.Encode()
	}
	return base + path, nil
}

// addQuery sets a query parameter that may be left out.
func addQuery[T any](query url.Values, name string, value *T) {
	if value != nil {
		query.Set(name, fmt.Sprint(*value))
	}
}

// call sends a call until the service answers, and parses the answer into answer unless
// that is nil.
func (c *Client) call(ctx context.Context, r request, answer any) error {
	target, err := r.url(c.base, c.config.Tenant)
	if err != nil {
		return err
	}
	var body []byte
	if r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("kith: body: %w", err)
		}
	}
	for attempt := 0; ; attempt++ {
		text, err := c.attempt(ctx, r, target, body)
		if err == nil {
			if answer == nil {
				return nil
			}
			if err := json.Unmarshal(text, answer); err != nil {
				return fmt.Errorf("kith: the answer of %s %s is not as the API describes it: %w", r.method, r.path, err)
			}
			return nil
		}
		wait, again := c.again(r, err, attempt)
		if !again {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
	}
}

// again decides whether a call is sent again, and after which time. The service does
// nothing for a call that it answers with 429; after a 503 or a broken connection it is
// unknown whether it did the call.
func (c *Client) again(r request, err error, attempt int) (wait time.Duration, again bool) {
	if attempt >= c.config.Retries {
		return 0, false
	}
	var e *Error
	if !errors.As(err, &e) {
		var broken *url.Error
		return 100 * time.Millisecond << attempt, r.repeatable && errors.As(err, &broken) && !errors.Is(err, context.Canceled)
	}
	limited := e.StatusCode == http.StatusTooManyRequests
	unavailable := e.StatusCode == http.StatusServiceUnavailable && r.repeatable
	return e.RetryAfter, (limited || unavailable) && e.RetryAfter > 0 && e.RetryAfter <= c.config.MaxWait
}

// attempt sends a call once and returns the body of the answer.
func (c *Client) attempt(ctx context.Context, r request, target string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	var content io.Reader // nil: no body
	if body != nil {
		content = bytes.NewReader(body)
	}
	call, err := http.NewRequestWithContext(ctx, r.method, target, content)
	if err != nil {
		return nil, err
	}
	if err := c.setHeaders(ctx, call); err != nil {
		return nil, err
	}
	if r.key != "" {
		call.Header.Set("Idempotency-Key", r.key)
	}
	response, err := c.http.Do(call)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, c.config.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, &url.Error{Op: r.method, URL: target, Err: err}
	case int64(len(text)) > c.config.MaxAnswer:
		return nil, fmt.Errorf("kith: the answer of %s %s has more than %d bytes; raise MaxAnswer or lower limit", r.method, r.path, c.config.MaxAnswer)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return nil, newError(response, text, r.keyed)
	}
	return text, nil
}

// setHeaders sets the credentials and the headers of the visitor.
func (c *Client) setHeaders(ctx context.Context, call *http.Request) error {
	call.Header.Set("Accept", "application/json")
	if call.Body != nil {
		call.Header.Set("Content-Type", "application/json")
	}
	if c.config.APIKey != "" {
		call.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(":"+c.config.APIKey)))
	}
	if c.config.UserToken != nil {
		token, err := c.config.UserToken(ctx)
		if err != nil {
			return fmt.Errorf("kith: UserToken: %w", err)
		}
		call.Header.Set("Authorization", "Bearer "+token)
	}
	visitor, _ := ctx.Value(visitorKey{}).(Visitor)
	for name, value := range map[string]string{"Cookie": visitor.Cookie, "Sec-GPC": visitor.SecGPC, "DNT": visitor.DNT} {
		if value != "" {
			call.Header.Set(name, value)
		}
	}
	return nil
}

// newError parses an answer with an error status, which may be one of a proxy.
func newError(response *http.Response, text []byte, keyed bool) *Error {
	e := &Error{StatusCode: response.StatusCode, RequestID: response.Header.Get("X-Request-Id"), keyed: keyed}
	type shown struct {
		Message, APIErrorCode, RSCode string
		Differs                       bool
	}
	var body struct {
		shown
		// Errors and Extensions are those of GraphQL.
		Errors     []shown
		Extensions struct{ APIError shown }
	}
	if json.Unmarshal(text, &body) == nil {
		if len(body.Errors) > 0 {
			body.shown = body.Extensions.APIError
			body.Message = body.Errors[0].Message
		}
		e.Message, e.APIErrorCode, e.RSCode, e.Differs = body.Message, body.APIErrorCode, body.RSCode, body.Differs
	}
	if e.Message == "" {
		e.Message = "the answer is not one of Kith; check BaseURL and the proxies in between"
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 && seconds <= 24*3600 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
