// Package programdb has the SQL of programs, widgets and share links.
package programdb

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// ByKey returns a program of a tenant, or a not-found error.
func ByKey(ctx context.Context, r store.Reads, tenant core.TenantAlias, key core.ProgramKey) (referral.Program, error) {
	return oneProgram(ctx, r, SelectPrograms+` WHERE p.tenant = ? AND p.key = ?`, string(tenant), string(key))
}

// First returns the oldest program of a tenant, or a not-found error. A share link
// with an unknown code leads to its landing page.
func First(ctx context.Context, r store.Reads, tenant core.TenantAlias) (referral.Program, error) {
	return oneProgram(ctx, r, SelectPrograms+` WHERE p.tenant = ? ORDER BY p.created_at, p.key LIMIT 1`, string(tenant))
}

// List returns the programs of a tenant, oldest first.
func List(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]referral.Program, error) {
	rows, err := r.QueryContext(ctx, SelectPrograms+` WHERE p.tenant = ? ORDER BY p.created_at, p.key`, string(tenant))
	return store.Collect(rows, err, "programs", func(rows *sql.Rows, p *referral.Program) error { return Scan(rows, p) })
}

// Keys returns the keys of a tenant's programs, oldest first.
func Keys(ctx context.Context, r store.Reads, tenant core.TenantAlias) ([]core.ProgramKey, error) {
	return store.List[core.ProgramKey](ctx, r, "program keys", `SELECT key FROM program WHERE tenant = ? ORDER BY created_at, key`, string(tenant))
}

// programRow is a program as stored: with its lists as JSON.
type programRow struct {
	referral.Program
	hosts, signals, conversion, invitations string
}

// settingColumns are the columns of the table program that people set.
var settingColumns = store.Selection[programRow]{
	store.Col(`name`, func(p *programRow) any { return &p.Name }),
	store.Col(`landing_url`, func(p *programRow) any { return &p.LandingURL }),
	store.Col(`allowed_hosts`, func(p *programRow) any { return &p.hosts }),
	store.Col(`cookie_life`, func(p *programRow) any { return &p.CookieLife }),
	store.Col(`utm_source`, func(p *programRow) any { return &p.UTMSource }),
	store.Col(`utm_campaign`, func(p *programRow) any { return &p.UTMCampaign }),
	store.Col(`most_rewards`, func(p *programRow) any { return &p.Limits.Total }),
	store.Col(`most_in_period`, func(p *programRow) any { return &p.Limits.InPeriod }),
	store.Col(`reward_period`, func(p *programRow) any { return &p.Limits.Period }),
	store.Col(`most_discount`, func(p *programRow) any { return &p.Limits.Discount }),
	store.Col(`fraud_handling`, func(p *programRow) any { return &p.Fraud.Handling }),
	store.Col(`fraud_signals`, func(p *programRow) any { return &p.signals }),
	store.Col(`daily_rewards`, func(p *programRow) any { return &p.Fraud.DailyRewards }),
	store.Col(`conversion`, func(p *programRow) any { return &p.conversion }),
	store.Col(`money_back`, func(p *programRow) any { return &p.MoneyBack }),
	store.Col(`invitations`, func(p *programRow) any { return &p.invitations }),
}

// offerColumns are the columns of the table program_reward for the offer to a side.
var offerColumns = store.Selection[reward.Offer]{
	store.Col(`kind`, func(o *reward.Offer) any { return &o.Kind }),
	store.Col(`percent`, func(o *reward.Offer) any { return &o.Percent }),
	store.Col(`amount`, func(o *reward.Offer) any { return &o.Amount }),
	store.Col(`unit`, func(o *reward.Offer) any { return &o.Unit }),
	store.Col(`currency`, func(o *reward.Offer) any { return &o.Currency }),
	store.Col(`name`, func(o *reward.Offer) any { return &o.Name }),
	store.Col(`description`, func(o *reward.Offer) any { return &o.Description }),
	store.Col(`settings`, func(o *reward.Offer) any { return &o.Settings }),
	store.Col(`valid_for`, func(o *reward.Offer) any { return &o.ValidFor }),
	store.Col(`given_after`, func(o *reward.Offer) any { return &o.GivenAfter }),
	store.Col(`of_revenue`, func(o *reward.Offer) any { return &o.OfRevenue }),
}

