package jobdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/job"
)

// Chunk is what a batch of an import has to tell, packed.
type Chunk struct {
	Seq            int64
	Result, Errors []byte
}

// SaveProgress stores how far an import has come, with what its rows have to tell;
// false means that the worker has lost the job. It counts as coming on, so the
// tries begin again.
func SaveProgress(ctx context.Context, tx *store.Tx, c Lease, part Chunk, until core.Time) (bool, error) {
	ok, err := tx.Changed(ctx, "move import", `UPDATE job SET processed = ?, errors = ?, position = ?, leased_until = ?, tries = 0
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING'`,
		c.Stats.Processed, c.Stats.Errors, c.Position, int64(until), string(c.Tenant), c.ID, c.Attempt)
	if err != nil || !ok {
		return ok, err
	}
	return true, tx.Exec(ctx, "insert part", `INSERT INTO job_part (tenant, job_id, seq, result, errors) VALUES (?, ?, ?, ?, ?)`,
		string(c.Tenant), c.ID, part.Seq, part.Result, part.Errors)
}

var chunkColumns = store.Selection[Chunk]{
	store.Col(`seq`, func(p *Chunk) any { return &p.Seq }),
	store.Col(`result`, func(p *Chunk) any { return &p.Result }),
	store.Col(`errors`, func(p *Chunk) any { return &p.Errors }),
}

// Chunks returns up to limit parts of a job behind a number, in their order.
func Chunks(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string, behind int64, limit int) ([]Chunk, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+chunkColumns.SQL()+` FROM job_part
		WHERE tenant = ? AND job_id = ? AND seq > ? ORDER BY seq LIMIT ?`, string(tenant), id, behind, limit)
	return chunkColumns.All(rows, err, "parts")
}

// DeleteChunks forgets up to limit parts of a job and returns how many there
// were.
func DeleteChunks(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string, limit int) (int, error) {
	return tx.Count(ctx, "delete parts", `DELETE FROM job_part WHERE tenant = ?1 AND job_id = ?2
		AND seq IN (SELECT seq FROM job_part WHERE tenant = ?1 AND job_id = ?2 ORDER BY seq LIMIT ?3)`, string(tenant), id, limit)
}

// SameImport returns the last job of a type, before the given one, that read a
// file of the same content, or "".
func SameImport(ctx context.Context, r store.Reads, tenant core.TenantAlias, j job.Job) (id string, err error) {
	err = r.QueryRowContext(ctx, `SELECT j.id FROM file f
		JOIN file g ON g.tenant = f.tenant AND g.hash = f.hash AND g.hash <> ''
		JOIN job j ON j.tenant = g.tenant AND j.file = g.ref
		WHERE f.tenant = ? AND f.ref = ? AND j.type = ? AND j.id <> ? AND j.created_at <= ? AND j.status <> 'ABORTED'
		ORDER BY j.created_at DESC, j.rowid DESC LIMIT 1`,
		string(tenant), string(j.File), string(j.Type), j.ID, int64(j.Created)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("store: same import: %w", err)
	}
	return id, nil
}
