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

	turso "github.com/tursodatabase/libsql-client-go/libsql"
	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // turso opens file: URLs with it
)

// errNoConnection reports that no connection could be made: no statement was sent.
var errNoConnection = errors.New("no connection")

// Connector makes connections to a file. Make it with NewConnector.
//
// The driver ignores the caller's context while it connects, and may wait for a lock. A
// Connector respects the context.
type Connector struct{ driver.Connector }

// NewConnector returns a Connector to the file at a URL of the form "file:PATH". It is
// created if it does not exist; only its owner may read it and its log.
func NewConnector(databaseURL string) (Connector, error) {
	if err := makePrivate(databaseURL); err != nil {
		return Connector{}, err
	}
	inner, err := turso.NewConnector(existing(databaseURL))
	return Connector{inner}, err
}

// existing returns the URL of a file by which it is not created again: a new one in place
// of a file that was deleted would be empty.
func existing(databaseURL string) string {
	_, query, _ := strings.Cut(databaseURL, "?")
	if given, err := url.ParseQuery(query); err != nil || given.Has("mode") {
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
func (c Connector) Connect(ctx context.Context) (driver.Conn, error) {
	result := make(chan connResult, 1)
	go func() {
		conn, err := c.Connector.Connect(context.WithoutCancel(ctx))
		result <- connResult{conn, err}
	}()
	select {
	case m := <-result:
		if m.err != nil {
			return nil, fmt.Errorf("%w: %w", errNoConnection, m.err)
		}
		return m.conn, nil
	case <-ctx.Done():
		go closeLate(result)
		return nil, fmt.Errorf("%w: %w", errNoConnection, ctx.Err())
	}
}

func closeLate(result <-chan connResult) {
	if m := <-result; m.conn != nil {
		_ = m.conn.Close()
	}
}
