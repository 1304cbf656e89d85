// Package orderdb has the SQL of the orders of referred accounts.
package orderdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/rules"
)

// PutEvents queues the events of processed calls that may place or take back an order:
// those of trusted senders whose key a program of the tenant names or has named, or that may
// be a refund of a first payment, if the
// account is referred or the event may refer it. Other events change nothing now; if their
// account is referred later, they are in its history. calls is the SQL condition of the
// calls i, with the first of its parameters args. changed returns the number of events.
func PutEvents(ctx context.Context, tx *store.Tx, calls string, args ...any) (changed func() (int, error), err error) {
	return tx.Later(ctx, "queue order events", `INSERT INTO order_event (tenant, event_id)
		SELECT i.tenant, e.value ->> 'id' FROM intake i, json_each(i.events) e
		WHERE `+calls+` AND i.trusted = 1 AND `+store.TenantExists("i")+` AND `+mayRefer+` AND e.type = 'object' AND e.value ->> 'id' IS NOT NULL
			AND (`+named(`i.tenant`, `e.value ->> 'key'`)+` OR e.value ->> 'key' = '`+conversion.DefaultReversal+`' AND `+moneyBack+`)
		ORDER BY i.seq, e.key`, args...)
}

// mayRefer is the SQL condition that the account of a call i is referred, or that an event
// of the call may have the field referral_code, referralCode, attribution or
// affiliate_attribution. A backslash may be a part of an escaped name.
const mayRefer = `(EXISTS (SELECT 1 FROM referral r WHERE r.tenant = i.tenant AND r.referred_account_id = i.account_id)
	OR instr(i.events, 'referral') > 0 OR instr(i.events, 'attribution') > 0 OR instr(i.events, '\') > 0)`

// named returns the condition that a program of a tenant names an event key.
func named(tenant, key string) string {
	return `EXISTS (SELECT 1 FROM program_version v WHERE v.tenant = ` + tenant + ` AND v.event <> '' AND ` + key + ` IN (v.event, v.reversal))`
}

// moneyBack is the SQL condition that a refund of the first payment of a call's account may
// take rewards back.
const moneyBack = `EXISTS (SELECT 1 FROM program p WHERE p.tenant = i.tenant AND p.money_back > 0)`

// PutHistory queues an event of each account that is newly referred, if its programs name one
// of its events: the first of them applies the whole history. Of a tenant whose programs name
// none, no event is read. began has the accounts.
func PutHistory(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, began *store.Tuples) error {
	return tx.Exec(ctx, "queue history", `INSERT INTO order_event (tenant, event_id)
		SELECT ?1, last.id FROM (SELECT (SELECT e.id FROM event e WHERE e.tenant = ?1 AND e.account_id = b.value ->> 0 AND e.trusted = 1
				AND `+named(`?1`, `e.key`)+` LIMIT 1) AS id
			FROM json_each(?2) b WHERE EXISTS (SELECT 1 FROM program_version v WHERE v.tenant = ?1 AND v.event <> '')) last WHERE last.id IS NOT NULL`,
		string(tenant), began.String())
}

// Pending is a queued event of a tenant.
type Pending struct {
	Tenant core.TenantAlias
	rules.OrderEvent
}

// pendingRow is a queued event; its id is empty if it was erased.
type pendingRow struct {
	seq int64
	Pending
}

var pendingColumns = store.Selection[pendingRow]{
	store.Col(`q.seq`, func(p *pendingRow) any { return &p.seq }),
	store.Col(`q.tenant`, func(p *pendingRow) any { return &p.Tenant }),
	store.Col(`coalesce(e.id, '')`, func(p *pendingRow) any { return &p.ID }),
	store.Col(`coalesce(e.account_id, '')`, func(p *pendingRow) any { return &p.Account }),
	store.Col(`coalesce(e.user_id, '')`, func(p *pendingRow) any { return &p.User }),
	store.Col(`coalesce(e.key, '')`, func(p *pendingRow) any { return &p.Key }),
	store.Col(`coalesce(e.fields, '')`, func(p *pendingRow) any { return &p.Fields }),
	store.Col(`coalesce(e.triggered_at, 0)`, func(p *pendingRow) any { return &p.Triggered }),
}

// maxTaken limits the events of one transaction, in bytes; see eventdb.ProcessIntake.
const maxTaken = 1 << 20

// TakeEvents removes up to limit events from the queue, oldest first, and returns those
// that still exist. taken is the number of removed ones.
func TakeEvents(ctx context.Context, tx *store.Tx, limit int) (events []Pending, taken int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+pendingColumns.SQL()+`
		FROM (SELECT seq, tenant, event_id FROM order_event WHERE `+store.TenantExists("order_event")+` ORDER BY seq LIMIT ?) q
		LEFT JOIN event e ON e.tenant = q.tenant AND e.id = q.event_id ORDER BY q.seq`, limit)
	found, err := pendingColumns.All(rows, err, "order events")
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	size := 0
	for i, p := range found {
		if size += len(p.Fields); size > maxTaken && i > 0 {
			break
		}
		if taken++; p.ID != "" {
			events = append(events, p.Pending)
		}
	}
	return events, taken, tx.Exec(ctx, "take order events", `DELETE FROM order_event WHERE seq <= ? AND `+store.TenantExists("order_event"), found[taken-1].seq)
}

// Waiting reports whether any event or replay waits.
func Waiting(ctx context.Context, r store.Reads) (bool, error) {
	return store.One[bool](ctx, r, "orders wait", `SELECT EXISTS (SELECT 1 FROM order_event WHERE `+store.TenantExists("order_event")+`)
		OR EXISTS (SELECT 1 FROM order_replay WHERE `+store.TenantExists("order_replay")+`)`)
}

// HistoryColumns are the columns of an event of a history.
var HistoryColumns = store.Selection[event.Event]{
	store.Col(`e.id`, func(e *event.Event) any { return &e.ID }),
	store.Col(`e.key`, func(e *event.Event) any { return &e.Key }),
	store.Col(`e.fields`, func(e *event.Event) any { return &e.Fields }),
	store.Col(`e.triggered_at`, func(e *event.Event) any { return &e.Triggered }),
}

// SelectHistory selects the first events of an account that its programs name. Its
// parameters are the tenant, the account and the limit.
var SelectHistory = `SELECT ` + HistoryColumns.SQL() + ` FROM event e WHERE e.tenant = ?1 AND e.account_id = ?2 AND e.trusted = 1
	AND ` + named(`e.tenant`, `e.key`) + ` ORDER BY e.received_at, e.id LIMIT ?3 + 0`
