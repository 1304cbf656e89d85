package store

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"strings"
	"time"
)

// maxPrepared limits the statements that a connection keeps prepared; further ones
// are prepared for each use. The program has about 200 statements, and more by
// combinations of filters.
const maxPrepared = 512

// preparingConnector opens connections to a file that keep their statements
// prepared: preparing a statement takes several times as long as running it. A
// server does this by itself. With sql.Stmt, every use would have to name the
// prepared statement.
type preparingConnector struct {
	driver.Connector
	primary *Primary
}

func (p preparingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &preparedConn{fileConn: c.(fileConn), stmts: map[string]*preparedStmt{}}, nil
}

// connect opens a connection, and retries while the file is locked. When several
// connections open a new file at once, the change of the journal mode fails at once
// for all but one, whatever the busy timeout.
func (p preparingConnector) connect(ctx context.Context) (driver.Conn, error) {
	for end := time.Now().Add(p.primary.beginTimeout); ; {
		c, err := p.Connector.Connect(ctx)
		if !retryable(err) || time.Now().After(end) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(rand.N(retryPause)): // #nosec G404 -- it spreads retries
		}
	}
}

// fileConn is what database/sql uses of the driver's connections to a file.
type fileConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type preparedConn struct {
	fileConn
	stmts map[string]*preparedStmt
}

type fileStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type preparedStmt struct {
	stmt fileStmt
	// reading is true while rows of the statement are open: running it again would
	// restart them.
	reading bool
}

// prepared returns the prepared statement of a text. It returns nil if the text must
// run unprepared: it is a script, its rows are being read, or maxPrepared is reached.
func (c *preparedConn) prepared(ctx context.Context, query string) (*preparedStmt, error) {
	if s, ok := c.stmts[query]; ok {
		if s.reading {
			return nil, nil
		}
		return s, nil
	}
	if len(c.stmts) >= maxPrepared || strings.Contains(query, ";") {
		return nil, nil
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &preparedStmt{stmt: stmt.(fileStmt)}
	c.stmts[query] = s
	return s, nil
}

func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fileConn.ExecContext(ctx, query, args)
	}
	return s.stmt.ExecContext(ctx, args)
}

func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fileConn.QueryContext(ctx, query, args)
	}
	rows, err := s.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.reading = true
	return &preparedRows{Rows: rows, stmt: s}, nil
}

// Close closes the statements, then the connection.
func (c *preparedConn) Close() error {
	for _, s := range c.stmts {
		_ = s.stmt.Close()
	}
	c.stmts = nil
	return c.fileConn.Close()
}

// preparedRows marks its statement as unused when the rows are closed.
type preparedRows struct {
	driver.Rows
	stmt *preparedStmt
}

func (r *preparedRows) Close() error {
	r.stmt.reading = false
	return r.Rows.Close()
}
