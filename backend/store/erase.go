package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"kith/core"
	"kith/core/referral"
)

// PutDoNotTrack notes identities that must not come back.
func (tx *Tx) PutDoNotTrack(ctx context.Context, tenant core.TenantAlias, identities []string) error {
	list, err := json.Marshal(append([]string{}, identities...))
	if err != nil {
		return err
	}
	return tx.exec(ctx, "put do not track", `INSERT OR IGNORE INTO do_not_track (tenant, identity, created_at)
		SELECT ?1, value, ?2 FROM json_each(?3)`, string(tenant), int64(tx.Now), string(list))
}

// UserIDs returns the users of an account.
func (r Reads) UserIDs(ctx context.Context, tenant core.TenantAlias, account core.AccountID) ([]core.UserID, error) {
	rows, err := r.QueryContext(ctx, `SELECT id FROM user WHERE tenant = ? AND account_id = ? ORDER BY id`,
		string(tenant), string(account))
	return collect(rows, err, "user ids", func(rows *sql.Rows, id *core.UserID) error { return rows.Scan(id) })
}

// Erasure is a user to be taken out of every record, or all users of an account
// when User is empty. Who and Code stand in their place in the records that stay;
// they must be of no meaning.
type Erasure struct {
	Account core.AccountID
	User    core.UserID
	Who     core.UserID
	Code    core.ReferralCode
}

// gone are the Erasures of ?2 as a table.
const gone = `(SELECT value ->> 0 AS account, value ->> 1 AS user, value ->> 2 AS who, value ->> 3 AS code FROM json_each(?2)) gone`

// ofGone is the condition that a row of a table is of one who is gone: the table,
// its column with the account and its column with the user.
func ofGone(table, account, user string) string {
	return table + `.tenant = ?1 AND ` + table + `.` + account + ` = gone.account AND (gone.user = '' OR ` + table + `.` + user + ` = gone.user)`
}

// goneFrom removes what is of those who are gone from a table with rowids.
func goneFrom(table string) string {
	return `DELETE FROM ` + table + ` WHERE +tenant = ?1 AND rowid IN (SELECT t.rowid FROM ` + gone + ` CROSS JOIN ` + table + ` t
		ON ` + ofGone("t", "account_id", "user_id") + `)`
}

// goneIn changes rows of a table with rowids: set may use hit.who and hit.mask,
// of who is gone in the rows t that on joins. The rows are found first, from who
// is gone: else SQLite looks at all rows of the table, and asks each.
func goneIn(update, table, set, on string) string {
	return `WITH hit AS MATERIALIZED (SELECT t.rowid AS row, gone.who, gone.code AS mask FROM ` + gone + ` CROSS JOIN ` + on + `)
		` + update + ` ` + table + ` SET ` + set + ` FROM hit WHERE +` + table + `.tenant = ?1 AND ` + table + `.rowid = hit.row`
}

// ownCodes joins the codes of those who are gone.
var ownCodes = `code ON ` + ofGone("code", "account_id", "user_id")

// erasure are the statements that take users out of every record. Referrals and
// rewards keep their ids and amounts, and a used idempotency key stays used.
var erasure = []string{
	goneIn("UPDATE OR REPLACE", "decision", `code = hit.mask, inputs = json_set(inputs, '$.codeOwnerAccount', null, '$.codeOwnerUser', null)`,
		ownCodes+` CROSS JOIN decision t ON t.tenant = ?1 AND t.code = code.code`),
	goneIn("UPDATE", "decision", `inputs = json_set(inputs, '$.referralCode', hit.mask)`,
		`referral ON `+ofGone("referral", "referrer_account_id", "referrer_user_id")+` CROSS JOIN decision t
			ON t.tenant = ?1 AND t.account_id = referral.referred_account_id AND t.inputs ->> '$.referralCode' IS NOT NULL`),
	goneFrom("decision"),
	// Left to itself, SQLite takes all counts of a tenant for few.
	`DELETE FROM analytics INDEXED BY analytics_code WHERE tenant = ?1 AND code IN (SELECT code.code FROM ` + gone + ` CROSS JOIN ` + ownCodes + `)`,
	`DELETE FROM analytics INDEXED BY analytics_user WHERE tenant = ?1 AND (account_id, user_id) IN (SELECT account, user FROM ` + gone + `)`,
	`DELETE FROM analytics INDEXED BY analytics_user WHERE tenant = ?1 AND account_id IN (SELECT account FROM ` + gone + ` WHERE user = '')`,
	goneIn("UPDATE", "referral", `referrer_user_id = hit.who, code = hit.mask, share_link = ''`,
		`referral t ON `+ofGone("t", "referrer_account_id", "referrer_user_id")),
	goneIn("UPDATE", "referral", `referred_user_id = hit.who`, `referral t ON `+ofGone("t", "referred_account_id", "referred_user_id")),
	goneIn("UPDATE", "reward", `user_id = hit.who`, `reward t ON `+ofGone("t", "account_id", "user_id")),
	goneFrom("event"),
	goneIn("UPDATE", "intake", `account_id = '', user_id = '', events = '[]'`, `intake t ON `+ofGone("t", "account_id", "user_id")),
	goneFrom("code"),
	`DELETE FROM user WHERE +tenant = ?1 AND seq IN (SELECT u.seq FROM ` + gone + ` CROSS JOIN user u ON ` + ofGone("u", "account_id", "id") + `)`,
}

// EraseUsers removes users and all that is personal about them.
func (tx *Tx) EraseUsers(ctx context.Context, tenant core.TenantAlias, all []Erasure) error {
	if len(all) == 0 {
		return nil
	}
	var rows tuples
	for _, e := range all {
		rows.row()
		rows.text(string(e.Account), string(e.User), string(e.Who), string(e.Code))
	}
	return tx.execAll(ctx, "erase users", erasure, string(tenant), rows.String())
}

