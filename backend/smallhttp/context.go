package smallhttp

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// clientContext is the context of a request. It is cancelled when the client closes the
// connection, and after the answer. To see that a client has closed it, a goroutine reads the
// connection. It starts at the first call of Err or Done, so that a handler which calls neither
// does not pay for it.
type clientContext struct {
	conn *conn

	mu   sync.Mutex
	err  error
	done chan struct{} // made by Done
	// read is closed when the goroutine has ended; nil if none was started. next is what it
	// has read: a byte of the next request.
	read chan struct{}
	next []byte
}

// Deadline implements context.Context.
func (*clientContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (*clientContext) Value(any) any { return nil }

// Err implements context.Context.
func (c *clientContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	return c.err
}

// Done implements context.Context.
func (c *clientContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// watch starts the goroutine, unless it runs or the request has ended. The caller holds mu.
func (c *clientContext) watch() {
	if c.err != nil || c.read != nil {
		return
	}
	c.read = make(chan struct{})
	_ = c.conn.SetReadDeadline(time.Time{})
	go func() {
		defer close(c.read)
		var b [1]byte
		n, err := c.conn.Read(b[:])
		c.next = b[:n]
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.cancel()
		}
	}()
}

func (c *clientContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
}

// end cancels the context after the answer, and gives the connection what was read of it.
func (c *clientContext) end() {
	c.cancel()
	c.mu.Lock()
	read := c.read
	c.mu.Unlock()
	if read == nil {
		return
	}
	_ = c.conn.SetReadDeadline(past)
	<-read
	c.conn.in = append(c.conn.in, c.next...)
}
