package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"time"

	"kith/backend/libsql"
	"kith/core"
)

// errUnavailable is the error for callers if the database could not be reached, read or
// written.
var errUnavailable = &core.Error{Code: core.CodeUnavailable, Message: "the database cannot be reached or written now; try again"}

// unavailable is an error of a database that could not be used. It has the text of its
// cause, for logs, and is a core.Error of the code unavailable for callers.
type unavailable struct{ cause error }

func (u unavailable) Error() string { return u.cause.Error() }

// Unwrap returns the error for callers and the cause.
func (u unavailable) Unwrap() []error { return []error{errUnavailable, u.cause} }

// mark returns err, as an error of the code unavailable if the database could not be used.
// So every handler, of HTTP, GraphQL, the portal and SFTP, answers that the call may be sent
// again, and every worker repeats its work. It also records that the disk is full.
func (p *Primary) mark(err error) error {
	if err != nil && strings.Contains(err.Error(), full) {
		p.full.Store(time.Now().UnixNano())
	}
	if !libsql.Unavailable(err) || errors.Is(err, errUnavailable) {
		return err
	}
	return unavailable{err}
}

// full is in the error of the database when its disk is full.
const full = "database or disk is full"

// IsUnavailable reports whether err means that the database could not be used.
func IsUnavailable(err error) bool { return errors.Is(err, errUnavailable) }

// markingConnector opens connections whose statements are observed, and whose errors are
// marked.
type markingConnector struct {
	driver.Connector
	primary *Primary
}

func (m markingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := m.Connector.Connect(ctx)
	if err != nil {
		return nil, m.primary.mark(err)
	}
	return &markedConn{c.(usedConn), m.primary}, nil
}

// usedConn is what this package uses of the connections to files and to servers.
type usedConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type markedConn struct {
	usedConn
	primary *Primary
}

func (c *markedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	end := c.primary.begun(ctx, "", query)
	r, err := c.usedConn.ExecContext(ctx, query, args)
	end(err)
	if err != nil {
		return nil, c.primary.mark(err)
	}
	return markedResult{r, c.primary}, nil
}

func (c *markedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	end := c.primary.begun(ctx, "", query)
	rows, err := c.usedConn.QueryContext(ctx, query, args)
	if err != nil {
		end(err)
		return nil, c.primary.mark(err)
	}
	return &markedRows{Rows: rows, primary: c.primary, end: end}, nil
}

// CheckNamedValue implements driver.NamedValueChecker, as the connection itself does.
func (c *markedConn) CheckNamedValue(v *driver.NamedValue) error {
	if own, ok := c.usedConn.(driver.NamedValueChecker); ok {
		return own.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type markedResult struct {
	driver.Result
	primary *Primary
}

func (r markedResult) RowsAffected() (int64, error) {
	n, err := r.Result.RowsAffected()
	return n, r.primary.mark(err)
}

// markedRows are the rows of a query, which ends when they are closed.
type markedRows struct {
	driver.Rows
	primary *Primary
	end     func(error)
	err     error
}

func (r *markedRows) Next(into []driver.Value) error {
	err := r.Rows.Next(into)
	if err == nil || err == io.EOF {
		return err
	}
	r.err = err
	return r.primary.mark(err)
}

// Close ends the query. It may be what fails: a statement that writes and returns a row
// commits only then.
func (r *markedRows) Close() error {
	err := r.Rows.Close()
	r.end(cmp.Or(r.err, err))
	return r.primary.mark(err)
}

// HasNextResultSet implements driver.RowsNextResultSet. Only a server has several results.
func (r *markedRows) HasNextResultSet() bool {
	sets, ok := r.Rows.(driver.RowsNextResultSet)
	return ok && sets.HasNextResultSet()
}

// NextResultSet implements driver.RowsNextResultSet.
func (r *markedRows) NextResultSet() error {
	if sets, ok := r.Rows.(driver.RowsNextResultSet); ok {
		return sets.NextResultSet()
	}
	return io.EOF
}
