// Package tenantdb has the SQL of tenants: their settings, API keys, SFTP keys,
// origins and sites.
package tenantdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
)

// Tenant is a stored tenant.
type Tenant struct {
	Alias core.TenantAlias
	// Keys are the tenant's API keys.
	Keys auth.APIKeys
	// DiscountID is the id of the tenant's discount at the payment gateway.
	DiscountID string
	// Policy says whether a visitor's consent is required for the cookie.
	Policy link.Policy
	// SecureMode says which callers each endpoint accepts.
	SecureMode auth.SecureMode
	// BrowserPayment says which calls of a browser may make an account PAID.
	BrowserPayment auth.BrowserPayment
	// ShareOrigin is the origin of share links, such as https://go.shop.example. If
	// it is empty, it is the service's own origin, or that of Landing.
	ShareOrigin string
	// Landing is the landing page of the program "classic", or without it, of the
	// program with the lowest key. It is empty if the tenant has no program.
	Landing string
	// InitChecksum is true if the checksum of an init call is accepted (see
	// wire.VerifyChecksum), UndatedTokens if a user token without exp is.
	InitChecksum, UndatedTokens bool
	// UndatedRefused is the number of calls that were refused for such a token, and
	// UndatedLast when the last one was; it is zero if there is none.
	UndatedRefused int
	UndatedLast    core.Time
	// SquatchParameter says whether landing pages get the parameter _saasquatch.
	SquatchParameter link.SquatchParameter
	// APIKeyTokens is true if a user token signed with an API key is accepted.
	APIKeyTokens bool
	// RememberDeleted is for how long a deleted account is recognised when it is made again;
	// zero: it is not.
	RememberDeleted core.Time
	// LinkMaxAge is for how long edges keep where the tenant's links lead, and look-ups of its
	// codes; an edge's own limit may be lower.
	LinkMaxAge core.Time
	// CodeNames is true if look-ups of codes name the referrer.
	CodeNames bool
	// SecondStep is true if members who have a password must sign in with two steps. That of
	// the live tenant counts.
	SecondStep bool
	// ExportDates is the format of dates in exports.
	ExportDates job.Dates
	// TimeZone is the name of the time zone in which people read times, such as Europe/Berlin;
	// if it is empty, that is the one of their browser, and UTC in files.
	TimeZone string
	Created  core.Time
}

// tenantRow is a tenant as stored: with keys and secure modes as text.
type tenantRow struct {
	Tenant
	keys, modes string
}

var tenantRowColumns = store.Selection[tenantRow]{
	store.Col(`alias`, func(t *tenantRow) any { return &t.Alias }),
	store.Col(`coalesce((`+auth.Keys+`), '')`, func(t *tenantRow) any { return &t.keys }),
	store.Col(`discount_id`, func(t *tenantRow) any { return &t.DiscountID }),
	store.Col(`consent`, func(t *tenantRow) any { return &t.Policy.Consent }),
	store.Col(`consent_cookie`, func(t *tenantRow) any { return &t.Policy.ConsentCookie }),
	store.Col(`browser_payment`, func(t *tenantRow) any { return &t.BrowserPayment }),
	store.Col(`share_origin`, func(t *tenantRow) any { return &t.ShareOrigin }),
	store.Col(`init_checksum`, func(t *tenantRow) any { return &t.InitChecksum }),
	store.Col(`undated_tokens`, func(t *tenantRow) any { return &t.UndatedTokens }),
	store.Col(`squatch_parameter`, func(t *tenantRow) any { return &t.SquatchParameter }),
	store.Col(`undated_refused`, func(t *tenantRow) any { return &t.UndatedRefused }),
	store.Col(`coalesce(undated_refused_at, 0)`, func(t *tenantRow) any { return &t.UndatedLast }),
	store.Col(`api_key_tokens`, func(t *tenantRow) any { return &t.APIKeyTokens }),
	store.Col(`export_dates`, func(t *tenantRow) any { return &t.ExportDates }),
	store.Col(`time_zone`, func(t *tenantRow) any { return &t.TimeZone }),
	store.Col(`remember_deleted`, func(t *tenantRow) any { return &t.RememberDeleted }),
	store.Col(`link_max_age`, func(t *tenantRow) any { return &t.LinkMaxAge }),
	store.Col(`code_names`, func(t *tenantRow) any { return &t.CodeNames }),
	store.Col(`second_step`, func(t *tenantRow) any { return &t.SecondStep }),
	store.Col(`created_at`, func(t *tenantRow) any { return &t.Created }),
	store.Col(`coalesce((SELECT landing_url FROM program WHERE tenant = alias ORDER BY key <> 'classic', key LIMIT 1), '')`, func(t *tenantRow) any { return &t.Landing }),
	store.Col(`(SELECT coalesce(group_concat(endpoint || '=' || mode), '') FROM secure_mode WHERE tenant = alias)`, func(t *tenantRow) any { return &t.modes }),
}

