package userdb

import (
	"context"
	"encoding/json"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
)

// UsersByID returns those users of a list that exist, with their codes, in no order.
func UsersByID(ctx context.Context, r store.Reads, tenant core.TenantAlias, ids []referral.Identity) ([]referral.User, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+UserColumns.SQL()+` FROM json_each(?2) given CROSS JOIN user u
		ON u.tenant = ?1 AND u.account_id = given.value ->> 0 AND u.id = given.value ->> 1`, string(tenant), store.Identities(ids))
	found, err := UserColumns.All(rows, err, "users by id")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, attachCodes(ctx, r, tenant, found)
}

// User returns a user with the newest code and share link of each program; ok is false
// if the user does not exist.
func User(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, id core.UserID) (u referral.User, ok bool, err error) {
	ok, err = UserColumns.One(r.QueryRowContext(ctx, `SELECT `+UserColumns.SQL()+` FROM user u
		WHERE u.tenant = ? AND u.account_id = ? AND u.id = ?`, string(tenant), string(account), string(id)), "user", &u)
	if err != nil || !ok {
		return u, false, err
	}
	u.Codes, u.Links, err = codesOf(ctx, r, tenant, account, id)
	return u, true, err
}

// UserColumns select a user u without the codes, which have their own rows.
var UserColumns = store.Selection[referral.User]{
	store.Col(`u.account_id`, func(u *referral.User) any { return &u.Account }),
	store.Col(`u.id`, func(u *referral.User) any { return &u.ID }),
	store.Col(`u.first_name`, func(u *referral.User) any { return &u.FirstName }),
	store.Col(`u.last_name`, func(u *referral.User) any { return &u.LastName }),
	store.Col(`u.email`, func(u *referral.User) any { return &u.Email }),
	store.Col(`u.image_url`, func(u *referral.User) any { return &u.ImageURL }),
	store.Col(`u.locale`, func(u *referral.User) any { return &u.Locale }),
	store.Col(`u.country_code`, func(u *referral.User) any { return &u.CountryCode }),
	store.Col(`u.referable`, func(u *referral.User) any { return &u.Referable }),
	store.Col(`u.custom_fields`, func(u *referral.User) any { return &u.CustomFields }),
	store.Col(`u.segments`, func(u *referral.User) any { return jsonList{&u.Segments} }),
	store.Col(`u.cookie_id`, func(u *referral.User) any { return &u.CookieID }),
	store.Col(`u.first_seen_ip`, func(u *referral.User) any { return &u.FirstSeenIP }),
	store.Col(`u.last_seen_ip`, func(u *referral.User) any { return &u.LastSeenIP }),
	store.Col(`coalesce(u.us_tax_form_at, 0)`, func(u *referral.User) any { return &u.USTaxForm }),
	store.Col(`u.created_at`, func(u *referral.User) any { return &u.Created }),
	store.Col(`coalesce(u.blocked_at, 0)`, func(u *referral.User) any { return &u.Blocked }),
	store.Col(`coalesce(u.blocked_rewards, '')`, func(u *referral.User) any { return &u.BlockedRewards }),
}

// jsonList scans a JSON array of texts.
type jsonList struct{ into *[]string }

// Scan implements sql.Scanner.
func (l jsonList) Scan(value any) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("store: a list is %T, not text", value)
	}
	return json.Unmarshal([]byte(text), l.into)
}

// UserExists reports whether a user exists.
func UserExists(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, id core.UserID) (bool, error) {
	return store.One[bool](ctx, r, "user known", `SELECT EXISTS (SELECT 1 FROM user WHERE tenant = ? AND account_id = ? AND id = ?)`,
		string(tenant), string(account), string(id))
}

// FirstUser returns the oldest user of an account; of several created at the same time,
// the one with the lowest id. ok is false if the account has no user.
func FirstUser(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID) (u referral.User, ok bool, err error) {
	id, err := store.OneOrZero[core.UserID](ctx, r, "first user", `SELECT id FROM user WHERE tenant = ? AND account_id = ? ORDER BY created_at, id LIMIT 1`,
		string(tenant), string(account))
	if err != nil || id == "" {
		return u, false, err
	}
	return User(ctx, r, tenant, account, id)
}

// AppendUser adds a user to the rows of PutUsers. terms are the search terms of a new
// user, or "".
func AppendUser(t *store.Tuples, u referral.User, terms string) {
	t.Row()
	t.Text(string(u.Account), string(u.ID), u.FirstName, u.LastName, u.Email, u.ImageURL, u.Locale, u.CountryCode)
	t.Boolean(u.Referable)
	t.Text(u.CustomFields)
	t.Texts(u.Segments)
	t.Text(u.CookieID, u.FirstSeenIP, u.LastSeenIP)
	t.Time(u.USTaxForm, u.Created)
	t.Text(terms)
}

// PutUsers inserts or updates users. AppendUser adds its rows. It does not change the
// search terms of a user who exists; ChangeTerms does.
var PutUsers = &store.Put{
	Table: "user", Columns: store.Columns(`account_id, id, first_name, last_name, email, image_url, locale, country_code, referable,
		custom_fields, segments, cookie_id, first_seen_ip, last_seen_ip, us_tax_form_at, created_at, terms`), At: store.Columns("updated_at"),
	Conflict: `ON CONFLICT (tenant, account_id, id) DO UPDATE SET first_name = excluded.first_name,
		last_name = excluded.last_name, email = excluded.email, image_url = excluded.image_url,
		locale = excluded.locale, country_code = excluded.country_code, referable = excluded.referable,
		custom_fields = excluded.custom_fields, segments = excluded.segments,
		first_seen_ip = excluded.first_seen_ip, last_seen_ip = excluded.last_seen_ip,
		us_tax_form_at = excluded.us_tax_form_at, updated_at = excluded.updated_at`,
}
