package eventdb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// ListByUsers returns, for each user of a list, a page of the user's events, latest
// received first. All pages are in one list, in the order of the users. The account
// and user of the filter are ignored.
func ListByUsers(ctx context.Context, r store.Reads, tenant core.TenantAlias, users []referral.Identity, f event.Filter) ([]event.Logged, error) {
	where, args := eventCondition(f)
	args = append([]any{store.Identities(users), string(tenant), string(tenant)}, args...)
	rows, err := r.QueryContext(ctx, `SELECT `+eventColumns.SQL()+` FROM json_each(?) given CROSS JOIN event ON +event.tenant = ? AND event.rowid IN (
			SELECT rowid FROM event WHERE tenant = ? AND account_id = given.value ->> 0 AND user_id = given.value ->> 1`+where+`
			ORDER BY received_at DESC, event.id DESC LIMIT ? OFFSET ?)
		ORDER BY given.key, received_at DESC, event.id DESC`, append(args, f.Limit, f.Offset)...)
	return eventColumns.All(rows, err, "events of users")
}

// List returns a page of the processed events, latest received first.
func List(ctx context.Context, r store.Reads, tenant core.TenantAlias, f event.Filter) ([]event.Logged, error) {
	where, args := eventCondition(f)
	args = append([]any{string(tenant)}, args...)
	// An id begins with the time of receipt, so the primary key has the events of a
	// tenant in this order. The events of a user are in the order of their index.
	order := "id DESC"
	if f.Account != "" {
		where, args = where+" AND account_id = ?", append(args, string(f.Account))
		if f.User != "" {
			where, args = where+" AND user_id = ?", append(args, string(f.User))
			order = "received_at DESC, id DESC"
		}
	}
	rows, err := r.QueryContext(ctx, `SELECT `+eventColumns.SQL()+` FROM event WHERE tenant = ?`+where+`
		ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	return eventColumns.All(rows, err, "events")
}

var eventColumns = store.Selection[event.Logged]{
	store.Col(`event.id`, func(e *event.Logged) any { return &e.ID }),
	store.Col(`account_id`, func(e *event.Logged) any { return &e.Account }),
	store.Col(`user_id`, func(e *event.Logged) any { return &e.User }),
	store.Col(`event.key`, func(e *event.Logged) any { return &e.Key }),
	store.Col(`fields`, func(e *event.Logged) any { return &e.Fields }),
	store.Col(`triggered_at`, func(e *event.Logged) any { return &e.Triggered }),
	store.Col(`received_at`, func(e *event.Logged) any { return &e.Received }),
	store.Col(`processed_at`, func(e *event.Logged) any { return &e.Processed }),
}

// eventCondition returns the condition of a filter, without the tenant, account and
// user.
func eventCondition(f event.Filter) (where string, args []any) {
	add := func(condition string, value any) {
		where += " AND " + condition
		args = append(args, value)
	}
	if f.ID != "" {
		add("id = ?", f.ID)
	}
	if f.Key != "" {
		add("key = ?", f.Key)
	}
	for _, s := range []struct {
		column string
		span   core.Span
	}{{"triggered_at", f.Triggered}, {"received_at", f.Received}, {"processed_at", f.Processed}} {
		if s.span.From != 0 {
			add(s.column+" >= ?", int64(s.span.From))
		}
		if s.span.Before != 0 {
			add(s.column+" < ?", int64(s.span.Before))
		}
	}
	return where, args
}
