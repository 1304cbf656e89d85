package orderdb

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"

	"kith/backend/store"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/state"
)

// orderRow is an order as stored: with its refunds as JSON.
type orderRow struct {
	state.Order
	revenue sql.NullInt64
	refunds string
}

var orderColumns = store.Selection[orderRow]{
	store.Col(`o.referral_id`, func(o *orderRow) any { return &o.Referral }),
	store.Col(`o.order_key`, func(o *orderRow) any { return &o.Order.Order.Key }),
	store.Col(`o.program`, func(o *orderRow) any { return &o.Program }),
	store.Col(`o.referrer_account_id`, func(o *orderRow) any { return &o.Referrer.Account }),
	store.Col(`o.referrer_user_id`, func(o *orderRow) any { return &o.Referrer.User }),
	store.Col(`coalesce(o.event_id, '')`, func(o *orderRow) any { return &o.Event }),
	store.Col(`o.placed_at`, func(o *orderRow) any { return &o.At }),
	store.Col(`o.revenue`, func(o *orderRow) any { return &o.revenue }),
	store.Col(`o.currency`, func(o *orderRow) any { return &o.Currency }),
	store.Col(`o.fault`, func(o *orderRow) any { return &o.Fault }),
	store.Col(`o.refused`, func(o *orderRow) any { return &o.Refused }),
	store.Col(`o.detail`, func(o *orderRow) any { return &o.Detail }),
	store.Col(`o.refunds`, func(o *orderRow) any { return &o.refunds }),
	store.Col(`o.reason`, func(o *orderRow) any { return &o.Reason }),
	store.Col(`o.number`, func(o *orderRow) any { return &o.Number }),
	store.Col(`o.conversion`, func(o *orderRow) any { return &o.Conversion }),
	store.Col(`o.referrer_reason`, func(o *orderRow) any { return &o.Sides[conversion.Referrer].Reason }),
	store.Col(`o.referred_reason`, func(o *orderRow) any { return &o.Sides[conversion.Referred].Reason }),
	store.Col(`coalesce(o.referrer_reward_id, '')`, func(o *orderRow) any { return &o.Sides[conversion.Referrer].Reward }),
	store.Col(`coalesce(o.referred_reward_id, '')`, func(o *orderRow) any { return &o.Sides[conversion.Referred].Reward }),
}

func (o *orderRow) order() (state.Order, error) {
	o.Revenue, o.HasRevenue = o.revenue.Int64, o.revenue.Valid
	err := json.Unmarshal([]byte(o.refunds), &o.Refunds)
	return o.Order, err
}

// SelectOrders is the beginning of a statement on orders o that ScanOrder reads.
var SelectOrders = `SELECT ` + orderColumns.SQL()

// ScanOrder reads a row of SelectOrders.
func ScanOrder(rows *sql.Rows, o *state.Order) (err error) {
	var row orderRow
	if err = orderColumns.Scan(rows, &row); err == nil {
		*o, err = row.order()
	}
	return err
}

// before is the condition that an order n is before the beginning of the sequence.
const before = `(n.placed_at, n.referral_id, n.order_key) < (?5, ?6, ?7)`

// step selects the orders o of one step of a replay, except its columns.
const step = ` FROM referral_order o
	WHERE o.tenant = ?1 AND o.program = ?2 AND o.referrer_account_id = ?3 AND o.referrer_user_id = ?4 AND o.event_id IS NOT NULL
		AND (o.placed_at, o.referral_id, o.order_key) >= (?5, ?6, ?7)
		AND (?8 = 0 OR (o.placed_at, o.referral_id, o.order_key) <= (?8, ?9, ?10)) AND (?11 = '' OR o.referral_id = ?11)
	ORDER BY o.placed_at, o.referral_id, o.order_key LIMIT ?12 + 0`

// SelectStep selects the orders of a referrer in a program from a position on, which
// ScanOrder reads. Its parameters are those of Args, then the last position, the referral
// or an empty text for all, and the limit.
var SelectStep = SelectOrders + step

// Progress is how far a referral had come before a sequence. First is the event that
// placed its first order.
type Progress struct {
	Referral, First          string
	Since, Converted, Number int64
	// Earned and Denied are by conversion.Side.
	Earned [2]int64
	Denied [2]bool
}

