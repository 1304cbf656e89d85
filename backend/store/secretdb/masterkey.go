// Package secretdb has the SQL of the master key and of the secrets that are sealed
// under it.
package secretdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// MasterKey identifies the master key of a database, without having the key itself. The
// zero value, of a new database, matches any key.
type MasterKey struct {
	// Fingerprint is the fingerprint of the master key, empty until the database is
	// first opened for writing.
	Fingerprint string
	// Next is the fingerprint of the key that is replacing it, empty outside a rotation.
	Next string
	// Identity is the sealed key of auth.Keyring.Identity, empty if that is the master
	// key itself.
	Identity string
	// Sealed is a secret of Tenant that is sealed under the master key. Both are empty
	// if no tenant has one.
	Tenant core.TenantAlias
	Sealed string
}

var masterKeyColumns = store.Selection[MasterKey]{
	store.Col(`fingerprint`, func(k *MasterKey) any { return &k.Fingerprint }),
	store.Col(`next`, func(k *MasterKey) any { return &k.Next }),
	store.Col(`identity`, func(k *MasterKey) any { return &k.Identity }),
}

var sealedColumns = store.Selection[MasterKey]{
	store.Col(`tenant`, func(k *MasterKey) any { return &k.Tenant }),
	store.Col(`sealed`, func(k *MasterKey) any { return &k.Sealed }),
}

// FindMasterKey returns what identifies the master key of the database; the zero value
// if the database has no schema yet.
func FindMasterKey(ctx context.Context, r store.Reads) (k MasterKey, err error) {
	has, err := r.HasTable(ctx, "master_key")
	if err != nil || !has {
		return k, err
	}
	if _, err = masterKeyColumns.One(r.QueryRowContext(ctx, `SELECT `+masterKeyColumns.SQL()+` FROM master_key`), "master key", &k); err != nil {
		return k, err
	}
	_, err = sealedColumns.One(r.QueryRowContext(ctx, `SELECT `+sealedColumns.SQL()+` FROM api_key WHERE sealed <> '' LIMIT 1`), "sealed key", &k)
	return k, err
}

