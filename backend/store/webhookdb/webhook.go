// Package webhookdb has the SQL of webhooks: subscriptions, events, deliveries and
// keys.
//
// The deliveries to one endpoint are a queue: they are attempted in the order in which
// they are due.
package webhookdb

import (
	"context"
	"encoding/json"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/webhook"
)

// Wants is the SQL condition that a subscription s is enabled and gets events of a type;
// what is the SQL of the type.
func Wants(s, what string) string {
	return s + `.disabled_at IS NULL AND (` + s + `.types = '[]' OR EXISTS (SELECT 1 FROM json_each(` + s + `.types) wanted WHERE wanted.value = ` + what + `))`
}

// Emit stores an event, and a delivery to each enabled endpoint of the tenant that gets
// events of its type. They are sent after the transaction has committed. If the tenant
// has no such endpoint, or the transaction is silent, Emit stores nothing.
func Emit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, id string, t webhook.Type, data []byte) error {
	if tx.Silent {
		return nil
	}
	added, err := tx.Inserted(ctx, "webhook event", `INSERT INTO webhook_event (tenant, id, type, data, created_at)
		SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM webhook_subscription s WHERE s.tenant = ?1 AND `+Wants("s", "?3")+`)`,
		string(tenant), id, string(t), string(data), int64(tx.Now))
	if err != nil || !added {
		return err
	}
	return tx.Exec(ctx, "webhook deliveries", `INSERT INTO webhook_delivery (`+DeliveryColumns+`)
		SELECT ?1, s.url, ?2, 'waiting', 0, 0, ?3, ?3 FROM webhook_subscription s WHERE s.tenant = ?1 AND `+Wants("s", "?4"),
		string(tenant), id, int64(tx.Now), string(t))
}

// DeliveryColumns are the columns of a new delivery.
const DeliveryColumns = `tenant, url, event_id, state, attempt, tries, due_at, created_at`

// EmitTo stores an event and its delivery to one endpoint, which must be subscribed.
func EmitTo(ctx context.Context, tx *store.Tx, p webhook.DeliveryKey, t webhook.Type, data []byte) error {
	err := tx.Exec(ctx, "webhook event", `INSERT INTO webhook_event (tenant, id, type, data, created_at) VALUES (?, ?, ?, ?, ?)`,
		string(p.Tenant), p.Event, string(t), string(data), int64(tx.Now))
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "webhook delivery", `INSERT INTO webhook_delivery (`+DeliveryColumns+`) VALUES (?1, ?2, ?3, 'waiting', 0, 0, ?4, ?4)`,
		string(p.Tenant), string(p.Endpoint), p.Event, int64(tx.Now))
}

// subscriptionRow is a subscription as stored: with its types as JSON.
type subscriptionRow struct {
	webhook.Subscription
	types string
}

// subscription returns the stored subscription.
func (r subscriptionRow) subscription() (webhook.Subscription, error) {
	if r.types == "[]" {
		return r.Subscription, nil
	}
	if err := json.Unmarshal([]byte(r.types), &r.Types); err != nil {
		return r.Subscription, fmt.Errorf("store: types of a webhook subscription: %w", err)
	}
	return r.Subscription, nil
}

var subscriptionColumns = store.Selection[subscriptionRow]{
	store.Col(`url`, func(s *subscriptionRow) any { return &s.Endpoint }),
	store.Col(`name`, func(s *subscriptionRow) any { return &s.Name }),
	store.Col(`types`, func(s *subscriptionRow) any { return &s.types }),
	store.Col(`created_at`, func(s *subscriptionRow) any { return &s.Created }),
	store.Col(`coalesce(failing_since, 0)`, func(s *subscriptionRow) any { return &s.FailingSince }),
	store.Col(`EXISTS (SELECT 1 FROM webhook_attempt a WHERE a.tenant = webhook_subscription.tenant AND a.url = webhook_subscription.url)`, func(s *subscriptionRow) any { return &s.Tried }),
	store.Col(`coalesce(disabled_at, 0)`, func(s *subscriptionRow) any { return &s.Disabled }),
}

