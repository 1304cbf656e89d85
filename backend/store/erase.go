package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"kith/core"
)

// DoNotTrack reports whether an identity was deleted, not to be tracked again.
func (r Reads) DoNotTrack(ctx context.Context, tenant core.TenantAlias, identity string) (is bool, err error) {
	if r.b.on() {
		return r.b.isUntracked(identity)
	}
	err = r.q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM do_not_track WHERE tenant = ? AND identity = ?)`,
		string(tenant), identity).Scan(&is)
	if err != nil {
		return false, fmt.Errorf("store: do not track: %w", err)
	}
	return is, nil
}

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
	rows, err := r.q.QueryContext(ctx, `SELECT id FROM user WHERE tenant = ? AND account_id = ? ORDER BY id`,
		string(tenant), string(account))
	return collect(rows, err, "user ids", func(rows *sql.Rows, id *core.UserID) error { return rows.Scan(id) })
}

// erasure are the statements that take a user out of every record, or all users
// of an account when ?3 is empty. ?4 is who stands in their place in the records
// that stay, and ?5 the code that stands in place of theirs. Referrals and
// rewards keep their ids and amounts, and a used idempotency key stays used.
var erasure = []string{
	`UPDATE OR REPLACE decision SET code = ?5, inputs = json_set(inputs, '$.codeOwnerAccount', null, '$.codeOwnerUser', null)
		WHERE tenant = ?1 AND code IN (` + ownCodes + `)`,
	`UPDATE decision SET inputs = json_set(inputs, '$.referralCode', ?5)
		WHERE tenant = ?1 AND inputs ->> '$.referralCode' IS NOT NULL AND account_id IN (
			SELECT referred_account_id FROM referral
			WHERE tenant = ?1 AND referrer_account_id = ?2 AND (?3 = '' OR referrer_user_id = ?3))`,
	`DELETE FROM decision WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`DELETE FROM analytics WHERE tenant = ?1 AND code IN (` + ownCodes + `)`,
	`DELETE FROM analytics WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`UPDATE referral SET referrer_user_id = ?4, code = ?5, share_link = ''
		WHERE tenant = ?1 AND referrer_account_id = ?2 AND (?3 = '' OR referrer_user_id = ?3)`,
	`UPDATE referral SET referred_user_id = ?4
		WHERE tenant = ?1 AND referred_account_id = ?2 AND (?3 = '' OR referred_user_id = ?3)`,
	`UPDATE reward SET user_id = ?4 WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`DELETE FROM event WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`UPDATE intake SET account_id = '', user_id = '', events = '[]'
		WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`DELETE FROM code WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`DELETE FROM user_search WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`,
	`DELETE FROM user WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR id = ?3)`,
}

const ownCodes = `SELECT code FROM code WHERE tenant = ?1 AND account_id = ?2 AND (?3 = '' OR user_id = ?3)`

// EraseUsers removes a user and all that is personal about them, or all users of
// an account when the user is empty. Who and code stand in their place in the
// records that stay; they must be of no meaning.
func (tx *Tx) EraseUsers(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID, who core.UserID, code core.ReferralCode) error {
	args := []any{string(tenant), string(account), string(user), string(who), string(code)}
	for _, statement := range erasure {
		if err := tx.exec(ctx, "erase users", statement, args[:highest(statement)]...); err != nil {
			return err
		}
	}
	return nil
}

// highest is how many arguments a statement takes: a server refuses more.
func highest(statement string) int {
	for n := 5; n > 0; n-- {
		if strings.Contains(statement, "?"+strconv.Itoa(n)) {
			return n
		}
	}
	return 0
}

// EraseAccount removes an account that has no users; who stands in its place in
// the records that stay.
func (tx *Tx) EraseAccount(ctx context.Context, tenant core.TenantAlias, account, who core.AccountID) error {
	args := []any{string(tenant), string(account), string(who)}
	for _, statement := range []string{
		// A referral needs its account: one of no meaning takes its place.
		`INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, payment_provider_id,
				first_paid_at, identified, created_at, updated_at)
			SELECT tenant, ?3, currency, status, billing_interval, billing_value, value, null, first_paid_at, identified,
				created_at, updated_at
			FROM account WHERE tenant = ?1 AND id = ?2 AND EXISTS (
				SELECT 1 FROM referral WHERE tenant = ?1 AND referred_account_id = ?2)`,
		`UPDATE referral SET referred_account_id = ?3 WHERE tenant = ?1 AND referred_account_id = ?2`,
		`UPDATE referral SET referrer_account_id = ?3 WHERE tenant = ?1 AND referrer_account_id = ?2`,
		`UPDATE reward SET account_id = ?3 WHERE tenant = ?1 AND account_id = ?2`,
		`DELETE FROM decision WHERE tenant = ?1 AND account_id = ?2`,
		`DELETE FROM account WHERE tenant = ?1 AND id = ?2`,
	} {
		if err := tx.exec(ctx, "erase account", statement, args[:highest(statement)]...); err != nil {
			return err
		}
	}
	return nil
}
