// Package wire is the shape of everything that crosses HTTP: bodies in, bodies
// out, errors, statuses and user tokens. It turns the wire's names into the
// programme's types at once, so that nothing else knows them.
//
// Reading is strict: a body must be one JSON object of known keys and right
// types, each key once, within bounds of size and depth. Writing appends to a
// byte slice; the backend and the edge write with the same functions, so both
// give the same bytes. Request bodies are read with fastjson, which visits each
// key; gjson picks single values out of small documents.
package wire

import "kith/core"

// Sizes that bound a body.
const (
	// MaxBody is the largest JSON body of any call but uploads, in bytes.
	MaxBody = 1 << 20
	// maxDepth bounds nesting. The guest's stack is 64 KiB and the parser is
	// recursive, so a deep document must be refused before it is parsed.
	maxDepth = 24
	maxText  = 4096
)

// TooLarge is the answer to a body above limit bytes.
func TooLarge(limit int) *core.Error {
	return &core.Error{Code: core.CodeTooLarge, Message: "the body is larger than " + size(limit)}
}

// Headers of every JSON answer.
const (
	JSONType = "application/json"
	// CacheControl keeps what one caller may see out of shared caches.
	CacheControl = "private, no-store"
)
