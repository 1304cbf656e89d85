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

// timeout bounds a connection that nobody waits for: a pool opens such ones.
const timeout = 5 * time.Second

// Connector makes connections to the database at url, as libsql.NewConnector does.
// The token may be empty. To a file there is no bound: no server is silent there, and
// a process that starts on a busy machine should not fail for that.
func Connector(url, token string) (driver.Connector, error) {
	var options []libsql.Option
	if token != "" {
		options = append(options, libsql.WithAuthToken(token))
	}
	inner, err := libsql.NewConnector(url, options...)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "file:") {
		return inner, nil
	}
	return connector{inner}, nil
}

type connector struct{ driver.Connector }

type made struct {
	conn driver.Conn
	err  error
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
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

func (c connector) open(ctx context.Context) (m made) {
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
