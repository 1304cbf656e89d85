package store

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"strings"
	"time"
)

// maxPrepared bounds the statements that a connection keeps prepared; later ones
// are prepared for each use. The package has some two hundred, and filters that
// callers combine make more of them.
const maxPrepared = 512

// preparingConnector opens connections to a file that keep their statements prepared: to
// prepare one takes several times as long as to run it. A server prepares by
// itself. sql.Stmt would do the same, named at every use.
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

// connect opens a connection, and anew while others do: of several who open a new
// file at once, those whom the change of its journal cannot let wait are told at
// once that it is locked, however patient they are.
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
	// reading is true while rows of it are open: run again, it would begin anew.
	reading bool
}

// prepared returns the statement of a text, or nil when it is to be run without:
// it is a script, is being read from, or is one too many.
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

// Close lets the statements go before their connection.
func (c *preparedConn) Close() error {
	for _, s := range c.stmts {
		_ = s.stmt.Close()
	}
	c.stmts = nil
	return c.fileConn.Close()
}

// preparedRows tells its statement when nothing more is read.
type preparedRows struct {
	driver.Rows
	stmt *preparedStmt
}

func (r *preparedRows) Close() error {
	r.stmt.reading = false
	return r.Rows.Close()
}
