package libsql

import (
	"context"
	"errors"
	"strings"
)

// openPerRequest refuses a database that Spin's configuration cannot name.
func (d *Database) openPerRequest() error {
	url := d.config.URL
	if len(d.config.Fallbacks) > 0 || !d.config.onFile() && !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
		return errors.New("with a connection for each request, as in Spin, a database is one file, or one libSQL server by http:// or https://; set such a URL and no fallback")
	}
	if d.config.onFile() {
		return makePrivate(url)
	}
	return nil
}

// spinBusyTimeout is how long a statement waits for the lock of a file
// (rusqlite, src/inner_connection.rs).
const spinBusyTimeout = "busy_timeout(5000)"

// ownConnection is a connection that one caller uses.
type ownConnection struct {
	config Config
	// file or server is set by the first statement.
	file   *fileConn
	server *httpStream
}

// open connects at the first statement.
func (c *ownConnection) open() (err error) {
	switch {
	case c.file != nil || c.server != nil:
	case c.config.onFile():
		c.file, err = connectFile(c.config.URL, c.config.limits(), spinBusyTimeout)
	default:
		c.server, err = newHTTPStream(c.config.URL, c.config.Token, c.config.limits())
	}
	return err
}

// Writes reports whether a statement may write.
func (c *ownConnection) Writes(_ context.Context, text []byte) (bool, error) {
	return classify(string(text))
}

// Query connects at the first statement, and runs it.
func (c *ownConnection) Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error) {
	r, err := c.query(ctx, text, args)
	if err != nil {
		return nil, nil, markFull(err)
	}
	return r.columns, r.values, nil
}

func (c *ownConnection) query(ctx context.Context, text []byte, args []any) (*result, error) {
	if _, err := classify(string(text)); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, err
	}
	if c.server != nil {
		return c.server.once(ctx, &call{ctx: ctx, text: string(text), args: args})
	}
	return c.file.run(ctx, string(text), args)
}

// Close closes the connection.
func (c *ownConnection) Close() error {
	if c.server != nil {
		c.server.client.CloseIdleConnections()
	}
	if c.file != nil {
		c.file.close()
	}
	return nil
}
