// Package program holds the use cases: what one call to the service does, from
// a parsed request to a stored result. It asks core to decide and store to
// remember, and knows neither HTTP nor SQL.
package program

import (
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
)

// Engine runs the use cases. All fields must be set; it is safe for concurrent
// use.
type Engine struct {
	DB   *store.Primary
	Keys auth.Keyring
	// Now is the clock.
	Now func() core.Time
	// Entropy fills its argument with random bytes that cannot be guessed.
	Entropy func([]byte)
	// Wake is called after event calls were taken in, for the worker that
	// processes them. It must not block.
	Wake func()
}

// newID makes a record id.
func (e *Engine) newID(now core.Time) string { return core.NewID(now, e.entropy6()) }

func (e *Engine) entropy6() (b [6]byte) {
	e.Entropy(b[:])
	return b
}

// Page is a part of a list.
type Page struct{ Limit, Offset int }
