// Package connect connects to libSQL databases within the time that a caller has.
//
// The driver gives a connection two minutes to come about, whatever the caller's
// context says, so that a server that takes connections and answers nothing holds
// up everybody who asks it; and it panics when a server refuses a stream.
package connect

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tursodatabase/libsql-client-go/libsql"
)

// ErrNoConnection is that a connection did not come about: nothing was asked.
var ErrNoConnection = errors.New("no connection")

// defaultTimeout is the Timeout of a new Connector to a server.
const defaultTimeout = 5 * time.Second

// Connector makes connections to a database. Make it with New.
type Connector struct {
	driver.Connector
	// Timeout bounds a connection that nobody waits for: a pool opens such ones. It
	// is 5 s unless it is set before the first connection. Zero is no bound, the
	// default for a file: no server is silent there, and a process that starts on a
	// busy machine should not fail for that.
	Timeout time.Duration
}

// New returns a Connector to the database at url, as libsql.NewConnector does. The
// token may be empty.
func New(url, token string) (*Connector, error) {
	var options []libsql.Option
	if token != "" {
		options = append(options, libsql.WithAuthToken(token))
	}
	inner, err := libsql.NewConnector(url, options...)
	if err != nil {
		return nil, err
	}
	c := &Connector{Connector: inner}
	if !strings.HasPrefix(url, "file:") {
		c.Timeout = defaultTimeout
	}
	return c, nil
}

type made struct {
	conn driver.Conn
	err  error
}

// Connect implements driver.Connector.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	result := make(chan made, 1)
	go func() { result <- c.open(context.WithoutCancel(ctx)) }()
	select {
	case m := <-result:
		return m.conn, m.err
	case <-ctx.Done():
		go closeLate(result)
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, ctx.Err())
	}
}

func (c *Connector) open(ctx context.Context) (m made) {
	defer func() {
		if fault := recover(); fault != nil {
			m = made{err: fmt.Errorf("%w: the server refused it", ErrNoConnection)}
		}
	}()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return made{err: fmt.Errorf("%w: %w", ErrNoConnection, err)}
	}
	return made{conn: conn}
}

func closeLate(result <-chan made) {
	if m := <-result; m.conn != nil {
		_ = m.conn.Close()
	}
}
