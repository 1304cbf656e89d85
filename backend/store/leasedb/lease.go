// Package leasedb has the SQL of leases: of the processes that have some, and of the
// leases of processes that stopped.
package leasedb

import (
	"context"

	"kith/backend/store"
	"kith/core"
)

// Never is the time of leased work: it does not become due while the lease lasts.
const Never core.Time = 9_000_000_000_000_000

// Process is a process that has leases, or had some recently.
type Process struct {
	ID string
	// Beat is a number that the process increments while it runs.
	Beat int64
}

var processColumns = store.Selection[Process]{
	store.Col(`id`, func(p *Process) any { return &p.ID }),
	store.Col(`beat`, func(p *Process) any { return &p.Beat }),
}

// maxRows bounds the processes and the tokens that are read at once.
const maxRows = 10_000

// Enter adds a process, unless it is known. It must be called in each transaction that
// leases work to the process.
func Enter(ctx context.Context, tx *store.Tx, process string) error {
	return tx.Exec(ctx, "enter process", `INSERT INTO worker_process (id, beat) VALUES (?, 0) ON CONFLICT (id) DO NOTHING`, process)
}

// Beat increments the number of a process, if the process is known.
func Beat(ctx context.Context, tx *store.Tx, process string) error {
	return tx.Exec(ctx, "beat", `UPDATE worker_process SET beat = beat + 1 WHERE id = ?`, process)
}

// Leave removes a process.
func Leave(ctx context.Context, tx *store.Tx, process string) error {
	return tx.Exec(ctx, "leave process", `DELETE FROM worker_process WHERE id = ?`, process)
}

// Processes returns all processes.
func Processes(ctx context.Context, r store.Reads) ([]Process, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+processColumns.SQL()+` FROM worker_process ORDER BY id LIMIT ?`, maxRows)
	return processColumns.All(rows, err, "processes")
}

// Tokens returns the tokens of all leases, each once.
func Tokens(ctx context.Context, r store.Reads) ([]string, error) {
	return store.List[string](ctx, r, "leases", `SELECT leased_by FROM job WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM webhook_delivery WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM gateway_subscription WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM gateway_connection WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM gateway_coupon WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM gateway_payment WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM gateway_promotion WHERE leased_by IS NOT NULL
		UNION SELECT leased_by FROM backup_schedule WHERE leased_by IS NOT NULL
		ORDER BY 1 LIMIT ?`, maxRows)
}

// release ends leases: their work is due now.
var release = []string{
	`UPDATE job SET leased_by = NULL, leased_until = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE webhook_delivery SET leased_by = NULL, due_at = iif(state = 'sending', ?1, due_at)
		WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE gateway_subscription SET leased_by = NULL, leased_until = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE gateway_connection SET leased_by = NULL, sweep_at = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE gateway_coupon SET leased_by = NULL, due_at = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE gateway_payment SET leased_by = NULL, due_at = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE gateway_promotion SET leased_by = NULL, due_at = ?1 WHERE leased_by IN (SELECT value FROM json_each(?2))`,
	`UPDATE backup_schedule SET leased_by = NULL WHERE leased_by IN (SELECT value FROM json_each(?2))`,
}

// Release ends the leases with the tokens, and returns how many rows were leased.
func Release(ctx context.Context, tx *store.Tx, tokens []string) (released int, err error) {
	if len(tokens) == 0 {
		return 0, nil
	}
	list := store.TextList(tokens)
	for _, statement := range release {
		n, err := tx.Count(ctx, "release leases", statement, int64(tx.Now), list)
		if err != nil {
			return released, err
		}
		released += n
	}
	return released, nil
}