// SettingColumns and OfferColumns are the names of the columns of program and program_reward that
// people set. None has personal data.
var SettingColumns, OfferColumns = settingColumns.SQL(), offerColumns.SQL()

var programColumns = store.Selection[programRow]{
	store.Col(`p.key`, func(p *programRow) any { return &p.Key }),
	store.Col(`p.created_at`, func(p *programRow) any { return &p.Created }),
	store.Col(`p.updated_at`, func(p *programRow) any { return &p.Modified }),
}.With(
	store.Of(`p`, settingColumns),
	store.Nested(store.OrZero(store.Of(`a`, offerColumns)), func(p *programRow) *reward.Offer { return &p.Referrer }),
	store.Nested(store.OrZero(store.Of(`b`, offerColumns)), func(p *programRow) *reward.Offer { return &p.Referred }),
)

// SelectPrograms is the beginning of a statement that Scan reads: programs p with the
// offers to both sides.
var SelectPrograms = `SELECT ` + programColumns.SQL() + `
	FROM program p
	LEFT JOIN program_reward a ON a.tenant = p.tenant AND a.program = p.key AND a.key = 'referrer'
	LEFT JOIN program_reward b ON b.tenant = p.tenant AND b.program = p.key AND b.key = 'referred'`

func oneProgram(ctx context.Context, r store.Reads, query string, args ...any) (p referral.Program, err error) {
	err = Scan(r.QueryRowContext(ctx, query, args...), &p)
	if errors.Is(err, sql.ErrNoRows) {
		return p, unknownProgram()
	}
	if err != nil {
		return p, fmt.Errorf("store: program: %w", err)
	}
	return p, nil
}

func unknownProgram() *core.Error { return core.NotFound("there is no such program") }

// Scan reads a row of SelectPrograms.
func Scan(row store.Scanner, p *referral.Program) error {
	var read programRow
	if err := programColumns.Scan(row, &read); err != nil {
		return err
	}
	*p = read.Program
	err := json.Unmarshal([]byte(read.hosts), &p.AllowedHosts)
	if err == nil && read.signals != "{}" {
		err = json.Unmarshal([]byte(read.signals), &p.Fraud.BySignal)
	}
	if err == nil && read.conversion != "" {
		err = scanConversion(read.conversion, p)
	}
	if err == nil && read.invitations != "{}" {
		err = json.Unmarshal([]byte(read.invitations), &p.Invitations)
	}
	return err
}

// Insert adds a program. It returns false if the tenant has one with this key.
func Insert(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p referral.Program) (bool, error) {
	args, err := programArgs(tenant, p, tx.Now)
	if err != nil {
		return false, err
	}
	added, err := tx.Inserted(ctx, "program", `INSERT INTO program (`+settingColumns.SQL()+`, updated_at, tenant, key, created_at)
		VALUES (`+store.Placeholders(len(args)+1)+`) ON CONFLICT (tenant, key) DO NOTHING`, append(args, int64(tx.Now))...)
	if err != nil || !added {
		return false, err
	}
	if err := putVersion(ctx, tx, tenant, p, referral.Program{}); err != nil {
		return false, err
	}
	return true, putOffers(ctx, tx, tenant, p)
}

// Update stores the settings of a program that exists. before is the stored program.
func Update(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p, before referral.Program) error {
	if err := putVersion(ctx, tx, tenant, p, before); err != nil {
		return err
	}
	args, err := programArgs(tenant, p, tx.Now)
	if err != nil {
		return err
	}
	err = tx.Exec(ctx, "update program", `UPDATE program SET `+store.Set(settingColumns)+`, updated_at = ? WHERE tenant = ? AND key = ?`, args...)
	if err != nil {
		return err
	}
	return putOffers(ctx, tx, tenant, p)
}

