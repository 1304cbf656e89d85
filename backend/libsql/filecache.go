package libsql

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// fileCache has results of one connection that reads a file, and returns them while the
// file does not change. Its rule is SQLite's own for the pages that a connection keeps:
// they are valid while the header of the WAL index, in memory that all processes share,
// is the same. Comparing it takes neither a lock nor a system call, on which a read
// otherwise spends half of its time.
type fileCache struct {
	// index is the beginning of the WAL index; nil if it is not known.
	index []byte
	// of is the header with which the results were read. size is about how many bytes
	// they use.
	of      walHeader
	results map[cacheKey]*result
	size    int
	args    []byte
}

// cacheKey is a statement with its arguments.
type cacheKey struct {
	statement *prepared
	args      string
}

// Bounds in bytes of all results of a connection, which are some hundred links that many
// visitors follow, and of one.
const (
	maxCache       = 128 << 10
	maxCacheResult = 4 << 10
)

// walHeader is the header of a WAL index (https://sqlite.org/walformat.html, 2.1). Each
// commit changes it.
type walHeader [12]uint32

// initialized is the word of a walHeader that is zero until the index has been made.
const initialized = 3

// find returns the result that a statement has if the file is as it was, or nil. ok is
// false if that is not known.
func (c *fileCache) find(p *prepared, args []any) (r *result, ok bool) {
	now, ok := c.header()
	if !ok {
		return nil, false
	}
	if now != c.of {
		c.forget()
		c.of = now
	}
	c.args = appendArgs(c.args[:0], args)
	return c.results[cacheKey{p, unsafe.String(unsafe.SliceData(c.args), len(c.args))}], true // #nosec G103 -- not kept
}

// keep keeps the result of the statement that find was called with last. If the file has
// changed between the two, the next find forgets it.
func (c *fileCache) keep(p *prepared, r *result) {
	size := len(c.args) + sizeOf(r.values)
	if size > maxCacheResult {
		return
	}
	if c.size+size > maxCache {
		c.forget()
	}
	c.size += size
	c.results[cacheKey{p, string(c.args)}] = r
}

func (c *fileCache) forget() {
	clear(c.results)
	c.size = 0
}

// header returns the header of the file. The index has two copies, which a writer changes
// in the opposite order; ok is false while they differ.
func (c *fileCache) header() (first walHeader, ok bool) {
	if c.index == nil {
		return first, false
	}
	copies := (*[2]walHeader)(unsafe.Pointer(unsafe.SliceData(c.index))) // #nosec G103 -- memory of SQLite, which is aligned
	for i := range first {
		first[i] = atomic.LoadUint32(&copies[0][i])
	}
	for i := range first {
		if atomic.LoadUint32(&copies[1][i]) != first[i] {
			return first, false
		}
	}
	return first, first[initialized] != 0
}

// appendArgs appends the kinds and values of arguments, so that no two lists are equal
// that are not the same.
func appendArgs(b []byte, args []any) []byte {
	for _, arg := range args {
		switch v := arg.(type) {
		case int64:
			b = binary.NativeEndian.AppendUint64(append(b, 'i'), uint64(v))
		case float64:
			b = binary.NativeEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
		case string:
			b = binary.NativeEndian.AppendUint64(append(b, 't'), uint64(len(v)))
			b = append(b, v...)
		case []byte:
			b = binary.NativeEndian.AppendUint64(append(b, 'b'), uint64(len(v)))
			b = append(b, v...)
		default:
			b = append(b, 'n')
		}
	}
	return b
}

// openCache makes the cache of a connection that has read its file. A file without a WAL
// has none.
func (c *fileConn) openCache() {
	c.cache.results = make(map[cacheKey]*result)
	file := c.file(sqlite3.SQLITE_FCNTL_FILE_POINTER)
	if file == 0 {
		return
	}
	methods := at[sqlite3.Tsqlite3_io_methods](pointerAt(file)) // a sqlite3_file begins with their address
	if methods == nil || methods.FiVersion < 2 || methods.FxShmMap == 0 {
		return
	}
	region := c.tls.Alloc(wordSize)
	defer c.tls.Free(wordSize)
	const size = 32 << 10 // of each part of the index
	function := &struct{ at uintptr }{methods.FxShmMap}
	shmMap := *(*func(tls *libc.TLS, file uintptr, page, size, extend int32, into uintptr) int32)(unsafe.Pointer(function)) // #nosec G103 -- the form of modernc.org/libc for a pointer to a function
	if shmMap(c.tls, file, 0, size, 0, region) == sqlite3.SQLITE_OK && pointerAt(region) != 0 {
		c.cache.index = libc.GoBytes(pointerAt(region), int(unsafe.Sizeof([2]walHeader{})))
	}
}