// earlier selects the orders n of the referral r that count before the beginning of the
// sequence, except the columns and the order. Orders that earn are counted up to ?13, the
// most of which a plan gives rewards.
const earlier = ` FROM referral_order n WHERE n.tenant = r.tenant AND n.referral_id = r.id AND n.event_id IS NOT NULL AND n.number > 0
	AND n.placed_at <= ?5 AND ` + before

// paid is whether the referral r converted by PAID and gave one of these sources a reward; ?14
// is 1 if a plan of the program converts by PAID.
func paid(sources string) string {
	return `(?14 = 1 AND EXISTS (SELECT 1 FROM reward w WHERE w.tenant = r.tenant AND w.referral_id = r.id AND w.source IN (` + sources + `) AND w.order_key = ''))`
}

// ProgressColumns are the columns of SelectProgress.
var ProgressColumns = store.Selection[Progress]{
	store.Col(`r.id`, func(p *Progress) any { return &p.Referral }),
	store.Col(`coalesce(r.attributed_at, r.started_at)`, func(p *Progress) any { return &p.Since }),
	store.Col(`(SELECT n.event_id FROM referral_order n WHERE n.tenant = r.tenant AND n.referral_id = r.id AND n.event_id IS NOT NULL
		ORDER BY n.placed_at, n.order_key LIMIT 1)`, func(p *Progress) any { return &p.First }),
	store.Col(`coalesce((SELECT n.number`+earlier+` ORDER BY n.placed_at DESC, n.order_key DESC LIMIT 1), `+paid(`'FRIEND_SIGNUP', 'REFERRED'`)+`)`, func(p *Progress) any { return &p.Number }),
	store.Col(`CASE WHEN `+paid(`'FRIEND_SIGNUP', 'REFERRED'`)+` THEN r.converted_at
		ELSE coalesce((SELECT n.placed_at`+earlier+` ORDER BY n.placed_at, n.order_key LIMIT 1), 0) END`, func(p *Progress) any { return &p.Converted }),
	store.Col(`(SELECT count(*) FROM (SELECT 1`+earlier+` AND n.referrer_reason = '' AND n.returned = 0 LIMIT ?13 + 0)) + `+paid(`'FRIEND_SIGNUP'`), func(p *Progress) any { return &p.Earned[conversion.Referrer] }),
	store.Col(`(SELECT count(*) FROM (SELECT 1`+earlier+` AND n.referred_reason = '' AND n.returned = 0 LIMIT ?13 + 0)) + `+paid(`'REFERRED'`), func(p *Progress) any { return &p.Earned[conversion.Referred] }),
	store.Col(`r.referrer_moderation = 'DENIED'`, func(p *Progress) any { return &p.Denied[conversion.Referrer] }),
	store.Col(`r.referred_moderation = 'DENIED'`, func(p *Progress) any { return &p.Denied[conversion.Referred] }),
}

// SelectProgress selects how far the referrals of SelectStep had come before it. It has
// the same parameters, the most orders of a referral that earn, and whether a plan converts
// by PAID.
var SelectProgress = `SELECT ` + ProgressColumns.SQL() + ` FROM (SELECT DISTINCT referral_id FROM (SELECT o.referral_id` + step + `)) given
	CROSS JOIN referral r ON r.tenant = ?1 AND r.id = given.referral_id`

// Counts are the numbers of conversions and rewards of a referrer before a sequence, and the
// time of the last conversion.
type Counts struct{ Conversions, LastConversion, Rewards int64 }

// lastConversion selects the last conversion by an order before the sequence, except the
// columns.
const lastConversion = ` FROM referral_order n WHERE n.tenant = ?1 AND n.program = ?2 AND n.referrer_account_id = ?3 AND n.referrer_user_id = ?4
	AND n.number = 1 AND ` + before + ` ORDER BY n.placed_at DESC, n.referral_id DESC, n.order_key DESC LIMIT 1`

