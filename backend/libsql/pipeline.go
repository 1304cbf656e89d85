package libsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"kith/wasm/watchdog"
)

// ErrNotCommitted reports that a transaction failed before its COMMIT was sent:
// nothing of it is stored, and it may be run again.
var ErrNotCommitted = errors.New("the transaction was not committed")

// Queries are statements that read. They are passed as the only argument of a query
// with an empty text. A Pipeline sends them in one message; the second and later ones
// return further result sets.
type Queries []Query

// Query is a statement and its arguments: int64, float64, string, []byte or nil.
type Query struct {
	Text string
	Args []any
}

// Pipeline makes connections to a server that save round trips. Within a transaction,
// a statement that returns no rows is queued, and is sent in one message with the next
// statement that returns rows, or with COMMIT. If a queued statement fails, the later
// statement returns its error, and the transaction can only be rolled back. Calling
// RowsAffected on a result sends the queue. Outside a transaction each statement is
// sent at once; when its connection breaks, the error is driver.ErrBadConn, and the
// statement may or may not have run.
type Pipeline struct {
	server *httpStream
	// Timeout bounds the making of a connection. Default 5 s.
	Timeout time.Duration
	// BeginTimeout bounds the message with a BEGIN, which waits for the write lock.
	// The context of the caller does not end that wait, since the server would continue
	// to wait. Default 20 s.
	BeginTimeout time.Duration
	// watchdog is nil until Watch is called.
	watchdog atomic.Pointer[watchdog.Watchdog]
}

// ErrAway reports that a server hangs, and that the statements were not sent or are not
// waited for any longer.
var ErrAway = watchdog.ErrSilent

// Watch makes all statements fail with ErrAway while the server hangs: while statements
// wait for it, it is sent one that reads, which may take as long as the timeout. After two
// failures all statements that wait fail, and so do new ones, at once, until the server
// answers. The caller must call Close.
func (p *Pipeline) Watch(timeout time.Duration, log *slog.Logger) {
	before := p.watchdog.Swap(watchdog.New(watchdog.Config{Name: p.server.host, Check: p.server.ping, Timeout: timeout, Log: log}))
	if before != nil {
		before.Close()
	}
}

// Away reports whether statements fail at once, because the server hangs. Always false
// without Watch.
func (p *Pipeline) Away() bool {
	w := p.watchdog.Load()
	return w != nil && w.Away()
}

// Close ends Watch. It implements io.Closer, so that closing a pool of connections calls it.
func (p *Pipeline) Close() error {
	if w := p.watchdog.Load(); w != nil {
		w.Close()
	}
	return nil
}

// watched returns a context that ends when the server is found to hang.
func (p *Pipeline) watched(ctx context.Context) (_ context.Context, end func(), err error) {
	if w := p.watchdog.Load(); w != nil {
		return w.Begin(ctx)
	}
	return ctx, func() {}, nil
}

// cause returns ErrAway if a context ended since the server hangs, and err otherwise.
func cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrAway) {
		return fmt.Errorf("%w: %v", ErrAway, err)
	}
	return err
}

// NewPipeline returns a Pipeline to the server at a URL of the form of Config.URL.
func NewPipeline(url, token string) (*Pipeline, error) {
	server, err := newHTTPStream(url, token, pipelineLimits)
	if err != nil {
		return nil, err
	}
	return &Pipeline{server: server, Timeout: 5 * time.Second, BeginTimeout: 20 * time.Second}, nil
}

// pipelineLimits bound the rows of one statement. The store reads page by page.
var pipelineLimits = limits{maxRows: 1 << 20, maxBytes: 128 * mib}

// Connect implements driver.Connector.
func (p *Pipeline) Connect(ctx context.Context) (driver.Conn, error) {
	c := &pipelined{of: p, stream: p.server.stream()}
	ctx, end, err := p.watched(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoConnection, err)
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	if err := c.stream.open(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoConnection, cause(ctx, err))
	}
	return c, nil
}

