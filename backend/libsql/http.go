package libsql

import (
	"bytes"
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
	if u.RawQuery != "" {
		return nil, errors.New("the URL of a database has no parameters")
	}
	h.url = u.JoinPath("v2/pipeline").String()
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1 + readStreams, IdleConnTimeout: writerIdle, TLSHandshakeTimeout: 5 * time.Second}
	h.client = &http.Client{Transport: transport}
	return h, nil
}

// reads returns another stream to the same server, for reads.
func (h *httpStream) reads() readStream {
	if h.socket != "" {
		return &socket{url: h.socket, token: h.token, limits: h.limits}
	}
	return &httpStream{client: h.client, url: h.url, token: h.token, limits: h.limits}
}

// session returns a separate stream to the same server, for transactions of several
// batches.
func (h *httpStream) session() session {
	if h.socket != "" {
		return &socket{url: h.socket, token: h.token, limits: h.limits}
	}
	return h
}

// open implements session. Over HTTP the first batch opens the stream.
func (h *httpStream) open(context.Context) error { return nil }

// next implements session. When the stream of the last batch is gone, so is its
// transaction: next then fails, and does not use another stream.
func (h *httpStream) next(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	answer, err := h.post(ctx, h.baton, hranaRequest{Type: "batch", Batch: &hranaBatch{steps}})
	if err != nil {
		return nil, err
	}
	h.baton, h.used = answer.Baton, time.Now()
	return &answer.Results[0].Response.Result, nil
}

// reset implements session. The server ends a stream that is idle for a while.
func (h *httpStream) reset() {
	if time.Since(h.used) > writerIdle {
		h.baton = ""
	}
}

// close does nothing: the client is shared, and the server ends idle streams.
func (h *httpStream) close() {}

// transact runs statements in one transaction; see writer.
func (h *httpStream) transact(ctx context.Context, calls []*call) ([]outcome, error) {
	begun := &hranaCondition{Type: "ok", Step: new(int)}
	steps := []hranaStep{{Stmt: hranaStmt{SQL: "BEGIN IMMEDIATE"}}}
	for _, c := range calls {
		steps = append(steps, hranaStep{Condition: begun, Stmt: hranaStmtOf(c)})
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
	if len(done.Results) != len(steps) || len(done.Errors) != len(steps) {
		return nil, fmt.Errorf("the server answered %d of %d steps", len(done.Results), len(steps))
	}
	if e := done.Errors[0]; e != nil && (commit > 0 || strings.Contains(e.Message, "database is locked")) {
		return nil, fmt.Errorf("%w: %s", errNotRun, e.Message)
	}
	if e := done.Errors[commit]; commit > 0 && (e != nil || done.Results[commit] == nil) {
		// An error that ended the transaction, for example a full disk.
		return nil, fmt.Errorf("the transaction was not committed: %s", messageOf(done.Errors))
	}
	results := make([]outcome, len(calls))
	first := min(commit, 1)
	for i := range results {
		results[i] = h.outcome(done, first+i)
	}
	return results, nil
}

// messageOf returns the message of the first error in all.
func messageOf(all []*hranaError) string {
	for _, e := range all {
		if e != nil {
			return e.Message
		}
	}
	return "the server gave no reason"
}

// batch sends one batch, on the stream of the last batch if that still exists.
func (h *httpStream) batch(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	baton := h.baton
	// After a restart of the server the stream is gone; few restarts take less time.
	if time.Since(h.used) > writerIdle {
		baton = ""
	}
	h.baton = ""
	batch := hranaRequest{Type: "batch", Batch: &hranaBatch{steps}}
	answer, err := h.post(ctx, baton, batch)
	if errors.Is(err, errNoStream) && baton != "" {
		answer, err = h.post(ctx, "", batch)
	}
	if err != nil {
		return nil, err
	}
	h.baton, h.used = answer.Baton, time.Now()
	return &answer.Results[0].Response.Result, nil
}

// errNoStream reports that the server did not run a batch, since its stream is gone.
var errNoStream = fmt.Errorf("%w: the stream has ended", errNotRun)

// ping runs a statement that reads no table, on a stream of its own. Unlike the other
// methods, ping and pingWriter are safe for concurrent use.
func (h *httpStream) ping(ctx context.Context) error { return h.alone(ctx, "SELECT 1") }

// pingWriter runs a transaction that takes the write lock and changes nothing, on a
// stream of its own.
func (h *httpStream) pingWriter(ctx context.Context) error {
	return h.alone(ctx, "BEGIN IMMEDIATE", "DROP TABLE IF EXISTS kith_probe", "ROLLBACK")
}

// alone runs statements on a stream of their own, and ends the stream.
func (h *httpStream) alone(ctx context.Context, texts ...string) error {
	var steps []hranaStep
	for i, text := range texts {
		steps = append(steps, hranaStep{Stmt: hranaStmt{SQL: text}})
		if before := i - 1; i > 0 {
			steps[i].Condition = &hranaCondition{Type: "ok", Step: &before}
		}
	}
	answer, err := h.post(ctx, "", hranaRequest{Type: "batch", Batch: &hranaBatch{steps}}, hranaRequest{Type: "close"})
	if err != nil {
		return err
	}
	for _, e := range answer.Results[0].Response.Result.Errors {
		if e != nil {
			return fmt.Errorf("the server: %s", e.Message)
		}
	}
	return nil
}

// once runs one statement on a stream of its own, and ends the stream.
func (h *httpStream) once(ctx context.Context, c *call) (*result, error) {
	answer, err := h.post(ctx, "", hranaRequest{Type: "batch", Batch: &hranaBatch{[]hranaStep{{Stmt: hranaStmtOf(c)}}}}, hranaRequest{Type: "close"})
	if err != nil {
		return nil, err
	}
	done := &answer.Results[0].Response.Result
	if len(done.Results) != 1 || len(done.Errors) != 1 {
		return nil, fmt.Errorf("the server answered %d of 1 steps", len(done.Results))
	}
	o := h.outcome(done, 0)
	return o.result, o.err
}

// post sends one message. The error is errNotSent when there was no connection.
func (h *httpStream) post(ctx context.Context, baton string, requests ...hranaRequest) (*hranaAnswer, error) {
	message := map[string]any{"requests": requests}
	if baton != "" {
		message["baton"] = baton
	}
	body, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotRun, err)
	}
	// The body has a type that net/http cannot rewind, so that it is never sent twice.
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request, err := http.NewRequestWithContext(traced, http.MethodPost, h.url, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotRun, err)
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/json")
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	response, err := h.client.Do(request)
	if err != nil && !connected.Load() {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := h.readText(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusBadRequest && baton != "" {
		return nil, errNoStream
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s: %.200s", response.Status, text)
	}
	var answer hranaAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("the server's answer: %w", err)
	}
	if len(answer.Results) == 0 {
		return nil, fmt.Errorf("the server's answer has no results")
	}
	if e := answer.Results[0].Error; e != nil {
		return nil, fmt.Errorf("the server: %s", e.Message)
	}
	return &answer, nil
}
