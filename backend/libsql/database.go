package libsql

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
)

// Database runs the statements of many callers on one database. Make it with Open; it
// is safe for concurrent use.
//
// Reads go to its source, and writes, one group after the other, too; see groupWriter.
type Database struct {
	config Config
	// source is nil with PerRequest; then own makes the connections to a file.
	source   source
	write    *groupWriter
	own      *Connector
	inFlight *inFlight

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

// Open opens a database. It fails if a file cannot be opened; a server need
// not answer yet.
func Open(ctx context.Context, config Config) (*Database, error) {
	config = config.withDefaults()
	d := &Database{config: config, statements: make(map[string]*statement), inFlight: newInFlight()}
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
	d.write = newGroupWriter(d.source, d.inFlight)
	return d, nil
}

func openSource(ctx context.Context, config Config) (source, error) {
	if config.onFile() {
		return openFile(ctx, config)
	}
	return newReplicas(config)
}

// Begin counts a request that may write next: a group of writes waits for it.
func (d *Database) Begin() { d.inFlight.begin() }

// End is called once for each Begin, when the request has ended or waits for another
// server.
func (d *Database) End() { d.inFlight.end() }

// Connection runs the statements of one caller. It is an alias, so that an interface
// in a package that does not import this one can have the method Connect.
type Connection = interface {
	Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error)
	// Writes reports whether a statement may write.
	Writes(ctx context.Context, text []byte) (bool, error)
	Close() error
}

// Connect returns the shared connection, or with PerRequest a new one.
func (d *Database) Connect() Connection {
	if d.config.PerRequest {
		return &ownConnection{of: d, limits: d.config.limits()}
	}
	return shared{d}
}

// shared is the connection of all callers.
type shared struct{ *Database }

// Close has nothing to do: the connections are the Database's.
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

// Query runs a statement and returns its whole result, so that no connection waits
// for a caller: the names of the columns, and the values of all rows, one row after
// the other.
func (d *Database) Query(ctx context.Context, text []byte, args []any) (columns []string, values []any, err error) {
	r, err := d.query(ctx, text, args)
	if err != nil {
		return nil, nil, markFull(err)
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
