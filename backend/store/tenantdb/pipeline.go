package tenantdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Pipeline is the stored connection of a tenant to its customer-data pipeline.
type Pipeline struct {
	// Settings is the JSON that wire.PipelineSettings returns.
	Settings string
	// Secret is the sealed secret that verifies signatures; empty if there is none. Old
	// is the one before, which is valid until OldUntil; empty if there is none.
	Secret, Old string
	OldUntil    core.Time
}

var pipelineColumns = store.Selection[Pipeline]{
	store.Col(`settings`, func(p *Pipeline) any { return &p.Settings }),
	store.Col(`coalesce(secret, '')`, func(p *Pipeline) any { return &p.Secret }),
	store.Col(`coalesce(old_secret, '')`, func(p *Pipeline) any { return &p.Old }),
	store.Col(`coalesce(old_until, 0)`, func(p *Pipeline) any { return &p.OldUntil }),
}

// FindPipeline returns the connection of a tenant; the zero value if it has none.
func FindPipeline(ctx context.Context, r store.Reads, tenant core.TenantAlias) (p Pipeline, err error) {
	_, err = pipelineColumns.One(r.QueryRowContext(ctx, `SELECT `+pipelineColumns.SQL()+` FROM pipeline WHERE tenant = ?`, string(tenant)), "pipeline", &p)
	return p, err
}

// PutPipelineSettings stores the settings of a tenant's pipeline.
func PutPipelineSettings(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, settings string) error {
	return tx.Exec(ctx, "put pipeline settings", `INSERT INTO pipeline (tenant, settings) VALUES (?, ?)
		ON CONFLICT (tenant) DO UPDATE SET settings = excluded.settings`, string(tenant), settings)
}

// PutPipelineSecret stores a new sealed secret of a tenant's pipeline. The secret before
// stays valid until the given time; an older one does not.
func PutPipelineSecret(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, secret string, until core.Time) error {
	return tx.Exec(ctx, "put pipeline secret", `INSERT INTO pipeline (tenant, settings, secret) VALUES (?1, '{}', ?2)
		ON CONFLICT (tenant) DO UPDATE SET secret = ?2, old_secret = CASE WHEN ?3 > ?4 THEN secret END,
			old_until = CASE WHEN ?3 > ?4 AND secret IS NOT NULL THEN ?3 END`, string(tenant), secret, int64(until), int64(tx.Now))
}

// DeletePipelineSecret deletes the secrets of a tenant's pipeline. It returns false if it
// has none.
func DeletePipelineSecret(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) (bool, error) {
	return tx.Changed(ctx, "delete pipeline secret", `UPDATE pipeline SET secret = NULL, old_secret = NULL, old_until = NULL
		WHERE tenant = ? AND secret IS NOT NULL`, string(tenant))
}
