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

// SigningKeys manages the key pairs of the service that sign the events of all tenants.
type SigningKeys struct{ *base.Base }

// SigningKey makes the signatures of the header X-Hook-JWS-RFC-7797, for all tenants.
type SigningKey struct {
	ID      string
	Private *rsa.PrivateKey
}

// keyBits is the smallest size that RS256 permits (RFC 7518, 3.3).
const keyBits = 2048

// Ensure creates the service's key pair if it has none. It returns an error if the key
// pair cannot be decrypted by the master key. Call it at the start of a process, since
// creating a key pair takes a while. If several processes call it at once, all use the
// key pair of the first.
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

// Rotate creates a new key pair, which signs from now on, and returns its id. The public
// half of the old key pair stays published for webhook.KeyPublished.
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

// Public returns the public keys by which endpoints verify signatures, the newest first.
func (ks *SigningKeys) Public(ctx context.Context) ([]webhook.PublicKey, error) {
	return webhookdb.Keys(ctx, ks.DB.Reads, ks.Now()-webhook.KeyPublished)
}

// newKey makes a key pair. It uses crypto/rand instead of Entropy: no test needs a key
// pair that is the same in each run.
func (ks *SigningKeys) newKey() (k webhookdb.Key, err error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return k, fmt.Errorf("app: make signing key: %w", err)
	}
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return k, fmt.Errorf("app: encode signing key: %w", err)
	}
	k.ID = ks.IDAt(ks.Now())
	k.Modulus = base64.RawURLEncoding.EncodeToString(private.N.Bytes())
	k.Sealed, err = ks.Seal(base.SigningKeyPlace(k.ID), base64.StdEncoding.EncodeToString(plain))
	return k, err
}

// Current returns the key that signs now. last is the key that the caller used last, or
// the zero value. If last is still current, Current returns it without decrypting the
// stored key, which would take longer than signing.
func (ks *SigningKeys) Current(ctx context.Context, last SigningKey) (SigningKey, error) {
	stored, known, err := webhookdb.SigningKey(ctx, ks.DB.Reads)
	if err != nil || known && stored.ID == last.ID {
		return last, err
	}
	if !known {
		return SigningKey{}, fmt.Errorf("app: the service has no webhook signing key")
	}
	text, err := ks.Keys.Open(base.SigningKeyPlace(stored.ID), stored.Sealed)
	if err != nil {
		return SigningKey{}, fmt.Errorf("app: open signing key %s: %w", stored.ID, err)
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return SigningKey{}, fmt.Errorf("app: decode signing key %s: %w", stored.ID, err)
	}
	private, err := x509.ParsePKCS8PrivateKey(plain)
	key, ok := private.(*rsa.PrivateKey)
	if err != nil || !ok {
		return SigningKey{}, fmt.Errorf("app: signing key %s is not an RSA key: %w", stored.ID, err)
	}
	return SigningKey{stored.ID, key}, nil
}