// programArgs returns the values of settingColumns, then the time, the tenant and the key.
func programArgs(tenant core.TenantAlias, p referral.Program, now core.Time) ([]any, error) {
	row := programRow{Program: p, signals: "{}", invitations: "{}"}
	row.Fraud.Handling = cmp.Or(p.Fraud.Handling, referral.HandleNone)
	hosts, err := json.Marshal(append([]string{}, p.AllowedHosts...))
	if err != nil {
		return nil, err
	}
	row.hosts = string(hosts)
	if len(p.Fraud.BySignal) > 0 {
		signals, err := json.Marshal(p.Fraud.BySignal)
		if err != nil {
			return nil, err
		}
		row.signals = string(signals)
	}
	if len(p.Invitations) > 0 {
		invitations, err := json.Marshal(p.Invitations)
		if err != nil {
			return nil, err
		}
		row.invitations = string(invitations)
	}
	if row.conversion, err = conversionText(p); err != nil {
		return nil, err
	}
	args, err := store.Values(settingColumns, &row)
	return append(args, int64(now), string(tenant), string(p.Key)), err
}

// putOffers replaces the offers to the sides of a program.
func putOffers(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p referral.Program) error {
	if err := tx.Exec(ctx, "delete offers", `DELETE FROM program_reward WHERE tenant = ? AND program = ?`, string(tenant), string(p.Key)); err != nil {
		return err
	}
	for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
		offer := p.Earning(side).Offer
		if offer.None() {
			continue
		}
		args, err := store.Values(offerColumns, &offer)
		if err != nil {
			return err
		}
		err = tx.Exec(ctx, "put offer", `INSERT INTO program_reward (`+offerColumns.SQL()+`, tenant, program, key)
			VALUES (`+store.Placeholders(len(args)+3)+`)`, append(args, string(tenant), string(p.Key), string(side))...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a program. It fails if a code or referral refers to the program; see
// Usage.
func Delete(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, key core.ProgramKey) error {
	return tx.Exec(ctx, "delete program", `DELETE FROM program WHERE tenant = ? AND key = ?`, string(tenant), string(key))
}

// Usage returns the numbers of codes and referrals of a program.
func Usage(ctx context.Context, r store.Reads, tenant core.TenantAlias, key core.ProgramKey) (codes, referrals int, err error) {
	err = r.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM code WHERE tenant = ?1 AND program = ?2),
			(SELECT count(*) FROM referral WHERE tenant = ?1 AND program = ?2)`, string(tenant), string(key)).
		Scan(&codes, &referrals)
	if err != nil {
		return 0, 0, fmt.Errorf("store: program use: %w", err)
	}
	return codes, referrals, nil
}

// EarnedColumns are the columns of SelectEarned.
var EarnedColumns = store.Selection[referral.Earned]{
	store.Col(`count(*)`, func(e *referral.Earned) any { return &e.Total }),
	store.Col(`count(*) FILTER (WHERE at > ?5)`, func(e *referral.Earned) any { return &e.InPeriod }),
	store.Col(`(SELECT count(*) FROM referral c WHERE c.tenant = ?1 AND c.referrer_account_id = ?2 AND c.referrer_user_id = ?3
		AND c.program = ?4 AND c.state = 'converted')`, func(e *referral.Earned) any { return &e.Conversions }),
}

// SelectEarned counts the rewards that a referrer has earned in a program. Its
// parameters are the tenant, the referrer's account and user, the program, and the
// start of the period.
var SelectEarned = `SELECT ` + EarnedColumns.SQL() + `
		FROM (SELECT created_at AS at FROM reward
			WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3 AND program = ?4
				AND source = 'FRIEND_SIGNUP' AND cancelled_at IS NULL AND value > reversed
			UNION ALL SELECT d.created_at FROM fuel_due d CROSS JOIN referral r ON r.tenant = d.tenant AND r.id = d.referral_id
			WHERE d.tenant = ?1 AND d.program = ?4 AND d.key = 'referrer'
				AND r.referrer_account_id = ?2 AND r.referrer_user_id = ?3)`
