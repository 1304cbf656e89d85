package userdb

import (
	"context"
	"maps"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// PutDoNotTrack records deleted users and accounts that must not be tracked again.
// Identities are keyed hashes of their ids.
func PutDoNotTrack(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, identities []string) error {
	if len(identities) == 0 {
		return nil
	}
	return tx.Exec(ctx, "put do not track", `INSERT OR IGNORE INTO do_not_track (tenant, identity, created_at)
		SELECT ?1, value, ?2 FROM json_each(?3)`, string(tenant), int64(tx.Now), store.TextList(identities))
}

// CountUntracked returns how many keyed hashes PutDoNotTrack has stored for a tenant.
func CountUntracked(ctx context.Context, r store.Reads, tenant core.TenantAlias) (int, error) {
	return store.One[int](ctx, r, "count do not track", `SELECT count(*) FROM do_not_track WHERE tenant = ?`, string(tenant))
}

// UserIDs returns the ids of an account's users, in alphabetical order.
func UserIDs(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) ([]core.UserID, error) {
	return store.List[core.UserID](ctx, r, "user ids", `SELECT id FROM user WHERE tenant = ? AND account_id = ? ORDER BY id`,
		string(tenant), string(account))
}

// Erasure is a user to erase from all records.
type Erasure struct {
	Account core.AccountID
	// User is empty to erase all users of the account.
	User core.UserID
	// Pseudonym replaces the user's id in the records that stay. It must have no
	// relation to the user.
	Pseudonym core.UserID
	// PseudonymCode replaces the user's codes in the records that stay.
	PseudonymCode core.ReferralCode
}

// gone is the parameter ?2, a list of Erasures and the time of each, as a table.
const gone = `(SELECT value ->> 0 AS account, value ->> 1 AS user, value ->> 2 AS who, value ->> 3 AS code, value ->> 4 AS at FROM json_each(?2)) gone`

// goneIfAny returns gone, without rows if the tenant has none in a table, so that the list is
// not read for what the tenant does not use. It must be the first table of a join. Inlined in
// the statements, it would take 9 kB of the binary.
//
//go:noinline
func goneIfAny(table string) string {
	return `(SELECT 1 FROM ` + table + ` some WHERE tenant = ?1 LIMIT 1) CROSS JOIN ` + gone
}

// ofGone returns the condition that a row of a table belongs to an erased user, by the
// table and its columns with the account and the user.
func ofGone(table, account, user string) string {
	return table + `.tenant = ?1 AND ` + table + `.` + account + ` = gone.account AND (gone.user = '' OR ` + table + `.` + user + ` = gone.user)`
}

// goneFrom returns a statement that deletes the rows of erased users from a table with
// rowids.
func goneFrom(table string) string {
	return `DELETE FROM ` + table + ` WHERE +tenant = ?1 AND rowid IN (SELECT t.rowid FROM ` + goneIfAny(table) + ` CROSS JOIN ` + table + ` t
		ON ` + ofGone("t", "account_id", "user_id") + `)`
}

// goneIn returns a statement that changes rows of a table with rowids: the rows t that
// the join on finds for an erased user. set may use hit.who and hit.mask, the
// pseudonyms of that user and of the code, and hit.at, the time. The rows are found first, starting from the
// erased users: otherwise SQLite would read all rows of the table.
func goneIn(update, table, set, on string) string {
	return `WITH hit AS MATERIALIZED (SELECT t.rowid AS row, gone.who, gone.code AS mask, gone.at FROM ` + goneIfAny(table) + ` CROSS JOIN ` + on + `)
		` + update + ` ` + table + ` SET ` + set + ` FROM hit WHERE +` + table + `.tenant = ?1 AND ` + table + `.rowid = hit.row`
}

// ownCodes joins the codes of erased users.
var ownCodes = `code ON ` + ofGone("code", "account_id", "user_id")

// ownReferrals joins the referrals by which erased users were referred.
var ownReferrals = `referral ON ` + ofGone("referral", "referred_account_id", "referred_user_id")

// madeReferrals joins the referrals that erased users made.
var madeReferrals = `referral INDEXED BY referral_referrer ON ` + ofGone("referral", "referrer_account_id", "referrer_user_id")

// readNow makes a worker read a subscription at the gateway, unless it has ended.
const readNow = `due_at = CASE WHEN status IN ('Canceled', 'Expired') THEN due_at ELSE 0 END`

// userErasure are the statements that erase users from all records. Referrals and
// rewards keep their ids and amounts, but not the ids of orders, and a used idempotency key stays used.
var userErasure = []string{
	goneIn("UPDATE OR REPLACE", "decision", `code = hit.mask, inputs = json_remove(json_set(inputs, '$.codeOwnerAccount', null, '$.codeOwnerUser', null), '$.reason')`,
		ownCodes+` CROSS JOIN decision t ON t.tenant = ?1 AND t.code = code.code`),
	goneIn("UPDATE", "decision", `inputs = json_set(inputs, '$.referralCode', hit.mask)`,
		madeReferrals+` CROSS JOIN decision t
			ON t.tenant = ?1 AND t.account_id = referral.referred_account_id AND t.inputs ->> '$.referralCode' IS NOT NULL`),
	goneFrom("decision"),
	// SQLite would assume that a tenant has few counts, and read all of them.
	`DELETE FROM analytics INDEXED BY analytics_code WHERE tenant = ?1 AND code IN (SELECT code.code FROM ` + goneIfAny("analytics") + ` CROSS JOIN ` + ownCodes + `)`,
	`DELETE FROM analytics INDEXED BY analytics_user WHERE tenant = ?1 AND (account_id, user_id) IN (SELECT account, user FROM ` + goneIfAny("analytics") + `)`,
	`DELETE FROM analytics INDEXED BY analytics_user WHERE tenant = ?1 AND account_id IN (SELECT account FROM ` + goneIfAny("analytics") + ` WHERE user = '')`,
	// The shop's own order ids would lead to the user.
	goneIn("UPDATE", "reward", `order_key = coalesce((SELECT o.event_id FROM referral_order o
			WHERE o.tenant = ?1 AND o.referral_id = reward.referral_id AND o.order_key = reward.order_key), reward.id)`, ownReferrals+` CROSS JOIN reward t ON t.tenant = ?1 AND t.referral_id = referral.id AND t.order_key <> ''`),
	goneIn("UPDATE", "referral_order", `order_key = coalesce(referral_order.event_id, hex(randomblob(12))), detail = '',
		refunds = (SELECT json_group_array(json_replace(value, '$.Event', hex(randomblob(12)), '$.Fault', 'unreadable')) FROM json_each(referral_order.refunds))`,
		ownReferrals+` CROSS JOIN referral_order t ON t.tenant = ?1 AND t.referral_id = referral.id`),
	goneIn("UPDATE", "referral_order", `referrer_user_id = hit.who`, `referral_order t ON `+ofGone("t", "referrer_account_id", "referrer_user_id")),
	goneFrom("order_replay"),
	// Visits of the codes stay in the totals of their program.
	`INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits, agent_visits)
		SELECT v.tenant, v.day, v.program, '', v.engagement_medium, v.share_medium, v.visits, v.bot_visits, v.agent_visits
		FROM ` + goneIfAny("visit") + ` CROSS JOIN ` + ownCodes + ` CROSS JOIN visit v ON v.tenant = ?1 AND v.code = code.code WHERE true
		ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits, agent_visits = agent_visits + excluded.agent_visits`,
	`DELETE FROM visit WHERE +tenant = ?1 AND rowid IN (
		SELECT v.rowid FROM ` + goneIfAny("visit") + ` CROSS JOIN ` + ownCodes + ` CROSS JOIN visit v ON v.tenant = ?1 AND v.code = code.code)`,
	goneIn("UPDATE", "referral", `referrer_user_id = hit.who, code = hit.mask, share_link = '', updated_at = hit.at`,
		`referral t ON `+ofGone("t", "referrer_account_id", "referrer_user_id")),
	goneIn("UPDATE", "referral", `referred_user_id = hit.who, updated_at = hit.at`, `referral t ON `+ofGone("t", "referred_account_id", "referred_user_id")),
	// A program writes the same texts on all its rewards; others may be about the user.
	goneIn("UPDATE", "reward", `user_id = hit.who, name = iif(program IS NULL, '', name), description = iif(program IS NULL, '', description),
		settings = iif(program IS NULL, null, settings)`, `reward t ON `+ofGone("t", "account_id", "user_id")),
	goneFrom("event"),
	goneFrom("refused_event"),
	// The key stays used, without the answer.
	goneIn("UPDATE", "kept_answer", `answer = '', account_id = '', user_id = ''`, `kept_answer t ON `+ofGone("t", "account_id", "user_id")),
	goneIn("UPDATE", "intake", `account_id = '', user_id = '', events = '[]'`, `intake t ON `+ofGone("t", "account_id", "user_id")),
	goneIn("UPDATE", "audit_entry", `subject = '', was = '', became = '', user_id = hit.who`, `audit_entry t ON t.user_id <> '' AND `+ofGone("t", "account_id", "user_id")),
	// The gateway makes a code without an owner inactive.
	`UPDATE gateway_promotion SET due_at = 0 WHERE tenant = ?1 AND code IN (SELECT code.code FROM ` + goneIfAny("gateway_promotion") + ` CROSS JOIN ` + ownCodes + `)`,
	`DELETE FROM gateway_coupon INDEXED BY gateway_coupon_code WHERE tenant = ?1 AND code IN (SELECT code.code FROM ` + goneIfAny("gateway_coupon") + ` CROSS JOIN ` + ownCodes + `)`,
	goneIn("UPDATE", "gateway_subscription", `code = ''`, ownCodes+` CROSS JOIN gateway_subscription t INDEXED BY gateway_subscription_code
		ON t.tenant = ?1 AND t.code <> '' AND t.code = code.code COLLATE BINARY`),
	// The bills of the subscription become events of another user of the account.
	goneIn("UPDATE", "gateway_subscription", `user_id = '', `+readNow, `gateway_subscription t ON t.user_id <> '' AND `+ofGone("t", "account_id", "user_id")),
	goneIn("UPDATE", "gateway_payment", `user_id = ''`, `gateway_payment t ON t.user_id <> '' AND `+ofGone("t", "account_id", "user_id")),
	goneFrom("code"),
	`DELETE FROM user WHERE +tenant = ?1 AND seq IN (SELECT u.seq FROM ` + gone + ` CROSS JOIN user u ON ` + ofGone("u", "account_id", "id") + `)`,
}

// EraseUsers deletes users and all personal data about them.
func EraseUsers(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, all []Erasure) error {
	if len(all) == 0 {
		return nil
	}
	var rows store.Tuples
	for _, e := range all {
		rows.Row()
		rows.Text(string(e.Account), string(e.User), string(e.Pseudonym), string(e.PseudonymCode))
		rows.Integer(int64(tx.Now))
	}
	return execAll(ctx, tx, "erase users", slices.Concat(webhookErasure, userErasure), string(tenant), rows.String())
}

// accountErasure are the statements that delete accounts without users; who is the
// pseudonym of an account.
var accountErasure = []string{
	// A referral needs its account: one under the pseudonym replaces it.
	`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, payment_provider_id,
			first_paid_at, identified, created_at, updated_at)
		SELECT a.tenant, gone.who, a.currency, a.status, a.billing_interval, a.billing_value, a.value, null, a.first_paid_at, a.identified,
			a.created_at, a.updated_at
		FROM ` + goneIfAny("referral") + ` CROSS JOIN account a ON a.tenant = ?1 AND a.id = gone.account AND EXISTS (
			SELECT 1 FROM referral WHERE tenant = ?1 AND referred_account_id = gone.account)`,
	goneIn("UPDATE", "referral", `referred_account_id = hit.who, updated_at = hit.at`, `referral t ON t.tenant = ?1 AND t.referred_account_id = gone.account`),
	goneIn("UPDATE", "referral", `referrer_account_id = hit.who, updated_at = hit.at`, `referral t ON t.tenant = ?1 AND t.referrer_account_id = gone.account`),
	goneIn("UPDATE", "referral_order", `referrer_account_id = hit.who`, `referral_order t ON t.tenant = ?1 AND t.referrer_account_id = gone.account`),
	goneIn("UPDATE", "reward", `account_id = hit.who`, `reward t ON t.tenant = ?1 AND t.account_id = gone.account`),
	goneIn("UPDATE", "audit_entry", `account_id = hit.who`, `audit_entry t ON t.tenant = ?1 AND t.account_id = gone.account AND t.user_id <> ''`),
	// What the account was given at the gateway ends: its subscriptions are read there now.
	goneIn("UPDATE", "gateway_subscription", `account_id = hit.who, user_id = '', code = '', `+readNow,
		`gateway_subscription t ON t.tenant = ?1 AND t.account_id = gone.account`),
	goneIn("UPDATE", "gateway_payment", `account_id = hit.who, user_id = ''`, `gateway_payment t ON t.tenant = ?1 AND t.account_id = gone.account`),
	renamed("gateway_bill", "transaction_id"), renamed("gateway_refund", "transaction_id"), renamed("gateway_credit", "id"),
	`DELETE FROM gateway_coupon WHERE tenant = ?1 AND customer_id IN (
		SELECT a.payment_provider_id FROM ` + goneIfAny("gateway_coupon") + ` CROSS JOIN account a ON a.tenant = ?1 AND a.id = gone.account)`,
	`DELETE FROM decision WHERE +tenant = ?1 AND rowid IN (
		SELECT d.rowid FROM ` + goneIfAny("decision") + ` CROSS JOIN decision d ON d.tenant = ?1 AND d.account_id = gone.account)`,
	`DELETE FROM account WHERE tenant = ?1 AND id IN (SELECT account FROM ` + gone + `)`,
}

// renamed returns a statement that replaces the ids of accounts in a table without rowids,
// whose primary key is the tenant and key.
func renamed(table, key string) string {
	return `UPDATE ` + table + ` SET account_id = (SELECT who FROM ` + gone + ` WHERE gone.account = account_id)
		WHERE tenant = ?1 AND ` + key + ` IN (SELECT t.` + key + ` FROM ` + goneIfAny(table) + ` CROSS JOIN ` + table + ` t ON t.tenant = ?1 AND t.account_id = gone.account)`
}

// EraseAccounts deletes accounts that have no users. It takes the pseudonym of each
// account, which replaces its id in the records that stay.
func EraseAccounts(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, pseudonyms map[core.AccountID]core.AccountID) error {
	if len(pseudonyms) == 0 {
		return nil
	}
	var rows store.Tuples
	for _, account := range slices.Sorted(maps.Keys(pseudonyms)) {
		rows.Row()
		rows.Text(string(account), "", string(pseudonyms[account]), "")
		rows.Integer(int64(tx.Now))
	}
	return execAll(ctx, tx, "erase accounts", accountErasure, string(tenant), rows.String())
}

func execAll(ctx context.Context, tx *store.Tx, what string, statements []string, args ...any) error {
	for _, statement := range statements {
		if err := tx.Exec(ctx, what, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

var knownColumns = store.Selection[referral.Identity]{
	store.Col(`u.account_id`, func(i *referral.Identity) any { return &i.Account }),
	store.Col(`u.id`, func(i *referral.Identity) any { return &i.User }),
}

// KnownUsers returns the set of those users of a list that exist.
func KnownUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []referral.Identity) (map[referral.Identity]bool, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+knownColumns.SQL()+` FROM json_each(?2) given CROSS JOIN user u
		ON u.tenant = ?1 AND u.account_id = given.value ->> 0 AND u.id = given.value ->> 1`, string(tenant), store.Identities(ids))
	found, err := knownColumns.All(rows, err, "known users")
	known := make(map[referral.Identity]bool, len(found))
	for _, i := range found {
		known[i] = true
	}
	return known, err
}
