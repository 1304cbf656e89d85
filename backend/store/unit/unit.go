// Package unit combines the statements of a transaction: it loads the state that calls
// need with one query for each table, and saves all changes with one statement for
// each table. The decisions are made by core/state.
package unit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/backend/libsql"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
)

// Unit is a unit of work on one tenant in a transaction: it loads the state that calls
// need, runs their decisions, and saves their changes. New returns one. The caller must
// call Save before the transaction commits.
type Unit struct {
	*state.State
	tx *store.Tx
	// identify returns the keyed hash of a user for the table do_not_track, and without a
	// user that of an account for the table erased_account.
	identify func(referral.Identity) string
	// lastSeq is the number of the newest user before those that the next save adds.
	lastSeq int64
	// added is true if the unit has added a user.
	added bool
	// unsaved is true if calls were decided since the last save.
	unsaved bool
}

// New returns a unit of work that has loaded nothing yet. identify returns the keyed
// hash of a user, by which deleted users who must not be tracked again are recognized.
func New(tx *store.Tx, tenant core.TenantAlias, identify func(referral.Identity) string) *Unit {
	s := state.New(tenant, tx.Now)
	s.Silent = tx.Silent
	return &Unit{State: s, tx: tx, identify: identify}
}

// maxDecisions limits how often a call is decided, each time with more state loaded.
const maxDecisions = 16

