package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
)

// Program returns a program of a tenant, or a not-found error.
func (r Reads) Program(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) (referral.Program, error) {
	return r.program(ctx, programQuery+` WHERE p.tenant = ? AND p.key = ?`, string(tenant), string(key))
}

// FirstProgram returns the program that was made first: where a share link of
// an unknown code leads.
func (r Reads) FirstProgram(ctx context.Context, tenant core.TenantAlias) (referral.Program, error) {
	return r.program(ctx, programQuery+` WHERE p.tenant = ? ORDER BY p.created_at, p.key LIMIT 1`, string(tenant))
}

// Programs returns the programs of a tenant, the first made first.
func (r Reads) Programs(ctx context.Context, tenant core.TenantAlias) ([]referral.Program, error) {
	rows, err := r.q.QueryContext(ctx, programQuery+` WHERE p.tenant = ? ORDER BY p.created_at, p.key`, string(tenant))
	return collect(rows, err, "programs", func(rows *sql.Rows, p *referral.Program) error { return scanProgram(rows, p) })
}

// ProgramKeys returns the keys of a tenant's programs, the first made first.
func (r Reads) ProgramKeys(ctx context.Context, tenant core.TenantAlias) ([]core.ProgramKey, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT key FROM program WHERE tenant = ? ORDER BY created_at, key`, string(tenant))
	return collect(rows, err, "program keys", func(rows *sql.Rows, key *core.ProgramKey) error { return rows.Scan(key) })
}

const programQuery = `SELECT p.key, p.name, p.landing_url, p.allowed_hosts, p.cookie_life,
		p.most_rewards, p.most_in_period, p.reward_period, p.most_discount,
		p.fraud_handling, p.fraud_signals, p.daily_rewards, p.created_at, p.updated_at,
		coalesce(a.kind, ''), coalesce(a.percent, 0), coalesce(a.amount, 0), coalesce(a.unit, ''), coalesce(a.currency, ''),
		coalesce(a.name, ''), coalesce(a.description, ''), coalesce(a.settings, ''), coalesce(a.valid_for, 0),
		coalesce(a.given_after, 0),
		coalesce(b.kind, ''), coalesce(b.percent, 0), coalesce(b.amount, 0), coalesce(b.unit, ''), coalesce(b.currency, ''),
		coalesce(b.name, ''), coalesce(b.description, ''), coalesce(b.settings, ''), coalesce(b.valid_for, 0),
		coalesce(b.given_after, 0)
	FROM program p
	LEFT JOIN program_reward a ON a.tenant = p.tenant AND a.program = p.key AND a.key = 'referrer'
	LEFT JOIN program_reward b ON b.tenant = p.tenant AND b.program = p.key AND b.key = 'referred'`

func (r Reads) program(ctx context.Context, query string, args ...any) (p referral.Program, err error) {
	err = scanProgram(r.q.QueryRowContext(ctx, query, args...), &p)
	if errors.Is(err, sql.ErrNoRows) {
		return p, unknownProgram()
	}
	if err != nil {
		return p, fmt.Errorf("store: program: %w", err)
	}
	return p, nil
}

// scanProgram reads a row of programQuery.
func unknownProgram() *core.Error { return core.NotFound("there is no such program") }

func scanProgram(row interface{ Scan(...any) error }, p *referral.Program) error {
	var hosts, signals string
	into := []any{
		&p.Key, &p.Name, &p.LandingURL, &hosts, &p.CookieLife,
		&p.Limits.Total, &p.Limits.InPeriod, &p.Limits.Period, &p.Limits.Discount,
		&p.Fraud.Handling, &signals, &p.Fraud.DailyRewards, &p.Created, &p.Modified,
	}
	if err := row.Scan(append(append(into, offerInto(&p.Referrer)...), offerInto(&p.Referred)...)...); err != nil {
		return err
	}
	err := json.Unmarshal([]byte(hosts), &p.AllowedHosts)
	if err == nil && signals != "{}" {
		err = json.Unmarshal([]byte(signals), &p.Fraud.BySignal)
	}
	return err
}

func offerInto(o *reward.Offer) []any {
	return []any{
		&o.Kind, &o.Percent, &o.Amount, &o.Unit, &o.Currency, &o.Name, &o.Description, &o.Settings, &o.ValidFor, &o.GivenAfter,
	}
}

// InsertProgram adds a program; false means that the key is taken.
func (tx *Tx) InsertProgram(ctx context.Context, tenant core.TenantAlias, p referral.Program) (bool, error) {
	args, err := programArgs(tenant, p, tx.Now)
	if err != nil {
		return false, err
	}
	added, err := tx.inserted(ctx, "program", `INSERT INTO program (name, landing_url, allowed_hosts, cookie_life,
			most_rewards, most_in_period, reward_period, most_discount, fraud_handling, fraud_signals, daily_rewards,
			updated_at, tenant, key, created_at)
		VALUES (`+placeholders(len(args)+1)+`) ON CONFLICT (tenant, key) DO NOTHING`, append(args, int64(tx.Now))...)
	if err != nil || !added {
		return false, err
	}
	return true, tx.putOffers(ctx, tenant, p)
}

// UpdateProgram stores a program that is there.
func (tx *Tx) UpdateProgram(ctx context.Context, tenant core.TenantAlias, p referral.Program) error {
	args, err := programArgs(tenant, p, tx.Now)
	if err != nil {
		return err
	}
	err = tx.exec(ctx, "update program", `UPDATE program SET name = ?, landing_url = ?, allowed_hosts = ?, cookie_life = ?,
			most_rewards = ?, most_in_period = ?, reward_period = ?, most_discount = ?, fraud_handling = ?,
			fraud_signals = ?, daily_rewards = ?, updated_at = ?
		WHERE tenant = ? AND key = ?`, args...)
	if err != nil {
		return err
	}
	return tx.putOffers(ctx, tenant, p)
}

// programArgs are the values of a program, then its tenant and its key.
func programArgs(tenant core.TenantAlias, p referral.Program, now core.Time) ([]any, error) {
	hosts, err := json.Marshal(append([]string{}, p.AllowedHosts...))
	if err != nil {
		return nil, err
	}
	signals := []byte("{}")
	if len(p.Fraud.BySignal) > 0 {
		if signals, err = json.Marshal(p.Fraud.BySignal); err != nil {
			return nil, err
		}
	}
	return []any{
		p.Name, p.LandingURL, string(hosts), int64(p.CookieLife),
		p.Limits.Total, p.Limits.InPeriod, int64(p.Limits.Period), int64(p.Limits.Discount),
		string(cmp.Or(p.Fraud.Handling, referral.HandleNone)), string(signals), p.Fraud.DailyRewards, int64(now),
		string(tenant), string(p.Key),
	}, nil
}

// putOffers stores what the sides of a program earn.
func (tx *Tx) putOffers(ctx context.Context, tenant core.TenantAlias, p referral.Program) error {
	if err := tx.exec(ctx, "delete offers", `DELETE FROM program_reward WHERE tenant = ? AND program = ?`, string(tenant), string(p.Key)); err != nil {
		return err
	}
	for _, side := range []struct {
		key   string
		offer reward.Offer
	}{{"referrer", p.Referrer}, {"referred", p.Referred}} {
		o := side.offer
		if o.None() {
			continue
		}
		err := tx.exec(ctx, "put offer", `INSERT INTO program_reward (tenant, program, key, kind, percent, amount, unit,
				currency, name, description, settings, valid_for, given_after)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			string(tenant), string(p.Key), side.key, string(o.Kind), int64(o.Percent), o.Amount, o.Unit, o.Currency,
			o.Name, o.Description, o.Settings, int64(o.ValidFor), int64(o.GivenAfter))
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteProgram removes a program. What refers to it must be gone.
func (tx *Tx) DeleteProgram(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) error {
	return tx.exec(ctx, "delete program", `DELETE FROM program WHERE tenant = ? AND key = ?`, string(tenant), string(key))
}

