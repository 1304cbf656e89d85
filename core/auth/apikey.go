package auth

import (
	"crypto/subtle"
	"strconv"
	"strings"

	"kith/core"
)

// Bounds of a tenant's keys.
const (
	// MaxKeys is how many names of keys a tenant may have; each has one secret, and
	// while it is rotated two.
	MaxKeys = 20
	// MaxOverlap is how long a secret stays valid at most after it was replaced.
	MaxOverlap = 30 * core.Day

	maxKeyName = 64
)

// Names of the keys that a tenant starts with: that of the role all, and that of the
// role tokens.
const (
	DefaultKey = "default"
	TokenKey   = "tokens"
)

// APIKey is one secret of a tenant. A key that is being rotated has two: the one
// that replaces and the one that was replaced, under one name.
type APIKey struct {
	Name string
	Role Role
	// Hash is KeyHash of the secret. Sealed is the secret under the master key when
	// it signs (see Role.Signs), else empty: nothing brings it back then.
	Hash, Sealed string
	// Created is when the key was made; after a rotation its secret is newer.
	Created core.Time
	// Replaced is when a rotation replaced the secret; zero: it was not.
	Replaced core.Time
	// Expires is the first moment at which the secret is no longer valid; zero: never.
	Expires core.Time
	// Used is when the secret was last used, to within KeyUseStep; zero: never.
	Used core.Time
}

// KeyUseStep is how often the last use of a key is written down at most, and so how
// precisely it is kept. Uses that an edge answers alone by a read are not noted: look-ups
// of codes.
const KeyUseStep = core.Minute

// ParseKeyName returns s as the name of a key, or an error about field.
func ParseKeyName(field, s string) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	other := func(r rune) bool { return !strings.ContainsRune(letters, r) }
	if s == "" || len(s) > maxKeyName || strings.ContainsFunc(s, other) {
		return "", core.Invalid(field, "must be 1 to 64 of A-Z a-z 0-9 - _ .")
	}
	return s, nil
}

// Signs reports whether secrets of this role sign something, and so are kept sealed
// besides their hash: user tokens, and, of the role all, the webhook header of old
// consumers.
func (r Role) Signs() bool { return r == RoleAll || r == RoleTokens }

// ID names a secret, in logs and beside events, and gives nothing of it away.
func (k APIKey) ID() string { return k.Hash[:min(len(k.Hash), KeyIDSize)] }

// KeyIDSize is how many letters of its hash are a secret's id.
const KeyIDSize = 12

// Valid reports whether the secret may be used at a time.
func (k APIKey) Valid(now core.Time) bool { return k.Expires == 0 || now < k.Expires }

// APIKeys are the secrets of one tenant, the first made first.
type APIKeys []APIKey

// Keys is the query for the keys of tenant ?1, which the edge runs on its replica
// and the backend on the primary. It gives one row, for ParseKeys; a tenant without
// keys has NULL.
const Keys = `SELECT group_concat(line, char(10)) FROM (
	SELECT name || ' ' || role || ' ' || hash || ' ' || sealed || ' ' || created_at || ' ' || coalesce(replaced_at, 0)
		|| ' ' || coalesce(expires_at, 0) || ' ' || coalesce(used_at, 0) AS line
	FROM api_key WHERE tenant = ?1 ORDER BY created_at, name, replaced_at IS NOT NULL)`

// ParseKeys reads what the query Keys gives. A line that cannot be read is no key.
func ParseKeys(text string) APIKeys {
	var all APIKeys
	for line := range strings.SplitSeq(text, "\n") {
		f := strings.Split(line, " ")
		if len(f) != 8 {
			continue
		}
		all = append(all, APIKey{
			Name: f[0], Role: Role(f[1]), Hash: f[2], Sealed: f[3],
			Created: timeOf(f[4]), Replaced: timeOf(f[5]), Expires: timeOf(f[6]), Used: timeOf(f[7]),
		})
	}
	return all
}

// timeOf reads a time. One that cannot be read is the first moment there is, so
// that a key with such an end has ended.
func timeOf(text string) core.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 1
	}
	return core.Time(n)
}

// Match returns the key with that secret, if it is valid at a time. Its time does
// not depend on where the secret differs from others.
func (all APIKeys) Match(secret string, now core.Time) (APIKey, bool) {
	hash := []byte(KeyHash(secret))
	for _, k := range all {
		if subtle.ConstantTimeCompare(hash, []byte(k.Hash)) == 1 && k.Valid(now) {
			return k, true
		}
	}
	return APIKey{}, false
}

// Signing returns the keys that sign user tokens at a time: those of the role
// tokens, the newest first, and behind them, where the tenant takes tokens that an
// API key signed, those of the role all.
func (all APIKeys) Signing(apiKeyTokens bool, now core.Time) APIKeys {
	signing := all.signing(RoleTokens, now)
	if apiKeyTokens {
		signing = append(signing, all.signing(RoleAll, now)...)
	}
	return signing
}

// signing returns the valid keys of a role: those that were not replaced first, the
// newest before the older ones.
func (all APIKeys) signing(role Role, now core.Time) (found APIKeys) {
	for _, replaced := range []bool{false, true} {
		for i := len(all) - 1; i >= 0; i-- {
			if k := all[i]; k.Role == role && k.Valid(now) && (k.Replaced != 0) == replaced {
				found = append(found, k)
			}
		}
	}
	return found
}

// Primary returns the key that stands for the tenant where there can be but one: the
// oldest of the role all, by its newest secret. ok is false when there is none.
func (all APIKeys) Primary(now core.Time) (primary APIKey, ok bool) {
	for _, k := range all {
		if k.Role == RoleAll && k.Valid(now) && k.Replaced == 0 {
			return k, true
		}
	}
	return APIKey{}, false
}
