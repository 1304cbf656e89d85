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
	var segments string
	err = r.q.QueryRowContext(ctx, `SELECT account_id, id, first_name, last_name, email, image_url, locale, country_code,
			referable, custom_fields, segments, created_at
		FROM user WHERE tenant = ? AND account_id = ? AND id = ?`, string(tenant), string(account), string(id)).
		Scan(&u.Account, &u.ID, &u.FirstName, &u.LastName, &u.Email, &u.ImageURL, &u.Locale, &u.CountryCode,
			&u.Referable, &u.CustomFields, &segments, &u.Created)
	if errors.Is(err, sql.ErrNoRows) {
		return u, false, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(segments), &u.Segments)
	}
	if err != nil {
		return u, false, fmt.Errorf("store: user: %w", err)
	}
	u.Codes, err = r.codesOf(ctx, tenant, account, id)
	return u, true, err
}

// UserKnown reports whether a user exists.
func (r Reads) UserKnown(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (known bool, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM user WHERE tenant = ? AND account_id = ? AND id = ?)`,
		string(tenant), string(account), string(id)).Scan(&known)
	if err != nil {
		return false, fmt.Errorf("store: user known: %w", err)
	}
	return known, nil
}

// FirstUser returns the user of an account that was identified first, or "".
func (r Reads) FirstUser(ctx context.Context, tenant core.TenantAlias, account core.AccountID) (id core.UserID, email string, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT id, email FROM user WHERE tenant = ? AND account_id = ?
		ORDER BY created_at, id LIMIT 1`, string(tenant), string(account)).Scan(&id, &email)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("store: first user: %w", err)
	}
	return id, email, nil
}

// PutUser stores a user, but for the codes, which have their own rows.
func (tx *Tx) PutUser(ctx context.Context, tenant core.TenantAlias, u referral.User) error {
	segments, err := json.Marshal(append([]string{}, u.Segments...))
	if err != nil {
		return err
	}
	return tx.exec(ctx, "put user", `INSERT INTO user (tenant, account_id, id, first_name, last_name, email, image_url,
			locale, country_code, referable, custom_fields, segments, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, account_id, id) DO UPDATE SET first_name = excluded.first_name,
			last_name = excluded.last_name, email = excluded.email, image_url = excluded.image_url,
			locale = excluded.locale, country_code = excluded.country_code, referable = excluded.referable,
			custom_fields = excluded.custom_fields, segments = excluded.segments, updated_at = excluded.updated_at`,
		string(tenant), string(u.Account), string(u.ID), u.FirstName, u.LastName, u.Email, u.ImageURL,
		u.Locale, u.CountryCode, u.Referable, u.CustomFields, string(segments), int64(u.Created), int64(tx.Now))
}