// Driver implements driver.Connector.
func (p *Pipeline) Driver() driver.Driver { return pipelineDriver{} }

type pipelineDriver struct{}

func (pipelineDriver) Open(url string) (driver.Conn, error) {
	p, err := NewPipeline(url, "")
	if err != nil {
		return nil, err
	}
	return p.Connect(context.Background())
}

// pipelined is a connection of a Pipeline.
type pipelined struct {
	of     *Pipeline
	stream stream
	// queue has the statements that were not sent yet.
	queue []hranaStep
	// results are those of the queued statements.
	results []*pipelinedResult
	// beginQueued is true while a BEGIN is in the queue, inTx within a transaction.
	beginQueued, inTx bool
	broken            bool
}

// IsValid implements driver.Validator.
func (c *pipelined) IsValid() bool { return !c.broken && !c.inTx }

// ResetSession implements driver.SessionResetter.
func (c *pipelined) ResetSession(context.Context) error {
	if !c.IsValid() {
		return driver.ErrBadConn
	}
	c.stream.reset()
	return nil
}

// Close implements driver.Conn.
func (c *pipelined) Close() error {
	c.stream.close()
	return nil
}

// Prepare implements driver.Conn. It always fails: the server prepares statements itself.
func (c *pipelined) Prepare(text string) (driver.Stmt, error) {
	return nil, errors.New("libsql: a Pipeline does not prepare statements; call Exec or Query")
}

// Begin implements driver.Conn. It always fails: the statement BEGIN begins a transaction.
func (c *pipelined) Begin() (driver.Tx, error) {
	return nil, errors.New("libsql: a Pipeline has no Begin; run the statement BEGIN")
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *pipelined) CheckNamedValue(v *driver.NamedValue) error {
	if _, ok := v.Value.(Queries); ok {
		return nil
	}
	return driver.ErrSkip
}

// ExecContext implements driver.ExecerContext.
func (c *pipelined) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if c.broken {
		return nil, driver.ErrBadConn
	}
	step := stepOf(text, valuesOf(args), false)
	switch verb(text) {
	case "BEGIN":
		c.beginQueued, c.inTx = true, true
		c.queue = append(c.queue, step)
		return &pipelinedResult{}, nil
	case "COMMIT":
		return &pipelinedResult{}, c.commit(ctx, step)
	case "ROLLBACK":
		return &pipelinedResult{}, c.rollback(ctx, step)
	}
	result := &pipelinedResult{conn: c, ctx: ctx}
	c.queue = append(c.queue, step)
	result.at = len(c.queue)
	c.results = append(c.results, result)
	if c.inTx {
		return result, nil
	}
	_, err := c.flush(ctx)
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c *pipelined) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if c.broken {
		return nil, driver.ErrBadConn
	}
	first, queries := len(c.queue), Queries{{text, valuesOf(args)}}
	if len(args) == 1 {
		if several, ok := args[0].Value.(Queries); ok {
			queries = several
		}
	}
	for _, q := range queries {
		c.queue = append(c.queue, stepOf(q.Text, q.Args, true))
	}
	done, err := c.flush(ctx)
	if err != nil {
		return nil, err
	}
	rows := &pipelinedRows{}
	for _, one := range done.Results[first:] {
		r, err := pipelineLimits.rows(one)
		if err != nil {
			return nil, err
		}
		rows.sets = append(rows.sets, r)
	}
	return rows, nil
}

// commit commits. If BEGIN is still in the queue, commit sends the queue first, in a
// message of its own. When the answer to a message with COMMIT is lost, the
// transaction may have been committed; a connection that broke while it was idle
// should not cause that doubt.
func (c *pipelined) commit(ctx context.Context, step hranaStep) error {
	if c.beginQueued {
		if _, err := c.flush(ctx); err != nil {
			return err
		}
	}
	c.inTx = false
	c.queue = append(c.queue, step)
	_, err := c.flush(ctx)
	return err
}

