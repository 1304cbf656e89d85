package tabledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// backupDue is true if a backup is due: the latest one is older than ?3, which is 0 if the
// folder has none, and no attempt failed a short time ago, within ?2. A time far in the future
// is that of a clock that was wrong.
const backupDue = `leased_by IS NULL AND retry_at NOT BETWEEN ?1 AND ?1 + ?2 AND made_at NOT BETWEEN ?1 - ?3 + 1 AND ?1 + ?3`

// BackupDue reports whether a scheduled backup is due and no process makes it. age is every, or
// 0 if the latest backup is not there any more.
func BackupDue(ctx context.Context, r store.Reads, now, every, age core.Time) (bool, error) {
	return store.One[bool](ctx, r, "backup due", `SELECT EXISTS (SELECT 1 FROM backup_schedule WHERE `+backupDue+`)`, int64(now), int64(every), int64(age))
}

// LeaseBackup leases a backup that is due to a token, and reports whether it was due; see
// BackupDue.
func LeaseBackup(ctx context.Context, tx *store.Tx, every, age core.Time, token string) (bool, error) {
	return tx.Changed(ctx, "lease backup", `UPDATE backup_schedule SET leased_by = ?4 WHERE `+backupDue, int64(tx.Now), int64(every), int64(age), token)
}

// RenewBackup replaces the token of the lease, and reports whether the process still had it.
func RenewBackup(ctx context.Context, tx *store.Tx, token, renewed string) (bool, error) {
	return tx.Changed(ctx, "renew lease of backup", `UPDATE backup_schedule SET leased_by = ? WHERE leased_by = ?`, renewed, token)
}

// EndBackup ends the lease after a backup that was made now.
func EndBackup(ctx context.Context, tx *store.Tx, token string) error {
	return tx.Exec(ctx, "end backup", `UPDATE backup_schedule SET leased_by = NULL, made_at = ?, retry_at = 0 WHERE leased_by = ?`, int64(tx.Now), token)
}

// FailBackup ends the lease after a failure: the next attempt is not before retry.
func FailBackup(ctx context.Context, tx *store.Tx, token string, retry core.Time) error {
	return tx.Exec(ctx, "fail backup", `UPDATE backup_schedule SET leased_by = NULL, retry_at = ? WHERE leased_by = ?`, int64(retry), token)
}

// LatestBackup returns when the latest scheduled backup was made; 0 if none was.
func LatestBackup(ctx context.Context, r store.Reads) (core.Time, error) {
	return store.One[core.Time](ctx, r, "latest backup", `SELECT made_at FROM backup_schedule`)
}
