package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/referral"
	"kith/core/widget"
	"kith/core/wire"
)

// Widget returns what a tenant stored of a widget; ok is false when it stored
// nothing.
func (r Reads) Widget(ctx context.Context, tenant core.TenantAlias, t widget.Type) (s widget.Stored, ok bool, err error) {
	s.Type = t
	err = r.q.QueryRowContext(ctx, `SELECT template, options, branding, widget_values, modified_at FROM widget
		WHERE tenant = ? AND program = ? AND key = ?`, string(tenant), string(t.Program), string(t.Key)).
		Scan(&s.Template, &s.Options, &s.Branding, &s.Values, &s.Modified)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("store: widget: %w", err)
	}
	return s, true, nil
}

// Widgets returns a page of what a tenant stored, without the templates, and
// how much there is in all.
func (r Reads) Widgets(ctx context.Context, tenant core.TenantAlias, limit, offset int) (page []widget.Stored, total int, err error) {
	if err := r.q.QueryRowContext(ctx, `SELECT count(*) FROM widget WHERE tenant = ?`, string(tenant)).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count widgets: %w", err)
	}
	rows, err := r.q.QueryContext(ctx, `SELECT program, key, options, branding, widget_values, modified_at FROM widget
		WHERE tenant = ? ORDER BY program, key LIMIT ? OFFSET ?`, string(tenant), limit, offset)
	page, err = collect(rows, err, "widgets", func(rows *sql.Rows, s *widget.Stored) error {
		return rows.Scan(&s.Type.Program, &s.Type.Key, &s.Options, &s.Branding, &s.Values, &s.Modified)
	})
	return page, total, err
}

// PutWidget stores a widget.
func (tx *Tx) PutWidget(ctx context.Context, tenant core.TenantAlias, s widget.Stored) error {
	return tx.exec(ctx, "put widget", `INSERT INTO widget (tenant, program, key, template, options, branding, widget_values, modified_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, program, key) DO UPDATE SET template = excluded.template, options = excluded.options,
			branding = excluded.branding, widget_values = excluded.widget_values, modified_at = excluded.modified_at`,
		string(tenant), string(s.Type.Program), string(s.Type.Key), s.Template, s.Options, s.Branding, s.Values, int64(tx.Now))
}

// DeleteWidget forgets what a tenant stored of a widget.
func (tx *Tx) DeleteWidget(ctx context.Context, tenant core.TenantAlias, t widget.Type) error {
	return tx.exec(ctx, "delete widget", `DELETE FROM widget WHERE tenant = ? AND program = ? AND key = ?`,
		string(tenant), string(t.Program), string(t.Key))
}

// DeleteWidgets forgets what a tenant stored of the widgets of a program.
func (tx *Tx) DeleteWidgets(ctx context.Context, tenant core.TenantAlias, program core.ProgramKey) error {
	return tx.exec(ctx, "delete widgets", `DELETE FROM widget WHERE tenant = ? AND program = ?`, string(tenant), string(program))
}

// WidgetReferrals returns the latest referrals that a user made in a program,
// with the names of who was referred, and how many there are in all.
func (r Reads) WidgetReferrals(ctx context.Context, tenant core.TenantAlias, program core.ProgramKey, user referral.Identity, limit int) (page []wire.WidgetReferral, total int, err error) {
	const where = ` FROM referral r LEFT JOIN user u
			ON u.tenant = r.tenant AND u.account_id = r.referred_account_id AND u.id = r.referred_user_id
		WHERE r.tenant = ? AND r.referrer_account_id = ? AND r.referrer_user_id = ? AND r.program = ?`
	args := []any{string(tenant), string(user.Account), string(user.User), string(program)}
	if err := r.q.QueryRowContext(ctx, `SELECT count(*)`+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count widget referrals: %w", err)
	}
	// The plus keeps SQLite from walking all referrals of the tenant by their
	// start to spare itself the sorting of a few.
	rows, err := r.q.QueryContext(ctx, `SELECT coalesce(u.first_name, ''), coalesce(u.last_name, ''), r.started_at,
		coalesce(r.converted_at, 0), coalesce(r.ended_at, 0)`+where+` ORDER BY +r.started_at DESC, r.id DESC LIMIT ?`, append(args, limit)...)
	page, err = collect(rows, err, "widget referrals", func(rows *sql.Rows, w *wire.WidgetReferral) error {
		return rows.Scan(&w.FirstName, &w.LastName, &w.Started, &w.Converted, &w.Ended)
	})
	return page, total, err
}
