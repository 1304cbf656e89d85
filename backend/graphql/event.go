package graphql

import (
	"context"

	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/wire"
)

// eventNode is an event in an answer.
type eventNode struct {
	ID                                         id
	UserID, AccountID, Key                     string
	Fields                                     *node
	DateTriggered, DateReceived, DateProcessed *date
}

// eventResult is the stored events of a call.
type eventResult struct {
	c      *call
	stored event.Call
	// users loads the users of all results of the call.
	users *userLoader

	UserID, AccountID string
	Events            []*eventNode
}

func newEventResult(c *call, b event.Call, users *userLoader) *eventResult {
	users.add(referral.Identity{Account: b.Account, User: b.User})
	out := &eventResult{c: c, stored: b, users: users, UserID: string(b.User), AccountID: string(b.Account), Events: make([]*eventNode, len(b.Events))}
	for i, e := range b.Events {
		fields := node(e.Fields)
		if fields == "" {
			fields = "{}"
		}
		out.Events[i] = &eventNode{
			ID: id(e.ID), UserID: out.UserID, AccountID: out.AccountID, Key: e.Key, Fields: &fields,
			DateTriggered: dateOrNull(e.Triggered), DateReceived: dateOrNull(b.Received),
		}
	}
	return out
}

// User returns the user whose events they are.
func (r *eventResult) User(ctx context.Context) (*user, error) {
	return r.users.get(ctx, r.c, referral.Identity{Account: r.stored.Account, User: r.stored.User})
}

// LogUserEvent stores events of one user.
func (*mutation) LogUserEvent(ctx context.Context, args struct{ UserEventInput argument }) (*eventResult, error) {
	return callOf(ctx).logEvents(ctx, args.UserEventInput, &userLoader{})
}

// logEvents stores the events of one input.
func (c *call) logEvents(ctx context.Context, input argument, users *userLoader) (*eventResult, error) {
	if err := c.countInput(); err != nil {
		return nil, err
	}
	in, err := wire.ParseUserEvents([]byte(input.json()))
	if err != nil {
		return nil, err
	}
	if err := c.Caller.May(auth.TrackEvents, in.Account, in.User); err != nil {
		return nil, err
	}
	if in, err = c.engine.Events.Log(ctx, c.Caller, in); err != nil {
		return nil, err
	}
	return newEventResult(c, in, users), nil
}

// logged is the result of one of several inputs: the stored events or an error.
type logged struct {
	result *eventResult
	err    *apiError
}

// ToUserEventResult returns the stored events.
func (l logged) ToUserEventResult() (*eventResult, bool) { return l.result, l.result != nil }

// ToApiError returns why the input was refused.
func (l logged) ToApiError() (*apiError, bool) { return l.err, l.err != nil }

// LogUserEvents stores events of several users, each input in its own transaction. If the
// idempotency keys of all inputs were used before, the whole call is refused as a
// duplicate (spec 7.1). If none was stored, and some because a part of the service is away,
// the whole call fails with that error: clients repeat it, which stores none twice.
func (*mutation) LogUserEvents(ctx context.Context, args struct{ UserEventInputs argument }) (*[]logged, error) {
	c := callOf(ctx)
	inputs := args.UserEventInputs.list()
	if len(inputs) == 0 || len(inputs) > maxInputs {
		return nil, core.Invalid("userEventInputs", "must have 1 to 100 elements")
	}
	out := make([]logged, len(inputs))
	duplicates, users, stored := 0, &userLoader{}, false
	var away error
	var duplicate *core.Error
	for i, input := range inputs {
		var err error
		if out[i].result, err = c.logEvents(ctx, input, users); err == nil {
			stored = true
			continue
		}
		if event.IsDuplicate(err) {
			duplicates++
			// A call with other events than those that were recorded is the one to hear of.
			if known, _, _ := wire.Shown(err); duplicate == nil || known.Recorded != "" {
				duplicate = known
			}
		}
		if shown, _, _ := wire.Shown(err); shown.Code == core.CodeUnavailable {
			away = shown
		}
		out[i].err = c.apiError(err)
	}
	if away != nil && !stored {
		return nil, away
	}
	if duplicates == len(inputs) {
		return nil, duplicate
	}
	return &out, nil
}

func eventFilter(a listArguments) (f event.Filter, err error) {
	f.Limit, f.Offset, err = a.read(func(r *filterReader) {
		f.ID, f.Key = r.text("id_eq"), r.text("key")
		f.Account, f.User = r.owner()
		f.Triggered, f.Received, f.Processed = r.span("dateTriggered"), r.span("dateReceived"), r.span("dateProcessed")
	})
	return f, err
}

// UserEvents returns a page of the tenant's events. It needs the API key.
func (*query) UserEvents(ctx context.Context, args listArguments) (*list[*eventNode], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	f, err := eventFilter(args)
	if err != nil {
		return nil, err
	}
	page, err := c.engine.Events.List(ctx, c.tenant, f)
	if err != nil {
		return nil, err
	}
	return newEvents(page), nil
}

func newEvents(page []event.Logged) *list[*eventNode] {
	nodes := make([]*eventNode, len(page))
	for i, e := range page {
		nodes[i] = &eventNode{
			ID: id(e.ID), UserID: string(e.User), AccountID: string(e.Account), Key: e.Key, Fields: pointer(node(e.Fields)),
			DateTriggered: dateOrNull(e.Triggered), DateReceived: dateOrNull(e.Received), DateProcessed: dateOrNull(e.Processed),
		}
	}
	return newList(nodes, 0)
}