// Decide runs the decision of a call. If decide needs state that is not loaded, Decide
// loads it and runs decide again. So decide must have no effects except on the state,
// must set all its results each time it runs, and must not change its inputs. If decide
// returns an error, its changes are dropped and Decide returns the error.
func (u *Unit) Decide(ctx context.Context, decide func(*state.State) error) error {
	for range maxDecisions {
		err := decide(u.State)
		if !u.Incomplete() {
			if err != nil {
				u.Drop()
				return err
			}
			u.Keep()
			u.unsaved = true
			return nil
		}
		u.Drop()
		if err := u.Load(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("store: a call needed more state after it was decided %d times", maxDecisions)
}

// Load loads the state that is wanted. It saves the unsaved changes first, so that the
// loaded state includes them.
func (u *Unit) Load(ctx context.Context) error {
	if u.unsaved {
		if err := u.Save(ctx); err != nil {
			return err
		}
	}
	if err := queries(ctx, u.tx, u.wanted()); err != nil {
		return fmt.Errorf("store: load: %w", err)
	}
	return nil
}

// query is a statement that reads, and the function that reads its rows.
type query struct {
	text string
	args []any
	read func(*sql.Rows) error
}

// queries runs statements, on a server in one round trip.
func queries(ctx context.Context, tx *store.Tx, all []query) error {
	if len(all) == 0 {
		return nil
	}
	if !tx.Embedded {
		return queriesTogether(ctx, tx, all)
	}
	for _, q := range all {
		rows, err := tx.QueryContext(ctx, q.text, q.args...)
		if err != nil {
			return err
		}
		if err = errors.Join(q.read(rows), rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return nil
}

func queriesTogether(ctx context.Context, tx *store.Tx, all []query) (err error) {
	together := make(libsql.Queries, len(all))
	for i, q := range all {
		together[i] = libsql.Query{Text: q.text, Args: q.args}
	}
	rows, err := tx.QueryContext(ctx, "", together)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, q := range all {
		if i > 0 && !rows.NextResultSet() {
			break
		}
		if err := errors.Join(q.read(rows), rows.Err()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// reading returns a function that scans each row into a value and calls each with it.
func reading[T any](scan func(*sql.Rows, *T) error, each func(T)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		for rows.Next() {
			var one T
			if err := scan(rows, &one); err != nil {
				return err
			}
			each(one)
		}
		return nil
	}
}

// bySelection is reading with a selection.
func bySelection[T any](s store.Selection[T], each func(T)) func(*sql.Rows) error {
	return reading(func(rows *sql.Rows, one *T) error { return s.Scan(rows, one) }, each)
}

// tables load what calls want of the tables of the state, and save what they change. They save in
// this order: rows before the rows whose foreign keys refer to them. The database refuses any other
// order.
var tables = []struct {
	load func(*Unit) []query
	save func(*Unit, context.Context) error
}{
	{load: (*Unit).loadFacts},
	{(*Unit).loadAccounts, (*Unit).saveAccounts},
	{(*Unit).loadUsers, (*Unit).saveUsers},
	{(*Unit).loadCodes, (*Unit).saveCodes},
	{(*Unit).loadReferrals, (*Unit).saveReferrals},
	{load: (*Unit).loadUntracked},
	{load: (*Unit).loadErased},
	{load: (*Unit).loadEventKeys},
	{load: (*Unit).loadRedeemKeys},
	{load: (*Unit).loadCustomers},
	{(*Unit).loadRewards, (*Unit).saveRewards},
	{load: (*Unit).loadSequences},
	{(*Unit).loadOrders, (*Unit).saveOrders},
	{(*Unit).loadTanks, (*Unit).saveFuel},
	{load: (*Unit).loadEarned},
	{load: (*Unit).loadBalances},
	{load: (*Unit).loadOwing},
	{save: (*Unit).saveDecisions},
	{save: (*Unit).saveTouched},
	{save: (*Unit).saveIntake},
	{save: (*Unit).saveEvents},
}

// wanted returns the statements that load the state that is wanted.
func (u *Unit) wanted() (all []query) {
	for _, t := range tables {
		if t.load != nil {
			all = append(all, t.load(u)...)
		}
	}
	return all
}

func (u *Unit) loadFacts() []query {
	if !u.Facts.Wanted() {
		return nil
	}
	var f state.Facts
	return []query{
		{programdb.SelectPrograms + ` WHERE p.tenant = ? ORDER BY p.created_at, p.key`, []any{string(u.Tenant)}, reading(
			func(rows *sql.Rows, p *referral.Program) error { return programdb.Scan(rows, p) },
			func(p referral.Program) { f.Programs = append(f.Programs, p) })},
		{`SELECT ` + factColumns.SQL(), []any{string(u.Tenant)}, bySelection(factColumns, func(row facts) {
			row.Programs = f.Programs
			u.lastSeq = row.lastSeq
			u.Facts.Load(row.Facts)
		})},
	}
}

// facts are the facts about a tenant, and the number of the newest user.
type facts struct {
	state.Facts
	lastSeq int64
}

var factColumns = store.Selection[facts]{
	store.Col(`EXISTS (SELECT 1 FROM webhook_subscription WHERE tenant = ?1 AND disabled_at IS NULL)`, func(f *facts) any { return &f.Listens }),
	store.Col(`EXISTS (SELECT 1 FROM do_not_track WHERE tenant = ?1) AS untracking`, func(f *facts) any { return &f.Untracking }),
	store.Col(`EXISTS (SELECT 1 FROM erased_account WHERE tenant = ?1)`, func(f *facts) any { return &f.Erasing }),
	store.Col(`EXISTS (SELECT 1 FROM gateway_connection WHERE tenant = ?1)`, func(f *facts) any { return &f.Connected }),
	store.Col(`EXISTS (SELECT 1 FROM user WHERE tenant = ?1 AND blocked_rewards <> 'KEEP')`, func(f *facts) any { return &f.Blocking }),
	store.Col(rewarddb.AnyDebt, func(f *facts) any { return &f.Indebted }),
	store.Col(`(SELECT coalesce(max(seq), 0) FROM user)`, func(f *facts) any { return &f.lastSeq }),
	store.Col(`(SELECT coalesce(max(seq), 0) FROM reward_ledger)`, func(f *facts) any { return &f.LastLedger }),
}

// loadAccounts loads the accounts that are wanted.
func (u *Unit) loadAccounts() []query {
	return byKeys(u, &u.Accounts, selectAccounts, 0, func() func(*sql.Rows) error {
		return bySelection(accountColumns, func(a state.Account) { u.Accounts.Load(a.ID, a) })
	})
}

var selectAccounts = `SELECT ` + accountColumns.SQL() + `
	FROM json_each(?2) given CROSS JOIN account a ON a.tenant = ?1 AND a.id = given.value
	LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id
	LEFT JOIN user f ON +f.tenant = a.tenant AND f.rowid = (SELECT u.rowid FROM user u WHERE u.tenant = a.tenant AND u.account_id = a.id ORDER BY u.created_at, u.id LIMIT 1)`

// accountColumns select an account a with its first user f and the number of its users.
var accountColumns = store.Selection[state.Account]{
	store.Col(`(SELECT count(*) FROM user u WHERE u.tenant = a.tenant AND u.account_id = a.id)`, func(a *state.Account) any { return &a.Users }),
	store.Col(`coalesce(f.id, '')`, func(a *state.Account) any { return &a.First }),
	store.Col(`coalesce(f.created_at, 0)`, func(a *state.Account) any { return &a.FirstCreated }),
}.With(store.Nested(userdb.AccountColumns, func(a *state.Account) *referral.Account { return &a.Account }))

// absent marks the wanted keys of a table as not stored, and returns them. Loading a
// stored value replaces the mark.
func absent[K comparable, V any](t *state.Table[K, V]) []K {
	keys := t.Wanted()
	for _, key := range keys {
		t.LoadNone(key)
	}
	return keys
}

// byKeys returns the statement that loads the keys of a table that are wanted, or none. Its
// parameters are the tenant, the list of keys and, unless it is 0, a time. read returns what reads
// the rows; it is made only if something is wanted.
func byKeys[K ~string, V any](u *Unit, t *state.Table[K, V], text string, since core.Time, read func() func(*sql.Rows) error) []query {
	keys := absent(t)
	if len(keys) == 0 {
		return nil
	}
	args := []any{string(u.Tenant), store.TextList(keys)}
	if since != 0 {
		args = append(args, int64(since))
	}
	return []query{{text, args, read()}}
}

// loadUsers loads the users that are wanted, with their codes.
func (u *Unit) loadUsers() []query {
	ids := absent(&u.Users)
	if len(ids) == 0 {
		return nil
	}
	given := store.Identities(ids)
	var found []referral.User
	return []query{
		{`SELECT ` + userdb.UserColumns.SQL() + ` FROM json_each(?2) given CROSS JOIN user u
			ON u.tenant = ?1 AND u.account_id = given.value ->> 0 AND u.id = given.value ->> 1`,
			[]any{string(u.Tenant), given}, bySelection(userdb.UserColumns, func(one referral.User) { found = append(found, one) })},
		{`SELECT ` + userdb.OwnedColumns.SQL() + ` FROM json_each(?2) given CROSS JOIN code c
			ON c.tenant = ?1 AND c.account_id = given.value ->> 0 AND c.user_id = given.value ->> 1 ORDER BY c.program, c.rowid`,
			[]any{string(u.Tenant), given}, func(rows *sql.Rows) error {
				stored := map[referral.Identity][]referral.OwnedCode{}
				err := bySelection(userdb.OwnedColumns, func(o userdb.Owned) { stored[o.Owner] = append(stored[o.Owner], o.OwnedCode) })(rows)
				for _, one := range found {
					who := referral.Identity{Account: one.Account, User: one.ID}
					one.Codes, one.Links = referral.Primary(stored[who])
					u.Users.Load(who, one)
				}
				return err
			}},
	}
}

// loadCodes loads the codes that are wanted.
func (u *Unit) loadCodes() []query {
	return byKeys(u, &u.Codes, selectCodes, 0, func() func(*sql.Rows) error {
		return bySelection(userdb.CodeColumns, func(c referral.Code) { u.Codes.Load(state.CodeKey(c.Code), c) })
	})
}

var selectCodes = `SELECT ` + userdb.CodeColumns.SQL() + ` FROM json_each(?2) given CROSS JOIN code c ON c.tenant = ?1 AND c.code = given.value
	JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id`

// loadReferrals loads the referrals that are wanted, with their rewards: by id, by
// referred account, and the latest of referrers.
func (u *Unit) loadReferrals() (all []query) {
	if ids := absent(&u.Referrals); len(ids) > 0 {
		all = append(all, u.referrals(`SELECT r.rowid FROM json_each(?2) given CROSS JOIN referral r ON r.tenant = ?1 AND r.id = given.value`,
			store.TextList(ids), func(referral.Referral) {})...)
	}
	if accounts := absent(&u.Referred); len(accounts) > 0 {
		all = append(all, u.referrals(`SELECT r.rowid FROM json_each(?2) given CROSS JOIN referral r ON r.tenant = ?1 AND r.referred_account_id = given.value`,
			store.TextList(accounts), func(r referral.Referral) { u.Referred.Load(r.Referred.Account, r.ID) })...)
	}
	if referrers := u.Recent.Wanted(); len(referrers) > 0 {
		all = append(all, u.loadRecent(referrers)...)
	}
	return all
}

// madeRecently are the latest referrals made of the referrers ?2, of which each has at most ?4
// since ?3.
const madeRecently = ` FROM json_each(?2) given CROSS JOIN referral made ON +made.tenant = ?1 AND made.rowid IN (
		SELECT r.rowid FROM referral r WHERE r.tenant = ?1 AND r.referrer_account_id = given.value ->> 0 AND r.referrer_user_id = given.value ->> 1
			AND r.started_at > ?3 ORDER BY r.started_at DESC, r.rowid DESC LIMIT ?4)`

// flagged is true for a referral made that has the signal of too many referrals.
const flagged = `json_type(made.fraud_signals, '$.` + string(referral.SignalRate) + `') IS NOT NULL`

// loadRecent loads the recent referrals of referrers: which there are, and all of those that
// may be flagged now. These are the latest, and at most referral.RateMost, see state.MaxRecent.
func (u *Unit) loadRecent(referrers []referral.Identity) []query {
	recent := map[referral.Identity][]state.Recent{}
	for _, who := range referrers {
		u.Recent.Load(who, nil)
	}
	given, since := store.Identities(referrers), int64(u.Now-referral.RateWindow)
	return append([]query{{`SELECT ` + recentColumns.SQL() + madeRecently + ` ORDER BY made.started_at DESC, made.rowid DESC`,
		[]any{string(u.Tenant), given, since, state.MaxRecent}, bySelection(recentColumns, func(one recentOf) {
			recent[one.who] = append(recent[one.who], one.Recent)
			u.Recent.Load(one.who, recent[one.who])
		})}},
		u.referrals(`SELECT made.rowid`+madeRecently+` WHERE NOT `+flagged, given, func(referral.Referral) {}, since, referral.RateMost)...)
}

// recentOf is a recent referral of a referrer.
type recentOf struct {
	who referral.Identity
	state.Recent
}

var recentColumns = store.Selection[recentOf]{
	store.Col(`made.referrer_account_id`, func(r *recentOf) any { return &r.who.Account }),
	store.Col(`made.referrer_user_id`, func(r *recentOf) any { return &r.who.User }),
	store.Col(`made.id`, func(r *recentOf) any { return &r.ID }),
	store.Col(flagged, func(r *recentOf) any { return &r.Flagged }),
}

// referrals returns the statements that load referrals, latest first, and the first
// reward of each of their sides. rows is a subquery of rowids, given its second argument, and more are the
// arguments after it. each is called with each referral.
func (u *Unit) referrals(rows, given string, each func(referral.Referral), more ...any) []query {
	args := append([]any{string(u.Tenant), given}, more...)
	var found []referral.Referral
	return []query{
		{`SELECT ` + referraldb.Columns.SQL() + referraldb.From + ` WHERE +r.tenant = ?1 AND r.rowid IN (` + rows + `) ORDER BY r.started_at DESC, r.rowid DESC`,
			args, bySelection(referraldb.Columns, func(r referral.Referral) { found = append(found, r) })},
		{`SELECT ` + rewarddb.Columns.SQL() + ` FROM reward WHERE +tenant = ?1 AND rowid IN (` +
			rewarddb.FirstOf(`referral r`, `r.id`) + ` WHERE +r.tenant = ?1 AND r.rowid IN (` + rows + `))`, args, func(rows *sql.Rows) error {
			rewards := map[string][]reward.Reward{}
			err := reading(rewarddb.Scan, func(w reward.Reward) { rewards[w.Referral] = append(rewards[w.Referral], w) })(rows)
			for _, r := range found {
				for _, w := range rewards[r.ID] {
					r.Attach(w)
				}
				if row := u.Referrals.Row(r.ID); row == nil || !row.Exists {
					u.Referrals.Load(r.ID, r)
				}
				each(r)
			}
			return err
		}},
	}
}

func scanOne[T any](rows *sql.Rows, v *T) error { return rows.Scan(v) }

// loadEventKeys loads which of the idempotency keys that are wanted were used.
func (u *Unit) loadEventKeys() []query {
	return byKeys(u, &u.EventKeys, `SELECT i.idempotency_key FROM json_each(?2) given CROSS JOIN intake i
		ON i.tenant = ?1 AND i.idempotency_key = given.value AND i.received_at >= ?3`, event.KeySince(u.Now), func() func(*sql.Rows) error {
		return reading(scanOne[core.IdempotencyKey], func(key core.IdempotencyKey) { u.EventKeys.Load(key, true) })
	})
}

// loadRedeemKeys loads which of the keys that are wanted were used to redeem credit.
func (u *Unit) loadRedeemKeys() []query {
	return byKeys(u, &u.RedeemKeys, `SELECT l.idempotency_key FROM json_each(?2) given CROSS JOIN reward_ledger l
		ON l.tenant = ?1 AND l.idempotency_key = given.value AND l.at >= ?3`, u.Now-reward.KeyLife, func() func(*sql.Rows) error {
		return reading(scanOne[core.IdempotencyKey], func(key core.IdempotencyKey) { u.RedeemKeys.Load(key, true) })
	})
}

// loadCustomers loads the accounts of the customers that are wanted.
func (u *Unit) loadCustomers() []query {
	return byKeys(u, &u.Customers, selectTied, 0, func() func(*sql.Rows) error {
		return bySelection(tiedColumns, func(t tied) { u.Customers.Load(t.customer, t.account) })
	})
}

var selectTied = `SELECT ` + tiedColumns.SQL() + ` FROM json_each(?2) given CROSS JOIN account a ON a.tenant = ?1 AND a.payment_provider_id = given.value`

// tied is a customer at the payment gateway and the customer's account.
type tied struct {
	customer core.PaymentProviderID
	account  core.AccountID
}

var tiedColumns = store.Selection[tied]{
	store.Col(`a.payment_provider_id`, func(t *tied) any { return &t.customer }),
	store.Col(`a.id`, func(t *tied) any { return &t.account }),
}

func (u *Unit) loadRewards() []query {
	return byKeys(u, &u.Rewards, selectRewards, 0, func() func(*sql.Rows) error {
		return reading(rewarddb.Scan, func(w reward.Reward) { u.Rewards.Load(w.ID, w) })
	})
}

var selectRewards = `SELECT ` + rewarddb.Columns.SQL() + ` FROM reward WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))`

// tankCodes is how many codes of a fuel tank are loaded at a time.
const tankCodes = 256

func (u *Unit) loadTanks() (all []query) {
	for _, key := range u.Tanks.Wanted() {
		tank := state.Tank{Whole: true}
		u.Tanks.Load(key, tank)
		all = append(all, query{`SELECT ` + tankCodeColumns.SQL() + ` FROM fuel_tank
			WHERE tenant = ? AND program = ? AND key = ? AND reward_id IS NULL ORDER BY seq LIMIT ?`,
			[]any{string(u.Tenant), string(key.Program), string(key.Side), tankCodes}, bySelection(tankCodeColumns,
				func(c state.TankCode) {
					tank.Codes = append(tank.Codes, c)
					tank.Whole = len(tank.Codes) < tankCodes
					u.Tanks.Load(key, tank)
				})})
	}
	return all
}

var tankCodeColumns = store.Selection[state.TankCode]{
	store.Col(`seq`, func(c *state.TankCode) any { return &c.Number }),
	store.Col(`code`, func(c *state.TankCode) any { return &c.Code }),
}

func (u *Unit) loadEarned() (all []query) {
	for _, key := range u.Earned.Wanted() {
		all = append(all, query{programdb.SelectEarned,
			[]any{string(u.Tenant), string(key.Who.Account), string(key.Who.User), string(key.Program), int64(key.Since)}, bySelection(programdb.EarnedColumns,
				func(e referral.Earned) { u.Earned.Load(key, e) })})
	}
	return all
}

func (u *Unit) loadBalances() (all []query) {
	for _, owner := range u.Balances.Wanted() {
		var purse reward.Purse
		u.Balances.Load(owner, purse)
		all = append(all, query{rewarddb.OwnerBalance,
			[]any{string(u.Tenant), int64(u.Now), string(owner.Account), string(owner.User), owner.Unit},
			bySelection(rewarddb.MoneyColumns, func(m reward.Money) {
				purse = append(purse, m)
				u.Balances.Load(owner, purse)
			})})
	}
	return all
}

// loadOwing loads the debts of owners, and the credit that can settle them, as wanted.
func (u *Unit) loadOwing() (all []query) {
	for _, key := range u.Owing.Wanted() {
		text := rewarddb.Debts
		if key.Credits {
			text = rewarddb.Spendable
		}
		var owing state.Owing
		u.Owing.Load(key, owing)
		all = append(all, query{text,
			[]any{string(u.Tenant), int64(u.Now), string(key.Account), string(key.User), key.Unit, key.Currency, reward.MaxSettled + 1},
			reading(rewarddb.Scan, func(w reward.Reward) {
				if owing.More = len(owing.Rewards) == reward.MaxSettled; !owing.More {
					owing.Rewards = append(owing.Rewards, w.ID)
					if row := u.Rewards.Row(w.ID); row == nil || !row.Exists {
						u.Rewards.Load(w.ID, w)
					}
				}
				u.Owing.Load(key, owing)
			})})
	}
	return all
}
