package libsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	turso "github.com/tursodatabase/libsql-client-go/libsql"
	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // turso opens file: URLs with it
)

// ErrNoConnection reports that no connection could be made: no statement was sent.
var ErrNoConnection = errors.New("no connection")

// defaultTimeout is the Timeout of a new Connector to a server.
const defaultTimeout = 5 * time.Second

// Connector makes connections to a database. Make it with NewConnector.
//
// The driver ignores the caller's context while it connects, for up to two minutes,
// and panics when a server refuses a stream. A Connector respects the context and
// returns an error.
type Connector struct {
	driver.Connector
	// Timeout bounds the making of a connection, in addition to the caller's context:
	// a pool also makes connections that no caller waits for. Default 5 s for a
	// server. Zero means no bound; it is the default for a file, so that a process
	// does not fail to start on a busy machine.
	Timeout time.Duration
}

// NewConnector returns a Connector to the database at a URL of any scheme that the
// driver knows. The token may be empty. A file is created if it does not exist; only
// its owner may read it and its log.
func NewConnector(databaseURL, token string) (*Connector, error) {
	if strings.HasPrefix(databaseURL, "file:") {
		if err := makePrivate(databaseURL); err != nil {
			return nil, err
		}
	}
	var options []turso.Option
	if token != "" {
		options = append(options, turso.WithAuthToken(token))
	}
	inner, err := turso.NewConnector(existing(databaseURL), options...)
	if err != nil {
		return nil, err
	}
	c := &Connector{Connector: inner}
	if !strings.HasPrefix(databaseURL, "file:") {
		c.Timeout = defaultTimeout
	}
	return c, nil
}

// existing returns the URL of a database by which a file is not created again: a new one in
// place of a file that was deleted would be empty.
func existing(databaseURL string) string {
	_, query, _ := strings.Cut(databaseURL, "?")
	if given, err := url.ParseQuery(query); !strings.HasPrefix(databaseURL, "file:") || err != nil || given.Has("mode") {
		return databaseURL
	}
	separator := "?"
	if query != "" {
		separator = "&"
	}
	return databaseURL + separator + "mode=rw"
}

// WithPragmas adds pragmas to the URL of a file; every connection to that URL sets
// them. A pragma is written as "busy_timeout(5000)". The URL of a server is returned
// unchanged.
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

// makePrivate creates the file of a database if needed, and removes the permissions
// of group and others from it and from its log. SQLite copies the permissions of the
// database to the log files that it creates later. It opens no file that exists: this
// process may have a connection to it (see hold).
func makePrivate(databaseURL string) error {
	path, err := FilePath(databaseURL)
	if err != nil {
		return err
	}
	if err := createPrivate(path); err != nil {
		return err
	}
	for _, ending := range append([]string{""}, besides...) {
		info, err := os.Stat(path + ending)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+ending, 0o600)
		}
		// A process that does not own the file cannot change its permissions. SQLite
		// deletes the log when the last connection is closed.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// CheckLog returns an error if a file does not exist and has a log.
func CheckLog(path string) error {
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s-wal: is the log of a database that is not there; put %s back, or move the log away", path, path)
		}
	}
	return nil
}

// creating makes a second connection wait until the new file of the first is closed.
var creating sync.Mutex

// createPrivate creates a file that does not exist. It returns an error if the file exists
// and cannot be read, or if it does not exist and has a log: SQLite would delete that.
func createPrivate(path string) error {
	creating.Lock()
	defer creating.Unlock()
	for {
		if err := CheckLog(path); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return file.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) { // a link to a file that does not exist yet
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			path = target
			continue
		}
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS); err != nil {
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return nil
	}
}

// connResult is a connection or the reason why it was not made.
type connResult struct {
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
	result := make(chan connResult, 1)
	go func() { result <- c.open(context.WithoutCancel(ctx)) }()
	select {
	case m := <-result:
		return m.conn, m.err
	case <-ctx.Done():
		go closeLate(result)
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, ctx.Err())
	}
}

func (c *Connector) open(ctx context.Context) (m connResult) {
	defer func() {
		if fault := recover(); fault != nil {
			m = connResult{err: fmt.Errorf("%w: the server refused it", ErrNoConnection)}
		}
	}()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return connResult{err: fmt.Errorf("%w: %w", ErrNoConnection, err)}
	}
	return connResult{conn: conn}
}

func closeLate(result <-chan connResult) {
	if m := <-result; m.conn != nil {
		_ = m.conn.Close()
	}
}