// Subscriptions returns a tenant's subscriptions, oldest first.
func Subscriptions(ctx context.Context, r store.Reads, tenant core.TenantAlias) (all []webhook.Subscription, err error) {
	rows, err := r.QueryContext(ctx, subscriptions(), string(tenant))
	stored, err := subscriptionColumns.All(rows, err, "webhook subscriptions")
	for _, row := range stored {
		s, err := row.subscription()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, err
}

func subscriptions() string {
	return `SELECT ` + subscriptionColumns.SQL() + ` FROM webhook_subscription WHERE tenant = ? ORDER BY created_at, url`
}

// Subscription returns the subscription of an endpoint; ok is false if it has none.
func Subscription(ctx context.Context, r store.Reads, queue webhook.Queue) (s webhook.Subscription, ok bool, err error) {
	var row subscriptionRow
	ok, err = subscriptionColumns.One(r.QueryRowContext(ctx, `SELECT `+subscriptionColumns.SQL()+` FROM webhook_subscription
		WHERE tenant = ? AND url = ?`, string(queue.Tenant), string(queue.Endpoint)), "webhook subscription", &row)
	if err != nil || !ok {
		return s, false, err
	}
	s, err = row.subscription()
	return s, true, err
}

// InsertSubscription adds a subscription with its sealed secret. It returns false if
// the endpoint has one already.
func InsertSubscription(ctx context.Context, tx *store.Tx, queue webhook.Queue, name string, types []webhook.Type, secret string) (bool, error) {
	return tx.Inserted(ctx, "webhook subscription", `INSERT INTO webhook_subscription (tenant, url, name, types, secret, created_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, url) DO NOTHING`,
		string(queue.Tenant), string(queue.Endpoint), name, typeList(types), secret, int64(tx.Now))
}

// typeList returns types as a JSON array.
func typeList(types []webhook.Type) string {
	texts := make([]string, len(types))
	for i, t := range types {
		texts[i] = string(t)
	}
	return store.TextList(texts)
}

// EnableSubscription enables a disabled endpoint, renames its subscription unless name is
// empty, and changes its types unless they are nil.
func EnableSubscription(ctx context.Context, tx *store.Tx, queue webhook.Queue, name string, types []webhook.Type) error {
	return tx.Exec(ctx, "renew webhook subscription", `UPDATE webhook_subscription
		SET name = CASE ?1 WHEN '' THEN name ELSE ?1 END, types = CASE ?4 WHEN 1 THEN ?5 ELSE types END, disabled_at = NULL WHERE tenant = ?2 AND url = ?3`,
		name, string(queue.Tenant), string(queue.Endpoint), store.BoolInt(types != nil), typeList(types))
}

// DeleteSubscription deletes a subscription with its deliveries. It returns false if
// the endpoint has none.
func DeleteSubscription(ctx context.Context, tx *store.Tx, queue webhook.Queue) (bool, error) {
	return tx.Changed(ctx, "delete webhook subscription", `DELETE FROM webhook_subscription WHERE tenant = ? AND url = ?`,
		string(queue.Tenant), string(queue.Endpoint))
}

// RotateSecret sets a new sealed secret of a subscription. The previous secret signs too
// until the given time; an older one no longer does. It returns false if the endpoint
// has no subscription.
func RotateSecret(ctx context.Context, tx *store.Tx, queue webhook.Queue, secret string, until core.Time) (bool, error) {
	return tx.Changed(ctx, "rotate webhook secret", `UPDATE webhook_subscription
		SET old_secret = secret, old_until = ?, secret = ? WHERE tenant = ? AND url = ?`,
		int64(until), secret, string(queue.Tenant), string(queue.Endpoint))
}

// Key is a stored key pair of the service.
type Key struct {
	webhook.PublicKey
	// Sealed is the sealed private key.
	Sealed string
}

var publicKeyColumns = store.Selection[webhook.PublicKey]{
	store.Col(`id`, func(k *webhook.PublicKey) any { return &k.ID }),
	store.Col(`modulus`, func(k *webhook.PublicKey) any { return &k.Modulus }),
}

var keyColumns = store.Selection[Key]{
	store.Col(`sealed`, func(k *Key) any { return &k.Sealed }),
}.With(store.Nested(publicKeyColumns, func(k *Key) *webhook.PublicKey { return &k.PublicKey }))

// SigningKey returns the key that signs; ok is false if no key signs yet.
func SigningKey(ctx context.Context, r store.Reads) (k Key, ok bool, err error) {
	ok, err = keyColumns.One(r.QueryRowContext(ctx, `SELECT `+keyColumns.SQL()+` FROM webhook_key WHERE retired_at IS NULL`),
		"webhook key", &k)
	return k, ok, err
}

// Keys returns the public keys to publish: the one that signs, then those that were
// retired after since, latest first; at most webhook.MaxKeys.
func Keys(ctx context.Context, r store.Reads, since core.Time) ([]webhook.PublicKey, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+publicKeyColumns.SQL()+` FROM webhook_key
		WHERE retired_at IS NULL OR retired_at > ? ORDER BY retired_at IS NOT NULL, retired_at DESC, id DESC LIMIT ?`,
		int64(since), webhook.MaxKeys)
	return publicKeyColumns.All(rows, err, "webhook keys")
}

// InsertKey adds the key that signs from now on. It returns false if another key signs.
func InsertKey(ctx context.Context, tx *store.Tx, k Key) (bool, error) {
	return tx.Inserted(ctx, "webhook key", `INSERT INTO webhook_key (id, modulus, sealed, created_at)
		SELECT ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM webhook_key WHERE retired_at IS NULL)`,
		k.ID, k.Modulus, k.Sealed, int64(tx.Now))
}

// RetireKey retires the key that signs.
func RetireKey(ctx context.Context, tx *store.Tx) error {
	return tx.Exec(ctx, "retire webhook key", `UPDATE webhook_key SET retired_at = ? WHERE retired_at IS NULL`, int64(tx.Now))
}

// AllowAddress allows to send a tenant's events to addresses with a prefix, such as
// 127.0.0.1/32.
func AllowAddress(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, prefix string) error {
	return tx.Exec(ctx, "allow webhook address", `INSERT INTO webhook_allowed (tenant, prefix) VALUES (?, ?)
		ON CONFLICT DO NOTHING`, string(tenant), prefix)
}

// ForbidAddress reverts AllowAddress. It returns false if the prefix was not allowed.
func ForbidAddress(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, prefix string) (bool, error) {
	return tx.Changed(ctx, "forbid webhook address", `DELETE FROM webhook_allowed WHERE tenant = ? AND prefix = ?`,
		string(tenant), prefix)
}

// Addresses returns the prefixes of addresses that a tenant's events may be sent to,
// besides public addresses.
func Addresses(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]string, error) {
	return store.List[string](ctx, r, "webhook addresses", `SELECT prefix FROM webhook_allowed WHERE tenant = ? ORDER BY prefix`, string(tenant))
}
