package store

import (
	"context"
	"fmt"

	"kith/core"
)

// begun calls Observe, and returns the function to call at the end.
func (p *Primary) begun(ctx context.Context, wait, text string) func(error) {
	if p.Observe != nil {
		if end := p.Observe(ctx, wait, text); end != nil {
			return end
		}
	}
	return notObserved
}

func notObserved(error) {}

// flush is Durable, observed.
func (p *Primary) flush(ctx context.Context) error {
	end := p.begun(ctx, "wait for the disk", "")
	err := p.Durable()
	end(err)
	return err
}

// Backlog returns how many items wait for each worker, by the name of the queue:
// intake, webhook, job, gateway_notification and gateway_refund.
func (r Reads) Backlog(ctx context.Context) (map[string]float64, error) {
	var intake, deliveries, jobs, notifications, refunds float64
	err := r.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM intake WHERE seq > (SELECT seq FROM intake_cursor)),
		(SELECT count(*) FROM webhook_delivery WHERE due_at IS NOT NULL),
		(SELECT count(*) FROM job WHERE status = 'PENDING'),
		(SELECT count(*) FROM gateway_notification WHERE read_at IS NULL),
		(SELECT count(*) FROM gateway_refund WHERE state = 'waiting')`).Scan(&intake, &deliveries, &jobs, &notifications, &refunds)
	if err != nil {
		return nil, fmt.Errorf("store: backlog: %w", err)
	}
	return map[string]float64{"intake": intake, "webhook": deliveries, "job": jobs, "gateway_notification": notifications, "gateway_refund": refunds}, nil
}

// Heartbeat stores the time of the transaction as the latest heartbeat, unless
// another backend has stored one at or after since. Replicas receive it: its age
// there is their lag.
func (tx *Tx) Heartbeat(ctx context.Context, since core.Time) error {
	return tx.Exec(ctx, "beat", `UPDATE heartbeat SET beat_at = ? WHERE beat_at < ?`, int64(tx.Now), int64(since))
}
