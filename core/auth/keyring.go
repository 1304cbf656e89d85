// Package auth decides who a caller is. It has API keys, signatures and encryption
// under the master key, and the hop from the edge to the backend. User tokens are
// JSON, so core/wire has them.
//
// All functions are pure: nonces and the time are parameters.
package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
	"strings"

	"kith/core"
)

// NonceSize is the number of random bytes that Seal needs.
const NonceSize = 12

// Keyring has the master key, which signs and seals, and, while it is being replaced,
// further keys whose signatures and sealed texts are accepted. The zero value is not
// usable; see ParseKeyring.
type Keyring struct {
	// masters are the keys; the first one signs and seals.
	masters []master
	// identity is the key that Identity uses; nil means the first of masters.
	identity []byte
}

// master is one master key.
type master struct {
	key []byte
	// mac and fingerprint are set by Prepared.
	mac         hash.Hash
	fingerprint string
}

// ParseKeyring parses master keys of 32 bytes, in hex (64 digits) or base64, separated by
// commas as in a variable, or by line feeds as in a file. The first one signs and seals.
// Edge and backend must accept each other's first key.
func ParseKeyring(text string) (Keyring, error) {
	var k Keyring
	valid := false
	for _, one := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == '\n' || c == '\r' }) {
		var key master
		if key, valid = parseMaster(one); !valid {
			break
		}
		k.masters = append(k.masters, key)
	}
	if !valid {
		return Keyring{}, errors.New("the master key must be 32 bytes in hex or base64; separate several keys by commas or line feeds")
	}
	return k, nil
}

func parseMaster(text string) (m master, ok bool) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == 32 {
			return master{key: key}, true
		}
	}
	return m, false
}

// Prepared returns the keyring with what all signatures share already computed: half of
// the work of a signature. It must not be used concurrently.
func (k Keyring) Prepared() Keyring {
	prepared := make([]master, len(k.masters))
	for i, m := range k.masters {
		mac := hmac.New(sha256.New, m.key)
		mac.Reset() // keeps the states that depend only on the key
		prepared[i] = master{key: m.key, mac: mac, fingerprint: fingerprintOf(m)}
	}
	k.masters = prepared
	return k
}

// CanSign reports whether the keyring has a key. The zero Keyring has none.
func (k Keyring) CanSign() bool { return len(k.masters) > 0 }

// First returns the keyring with only its first key.
func (k Keyring) First() Keyring { return Keyring{masters: k.masters[:1], identity: k.identity} }

// StartingWith returns the keyring with the key that has this fingerprint as its first; false if
// there is none.
func (k Keyring) StartingWith(fingerprint string) (_ Keyring, found bool) {
	i := slices.IndexFunc(k.masters, func(m master) bool { return fingerprintOf(m) == fingerprint })
	if i >= 0 {
		k.masters = slices.Concat(k.masters[i:i+1], k.masters[:i], k.masters[i+1:])
	}
	return k, i >= 0
}

// Find returns a keyring with only the key that has this fingerprint.
func (k Keyring) Find(fingerprint string) (found Keyring, ok bool) {
	for _, m := range k.masters {
		if fingerprintOf(m) == fingerprint {
			return Keyring{masters: []master{m}}, true
		}
	}
	return Keyring{}, false
}

// Belongs reports whether a process with this keyring may serve a database that has the
// fingerprint of its master key and, while that is being replaced, the fingerprint of the
// next key; "" if there is none. Without the next key, the process could not open what
// others seal.
func (k Keyring) Belongs(fingerprint, next string) bool {
	return (fingerprint == "" || k.has(fingerprint)) && (next == "" || k.has(next))
}

func (k Keyring) has(fingerprint string) bool {
	_, ok := k.Find(fingerprint)
	return ok
}

// WithIdentity returns the keyring with the identity key of another one.
func (k Keyring) WithIdentity(of Keyring) Keyring {
	k.identity = of.identityKey()
	return k
}

func (k Keyring) identityKey() []byte {
	if k.identity != nil {
		return k.identity
	}
	return k.masters[0].key
}

// identityPlace is the place of the sealed identity key.
const identityPlace = "master-key/identity"

// SealIdentity seals the identity key, which is kept when the master key is replaced.
func (k Keyring) SealIdentity(nonce [NonceSize]byte) (string, error) {
	return k.Seal(identityPlace, hex.EncodeToString(k.identityKey()), nonce)
}

// OpenIdentity returns the keyring with the identity key that SealIdentity sealed.
func (k Keyring) OpenIdentity(sealed string) (Keyring, error) {
	text, err := k.Open(identityPlace, sealed)
	if err != nil {
		return k, err
	}
	of, err := ParseKeyring(text)
	if err != nil {
		return k, err
	}
	return k.WithIdentity(of), nil
}

// Seal encrypts a secret for the database with AES-256-GCM, bound to its place, such
// as "tenant/acme/key": Open fails for a text that was copied to another place. The
// nonce must be new random bytes.
func (k Keyring) Seal(place, secret string, nonce [NonceSize]byte) (string, error) {
	aead, err := aead(k.masters[0].key)
	if err != nil {
		return "", err
	}
	sealed := aead.Seal(nonce[:], nonce[:], []byte(secret), []byte(place))
	return base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open decrypts a text that Seal returned for the same place under one of the master
// keys.
func (k Keyring) Open(place, sealed string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(raw) < NonceSize {
		return "", errors.New("auth: sealed secret is damaged")
	}
	for _, m := range k.masters {
		aead, err := aead(m.key)
		if err != nil {
			return "", err
		}
		if plain, err := aead.Open(nil, raw[:NonceSize], raw[NonceSize:], []byte(place)); err == nil {
			return string(plain), nil
		}
	}
	return "", errors.New("auth: sealed under another master key: all processes on one database need the same")
}

func aead(master []byte) (cipher.AEAD, error) {
	key := hmac.New(sha256.New, master)
	key.Write([]byte("kith/v1/seal"))
	block, err := aes.NewCipher(key.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// KeyPlace returns the place of a tenant's sealed API key, for Seal.
func KeyPlace(tenant core.TenantAlias) string { return "tenant/" + string(tenant) + "/key" }

// MasterKeyOf is a column with the fingerprint of the database's master key, a blank and the
// fingerprint of the next key. It is read with a link's row, so that no cookie is signed under
// another key.
const MasterKeyOf = `coalesce((SELECT fingerprint || ' ' || next FROM master_key WHERE one = 1), ' ')`
