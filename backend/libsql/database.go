package libsql

import (
	"context"
	"errors"
	"strings"
	"sync"
)

// Database runs the statements of many callers on one database. Make it with Open; it
// is safe for concurrent use.
//
// Reads go to its source directly. Writes go to its source in groups, one group after
// the other; see groupWriter.
type Database struct {
	config Config
	// source and write are nil with PerRequest.
	source   source
	write    *groupWriter
	inFlight *inFlight

	mu         sync.RWMutex
	statements map[string]*statement
}

// source is where a database is: in a file, or on servers.
type source interface {
	writer
	// read returns all rows of a statement.
	read(ctx context.Context, text string, args []any) (*result, error)
}

// statement is the SQL text of a statement, and whether it writes.
type statement struct {
	text  string
	write bool
}

// maxStatements is how many statements are kept, and prepared on each connection to a
// file; any further statement is prepared for each call. A component has a few dozen.
const maxStatements = 256

// Open opens a database. It fails if a file cannot be opened; a server need
// not answer yet.
func Open(ctx context.Context, config Config) (*Database, error) {
	config = config.withDefaults()
	d := &Database{config: config, statements: make(map[string]*statement), inFlight: newInFlight()}
	for _, url := range append([]string{config.URL}, config.Fallbacks...) {
		if len(config.Fallbacks) > 0 && strings.HasPrefix(url, "file:") {
			return nil, errors.New("fallbacks: a database file neither has fallbacks nor is one; leave the fallbacks out, or give the URLs of servers")
		}
	}
	if config.PerRequest {
		return d, d.openPerRequest()
	}
	var err error
	if d.source, err = openSource(ctx, config); err != nil {
		return nil, err
	}
	d.write = newGroupWriter(d.source, d.inFlight, config)
	return d, nil
}

func openSource(ctx context.Context, config Config) (source, error) {
	if config.onFile() {
		return openFile(ctx, config)
	}
	return newReplicas(config)
}

// Begin counts a request that may write soon; the next group of writes waits for it.
func (d *Database) Begin() { d.inFlight.begin() }

// End is called once for each Begin, when the request has ended or waits for the
// answer of another server.
func (d *Database) End() { d.inFlight.end() }

// Connection runs the statements of one caller. It is an alias, so that an interface
// in a package that does not import this one can have the method Connect.
type Connection = interface {
	Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error)
	// Writes reports whether a statement may write.
	Writes(ctx context.Context, text []byte) (bool, error)
	Close() error
}

// Connect returns the shared connection, or a new one with PerRequest.
func (d *Database) Connect() Connection {
	if d.config.PerRequest {
		return &ownConnection{config: d.config}
	}
	return shared{d}
}

// shared is the connection that all callers use.
type shared struct{ *Database }

// Close does nothing: the connections belong to the Database.
func (shared) Close() error { return nil }

// RefusesWrites reports whether writes fail at once, because the database does not accept
// them at the moment. Always false with PerRequest.
func (d *Database) RefusesWrites() bool { return d.write != nil && d.write.breaker.IsOpen() }

// CheckFile returns an error if the database is a file, and that file, its log or the locks
// of this process on them were lost; see Log. Always nil with PerRequest, when a process
// has the file open for the time of a request.
func (d *Database) CheckFile() error {
	if f, ok := d.source.(*file); ok {
		return f.log.Check()
	}
	return nil
}

// Close waits for the running statements, and closes all connections.
func (d *Database) Close() error {
	if d.source == nil {
		return nil
	}
	return d.write.close()
}

// statement returns the statement with the given text. It does not keep a reference to
// text.
func (d *Database) statement(text []byte) (*statement, error) {
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.statements) < maxStatements {
		d.statements[s.text] = s
	}
	return s, nil
}

// Writes reports whether a statement may write.
func (d *Database) Writes(_ context.Context, text []byte) (bool, error) {
	s, err := d.statement(text)
	if err != nil {
		return false, err
	}
	return s.write, nil
}

// Query runs a statement and returns its whole result: the names of the columns, and
// the values of all rows, one row after the other. No connection stays in use while
// the caller works through the result.
func (d *Database) Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error) {
	r, err := d.query(ctx, text, args)
	if err != nil {
		return nil, nil, markFull(err)
	}
	return r.columns, r.values, nil
}

func (d *Database) query(ctx context.Context, text []byte, args []any) (*result, error) {
	s, err := d.statement(text)
	if err != nil {
		return nil, err
	}
	if s.write {
		return d.write.write(ctx, s.text, args)
	}
	return d.source.read(ctx, s.text, args)
}