// accountErasure are the statements that remove accounts without users; who
// stands in the place of an account.
var accountErasure = []string{
	// A referral needs its account: one of no meaning takes its place.
	`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, payment_provider_id,
			first_paid_at, identified, created_at, updated_at)
		SELECT a.tenant, gone.who, a.currency, a.status, a.billing_interval, a.billing_value, a.value, null, a.first_paid_at, a.identified,
			a.created_at, a.updated_at
		FROM ` + gone + ` CROSS JOIN account a ON a.tenant = ?1 AND a.id = gone.account AND EXISTS (
			SELECT 1 FROM referral WHERE tenant = ?1 AND referred_account_id = gone.account)`,
	goneIn("UPDATE", "referral", `referred_account_id = hit.who`, `referral t ON t.tenant = ?1 AND t.referred_account_id = gone.account`),
	goneIn("UPDATE", "referral", `referrer_account_id = hit.who`, `referral t ON t.tenant = ?1 AND t.referrer_account_id = gone.account`),
	goneIn("UPDATE", "reward", `account_id = hit.who`, `reward t ON t.tenant = ?1 AND t.account_id = gone.account`),
	`DELETE FROM decision WHERE +tenant = ?1 AND rowid IN (
		SELECT d.rowid FROM ` + gone + ` CROSS JOIN decision d ON d.tenant = ?1 AND d.account_id = gone.account)`,
	`DELETE FROM account WHERE tenant = ?1 AND id IN (SELECT account FROM ` + gone + `)`,
}

// EraseAccounts removes accounts that have no users: each with who stands in its
// place in the records that stay.
func (tx *Tx) EraseAccounts(ctx context.Context, tenant core.TenantAlias, who map[core.AccountID]core.AccountID) error {
	if len(who) == 0 {
		return nil
	}
	var rows tuples
	for _, account := range slices.Sorted(maps.Keys(who)) {
		rows.row()
		rows.text(string(account), "", string(who[account]))
	}
	return tx.execAll(ctx, "erase accounts", accountErasure, string(tenant), rows.String())
}

func (tx *Tx) execAll(ctx context.Context, what string, statements []string, args ...any) error {
	for _, statement := range statements {
		if err := tx.exec(ctx, what, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

var knownColumns = selection[referral.Identity]{
	{`u.account_id`, func(i *referral.Identity) any { return &i.Account }},
	{`u.id`, func(i *referral.Identity) any { return &i.User }},
}

// KnownUsers returns those of a list that there are.
func (r Reads) KnownUsers(ctx context.Context, tenant core.TenantAlias, ids []referral.Identity) (map[referral.Identity]bool, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+knownColumns.list()+` FROM json_each(?2) given CROSS JOIN user u
		ON u.tenant = ?1 AND u.account_id = given.value ->> 0 AND u.id = given.value ->> 1`, string(tenant), identities(ids))
	found, err := knownColumns.all(rows, err, "known users")
	known := make(map[referral.Identity]bool, len(found))
	for _, i := range found {
		known[i] = true
	}
	return known, err
}

// WithoutUsers returns those accounts of a list that have no user.
func (r Reads) WithoutUsers(ctx context.Context, tenant core.TenantAlias, ids []core.AccountID) ([]core.AccountID, error) {
	var asked tuples
	for _, id := range ids {
		asked.row()
		asked.text(string(id))
	}
	rows, err := r.QueryContext(ctx, `SELECT given.value ->> 0 FROM json_each(?2) given
		WHERE NOT EXISTS (SELECT 1 FROM user WHERE tenant = ?1 AND account_id = given.value ->> 0)`, string(tenant), asked.String())
	return collect(rows, err, "accounts without users", func(rows *sql.Rows, id *core.AccountID) error { return rows.Scan(id) })
}

// EraseTenant takes a tenant away, and nothing of what it has: it is unknown
// from then on. False means that there is none.
func (p *Primary) EraseTenant(ctx context.Context, now core.Time, tenant core.TenantAlias) (was bool, err error) {
	err = p.Unchecked(ctx, now, func(tx *Tx) error {
		was, err = tx.changed(ctx, "erase tenant", `DELETE FROM tenant WHERE alias = ?`, string(tenant))
		return err
	})
	return was, err
}

// EraseRows removes up to limit rows of a table that are of a tenant who was
// erased, and returns how many they were. In a file nothing of them remains
// where they were.
func (p *Primary) EraseRows(ctx context.Context, now core.Time, t Table, tenant core.TenantAlias, limit int) (n int, err error) {
	err = p.Unchecked(ctx, now, func(tx *Tx) error {
		if p.Embedded() {
			if err := tx.exec(ctx, "erase rows", `PRAGMA secure_delete = ON`); err != nil {
				return err
			}
		}
		n, err = tx.count(ctx, "erase rows of "+t.Name, `DELETE FROM `+quoted(t.Name)+` WHERE (`+t.quotedKey()+`) IN (
			SELECT `+t.quotedKey()+` FROM `+quoted(t.Name)+` WHERE `+quoted(t.Tenant)+` = ? LIMIT ?)`, string(tenant), limit)
		return err
	})
	return n, err
}

// Checkpoint writes the log of a file into it, so that what was erased is in
// neither. A server does so in its own time.
func (p *Primary) Checkpoint(ctx context.Context) error {
	if !p.embedded {
		return nil
	}
	if _, err := p.write.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		return fmt.Errorf("store: checkpoint: %w", err)
	}
	return nil
}
