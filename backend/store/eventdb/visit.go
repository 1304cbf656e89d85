package eventdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"kith/backend/store"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
)

// addVisits stores a batch, unless it was stored before. A trigger adds its counts to
// visit in the same statement. Tenants that do not exist are left out. Parameters: 1 the
// id, 2 now, 3 a list of the rows of visit_batch.visits, each with its tenant in front.
const addVisits = `INSERT INTO visit_batch (tenant, id, received_at, visits)
SELECT t.alias, ?1, ?2, json_group_array(json(v.value)) FROM json_each(?3) v CROSS JOIN tenant t ON t.alias = v.value ->> 0
WHERE true GROUP BY t.alias ON CONFLICT DO NOTHING`

// AddVisits returns the statement that stores a batch, with its arguments. An edge runs
// it on the connection on which it stores events. It may be repeated: a batch is added
// once.
func AddVisits(b analytics.VisitBatch) (statement string, args []any, err error) {
	rows := make([][]any, len(b.Visits))
	for i, v := range b.Visits {
		times := func(by link.Follower) int64 {
			if by != v.By {
				return 0
			}
			return v.Times
		}
		rows[i] = []any{
			v.Tenant, v.Day, v.Program, v.Code, v.EngagementMedium, v.ShareMedium,
			times(link.Person), times(link.Bot), times(link.Agent),
		}
	}
	list, err := json.Marshal(rows)
	return addVisits, []any{b.ID, int64(b.Made), string(list)}, err
}

// PutVisits stores a batch with the statement of AddVisits.
func PutVisits(ctx context.Context, p *store.Primary, b analytics.VisitBatch) error {
	statement, args, err := AddVisits(b)
	if err != nil {
		return err
	}
	return p.WriteOne(ctx, func(r store.Reads) error {
		rows, err := r.QueryContext(ctx, statement, args...)
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err != nil {
			return fmt.Errorf("store: add visits: %w", err)
		}
		return nil
	})
}

// ForgetVisitBatches deletes the ids of up to limit batches that were made before a
// time. It returns how many it deleted.
func ForgetVisitBatches(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "forget visit batches", `DELETE FROM visit_batch WHERE rowid IN (
		SELECT rowid FROM visit_batch WHERE received_at < ?1 ORDER BY received_at LIMIT ?2)`, int64(before), limit)
}

// conditions collects the conditions of a statement and their arguments.
type conditions struct {
	sql  string
	args []any
}

// add adds a condition, unless the value is not given.
func (c *conditions) add(condition, value string) {
	if value != "" {
		c.sql, c.args = c.sql+" AND "+condition, append(c.args, value)
	}
}

// storedCode is a code as it is stored: the columns that have it distinguish case. It
// takes the tenant and the code twice.
const storedCode = `coalesce((SELECT code FROM code WHERE tenant = ? AND code = ?), ?)`

func (c *conditions) addCode(column string, tenant core.TenantAlias, code core.ReferralCode) {
	if code != "" {
		c.sql, c.args = c.sql+" AND "+column+" = "+storedCode, append(c.args, string(tenant), string(code), string(code))
	}
}

// addMedium adds a condition on the share medium, unless it is not given.
func (c *conditions) addMedium(column string, m link.ShareMedium) {
	if stored := storedMedium(m); stored != nil {
		c.sql, c.args = c.sql+" AND "+column+" = ?", append(c.args, stored)
	}
}

// storedMedium returns a share medium of a filter as it is stored, or nil for all.
func storedMedium(m link.ShareMedium) any {
	switch m {
	case "":
		return nil
	case analytics.NoMedium:
		return ""
	}
	return string(m)
}

// Series returns the counts of a period by its intervals. All come from one moment only
// if r is a transaction.
func Series(ctx context.Context, r store.Reads, tenant core.TenantAlias, p analytics.Period, f analytics.SeriesFilter) (analytics.Series, error) {
	q := seriesQuery{r: r, tenant: tenant, f: f, s: analytics.NewSeries(p, f.EngagementMedium != "")}
	err := q.visits(ctx)
	if !q.s.VisitsOnly {
		err = errors.Join(err, q.referrals(ctx), q.rewards(ctx))
	}
	return q.s, err
}

type seriesQuery struct {
	r      store.Reads
	tenant core.TenantAlias
	f      analytics.SeriesFilter
	s      analytics.Series
}

// within returns the arguments of `(t - ?) / ?` and of `tenant = ? AND t >= ? AND t < ?`,
// and those of the conditions.
func (q *seriesQuery) within(where conditions) []any {
	from, until := int64(q.s.From), int64(q.s.Until)
	return append([]any{from, int64(q.s.Step()), string(q.tenant), from, until}, where.args...)
}

