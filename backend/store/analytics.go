package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/analytics"
)

// CountAnalytics adds to a count. What names no user, code or program of the
// tenant is not counted: anybody may report anything.
func (tx *Tx) CountAnalytics(ctx context.Context, c analytics.Count) error {
	const upsert = ` ON CONFLICT DO UPDATE SET times = times + excluded.times`
	if c.Kind == analytics.Visited {
		return tx.exec(ctx, "count visits", `INSERT INTO analytics (tenant, day, kind, account_id, user_id, program, code,
				engagement_medium, share_medium, times)
			SELECT tenant, ?3, ?4, '', '', program, code, ?5, ?6, ?7 FROM code WHERE tenant = ?1 AND code = ?2`+upsert,
			string(c.Tenant), string(c.Code), int64(c.Day), string(c.Kind), string(c.EngagementMedium), string(c.ShareMedium), c.Times)
	}
	return tx.exec(ctx, "count analytics", `INSERT INTO analytics (tenant, day, kind, account_id, user_id, program, code,
			engagement_medium, share_medium, times)
		SELECT tenant, ?4, ?5, account_id, id, ?6, '', ?7, ?8, ?9 FROM user
		WHERE tenant = ?1 AND account_id = ?2 AND id = ?3
			AND (?6 = '' OR EXISTS (SELECT 1 FROM program WHERE tenant = ?1 AND key = ?6))`+upsert,
		string(c.Tenant), string(c.Account), string(c.User), int64(c.Day), string(c.Kind), string(c.Program),
		string(c.EngagementMedium), string(c.ShareMedium), c.Times)
}

var countColumns = selection[analytics.Count]{
	{`day`, func(c *analytics.Count) any { return &c.Day }},
	{`kind`, func(c *analytics.Count) any { return &c.Kind }},
	{`account_id`, func(c *analytics.Count) any { return &c.Account }},
	{`user_id`, func(c *analytics.Count) any { return &c.User }},
	{`program`, func(c *analytics.Count) any { return &c.Program }},
	{`code`, func(c *analytics.Count) any { return &c.Code }},
	{`engagement_medium`, func(c *analytics.Count) any { return &c.EngagementMedium }},
	{`share_medium`, func(c *analytics.Count) any { return &c.ShareMedium }},
	{`times`, func(c *analytics.Count) any { return &c.Times }},
}

// Analytics returns a page of counts, the latest days first, and how many there
// are in all.
func (r Reads) Analytics(ctx context.Context, tenant core.TenantAlias, f analytics.Filter) (page []analytics.Count, total int, err error) {
	where, args := "", []any{string(tenant)}
	add := func(condition string, value any, given bool) {
		if given {
			where, args = where+" AND "+condition, append(args, value)
		}
	}
	add("kind = ?", string(f.Kind), f.Kind != "")
	add("account_id = ?", string(f.Account), f.Account != "")
	add("user_id = ?", string(f.User), f.User != "")
	add("code = ? COLLATE NOCASE", string(f.Code), f.Code != "")
	add("day >= ?", int64(f.From), f.From != 0)
	add("day < ?", int64(f.Until), f.Until != 0)
	if err := r.QueryRowContext(ctx, `SELECT count(*) FROM analytics WHERE tenant = ?`+where, args...).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("store: count analytics: %w", err)
	}
	rows, err := r.QueryContext(ctx, `SELECT `+countColumns.list()+`
		FROM analytics WHERE tenant = ?`+where+` ORDER BY day DESC, kind, account_id, user_id, program, code, engagement_medium, share_medium
		LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	page, err = collect(rows, err, "analytics", func(rows *sql.Rows, c *analytics.Count) error {
		c.Tenant = tenant
		return countColumns.scan(rows, c)
	})
	return page, total, err
}
