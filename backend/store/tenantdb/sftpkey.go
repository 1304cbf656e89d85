package tenantdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// SFTPKey is a public key that may send a tenant's files. Its fingerprint, a
// SHA-256 of it, stands for the key itself, which whoever connects brings along.
type SFTPKey struct {
	// Fingerprint is as OpenSSH shows it: "SHA256:" and base64.
	Fingerprint string
	// Type is the key's type as SSH names it, Note what its owner calls it.
	Type, Note string
	Created    core.Time
	// Used is when somebody last came with it; zero: never.
	Used core.Time
}

var sftpKeyColumns = store.Selection[SFTPKey]{
	store.Col(`fingerprint`, func(k *SFTPKey) any { return &k.Fingerprint }),
	store.Col(`type`, func(k *SFTPKey) any { return &k.Type }),
	store.Col(`note`, func(k *SFTPKey) any { return &k.Note }),
	store.Col(`created_at`, func(k *SFTPKey) any { return &k.Created }),
	store.Col(`coalesce(used_at, 0)`, func(k *SFTPKey) any { return &k.Used }),
}

// SFTPKeys returns a tenant's keys, the first made first.
func SFTPKeys(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]SFTPKey, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+sftpKeyColumns.SQL()+` FROM sftp_key
		WHERE tenant = ? ORDER BY created_at, fingerprint`, string(tenant))
	return sftpKeyColumns.All(rows, err, "sftp keys")
}

// SFTPKeyExists reports whether a tenant has a key.
func SFTPKeyExists(ctx context.Context, r store.Reads, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return store.One[bool](ctx, r, "sftp key", `SELECT EXISTS (SELECT 1 FROM sftp_key WHERE tenant = ? AND fingerprint = ?)`,
		string(tenant), fingerprint)
}

// InsertSFTPKey adds a key; false means that the tenant has it.
func InsertSFTPKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, k SFTPKey) (bool, error) {
	return tx.Inserted(ctx, "sftp key", `INSERT INTO sftp_key (tenant, fingerprint, type, note, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, fingerprint) DO NOTHING`,
		string(tenant), k.Fingerprint, k.Type, k.Note, int64(tx.Now))
}

// RecordSFTPKeyUse notes that somebody came with a key; false means that the tenant
// does not have it.
func RecordSFTPKeyUse(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.Changed(ctx, "use sftp key", `UPDATE sftp_key SET used_at = ? WHERE tenant = ? AND fingerprint = ?`,
		int64(tx.Now), string(tenant), fingerprint)
}

// DeleteSFTPKey removes a key; false means that the tenant does not have it.
func DeleteSFTPKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.Changed(ctx, "delete sftp key", `DELETE FROM sftp_key WHERE tenant = ? AND fingerprint = ?`,
		string(tenant), fingerprint)
}
