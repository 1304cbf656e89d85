package webhookdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"kith/backend/store"
	"kith/backend/store/leasedb"
	"kith/core"
	"kith/core/auth"
	"kith/core/webhook"
)

// AnyDue reports whether any delivery is due.
func AnyDue(ctx context.Context, r store.Reads, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, "webhooks due", `SELECT EXISTS (SELECT 1 FROM webhook_delivery d WHERE due_at <= ? AND `+store.TenantExists("d")+`)`, int64(now))
}

// DueQueues returns the queues whose first delivery is due, earliest due first: up to
// most healthy and up to most failing ones. It reads only the head of each queue, so
// that a long queue does not slow it down.
func DueQueues(ctx context.Context, r store.Reads, now core.Time, most int) ([]webhook.Due, error) {
	rows, err := r.QueryContext(ctx, dueQueues, int64(now), most)
	return queueColumns.All(rows, err, "due queues")
}

var queueColumns = store.Selection[webhook.Due]{
	store.Col(`tenant`, func(d *webhook.Due) any { return &d.Tenant }),
	store.Col(`url`, func(d *webhook.Due) any { return &d.Endpoint }),
	store.Col(`failing`, func(d *webhook.Due) any { return &d.Failing }),
}

// dueQueues goes from the head of each queue to the head of the next, first within
// the tenant, then to the next tenant. These are two subqueries because for one
// comparison of two columns SQLite would read the whole queue. CROSS prevents SQLite
// from starting at the due deliveries, which may be all of a long queue.
var dueQueues = `
	WITH RECURSIVE head (id) AS (
		SELECT (SELECT rowid FROM webhook_delivery INDEXED BY webhook_delivery_line
			WHERE due_at IS NOT NULL ORDER BY tenant, url, due_at LIMIT 1)
		UNION ALL
		SELECT coalesce(
			(SELECT n.rowid FROM webhook_delivery n INDEXED BY webhook_delivery_line
				WHERE n.due_at IS NOT NULL AND n.tenant = d.tenant AND n.url > d.url ORDER BY n.url, n.due_at LIMIT 1),
			(SELECT n.rowid FROM webhook_delivery n INDEXED BY webhook_delivery_line
				WHERE n.due_at IS NOT NULL AND n.tenant > d.tenant ORDER BY n.tenant, n.url, n.due_at LIMIT 1))
		FROM head CROSS JOIN webhook_delivery d ON d.rowid = head.id)
	SELECT ` + queueColumns.SQL() + ` FROM (
		SELECT d.tenant, d.url, d.due_at, s.failing_since IS NOT NULL AS failing,
			row_number() OVER (PARTITION BY s.failing_since IS NOT NULL ORDER BY d.due_at) AS place
		FROM head CROSS JOIN webhook_delivery d ON d.rowid = head.id
		CROSS JOIN webhook_subscription s ON s.tenant = d.tenant AND s.url = d.url
		WHERE d.due_at <= ? AND ` + store.TenantExists("d") + `)
	WHERE place <= ? ORDER BY due_at`

// Leased is an attempt that was begun, with all that it needs. Secrets are sealed.
type Leased struct {
	webhook.DeliveryKey
	// Number is the number of the attempt; Tries is the number of attempts since the
	// event, or since the delivery was replayed.
	Number, Tries int
	// Content is what the delivery sends.
	Content Event
	// Secret signs the delivery. Old is the secret before, which signs too until
	// OldUntil; it is empty if the secret was not rotated.
	Secret, Old string
	OldUntil    core.Time
	// Keys are the tenant's API keys.
	Keys auth.APIKeys
}

// leasedRow is a Leased as stored: with its keys as text.
type leasedRow struct {
	Leased
	keys string
}

