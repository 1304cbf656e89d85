// Package auth decides who a caller is: API keys, what the master key signs and
// seals, and the hop from the edge to the backend.
// User tokens are JSON and so live in core/wire.
//
// Everything here is pure: nonces and the time are parameters.
package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"kith/core"
)

// NonceSize is the number of random bytes that Seal needs.
const NonceSize = 12

// Keyring holds the master key, under which the service signs and seals. The
// zero value is not usable; see ParseKeyring.
type Keyring struct{ master []byte }

// ParseKeyring reads a master key of 32 bytes written in hex (64 digits) or in
// base64. The same text must be given to the edge and to the backend.
func ParseKeyring(text string) (Keyring, error) {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == 32 {
			return Keyring{master: key}, nil
		}
	}
	return Keyring{}, errors.New("the master key must be 32 bytes in hex or base64")
}

// Seal encrypts a secret for the database with AES-256-GCM, bound to its place
// (such as "tenant/acme/key"): a sealed text that is copied to another place
// does not open there. The nonce must be fresh random bytes.
func (k Keyring) Seal(place, secret string, nonce [NonceSize]byte) (string, error) {
	aead, err := k.aead()
	if err != nil {
		return "", err
	}
	sealed := aead.Seal(nonce[:], nonce[:], []byte(secret), []byte(place))
	return base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open decrypts what Seal made for the same place under the same master key.
func (k Keyring) Open(place, sealed string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(raw) < NonceSize {
		return "", errors.New("auth: sealed secret is damaged")
	}
	aead, err := k.aead()
	if err != nil {
		return "", err
	}
	plain, err := aead.Open(nil, raw[:NonceSize], raw[NonceSize:], []byte(place))
	if err != nil {
		return "", errors.New("auth: sealed under another master key: all processes on one database need the same")
	}
	return string(plain), nil
}

func (k Keyring) aead() (cipher.AEAD, error) {
	key := hmac.New(sha256.New, k.master)
	key.Write([]byte("kith/v1/seal"))
	block, err := aes.NewCipher(key.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// KeyPlace is the place of a tenant's sealed API key.
func KeyPlace(tenant core.TenantAlias) string { return "tenant/" + string(tenant) + "/key" }
