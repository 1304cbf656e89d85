package store

import (
	"context"
	"fmt"

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

var sftpKeyColumns = selection[SFTPKey]{
	{`fingerprint`, func(k *SFTPKey) any { return &k.Fingerprint }},
	{`type`, func(k *SFTPKey) any { return &k.Type }},
	{`note`, func(k *SFTPKey) any { return &k.Note }},
	{`created_at`, func(k *SFTPKey) any { return &k.Created }},
	{`coalesce(used_at, 0)`, func(k *SFTPKey) any { return &k.Used }},
}

// SFTPKeys returns a tenant's keys, the first made first.
func (r Reads) SFTPKeys(ctx context.Context, tenant core.TenantAlias) ([]SFTPKey, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+sftpKeyColumns.list()+` FROM sftp_key
		WHERE tenant = ? ORDER BY created_at, fingerprint`, string(tenant))
	return sftpKeyColumns.all(rows, err, "sftp keys")
}

// SFTPKeyKnown reports whether a tenant has a key.
func (r Reads) SFTPKeyKnown(ctx context.Context, tenant core.TenantAlias, fingerprint string) (known bool, err error) {
	err = r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sftp_key WHERE tenant = ? AND fingerprint = ?)`,
		string(tenant), fingerprint).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("store: sftp key: %w", err)
	}
	return known, nil
}

// InsertSFTPKey adds a key; false means that the tenant has it.
func (tx *Tx) InsertSFTPKey(ctx context.Context, tenant core.TenantAlias, k SFTPKey) (bool, error) {
	return tx.inserted(ctx, "sftp key", `INSERT INTO sftp_key (tenant, fingerprint, type, note, created_at)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, fingerprint) DO NOTHING`,
		string(tenant), k.Fingerprint, k.Type, k.Note, int64(tx.Now))
}

// UseSFTPKey notes that somebody came with a key; false means that the tenant
// does not have it.
func (tx *Tx) UseSFTPKey(ctx context.Context, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.changed(ctx, "use sftp key", `UPDATE sftp_key SET used_at = ? WHERE tenant = ? AND fingerprint = ?`,
		int64(tx.Now), string(tenant), fingerprint)
}

// DeleteSFTPKey removes a key; false means that the tenant does not have it.
func (tx *Tx) DeleteSFTPKey(ctx context.Context, tenant core.TenantAlias, fingerprint string) (bool, error) {
	return tx.changed(ctx, "delete sftp key", `DELETE FROM sftp_key WHERE tenant = ? AND fingerprint = ?`,
		string(tenant), fingerprint)
}
