// Package eventdb has the SQL of the intake, events and analytics.
package eventdb

import (
	"context"
	"database/sql"

	"kith/backend/store"
	"kith/core"
	"kith/core/analytics"
)

// CountAnalytics adds to a count. It counts nothing if the tenant has no such user,
// code or program, because any client may report counts.
func CountAnalytics(ctx context.Context, tx *store.Tx, c analytics.Count) error {
	const upsert = ` ON CONFLICT DO UPDATE SET times = times + excluded.times`
	if c.Kind == analytics.Visited {
		return tx.Exec(ctx, "count visits", `INSERT INTO analytics (tenant, day, kind, account_id, user_id, program, code,
				engagement_medium, share_medium, times)
			SELECT tenant, ?3, ?4, '', '', program, code, ?5, ?6, ?7 FROM code WHERE tenant = ?1 AND code = ?2`+upsert,
			string(c.Tenant), string(c.Code), int64(c.Day), string(c.Kind), string(c.EngagementMedium), string(c.ShareMedium), c.Times)
	}
	return tx.Exec(ctx, "count analytics", `INSERT INTO analytics (tenant, day, kind, account_id, user_id, program, code,
			engagement_medium, share_medium, times)
		SELECT tenant, ?4, ?5, account_id, id, ?6, '', ?7, ?8, ?9 FROM user
		WHERE tenant = ?1 AND account_id = ?2 AND id = ?3
			AND (?6 = '' OR EXISTS (SELECT 1 FROM program WHERE tenant = ?1 AND key = ?6))`+upsert,
		string(c.Tenant), string(c.Account), string(c.User), int64(c.Day), string(c.Kind), string(c.Program),
		string(c.EngagementMedium), string(c.ShareMedium), c.Times)
}

var countColumns = store.Selection[analytics.Count]{
	store.Col(`day`, func(c *analytics.Count) any { return &c.Day }),
	store.Col(`kind`, func(c *analytics.Count) any { return &c.Kind }),
	store.Col(`account_id`, func(c *analytics.Count) any { return &c.Account }),
	store.Col(`user_id`, func(c *analytics.Count) any { return &c.User }),
	store.Col(`program`, func(c *analytics.Count) any { return &c.Program }),
	store.Col(`code`, func(c *analytics.Count) any { return &c.Code }),
	store.Col(`engagement_medium`, func(c *analytics.Count) any { return &c.EngagementMedium }),
	store.Col(`share_medium`, func(c *analytics.Count) any { return &c.ShareMedium }),
	store.Col(`times`, func(c *analytics.Count) any { return &c.Times }),
}

// Analytics returns a page of counts, latest day first, and the total number.
func Analytics(ctx context.Context, r store.Reads, tenant core.TenantAlias, f analytics.Filter) (page []analytics.Count, total int, err error) {
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
	rows, err := r.QueryContext(ctx, `SELECT `+countColumns.SQL()+`
		FROM analytics WHERE tenant = ?`+where+` ORDER BY day DESC, kind, account_id, user_id, program, code, engagement_medium, share_medium
		LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	page, err = store.Collect(rows, err, "analytics", func(rows *sql.Rows, c *analytics.Count) error {
		c.Tenant = tenant
		return countColumns.Scan(rows, c)
	})
	return store.Counted(ctx, r, page, err, "count analytics", `SELECT count(*) FROM analytics WHERE tenant = ?`+where, args...)
}
