package jobdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/job"
)

// Chunk is what one batch of an import adds to the result file and the errors file.
type Chunk struct {
	// Seq orders the chunks of a job.
	Seq int64
	// Result and Errors are compressed; each is nil if the batch adds nothing.
	Result, Errors []byte
}

// SaveProgress stores the position and stats of an import with a chunk of its files,
// and renews the lease, which then has the given token. Because the job has made
// progress, its tries start from 0 again. It returns false if the lease was lost.
func SaveProgress(ctx context.Context, tx *store.Tx, l Lease, chunk Chunk, token string) (bool, error) {
	ok, err := tx.Changed(ctx, "move import", `UPDATE job SET processed = ?, errors = ?, total = nullif(?, 0), position = ?, file_row = ?, idle = ?, leased_by = ?, tries = 0
		WHERE tenant = ? AND id = ? AND attempt = ? AND status = 'PENDING' AND leased_by IS NOT NULL`,
		l.Stats.Processed, l.Stats.Errors, l.Total, l.Position, l.Row, l.Stats.Idle, token, string(l.Tenant), l.ID, l.Attempt)
	if err != nil || !ok {
		return ok, err
	}
	return true, tx.Exec(ctx, "insert chunk", `INSERT INTO job_part (tenant, job_id, seq, result, errors) VALUES (?, ?, ?, ?, ?)`,
		string(l.Tenant), l.ID, chunk.Seq, chunk.Result, chunk.Errors)
}

var chunkColumns = store.Selection[Chunk]{
	store.Col(`seq`, func(p *Chunk) any { return &p.Seq }),
	store.Col(`result`, func(p *Chunk) any { return &p.Result }),
	store.Col(`errors`, func(p *Chunk) any { return &p.Errors }),
}

// Chunks returns up to limit chunks of a job whose numbers are higher than after, in
// order.
func Chunks(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string, after int64, limit int) ([]Chunk, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+chunkColumns.SQL()+` FROM job_part
		WHERE tenant = ? AND job_id = ? AND seq > ? ORDER BY seq LIMIT ?`, string(tenant), id, after, limit)
	return chunkColumns.All(rows, err, "chunks")
}

// DeleteChunks deletes up to limit chunks of a job and returns how many it deleted.
func DeleteChunks(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string, limit int) (int, error) {
	return tx.Count(ctx, "delete chunks", `DELETE FROM job_part WHERE tenant = ?1 AND job_id = ?2
		AND seq IN (SELECT seq FROM job_part WHERE tenant = ?1 AND job_id = ?2 ORDER BY seq LIMIT ?3)`, string(tenant), id, limit)
}

// SameImport returns the id of the latest earlier job of the same type that imported a
// file with the same content and was not aborted, or "".
func SameImport(ctx context.Context, r store.Reads, tenant core.TenantAlias, j job.Job) (string, error) {
	return store.OneOrZero[string](ctx, r, "same import", `SELECT j.id FROM file f
		JOIN file g ON g.tenant = f.tenant AND g.hash = f.hash AND g.hash <> ''
		JOIN job j ON j.tenant = g.tenant AND j.file = g.ref
		WHERE f.tenant = ? AND f.ref = ? AND j.type = ? AND j.id <> ? AND j.created_at <= ? AND j.status <> 'ABORTED'
		ORDER BY j.created_at DESC, j.rowid DESC LIMIT 1`,
		string(tenant), string(j.File), string(j.Type), j.ID, int64(j.Created))
}
