package libsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// Unavailable reports whether err means that the database could not be reached, read or
// written: the cause is the server, the file, its disk or its lock, and not the
// statement. The same statement may succeed later.
func Unavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, errTooLarge) {
		return false
	}
	if code := codeOf(err); code != sqlite3.SQLITE_OK {
		return unavailableCode(code)
	}
	for _, cause := range []error{
		errNoConnection, ErrNotCommitted, ErrAway, ErrFileLost, errUnavailable, errLost, errLate, errNotRun, errBroken,
		driver.ErrBadConn, context.DeadlineExceeded, io.ErrUnexpectedEOF,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) || unavailableText(err.Error())
}

// unavailableCode reports whether a primary result code of SQLite says that the file
// cannot be used now.
func unavailableCode(code int) bool {
	switch code {
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOTADB:
		return true
	}
	return false
}

// serverTexts are parts of the errors of a server that cannot use its file or reach its
// primary. A server sends only the text of an error.
var serverTexts = []string{
	"database is locked", "database table is locked", "database or disk is full", "disk I/O error", "unable to open database file",
	"attempt to write a readonly database", "database disk image is malformed", "file is not a database", "locking protocol",
	"Transaction timed out", "the server answered", "the transaction was not committed",
	// A replica whose primary does not answer.
	"transport error", "tcp connect error", "error trying to connect", "connection refused", "deadline has elapsed", "status: Unavailable", "proxy", "not connected",
}

func unavailableText(text string) bool {
	for _, part := range serverTexts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