// CountColumns are the columns of SelectCounts. The last conversion before the sequence
// has the number of conversions; rewards have no number.
var CountColumns = store.Selection[Counts]{
	store.Col(`coalesce((SELECT n.conversion`+lastConversion+`), 0)`, func(c *Counts) any { return &c.Conversions }),
	store.Col(`coalesce((SELECT n.placed_at`+lastConversion+`), 0)`, func(c *Counts) any { return &c.LastConversion }),
	store.Col(`(SELECT count(*) FROM (SELECT 1 FROM referral_order n WHERE n.tenant = ?1 AND n.program = ?2 AND n.referrer_account_id = ?3 AND n.referrer_user_id = ?4
		AND n.referrer_gives = 1 AND `+before+` LIMIT ?8 + 0))`, func(c *Counts) any { return &c.Rewards }),
}

// SelectCounts selects what a referrer had before a sequence. Its parameters are those of
// Args, and the most rewards to count.
var SelectCounts = `SELECT ` + CountColumns.SQL()

// SelectRecent selects the times of a referrer's last rewards before a sequence, latest
// first. Its parameters are those of Args, and the limit.
var SelectRecent = `SELECT n.placed_at FROM referral_order n WHERE n.tenant = ?1 AND n.program = ?2 AND n.referrer_account_id = ?3 AND n.referrer_user_id = ?4
		AND n.referrer_gives = 1 AND ` + before + `
	ORDER BY n.placed_at DESC, n.referral_id DESC, n.order_key DESC LIMIT ?8 + 0`

// PaidColumns are the columns of SelectPaid.
var PaidColumns = store.Selection[conversion.PaidConversion]{
	store.Col(`at`, func(p *conversion.PaidConversion) any { return &p.At }),
	store.Col(`gives`, func(p *conversion.PaidConversion) any { return &p.Gives }),
}

// SelectPaid selects the last conversions by PAID of a referrer in a program, without those
// of denied referrals, the earliest first. Its parameters are the first four of Args, the
// time before which the referrals began, and the limit.
var SelectPaid = `SELECT ` + PaidColumns.SQL() + ` FROM (
	SELECT r.converted_at AS at, EXISTS (SELECT 1 FROM reward w WHERE w.tenant = r.tenant AND w.referral_id = r.id AND w.source = 'FRIEND_SIGNUP'
			AND w.order_key = '' AND w.cancelled_at IS NULL) AS gives
		FROM referral r INDEXED BY referral_referrer WHERE r.tenant = ?1 AND r.program = ?2 AND r.referrer_account_id = ?3 AND r.referrer_user_id = ?4
			AND r.started_at < ?5 AND r.state = 'converted' AND r.referrer_moderation <> 'DENIED' AND EXISTS (SELECT 1 FROM reward w WHERE w.tenant = r.tenant AND w.referral_id = r.id
				AND w.source IN ('FRIEND_SIGNUP', 'REFERRED') AND w.order_key = '')
		ORDER BY r.started_at DESC LIMIT ?6 + 0)
	ORDER BY at`

// Args returns the first parameters of the statements of a sequence.
func Args(tenant core.TenantAlias, p state.Replay) []any {
	return []any{string(tenant), string(p.Program), string(p.Referrer.Account), string(p.Referrer.User), int64(p.From.At), p.From.Referral, p.From.Order}
}

// Put stores orders. AppendRow adds its rows.
var Put = &store.Put{
	Table: "referral_order",
	Columns: store.Columns(`referral_id, order_key, program, referrer_account_id, referrer_user_id, event_id, placed_at, revenue, currency, fault, refused,
		detail, refunds, reason, number, conversion, referrer_reason, referred_reason, referrer_gives, returned, referrer_reward_id, referred_reward_id`),
	At: store.Columns("updated_at"),
	Conflict: `ON CONFLICT (tenant, referral_id, order_key) DO UPDATE SET event_id = excluded.event_id, placed_at = excluded.placed_at,
		revenue = excluded.revenue, currency = excluded.currency, fault = excluded.fault, refused = excluded.refused, detail = excluded.detail, refunds = excluded.refunds,
		reason = excluded.reason, number = excluded.number, conversion = excluded.conversion, referrer_reason = excluded.referrer_reason,
		referred_reason = excluded.referred_reason, referrer_gives = excluded.referrer_gives, returned = excluded.returned, referrer_reward_id = excluded.referrer_reward_id,
		referred_reward_id = excluded.referred_reward_id, updated_at = excluded.updated_at WHERE tenant = ?1`,
}

