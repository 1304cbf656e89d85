package libsql

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// filePragmas are set on every connection that writes to a file. With WAL, readers and the
// writer do not wait for each other. With synchronous=NORMAL, SQLite does not flush at each
// commit; Log does, with one flush for several commits.
var filePragmas = []string{"journal_mode(WAL)", "synchronous(NORMAL)"}

// file is a database in a file. One connection of the process writes; the others are
// read-only.
type file struct {
	*fileWriter
	fileReaders
}

func openFile(ctx context.Context, config Config) (*file, error) {
	if strings.Contains(config.URL, ":memory:") || strings.Contains(config.URL, "mode=memory") {
		return nil, errors.New("database: cannot be in memory, since each connection would have its own; give the path of a file")
	}
	w, err := openFileWriter(ctx, config.URL, config.limits(), config.Timeout, config.Log)
	if err != nil {
		return nil, err
	}
	busy := fmt.Sprintf("busy_timeout(%d)", lockWait(config.Timeout).Milliseconds())
	connect := func() (*fileConn, error) { return connectFile(config.URL, config.limits(), busy, "query_only(1)") }
	f := &file{w, fileReaders{connect: connect, inUse: make(chan struct{}, maxReaders())}}
	// All readers are connected at once: when the file was deleted, they still read it.
	for range cap(f.inUse) {
		c, err := connect()
		if err == nil {
			_, err = c.run(ctx, "SELECT count(*) FROM sqlite_schema", nil) // opens the log
			f.idle = append(f.idle, c)
		}
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

func (f *file) close() error {
	f.fileReaders.close()
	return f.fileWriter.close()
}

// fileReaders are the connections that read a file. A statement runs on the goroutine of
// its caller.
type fileReaders struct {
	connect func() (*fileConn, error)
	// inUse has an element for each connection in use.
	inUse chan struct{}

	mu sync.Mutex
	// idle has the most recently used connection last: its pages are in the caches.
	idle   []*fileConn
	closed bool
}

// maxReaders is the number of connections that read one database file. More readers
// than processors gain nothing: a reader computes and does not wait.
func maxReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// read implements source.
func (f *fileReaders) read(ctx context.Context, text string, args []any) (*result, error) {
	select {
	case f.inUse <- struct{}{}:
	default: // only a read that waits asks for the channel, which is then made
		select {
		case f.inUse <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-f.inUse }()
	c, err := f.take()
	if err != nil {
		return nil, err
	}
	r, err := c.read(ctx, text, args)
	f.mu.Lock()
	f.idle = append(f.idle, c)
	f.mu.Unlock()
	return r, err
}

// take returns an idle connection, or a new one.
func (f *fileReaders) take() (*fileConn, error) {
	f.mu.Lock()
	closed, n := f.closed, len(f.idle)
	if n == 0 {
		f.mu.Unlock()
		if closed {
			return nil, errClosed
		}
		return f.connect()
	}
	defer f.mu.Unlock()
	c := f.idle[n-1]
	f.idle = f.idle[:n-1]
	return c, nil
}

// close waits for the running statements, and closes all connections.
func (f *fileReaders) close() {
	for range cap(f.inUse) {
		f.inUse <- struct{}{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, c := range f.idle {
		c.close()
	}
	f.idle = nil
	for range cap(f.inUse) {
		<-f.inUse
	}
}
