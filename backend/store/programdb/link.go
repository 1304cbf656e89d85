package programdb

import (
	"context"
	"encoding/json"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
)

// Target is where a share link, or a page that was opened with a code, leads. The program is
// that of the code, or else the tenant's first one.
type Target struct {
	link.Target
	// LinkMaxAge is that of the tenant.
	LinkMaxAge core.Time
	// Code is empty if the tenant has no such code, and if its owner is blocked.
	Code core.ReferralCode
}

// targetRow is a Target as stored: the hosts are JSON.
type targetRow struct {
	Target
	hosts string
}

var targetColumns = store.Selection[targetRow]{
	store.Col(`t.alias`, func(t *targetRow) any { return &t.Tenant }),
	store.Col(`t.consent`, func(t *targetRow) any { return &t.Policy.Consent }),
	store.Col(`t.consent_cookie`, func(t *targetRow) any { return &t.Policy.ConsentCookie }),
	store.Col(`coalesce(CASE WHEN u.blocked_at IS NULL THEN c.code END, '')`, func(t *targetRow) any { return &t.Code }),
	store.Col(`coalesce(p.key, '')`, func(t *targetRow) any { return &t.Program.Key }),
	store.Col(`coalesce(p.landing_url, '')`, func(t *targetRow) any { return &t.Program.LandingURL }),
	store.Col(`coalesce(p.allowed_hosts, '[]')`, func(t *targetRow) any { return &t.hosts }),
	store.Col(`coalesce(p.cookie_life, 0)`, func(t *targetRow) any { return &t.Program.CookieLife }),
	store.Col(`coalesce(p.utm_source, '')`, func(t *targetRow) any { return &t.Program.UTMSource }),
	store.Col(`coalesce(CASE p.utm_campaign WHEN '' THEN p.name ELSE p.utm_campaign END, '')`, func(t *targetRow) any { return &t.Program.UTMCampaign }),
	store.Col(`t.squatch_parameter = 'on'`, func(t *targetRow) any { return &t.SquatchParameter }),
	store.Col(`t.link_max_age`, func(t *targetRow) any { return &t.LinkMaxAge }),
	store.Col(auth.MasterKeyOf, func(t *targetRow) any { return &t.MasterKey }),
}

// targetJoins finds the code and its program. An unknown code costs one statement
// too: the edge asks the backend about each code that its replica does not have.
const targetJoins = ` LEFT JOIN code c ON c.tenant = t.alias AND c.code = ?2
		LEFT JOIN user u ON u.tenant = t.alias AND u.account_id = c.account_id AND u.id = c.user_id
		LEFT JOIN program p ON p.tenant = t.alias AND p.key =
			coalesce(c.program, (SELECT key FROM program WHERE tenant = t.alias ORDER BY created_at, key LIMIT 1)) `

// TargetOf returns where a share link of a tenant leads. The code may be unknown or
// empty. The error is core.UnknownTenant, or not-found if the tenant has no program.
func TargetOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, code core.ReferralCode) (Target, error) {
	t, ok, err := oneTarget(ctx, r, `SELECT `+targetColumns.SQL()+` FROM tenant t`+targetJoins+`WHERE t.alias = ?1`, string(tenant), code)
	if err == nil && !ok {
		err = core.UnknownTenant()
	}
	return t, err
}

// TargetOnHost is like TargetOf for the tenant that has a host; ok is false if no
// tenant has it.
func TargetOnHost(ctx context.Context, r store.Reads, host string, code core.ReferralCode) (t Target, ok bool, err error) {
	return oneTarget(ctx, r, `SELECT `+targetColumns.SQL()+` FROM site s JOIN tenant t ON t.alias = s.tenant`+targetJoins+`WHERE s.host = ?1`, host, code)
}

// ShortestCookieLife returns the shortest cookie life of a tenant's programs, or the default
// without a program.
func ShortestCookieLife(ctx context.Context, r store.Reads, tenant core.TenantAlias) (core.Time, error) {
	life, err := store.One[int64](ctx, r, "shortest cookie life", `SELECT coalesce(min(cookie_life), ?) FROM program WHERE tenant = ?`,
		int64(link.DefaultCookieLife), string(tenant))
	return core.Time(life), err
}

func oneTarget(ctx context.Context, r store.Reads, statement, by string, code core.ReferralCode) (t Target, ok bool, err error) {
	var row targetRow
	ok, err = targetColumns.One(r.QueryRowContext(ctx, statement, by, string(code)), "link target", &row)
	if err != nil || !ok {
		return t, false, err
	}
	t = row.Target
	if err := json.Unmarshal([]byte(row.hosts), &t.Program.AllowedHosts); err != nil {
		return t, false, fmt.Errorf("store: link target: %w", err)
	}
	if t.Program.Key == "" {
		return t, true, unknownProgram()
	}
	return t, true, nil
}
