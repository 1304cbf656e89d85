package userdb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// Code returns a code with its owner; the case of letters does not matter. ok is
// false if the code does not exist.
func Code(ctx context.Context, r store.Reads, tenant core.TenantAlias, code core.ReferralCode) (c referral.Code, ok bool, err error) {
	ok, err = CodeColumns.One(r.QueryRowContext(ctx, `SELECT `+CodeColumns.SQL()+` FROM code c
		JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND c.code = ?`, string(tenant), string(code)), "code", &c)
	return c, ok, err
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
	return store.List[core.ReferralCode](ctx, r, "codes that refer", `SELECT c.code
		FROM code c JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND c.code IN (`+store.Placeholders(len(codes))+`) AND u.blocked_at IS NULL`, args...)
}

// CodeColumns select a code c joined with its owner u.
var CodeColumns = store.Selection[referral.Code]{
	store.Col(`c.code`, func(c *referral.Code) any { return &c.Code }),
	store.Col(`c.program`, func(c *referral.Code) any { return &c.Program }),
	store.Col(`c.account_id`, func(c *referral.Code) any { return &c.Owner.Account }),
	store.Col(`c.user_id`, func(c *referral.Code) any { return &c.Owner.User }),
	store.Col(`c.created_at`, func(c *referral.Code) any { return &c.Created }),
	store.Col(`u.email`, func(c *referral.Code) any { return &c.Owner.Email }),
	store.Col(`u.first_name`, func(c *referral.Code) any { return &c.FirstName }),
	store.Col(`u.last_name`, func(c *referral.Code) any { return &c.LastName }),
	store.Col(`u.blocked_at IS NOT NULL`, func(c *referral.Code) any { return &c.Blocked }),
	store.Col(`c.link_only`, func(c *referral.Code) any { return &c.LinkOnly }),
}

// Owned is a code of a user.
type Owned struct {
	Owner referral.Identity
	referral.OwnedCode
}

// OwnedColumns select a code c of a user.
var OwnedColumns = store.Selection[Owned]{
	store.Col(`c.account_id`, func(o *Owned) any { return &o.Owner.Account }),
	store.Col(`c.user_id`, func(o *Owned) any { return &o.Owner.User }),
	store.Col(`c.program`, func(o *Owned) any { return &o.Program }),
	store.Col(`c.code`, func(o *Owned) any { return &o.Code }),
	store.Col(`c.link_only`, func(o *Owned) any { return &o.LinkOnly }),
	store.Col(`coalesce(c.linked_at, 0)`, func(o *Owned) any { return &o.Linked }),
}

// codesOf returns, for each program, the newest code of a user and the share link
// that was last given to the user.
func codesOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID) (codes, links []referral.UserCode, err error) {
	owned, err := OwnedCodes(ctx, r, tenant, account, user)
	codes, links = referral.Primary(owned)
	return codes, links, err
}

// attachCodes sets the codes and share links of users, as codesOf returns them.
func attachCodes(ctx context.Context, r store.Reads, tenant core.TenantAlias, page []referral.User) error {
	args := []any{string(tenant)}
	for _, u := range page {
		args = append(args, string(u.Account), string(u.ID))
	}
	rows, err := r.QueryContext(ctx, `SELECT `+OwnedColumns.SQL()+` FROM code c
		WHERE c.tenant = ? AND (c.account_id, c.user_id) IN (VALUES `+strings.TrimSuffix(strings.Repeat("(?, ?), ", len(page)), ", ")+`)
		ORDER BY c.program, c.rowid`, args...)
	all, err := OwnedColumns.All(rows, err, "codes of users")
	stored := map[referral.Identity][]referral.OwnedCode{}
	for _, o := range all {
		stored[o.Owner] = append(stored[o.Owner], o.OwnedCode)
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

// AnyCode returns a code of a user who is not blocked, and whether there is one.
func AnyCode(ctx context.Context, r store.Reads, tenant core.TenantAlias) (c referral.Code, ok bool, err error) {
	ok, err = CodeColumns.One(r.QueryRowContext(ctx, `SELECT `+CodeColumns.SQL()+` FROM code c
		CROSS JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id
		WHERE c.tenant = ? AND u.blocked_at IS NULL LIMIT 1`, string(tenant)), "any code", &c)
	return c, ok, err
}
