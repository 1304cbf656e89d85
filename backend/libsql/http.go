package libsql

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// writerIdle is how long a connection that writes may be idle before it is replaced.
// After a restart of the server it is broken, which the client does not see, and a
// statement that was sent over it is not sent again. Few restarts take less time.
const writerIdle = 2 * time.Second

// maxIdle is how many idle connections are kept. The store has the most streams, one for
// each connection of its pools.
const maxIdle = 32

// httpStream implements the part of the libSQL protocol over HTTP
// (github.com/tursodatabase/libsql, docs/HTTP_V2_SPEC.md) that groups of statements
// need. The driver sends statements one by one.
type httpStream struct {
	client     *http.Client
	url, token string
	host       string // of the URL
	// socket is the URL for a WebSocket; empty when the configured URL is an HTTP URL.
	socket string
	limits

	// baton names the stream of the last batch, which was sent at used; empty when
	// there is none. The stream is used again, since a replica that opens a stream
	// also opens one at its primary.
	baton string
	used  time.Time
	// opened is when transact last began a stream.
	opened time.Time
}

func newHTTPStream(databaseURL, token string, l limits) (*httpStream, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, err
	}
	h := &httpStream{host: u.Host, token: token, limits: l}
	switch u.Scheme {
	case "ws":
		h.socket, u.Scheme = u.String(), "http"
	case "wss":
		h.socket, u.Scheme = u.String(), "https"
	case "libsql":
		u.Scheme = "https"
	case "http", "https":
	default:
		return nil, fmt.Errorf("a database at %s://: want libsql, wss, ws, https or http", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the URL of a database has a host, as in http://127.0.0.1:8080")
	}
	if u.RawQuery != "" {
		return nil, errors.New("the URL of a database has no parameters")
	}
	h.url = u.JoinPath("v2/pipeline").String()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: writerIdle, TLSHandshakeTimeout: 5 * time.Second}
	h.client = &http.Client{Transport: transport}
	return h, nil
}

// stream returns another stream to the same server.
func (h *httpStream) stream() stream {
	if h.socket != "" {
		return &socket{url: h.socket, token: h.token, limits: h.limits}
	}
	return &httpStream{client: h.client, url: h.url, token: h.token, limits: h.limits}
}

// open does nothing: the first batch opens the stream.
func (h *httpStream) open(context.Context) error { return nil }

// next sends one batch, on the stream of the last one.
func (h *httpStream) next(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	baton := h.baton
	h.baton = ""
	done, baton, err := h.post(ctx, baton, steps)
	if err == nil {
		h.baton, h.used = baton, time.Now()
	}
	return done, err
}

// reset forgets a stream that was idle for a while: after a restart of the server it is
// gone, and few restarts take less time.
func (h *httpStream) reset() {
	if time.Since(h.used) > writerIdle {
		h.baton = ""
	}
}

// batch sends one batch, on the stream of the last one if that still exists.
func (h *httpStream) batch(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	h.reset()
	done, err := h.next(ctx, steps)
	if errors.Is(err, errNoStream) {
		return h.next(ctx, steps)
	}
	return done, err
}

// close does nothing: the client is shared, and the server ends idle streams.
func (h *httpStream) close() {}

