package tenants

import (
	"context"
	"fmt"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/core/auth"
	"kith/core/webhook"
)

// MasterKey is what all secrets of a database are sealed under.
type MasterKey struct{ *base.Base }

// resealAtOnce is how many secrets are looked at in one transaction.
const resealAtOnce = 100

// secretKinds are all kinds of secrets that the database has, each with the place that
// a secret of it is sealed for.
var secretKinds = []struct {
	secretdb.Kind
	place func(secretdb.Secret) string
}{
	{secretdb.APIKeySecrets, func(s secretdb.Secret) string { return auth.KeyPlace(s.Tenant) }},
	{secretdb.EndpointSecrets, endpointPlace},
	{secretdb.OldEndpointSecrets, endpointPlace},
	{secretdb.GatewaySecrets, func(s secretdb.Secret) string { return base.GatewayPlace(s.Tenant, s.Name) }},
	{secretdb.SigningSecrets, func(s secretdb.Secret) string { return base.SigningKeyPlace(s.Name) }},
}

func endpointPlace(s secretdb.Secret) string {
	return base.EndpointPlace(webhook.Line{Tenant: s.Tenant, Endpoint: webhook.Endpoint(s.Name)})
}

// Rotate seals all secrets anew under the first key of the engine, which must
// have all others that secrets are sealed under, and makes it the master key of the
// database. Others go on meanwhile, if they have the keys too. It returns how many
// secrets were sealed anew.
//
// What is sealed under the first key is left alone. So a rotation that was interrupted
// goes on when it is run again, and one that is run again at the end brings in line what
// processes sealed meanwhile that had not been restarted.
func (mk *MasterKey) Rotate(ctx context.Context) (resealed int, err error) {
	if err := mk.beginRotation(ctx); err != nil {
		return 0, err
	}
	for _, kind := range secretKinds {
		behind := secretdb.Secret{}
		for more := true; more; {
			var n int
			n, behind, more, err = mk.reseal(ctx, kind.Kind, kind.place, behind)
			resealed += n
			if err != nil {
				return resealed, err
			}
		}
	}
	return resealed, mk.DB.Write(ctx, mk.Now(), func(tx *store.Tx) error { return secretdb.EndKeyRotation(ctx, tx) })
}

// beginRotation notes which key replaces that of the database. The key of identities
// stays what it is.
func (mk *MasterKey) beginRotation(ctx context.Context) error {
	return mk.DB.Write(ctx, mk.Now(), func(tx *store.Tx) error {
		evidence, err := secretdb.FindMasterKey(ctx, tx.Reads)
		if err != nil || evidence.Fingerprint == mk.Keys.Fingerprint() && evidence.Next == "" {
			return err
		}
		var nonce [auth.NonceSize]byte
		mk.Entropy(nonce[:])
		identity, err := mk.Keys.SealIdentity(nonce)
		if err != nil {
			return err
		}
		return secretdb.BeginKeyRotation(ctx, tx, mk.Keys.Fingerprint(), identity)
	})
}

// reseal seals the next secrets of a kind anew, and returns the last that it looked at.
func (mk *MasterKey) reseal(ctx context.Context, kind secretdb.Kind, place func(secretdb.Secret) string, behind secretdb.Secret) (n int, last secretdb.Secret, more bool, err error) {
	first := mk.Keys.First()
	err = mk.DB.Write(ctx, mk.Now(), func(tx *store.Tx) error {
		n = 0
		secrets, err := secretdb.List(ctx, tx.Reads, kind, behind, resealAtOnce)
		if err != nil || len(secrets) == 0 {
			return err
		}
		last, more = secrets[len(secrets)-1], len(secrets) == resealAtOnce
		for _, s := range secrets {
			if s.Sealed == "" {
				continue
			}
			if _, err := first.Open(place(s), s.Sealed); err == nil {
				continue
			}
			plain, err := mk.Keys.Open(place(s), s.Sealed)
			if err != nil {
				return fmt.Errorf("program: one of the %s of tenant %q does not open; give all master keys that were ever used: %w", kind.Name, s.Tenant, err)
			}
			sealed, err := mk.Seal(place(s), plain)
			if err != nil {
				return err
			}
			if err := secretdb.Reseal(ctx, tx, kind, s, sealed); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, last, more, err
}
