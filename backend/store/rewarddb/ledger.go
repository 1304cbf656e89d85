package rewarddb

import (
	"context"
	"database/sql"
	"encoding/json"

	"kith/backend/store"
	"kith/core"
	"kith/core/reward"
)

// AppendLedger adds entries to the ledger and stores the state of the rewards after
// them. Nothing else writes the ledger or the columns of a reward that are sums of it.
func AppendLedger(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, after []reward.Reward, entries []reward.Entry) error {
	var rows store.Tuples
	rows.Grow(PutEntries, len(entries))
	for _, e := range entries {
		rows.Row()
		rows.Text(e.ID, e.Reward, string(e.Action))
		rows.Integer(e.Amount)
		rows.Text(e.Unit)
		rows.TextOrNull(string(e.Key))
		rows.Time(e.At)
	}
	rows.Fold()
	if err := tx.Put(ctx, PutEntries, tenant, &rows); err != nil {
		return err
	}
	if len(after) == 0 {
		return nil
	}
	var states store.Tuples
	states.Grow(PutStates, len(after))
	var exchanged []any
	for _, r := range after {
		if r.Exchanged {
			exchanged = append(exchanged, [...]any{r.ID, string(r.Offer.Kind), r.Offer.Unit, r.Offer.Name, r.Offer.Description, r.Offer.Settings})
		}
		states.Row()
		states.Text(r.ID)
		states.Time(r.Given, r.Expires, r.Cancelled, r.Scheduled, r.Blocked)
		for _, is := range []bool{r.Pending, r.Held, r.Denied, r.Unsettled} {
			states.Boolean(is)
		}
		for _, n := range []int64{r.Sums.Redeemed, r.Sums.Expired, r.Sums.Cancelled, r.Offer.Value(), r.Sums.Reversed, r.Sums.Settled, r.Refunded} {
			states.Integer(n)
		}
		states.Text(r.Offer.Currency)
	}
	if len(exchanged) > 0 {
		if err := execList(ctx, tx, "exchange rewards", exchangeRewards, tenant, exchanged); err != nil {
			return err
		}
	}
	states.Fold()
	return tx.Put(ctx, PutStates, tenant, &states)
}

// PutStates stores the state of rewards.
var PutStates = &store.Put{
	Table: "reward", Key: "id", Columns: store.Columns(`id, given_at, expires_at, cancelled_at, scheduled_at, blocked_since, pending, held, denied, unsettled,
		redeemed, expired, cancelled, value, reversed, settled, refunded, currency`),
}

// exchangeRewards stores what else becomes of rewards whose offer was replaced.
var exchangeRewards = `WITH given AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS kind, value ->> 2 AS unit, value ->> 3 AS name,
			value ->> 4 AS description, value ->> 5 AS settings
		FROM ` + store.Elements(`?2`) + `)
	UPDATE reward SET kind = given.kind, unit = given.unit, name = given.name, description = given.description, settings = nullif(given.settings, '')
	FROM given WHERE reward.tenant = ?1 AND reward.id = given.id`

// PutEntries adds entries to the ledger, in their order.
var PutEntries = &store.Put{Table: "reward_ledger", Columns: store.Columns(`id, reward_id, action, amount, unit, idempotency_key, at`)}

// execList runs a statement with two arguments: the tenant, and the list as JSON.
func execList(ctx context.Context, tx *store.Tx, what, statement string, tenant core.TenantAlias, list any) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, what, statement, string(tenant), string(text))
}

// attachRedemptions sets the latest redemptions of rewards.
func attachRedemptions(ctx context.Context, r store.Reads, tenant core.TenantAlias, rewards []reward.Reward) error {
	at, args := map[string]int{}, []any{reward.MaxRedemptions, string(tenant)}
	for i, w := range rewards {
		if w.Sums.Redeemed > 0 {
			at[w.ID] = i
			args = append(args, w.ID)
		}
	}
	if len(at) == 0 {
		return nil
	}
	rows, err := r.QueryContext(ctx, lastRedemptions+`(`+store.Placeholders(len(at))+`) ORDER BY l.seq DESC`, args...)
	found, err := redemptionColumns.All(rows, err, "redemptions")
	for _, one := range found {
		w := &rewards[at[one.reward]]
		w.Redemptions = append(w.Redemptions, one.Redeemed)
	}
	return err
}

// redemption is a redemption and the id of its reward.
type redemption struct {
	reward string
	reward.Redeemed
}

var redemptionColumns = store.Selection[redemption]{
	store.Col(`l.reward_id`, func(r *redemption) any { return &r.reward }),
	store.Col(`l.id`, func(r *redemption) any { return &r.ID }),
	store.Col(`-l.amount`, func(r *redemption) any { return &r.Amount }),
	store.Col(`l.at`, func(r *redemption) any { return &r.At }),
}

