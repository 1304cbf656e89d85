package libsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	turso "github.com/tursodatabase/libsql-client-go/libsql"
	_ "modernc.org/sqlite" // turso opens file: URLs with it
)

// ErrNoConnection is a connection that was not made: no statement was sent.
var ErrNoConnection = errors.New("no connection")

// defaultTimeout is the Timeout of a new Connector to a server.
const defaultTimeout = 5 * time.Second

// Connector makes connections to a database. Make it with NewConnector.
//
// The driver waits two minutes for a connection, whatever the caller's context says,
// and panics when a server refuses a stream. A Connector waits as long as the caller
// does, and returns an error.
type Connector struct {
	driver.Connector
	// Timeout bounds the making of a connection, beside the caller's context: a pool
	// also makes connections that no caller waits for. Default 5 s for a server; zero,
	// the default for a file, is no bound: a process that starts on a busy machine
	// should not fail for that.
	Timeout time.Duration
}

// NewConnector returns a Connector to the database at a URL of any kind that the
// driver knows. The token may be empty. A file is created if there is none; only its
// owner may read it and its log.
func NewConnector(databaseURL, token string) (*Connector, error) {
	if strings.HasPrefix(databaseURL, "file:") {
		if err := keepPrivate(databaseURL); err != nil {
			return nil, err
		}
	}
	var options []turso.Option
	if token != "" {
		options = append(options, turso.WithAuthToken(token))
	}
	inner, err := turso.NewConnector(databaseURL, options...)
	if err != nil {
		return nil, err
	}
	c := &Connector{Connector: inner}
	if !strings.HasPrefix(databaseURL, "file:") {
		c.Timeout = defaultTimeout
	}
	return c, nil
}

// WithPragmas returns the URL of a file whose connections set some pragmas, each as in
// "busy_timeout(5000)". That of a server is returned as it is.
func WithPragmas(databaseURL string, pragmas ...string) string {
	if !strings.HasPrefix(databaseURL, "file:") {
		return databaseURL
	}
	separator := "?"
	if strings.Contains(databaseURL, "?") {
		separator = "&"
	}
	for _, p := range pragmas {
		databaseURL += separator + "_pragma=" + url.QueryEscape(p)
		separator = "&"
	}
	return databaseURL
}

// keepPrivate makes the file of a database, and takes the rights of others to it and
// to what SQLite has beside it. SQLite gives new files beside it the rights of the
// database.
func keepPrivate(databaseURL string) error {
	path, _, _ := strings.Cut(strings.TrimPrefix(databaseURL, "file:"), "?")
	path, err := url.PathUnescape(path)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	for _, ending := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Stat(path + ending)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+ending, 0o600)
		}
		// Whoever does not own the file cannot change its rights, and SQLite deletes
		// its log when the last connection is closed.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
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