var leasedColumns = store.Selection[leasedRow]{
	store.Col(`d.tenant`, func(l *leasedRow) any { return &l.Tenant }),
	store.Col(`d.url`, func(l *leasedRow) any { return &l.Endpoint }),
	store.Col(`d.event_id`, func(l *leasedRow) any { return &l.Event }),
	store.Col(`d.attempt`, func(l *leasedRow) any { return &l.Number }),
	store.Col(`d.tries`, func(l *leasedRow) any { return &l.Tries }),
	store.Col(`e.type`, func(l *leasedRow) any { return &l.Content.Type }),
	store.Col(`e.data`, func(l *leasedRow) any { return &l.Content.Data }),
	store.Col(`e.created_at`, func(l *leasedRow) any { return &l.Content.Created }),
	store.Col(`e.sequence`, func(l *leasedRow) any { return &l.Content.Sequence }),
	store.Col(`s.secret`, func(l *leasedRow) any { return &l.Secret }),
	store.Col(`coalesce(s.old_secret, '')`, func(l *leasedRow) any { return &l.Old }),
	store.Col(`coalesce(s.old_until, 0)`, func(l *leasedRow) any { return &l.OldUntil }),
	store.Col(`coalesce((`+auth.Keys+`), '')`, func(l *leasedRow) any { return &l.keys }),
}

// LeaseDeliveries begins the next attempt of up to most due deliveries of a queue,
// earliest due first. Once the leases are released, another worker may begin the next
// attempt.
func LeaseDeliveries(ctx context.Context, tx *store.Tx, queue webhook.Queue, most int, token string) ([]Leased, error) {
	rows, err := tx.QueryContext(ctx, `UPDATE webhook_delivery
		SET state = 'sending', attempt = attempt + 1, tries = tries + 1, due_at = ?, leased_by = ?
		WHERE +tenant = ? AND rowid IN (SELECT rowid FROM webhook_delivery INDEXED BY webhook_delivery_line
			WHERE tenant = ? AND url = ? AND due_at <= ? ORDER BY due_at, rowid LIMIT ?)
		RETURNING rowid`, int64(leasedb.Never), token, string(queue.Tenant), string(queue.Tenant), string(queue.Endpoint), int64(tx.Now), most)
	ids, err := store.Collect(rows, err, "lease webhooks", func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// RETURNING has no order; the rowids are in the order of the events.
	slices.Sort(ids)
	args := []any{string(queue.Tenant)}
	for _, id := range ids {
		args = append(args, id)
	}
	rows, err = tx.QueryContext(ctx, `SELECT `+leasedColumns.SQL()+`
		FROM webhook_delivery d
		JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id
		JOIN webhook_subscription s ON s.tenant = d.tenant AND s.url = d.url
		JOIN tenant t ON t.alias = d.tenant
		WHERE +d.tenant = ?1 AND d.rowid IN (`+store.Placeholders(len(ids))+`) ORDER BY d.rowid`, args...)
	return store.Collect(rows, err, "leased webhooks", func(rows *sql.Rows, l *Leased) error {
		var row leasedRow
		err := leasedColumns.Scan(rows, &row)
		*l = row.Leased
		l.Keys = auth.ParseKeys(row.keys)
		return err
	})
}

// Recorded says whether EndAttempts has recorded the result of an attempt.
type Recorded uint8

const (
	// Gone means that nothing was recorded because the delivery was deleted while it
	// was sent, with its subscription or its tenant.
	Gone Recorded = iota
	// Late means that nothing was recorded because another attempt has begun since.
	Late
	// Counted means that the result was recorded.
	Counted
)

// Ended is the result of an attempt and the next state of its delivery.
type Ended struct {
	webhook.DeliveryKey
	webhook.Attempt
	webhook.Next
}

// EndAttempts records results of attempts, in the order in which the attempts ended, and returns
// for each whether it did.
func EndAttempts(ctx context.Context, tx *store.Tx, all []Ended) ([]Recorded, error) {
	if len(all) == 0 {
		return nil, nil
	}
	recorded, list := make([]Recorded, len(all)), endedRows(all, tx.Now)
	if err := tx.Exec(ctx, "webhook attempts", insertAttempts, list); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, endDeliveries, list)
	counted, err := endedColumns.All(rows, err, "end webhook attempts")
	if err != nil {
		return nil, err
	}
	// Those that were begun again are known too.
	known := counted
	if len(counted) < len(all) {
		rows, err := tx.QueryContext(ctx, knownDeliveries, list)
		if known, err = endedColumns.All(rows, err, "known webhooks"); err != nil {
			return nil, err
		}
	}
	ended := make(map[webhook.DeliveryKey]int, len(counted))
	for _, c := range counted {
		ended[c.DeliveryKey] = c.Tried
	}
	exists := make(map[webhook.DeliveryKey]bool, len(known))
	for _, k := range known {
		exists[k.DeliveryKey] = true
	}
	for i, e := range all {
		if exists[e.DeliveryKey] {
			recorded[i] = Late
		}
		if ended[e.DeliveryKey] == e.Number {
			recorded[i] = Counted
		}
	}
	return recorded, noteHealth(ctx, tx, all, recorded)
}

