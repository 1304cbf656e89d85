package libsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Config says which database Open opens. The zero value of every field
// but URL means its default.
type Config struct {
	// URL is file:PATH for an embedded database, which is created if it is not
	// there, or ws://, wss://, http://, https:// or libsql:// for a server.
	URL string
	// Token authorises at a server. Default none.
	Token string
	// Fallbacks are the URLs of further servers of the same database, for the same
	// token, in the order in which they are asked while those before do not answer.
	// Of a file there can be none. Default none.
	Fallbacks []string
	// PerRequest makes a connection for every sqlite.open, as Spin does: then there
	// are no fallbacks, and a server is reached by http or https. Default false.
	PerRequest bool
	// Timeout is that of the requests whose statements these are. A statement waits
	// for the lock of a file for half of it. Default 10 s.
	Timeout time.Duration
	// ReadTimeout bounds a read of a server, over all servers that are asked; one
	// that takes longer than its share is not asked again until it answers a probe.
	// Default 1.2 s.
	ReadTimeout time.Duration
	// MaxRows and MaxRowBytes bound the result of one statement. Default 10,000
	// rows and 8 MiB.
	MaxRows, MaxRowBytes int
	// Log receives which servers come and go. Default slog.Default().
	Log *slog.Logger

	// clock measures ReadTimeout. Default systemClock.
	clock clock
}

const mib = 1 << 20

func orDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (c Config) withDefaults() Config {
	orDefault(&c.Timeout, 10*time.Second)
	orDefault(&c.ReadTimeout, 1200*time.Millisecond)
	orDefault(&c.MaxRows, 10_000)
	orDefault(&c.MaxRowBytes, 8*mib)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.clock.now == nil {
		c.clock = systemClock
	}
	return c
}

func (c Config) limits() limits { return limits{c.MaxRows, c.MaxRowBytes} }

// onFile reports whether the database is a file.
func (c Config) onFile() bool { return strings.HasPrefix(c.URL, "file:") }

// Database runs the statements of all guests on one database. Make it with
// Open; it is safe for concurrent use.
//
// Reads go to its source, and writes, one group after the other, too; see group.
type Database struct {
	config Config
	// source is nil when each guest has a connection of its own; own makes those to
	// a file.
	source source
	write  *group
	own    *Connector
	atWork *atWork

	mu         sync.RWMutex
	statements map[string]*statement
}

// source is what a database is: a file, or the servers that have it.
type source interface {
	writer
	// prepare makes a statement that reads ready to be read often.
	prepare(ctx context.Context, s *statement) error
	// read returns all rows of a statement.
	read(ctx context.Context, s *statement, args []any) (*result, error)
}

// limits bound the result of one statement.
type limits struct{ maxRows, maxBytes int }

// statement is a text that has been classified and, when it reads a file,
// prepared.
type statement struct {
	text     string
	write    bool
	prepared *sql.Stmt
}

// maxStatements bounds the statements that are kept prepared; later ones are
// prepared for each call. A component has a few dozen.
const maxStatements = 256

// writerIdle is how long a connection that writes may lie unused. A server that
// restarted leaves it dead without its knowing, and the statement sent over it
// is not sent again; few restarts take less.
const writerIdle = 2 * time.Second

// Open opens a database. It fails if a file cannot be opened; a server need
// not answer yet.
func Open(ctx context.Context, config Config) (*Database, error) {
	config = config.withDefaults()
	d := &Database{config: config, statements: make(map[string]*statement), atWork: newAtWork()}
	for _, url := range append([]string{config.URL}, config.Fallbacks...) {
		if len(config.Fallbacks) > 0 && strings.HasPrefix(url, "file:") {
			return nil, errors.New("a file neither has fallbacks nor is one")
		}
	}
	if config.PerRequest {
		return d, d.openPerRequest()
	}
	var err error
	if d.source, err = openSource(ctx, config); err != nil {
		return nil, err
	}
	d.write = newGroup(d.source, d.atWork)
	return d, nil
}

func openSource(ctx context.Context, config Config) (source, error) {
	if config.onFile() {
		return openFile(ctx, config)
	}
	return newReplicas(config)
}

// filePragmas are set on every connection to a file. With WAL, readers and the
// writer do not wait for each other; "normal" leaves it to us to flush the newest
// commits, which is done for several at once.
var filePragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)"}

// file is a database in a file. One connection of the process writes, and those that
// read are not allowed to write at all.
type file struct {
	*fileWriter
	readers *sql.DB
}

func openFile(ctx context.Context, config Config) (*file, error) {
	if strings.Contains(config.URL, ":memory:") || strings.Contains(config.URL, "mode=memory") {
		return nil, errors.New("every connection would have a database in memory of its own")
	}
	pragmas := append([]string{fmt.Sprintf("busy_timeout(%d)", lockWait(config.Timeout).Milliseconds()), "query_only(1)"}, filePragmas...)
	readers, err := filePool(config.URL, maxReaders(), pragmas...)
	if err != nil {
		return nil, err
	}
	w, err := openFileWriter(ctx, config.URL, config.limits(), config.Timeout)
	if err != nil {
		return nil, errors.Join(err, readers.Close())
	}
	return &file{w, readers}, nil
}

