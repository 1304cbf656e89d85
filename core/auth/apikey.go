package auth

import (
	"crypto/subtle"
	"strconv"
	"strings"

	"kith/core"
)

// Limits of a tenant's keys.
const (
	// MaxKeys is the most keys of a tenant, counted by name. A key has one secret, or
	// two during a rotation.
	MaxKeys = 20
	// MaxOverlap is the longest time for which a replaced secret stays valid.
	MaxOverlap = 30 * core.Day

	maxKeyName = 64
)

// Names of the two keys of a new tenant, of the roles all and tokens.
const (
	DefaultKey = "default"
	TokenKey   = "tokens"
)

// APIKey is one secret of a tenant. A key that is being rotated has two secrets with
// the same name: the new one and the replaced one.
type APIKey struct {
	Name string
	Role Role
	// Hash is KeyHash of the secret. Sealed is the secret encrypted under the master
	// key if the role signs (see Role.Signs), else empty: the secret cannot be
	// recovered then.
	Hash, Sealed string
	// Created is when the key was created; after a rotation its secret is newer.
	Created core.Time
	// Replaced is when a rotation replaced the secret; zero if none did.
	Replaced core.Time
	// Expires is the first time at which the secret is invalid; zero means never.
	Expires core.Time
	// Used is when the secret was last used, with a precision of KeyUseStep; zero
	// means never.
	Used core.Time
}

// KeyUseStep is the shortest time between two updates of APIKey.Used. Code lookups
// that an edge answers from its replica do not update it.
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

// Signs reports whether secrets of this role sign something, so that they are stored
// encrypted in addition to their hash. Both roles sign user tokens; the role all also
// signs the webhook header for old consumers.
func (r Role) Signs() bool { return r == RoleAll || r == RoleTokens }

// ID identifies a secret in logs and in stored events, without revealing it.
func (k APIKey) ID() string { return k.Hash[:min(len(k.Hash), KeyIDSize)] }

// KeyIDSize is the length of a secret's id: that many hex digits of its hash.
const KeyIDSize = 12

// Valid reports whether the secret is valid at now.
func (k APIKey) Valid(now core.Time) bool { return k.Expires == 0 || now < k.Expires }

// APIKeys are the secrets of one tenant, oldest first.
type APIKeys []APIKey

// Keys is the query for the keys of tenant ?1, which the edge runs on its replica and
// the backend on the primary. It returns one row, for ParseKeys; NULL for a tenant
// without keys.
const Keys = `SELECT group_concat(line, char(10)) FROM (
	SELECT name || ' ' || role || ' ' || hash || ' ' || sealed || ' ' || created_at || ' ' || coalesce(replaced_at, 0)
		|| ' ' || coalesce(expires_at, 0) || ' ' || coalesce(used_at, 0) AS line
	FROM api_key WHERE tenant = ?1 ORDER BY created_at, name, replaced_at IS NOT NULL)`

// ParseKeys parses the result of the query Keys. It ignores invalid rows.
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

// timeOf parses a time. It returns 1 for an invalid one, so that a key with an
// invalid Expires has expired.
func timeOf(text string) core.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 1
	}
	return core.Time(n)
}

// AtMost returns the time from now for which an answer to the secret may be kept, at most age: not
// longer than the secret is valid.
func (k APIKey) AtMost(age, now core.Time) core.Time {
	if k.Expires == 0 {
		return age
	}
	return min(age, k.Expires-now)
}

// Match returns the key with that secret, if it is valid at now. It compares in
// constant time.
func (all APIKeys) Match(secret string, now core.Time) (APIKey, bool) {
	hash := []byte(KeyHash(secret))
	for _, k := range all {
		if subtle.ConstantTimeCompare(hash, []byte(k.Hash)) == 1 && k.Valid(now) {
			return k, true
		}
	}
	return APIKey{}, false
}

// Signing returns the keys that may sign user tokens at now: those of the role
// tokens, newest first, and, if apiKeyTokens, then those of the role all.
func (all APIKeys) Signing(apiKeyTokens bool, now core.Time) APIKeys {
	signing := all.signing(RoleTokens, now)
	if apiKeyTokens {
		signing = append(signing, all.signing(RoleAll, now)...)
	}
	return signing
}

// signing returns the valid keys of a role, newest first, replaced ones last.
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

// Primary returns the key to use where a tenant can have only one: the current secret
// of the oldest key of the role all. ok is false if the tenant has no such key.
func (all APIKeys) Primary(now core.Time) (primary APIKey, ok bool) {
	for _, k := range all {
		if k.Role == RoleAll && k.Valid(now) && k.Replaced == 0 {
			return k, true
		}
	}
	return APIKey{}, false
}