// endedRows returns the rows of the parameter of insertAttempts and the statements after it.
func endedRows(all []Ended, now core.Time) string {
	var rows store.Tuples
	for _, e := range all {
		due, ended := now+e.Delay, core.Time(0)
		if e.State != webhook.Waiting {
			due, ended = 0, now
		}
		rows.Row()
		rows.Text(string(e.Tenant), string(e.Endpoint), e.Event)
		rows.Integer(int64(e.Number))
		rows.Text(string(e.State))
		rows.Time(due, ended)
		for _, n := range []int64{int64(e.Started), int64(e.Duration), int64(e.Status)} {
			rows.Integer(n)
		}
		rows.Text(e.Error, e.Answer)
	}
	return rows.String()
}

// endedDelivery joins the results that are given, as ended, with their deliveries d. running
// leaves out a delivery of which another attempt was begun since.
const (
	endedDelivery = ` CROSS JOIN webhook_delivery d ON d.tenant = ended.value ->> 0 AND d.url = ended.value ->> 1 AND d.event_id = ended.value ->> 2`
	running       = ` AND d.attempt = ended.value ->> 3 AND d.state = 'sending'`
)

var insertAttempts = `INSERT INTO webhook_attempt (tenant, url, event_id, number, started_at, duration, status, error, answer)
	SELECT d.tenant, d.url, d.event_id, d.attempt, ended.value ->> 7, ended.value ->> 8, ended.value ->> 9, ended.value ->> 10, iif(e.erased, '', ended.value ->> 11)
	FROM ` + store.Elements(`?1`) + ` ended` + endedDelivery + running + `
	CROSS JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id`

var endDeliveries = `WITH given AS MATERIALIZED (SELECT d.rowid AS id, ended.value ->> 4 AS state, ended.value ->> 5 AS due, ended.value ->> 6 AS ended
		FROM ` + store.Elements(`?1`) + ` ended` + endedDelivery + running + `)
	UPDATE webhook_delivery SET state = given.state, due_at = given.due, ended_at = given.ended, leased_by = NULL
	FROM given WHERE webhook_delivery.rowid = given.id RETURNING ` + endedColumns.SQL()

var knownDeliveries = `SELECT d.tenant, d.url, d.event_id, d.attempt FROM ` + store.Elements(`?1`) + ` ended` + endedDelivery

var endedColumns = store.Selection[webhook.Delivery]{
	store.Col(`tenant`, func(d *webhook.Delivery) any { return &d.Tenant }),
	store.Col(`url`, func(d *webhook.Delivery) any { return &d.Endpoint }),
	store.Col(`event_id`, func(d *webhook.Delivery) any { return &d.Event }),
	store.Col(`attempt`, func(d *webhook.Delivery) any { return &d.Tried }),
}

// Begun identifies an attempt that was begun.
type Begun struct {
	webhook.DeliveryKey
	Number int
}

// PutBack makes deliveries due again whose attempts were begun and not made: at the time at which
// their event happened, before later ones. If an endpoint was disabled meanwhile, they have failed.
func PutBack(ctx context.Context, tx *store.Tx, all []Begun) error {
	if len(all) == 0 {
		return nil
	}
	list, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "put back webhooks", putBack, string(list), int64(tx.Now))
}