// Find returns a tenant by its alias, or core.UnknownTenant. The alias must match in
// case.
func Find(ctx context.Context, r store.Reads, alias core.TenantAlias) (Tenant, error) {
	var row tenantRow
	err := tenantRowColumns.Scan(r.QueryRowContext(ctx, `SELECT `+tenantRowColumns.SQL()+` FROM tenant WHERE alias = ?1`, string(alias)), &row)
	if errors.Is(err, sql.ErrNoRows) {
		return Tenant{}, core.UnknownTenant()
	}
	t := row.Tenant
	t.Keys = auth.ParseKeys(row.keys)
	if err == nil {
		t.SecureMode, err = auth.DefaultSecureMode().With("", row.modes)
	}
	if err != nil {
		return Tenant{}, fmt.Errorf("store: tenant: %w", err)
	}
	return t, nil
}

// Insert adds a tenant with its alias, discount, policy and time, and with defaults
// for all other settings. It returns false if the alias is taken; see FindAlias. Edges get a report
// of it: they may keep answers of a tenant that was erased and had the alias.
func Insert(ctx context.Context, tx *store.Tx, t Tenant) (bool, error) {
	inserted, err := tx.Inserted(ctx, "tenant", `INSERT INTO tenant
		(alias, key_hash, key_sealed, discount_id, consent, consent_cookie, browser_payment, created_at)
		SELECT ?1, ?1, '', ?2, ?3, ?4, 'signed', ?5 WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE lower(alias) = lower(?1))`,
		string(t.Alias), t.DiscountID, string(t.Policy.Consent), t.Policy.ConsentCookie, int64(t.Created))
	if err == nil && inserted {
		err = tx.Exec(ctx, "report tenant", `INSERT INTO edge_edit (tenant) VALUES (?)`, string(t.Alias))
	}
	return inserted, err
}

// FindAlias returns the alias of an existing tenant that equals the given one in any
// case, or "".
func FindAlias(ctx context.Context, r store.Reads, alias core.TenantAlias) (core.TenantAlias, error) {
	return store.OneOrZero[core.TenantAlias](ctx, r, "tenant named",
		`SELECT alias FROM tenant WHERE lower(alias) = lower(?1) ORDER BY alias <> ?1 LIMIT 1`, string(alias))
}

// TurnOnSquatchParameter sets SquatchParameter to on, if it is auto.
func TurnOnSquatchParameter(ctx context.Context, tx *store.Tx, tenant core.TenantAlias) error {
	return tx.Exec(ctx, "turn on _saasquatch", `UPDATE tenant SET squatch_parameter = 'on' WHERE alias = ? AND squatch_parameter = 'auto'`, string(tenant))
}

// UndatedSpan is for how long refused calls are remembered after the last one.
const UndatedSpan = 7 * core.Day

// RecordUndated adds calls that were refused for a token without exp, the last one at the time
// of the transaction. The count begins again at 0 after a week without one.
func RecordUndated(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, times int) error {
	return tx.Exec(ctx, "record undated tokens", `UPDATE tenant SET undated_refused_at = ?1,
		undated_refused = ?2 + CASE WHEN undated_refused_at > ?3 THEN undated_refused ELSE 0 END WHERE alias = ?4`,
		int64(tx.Now), times, int64(tx.Now-UndatedSpan), string(tenant))
}

