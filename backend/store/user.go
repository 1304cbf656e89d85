package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/referral"
)

// User returns a user with the newest code of each program; ok is false when
// there is none.
func (r Reads) User(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (u referral.User, ok bool, err error) {
	err = scanUser(r.QueryRowContext(ctx, `SELECT `+userColumns+` FROM user u
		WHERE u.tenant = ? AND u.account_id = ? AND u.id = ?`, string(tenant), string(account), string(id)), &u)
	if errors.Is(err, sql.ErrNoRows) {
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("store: user: %w", err)
	}
	u.Codes, u.Links, err = r.codesOf(ctx, tenant, account, id)
	return u, true, err
}

const userColumns = `u.account_id, u.id, u.first_name, u.last_name, u.email, u.image_url, u.locale, u.country_code,
	u.referable, u.custom_fields, u.segments, u.cookie_id, u.first_seen_ip, u.last_seen_ip, coalesce(u.us_tax_form_at, 0),
	u.created_at, coalesce(u.blocked_at, 0)`

// scanUser reads userColumns; the codes have their own rows.
func scanUser(row interface{ Scan(...any) error }, u *referral.User) error {
	var segments string
	err := row.Scan(&u.Account, &u.ID, &u.FirstName, &u.LastName, &u.Email, &u.ImageURL, &u.Locale, &u.CountryCode,
		&u.Referable, &u.CustomFields, &segments, &u.CookieID, &u.FirstSeenIP, &u.LastSeenIP, &u.USTaxForm,
		&u.Created, &u.Blocked)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(segments), &u.Segments)
}

// UserKnown reports whether a user exists.
func (r Reads) UserKnown(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (known bool, err error) {
	err = r.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM user WHERE tenant = ? AND account_id = ? AND id = ?)`,
		string(tenant), string(account), string(id)).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("store: user known: %w", err)
	}
	return known, nil
}

// FirstUser returns the user of an account that was identified first; ok is
// false when there is none.
func (r Reads) FirstUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID) (u referral.User, ok bool, err error) {
	var id core.UserID
	err = r.QueryRowContext(ctx, `SELECT id FROM user WHERE tenant = ? AND account_id = ? ORDER BY created_at, id LIMIT 1`,
		string(tenant), string(account)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("store: first user: %w", err)
	}
	return r.User(ctx, tenant, account, id)
}

// PutUser stores a user, but for the codes, which have their own rows, for what
// blocks the user, see BlockUser, and for what they are found by, see PutTerms.
func (tx *Tx) PutUser(ctx context.Context, tenant core.TenantAlias, u referral.User) error {
	var rows tuples
	rows.user(u, "")
	return tx.put(ctx, putUsers, tenant, &rows)
}

// user adds a user, and what they are found by from the first, or nothing.
func (t *tuples) user(u referral.User, terms string) {
	t.row()
	t.text(string(u.Account), string(u.ID), u.FirstName, u.LastName, u.Email, u.ImageURL, u.Locale, u.CountryCode)
	t.boolean(u.Referable)
	t.text(u.CustomFields)
	t.texts(u.Segments)
	t.text(u.CookieID, u.FirstSeenIP, u.LastSeenIP)
	t.time(u.USTaxForm, u.Created)
	t.text(terms)
}

// putUsers stores users of a tenant: tuples.user of each. Of those who are there it
// does not change what they are found by.
var putUsers = &put{
	table: "user", columns: columns(`account_id, id, first_name, last_name, email, image_url, locale, country_code, referable,
		custom_fields, segments, cookie_id, first_seen_ip, last_seen_ip, us_tax_form_at, created_at, terms`), at: columns("updated_at"),
	conflict: `ON CONFLICT (tenant, account_id, id) DO UPDATE SET first_name = excluded.first_name,
		last_name = excluded.last_name, email = excluded.email, image_url = excluded.image_url,
		locale = excluded.locale, country_code = excluded.country_code, referable = excluded.referable,
		custom_fields = excluded.custom_fields, segments = excluded.segments,
		first_seen_ip = excluded.first_seen_ip, last_seen_ip = excluded.last_seen_ip,
		us_tax_form_at = excluded.us_tax_form_at, updated_at = excluded.updated_at`,
}

// BlockUser says since when a user may refer nobody; zero is not at all. False
// means that nothing changed: the user is not there, or is so already.
func (tx *Tx) BlockUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID, since core.Time) (bool, error) {
	return tx.changed(ctx, "block user", `UPDATE user SET blocked_at = ?4, updated_at = ?5
		WHERE tenant = ?1 AND account_id = ?2 AND id = ?3 AND (blocked_at IS NULL) <> (?4 IS NULL)`,
		string(tenant), string(account), string(id), nullTime(since), int64(tx.Now))
}
