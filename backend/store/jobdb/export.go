package jobdb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"kith/backend/store"
	"kith/backend/store/rewarddb"
	"kith/core"
	"kith/core/job"
	"kith/core/reward"
)

// export describes the statement that reads the rows of a file.
type export struct {
	// from is the FROM clause, tenant the column with the tenant.
	from, tenant string
	// key are the columns that identify and order the rows. An index must find the
	// rows after a key.
	key []string
	// cells are the columns of the file (core/exportfile), as stored; ?1 in them is
	// the time of the export.
	cells string
	// created and updated are the times that the params' spans apply to.
	created, updated string
	// program is the column with the program, or "".
	program string
	// group is true to group the rows by key; the spans then apply to the latest of
	// a group.
	group bool
	// narrow adds further conditions of the params. It may be nil.
	narrow func(w *store.Where, p job.Params)
}

// balance returns an export of what users can redeem, by kind, unit and currency.
func balance(t job.Type, cells ...string) export {
	return export{
		from: `w`, tenant: `w.tenant`,
		key: []string{`w.account_id`, `w.user_id`, `w.kind`, `w.unit`, balanceCurrency}, cells: strings.Join(cells, `, `), group: true,
		created: `max(w.created_at)`, updated: `max(` + rewardUpdated + `)`, program: `w.program`,
		narrow: func(w *store.Where, p job.Params) {
			if p.Unit != "" {
				w.Require(`w.unit = ?`, p.Unit)
			}
			// People complete this file, and only credit can be redeemed.
			if t == job.RedeemableRewardBalance && p.Dates == job.DatesLocal {
				w.Require(`w.kind = ?`, string(reward.Credit))
			}
		},
	}
}

// available sums the available value of rewards; basis points become percent.
var available = `sum(` + rewarddb.AvailableOf("w", "?1") + `) / iif(w.unit = '%', 100.0, 1)`

const (
	// rewardUpdated is when a reward was last changed: created, cancelled, or changed
	// in the ledger.
	rewardUpdated = `max(w.created_at, coalesce(w.cancelled_at, 0), (SELECT coalesce(max(at), 0)
		FROM reward_ledger l WHERE l.tenant = w.tenant AND l.reward_id = w.id))`
	// ownedRewards are the rewards of the users in the table owner, with the users' names, and with
	// balance_currency: the currency of the reward if the user's rewards of its kind and unit have
	// several, or else ~ and their only one, or ''; see reward.Balances. Its parameter is the tenant.
	ownedRewards = `SELECT r.*, u.email, u.first_name, u.last_name, iif(min(` + counted + `) OVER owned < max(` + counted + `) OVER owned,
			r.currency, coalesce('~' || max(` + counted + `) OVER owned, '')) AS balance_currency
		FROM owner CROSS JOIN reward r ON r.tenant = ? AND r.account_id = owner.account_id AND r.user_id = owner.user_id
			LEFT JOIN user u ON u.tenant = r.tenant AND u.account_id = r.account_id AND u.id = r.user_id
		WINDOW owned AS (PARTITION BY r.account_id, r.user_id, r.kind, r.unit)`
	// counted is the currency of a reward r that is worth something, or NULL.
	counted         = `nullif(iif(r.value <> 0, r.currency, ''), '')`
	balanceCurrency = `w.balance_currency`
	// referredUser joins a user with the referral by which the user was referred, and
	// with the code of the user's primary share link.
	referredUser = `user u
		LEFT JOIN referral r ON r.tenant = u.tenant AND r.referred_account_id = u.account_id AND r.referred_user_id = u.id
		LEFT JOIN code c ON +c.tenant = u.tenant AND c.rowid = (SELECT rowid FROM code WHERE tenant = u.tenant AND account_id = u.account_id
			AND user_id = u.id ORDER BY program = 'classic' DESC, linked_at DESC, rowid DESC LIMIT 1)`
)