func (f *file) close() error { return errors.Join(f.fileWriter.close(), f.readers.Close()) }

// prepare implements source.
func (f *file) prepare(ctx context.Context, s *statement) (err error) {
	s.prepared, err = f.readers.PrepareContext(ctx, s.text)
	return err
}

// read implements source.
func (f *file) read(ctx context.Context, s *statement, args []any) (*result, error) {
	var rows *sql.Rows
	var err error
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, args...)
	} else {
		rows, err = f.readers.QueryContext(ctx, s.text, args...)
	}
	if err != nil {
		return nil, err
	}
	return f.readAll(rows)
}

// maxReaders is the number of connections that read one database file. More than
// processors brings nothing: they are busy, not waiting.
func maxReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// filePool opens connections to a file, which set some pragmas.
func filePool(file string, connections int, pragmas ...string) (*sql.DB, error) {
	connector, err := NewConnector(WithPragmas(file, pragmas...), "")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// Begin says that a request begins, or goes on, that may write next.
func (d *Database) Begin() { d.atWork.begin() }

// End says that one ended, or waits for something else than the database.
func (d *Database) End() { d.atWork.end() }

// Connection is what one guest runs its statements on. It is an alias, as the method
// of an interface elsewhere returns it.
type Connection = interface {
	Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error)
	// Writes reports whether a statement may write.
	Writes(ctx context.Context, text []byte) (bool, error)
	Close() error
}

// Connect makes a connection for one guest: that of all, or one of its own.
func (d *Database) Connect() Connection {
	if d.config.PerRequest {
		return &ownConnection{of: d, limits: d.config.limits()}
	}
	return shared{d}
}

// shared is the connection of all guests.
type shared struct{ *Database }

// Close has nothing to do: the connections of the database serve all guests.
func (shared) Close() error { return nil }

// Close waits for the statements that run, and closes all connections.
func (d *Database) Close() error {
	if d.source == nil {
		return nil
	}
	return d.write.close()
}

// statement returns the statement of a text, prepared if it can be kept. The
// text is not kept.
func (d *Database) statement(ctx context.Context, text []byte) (*statement, error) {
	d.mu.RLock()
	s, ok := d.statements[string(text)]
	d.mu.RUnlock()
	if ok {
		return s, nil
	}
	s = &statement{text: string(text)}
	var err error
	if s.write, err = classify(s.text); err != nil {
		return nil, err
	}
	return d.keep(ctx, s)
}

// Writes reports whether a statement may write.
func (d *Database) Writes(ctx context.Context, text []byte) (bool, error) {
	s, err := d.statement(ctx, text)
	if err != nil {
		return false, err
	}
	return s.write, nil
}

func (d *Database) keep(ctx context.Context, s *statement) (*statement, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if kept, ok := d.statements[s.text]; ok {
		return kept, nil
	}
	if len(d.statements) >= maxStatements {
		return s, nil
	}
	if !s.write {
		if err := d.source.prepare(ctx, s); err != nil {
			return nil, err
		}
	}
	d.statements[s.text] = s
	return s, nil
}

// fullError is that the disk of a database is full.
type fullError struct{ error }

// Full says that it is.
func (fullError) Full() bool { return true }

func (e fullError) Unwrap() error { return e.error }

func sayFull(err error) error {
	if isFull(err) {
		return fullError{err}
	}
	return err
}

// isFull reports SQLITE_FULL. Of a server there is only its text.
func isFull(err error) bool {
	if file := (*sqlite.Error)(nil); errors.As(err, &file) {
		return file.Code()&0xff == sqlite3.SQLITE_FULL
	}
	return strings.Contains(err.Error(), "database or disk is full")
}

var errTooLarge = errors.New("the result is larger")

// result is all rows of a statement, one after the other.
type result struct {
	columns []string
	values  []any // int64, float64, string, []byte, bool, time.Time or nil
}

// Query runs a statement and reads its whole result, so that no connection waits
// for a guest.
func (d *Database) Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error) {
	r, err := d.query(ctx, text, args)
	if err != nil {
		return nil, nil, sayFull(err)
	}
	return r.columns, r.values, nil
}

func (d *Database) query(ctx context.Context, text []byte, args []any) (*result, error) {
	s, err := d.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	if s.write {
		return d.write.write(ctx, s.text, args)
	}
	return d.source.read(ctx, s, args)
}

func (l limits) readAll(rows *sql.Rows) (*result, error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &result{columns: columns}
	row := make([]any, len(columns))
	places := make([]any, len(columns))
	for i := range row {
		places[i] = &row[i]
	}
	size := 0
	for n := 0; rows.Next(); n++ {
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		if size += sizeOf(row); n >= l.maxRows || size > l.maxBytes {
			return nil, fmt.Errorf("%w than %d rows or %d bytes", errTooLarge, l.maxRows, l.maxBytes)
		}
		r.values = append(r.values, row...)
	}
	return r, rows.Err()
}

// sizeOf returns about the bytes that a row takes in the guest.
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