// lastRedemptions reads the last redemptions of each reward. Their order is that of the index
// reward_ledger_of, which has the number of an entry in this expression.
var lastRedemptions = `SELECT ` + redemptionColumns.SQL() + ` FROM reward r
	CROSS JOIN reward_ledger l ON +l.tenant = r.tenant AND l.seq IN (SELECT seq FROM reward_ledger
		WHERE tenant = r.tenant AND reward_id = r.id AND action = 'redeem' ORDER BY CASE action WHEN 'grant' THEN 0 ELSE seq END DESC LIMIT ?)
	WHERE r.tenant = ? AND r.id IN `

// DrawnOtherwise reports whether what was redeemed with the key of a draw since a time is not
// what the draw asks for: it was another amount, or of another owner, reward, unit or currency.
func DrawnOtherwise(ctx context.Context, r store.Reads, tenant core.TenantAlias, d reward.Draw, since core.Time) (bool, error) {
	return store.One[bool](ctx, r, "draw of a key", `SELECT coalesce(-sum(l.amount) <> ?4 OR max(l.unit <> ?5)
			OR max(?6 NOT IN ('', r.id) OR ?7 NOT IN ('', r.account_id) OR ?8 NOT IN ('', r.user_id) OR ?9 <> '' AND r.currency NOT IN ('', ?9)), 0)
		FROM reward_ledger l CROSS JOIN reward r ON r.tenant = l.tenant AND r.id = l.reward_id
		WHERE l.tenant = ?1 AND l.idempotency_key = ?2 AND l.at >= ?3`,
		string(tenant), string(d.Key), int64(since), d.Amount, d.Unit, d.Reward, string(d.Account), string(d.User), d.Currency)
}

// drawn is a credit that a draw may use, the sum of all of them, and the first and the
// last of their currencies.
type drawn struct {
	draw        int
	available   int64
	first, last string
	reward.Reward
}

// owed sums the debts of the owners of a draw: those in the currency of the draw, or of
// its only credit, and those without a currency; all if its credit has none.
const owed = `SELECT coalesce(-sum(d.value - d.redeemed - d.expired - d.cancelled - d.reversed - d.settled), 0)
	FROM reward d WHERE d.tenant = ?1 AND d.account_id = draw_account AND (draw_user = '' OR d.user_id = draw_user)
		AND d.unit = draw_unit AND d.currency IN ('', coalesce(nullif(draw_currency, ''), nullif(first, ''), d.currency))
		AND d.value < d.redeemed + d.expired + d.cancelled + d.reversed + d.settled`

var drawnColumns = store.Selection[drawn]{
	store.Col(`draw`, func(d *drawn) any { return &d.draw }),
	store.Col(`total - (`+owed+`)`, func(d *drawn) any { return &d.available }),
	store.Col(`first`, func(d *drawn) any { return &d.first }),
	store.Col(`last`, func(d *drawn) any { return &d.last }),
}.With(store.Nested(Columns, func(d *drawn) *reward.Reward { return &d.Reward }))

// DrawableBy returns, for each draw, the credit that it may use at the time of the
// transaction. No two draws of a call may use the same credit. If a draw names no
// currency and its credit has several, Available is their sum, which means nothing.
func DrawableBy(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, draws []reward.Draw) ([]reward.Drawable, error) {
	var asked store.Tuples
	for _, d := range draws {
		asked.Row()
		asked.Text(string(d.Account), string(d.User), d.Unit, d.Currency)
		asked.Integer(d.Amount)
	}
	rows, err := tx.QueryContext(ctx, drawable, string(tenant), int64(tx.Now), asked.String())
	found, err := store.Collect(rows, err, "credits", func(rows *sql.Rows, one *drawn) error {
		err := drawnColumns.Scan(rows, one)
		settleValue(&one.Reward)
		return err
	})
	if err != nil {
		return nil, err
	}
	of := make([]reward.Drawable, len(draws))
	for _, one := range found {
		d := &of[one.draw]
		d.Credits, d.Available, d.Currencies = append(d.Credits, one.Reward), one.available, [2]string{one.first, one.last}
	}
	return of, nil
}

