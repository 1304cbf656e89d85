package jobdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/job"
)

// MostColumns is the number of headers of a tenant for which chosen columns are kept at most.
const MostColumns = 200

// PutColumns stores the columns, a JSON object, that were chosen for files of a type with a
// header, given by its hash. The header that was not used for longest is forgotten.
func PutColumns(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, t job.Type, header, columns string) error {
	err := tx.Exec(ctx, "put import columns", `INSERT INTO import_columns (tenant, type, header, columns, used_at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (tenant, type, header) DO UPDATE SET columns = excluded.columns, used_at = excluded.used_at WHERE tenant = ?1`,
		string(tenant), string(t), header, columns, int64(tx.Now))
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "limit import columns", `DELETE FROM import_columns WHERE tenant = ?1 AND rowid IN (
		SELECT rowid FROM import_columns WHERE tenant = ?1 ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET ?2)`, string(tenant), MostColumns)
}

// Columns returns what PutColumns stored, or "".
func Columns(ctx context.Context, r store.Reads, tenant core.TenantAlias, t job.Type, header string) (string, error) {
	return store.OneOrZero[string](ctx, r, "import columns", `SELECT columns FROM import_columns WHERE tenant = ? AND type = ? AND header = ?`, string(tenant), string(t), header)
}