// exports has the export of each type of job that writes a file.
var exports = map[job.Type]export{
	job.User: {
		from: referredUser, tenant: `u.tenant`, key: []string{`u.account_id`, `u.id`},
		cells: `u.id, u.account_id, u.email, u.first_name, u.last_name, u.image_url, u.first_seen_ip, u.last_seen_ip,
			u.created_at, u.email, r.share_medium, u.locale, c.code, c.code, c.code, c.code, c.code`,
		created: `u.created_at`, updated: `u.updated_at`,
	},
	job.UserReferral: {
		from: referredUser, tenant: `u.tenant`, key: []string{`u.account_id`, `u.id`},
		cells: `u.id, u.account_id, u.email, u.first_name, u.last_name, u.created_at,
			r.id, r.program, r.code, r.referrer_user_id, r.referrer_account_id, r.started_at, r.converted_at, r.ended_at`,
		created: `u.created_at`, updated: `max(u.updated_at, coalesce(r.updated_at, 0))`, program: `r.program`,
	},
	job.Referral: {
		from: `referral r
			LEFT JOIN reward a ON +a.tenant = r.tenant AND a.rowid = (` + rewarddb.FirstRow(`r.tenant`, `r.id`, `'REFERRED'`) + `)
			LEFT JOIN reward b ON +b.tenant = r.tenant AND b.rowid = (` + rewarddb.FirstRow(`r.tenant`, `r.id`, `'FRIEND_SIGNUP'`) + `)`,
		tenant: `r.tenant`, key: []string{`r.id`},
		cells: `r.id, r.program, r.referred_user_id, r.referred_account_id, a.id, r.referred_moderation,
			r.referrer_user_id, r.referrer_account_id, b.id, r.referrer_moderation,
			r.started_at, r.converted_at, r.converted_at, r.ended_at, r.moderated_at`,
		created: `r.started_at`, updated: `r.updated_at`, program: `r.program`,
	},
	job.Reward: {
		from: `reward w`, tenant: `w.tenant`, key: []string{`w.id`},
		cells: `w.id, w.kind, w.account_id, w.user_id, w.program, w.referral_id, w.source, w.unit,
			iif(w.unit = '%', w.value, NULL), iif(w.kind = 'CREDIT', w.value, NULL), iif(w.kind = 'CREDIT', w.redeemed, NULL),
			w.currency, w.created_at, iif(w.pending, NULL, w.given_at), w.scheduled_at, w.expires_at, w.cancelled_at,
			w.order_key, iif(w.unit = '%', w.reversed, NULL), iif(w.kind = 'CREDIT', w.reversed, NULL), iif(w.kind = 'CREDIT', w.settled, NULL)`,
		created: `w.created_at`, updated: rewardUpdated, program: `w.program`,
	},
	job.RewardBalance:           balance(job.RewardBalance, `w.user_id, w.account_id, w.kind, `+available+`, w.unit`),
	job.UserRewardBalance:       balance(job.UserRewardBalance, `w.user_id, w.account_id, w.email, w.first_name, w.last_name, w.kind, `+available+`, w.unit`, balanceCurrency),
	job.RedeemableRewardBalance: balance(job.RedeemableRewardBalance, `w.account_id, w.user_id, w.email, w.first_name, w.last_name, w.kind, w.unit, `+available, balanceCurrency),
	job.UserEvent: {
		from: `event e`, tenant: `e.tenant`, key: []string{`e.id`},
		cells: `e.account_id, e.user_id, e.id, e.key, e.triggered_at, e.received_at, e.processed_at, e.fields,
			` + field(`order_id`) + `, ` + field(`revenue`) + `, e.fields ->> 'currency'`,
		created: `e.received_at`, updated: `e.received_at`,
		narrow: func(w *store.Where, p job.Params) { store.Among(w, `e.key`, p.EventKeys) },
	},
}

// field returns the value of a field of an event e: a number as it was sent, since ->> makes
// 1234567.89 a floating-point number, which is then written as 1.23456789e+06.
func field(name string) string {
	return `iif(json_type(e.fields, '$.` + name + `') IN ('integer', 'real'), e.fields -> '` + name + `', e.fields ->> '` + name + `')`
}

