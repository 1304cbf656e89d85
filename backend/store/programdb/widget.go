package programdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/widget"
	"kith/core/wire"
)

// widgetColumns are the columns of a widget, without the template.
var widgetColumns = store.Selection[widget.Stored]{
	store.Col(`program`, func(s *widget.Stored) any { return &s.Type.Program }),
	store.Col(`key`, func(s *widget.Stored) any { return &s.Type.Key }),
	store.Col(`options`, func(s *widget.Stored) any { return &s.Options }),
	store.Col(`branding`, func(s *widget.Stored) any { return &s.Branding }),
	store.Col(`widget_values`, func(s *widget.Stored) any { return &s.Values }),
	store.Col(`modified_at`, func(s *widget.Stored) any { return &s.Modified }),
}

var wholeWidgetColumns = store.Selection[widget.Stored]{
	store.Col(`template`, func(s *widget.Stored) any { return &s.Template }),
}.With(widgetColumns)

// Widget returns a tenant's changes to a widget; ok is false if it has none.
func Widget(ctx context.Context, r store.Reads, tenant core.TenantAlias, t widget.Type) (s widget.Stored, ok bool, err error) {
	ok, err = wholeWidgetColumns.One(r.QueryRowContext(ctx, `SELECT `+wholeWidgetColumns.SQL()+` FROM widget
		WHERE tenant = ? AND program = ? AND key = ?`, string(tenant), string(t.Program), string(t.Key)), "widget", &s)
	s.Type = t
	return s, ok, err
}

// Widgets returns a page of a tenant's changed widgets, without the templates, and
// the total number.
func Widgets(ctx context.Context, r store.Reads, tenant core.TenantAlias, limit, offset int) (page []widget.Stored, total int, err error) {
	rows, err := r.QueryContext(ctx, `SELECT `+widgetColumns.SQL()+` FROM widget
		WHERE tenant = ? ORDER BY program, key LIMIT ? OFFSET ?`, string(tenant), limit, offset)
	page, err = widgetColumns.All(rows, err, "widgets")
	return store.Counted(ctx, r, page, err, "count widgets", `SELECT count(*) FROM widget WHERE tenant = ?`, string(tenant))
}

// PutWidget stores a tenant's changes to a widget.
func PutWidget(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, s widget.Stored) error {
	return tx.Exec(ctx, "put widget", `INSERT INTO widget (tenant, program, key, template, options, branding, widget_values, modified_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (tenant, program, key) DO UPDATE SET template = excluded.template, options = excluded.options,
			branding = excluded.branding, widget_values = excluded.widget_values, modified_at = excluded.modified_at`,
		string(tenant), string(s.Type.Program), string(s.Type.Key), s.Template, s.Options, s.Branding, s.Values, int64(tx.Now))
}

// DeleteWidget deletes a tenant's changes to a widget.
func DeleteWidget(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, t widget.Type) error {
	return tx.Exec(ctx, "delete widget", `DELETE FROM widget WHERE tenant = ? AND program = ? AND key = ?`,
		string(tenant), string(t.Program), string(t.Key))
}

// DeleteWidgets deletes a tenant's changes to the widgets of a program.
func DeleteWidgets(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, program core.ProgramKey) error {
	return tx.Exec(ctx, "delete widgets", `DELETE FROM widget WHERE tenant = ? AND program = ?`, string(tenant), string(program))
}

var widgetReferralColumns = store.Selection[wire.WidgetReferral]{
	store.Col(`coalesce(u.first_name, '')`, func(w *wire.WidgetReferral) any { return &w.FirstName }),
	store.Col(`coalesce(u.last_name, '')`, func(w *wire.WidgetReferral) any { return &w.LastName }),
	store.Col(`r.started_at`, func(w *wire.WidgetReferral) any { return &w.Started }),
	store.Col(`coalesce(r.converted_at, 0)`, func(w *wire.WidgetReferral) any { return &w.Converted }),
	store.Col(`coalesce(r.ended_at, 0)`, func(w *wire.WidgetReferral) any { return &w.Ended }),
	store.Col(`coalesce((SELECT min(w.reversed > 0 AND w.reversed >= w.value AND w.cancelled_at IS NULL) FROM reward w
		WHERE w.tenant = r.tenant AND w.referral_id = r.id AND w.source = 'FRIEND_SIGNUP'), 0)`, func(w *wire.WidgetReferral) any { return &w.Returned }),
}

// WidgetReferrals returns the latest referrals that a user made in a program, with
// the names of the referred users, and the total number.
func WidgetReferrals(ctx context.Context, r store.Reads, tenant core.TenantAlias, program core.ProgramKey, user referral.Identity, limit int) (page []wire.WidgetReferral, total int, err error) {
	const where = ` FROM referral r LEFT JOIN user u
			ON u.tenant = r.tenant AND u.account_id = r.referred_account_id AND u.id = r.referred_user_id
		WHERE r.tenant = ? AND r.referrer_account_id = ? AND r.referrer_user_id = ? AND r.program = ?`
	args := []any{string(tenant), string(user.Account), string(user.User), string(program)}
	// The plus makes SQLite sort the few rows of the user, instead of reading all
	// referrals of the tenant in the order of their start.
	rows, err := r.QueryContext(ctx, `SELECT `+widgetReferralColumns.SQL()+where+` ORDER BY +r.started_at DESC, r.id DESC LIMIT ?`, append(args, limit)...)
	page, err = widgetReferralColumns.All(rows, err, "widget referrals")
	return store.Counted(ctx, r, page, err, "count widget referrals", `SELECT count(*)`+where, args...)
}

// WidgetDue returns the number of a user's rewards on one side of a program that wait
// for codes of a fuel tank.
func WidgetDue(ctx context.Context, r store.Reads, tenant core.TenantAlias, program core.ProgramKey, side referral.SideKey, user referral.Identity) (int, error) {
	// SQLite would read all referrals of the tenant in an index that has all columns.
	index := ``
	if side == referral.ReferrerSide {
		index = `INDEXED BY referral_referrer`
	}
	return store.One[int](ctx, r, "count due rewards", `SELECT count(*) FROM referral r `+index+` CROSS JOIN fuel_due d
			ON d.tenant = r.tenant AND d.referral_id = r.id AND d.key = ?1 AND d.program = ?3
		WHERE r.tenant = ?2 AND r.program = ?3 AND r.`+string(side)+`_account_id = ?4 AND r.`+string(side)+`_user_id = ?5`,
		string(side), string(tenant), string(program), string(user.Account), string(user.User))
}