// KeepKeyFingerprint stores the fingerprint of the master key, unless one is stored, and
// returns the stored one: another process may have stored it at the same time.
func KeepKeyFingerprint(ctx context.Context, p *store.Primary, now core.Time, fingerprint string) (kept string, err error) {
	err = p.Write(ctx, now, func(tx *store.Tx) error {
		if err := tx.Exec(ctx, "keep fingerprint", `UPDATE master_key SET fingerprint = ? WHERE fingerprint = ''`, fingerprint); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT fingerprint FROM master_key`).Scan(&kept)
	})
	return kept, err
}

// BeginKeyRotation stores the fingerprint of the next master key, under which secrets
// are sealed from now on, and the sealed key of identities.
func BeginKeyRotation(ctx context.Context, tx *store.Tx, next, identity string) error {
	return tx.Exec(ctx, "begin key rotation", `UPDATE master_key SET next = ?, identity = ?`, next, identity)
}

// EndKeyRotation makes the next master key the only one of the database.
func EndKeyRotation(ctx context.Context, tx *store.Tx) error {
	return tx.Exec(ctx, "end key rotation", `UPDATE master_key SET fingerprint = next, next = '' WHERE next <> ''`)
}

// Secret is a secret that is sealed under the master key.
type Secret struct {
	// Tenant is empty for a secret of the whole service.
	Tenant core.TenantAlias
	// Name identifies the secret among those of its kind and tenant: the hash of an API
	// key, the URL of an endpoint, a public key, or an id.
	Name   string
	Sealed string
}

var secretColumns = store.Selection[Secret]{
	store.Col(`tenant`, func(s *Secret) any { return &s.Tenant }),
	store.Col(`name`, func(s *Secret) any { return &s.Name }),
	store.Col(`sealed`, func(s *Secret) any { return &s.Sealed }),
}

// Kind is a kind of secrets in the database: one column of a table.
type Kind struct {
	// Name is the name of the kind, in the plural.
	Name string
	// list selects a page of secretColumns, reseal replaces one secret.
	list, reseal string
}

// The kinds of secrets: one for each column that has any.
var (
	APIKeySecrets = Kind{
		"API keys", `SELECT tenant, hash AS name, sealed FROM api_key WHERE (tenant, hash) > (?1, ?2) ORDER BY tenant, hash LIMIT ?3`,
		`UPDATE api_key SET sealed = ?4 WHERE tenant = ?1 AND hash = ?2 AND sealed = ?3`,
	}
	EndpointSecrets = Kind{
		"webhook secrets", `SELECT tenant, url AS name, secret AS sealed FROM webhook_subscription WHERE (tenant, url) > (?1, ?2) ORDER BY tenant, url LIMIT ?3`,
		`UPDATE webhook_subscription SET secret = ?4 WHERE tenant = ?1 AND url = ?2 AND secret = ?3`,
	}
	OldEndpointSecrets = Kind{
		"replaced webhook secrets", `SELECT tenant, url AS name, coalesce(old_secret, '') AS sealed FROM webhook_subscription WHERE (tenant, url) > (?1, ?2) ORDER BY tenant, url LIMIT ?3`,
		`UPDATE webhook_subscription SET old_secret = ?4 WHERE tenant = ?1 AND url = ?2 AND old_secret = ?3`,
	}
	GatewaySecrets = Kind{
		"gateway keys", `SELECT tenant, public_key AS name, private_key AS sealed FROM gateway_key WHERE (tenant, public_key) > (?1, ?2) ORDER BY tenant, public_key LIMIT ?3`,
		`UPDATE gateway_key SET private_key = ?4 WHERE tenant = ?1 AND public_key = ?2 AND private_key = ?3`,
	}
	PipelineSecrets = Kind{
		"pipeline secrets", `SELECT tenant, '' AS name, coalesce(secret, '') AS sealed FROM pipeline WHERE (tenant, '') > (?1, ?2) ORDER BY tenant LIMIT ?3`,
		`UPDATE pipeline SET secret = ?4 WHERE tenant = ?1 AND '' = ?2 AND secret = ?3`,
	}
	OldPipelineSecrets = Kind{
		"replaced pipeline secrets", `SELECT tenant, '' AS name, coalesce(old_secret, '') AS sealed FROM pipeline WHERE (tenant, '') > (?1, ?2) ORDER BY tenant LIMIT ?3`,
		`UPDATE pipeline SET old_secret = ?4 WHERE tenant = ?1 AND '' = ?2 AND old_secret = ?3`,
	}
	SigningSecrets = Kind{
		"webhook signing keys", `SELECT '' AS tenant, id AS name, sealed FROM webhook_key WHERE ('', id) > (?1, ?2) ORDER BY id LIMIT ?3`,
		`UPDATE webhook_key SET sealed = ?4 WHERE ?1 = '' AND id = ?2 AND sealed = ?3`,
	}
	TOTPSecrets = Kind{
		"authenticator apps", `SELECT '' AS tenant, id AS name, totp AS sealed FROM person WHERE ('', id) > (?1, ?2) ORDER BY id LIMIT ?3`,
		`UPDATE person SET totp = ?4 WHERE ?1 = '' AND id = ?2 AND totp = ?3`,
	}
)

// List returns up to limit secrets of a kind, of all tenants, in the order of tenant and
// name, starting after the secret after.
func List(ctx context.Context, r store.Reads, kind Kind, after Secret, limit int) ([]Secret, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+secretColumns.SQL()+` FROM (`+kind.list+`) ORDER BY tenant, name`,
		string(after.Tenant), after.Name, limit)
	return secretColumns.All(rows, err, kind.Name)
}

// Reseal replaces a sealed secret s by the same secret sealed under another key, unless
// it was changed since s was read.
func Reseal(ctx context.Context, tx *store.Tx, kind Kind, s Secret, sealed string) error {
	return tx.Exec(ctx, "reseal "+kind.Name, kind.reseal, string(s.Tenant), s.Name, s.Sealed, sealed)
}
