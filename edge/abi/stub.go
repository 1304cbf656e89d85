//go:build !tinygo.wasm

package abi

// With this file the component can be built, vetted and tested by plain Go, without a
// host. Every import returns an error, unless Native is set.

// Native replaces the host when the component's handlers run under plain Go: in their
// tests, and in benchmarks as the baseline for the component. The zero Native refuses
// everything. Set it before the first request.
var Native struct {
	// Execute runs a statement on a database; its error is returned.
	Execute func(statement string, params []Value) (Rows, error)
	// Send makes an HTTP request; its error is returned.
	Send func(method, url string, headers []Header, body []byte) (Response, error)
	// Random fills b with random bytes.
	Random func(b []byte)
	// Get and Set read and write a key-value store; without them there is none.
	Get func(key string) (string, error)
	Set func(key, value string) error
}

// Handle does nothing: without a host, h is never called.
func Handle(h func(*Request) Response) {}

// Prepare does nothing: without a host, f is never called.
func Prepare(f func()) {}

// Send makes an HTTP request with Native.Send, or returns HTTPRuntimeError if that is
// nil.
func Send(method, url string, headers []Header, body []byte) (Response, error) {
	if Native.Send == nil {
		return Response{}, HTTPRuntimeError
	}
	return Native.Send(method, url, headers, body)
}

// DB is a database that Native opens.
type DB struct{}

// OpenDB returns a *DBError with DBNoSuchDatabase if Native.Execute is nil.
func OpenDB(name string) (DB, error) {
	if Native.Execute == nil {
		return DB{}, &DBError{Code: DBNoSuchDatabase}
	}
	return DB{}, nil
}

// Execute runs a statement with Native.Execute, or returns a *DBError with
// DBInvalidConnection if that is nil.
func (DB) Execute(statement string, params ...Value) (Rows, error) {
	if Native.Execute == nil {
		return Rows{}, &DBError{Code: DBInvalidConnection}
	}
	return Native.Execute(statement, params)
}

// Close does nothing.
func (DB) Close() {}

// Store is a key-value store.
type Store struct{}

// OpenStore returns KVNoSuchStore if Native.Get is nil.
func OpenStore(name string) (Store, error) {
	if Native.Get == nil {
		return Store{}, KVNoSuchStore
	}
	return Store{}, nil
}

// Get returns a value with Native.Get, or KVInvalidStore if that is nil.
func (Store) Get(key string) (string, error) {
	if Native.Get == nil {
		return "", KVInvalidStore
	}
	return Native.Get(key)
}

// Set stores a value with Native.Set, or returns KVInvalidStore if that is nil.
func (Store) Set(key, value string) error {
	if Native.Set == nil {
		return KVInvalidStore
	}
	return Native.Set(key, value)
}

// Random fills b with Native.Random. It panics if that is nil, because callers must
// not use bytes that are not random.
func Random(b []byte) {
	if Native.Random == nil {
		panic("abi: no random source outside a guest")
	}
	Native.Random(b)
}
