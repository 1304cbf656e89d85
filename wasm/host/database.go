package host

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/tursodatabase/libsql-client-go/libsql"
	_ "modernc.org/sqlite" // libsql opens file: URLs with it
)

// Database says what a name in sqlite_databases stands for.
type Database struct {
	// URL is file:PATH for an embedded database, which is created if it is not
	// there, or ws://, wss://, http://, https:// or libsql:// for a server.
	URL string
	// Token authorises at a server. Default none.
	Token string
	// Fallbacks are the URLs of further servers of the same database, for the same
	// token, in the order in which they are asked while those before do not answer.
	// Of a file there can be none. Default none.
	Fallbacks []string
}

// ReadRuntimeConfig reads the databases out of a Spin runtime configuration file:
// [sqlite_database.NAME] with type "spin" and path, or with type "libsql", url and
// token. A relative path is relative to the working directory, as in Spin 3 and
// later (runtime-config/src/lib.rs, sqlite_config_resolver). Other tables are
// ignored.
func ReadRuntimeConfig(path string) (map[string]Database, error) {
	var config struct {
		Databases map[string]struct{ Type, Path, URL, Token string } `toml:"sqlite_database"`
	}
	if _, err := toml.DecodeFile(path, &config); err != nil {
		return nil, fmt.Errorf("host: %s: %w", path, err)
	}
	databases := make(map[string]Database)
	for name, d := range config.Databases {
		switch {
		case d.Type == "spin" && d.Path != "":
			databases[name] = Database{URL: "file:" + d.Path}
		case d.Type == "libsql" && d.URL != "":
			databases[name] = Database{URL: d.URL, Token: d.Token}
		default:
			return nil, fmt.Errorf("host: %s: sqlite_database.%s: want type spin with path or libsql with url", path, name)
		}
	}
	return databases, nil
}

// database runs the statements of all guests on one database.
//
// One connection writes, so that writers stand in a queue and not in each other's
// way; see group. The readers of a file are not allowed to write at all. A server
// is read from as long as it answers; see replicas.
type database struct {
	config   Database
	read     *sql.DB   // of a file
	replicas *replicas // of a server, in place of read
	write    *group
	file     bool
	limits

	mu         sync.RWMutex
	statements map[string]*statement
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

func openDatabases(ctx context.Context, granted []string, o Options, others *atWork) (map[string]*database, error) {
	databases := make(map[string]*database)
	for _, name := range granted {
		config, ok := o.Databases[name]
		if !ok {
			continue
		}
		if o.StrictSpin {
			if err := checkStrict(name, config); err != nil {
				return databases, err
			}
			databases[name] = &database{config: config, limits: limits{o.MaxRows, o.MaxRowBytes}}
			continue
		}
		d, err := openDatabase(ctx, config, o, others)
		if err != nil {
			return databases, fmt.Errorf("host: database %s: %w", name, err)
		}
		databases[name] = d
	}
	return databases, nil
}

func openDatabase(ctx context.Context, config Database, o Options, others *atWork) (*database, error) {
	d := &database{config: config, limits: limits{o.MaxRows, o.MaxRowBytes}, statements: make(map[string]*statement)}
	for _, url := range append([]string{config.URL}, config.Fallbacks...) {
		if len(config.Fallbacks) > 0 && strings.HasPrefix(url, "file:") {
			return nil, errors.New("a file neither has fallbacks nor is one")
		}
	}
	if strings.HasPrefix(config.URL, "file:") {
		return d, d.openFile(ctx, config.URL, o.Timeout, others)
	}
	var err error
	if d.replicas, err = newReplicas(config, o); err != nil {
		return nil, err
	}
	d.write = newGroup(d.replicas, others)
	return d, nil
}

// filePragmas are set on every connection to a file. With WAL, readers and the
// writer do not wait for each other; "normal" leaves it to us to flush the newest
// commits, which is done for several at once.
var filePragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)"}

func (d *database) openFile(ctx context.Context, file string, timeout time.Duration, others *atWork) error {
	d.file = true
	if strings.Contains(file, ":memory:") || strings.Contains(file, "mode=memory") {
		return errors.New("every connection would have a database in memory of its own")
	}
	w, err := openFileWriter(ctx, file, d.limits, timeout)
	if err != nil {
		return err
	}
	d.write = newGroup(w, others)
	d.read, err = filePool(file, readers(), append([]string{fmt.Sprintf("busy_timeout(%d)", lockWait(timeout).Milliseconds()), "query_only(1)"}, filePragmas...)...)
	return err
}

func filePool(file string, connections int, pragmas ...string) (*sql.DB, error) {
	separator := "?"
	if strings.Contains(file, "?") {
		separator = "&"
	}
	for _, p := range pragmas {
		file += separator + "_pragma=" + url.QueryEscape(p)
		separator = "&"
	}
	connector, err := libsql.NewConnector(file)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, nil
}

// leave has nothing to do: the connections are the host's, and serve all guests.
func (d *database) leave() {}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	var errs []error
	if d.write != nil {
		errs = append(errs, d.write.close())
	}
	if d.read != nil {
		errs = append(errs, d.read.Close())
	}
	return errors.Join(errs...)
}

// statement returns the statement of a text, prepared if it can be kept. The
// text is not kept.
func (d *database) statement(ctx context.Context, text []byte) (*statement, error) {
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

func (d *database) writes(ctx context.Context, text []byte) (bool, error) {
	s, err := d.statement(ctx, text)
	if err != nil {
		return false, err
	}
	return s.write, nil
}

func (d *database) keep(ctx context.Context, s *statement) (*statement, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if kept, ok := d.statements[s.text]; ok {
		return kept, nil
	}
	if len(d.statements) >= maxStatements {
		return s, nil
	}
	if d.file && !s.write {
		var err error
		if s.prepared, err = d.read.PrepareContext(ctx, s.text); err != nil {
			return nil, err
		}
	}
	d.statements[s.text] = s
	return s, nil
}

var errTooLarge = errors.New("the result is larger")

// result is all rows of a statement, one after the other.
type result struct {
	columns []string
	values  []any // int64, float64, string, []byte, bool, time.Time or nil
}

// query runs a statement and reads its whole result, so that no connection
// waits for a guest.
func (d *database) query(ctx context.Context, text []byte, args []any) (*result, error) {
	s, err := d.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	switch {
	case s.write:
		return d.write.write(ctx, s.text, args)
	case !d.file:
		return d.replicas.read(ctx, s.text, args)
	}
	var rows *sql.Rows
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, args...)
	} else {
		rows, err = d.read.QueryContext(ctx, s.text, args...)
	}
	if err != nil {
		return nil, err
	}
	return d.readAll(rows)
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
