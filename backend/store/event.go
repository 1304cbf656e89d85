package store

import (
	"context"

	"kith/core"
	"kith/core/event"
)

// Events returns a page of the events that were processed, the last received
// first.
func (r Reads) Events(ctx context.Context, tenant core.TenantAlias, f event.Filter) ([]event.Logged, error) {
	where, args := eventCondition(f)
	args = append([]any{string(tenant)}, args...)
	// An id begins with the time of receipt, and so a tenant's events are in the
	// order of their primary key; those of a user are in that of their index.
	order := "id DESC"
	if f.Account != "" {
		where, args = where+" AND account_id = ?", append(args, string(f.Account))
		if f.User != "" {
			where, args = where+" AND user_id = ?", append(args, string(f.User))
			order = "received_at DESC, id DESC"
		}
	}
	rows, err := r.QueryContext(ctx, `SELECT `+eventColumns.list()+` FROM event WHERE tenant = ?`+where+`
		ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, f.Limit, f.Offset)...)
	return eventColumns.all(rows, err, "events")
}

var eventColumns = selection[event.Logged]{
	{`event.id`, func(e *event.Logged) any { return &e.ID }},
	{`account_id`, func(e *event.Logged) any { return &e.Account }},
	{`user_id`, func(e *event.Logged) any { return &e.User }},
	{`event.key`, func(e *event.Logged) any { return &e.Key }},
	{`fields`, func(e *event.Logged) any { return &e.Fields }},
	{`triggered_at`, func(e *event.Logged) any { return &e.Triggered }},
	{`received_at`, func(e *event.Logged) any { return &e.Received }},
	{`processed_at`, func(e *event.Logged) any { return &e.Processed }},
}

// eventCondition is what a filter says besides whose the events are.
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