// points runs a query whose first column is the number of the point of a row.
func (q *seriesQuery) points(ctx context.Context, what, query string, args []any, into func(*analytics.Point) []any) error {
	rows, err := q.r.QueryContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	defer rows.Close()
	for rows.Next() {
		var number int
		var p analytics.Point
		if err := rows.Scan(append([]any{&number}, into(&p)...)...); err != nil {
			return fmt.Errorf("store: %s: %w", what, err)
		}
		of := &q.s.Points[number]
		of.Visits, of.BotVisits, of.AgentVisits = of.Visits+p.Visits, of.BotVisits+p.BotVisits, of.AgentVisits+p.AgentVisits
		of.Joined, of.Converted, of.Rewards = of.Joined+p.Joined, of.Converted+p.Converted, append(of.Rewards, p.Rewards...)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("store: %s: %w", what, err)
	}
	return nil
}

func (q *seriesQuery) visits(ctx context.Context) error {
	var where conditions
	where.add("program = ?", string(q.f.Program))
	where.addCode("code", q.tenant, q.f.Code)
	where.addMedium("share_medium", q.f.ShareMedium)
	where.add("engagement_medium = ?", string(q.f.EngagementMedium))
	table := `visit_day`
	if q.f.Code != "" {
		table = `visit`
	}
	return q.points(ctx, "series of visits", `SELECT (day - ?) / ?, sum(visits), sum(bot_visits), sum(agent_visits) FROM `+table+`
		WHERE tenant = ? AND day >= ? AND day < ?`+where.sql+` GROUP BY 1`, q.within(where), func(p *analytics.Point) []any {
		return []any{&p.Visits, &p.BotVisits, &p.AgentVisits}
	})
}

func (q *seriesQuery) referrals(ctx context.Context) error {
	if q.f.Code != "" {
		return errors.Join(
			q.referralsOfCode(ctx, "started_at", func(p *analytics.Point) []any { return []any{&p.Joined} }),
			q.referralsOfCode(ctx, "converted_at", func(p *analytics.Point) []any { return []any{&p.Converted} }),
		)
	}
	var where conditions
	where.add("program = ?", string(q.f.Program))
	where.addMedium("share_medium", q.f.ShareMedium)
	return q.points(ctx, "series of referrals", `SELECT (day - ?) / ?, sum(joined), sum(converted) FROM referral_day
		WHERE tenant = ? AND day >= ? AND day < ?`+where.sql+` GROUP BY 1`, q.within(where), func(p *analytics.Point) []any {
		return []any{&p.Joined, &p.Converted}
	})
}

// referralsOfCode counts the referrals of a code by the time in a column.
func (q *seriesQuery) referralsOfCode(ctx context.Context, column string, into func(*analytics.Point) []any) error {
	var where conditions
	where.add("program = ?", string(q.f.Program))
	where.addCode("code", q.tenant, q.f.Code)
	where.addMedium("share_medium", q.f.ShareMedium)
	return q.points(ctx, "series of referrals of a code", `SELECT (`+column+` - ?) / ?, count(*) FROM referral
		WHERE tenant = ? AND `+column+` >= ? AND `+column+` < ?`+where.sql+` GROUP BY 1`, q.within(where), into)
}

