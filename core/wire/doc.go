// Package wire parses and writes all data that is sent over HTTP: request bodies,
// response bodies, errors, statuses and user tokens. It converts the names of the API
// to the types of the program, so that no other package depends on them.
//
// Parsing is strict: a body must be one JSON object with known keys and correct
// types, each key once, within limits of size and depth. The backend and the edge
// write responses with the same functions, so both return the same bytes. Request
// bodies are parsed with fastjson, which visits each key; gjson reads single values
// of small documents.
package wire

import "kith/core"

// Limits of a body.
const (
	// MaxBody is the largest JSON body of a call, except uploads, in bytes.
	MaxBody = 1 << 20
	// maxDepth is the most levels of nesting. The parser is recursive and the guest's
	// stack is 32 KiB, of which this depth uses half, so a deeper document must be refused
	// before it is parsed.
	maxDepth = 24
	maxText  = 4096
)

// TooLarge returns the error for a body of more than limit bytes.
func TooLarge(limit int) *core.Error {
	return &core.Error{Code: core.CodeTooLarge, Message: "the body is larger than " + size(limit)}
}

// Headers of every JSON response.
const (
	JSONType = "application/json"
	// CacheControl forbids caches to store a response.
	CacheControl = "private, no-store"
)