// rollback undoes the transaction. If its BEGIN was not sent yet, rollback sends nothing.
func (c *pipelined) rollback(ctx context.Context, step hranaStep) error {
	unsent := c.beginQueued
	c.queue, c.results, c.beginQueued, c.inTx = nil, nil, false, false
	if unsent {
		return nil
	}
	c.queue = append(c.queue, step)
	_, err := c.flush(ctx)
	return err
}

// flush sends the queue, and completes the result of each statement.
func (c *pipelined) flush(ctx context.Context) (*hranaResult, error) {
	results := c.results
	c.results = nil
	done, err := c.send(ctx)
	for _, r := range results {
		if r.err = err; err == nil {
			r.affected = done.Results[r.at-1].Affected
		}
		r.at = 0
	}
	return done, err
}

// send sends the queue, in which each statement runs if the one before succeeded. It
// returns all results, or the first error.
func (c *pipelined) send(ctx context.Context) (*hranaResult, error) {
	steps, uncommitted := c.queue, c.inTx
	ctx, cancel := c.sendContext(ctx)
	defer cancel()
	c.queue, c.beginQueued = nil, false
	done, err := c.next(ctx, chain(steps))
	if err != nil {
		c.broken = true
		if ctx.Err() != nil && !errors.Is(err, ErrAway) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		if uncommitted {
			return nil, fmt.Errorf("%w: %w", ErrNotCommitted, err)
		}
		return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	if err := done.err(); err != nil {
		return nil, markFull(err)
	}
	return done, nil
}

// next sends statements, unless the server hangs.
func (c *pipelined) next(ctx context.Context, steps []hranaStep) (*hranaResult, error) {
	ctx, end, err := c.of.watched(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	done, err := c.stream.next(ctx, steps)
	return done, cause(ctx, err)
}

// answerTime is how long a message still waits for its answer after its caller gave
// up. Abandoning a message costs the connection, and callers give up often: a GraphQL
// call that reaches its time limit ends all its reads.
const answerTime = 250 * time.Millisecond

// sendContext returns the context of a message.
func (c *pipelined) sendContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.beginQueued {
		return context.WithTimeout(context.WithoutCancel(ctx), c.of.BeginTimeout)
	}
	extended, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, cancel) })
	return extended, func() { stop(); cancel() }
}

// verb returns the first word of a statement, in upper case.
func verb(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.ToUpper(word)
}

func valuesOf(args []driver.NamedValue) []any {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg.Value
	}
	return values
}

// pipelinedResult is the result of a statement that may not have been sent yet.
type pipelinedResult struct {
	conn *pipelined
	ctx  context.Context
	// at is the position of the statement in the queue, from 1, or 0 when it was sent.
	at       int
	affected int64
	err      error
}

// LastInsertId implements driver.Result.
func (r *pipelinedResult) LastInsertId() (int64, error) {
	return 0, errors.New("libsql: no LastInsertId; use RETURNING")
}

// RowsAffected implements driver.Result.
func (r *pipelinedResult) RowsAffected() (int64, error) {
	if r.at > 0 {
		_, _ = r.conn.flush(r.ctx) // the error is in r
	}
	return r.affected, r.err
}

type pipelinedRows struct {
	sets []*result
	at   int
}

// Columns implements driver.Rows.
func (r *pipelinedRows) Columns() []string { return r.sets[0].columns }

// Close implements driver.Rows.
func (r *pipelinedRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *pipelinedRows) Next(into []driver.Value) error {
	set := r.sets[0]
	if r.at >= len(set.values) {
		return io.EOF
	}
	for i := range into {
		into[i] = set.values[r.at+i]
	}
	r.at += len(set.columns)
	return nil
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (r *pipelinedRows) HasNextResultSet() bool { return len(r.sets) > 1 }

// NextResultSet implements driver.RowsNextResultSet.
func (r *pipelinedRows) NextResultSet() error {
	if len(r.sets) < 2 {
		return io.EOF
	}
	r.sets, r.at = r.sets[1:], 0
	return nil
}
