package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"kith/core"
	"kith/core/referral"
)

// Code is a stored referral code and its owner.
type Code struct {
	Code    core.ReferralCode
	Program core.ProgramKey
	Owner   referral.Identity
	// FirstName and LastName are the owner's.
	FirstName, LastName string
	// Blocked is true when the owner may refer nobody.
	Blocked bool
	Created core.Time
}

// Code returns a code, whatever case it is asked for in; ok is false when there
// is none.
func (r Reads) Code(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode) (c Code, ok bool, err error) {
	if r.b.on() {
		return r.b.code(code)
	}
	err = r.q.QueryRowContext(ctx, codeColumns+`
		FROM code c JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND c.code = ?`, string(tenant), string(code)).
		Scan(codeInto(&c)...)
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("store: code: %w", err)
	}
	return c, true, nil
}

const codeColumns = `SELECT c.code, c.program, c.account_id, c.user_id, c.created_at,
	u.email, u.first_name, u.last_name, u.blocked_at IS NOT NULL`

// codeInto lists where codeColumns go.
func codeInto(c *Code) []any {
	return []any{
		&c.Code, &c.Program, &c.Owner.Account, &c.Owner.User, &c.Created,
		&c.Owner.Email, &c.FirstName, &c.LastName, &c.Blocked,
	}
}

// codesOf returns the newest code of each program that a user owns.
func (r Reads) codesOf(ctx context.Context, tenant core.TenantAlias, account core.AccountID, user core.UserID) ([]referral.UserCode, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT program, code, max(rowid) FROM code
		WHERE tenant = ? AND account_id = ? AND user_id = ? GROUP BY program ORDER BY program`,
		string(tenant), string(account), string(user))
	return collect(rows, err, "codes", func(rows *sql.Rows, c *referral.UserCode) error {
		var newest int64
		return rows.Scan(&c.Program, &c.Code, &newest)
	})
}

// attachCodes gives each user their newest code of each program.
func (r Reads) attachCodes(ctx context.Context, tenant core.TenantAlias, page []referral.User) error {
	type owned struct {
		owner referral.Identity
		code  referral.UserCode
	}
	args, byOwner := []any{string(tenant)}, map[referral.Identity]*referral.User{}
	for i, u := range page {
		args = append(args, string(u.Account), string(u.ID))
		byOwner[referral.Identity{Account: u.Account, User: u.ID}] = &page[i]
	}
	rows, err := r.q.QueryContext(ctx, `SELECT account_id, user_id, program, code, max(rowid) FROM code
		WHERE tenant = ? AND (account_id, user_id) IN (VALUES `+strings.TrimSuffix(strings.Repeat("(?, ?), ", len(page)), ", ")+`)
		GROUP BY account_id, user_id, program ORDER BY program`, args...)
	codes, err := collect(rows, err, "codes of users", func(rows *sql.Rows, o *owned) error {
		var newest int64
		return rows.Scan(&o.owner.Account, &o.owner.User, &o.code.Program, &o.code.Code, &newest)
	})
	for _, o := range codes {
		u := byOwner[o.owner]
		u.Codes = append(u.Codes, o.code)
	}
	return err
}

// InsertCode adds a code; false means that the tenant has it already.
func (tx *Tx) InsertCode(ctx context.Context, tenant core.TenantAlias, c referral.UserCode, account core.AccountID, user core.UserID) (bool, error) {
	if tx.b.on() {
		return tx.b.insertCode(c, referral.Identity{Account: account, User: user})
	}
	var rows tuples
	rows.code(c, referral.Identity{Account: account, User: user})
	n, err := tx.put(ctx, putCodes, tenant, &rows)
	return n == 1, err
}

func (t *tuples) code(c referral.UserCode, owner referral.Identity) {
	t.row()
	t.text(string(c.Code), string(c.Program), string(owner.Account), string(owner.User))
}

// putCodes adds those codes of a tenant that nobody has: tuples.code of each.
var putCodes = &put{
	table: "code", columns: columns("code, program, account_id, user_id"), at: columns("created_at"),
	conflict: `ON CONFLICT (tenant, code) DO NOTHING`,
}
