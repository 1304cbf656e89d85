package libsql

import (
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// limits bound the result of one statement.
type limits struct{ maxRows, maxBytes int }

// fullError reports that the disk of a database is full.
type fullError struct{ error }

// Full reports true. Callers find it by errors.As with an interface.
func (fullError) Full() bool { return true }

func (e fullError) Unwrap() error { return e.error }

func markFull(err error) error {
	if isFull(err) {
		return fullError{err}
	}
	return err
}

// isFull reports whether err is SQLITE_FULL. A server's error has only its text.
func isFull(err error) bool {
	return codeOf(err) == sqlite3.SQLITE_FULL || strings.Contains(err.Error(), "database or disk is full")
}

var errTooLarge = errors.New("the result is larger")

// result has all rows of a statement, one after the other.
type result struct {
	columns []string
	values  []any // int64, float64, string, []byte or nil
}

func (l limits) tooLarge() error {
	return fmt.Errorf("%w than %d rows or %d bytes", errTooLarge, l.maxRows, l.maxBytes)
}

// sizeOf estimates how many bytes a row takes in the guest.
func sizeOf(row []any) int {
	size := 0
	for _, v := range row {
		size += sizeOfValue(v)
	}
	return size
}

func sizeOfValue(v any) int {
	switch v := v.(type) {
	case string:
		return 16 + len(v)
	case []byte:
		return 16 + len(v)
	}
	return 16
}