var putBack = `WITH given AS MATERIALIZED (
		SELECT d.rowid AS id, e.created_at AS due, s.disabled_at IS NOT NULL AS disabled
		FROM ` + store.Elements(`?1`) + ` begun
		CROSS JOIN webhook_delivery d ON d.tenant = begun.value ->> 'Tenant' AND d.url = begun.value ->> 'Endpoint'
			AND d.event_id = begun.value ->> 'Event' AND d.attempt = begun.value ->> 'Number' AND d.state = 'sending'
		JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id
		JOIN webhook_subscription s ON s.tenant = d.tenant AND s.url = d.url)
	UPDATE webhook_delivery SET attempt = attempt - 1, tries = tries - 1, leased_by = NULL,
		state = iif(disabled, 'failed', 'waiting'), due_at = iif(disabled, NULL, due), ended_at = iif(disabled, ?2, NULL)
	FROM given WHERE webhook_delivery.rowid = given.id`

// noteHealth records which endpoints work, by those results that were recorded. If a result says
// so, it disables the endpoint, and its waiting deliveries fail.
func noteHealth(ctx context.Context, tx *store.Tx, all []Ended, recorded []Recorded) error {
	type health struct{ worked, fails, disable bool }
	of, order := map[webhook.Queue]health{}, []webhook.Queue(nil)
	for i, e := range all {
		if recorded[i] != Counted {
			continue
		}
		queue := webhook.Queue{Tenant: e.Tenant, Endpoint: e.Endpoint}
		h, known := of[queue]
		if !known {
			order = append(order, queue)
		}
		delivered := e.State == webhook.Delivered
		of[queue] = health{worked: h.worked || delivered, fails: !delivered, disable: h.disable || e.Disable}
	}
	for _, queue := range order {
		h, at := of[queue], []any{string(queue.Tenant), string(queue.Endpoint)}
		var err error
		if h.worked {
			err = tx.Exec(ctx, "webhook endpoint works", `UPDATE webhook_subscription SET failing_since = NULL
				WHERE tenant = ? AND url = ? AND failing_since IS NOT NULL`, at...)
		}
		if err == nil && h.fails {
			err = tx.Exec(ctx, "webhook endpoint fails", `UPDATE webhook_subscription SET failing_since = ?3
				WHERE tenant = ?1 AND url = ?2 AND failing_since IS NULL`, append(at, int64(tx.Now))...)
		}
		if err == nil && h.disable {
			err = disable(ctx, tx, append(at, int64(tx.Now)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// disable disables an endpoint, and its waiting deliveries fail.
func disable(ctx context.Context, tx *store.Tx, at []any) error {
	err := tx.Exec(ctx, "disable webhook endpoint", `UPDATE webhook_subscription SET disabled_at = ?3
		WHERE tenant = ?1 AND url = ?2 AND disabled_at IS NULL`, at...)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "fail webhook deliveries", `UPDATE webhook_delivery SET state = 'failed', due_at = NULL, ended_at = ?3
		WHERE tenant = ?1 AND url = ?2 AND state = 'waiting' AND due_at IS NOT NULL`, at...)
}

var deliveryColumns = store.Selection[webhook.Delivery]{
	store.Col(`d.tenant`, func(d *webhook.Delivery) any { return &d.Tenant }),
	store.Col(`d.url`, func(d *webhook.Delivery) any { return &d.Endpoint }),
	store.Col(`d.event_id`, func(d *webhook.Delivery) any { return &d.Event }),
	store.Col(`e.type`, func(d *webhook.Delivery) any { return &d.Type }),
	store.Col(`d.state`, func(d *webhook.Delivery) any { return &d.State }),
	store.Col(`coalesce(d.due_at, 0)`, func(d *webhook.Delivery) any { return &d.Due }),
	store.Col(`d.created_at`, func(d *webhook.Delivery) any { return &d.Created }),
	store.Col(`coalesce(d.ended_at, 0)`, func(d *webhook.Delivery) any { return &d.Ended }),
	store.Col(`d.attempt - (d.state = 'sending')`, func(d *webhook.Delivery) any { return &d.Tried }),
}

// Deliveries returns a page of the deliveries to an endpoint, newest first, with their
// latest attempts, and the total number. A state that is not empty narrows them.
func Deliveries(ctx context.Context, r store.Reads, queue webhook.Queue, state webhook.State, limit, offset int) ([]webhook.Delivery, int, error) {
	at := []any{string(queue.Tenant), string(queue.Endpoint), string(state)}
	const where = ` WHERE d.tenant = ?1 AND d.url = ?2 AND (?3 = '' OR d.state = ?3) `
	rows, err := r.QueryContext(ctx, `SELECT `+deliveryColumns.SQL()+`
		FROM webhook_delivery d JOIN webhook_event e ON e.tenant = d.tenant AND e.id = d.event_id`+where+`
		ORDER BY d.event_id DESC LIMIT ?4 OFFSET ?5`, append(at, limit, offset)...)
	page, err := deliveryColumns.All(rows, err, "webhook deliveries")
	if err == nil && len(page) > 0 {
		err = attachAttempts(ctx, r, queue, page)
	}
	return store.Counted(ctx, r, page, err, "count webhook deliveries", `SELECT count(*) FROM webhook_delivery d`+where, at...)
}

// attempted is an attempt and the id of its event.
type attempted struct {
	event string
	webhook.Attempt
}

var attemptColumns = store.Selection[attempted]{
	store.Col(`event_id`, func(a *attempted) any { return &a.event }),
	store.Col(`number`, func(a *attempted) any { return &a.Number }),
	store.Col(`started_at`, func(a *attempted) any { return &a.Started }),
	store.Col(`duration`, func(a *attempted) any { return &a.Duration }),
	store.Col(`status`, func(a *attempted) any { return &a.Status }),
	store.Col(`error`, func(a *attempted) any { return &a.Error }),
	store.Col(`answer`, func(a *attempted) any { return &a.Answer }),
}

// attachAttempts sets the attempts of deliveries to an endpoint, the latest
// webhook.MaxAttemptsShown of each. An attempt that has ended since the delivery was read is
// left out: it would contradict the state of the delivery.
func attachAttempts(ctx context.Context, r store.Reads, queue webhook.Queue, page []webhook.Delivery) error {
	args, byID := []any{string(queue.Tenant), string(queue.Endpoint)}, map[string]*webhook.Delivery{}
	for i := range page {
		args = append(args, page[i].Event)
		byID[page[i].Event] = &page[i]
	}
	rows, err := r.QueryContext(ctx, `SELECT `+attemptColumns.SQL()+` FROM (
			SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY number DESC) AS place FROM webhook_attempt
			WHERE tenant = ? AND url = ? AND event_id IN (`+store.Placeholders(len(page))+`))
		WHERE place <= ? ORDER BY number`, append(args, webhook.MaxAttemptsShown)...)
	attempts, err := attemptColumns.All(rows, err, "webhook attempts")
	for _, a := range attempts {
		if d := byID[a.event]; a.Number <= d.Tried {
			d.Attempts = append(d.Attempts, a.Attempt)
		}
	}
	return err
}

// replay makes deliveries wait again, except those that are being sent.
const replay = `UPDATE webhook_delivery SET state = 'waiting', tries = 0, due_at = ?4, ended_at = NULL
	WHERE tenant = ?1 AND url = ?2 AND state <> 'sending'`

// Replay makes a delivery due now, with new tries. It returns false if the delivery
// does not exist or is being sent.
func Replay(ctx context.Context, tx *store.Tx, p webhook.DeliveryKey) (bool, error) {
	return tx.Changed(ctx, "replay webhook", replay+` AND event_id = ?3`,
		string(p.Tenant), string(p.Endpoint), p.Event, int64(tx.Now))
}

// ReplayFailed makes those deliveries to an endpoint due now that failed, or wait after an attempt
// that failed, and whose events happened at or after since. It returns how many.
func ReplayFailed(ctx context.Context, tx *store.Tx, queue webhook.Queue, since core.Time) (int, error) {
	// Ids begin with the time of the event, so the primary key finds them.
	return tx.Count(ctx, "replay webhooks", replay+` AND event_id >= ?3 AND (state = 'failed' OR state = 'waiting' AND tries > 0)`,
		string(queue.Tenant), string(queue.Endpoint), core.NewID(since, [6]byte{}), int64(tx.Now))
}

// Event is an event as stored.
type Event struct {
	Type webhook.Type
	// Data is its JSON, Created when it happened.
	Data    string
	Created core.Time
	// Sequence is its number among those of its tenant.
	Sequence int64
	// Erased is true if a user whom the event named was deleted.
	Erased bool
}

// Blank reports whether no data is left: the user was deleted after all deliveries of the
// event.
func (e Event) Blank() bool { return e.Erased && e.Data == "{}" }

var eventColumns = store.Selection[Event]{
	store.Col(`type`, func(e *Event) any { return &e.Type }),
	store.Col(`data`, func(e *Event) any { return &e.Data }),
	store.Col(`created_at`, func(e *Event) any { return &e.Created }),
	store.Col(`sequence`, func(e *Event) any { return &e.Sequence }),
	store.Col(`erased`, func(e *Event) any { return &e.Erased }),
}

// FindEvent returns an event; ok is false if it does not exist.
func FindEvent(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string) (e Event, ok bool, err error) {
	ok, err = eventColumns.One(r.QueryRowContext(ctx, `SELECT `+eventColumns.SQL()+` FROM webhook_event WHERE tenant = ? AND id = ?`, string(tenant), id), "webhook event", &e)
	return e, ok, err
}

// DeliveryExists reports whether a delivery exists.
func DeliveryExists(ctx context.Context, r store.Reads, p webhook.DeliveryKey) (bool, error) {
	return store.One[bool](ctx, r, "webhook known", `SELECT EXISTS (SELECT 1 FROM webhook_delivery WHERE tenant = ? AND url = ? AND event_id = ?)`,
		string(p.Tenant), string(p.Endpoint), p.Event)
}

// DeleteOld deletes up to limit deliveries that ended before a time, and up to limit
// older events without deliveries. It returns how many rows it deleted: 0 means that
// none are left.
func DeleteOld(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	deliveries, err := tx.Count(ctx, "forget webhook deliveries", `DELETE FROM webhook_delivery WHERE rowid IN (
		SELECT rowid FROM webhook_delivery WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`, int64(before), limit)
	if err != nil {
		return 0, err
	}
	events, err := tx.Count(ctx, "forget webhook events", `DELETE FROM webhook_event WHERE seq IN (
		SELECT e.seq FROM webhook_event e WHERE e.created_at < ?
			AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.tenant = e.tenant AND d.event_id = e.id)
		ORDER BY e.created_at LIMIT ?)`, int64(before), limit)
	return deliveries + events, err
}

// About returns the last deliveries, up to limit, of events about a referral and its
// rewards, the latest first, each with its latest attempt. The subject of an event is the
// id in its data.
func About(ctx context.Context, r store.Reads, tenant core.TenantAlias, subjects []string, limit int) ([]webhook.Delivery, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+aboutColumns.SQL()+`
		FROM json_each(?2) given CROSS JOIN webhook_event e INDEXED BY webhook_event_subject ON e.tenant = ?1 AND e.data ->> '$.id' = given.value
		CROSS JOIN webhook_delivery d ON d.tenant = e.tenant AND d.event_id = e.id
		LEFT JOIN webhook_attempt t ON t.tenant = d.tenant AND t.url = d.url AND t.event_id = d.event_id AND t.number = d.attempt
		ORDER BY e.seq DESC, d.url LIMIT ?3`, string(tenant), store.TextList(subjects), limit)
	found, err := aboutColumns.All(rows, err, "webhook deliveries about a referral")
	all := make([]webhook.Delivery, len(found))
	for i, f := range found {
		all[i] = f.Delivery
		if f.Number > 0 {
			all[i].Attempts = []webhook.Attempt{f.Attempt}
		}
	}
	return all, err
}

// delivered is a delivery with its latest attempt; its number is 0 if there is none.
type delivered struct {
	webhook.Delivery
	webhook.Attempt
}

var aboutColumns = store.Selection[delivered]{
	store.Col(`coalesce(t.number, 0)`, func(d *delivered) any { return &d.Number }),
	store.Col(`coalesce(t.started_at, 0)`, func(d *delivered) any { return &d.Started }),
	store.Col(`coalesce(t.status, 0)`, func(d *delivered) any { return &d.Status }),
	store.Col(`coalesce(t.error, '')`, func(d *delivered) any { return &d.Error }),
}.With(store.Nested(deliveryColumns, func(d *delivered) *webhook.Delivery { return &d.Delivery }))