var drawable = `WITH given AS MATERIALIZED (SELECT key AS draw, value ->> 0 AS account, value ->> 1 AS user, value ->> 2 AS unit, value ->> 3 AS currency, value ->> 4 AS amount
		FROM ` + store.Elements(`?3`) + `),
	credit AS (SELECT given.draw, given.amount, given.account AS draw_account, given.user AS draw_user,
			given.unit AS draw_unit, given.currency AS draw_currency, r.rowid AS row, r.id AS credit, r.currency AS money, ` + LeftOf("r") + ` AS rest,
			coalesce(r.expires_at, 9223372036854775807) AS ends, r.given_at AS began
		FROM given CROSS JOIN reward r
		WHERE r.tenant = ?1 AND r.account_id = given.account AND (given.user = '' OR r.user_id = given.user)
			AND r.unit = given.unit AND (given.currency = '' OR r.currency IN ('', given.currency))
			AND r.kind = 'CREDIT' AND ` + rewardStatus + ` = 'AVAILABLE' AND NOT ` + mustFollow("r") + `)
	SELECT ` + drawnColumns.SQL() + `
	FROM (SELECT credit.*, sum(rest) OVER (PARTITION BY draw) AS total,
			coalesce(min(nullif(money, '')) OVER (PARTITION BY draw), '') AS first,
			coalesce(max(nullif(money, '')) OVER (PARTITION BY draw), '') AS last,
			sum(rest) OVER (PARTITION BY draw ORDER BY ends, began, credit ROWS UNBOUNDED PRECEDING) AS upto
		FROM credit)
	CROSS JOIN reward ON +tenant = ?1 AND reward.rowid = row
	WHERE upto - rest < amount ORDER BY draw, upto`

// MoneyColumns are the columns of OwnerBalance.
var MoneyColumns = store.Selection[reward.Money]{
	store.Col(`r.currency`, func(m *reward.Money) any { return &m.Currency }),
	store.Col(`sum(`+AvailableOf("r", "?2")+`)`, func(m *reward.Money) any { return &m.Available }),
}

// OwnerBalance is a statement that sums what an owner can use of each currency:
// credits, or discounts if the unit is %. Its parameters are the tenant, a time, the
// account, the user and the unit.
var OwnerBalance = `SELECT ` + MoneyColumns.SQL() + ` FROM reward r
	WHERE r.tenant = ?1 AND r.account_id = ?3 AND r.user_id = ?4 AND r.unit = ?5
		AND r.kind IN ('CREDIT', 'PCT_DISCOUNT')
	GROUP BY r.currency ORDER BY r.currency`

// OneDrawable returns a reward, of any kind, and what a draw may use of it at a time.
// An unknown reward is a not-found error.
func OneDrawable(ctx context.Context, r store.Reads, tenant core.TenantAlias, id string, now core.Time) (reward.Drawable, error) {
	var one drawn
	ok, err := oneDrawableColumns.One(r.QueryRowContext(ctx, `SELECT `+oneDrawableColumns.SQL()+` FROM reward WHERE reward.tenant = ?1 AND reward.id = ?3`,
		string(tenant), int64(now), id), "reward", &one)
	if err == nil && !ok {
		err = UnknownReward()
	}
	settleValue(&one.Reward)
	return reward.Drawable{Credits: []reward.Reward{one.Reward}, Available: min(one.available, one.Available(now))}, err
}

// oneDrawableColumns select a reward and what its owner can redeem, which is counted
// only if the owner has debts: it is more than the reward has, or the debts would have
// been settled.
var oneDrawableColumns = store.Selection[drawn]{
	store.Col(`iif(`+mustFollow("reward")+`, 0, iif(EXISTS (SELECT 1 FROM reward d WHERE d.tenant = ?1 AND d.account_id = reward.account_id AND d.user_id = reward.user_id
			AND d.unit = reward.unit AND d.currency = reward.currency AND d.value < `+takenOf("d")+`),
		(SELECT sum(`+AvailableOf("r", "?2")+`) FROM reward r WHERE r.tenant = ?1 AND r.account_id = reward.account_id AND r.user_id = reward.user_id
			AND r.unit = reward.unit AND r.currency = reward.currency AND r.kind = 'CREDIT'), 9223372036854775807))`, func(d *drawn) any { return &d.available }),
}.With(store.Nested(Columns, func(d *drawn) *reward.Reward { return &d.Reward }))

// Debts and Spendable select the debts of an owner in one currency, oldest first, and
// the credit that can settle them, in the order of reward.Sooner. Their parameters are
// the tenant, a time, the account, the user, the unit, the currency and the most rows.
var (
	Debts = `SELECT ` + Columns.SQL() + ` FROM reward r WHERE r.tenant = ?1 AND r.account_id = ?3 AND r.user_id = ?4 AND r.unit = ?5
			AND r.currency = ?6 AND r.kind = 'CREDIT' AND r.value < ` + takenOf("r") + ` AND r.created_at <= ?2
		ORDER BY r.created_at, r.id LIMIT ?7`
	Spendable = `SELECT ` + Columns.SQL() + ` FROM reward r WHERE r.tenant = ?1 AND r.account_id = ?3 AND r.user_id = ?4 AND r.unit = ?5
			AND r.currency = ?6 AND r.kind = 'CREDIT' AND r.pending = 0 AND ` + rewardStatus + ` = 'AVAILABLE'
		ORDER BY coalesce(r.expires_at, 9223372036854775807), r.given_at, r.id LIMIT ?7`
)

