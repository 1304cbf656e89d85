package libsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ErrNotCommitted is a transaction that broke before its COMMIT was sent: nothing of
// it remains, and it may be run again.
var ErrNotCommitted = errors.New("the transaction was not committed")

// Queries are statements that read, as the one argument of a query without a text. A
// Pipeline sends them in one message; the rows of the second and later ones are
// further result sets.
type Queries []Query

// Query is a statement and its arguments: int64, float64, string, []byte or nil.
type Query struct {
	Text string
	Args []any
}

// Pipeline makes connections to a server that spare round trips: within a
// transaction a statement that returns no rows waits for the next that does, or for
// COMMIT, and is sent with it in one message. Its error is then that of the later
// statement, after which the transaction can only be rolled back. A result that is
// asked how many rows it affected sends what waits. Outside a transaction each
// statement is sent at once; when its connection breaks, the error is driver.ErrBadConn,
// and whether it ran is unknown.
type Pipeline struct {
	url, token string
	// Timeout bounds the making of a connection. Default 5 s.
	Timeout time.Duration
	// BeginTimeout bounds the message with a BEGIN, which waits for the write lock,
	// whatever the context of its sender says: the server would go on waiting. Default
	// 20 s.
	BeginTimeout time.Duration
}

// NewPipeline returns a Pipeline to the server at a URL, as Config.URL is.
func NewPipeline(url, token string) (*Pipeline, error) {
	if _, err := newHTTPStream(url, token, limits{}); err != nil {
		return nil, err
	}
	return &Pipeline{url: url, token: token, Timeout: defaultTimeout, BeginTimeout: 20 * time.Second}, nil
}

// pipelineLimits bound the rows of one statement. The store reads by pages.
var pipelineLimits = limits{maxRows: 1 << 20, maxBytes: 128 * mib}