// ListTenants returns alias and Created of all tenants, by alias.
func ListTenants(ctx context.Context, r store.Reads) ([]Tenant, error) {
	columns := store.Selection[Tenant]{
		store.Col(`alias`, func(t *Tenant) any { return &t.Alias }),
		store.Col(`created_at`, func(t *Tenant) any { return &t.Created }),
	}
	rows, err := r.QueryContext(ctx, `SELECT `+columns.SQL()+` FROM tenant ORDER BY alias`)
	return columns.All(rows, err, "tenants")
}

// RefusedUndated returns alias, UndatedRefused and UndatedLast of the tenants of whose calls
// some were refused for a token without exp since a time, by alias.
func RefusedUndated(ctx context.Context, r store.Reads, since core.Time) ([]Tenant, error) {
	columns := store.Selection[Tenant]{
		store.Col(`alias`, func(t *Tenant) any { return &t.Alias }),
		store.Col(`undated_refused`, func(t *Tenant) any { return &t.UndatedRefused }),
		store.Col(`undated_refused_at`, func(t *Tenant) any { return &t.UndatedLast }),
	}
	rows, err := r.QueryContext(ctx, `SELECT `+columns.SQL()+` FROM tenant WHERE undated_refused_at >= ? ORDER BY alias`, int64(since))
	return columns.All(rows, err, "tenants with undated tokens")
}

// Update stores a tenant's settings. It does not change the alias, the keys and the
// time of creation.
func Update(ctx context.Context, tx *store.Tx, t Tenant) error {
	err := tx.Exec(ctx, "set tenant", `UPDATE tenant SET discount_id = ?, consent = ?, consent_cookie = ?,
			browser_payment = ?, share_origin = ?, init_checksum = ?, undated_tokens = ?, squatch_parameter = ?, api_key_tokens = ?, export_dates = ?, time_zone = ?, remember_deleted = ?, link_max_age = ?, code_names = ?, second_step = ? WHERE alias = ?`,
		t.DiscountID, string(t.Policy.Consent), t.Policy.ConsentCookie, string(t.BrowserPayment), t.ShareOrigin, t.InitChecksum, t.UndatedTokens, string(t.SquatchParameter), t.APIKeyTokens,
		string(t.ExportDates), t.TimeZone, int64(t.RememberDeleted), int64(t.LinkMaxAge), t.CodeNames, t.SecondStep, string(t.Alias))
	for _, e := range auth.Endpoints() {
		if err != nil {
			return err
		}
		err = tx.Exec(ctx, "set secure mode", `INSERT INTO secure_mode (tenant, endpoint, mode) VALUES (?, ?, ?)
			ON CONFLICT (tenant, endpoint) DO UPDATE SET mode = excluded.mode`,
			string(t.Alias), e.String(), t.SecureMode[e].String())
	}
	return err
}

// NeedsSecondStep reports whether members of a live tenant who have a password must sign in
// with two steps.
func NeedsSecondStep(ctx context.Context, r store.Reads, alias core.TenantAlias) (bool, error) {
	return store.OneOrZero[bool](ctx, r, "second step", `SELECT second_step FROM tenant WHERE alias = ?`, string(alias))
}

// RequiringSecondStep returns the first tenant of a person that requires two-step sign-in, or
// "".
func RequiringSecondStep(ctx context.Context, r store.Reads, person string) (core.TenantAlias, error) {
	return store.OneOrZero[core.TenantAlias](ctx, r, "second step of a person", `SELECT t.alias FROM membership m JOIN tenant t ON t.alias = m.tenant
		WHERE m.person = ? AND t.second_step = 1 ORDER BY t.alias LIMIT 1`, person)
}

// InsertSite assigns a shop's host to a tenant. It returns false if the host is
// assigned already, to this or another tenant.
func InsertSite(ctx context.Context, tx *store.Tx, host string, tenant core.TenantAlias) (bool, error) {
	return tx.Inserted(ctx, "site", `INSERT INTO site (host, tenant) VALUES (?, ?) ON CONFLICT (host) DO NOTHING`,
		host, string(tenant))
}
