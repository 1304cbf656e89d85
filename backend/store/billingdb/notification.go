package billingdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/billing"
)

// Notification is a notification of a gateway that was not processed yet.
type Notification struct {
	// Seq is its number in the order of arrival.
	Seq    int64
	Tenant core.TenantAlias
	// Gateway is the kind of the gateway that sent it, and Payload what it sent.
	Gateway billing.Kind
	Payload string
}

// InsertNotification stores a payload as received; hash is the SHA-256 in hex of what
// identifies it: of its id at the gateway, or of the payload. It
// returns false if the tenant has the payload already.
func InsertNotification(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, kind billing.Kind, hash, payload string) (bool, error) {
	return tx.Inserted(ctx, "gateway notification", `INSERT INTO gateway_notification (tenant, gateway, hash, payload, kind, problem, received_at)
		VALUES (?, ?, ?, ?, '', '', ?) ON CONFLICT (tenant, hash) DO NOTHING`, string(tenant), string(kind), hash, payload, int64(tx.Now))
}

var notificationColumns = store.Selection[Notification]{
	store.Col(`seq`, func(n *Notification) any { return &n.Seq }),
	store.Col(`tenant`, func(n *Notification) any { return &n.Tenant }),
	store.Col(`gateway`, func(n *Notification) any { return &n.Gateway }),
	store.Col(`payload`, func(n *Notification) any { return &n.Payload }),
}

// Notifications returns up to most unprocessed notifications of all tenants, in the
// order of arrival.
func Notifications(ctx context.Context, r store.Reads, most int) ([]Notification, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+notificationColumns.SQL()+` FROM gateway_notification INDEXED BY gateway_notification_waiting
		WHERE read_at IS NULL AND `+store.TenantExists("gateway_notification")+` ORDER BY seq LIMIT ?`, most)
	return notificationColumns.All(rows, err, "gateway notifications")
}

// MarkNotificationRead records that a notification was processed: its kind, or the
// problem if it is unreadable. It returns false if another worker has recorded it.
func MarkNotificationRead(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, seq int64, kind, problem string) (bool, error) {
	return tx.Changed(ctx, "read gateway notification", `UPDATE gateway_notification SET kind = ?, problem = ?, read_at = ?
		WHERE +tenant = ? AND seq = ? AND read_at IS NULL`, kind, problem, int64(tx.Now), string(tenant), seq)
}

// RecordCheck records that the gateway has sent a check notification.
func RecordCheck(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	return tx.Exec(ctx, "note gateway check", `UPDATE gateway_connection SET checked_at = ? WHERE tenant = ?`, int64(tx.Now), string(tenant))
}

// RecordDelivery records that a notification has arrived since ForgetCheck.
func RecordDelivery(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	return tx.Exec(ctx, "note gateway delivery", `UPDATE gateway_connection SET checked_at = ? WHERE tenant = ? AND checked_at IS NULL`, int64(tx.Now), string(tenant))
}

// ForgetCheck records that a check notification is being waited for.
func ForgetCheck(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	return tx.Exec(ctx, "forget gateway check", `UPDATE gateway_connection SET checked_at = NULL WHERE tenant = ?`, string(tenant))
}

var receivedColumns = store.Selection[billing.Received]{
	store.Col(`seq`, func(n *billing.Received) any { return &n.Seq }),
	store.Col(`kind`, func(n *billing.Received) any { return &n.Kind }),
	store.Col(`problem`, func(n *billing.Received) any { return &n.Problem }),
	store.Col(`received_at`, func(n *billing.Received) any { return &n.At }),
	store.Col(`coalesce(read_at, 0)`, func(n *billing.Received) any { return &n.Read }),
	store.Col(`payload <> ''`, func(n *billing.Received) any { return &n.Kept }),
}

// NotificationLog returns up to limit notifications of a tenant, newest first, that
// arrived before the one with the number before; with problem, only those that could not
// be read.
func NotificationLog(ctx context.Context, r store.Reads, tenant core.TenantAlias, problem bool, before int64, limit int) ([]billing.Received, error) {
	rows, err := r.QueryContext(ctx, notificationLog(problem), string(tenant), before, limit)
	return receivedColumns.All(rows, err, "gateway notifications")
}

func notificationLog(problem bool) string {
	where := ``
	if problem {
		where = ` AND problem <> ''`
	}
	return `SELECT ` + receivedColumns.SQL() + ` FROM gateway_notification WHERE tenant = ?1 AND seq < ?2` + where + ` ORDER BY seq DESC LIMIT ?3`
}

// FindReceived returns a notification of a tenant; ok is false if it is unknown.
func FindReceived(ctx context.Context, r store.Reads, tenant core.TenantAlias, seq int64) (n billing.Received, ok bool, err error) {
	ok, err = receivedColumns.One(r.QueryRowContext(ctx, `SELECT `+receivedColumns.SQL()+` FROM gateway_notification WHERE +tenant = ? AND seq = ?`, string(tenant), seq),
		"gateway notification", &n)
	return n, ok, err
}

// ReplayNotification makes a notification wait again, if its payload is stored.
func ReplayNotification(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, seq int64) error {
	return tx.Exec(ctx, "replay gateway notification", `UPDATE gateway_notification SET kind = '', problem = '', read_at = NULL
		WHERE +tenant = ? AND seq = ? AND payload <> ''`, string(tenant), seq)
}
