//go:build !tinygo.wasm

package abi

// This file lets the component be built, vetted and tested by plain Go, where
// there is no host: every import fails as if the host had refused it, unless a
// Native stands in for it.

// Native stands in for a host when the component's handlers run under plain Go: in
// their tests, and as the yardstick that the component is measured by. The zero
// Native refuses everything. It must be set before the first request.
var Native struct {
	// Execute runs a statement on any database; its error is passed on.
	Execute func(statement string, params []Value) (Rows, error)
	// Send makes an HTTP request; its error is passed on.
	Send func(method, url string, headers []Header, body []byte) (Response, error)
	// Random fills b with random bytes.
	Random func(b []byte)
}

// Handle does nothing: under plain Go there is nobody to call h.
func Handle(h func(*Request) Response) {}

// Send makes an HTTP request by Native, and without one returns HTTPRuntimeError.
func Send(method, url string, headers []Header, body []byte) (Response, error) {
	if Native.Send == nil {
		return Response{}, HTTPRuntimeError
	}
	return Native.Send(method, url, headers, body)
}

// DB is an open database; without a Native there is none.
type DB struct{}

// OpenDB returns a *DBError with DBNoSuchDatabase, unless there is a Native.
func OpenDB(name string) (DB, error) {
	if Native.Execute == nil {
		return DB{}, &DBError{Code: DBNoSuchDatabase}
	}
	return DB{}, nil
}

// Execute runs a statement by Native, and without one returns a *DBError with
// DBInvalidConnection.
func (DB) Execute(statement string, params ...Value) (Rows, error) {
	if Native.Execute == nil {
		return Rows{}, &DBError{Code: DBInvalidConnection}
	}
	return Native.Execute(statement, params)
}

// Close does nothing.
func (DB) Close() {}

// Store is an open key-value store; there is none.
type Store struct{}

// OpenStore returns KVNoSuchStore.
func OpenStore(name string) (Store, error) { return Store{}, KVNoSuchStore }

// Get returns KVInvalidStore.
func (Store) Get(key string) (string, error) { return "", KVInvalidStore }

// Set returns KVInvalidStore.
func (Store) Set(key, value string) error { return KVInvalidStore }

// Random fills b by Native, and panics without one: bytes that are not random
// must not pass for random ones.
func Random(b []byte) {
	if Native.Random == nil {
		panic("abi: no random source outside a guest")
	}
	Native.Random(b)
}
