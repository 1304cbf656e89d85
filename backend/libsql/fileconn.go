package libsql

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileConn is a connection to a file, which one goroutine at a time uses. It calls SQLite
// directly: for each statement that a context can end, database/sql and its driver start
// two goroutines.
type fileConn struct {
	limits
	tls *libc.TLS
	db  uintptr // sqlite3*
	// prepared are the statements that are kept, by their text.
	prepared map[string]*prepared
	// args is memory of SQLite for the texts and blobs of one statement.
	args     uintptr
	argsSize int
	// running is the context of the running statement.
	running context.Context
	cache   fileCache
}

// prepared is a statement of a connection.
type prepared struct {
	handle  uintptr // sqlite3_stmt*
	columns []string
	// deterministic is true if the result depends on the file and the arguments only.
	deterministic bool
	// changes is how often SQLite has prepared it again because the schema had changed.
	changes int32
}

// fileError is an error of SQLite.
type fileError struct {
	code int32
	text string
}

func (e *fileError) Error() string { return e.text }

// connectFile opens a connection to the file at a URL. It sets the pragmas of the URL, and then
// the given ones.
func connectFile(databaseURL string, l limits, pragmas ...string) (*fileConn, error) {
	_, query, _ := strings.Cut(databaseURL, "?")
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	c := &fileConn{limits: l, tls: libc.NewTLS(), prepared: make(map[string]*prepared)}
	if err := c.open(databaseURL); err != nil {
		c.close()
		return nil, err
	}
	for _, p := range append(options["_pragma"], pragmas...) {
		if _, err := c.run(context.Background(), "PRAGMA "+p, nil); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

const wordSize = int(unsafe.Sizeof(uintptr(0)))

func (c *fileConn) open(databaseURL string) error {
	name, err := libc.CString(existing(databaseURL))
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, name)
	result := c.tls.Alloc(wordSize)
	defer c.tls.Free(wordSize)
	code := sqlite3.Xsqlite3_open_v2(c.tls, name, result,
		sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE|sqlite3.SQLITE_OPEN_NOMUTEX|sqlite3.SQLITE_OPEN_URI, 0)
	c.db = pointerAt(result)
	if code != sqlite3.SQLITE_OK {
		return c.fail(code)
	}
	sqlite3.Xsqlite3_extended_result_codes(c.tls, c.db, 1)
	connections.Store(c.db, c)
	sqlite3.Xsqlite3_progress_handler(c.tls, c.db, checkEvery, checkFunction, c.db)
	return nil
}

// close ends the connection. No statement may be running; later ones fail.
func (c *fileConn) close() {
	if c.tls == nil {
		return
	}
	for _, p := range c.prepared {
		c.finalize(p)
	}
	if c.db != 0 {
		connections.Delete(c.db)
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	}
	libc.Xfree(c.tls, c.args)
	c.tls.Close()
	// The cache looks into memory that SQLite has returned.
	c.tls, c.prepared, c.cache = nil, nil, fileCache{}
}

var errClosed = errors.New("the database is closed")

// checkEvery is the number of SQLite's instructions after which a statement ends if its
// context has ended: about a millisecond of computing.
const checkEvery = 10_000

// connections are the open connections by their handle, for check.
var connections sync.Map

// checkFunction is check in the form in which SQLite calls it.
var (
	checkHolder = struct {
		f func(*libc.TLS, uintptr) int32
	}{check}
	checkFunction = *(*uintptr)(unsafe.Pointer(&checkHolder)) // #nosec G103 -- the form of modernc.org/libc for a pointer to a function
)

// check returns 1, which ends the running statement of a connection, if its context has
// ended.
func check(_ *libc.TLS, db uintptr) int32 {
	if c, ok := connections.Load(db); ok && c.(*fileConn).running.Err() != nil {
		return 1
	}
	return 0
}

// run runs a statement. When ctx ends, so does the statement.
func (c *fileConn) run(ctx context.Context, text string, args []any) (*result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.tls == nil {
		return nil, errClosed
	}
	c.running = ctx
	r, err := c.runStatement(text, args)
	c.running = context.Background()
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, err
}

// read is run for a statement that reads. It returns the result of before if the file has
// not changed.
func (c *fileConn) read(ctx context.Context, text string, args []any) (*result, error) {
	p := c.prepared[text]
	if p == nil || !p.deterministic {
		return c.run(ctx, text, args)
	}
	if c.cache.results == nil {
		c.openCache()
	}
	r, ok := c.cache.find(p, args)
	if r != nil {
		return r, nil
	}
	r, err := c.run(ctx, text, args)
	if err == nil && ok {
		c.cache.keep(p, r)
	}
	return r, err
}

func (c *fileConn) runStatement(text string, args []any) (*result, error) {
	p, err := c.statement(text)
	if err != nil {
		return nil, err
	}
	r, err := c.query(p, args)
	sqlite3.Xsqlite3_reset(c.tls, p.handle) // its error is that of query
	if c.prepared[text] != p {
		c.finalize(p)
	}
	return r, err
}

// statement returns the prepared statement with the given text, and keeps it unless
// maxStatements others are kept.
func (c *fileConn) statement(text string) (*prepared, error) {
	if p, ok := c.prepared[text]; ok {
		return p, nil
	}
	sql, err := libc.CString(text)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, sql)
	result := c.tls.Alloc(wordSize)
	defer c.tls.Free(wordSize)
	if code := sqlite3.Xsqlite3_prepare_v2(c.tls, c.db, sql, int32(len(text)+1), result, 0); code != sqlite3.SQLITE_OK {
		return nil, c.fail(code)
	}
	p := &prepared{handle: pointerAt(result), deterministic: isDeterministic(text)}
	if p.handle == 0 {
		return nil, errors.New("the statement is empty")
	}
	c.describe(p)
	if len(c.prepared) < maxStatements {
		c.prepared[text] = p
	}
	return p, nil
}

