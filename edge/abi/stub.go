//go:build !tinygo.wasm

package abi

// This file lets the component be built, vetted and tested by plain Go, where
// there is no host: every import fails as if the host had refused it.

// Handle does nothing: under plain Go there is nobody to call h.
func Handle(h func(*Request) Response) {}

// Send returns HTTPRuntimeError.
func Send(method, url string, headers []Header, body []byte) (Response, error) {
	return Response{}, HTTPRuntimeError
}

// DB is an open database; here there is none.
type DB struct{}

// OpenDB returns a *DBError with DBNoSuchDatabase.
func OpenDB(name string) (DB, error) {
	return DB{}, &DBError{Code: DBNoSuchDatabase}
}

// Execute returns a *DBError with DBInvalidConnection.
func (DB) Execute(statement string, params ...Value) (Rows, error) {
	return Rows{}, &DBError{Code: DBInvalidConnection}
}

// Close does nothing.
func (DB) Close() {}

// Random panics: bytes that are not random must not pass for random ones.
func Random(b []byte) {
	panic("abi: no random source outside a guest")
}
