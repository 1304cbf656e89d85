package host

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/tursodatabase/libsql-client-go/libsql"
	"modernc.org/sqlite" // libsql opens file: URLs with it
	sqlite3 "modernc.org/sqlite/lib"

	"kith/backend/store/flush"
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
// token. A relative path is relative to the file. Other tables are ignored.
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
			if !filepath.IsAbs(d.Path) {
				d.Path = filepath.Join(filepath.Dir(path), d.Path)
			}
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
// A file has one connection that writes, so that writers stand in a queue and
// not in each other's way: SQLite lets waiters poll the lock, and the unlucky
// ones run into busy_timeout. Its readers are not allowed to write at all.
//
// A server has one writer too, which sends what waits in groups; see group. It
// is read from as long as it answers; see replicas.
type database struct {
	read, write *sql.DB   // of a file
	replicas    *replicas // of a server, in place of read
	group       *group    // of a server, in place of write
	file        bool
	log         *flush.Log // of a file
	maxRows     int
	maxBytes    int

	mu         sync.RWMutex
	statements map[string]*statement
}

// statement is a text that has been classified and, for a file, prepared.
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

func openDatabases(ctx context.Context, granted []string, o Options) (map[string]*database, error) {
	databases := make(map[string]*database)
	for _, name := range granted {
		config, ok := o.Databases[name]
		if !ok {
			continue
		}
		d, err := openDatabase(ctx, config, o)
		if err != nil {
			return databases, fmt.Errorf("host: database %s: %w", name, err)
		}
		databases[name] = d
	}
	return databases, nil
}

func openDatabase(ctx context.Context, config Database, o Options) (*database, error) {
	d := &database{maxRows: o.MaxRows, maxBytes: o.MaxRowBytes, statements: make(map[string]*statement)}
	for _, url := range append([]string{config.URL}, config.Fallbacks...) {
		if len(config.Fallbacks) > 0 && strings.HasPrefix(url, "file:") {
			return nil, errors.New("a file neither has fallbacks nor is one")
		}
	}
	if strings.HasPrefix(config.URL, "file:") {
		return d, d.openFile(ctx, config.URL)
	}
	var err error
	if d.replicas, err = newReplicas(config, o); err != nil {
		return nil, err
	}
	d.group = newGroup(d.replicas)
	return d, nil
}

// filePragmas are set on every connection to a file. With WAL, readers and the
// writer do not wait for each other; "normal" leaves it to us to flush the newest
// commits, which is done for several at once.
var filePragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)"}

// A writer asks for the lock of a file every lockPoll, up to lockWait. SQLite's own
// wait asks at intervals that grow to 100 ms, and seldom meets the few milliseconds
// for which a bulk import in another process leaves the lock alone.
const (
	lockPoll = time.Millisecond
	lockWait = 5 * time.Second
)

// patiently does what fails while another process has the lock of a file.
func patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(lockWait); ; {
		err := do()
		var failed *sqlite.Error
		if !errors.As(err, &failed) || failed.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockPoll):
		}
	}
}

func (d *database) openFile(ctx context.Context, file string) error {
	d.file = true
	if strings.Contains(file, ":memory:") || strings.Contains(file, "mode=memory") {
		return errors.New("every connection would have a database in memory of its own")
	}
	var err error
	if d.log, err = flush.New(file); err != nil {
		return err
	}
	if d.write, err = filePool(file, 1, append([]string{"busy_timeout(0)"}, filePragmas...)...); err != nil {
		return err
	}
	if err := patiently(ctx, func() error { return d.write.PingContext(ctx) }); err != nil {
		return err
	}
	d.read, err = filePool(file, readers(), append([]string{"busy_timeout(5000)", "query_only(1)"}, filePragmas...)...)
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
	return pool(connector, connections), nil
}

func pool(connector driver.Connector, connections int) *sql.DB {
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	var errs []error
	if d.group != nil {
		d.group.close()
		errs = append(errs, d.replicas.close())
	}
	for _, pool := range []*sql.DB{d.write, d.read} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	if d.log != nil {
		errs = append(errs, d.log.Close())
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

func (d *database) keep(ctx context.Context, s *statement) (*statement, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if kept, ok := d.statements[s.text]; ok {
		return kept, nil
	}
	if len(d.statements) >= maxStatements {
		return s, nil
	}
	if d.file {
		var err error
		if s.prepared, err = d.pool(s.write).PrepareContext(ctx, s.text); err != nil {
			return nil, err
		}
	}
	d.statements[s.text] = s
	return s, nil
}

func (d *database) pool(write bool) *sql.DB {
	if write {
		return d.write
	}
	return d.read
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
	case s.write && d.file:
		return d.writeFile(ctx, s, args)
	case s.write:
		return d.group.write(ctx, s.text, args)
	case !d.file:
		return d.replicas.read(ctx, s.text, args, d.readAll)
	}
	return d.run(ctx, s, args)
}

// writeFile runs a statement that writes, and returns when it is on the disk.
func (d *database) writeFile(ctx context.Context, s *statement, args []any) (r *result, err error) {
	err = patiently(ctx, func() (err error) {
		r, err = d.run(ctx, s, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, d.log.Wait()
}

func (d *database) run(ctx context.Context, s *statement, args []any) (*result, error) {
	var rows *sql.Rows
	var err error
	if s.prepared != nil {
		rows, err = s.prepared.QueryContext(ctx, args...)
	} else {
		rows, err = d.pool(s.write).QueryContext(ctx, s.text, args...)
	}
	if err != nil {
		return nil, err
	}
	return d.readAll(rows)
}

func (d *database) readAll(rows *sql.Rows) (*result, error) {
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
		if size += sizeOf(row); n >= d.maxRows || size > d.maxBytes {
			return nil, fmt.Errorf("%w than %d rows or %d bytes", errTooLarge, d.maxRows, d.maxBytes)
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
