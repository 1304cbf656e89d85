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

// MasterKey replaces the master key, under which all secrets of a database are sealed.
type MasterKey struct{ *base.Base }

// resealBatch is the number of secrets that one transaction checks at most.
const resealBatch = 100

// secretKinds are all kinds of secrets in the database. place returns the place for which
// a secret is sealed; see base.Base.Seal.
var secretKinds = []struct {
	secretdb.Kind
	place func(secretdb.Secret) string
}{
	{secretdb.APIKeySecrets, func(s secretdb.Secret) string { return auth.KeyPlace(s.Tenant) }},
	{secretdb.EndpointSecrets, endpointPlace},
	{secretdb.OldEndpointSecrets, endpointPlace},
	{secretdb.GatewaySecrets, func(s secretdb.Secret) string { return base.GatewayPlace(s.Tenant, s.Name) }},
	{secretdb.PipelineSecrets, pipelinePlace},
	{secretdb.OldPipelineSecrets, pipelinePlace},
	{secretdb.SigningSecrets, func(s secretdb.Secret) string { return base.SigningKeyPlace(s.Name) }},
	{secretdb.TOTPSecrets, func(s secretdb.Secret) string { return base.TOTPPlace(s.Name) }},
}

func pipelinePlace(s secretdb.Secret) string { return base.PipelinePlace(s.Tenant) }

func endpointPlace(s secretdb.Secret) string {
	return base.EndpointPlace(webhook.Queue{Tenant: s.Tenant, Endpoint: webhook.Endpoint(s.Name)})
}

// Rotate reseals all secrets under the first key of the keyring, and makes that key the
// master key of the database. The keyring must have all keys under which secrets are
// sealed. Other processes may run meanwhile if they have the same keys. Rotate returns
// the number of secrets that it resealed.
//
// Rotate skips secrets that are already sealed under the first key. So a rotation that
// was interrupted can be run again. When all processes have been restarted with the new
// key, run it once more: it reseals what they had sealed under the old key.
func (mk *MasterKey) Rotate(ctx context.Context) (resealed int, err error) {
	if err := mk.beginRotation(ctx); err != nil {
		return 0, err
	}
	for _, kind := range secretKinds {
		for batch := (resealing{more: true}); batch.more; {
			if batch, err = mk.reseal(ctx, kind.Kind, kind.place, batch.last); err != nil {
				return resealed, err
			}
			resealed += batch.n
		}
	}
	return resealed, mk.DB.Write(ctx, mk.Now(), func(tx *store.Tx) error { return secretdb.EndKeyRotation(ctx, tx) })
}

// beginRotation records which key replaces the master key of the database. The identity
// key stays the same, and is sealed under the new master key.
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

// resealing is the result of one batch: the number of resealed secrets, the last secret of
// the batch, and whether there may be more.
type resealing struct {
	n    int
	last secretdb.Secret
	more bool
}

// reseal reseals one batch of secrets of a kind, those that follow after.
func (mk *MasterKey) reseal(ctx context.Context, kind secretdb.Kind, place func(secretdb.Secret) string, after secretdb.Secret) (resealing, error) {
	first := mk.Keys.First()
	return store.WriteValue(ctx, mk.DB.Write, mk.Now(), func(tx *store.Tx) (batch resealing, err error) {
		secrets, err := secretdb.List(ctx, tx.Reads, kind, after, resealBatch)
		if err != nil || len(secrets) == 0 {
			return batch, err
		}
		batch.last, batch.more = secrets[len(secrets)-1], len(secrets) == resealBatch
		for _, s := range secrets {
			if s.Sealed == "" {
				continue
			}
			if _, err := first.Open(place(s), s.Sealed); err == nil {
				continue
			}
			plain, err := mk.Keys.Open(place(s), s.Sealed)
			if err != nil {
				return batch, fmt.Errorf("app: one of the %s of tenant %q cannot be decrypted; give all master keys that were ever used: %w", kind.Name, s.Tenant, err)
			}
			sealed, err := mk.Seal(place(s), plain)
			if err != nil {
				return batch, err
			}
			if err := secretdb.Reseal(ctx, tx, kind, s, sealed); err != nil {
				return batch, err
			}
			batch.n++
		}
		return batch, nil
	})
}
