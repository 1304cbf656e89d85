package tenantdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// SFTPKey is a public key that may upload a tenant's files. Only its fingerprint is
// stored: a client sends the key itself when it connects.
type SFTPKey struct {
	// Fingerprint is the SHA-256 of the key as OpenSSH shows it: "SHA256:" and base64.
	Fingerprint string
	// Type is the SSH name of the key's type, such as ssh-ed25519. Note is a comment
	// of the key's owner.
	Type, Note string
	Created    core.Time
	// Used is when a client last connected with the key; zero is never.
	Used core.Time
}

var sftpKeyColumns = store.Selection[SFTPKey]{
	store.Col(`fingerprint`, func(k *SFTPKey) any { return &k.Fingerprint }),
	store.Col(`type`, func(k *SFTPKey) any { return &k.Type }),
	store.Col(`note`, func(k *SFTPKey) any { return &k.Note }),
	store.Col(`created_at`, func(k *SFTPKey) any { return &k.Created }),
	store.Col(`coalesce(used_at, 0)`, func(k *SFTPKey) any { return &k.Used }),
}

// SFTPKeys returns a tenant's SFTP keys, oldest first.
func SFTPKeys(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]SFTPKey, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+sftpKeyColumns.SQL()+` FROM sftp_key
		WHERE tenant = ? ORDER BY created_at, fingerprint`, string(tenant))
	return sftpKeyColumns.All(rows, err, "sftp keys")
}

// SFTPKeyExists reports whether a tenant has an SFTP key.
func SFTPKeyExists(ctx context.Context, r store.Reads, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return store.One[bool](ctx, r, "sftp key", `SELECT EXISTS (SELECT 1 FROM sftp_key WHERE tenant = ? AND fingerprint = ?)`,
		string(tenant), fingerprint)
}

// InsertSFTPKey adds an SFTP key. It returns false if the tenant has it already.
func InsertSFTPKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, k SFTPKey) (bool, error) {
	return tx.Inserted(ctx, "sftp key", `INSERT INTO sftp_key (tenant, fingerprint, type, note, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, fingerprint) DO NOTHING`,
		string(tenant), k.Fingerprint, k.Type, k.Note, int64(tx.Now))
}

// RecordSFTPKeyUse records that a client connected with a key at the time of the
// transaction. It returns false if the tenant does not have the key.
func RecordSFTPKeyUse(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.Changed(ctx, "use sftp key", `UPDATE sftp_key SET used_at = ? WHERE tenant = ? AND fingerprint = ?`,
		int64(tx.Now), string(tenant), fingerprint)
}

// DeleteSFTPKey deletes an SFTP key. It returns false if the tenant does not have it.
func DeleteSFTPKey(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.Changed(ctx, "delete sftp key", `DELETE FROM sftp_key WHERE tenant = ? AND fingerprint = ?`,
		string(tenant), fingerprint)
}
