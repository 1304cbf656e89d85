package webhooks

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/webhookdb"
	"kith/core/webhook"
)

// SigningKeys are the service's key pairs that sign for all tenants.
type SigningKeys struct{ *base.Base }

// SigningKey signs X-Hook-JWS-RFC-7797 for all tenants.
type SigningKey struct {
	ID      string
	Private *rsa.PrivateKey
}

// keyBits is the size that RS256 asks for at least (RFC 7518, 3.3).
const keyBits = 2048

// Ensure makes the service's key pair when there is none, and fails
// when there is one that the master key does not open. It is called at the start
// of a process, since making one takes a while; of several that start at once,
// one gives all of them its key.
func (ks *SigningKeys) Ensure(ctx context.Context) error {
	_, known, err := webhookdb.SigningKey(ctx, ks.DB.Reads)
	if err == nil && known {
		_, err = ks.Current(ctx, SigningKey{})
	}
	if err != nil || known {
		return err
	}
	key, err := ks.newKey()
	if err != nil {
		return err
	}
	return ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error {
		_, err := webhookdb.InsertKey(ctx, tx, key)
		return err
	})
}

// Rotate makes a new key pair that signs from now on; the one before
// is published for webhook.KeyPublished.
func (ks *SigningKeys) Rotate(ctx context.Context) (id string, err error) {
	key, err := ks.newKey()
	if err != nil {
		return "", err
	}
	return key.ID, ks.DB.Write(ctx, ks.Now(), func(tx *store.Tx) error {
		if err := webhookdb.RetireKey(ctx, tx); err != nil {
			return err
		}
		_, err := webhookdb.InsertKey(ctx, tx, key)
		return err
	})
}

// Public are the keys by which consumers verify what they are sent.
func (ks *SigningKeys) Public(ctx context.Context) ([]webhook.PublicKey, error) {
	return webhookdb.Keys(ctx, ks.DB.Reads, ks.Now()-webhook.KeyPublished)
}

// newKey makes a key pair. Its randomness is the system's, whatever Entropy is:
// a key pair is made in no story that has to come out the same.
func (ks *SigningKeys) newKey() (k webhookdb.Key, err error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return k, fmt.Errorf("program: make key: %w", err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return k, fmt.Errorf("program: write key: %w", err)
	}
	k.ID = ks.IDAt(ks.Now())
	k.Modulus = base64.RawURLEncoding.EncodeToString(private.N.Bytes())
	k.Sealed, err = ks.Seal(base.SigningKeyPlace(k.ID), base64.StdEncoding.EncodeToString(plain))
	return k, err
}

// Current returns the key that signs now. have is the one that the caller
// used last, or the zero value: opening a key takes longer than signing, so one
// that still signs is handed back.
func (ks *SigningKeys) Current(ctx context.Context, have SigningKey) (SigningKey, error) {
	stored, known, err := webhookdb.SigningKey(ctx, ks.DB.Reads)
	if err != nil || known && stored.ID == have.ID {
		return have, err
	}
	if !known {
		return SigningKey{}, fmt.Errorf("program: the service has no key to sign with")
	}
	text, err := ks.Keys.Open(base.SigningKeyPlace(stored.ID), stored.Sealed)
	if err != nil {
		return SigningKey{}, fmt.Errorf("program: open key %s: %w", stored.ID, err)
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return SigningKey{}, fmt.Errorf("program: key %s: %w", stored.ID, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(plain)
	key, ok := private.(*rsa.PrivateKey)
	if err != nil || !ok {
		return SigningKey{}, fmt.Errorf("program: key %s is no RSA key: %w", stored.ID, err)
	}
	return SigningKey{stored.ID, key}, nil
}