// Connect implements driver.Connector.
func (p *Pipeline) Connect(ctx context.Context) (driver.Conn, error) {
	h, err := newHTTPStream(p.url, p.token, pipelineLimits)
	if err != nil {
		return nil, err
	}
	c := &pipelined{stream: h.lasting(), limits: pipelineLimits, beginTimeout: p.BeginTimeout}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	if err := c.stream.open(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, err)
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

// lasting is a stream whose batches are of one session: after one that fails to reach
// the server, all fail.
type lasting interface {
	open(ctx context.Context) error
	more(ctx context.Context, steps []hranaStep) (*hranaResult, error)
	// reset is called before the first batch of another session.
	reset()
	close()
}

// pipelined is a connection of a Pipeline.
type pipelined struct {
	stream lasting
	limits
	beginTimeout time.Duration
	// waiting are the statements that wait for the next one.
	waiting []hranaStep
	// results are those of waiting statements.
	results []*pipelinedResult
	// begins is true when a BEGIN waits, inside in a transaction.
	begins, inside bool
	broken         bool
}

// IsValid implements driver.Validator.
func (c *pipelined) IsValid() bool { return !c.broken && !c.inside }

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

// Prepare implements driver.Conn. The server prepares by itself.
func (c *pipelined) Prepare(text string) (driver.Stmt, error) {
	return nil, errors.New("libsql: a Pipeline prepares no statements")
}

// Begin implements driver.Conn. Transactions begin by the statement BEGIN.
func (c *pipelined) Begin() (driver.Tx, error) {
	return nil, errors.New("libsql: begin a transaction of a Pipeline by a statement")
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
	step := stepOf(text, args, false)
	switch verb(text) {
	case "BEGIN":
		c.begins, c.inside = true, true
		c.waiting = append(c.waiting, step)
		return &pipelinedResult{}, nil
	case "COMMIT":
		return &pipelinedResult{}, c.commit(ctx, step)
	case "ROLLBACK":
		return &pipelinedResult{}, c.rollback(ctx, step)
	}
	result := &pipelinedResult{conn: c, ctx: ctx}
	c.waiting = append(c.waiting, step)
	result.at = len(c.waiting)
	c.results = append(c.results, result)
	if c.inside {
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
	first := len(c.waiting)
	if queries, ok := only(args).(Queries); ok {
		for _, q := range queries {
			c.waiting = append(c.waiting, hranaStep{Stmt: hranaStmt{SQL: q.Text, Args: hranaValues(q.Args), WantRows: true}})
		}
	} else {
		c.waiting = append(c.waiting, stepOf(text, args, true))
	}
	done, err := c.flush(ctx)
	if err != nil {
		return nil, err
	}
	rows := &pipelinedRows{}
	for _, one := range done.Results[first:] {
		r, err := c.rows(one)
		if err != nil {
			return nil, err
		}
		rows.sets = append(rows.sets, r)
	}
	return rows, nil
}

// commit commits. A BEGIN that still waits goes before it in a message of its own:
// when the answer to a message with a COMMIT is lost, the transaction may have been
// kept, and a connection that broke while it was idle should not look like that.
func (c *pipelined) commit(ctx context.Context, step hranaStep) error {
	if c.begins {
		if _, err := c.flush(ctx); err != nil {
			return err
		}
	}
	c.inside = false
	c.waiting = append(c.waiting, step)
	_, err := c.flush(ctx)
	return err
}

// rollback gives the transaction up. Of one that was not begun yet there is nothing.
func (c *pipelined) rollback(ctx context.Context, step hranaStep) error {
	unsent := c.begins
	c.waiting, c.results, c.begins, c.inside = nil, nil, false, false
	if unsent {
		return nil
	}
	c.waiting = append(c.waiting, step)
	_, err := c.flush(ctx)
	return err
}

// flush sends what waits, and gives each result its own.
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

// send sends what waits, each statement if the one before succeeded, and returns all
// results, or the first error.
func (c *pipelined) send(ctx context.Context) (*hranaResult, error) {
	steps, unkept := c.waiting, c.inside
	ctx, cancel := c.patience(ctx)
	defer cancel()
	c.waiting, c.begins = nil, false
	for i := range steps {
		if i > 0 {
			before := i - 1
			steps[i].Condition = &hranaCondition{Type: "ok", Step: &before}
		}
	}
	done, err := c.stream.more(ctx, steps)
	if err == nil && (len(done.Results) != len(steps) || len(done.Errors) != len(steps)) {
		err = fmt.Errorf("the server answered %d of %d statements", len(done.Results), len(steps))
	}
	if err != nil {
		c.broken = true
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		if unkept {
			return nil, fmt.Errorf("%w: %w", ErrNotCommitted, err)
		}
		return nil, fmt.Errorf("%w: %w", driver.ErrBadConn, err)
	}
	for _, e := range done.Errors {
		if e != nil {
			return nil, markFull(fmt.Errorf("the server: %s", e.Message))
		}
	}
	return done, nil
}

// answerTime is how much longer than its caller a message waits for its answer. A
// message that is given up costs the connection, and callers give up often: a GraphQL
// call that reaches its bound ends all its reads.
const answerTime = 250 * time.Millisecond

// patience returns the context of a message.
func (c *pipelined) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.begins {
		return context.WithTimeout(context.WithoutCancel(ctx), c.beginTimeout)
	}
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, cancel) })
	return patient, func() { stop(); cancel() }
}

// verb is the first word of a statement.
func verb(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.ToUpper(word)
}

func only(args []driver.NamedValue) any {
	if len(args) != 1 {
		return nil
	}
	return args[0].Value
}

func stepOf(text string, args []driver.NamedValue, rows bool) hranaStep {
	stmt := hranaStmt{SQL: text, WantRows: rows}
	for _, arg := range args {
		stmt.Args = append(stmt.Args, hranaValueOf(plain(arg.Value)))
	}
	return hranaStep{Stmt: stmt}
}

func hranaValues(args []any) (values []hranaValue) {
	for _, arg := range args {
		values = append(values, hranaValueOf(plain(arg)))
	}
	return values
}

// plain is a value of one of the types that the protocol has.
func plain(v any) any {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case int:
		return int64(v)
	}
	return v
}

// pipelinedResult is that of a statement which may not have been sent yet.
type pipelinedResult struct {
	conn *pipelined
	ctx  context.Context
	// at is its place among the statements that wait, from 1, or 0 when it was sent.
	at       int
	affected int64
	err      error
}

// LastInsertId implements driver.Result.
func (r *pipelinedResult) LastInsertId() (int64, error) {
	return 0, errors.New("libsql: use RETURNING")
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
