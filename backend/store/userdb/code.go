package userdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Code returns a code with its owner; the case of letters does not matter. ok is
// false if the code does not exist.
func Code(ctx context.Context, r store.Reads, tenant core.TenantAlias, code core.ReferralCode) (c referral.Code, ok bool, err error) {
	err = r.QueryRowContext(ctx, SelectCodes+`
		FROM code c JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND c.code = ?`, string(tenant), string(code)).
		Scan(CodeFields(&c)...)
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("store: code: %w", err)
	}
	return c, true, nil
}

// CodesThatRefer returns those of the codes, asked for in any case, that users have who
// are not blocked.
func CodesThatRefer(ctx context.Context, r store.Reads, tenant core.TenantAlias, codes []core.ReferralCode) ([]core.ReferralCode, error) {
	if len(codes) == 0 {
		return nil, nil
	}
	args := []any{string(tenant)}
	for _, c := range codes {
		args = append(args, string(c))
	}
	rows, err := r.QueryContext(ctx, `SELECT c.code
		FROM code c JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND c.code IN (?`+strings.Repeat(", ?", len(codes)-1)+`) AND u.blocked_at IS NULL`, args...)
	return store.Collect(rows, err, "codes that refer", func(rows *sql.Rows, c *core.ReferralCode) error { return rows.Scan(c) })
}

// SelectCodes is the beginning of a statement whose columns CodeFields takes: codes c
// joined with their owners u.
const SelectCodes = `SELECT c.code, c.program, c.account_id, c.user_id, c.created_at,
	u.email, u.first_name, u.last_name, u.blocked_at IS NOT NULL, c.link_only`

// CodeFields returns the pointers that the columns of SelectCodes are scanned into.
func CodeFields(c *referral.Code) []any {
	return []any{
		&c.Code, &c.Program, &c.Owner.Account, &c.Owner.User, &c.Created,
		&c.Owner.Email, &c.FirstName, &c.LastName, &c.Blocked, &c.LinkOnly,
	}
}

// codesOf returns, for each program, the newest code of a user and the share link
// that was last given to the user.
func codesOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID) (codes, links []referral.UserCode, err error) {
	rows, err := r.QueryContext(ctx, ownedColumns+` WHERE tenant = ? AND account_id = ? AND user_id = ? ORDER BY program, rowid`,
		string(tenant), string(account), string(user))
	stored, err := store.Collect(rows, err, "codes", func(rows *sql.Rows, c *referral.OwnedCode) error {
		return ScanOwned(rows, new(referral.Identity), c)
	})
	codes, links = referral.Primary(stored)
	return codes, links, err
}

const ownedColumns = `SELECT account_id, user_id, program, code, link_only, coalesce(linked_at, 0) FROM code`

// ScanOwned reads the columns account_id, user_id, program, code, link_only and
// linked_at of a code; linked_at must not be NULL.
func ScanOwned(rows *sql.Rows, owner *referral.Identity, c *referral.OwnedCode) error {
	return rows.Scan(&owner.Account, &owner.User, &c.Program, &c.Code, &c.LinkOnly, &c.Linked)
}

// attachCodes sets the codes and share links of users, as codesOf returns them.
func attachCodes(ctx context.Context, r store.Reads, tenant core.TenantAlias, page []referral.User) error {
	type owned struct {
		owner referral.Identity
		referral.OwnedCode
	}
	args := []any{string(tenant)}
	for _, u := range page {
		args = append(args, string(u.Account), string(u.ID))
	}
	rows, err := r.QueryContext(ctx, ownedColumns+`
		WHERE tenant = ? AND (account_id, user_id) IN (VALUES `+strings.TrimSuffix(strings.Repeat("(?, ?), ", len(page)), ", ")+`)
		ORDER BY program, rowid`, args...)
	all, err := store.Collect(rows, err, "codes of users", func(rows *sql.Rows, o *owned) error {
		return ScanOwned(rows, &o.owner, &o.OwnedCode)
	})
	stored := map[referral.Identity][]referral.OwnedCode{}
	for _, o := range all {
		stored[o.owner] = append(stored[o.owner], o.OwnedCode)
	}
	for i, u := range page {
		page[i].Codes, page[i].Links = referral.Primary(stored[referral.Identity{Account: u.Account, User: u.ID}])
	}
	return err
}

// AppendCode adds a code to the rows of PutCodes.
func AppendCode(t *store.Tuples, c referral.UserCode, owner referral.Identity) {
	t.Row()
	t.Text(string(c.Code), string(c.Program), string(owner.Account), string(owner.User))
}

// PutCodes adds those codes that no user of the tenant has. AppendCode adds its rows.
var PutCodes = &store.Put{
	Table: "code", Columns: store.Columns("code, program, account_id, user_id"), At: store.Columns("created_at"),
	Conflict: `ON CONFLICT (tenant, code) DO NOTHING`,
}
