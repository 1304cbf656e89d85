// Package base has what the use cases share: the database, the keys, the clock, the
// source of randomness, the transaction in which a call is decided and saved, and the
// Caller. It depends on no use case.
package base

import (
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
)

// Base is shared by all use cases. Every field must be set unless its comment says what
// the zero value means. It is safe for concurrent use.
type Base struct {
	DB   *store.Primary
	Keys auth.Keyring
	// TempDomains are the domains of disposable mail addresses, in lower case, in
	// addition to the list in core/referral. Nil adds none.
	TempDomains map[string]bool
	// PublicURL is the origin at which visitors reach the service. Share links begin
	// with it unless the tenant has a share origin of its own. If empty, they begin
	// with the origin of the tenant's landing page; see Caller.Share.
	PublicURL string
	// Now returns the time.
	Now func() core.Time
	// Entropy fills its argument with cryptographically secure random bytes.
	Entropy func([]byte)
	// Process identifies the owner of leases. app.New sets it to a random id.
	Process string
	// OnWork is called with work that was done, for the metrics; see ReportWork. It
	// must not block. Nil means no metrics.
	OnWork func(work, kind, outcome string, n int64)
}

// NewID returns a new unique id, made now.
func (b *Base) NewID() string { return b.IDAt(b.Now()) }

// IDAt returns a new unique id, made at the time now.
func (b *Base) IDAt(now core.Time) string { return core.NewID(now, b.Entropy6()) }

// Entropy6 returns the six random bytes of an id.
func (b *Base) Entropy6() (raw [6]byte) {
	b.Entropy(raw[:])
	return raw
}

// Page selects part of a list: at most Limit items, after the first Offset ones.
type Page struct{ Limit, Offset int }