// rewards adds what the rewards cost that were granted in the period: the sum of their
// ledgers without what was redeemed, what expired, and what settled the debt of another
// reward. A percentage has no amount.
func (q *seriesQuery) rewards(ctx context.Context) error {
	into := func(p *analytics.Point) []any {
		p.Rewards = make([]analytics.Cost, 1)
		return []any{&p.Rewards[0].Unit, &p.Rewards[0].Currency, &p.Rewards[0].Amount}
	}
	var where conditions
	if q.f.Code == "" {
		where.add("program = ?", string(q.f.Program))
		where.addMedium("share_medium", q.f.ShareMedium)
		return q.points(ctx, "series of rewards", `SELECT (day - ?) / ?, unit, currency, sum(cost) FROM reward_day
			WHERE tenant = ? AND day >= ? AND day < ?`+where.sql+` GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, q.within(where), into)
	}
	where.add("w.program = ?", string(q.f.Program))
	var of conditions
	of.addCode("f.code", q.tenant, q.f.Code)
	of.addMedium("f.share_medium", q.f.ShareMedium)
	where.sql += ` AND EXISTS (SELECT 1 FROM referral f WHERE f.tenant = ? AND f.id = w.referral_id` + of.sql + `)`
	where.args = append(append(where.args, string(q.tenant)), of.args...)
	return q.points(ctx, "series of rewards of a code", `SELECT (g.at - ?) / ?, w.unit, w.currency, sum(l.amount)
		FROM reward_ledger g CROSS JOIN reward w ON w.tenant = g.tenant AND w.id = g.reward_id
			CROSS JOIN reward_ledger l ON l.tenant = g.tenant AND l.reward_id = g.reward_id AND l.action NOT IN ('redeem', 'expire', 'settle')
		WHERE g.tenant = ? AND g.action = 'grant' AND g.at >= ? AND g.at < ? AND w.unit <> '%'`+where.sql+`
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, q.within(where), into)
}

var referrerColumns = store.Selection[analytics.Referrer]{
	store.Col(`top.account`, func(f *analytics.Referrer) any { return &f.Account }),
	store.Col(`top.user`, func(f *analytics.Referrer) any { return &f.User }),
	store.Col(`u.first_name`, func(f *analytics.Referrer) any { return &f.FirstName }),
	store.Col(`u.last_name`, func(f *analytics.Referrer) any { return &f.LastName }),
	store.Col(`(SELECT coalesce(sum(v.visits), 0) FROM code c CROSS JOIN visit v ON v.tenant = ?1 AND v.code = c.code AND v.day >= ?2 AND v.day < ?3
		WHERE c.tenant = ?1 AND c.account_id = top.account AND c.user_id = top.user AND ?4 IN ('', c.program) AND v.share_medium = coalesce(?7, v.share_medium))`, func(f *analytics.Referrer) any { return &f.Visits }),
	store.Col(`(SELECT count(*) FROM referral r INDEXED BY referral_referrer WHERE r.tenant = ?1 AND r.referrer_account_id = top.account AND r.referrer_user_id = top.user
		AND r.started_at >= ?2 AND r.started_at < ?3 AND ?4 IN ('', r.program) AND r.share_medium = coalesce(?7, r.share_medium))`, func(f *analytics.Referrer) any { return &f.Joined }),
	store.Col(`(SELECT count(*) FROM referral r INDEXED BY referral_referrer WHERE r.tenant = ?1 AND r.referrer_account_id = top.account AND r.referrer_user_id = top.user
		AND r.converted_at >= ?2 AND r.converted_at < ?3 AND ?4 IN ('', r.program) AND r.share_medium = coalesce(?7, r.share_medium))`, func(f *analytics.Referrer) any { return &f.Converted }),
}

// topBy counts, for each rank, what the users are ordered by.
var topBy = map[analytics.Rank]string{
	analytics.ByVisits: `SELECT c.account_id AS account, c.user_id AS user, sum(v.visits) AS times FROM visit v CROSS JOIN code c ON c.tenant = ?1 AND c.code = v.code
		WHERE v.tenant = ?1 AND v.day >= ?2 AND v.day < ?3 AND ?4 IN ('', v.program) AND v.share_medium = coalesce(?7, v.share_medium) GROUP BY 1, 2 HAVING times > 0`,
	analytics.ByJoined:    topReferrals("started_at"),
	analytics.ByConverted: topReferrals("converted_at"),
}

func topReferrals(column string) string {
	return `SELECT referrer_account_id AS account, referrer_user_id AS user, count(*) AS times FROM referral
		WHERE tenant = ?1 AND ` + column + ` >= ?2 AND ` + column + ` < ?3 AND ?4 IN ('', program) AND share_medium = coalesce(?7, share_medium) GROUP BY 1, 2`
}

// mostErased is how many erased users may be above a top referrer. Erased users are found
// after the users are ordered, because reading each user would take longer than counting.
const mostErased = 1000

// TopReferrers returns the users with the most visits, referrals or conversions in a
// period; of users with equal numbers first the one with the lower ids.
func TopReferrers(ctx context.Context, r store.Reads, tenant core.TenantAlias, f analytics.TopFilter) ([]analytics.Referrer, error) {
	rows, err := r.QueryContext(ctx, `WITH hit AS MATERIALIZED (`+topBy[f.By]+` ORDER BY times DESC, account, user LIMIT ?5 + ?6),
		top AS MATERIALIZED (SELECT * FROM hit WHERE EXISTS (SELECT 1 FROM user x WHERE x.tenant = ?1 AND x.account_id = hit.account AND x.id = hit.user)
			ORDER BY times DESC, account, user LIMIT ?5)
		SELECT `+referrerColumns.SQL()+` FROM top CROSS JOIN user u ON u.tenant = ?1 AND u.account_id = top.account AND u.id = top.user
		ORDER BY top.times DESC, top.account, top.user`, string(tenant), int64(f.From), int64(f.Until), string(f.Program), f.Limit, mostErased, storedMedium(f.ShareMedium))
	return store.Collect(rows, err, "top referrers", func(rows *sql.Rows, one *analytics.Referrer) error { return referrerColumns.Scan(rows, one) })
}

// HasFigures reports whether a tenant has any visit or referral.
func HasFigures(ctx context.Context, r store.Reads, tenant core.TenantAlias) (bool, error) {
	return store.One[bool](ctx, r, "has figures", `SELECT EXISTS (SELECT 1 FROM visit WHERE tenant = ?1) OR EXISTS (SELECT 1 FROM referral WHERE tenant = ?1)`, string(tenant))
}