// ProgramUse counts the codes and the referrals of a program.
func (r Reads) ProgramUse(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) (codes, referrals int, err error) {
	err = r.q.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM code WHERE tenant = ?1 AND program = ?2),
			(SELECT count(*) FROM referral WHERE tenant = ?1 AND program = ?2)`, string(tenant), string(key)).
		Scan(&codes, &referrals)
	if err != nil {
		return 0, 0, fmt.Errorf("store: program use: %w", err)
	}
	return codes, referrals, nil
}

// Earned returns what a referrer has of rewards in a program that were not
// cancelled, and how many of them were given after a time.
func (r Reads) Earned(ctx context.Context, tenant core.TenantAlias, program core.ProgramKey, who referral.Identity, after core.Time) (e referral.Earned, err error) {
	err = r.q.QueryRowContext(ctx, earned,
		string(tenant), string(who.Account), string(who.User), string(program), int64(after)).Scan(&e.Total, &e.InPeriod)
	if err != nil {
		return e, fmt.Errorf("store: earned: %w", err)
	}
	return e, nil
}

// earned is read with the tenant, a referrer, the program and a time.
const earned = `SELECT count(*), count(*) FILTER (WHERE at > ?5)
		FROM (SELECT created_at AS at FROM reward
			WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3 AND program = ?4
				AND source = 'FRIEND_SIGNUP' AND cancelled_at IS NULL
			UNION ALL SELECT d.created_at FROM fuel_due d CROSS JOIN referral r ON r.tenant = d.tenant AND r.id = d.referral_id
			WHERE d.tenant = ?1 AND d.program = ?4 AND d.key = 'referrer'
				AND r.referrer_account_id = ?2 AND r.referrer_user_id = ?3)`

// collect scans all rows of a query.
func collect[T any](rows *sql.Rows, err error, what string, scan func(*sql.Rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(rows, &one); err != nil {
			return nil, fmt.Errorf("store: %s: %w", what, err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("store: %s: %w", what, err)
	}
	return all, nil
}