// describe reads the names of the columns.
func (c *fileConn) describe(p *prepared) {
	p.columns = make([]string, sqlite3.Xsqlite3_column_count(c.tls, p.handle))
	for i := range p.columns {
		p.columns[i] = libc.GoString(sqlite3.Xsqlite3_column_name(c.tls, p.handle, int32(i)))
	}
}

func (c *fileConn) finalize(p *prepared) { sqlite3.Xsqlite3_finalize(c.tls, p.handle) }

func (c *fileConn) query(p *prepared, args []any) (*result, error) {
	if err := c.bind(p, args); err != nil {
		return nil, err
	}
	code := sqlite3.Xsqlite3_step(c.tls, p.handle)
	if n := sqlite3.Xsqlite3_stmt_status(c.tls, p.handle, sqlite3.SQLITE_STMTSTATUS_REPREPARE, 0); n != p.changes {
		p.changes = n
		c.describe(p)
	}
	r := &result{columns: p.columns}
	size := 0
	for n := 0; code == sqlite3.SQLITE_ROW; n++ {
		r.values = slices.Grow(r.values, len(p.columns))
		for i := range p.columns {
			r.values = append(r.values, c.column(p, int32(i)))
		}
		if size += sizeOf(r.values[n*len(p.columns):]); n >= c.maxRows || size > c.maxBytes {
			return nil, c.tooLarge()
		}
		code = sqlite3.Xsqlite3_step(c.tls, p.handle)
	}
	if code != sqlite3.SQLITE_DONE {
		return nil, c.fail(code)
	}
	return r, nil
}

// column returns a value of the current row.
func (c *fileConn) column(p *prepared, i int32) any {
	switch sqlite3.Xsqlite3_column_type(c.tls, p.handle, i) {
	case sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_column_int64(c.tls, p.handle, i)
	case sqlite3.SQLITE_FLOAT:
		return sqlite3.Xsqlite3_column_double(c.tls, p.handle, i)
	case sqlite3.SQLITE_TEXT:
		text := sqlite3.Xsqlite3_column_text(c.tls, p.handle, i)
		return string(c.bytes(text, sqlite3.Xsqlite3_column_bytes(c.tls, p.handle, i)))
	case sqlite3.SQLITE_BLOB:
		blob := sqlite3.Xsqlite3_column_blob(c.tls, p.handle, i)
		return append([]byte{}, c.bytes(blob, sqlite3.Xsqlite3_column_bytes(c.tls, p.handle, i))...)
	}
	return nil
}

