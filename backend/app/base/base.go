// Package base is what the use cases share: the database, the keys, the clock and
// randomness, and how a call is decided and saved with them. It also names who
// calls. It knows no use case.
package base

import (
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
)

// Base is what use cases work with. All fields must be set but those that say what
// their zero value means; it is safe for concurrent use.
type Base struct {
	DB   *store.Primary
	Keys auth.Keyring
	// TempDomains are domains of disposable mail addresses besides those that
	// core/referral knows, in lower case; nil is none.
	TempDomains map[string]bool
	// PublicURL is the origin at which visitors reach the service, where links begin
	// that no tenant's share origin says otherwise of; empty: see Caller.Share.
	PublicURL string
	// Now is the clock.
	Now func() core.Time
	// Entropy fills its argument with random bytes that cannot be guessed.
	Entropy func([]byte)
	// OnWork receives, for the metrics, what workers have done; see ReportWork. It must not
	// block. Nil: there are no metrics.
	OnWork func(work, kind, outcome string, n int64)
}

// NewID returns an id that nothing has, made now.
func (b *Base) NewID() string { return b.IDAt(b.Now()) }

// IDAt returns an id that nothing has, made at a time.
func (b *Base) IDAt(now core.Time) string { return core.NewID(now, b.Entropy6()) }

// Entropy6 returns random bytes for an id.
func (b *Base) Entropy6() (raw [6]byte) {
	b.Entropy(raw[:])
	return raw
}

// Page is a part of a list.
type Page struct{ Limit, Offset int }
