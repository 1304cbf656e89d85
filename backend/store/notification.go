package store

import (
	"context"
	"fmt"

	"kith/core"
)

// Notification is what a gateway has sent and nobody has read yet.
type Notification struct {
	// Seq is its place in the order of arrival.
	Seq    int64
	Tenant core.TenantAlias
	// Payload is the text of bt_payload as it came.
	Payload string
}

// InsertNotification stores a payload as it came; false means that the tenant
// has it already. hash is its SHA-256 in hex.
func (tx *Tx) InsertNotification(ctx context.Context, tenant core.TenantAlias, hash, payload string) (bool, error) {
	return tx.inserted(ctx, "gateway notification", `INSERT INTO gateway_notification (tenant, hash, payload, kind, problem, received_at)
		VALUES (?, ?, ?, '', '', ?) ON CONFLICT (tenant, hash) DO NOTHING`, string(tenant), hash, payload, int64(tx.Now))
}

var notificationColumns = selection[Notification]{
	{`seq`, func(n *Notification) any { return &n.Seq }},
	{`tenant`, func(n *Notification) any { return &n.Tenant }},
	{`payload`, func(n *Notification) any { return &n.Payload }},
}

// Notifications returns notifications that nobody has read, up to most, the
// first that arrived first.
func (r Reads) Notifications(ctx context.Context, most int) ([]Notification, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+notificationColumns.list()+` FROM gateway_notification INDEXED BY gateway_notification_waiting
		WHERE read_at IS NULL AND `+tenantIs("gateway_notification")+` ORDER BY seq LIMIT ?`, most)
	return notificationColumns.all(rows, err, "gateway notifications")
}

// ReadNotification records that a notification was read, or why it could not be;
// false means that another has recorded it.
func (tx *Tx) ReadNotification(ctx context.Context, tenant core.TenantAlias, seq int64, kind, problem string) (bool, error) {
	return tx.changed(ctx, "read gateway notification", `UPDATE gateway_notification SET kind = ?, problem = ?, read_at = ?
		WHERE +tenant = ? AND seq = ? AND read_at IS NULL`, kind, problem, int64(tx.Now), string(tenant), seq)
}

// NoteCheck records that the gateway has sent a check.
func (tx *Tx) NoteCheck(ctx context.Context, tenant core.TenantAlias) error {
	return tx.exec(ctx, "note gateway check", `UPDATE gateway_connection SET checked_at = ? WHERE tenant = ?`, int64(tx.Now), string(tenant))
}

// NotificationCount is how many notifications of a tenant are kept.
func (r Reads) NotificationCount(ctx context.Context, tenant core.TenantAlias) (n int, err error) {
	if err = r.QueryRowContext(ctx, `SELECT count(*) FROM gateway_notification WHERE tenant = ?`, string(tenant)).Scan(&n); err != nil {
		return 0, fmt.Errorf("store: count gateway notifications: %w", err)
	}
	return n, nil
}