// bytes returns n bytes of SQLite's memory, without a copy.
func (c *fileConn) bytes(p uintptr, n int32) []byte {
	if p == 0 || n == 0 {
		return nil
	}
	return libc.GoBytes(p, int(n))
}

// bind sets the parameters of a statement. Their texts and blobs are valid until the next
// statement.
func (c *fileConn) bind(p *prepared, args []any) error {
	count := int(sqlite3.Xsqlite3_bind_parameter_count(c.tls, p.handle))
	if len(args) < count {
		return fmt.Errorf("missing argument with index %d", len(args)+1)
	}
	args = args[:count]
	size := 1
	for _, arg := range args {
		size += sizeOfValue(arg)
	}
	if size > c.argsSize {
		libc.Xfree(c.tls, c.args)
		if c.args, c.argsSize = libc.Xmalloc(c.tls, libc.Tsize_t(size)), size; c.args == 0 {
			c.argsSize = 0
			return c.fail(sqlite3.SQLITE_NOMEM)
		}
	}
	free := c.args
	for i, arg := range args {
		at, code := int32(i+1), int32(sqlite3.SQLITE_OK)
		switch v := arg.(type) {
		case nil:
			code = sqlite3.Xsqlite3_bind_null(c.tls, p.handle, at)
		case int64:
			code = sqlite3.Xsqlite3_bind_int64(c.tls, p.handle, at, v)
		case float64:
			code = sqlite3.Xsqlite3_bind_double(c.tls, p.handle, at, v)
		case string:
			copy(libc.GoBytes(free, len(v)), v)
			code = sqlite3.Xsqlite3_bind_text(c.tls, p.handle, at, free, int32(len(v)), 0)
			free += uintptr(len(v))
		case []byte:
			copy(libc.GoBytes(free, len(v)), v)
			code = sqlite3.Xsqlite3_bind_blob(c.tls, p.handle, at, free, int32(len(v)), 0)
			free += uintptr(len(v))
		default:
			return fmt.Errorf("argument with index %d is a %T", i+1, arg)
		}
		if code != sqlite3.SQLITE_OK {
			return c.fail(code)
		}
	}
	return nil
}

// fail returns the error of a result code.
func (c *fileConn) fail(code int32) error {
	text := libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))
	if c.db != 0 {
		if message := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db)); message != text {
			text += ": " + message
		}
	}
	return &fileError{code, fmt.Sprintf("%s (%d)", text, code)}
}

// file returns the address of a file of the connection, a sqlite3_file, by the operation that
// asks for it; 0 if there is none.
func (c *fileConn) file(operation int32) uintptr {
	to := c.tls.Alloc(wordSize)
	defer c.tls.Free(wordSize)
	if sqlite3.Xsqlite3_file_control(c.tls, c.db, 0, operation, to) != sqlite3.SQLITE_OK {
		return 0
	}
	return pointerAt(to)
}

// at returns the value of SQLite at an address; nil for the address 0.
func at[T any](p uintptr) *T {
	if p == 0 {
		return nil
	}
	var size T
	return (*T)(unsafe.Pointer(unsafe.SliceData(libc.GoBytes(p, int(unsafe.Sizeof(size)))))) // #nosec G103 -- memory of SQLite
}

// pointerAt returns the pointer that SQLite has written to an address.
func pointerAt(at uintptr) uintptr {
	b := libc.GoBytes(at, wordSize)
	if wordSize == 4 {
		return uintptr(binary.NativeEndian.Uint32(b))
	}
	return uintptr(binary.NativeEndian.Uint64(b))
}