// AnyDebt is an expression that reports whether the tenant ?1 has a debt. Without INDEXED BY,
// SQLite would read all rewards of a tenant without debts.
var AnyDebt = `EXISTS (SELECT 1 FROM reward r INDEXED BY reward_debt WHERE r.tenant = ?1 AND r.value < ` + takenOf("r") + `)`

// Due is a reward of a tenant whose date has passed, or whose owner's debts are to be
// settled further.
type Due struct {
	Tenant core.TenantAlias
	reward.Reward
}

var dueColumns = store.Selection[Due]{
	store.Col(`r.tenant`, func(d *Due) any { return &d.Tenant }),
}.With(store.Nested(Columns, func(d *Due) *reward.Reward { return &d.Reward }))

// toGive and toExpire select the rewards whose date of giving or of expiry has passed
// at the time ?, and whose ledger does not have it yet. toSettle selects those by which
// a settlement of debts is continued.
var (
	toGive   = ` FROM reward r WHERE r.pending = 1 AND r.held = 0 AND r.blocked_since IS NULL AND r.given_at <= ? AND r.value > ` + takenOf("r") + ` AND ` + store.TenantExists("r")
	toExpire = ` FROM reward r WHERE r.expires_at <= ? AND ` + begun + ` AND r.value > ` + takenOf("r") + ` AND ` + store.TenantExists("r")
	toSettle = ` FROM reward r WHERE r.unsettled = 1 AND r.created_at <= ? AND ` + store.TenantExists("r")
)

// AnyDue reports whether ListDue has any reward.
func AnyDue(ctx context.Context, r store.Reads, now core.Time) (bool, error) {
	return store.One[bool](ctx, r, "rewards due", `SELECT EXISTS (SELECT 1`+toGive+`) OR EXISTS (SELECT 1`+toExpire+`)
		OR EXISTS (SELECT 1`+toSettle+`)`, int64(now), int64(now), int64(now))
}

// ListDue returns up to limit rewards of all tenants whose date has passed and whose
// ledger does not have it yet: those to be given, earliest first, or without
// such rewards, those that have expired, or those of owners with debts to settle.
func ListDue(ctx context.Context, tx *store.Tx, limit int) ([]Due, error) {
	for _, from := range []string{toGive + ` ORDER BY r.given_at`, toExpire + ` ORDER BY r.expires_at`, toSettle} {
		rows, err := tx.QueryContext(ctx, `SELECT `+dueColumns.SQL()+from+` LIMIT ?`, int64(tx.Now), limit)
		due, err := store.Collect(rows, err, "due rewards", func(rows *sql.Rows, one *Due) error {
			err := dueColumns.Scan(rows, one)
			settleValue(&one.Reward)
			return err
		})
		if err != nil || len(due) > 0 {
			return due, err
		}
	}
	return nil, nil
}

var entryColumns = store.Selection[reward.Entry]{
	store.Col(`l.id`, func(e *reward.Entry) any { return &e.ID }),
	store.Col(`l.reward_id`, func(e *reward.Entry) any { return &e.Reward }),
	store.Col(`l.action`, func(e *reward.Entry) any { return &e.Action }),
	store.Col(`l.amount`, func(e *reward.Entry) any { return &e.Amount }),
	store.Col(`l.unit`, func(e *reward.Entry) any { return &e.Unit }),
	store.Col(`l.at`, func(e *reward.Entry) any { return &e.At }),
}

// History returns the last entries, up to limit, of the ledger of the rewards of a
// referral, the latest first.
func History(ctx context.Context, r store.Reads, tenant core.TenantAlias, referral string, limit int) ([]reward.Entry, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+entryColumns.SQL()+` FROM reward w CROSS JOIN reward_ledger l ON l.tenant = w.tenant AND l.reward_id = w.id
		WHERE w.tenant = ? AND w.referral_id = ? ORDER BY l.seq DESC LIMIT ?`, string(tenant), referral, limit)
	return entryColumns.All(rows, err, "ledger of a referral")
}

// OfReferral returns the last rewards, up to limit, of a referral, the latest first.
func OfReferral(ctx context.Context, r store.Reads, tenant core.TenantAlias, referral string, limit int) ([]reward.Reward, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+Columns.SQL()+` FROM reward r WHERE r.tenant = ? AND r.referral_id = ?
		ORDER BY r.created_at DESC, r.id DESC LIMIT ?`, string(tenant), referral, limit)
	return store.Collect(rows, err, "rewards of a referral", Scan)
}