// AppendRow adds an order to the rows of Put.
func AppendRow(t *store.Tuples, o state.Order) {
	t.Row()
	t.Text(o.Referral, o.Order.Key, string(o.Program), string(o.Referrer.Account), string(o.Referrer.User))
	t.TextOrNull(o.Event)
	t.Integer(int64(o.At))
	t.IntegerOrNull(o.Revenue, o.HasRevenue)
	refunds, _ := json.Marshal(append([]conversion.Refund{}, o.Refunds...)) // texts and numbers: never fails
	t.Text(o.Currency, string(o.Fault), string(o.Refused), o.Detail, string(refunds), string(o.Reason))
	t.Integer(o.Number)
	t.Integer(o.Conversion)
	t.Text(string(o.Sides[conversion.Referrer].Reason), string(o.Sides[conversion.Referred].Reason))
	returned := o.Order.Returned()
	t.Boolean(o.Gives() && !returned)
	t.Boolean(returned)
	t.TextOrNull(o.Sides[conversion.Referrer].Reward)
	t.TextOrNull(o.Sides[conversion.Referred].Reward)
}

// total is the number of orders of a referral.
type total struct {
	referral string
	n        int
}

// totalColumns are the columns of the total of the referral given, of the tenant ?1.
var totalColumns = store.Selection[total]{
	store.Col(`given.value`, func(t *total) any { return &t.referral }),
	store.Col(`(SELECT count(*) FROM referral_order o WHERE o.tenant = ?1 AND o.referral_id = given.value)`, func(t *total) any { return &t.n }),
}

// Lists returns, for each of several referrals, a page of its orders, latest first. It
// counts after it has read the pages, so that a total includes the orders of its page.
func Lists(ctx context.Context, r store.Reads, tenant core.TenantAlias, referrals []string, limit, offset int) (map[string]store.PageOf[state.Order], error) {
	given, _ := json.Marshal(referrals) // texts: never fails
	rows, err := r.QueryContext(ctx, SelectOrders+` FROM json_each(?) given CROSS JOIN referral_order o ON o.tenant = ? AND o.referral_id = given.value
			AND o.order_key IN (SELECT n.order_key FROM referral_order n WHERE n.tenant = ? AND n.referral_id = given.value
				ORDER BY n.placed_at DESC, n.order_key DESC LIMIT ? OFFSET ?)
		ORDER BY o.placed_at DESC, o.order_key DESC`, string(given), string(tenant), string(tenant), limit, offset)
	found, err := store.Collect(rows, err, "orders", ScanOrder)
	if err != nil {
		return nil, err
	}
	rows, err = r.QueryContext(ctx, `SELECT `+totalColumns.SQL()+` FROM json_each(?2) given`, string(tenant), string(given))
	totals, err := totalColumns.All(rows, err, "totals of orders")
	pages := make(map[string]store.PageOf[state.Order], len(totals))
	for _, t := range totals {
		pages[t.referral] = store.PageOf[state.Order]{Total: t.n}
	}
	for _, o := range found {
		page := pages[o.Referral]
		page.Page = append(page.Page, o)
		pages[o.Referral] = page
	}
	return pages, err
}

// replayRow is a waiting replay of a tenant.
type replayRow struct {
	tenant core.TenantAlias
	state.Replay
}

var replayColumns = store.Selection[replayRow]{
	store.Col(`tenant`, func(p *replayRow) any { return &p.tenant }),
	store.Col(`program`, func(p *replayRow) any { return &p.Program }),
	store.Col(`account_id`, func(p *replayRow) any { return &p.Referrer.Account }),
	store.Col(`user_id`, func(p *replayRow) any { return &p.Referrer.User }),
	store.Col(`placed_at`, func(p *replayRow) any { return &p.From.At }),
	store.Col(`referral_id`, func(p *replayRow) any { return &p.From.Referral }),
	store.Col(`order_key`, func(p *replayRow) any { return &p.From.Order }),
	store.Col(`moderated`, func(p *replayRow) any { return &p.Moderated }),
}

