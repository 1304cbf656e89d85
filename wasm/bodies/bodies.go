// Package bodies reads request bodies of untrusted clients, and accounts for the bodies of
// the answers. A request body must arrive at a minimum rate, and all bodies in memory must
// fit into a budget of bytes. So a client that sends slowly, or announces a large body and
// sends nothing, costs the server a connection and a few kB, and blocks no other request.
package bodies

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Errors of Read, besides *http.MaxBytesError and the errors of a broken connection.
var (
	// ErrSlow reports that the body arrived below the minimum rate: 408.
	ErrSlow = errors.New("bodies: the body arrives too slowly")
	// ErrFull reports that other bodies fill the budget: 503.
	ErrFull = errors.New("bodies: too many bytes of bodies in flight")
)

// Limits bound the bodies of one server. The zero value of a field means its
// default.
type Limits struct {
	// Bytes bounds all bodies in memory together. Default 64 MiB.
	Bytes int64
	// Grace is the time before the rate is checked. Default 10 s.
	Grace time.Duration
	// Rate is the minimum average rate after Grace, in bytes per second. Default 1,000.
	Rate int64
	// Longest is the maximum time of a body, whatever its rate. Default 60 s.
	Longest time.Duration
}

// A body of at most small bytes may use all of the budget, a larger one three quarters of
// it. So ordinary calls can be read however many files are being uploaded.
const small = 64 << 10

// firstRead is the size of the first buffer. A body uses budget for the bytes that have
// arrived, not for its Content-Length.
const firstRead = 4 << 10

// Budget accounts for the bodies of one server. It is safe for concurrent use.
type Budget struct {
	limits Limits
	mu     sync.Mutex
	used   int64
}

// NewBudget returns an empty budget.
func NewBudget(l Limits) *Budget {
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Grace <= 0 {
		l.Grace = 10 * time.Second
	}
	if l.Rate <= 0 {
		l.Rate = 1000
	}
	if l.Longest <= 0 {
		l.Longest = 60 * time.Second
	}
	return &Budget{limits: l}
}

// InFlight returns the bytes that bodies use now.
func (b *Budget) InFlight() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Read returns the body of r, which may have up to limit bytes. The caller must call
// release, which is never nil, when the body is no longer used.
func (b *Budget) Read(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, release func(), err error) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, func() {}, nil
	}
	w = unwrapped(w)
	if r.ContentLength > limit {
		waitBeforeClosing(w)
		return nil, func() {}, &http.MaxBytesError{Limit: limit}
	}
	connection := http.NewResponseController(w)
	source := http.MaxBytesReader(w, r.Body, limit)
	held := int64(0)
	release = func() { b.give(held); held = 0 }
	began, length := time.Now(), 0
	for err == nil {
		if length == len(body) {
			size := grown(int64(len(body)), r.ContentLength)
			if !b.take(size-held, size) {
				err = ErrFull
				break
			}
			held = size
			body = append(make([]byte, 0, size), body...)[:size]
		}
		// A server without deadlines, as in tests of handlers, has no time limit here.
		_ = connection.SetReadDeadline(began.Add(b.limits.allowed(int64(length))))
		var n int
		n, err = source.Read(body[length:])
		length += n
		if err == nil && r.ContentLength > 0 && int64(length) == r.ContentLength {
			err = io.EOF
		}
	}
	if err == io.EOF && r.ContentLength > 0 && int64(length) < r.ContentLength {
		err = io.ErrUnexpectedEOF
	}
	if err == io.EOF {
		// The answer may take longer than the time left for the body.
		_ = connection.SetReadDeadline(time.Time{})
		return body[:length], release, nil
	}
	release()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = ErrSlow
	}
	// Read does not wait for the rest of the body either.
	_ = connection.SetReadDeadline(began)
	waitBeforeClosing(w)
	return nil, func() {}, err
}

// unwrapped returns the writer of the server, which alone knows the connection.
func unwrapped(w http.ResponseWriter) http.ResponseWriter {
	for {
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

// waitBeforeClosing makes the server close the connection half a second after the
// answer, as it does for a body that is too large. If it closed at once, a client that is
// still sending would get a reset and not the answer.
func waitBeforeClosing(w http.ResponseWriter) {
	_, _ = http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}

// Reserve accounts for a body of n bytes that is being sent to a client. ok is false if it
// does not fit into the budget; a small body always fits. The caller must call release,
// which is never nil, when the body was sent.
func (b *Budget) Reserve(n int64) (release func(), ok bool) {
	if n <= small {
		return func() {}, true
	}
	if !b.take(n, n) {
		return func() {}, false
	}
	return func() { b.give(n) }, true
}

// allowed returns the time since its beginning by which a body must have more than n
// bytes.
func (l Limits) allowed(n int64) time.Duration {
	return min(l.Longest, l.Grace+time.Duration(float64(n)/float64(l.Rate)*float64(time.Second)))
}

// grown returns the size of the next buffer. If the length of the body is known, the last
// buffer has room for one more byte, into which the end is read.
func grown(size, length int64) int64 {
	size = max(firstRead, 2*size)
	if length > 0 {
		size = min(size, length+1)
	}
	return size
}

func (b *Budget) take(more, size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.limits.Bytes
	if size > small {
		limit -= limit / 4
	}
	if b.used+more > limit {
		return false
	}
	b.used += more
	return true
}

func (b *Budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}
