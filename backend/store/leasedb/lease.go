// Package leasedb has the SQL of leases: of the processes that have some, and of the
// leases of processes that stopped.
package leasedb

import (
	"context"
	"strings"

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

// leased are the tables whose rows are leased by tokens in leased_by, each with how a row whose
// lease was released becomes due at the time ?1. That of backup_schedule is due unless leased.
var leased = []struct{ table, due string }{
	{"job", ", leased_until = ?1"},
	{"webhook_delivery", ", due_at = iif(state = 'sending', ?1, due_at)"},
	{"gateway_subscription", ", leased_until = ?1"},
	{"gateway_connection", ", sweep_at = ?1"},
	{"gateway_coupon", ", due_at = ?1"},
	{"gateway_payment", ", due_at = ?1"},
	{"gateway_promotion", ", due_at = ?1"},
	{"backup_schedule", ""},
}

// Tokens returns the tokens of all leases, each once.
func Tokens(ctx context.Context, r store.Reads) ([]string, error) {
	all := make([]string, len(leased))
	for i, l := range leased {
		all[i] = `SELECT leased_by FROM ` + l.table + ` WHERE leased_by IS NOT NULL`
	}
	return store.List[string](ctx, r, "leases", strings.Join(all, ` UNION `)+` ORDER BY 1 LIMIT ?`, maxRows)
}

// Release ends the leases with the tokens: their work is due now. It returns how many rows were
// leased.
func Release(ctx context.Context, tx *store.Tx, tokens []string) (released int, err error) {
	if len(tokens) == 0 {
		return 0, nil
	}
	list := store.TextList(tokens)
	for _, l := range leased {
		n, err := tx.Count(ctx, "release leases", `UPDATE `+l.table+` SET leased_by = NULL`+l.due+`
			WHERE leased_by IN (SELECT value FROM json_each(?2))`, int64(tx.Now), list)
		if err != nil {
			return released, err
		}
		released += n
	}
	return released, nil
}
