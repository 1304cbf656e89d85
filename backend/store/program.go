package store

import (
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
	return r.program(ctx, `SELECT `+programColumns+` FROM program WHERE tenant = ? AND key = ?`, string(tenant), string(key))
}

// FirstProgram returns the program that was made first: where a share link of
// an unknown code leads.
func (r Reads) FirstProgram(ctx context.Context, tenant core.TenantAlias) (referral.Program, error) {
	return r.program(ctx, `SELECT `+programColumns+` FROM program WHERE tenant = ? ORDER BY created_at, key LIMIT 1`, string(tenant))
}

// Programs returns the keys of a tenant's programs, the first made first.
func (r Reads) Programs(ctx context.Context, tenant core.TenantAlias) ([]core.ProgramKey, error) {
	rows, err := r.q.QueryContext(ctx, `SELECT key FROM program WHERE tenant = ? ORDER BY created_at, key`, string(tenant))
	return collect(rows, err, "programs", func(rows *sql.Rows, key *core.ProgramKey) error { return rows.Scan(key) })
}

const programColumns = `key, name, landing_url, allowed_hosts, cookie_life,
	referred_kind, referred_percent, referred_amount, referred_currency,
	referrer_kind, referrer_percent, referrer_amount, referrer_currency`

func (r Reads) program(ctx context.Context, query string, args ...any) (referral.Program, error) {
	var p referral.Program
	var hosts string
	err := r.q.QueryRowContext(ctx, query, args...).Scan(
		&p.Key, &p.Name, &p.LandingURL, &hosts, &p.CookieLife,
		&p.Referred.Kind, &p.Referred.Percent, &p.Referred.Amount, &p.Referred.Currency,
		&p.Referrer.Kind, &p.Referrer.Percent, &p.Referrer.Amount, &p.Referrer.Currency)
	if errors.Is(err, sql.ErrNoRows) {
		return p, core.NotFound("there is no such program")
	}
	if err == nil {
		err = json.Unmarshal([]byte(hosts), &p.AllowedHosts)
	}
	if err != nil {
		return p, fmt.Errorf("store: program: %w", err)
	}
	return p, nil
}

// InsertProgram adds a program; false means that the key is taken.
func (tx *Tx) InsertProgram(ctx context.Context, tenant core.TenantAlias, p referral.Program) (bool, error) {
	hosts, err := json.Marshal(append([]string{}, p.AllowedHosts...))
	if err != nil {
		return false, err
	}
	args := []any{string(tenant), string(p.Key), p.Name, p.LandingURL, string(hosts), int64(p.CookieLife)}
	args = append(args, offerArgs(p.Referred)...)
	args = append(args, offerArgs(p.Referrer)...)
	return tx.inserted(ctx, "program", `INSERT INTO program (tenant, `+programColumns+`, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, key) DO NOTHING`,
		append(args, int64(tx.Now))...)
}

// SetLandingURL changes where a program lands.
func (tx *Tx) SetLandingURL(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey, url string) error {
	return tx.exec(ctx, "set landing url", `UPDATE program SET landing_url = ? WHERE tenant = ? AND key = ?`,
		url, string(tenant), string(key))
}

func offerArgs(o reward.Offer) []any {
	return []any{string(o.Kind), int64(o.Percent), o.Amount, o.Currency}
}

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