// transact runs statements in one transaction; see writer.
func (h *httpStream) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	begun := &hranaCondition{Type: "ok", Step: new(int)}
	steps := []hranaStep{stepOf("BEGIN IMMEDIATE", nil, false)}
	for _, c := range calls {
		steps = append(steps, c.step())
		steps[len(steps)-1].Condition = begun
	}
	commit := len(steps)
	if len(calls) == 1 {
		steps, commit = steps[1:], 0
		steps[0].Condition = nil
	} else {
		steps = append(steps, hranaStep{Condition: begun, Stmt: hranaStmt{SQL: "COMMIT"}},
			hranaStep{Condition: &hranaCondition{Type: "not", Cond: &hranaCondition{Type: "ok", Step: &commit}}, Stmt: hranaStmt{SQL: "ROLLBACK"}})
	}
	if time.Since(h.opened) > streamAge {
		h.baton, h.opened = "", time.Now()
	}
	done, err := h.batch(ctx, steps)
	if err != nil {
		return nil, err
	}
	if e := done.Errors[0]; e != nil && (commit > 0 || strings.Contains(e.Message, "database is locked")) {
		return nil, fmt.Errorf("%w: %s", errNotRun, e.Message)
	}
	if e := done.Errors[commit]; commit > 0 && (e != nil || done.Results[commit] == nil) {
		// An error that ended the transaction, for example a full disk.
		return nil, fmt.Errorf("the transaction was not committed: %w", cmp.Or(done.err(), errors.New("the server gave no reason")))
	}
	results := make([]outcome, len(calls))
	first := min(commit, 1)
	for i := range results {
		results[i] = h.outcome(done, first+i)
	}
	return results, nil
}

// errNoStream reports that the server did not run a batch, since its stream is gone.
var errNoStream = fmt.Errorf("%w: the stream has ended", errNotRun)

// ping runs a statement that reads no table, on a stream of its own. Unlike the other
// methods, ping, pingWriter and once are safe for concurrent use.
func (h *httpStream) ping(ctx context.Context) error { return h.alone(ctx, "SELECT 1") }

// pingWriter runs a transaction that takes the write lock and changes nothing, on a
// stream of its own.
func (h *httpStream) pingWriter(ctx context.Context) error {
	return h.alone(ctx, "BEGIN IMMEDIATE", "DROP TABLE IF EXISTS kith_probe", "ROLLBACK")
}

// alone runs statements on a stream of their own, and ends the stream.
func (h *httpStream) alone(ctx context.Context, texts ...string) error {
	var steps []hranaStep
	for _, text := range texts {
		steps = append(steps, stepOf(text, nil, false))
	}
	done, _, err := h.post(ctx, "", chain(steps), closing)
	if err != nil {
		return err
	}
	return done.err()
}

// once runs one statement on a stream of its own, and ends the stream.
func (h *httpStream) once(ctx context.Context, c *call) (*result, error) {
	done, _, err := h.post(ctx, "", []hranaStep{c.step()}, closing)
	if err != nil {
		return nil, err
	}
	o := h.outcome(done, 0)
	return o.result, o.err
}

// closing ends a stream.
var closing = hranaRequest{Type: "close"}

// post sends one message with a batch, and returns its result and the baton of the stream.
// The error is errNotSent when there was no connection.
func (h *httpStream) post(ctx context.Context, baton string, steps []hranaStep, after ...hranaRequest) (*hranaResult, string, error) {
	message := map[string]any{"requests": append([]hranaRequest{{Type: "batch", Batch: &hranaBatch{steps}}}, after...)}
	if baton != "" {
		message["baton"] = baton
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", errNotRun, err)
	}
	text, status, err := h.send(ctx, body)
	switch {
	case err != nil:
		return nil, "", err
	case status == http.StatusBadRequest && baton != "":
		return nil, "", errNoStream
	case status != http.StatusOK:
		return nil, "", fmt.Errorf("the server answered %d %s: %.200s", status, http.StatusText(status), text)
	}
	var answer struct {
		Baton   string
		Results []hranaResponse
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, "", fmt.Errorf("the server's answer: %w", err)
	}
	if len(answer.Results) == 0 {
		return nil, "", errors.New("the server's answer has no results")
	}
	done, err := answer.Results[0].result(len(steps))
	return done, answer.Baton, err
}

// send sends the body of a message, and returns the answer.
func (h *httpStream) send(ctx context.Context, body []byte) (text []byte, status int, err error) {
	// The body has a type that net/http cannot rewind, so that it is never sent twice.
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, h.url, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errNotRun, err)
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	response, err := h.client.Do(request)
	if err != nil && !connected.Load() {
		return nil, 0, fmt.Errorf("%w: %w", errNotSent, err)
	}
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	text, err = h.readText(response.Body)
	return text, response.StatusCode, err
}