// ExportPage returns up to limit rows of the file that a job writes, and the key of
// the last of them. The rows are those after the key after; nil is before all rows.
func ExportPage(ctx context.Context, r store.Reads, tenant core.TenantAlias, t job.Type, p job.Params, after []string, limit int) (page [][]string, last []string, err error) {
	e := exports[t]
	query, args := e.page(tenant, p, after, limit)
	rows, err := r.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("store: export: %w", err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, nil, fmt.Errorf("store: export: %w", err)
	}
	for rows.Next() {
		row, err := scanTexts(rows, len(columns))
		if err != nil {
			return nil, nil, fmt.Errorf("store: export: %w", err)
		}
		last, page = row[:len(e.key)], append(page, row[len(e.key):])
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("store: export: %w", err)
	}
	return page, last, nil
}

// AllRows is the bound of ExportCount that counts all rows.
const AllRows = -1

// ExportCount returns the number of rows of the file that a job would write, but at
// most most.
func ExportCount(ctx context.Context, r store.Reads, tenant core.TenantAlias, t job.Type, p job.Params, most int) (int, error) {
	query, args := exports[t].page(tenant, p, nil, most)
	return store.One[int](ctx, r, "count export", `SELECT count(*) FROM (`+query+`)`, args...)
}

// page returns the query for one page, and its arguments.
func (e export) page(tenant core.TenantAlias, p job.Params, after []string, limit int) (string, []any) {
	key := strings.Join(e.key, `, `)
	var rows, windows store.Where
	rows.Require(e.tenant+` = ?`, string(tenant))
	if p.Program != "" && e.program != "" {
		rows.Require(e.program+` = ?`, string(p.Program))
	}
	if e.narrow != nil {
		e.narrow(&rows, p)
	}
	windows.Span(e.created, p.Created)
	windows.Span(e.updated, p.Updated)
	windows.Span(`max(`+e.created+`, `+e.updated+`)`, p.Changed)
	var query string
	var args []any
	if e.group {
		most := limit
		if most >= 0 {
			most++ // the first owner may have no further rows
		}
		if len(windows.Terms) > 0 {
			most = AllRows // others may have no rows at all
		}
		query, args = ownersOf(rows, after, most)
		query += `, w AS (` + ownedRewards + `) `
		args = append(args, string(tenant))
	}
	if after != nil {
		values := make([]any, len(after))
		for i, value := range after {
			values[i] = value
		}
		rows.Require(`(`+key+`) > (`+store.Placeholders(len(after))+`)`, values...)
	}
	query += `SELECT ` + key + `, ` + e.cells + ` FROM ` + e.from + ` WHERE ` + rows.SQL()
	switch {
	case e.group:
		query += ` GROUP BY ` + key + ` HAVING ` + windows.SQL()
	default:
		query += ` AND ` + windows.SQL()
	}
	args = slices.Concat(args, rows.Args, windows.Args)
	if strings.Contains(e.cells, `?1`) {
		// Parameters without a number are numbered after it.
		args = append([]any{int64(p.At)}, args...)
	}
	return query + ` ORDER BY ` + key + ` LIMIT ?`, append(args, limit)
}

// ownersOf returns the beginning of a query with the table owner: the first owners of rewards w
// that fulfil a condition, from the one of the key after. The number of their rewards bounds the
// time of the query.
func ownersOf(rewards store.Where, after []string, most int) (string, []any) {
	args := rewards.Args
	from := ``
	if after != nil {
		from, args = ` AND (w.account_id, w.user_id) >= (?, ?)`, append(slices.Clone(args), after[0], after[1])
	}
	// The first CTE makes the time of the export parameter 1.
	return `WITH export AS (SELECT ?1), owner AS MATERIALIZED (SELECT DISTINCT w.account_id, w.user_id FROM reward w WHERE ` + rewards.SQL() + from + `
		ORDER BY w.account_id, w.user_id LIMIT ?)`, append(slices.Clone(args), most)
}

// scanTexts reads a row of n columns of any types as texts; NULL is "".
func scanTexts(rows *sql.Rows, n int) ([]string, error) {
	cells := make([]sql.NullString, n)
	into := make([]any, n)
	for i := range cells {
		into[i] = &cells[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	row := make([]string, n)
	for i, c := range cells {
		row[i] = c.String
	}
	return row, nil
}