// TakeReplays removes up to limit waiting replays of the tenant whose replay has waited
// longest, and returns them.
func TakeReplays(ctx context.Context, tx *store.Tx, limit int) (tenant core.TenantAlias, all []state.Replay, err error) {
	rows, err := tx.QueryContext(ctx, `DELETE FROM order_replay WHERE rowid IN (SELECT rowid FROM order_replay
		WHERE +tenant = (SELECT tenant FROM order_replay WHERE `+store.TenantExists("order_replay")+` ORDER BY rowid LIMIT 1) ORDER BY rowid LIMIT ?) RETURNING `+replayColumns.SQL(), limit)
	found, err := replayColumns.All(rows, err, "take replays")
	for _, row := range found {
		tenant = row.tenant
		all = append(all, row.Replay)
	}
	return tenant, all, err
}

// PutReplay stores a replay to the end for later. If one of the same referrer,
// program and referral waits, the earlier beginning counts.
func PutReplay(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p state.Replay) error {
	return tx.Exec(ctx, "put replay", `INSERT INTO order_replay (tenant, program, account_id, user_id, placed_at, referral_id, order_key, moderated)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT (tenant, account_id, user_id, program, moderated) DO UPDATE SET
			(placed_at, referral_id, order_key) = (SELECT a, b, c FROM (SELECT placed_at AS a, referral_id AS b, order_key AS c
				UNION ALL SELECT excluded.placed_at, excluded.referral_id, excluded.order_key) ORDER BY a, b, c LIMIT 1)`,
		append(Args(tenant, p), p.Moderated)...)
}

// trialColumns are what a referral and its referrer have so far: the referral ?2 of the
// account ?3 in the program ?4 of the referrer ?5 and ?6, with the event key ?7.
var trialColumns = store.Selection[conversion.Trial]{
	store.Col(`(SELECT count(*) FROM referral_order WHERE tenant = ?1 AND referral_id = ?2 AND number > 0)`, func(t *conversion.Trial) any { return &t.Orders }),
	store.Col(`(SELECT coalesce(min(placed_at), 0) FROM referral_order WHERE tenant = ?1 AND referral_id = ?2 AND event_id IS NOT NULL AND number > 0)`, func(t *conversion.Trial) any { return &t.Converted }),
	store.Col(`(SELECT count(*) FROM referral_order WHERE tenant = ?1 AND referral_id = ?2 AND number > 0 AND referrer_reason = '' AND returned = 0)`, func(t *conversion.Trial) any { return &t.Earned[conversion.Referrer] }),
	store.Col(`(SELECT count(*) FROM referral_order WHERE tenant = ?1 AND referral_id = ?2 AND number > 0 AND referred_reason = '' AND returned = 0)`, func(t *conversion.Trial) any { return &t.Earned[conversion.Referred] }),
	store.Col(`(SELECT coalesce(max(conversion), 0) FROM referral_order WHERE tenant = ?1 AND program = ?4 AND referrer_account_id = ?5 AND referrer_user_id = ?6 AND number = 1)`, func(t *conversion.Trial) any { return &t.Conversions }),
	store.Col(`(SELECT count(*) FROM referral_order WHERE tenant = ?1 AND program = ?4 AND referrer_account_id = ?5 AND referrer_user_id = ?6 AND referrer_gives = 1)`, func(t *conversion.Trial) any { return &t.Rewards }),
	store.Col(`EXISTS (SELECT 1 FROM event WHERE tenant = ?1 AND account_id = ?3 AND key = ?7 AND trusted = 1)`, func(t *conversion.Trial) any { return &t.Earlier }),
}

// TrialOf returns what a referral and its referrer have so far; key is the event that
// converts.
func TrialOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, ref referral.Referral, key string) (t conversion.Trial, err error) {
	_, err = trialColumns.One(r.QueryRowContext(ctx, `SELECT `+trialColumns.SQL(), string(tenant), ref.ID, string(ref.Referred.Account),
		string(ref.Program), string(ref.Referrer.Account), string(ref.Referrer.User), key), "trial", &t)
	t.Since = cmp.Or(ref.Attributed, ref.Started)
	return t, err
}
