package stripe

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"kith/backend/gateway"
	"kith/core"
)

const (
	// eventLife is how long Stripe lists events, less a day. What is older is searched
	// for by lists of the objects.
	eventLife = 29 * core.Day
	// sessionLife is how long a checkout session may be paid after it was made.
	sessionLife = 25 * core.Hour
)

// Find lists the events since a time, as they would have been sent, and the
// subscriptions that are billed.
func (g *adapter) Find(ctx context.Context, s gateway.Search) (found gateway.Found, err error) {
	if s.From != 0 {
		from := s.From
		if from < core.Time(time.Now().UnixMilli())-eventLife {
			err = g.findOld(ctx, from, &found)
		}
		if err == nil {
			found.Notifications, err = g.events(ctx, from)
		}
	}
	if err != nil || !s.All {
		return found, err
	}
	live, err := g.subscriptions(ctx, page()) // without those that have ended
	found.Subscriptions = append(found.Subscriptions, live...)
	return found, err
}

// since returns the parameters of a list of what was made since a time.
func since(from core.Time) params {
	p := page()
	p.Set("created[gte]", decimal(int64(max(0, from)/core.Second)))
	return p
}

// events returns the events since a time, oldest first.
func (g *adapter) events(ctx context.Context, from core.Time) (found []gateway.Sent, err error) {
	events, err := list[event](ctx, g.api, each(since(from), "types", Events()...), "events")
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(events) {
		payload, err := json.Marshal(map[string]any{
			"id": e.ID, "type": e.Type, "livemode": e.Livemode, "data": map[string]any{"object": e.Data.Object},
		})
		if err != nil {
			return nil, err
		}
		found = append(found, gateway.Sent{Identity: e.ID, Payload: string(payload)})
	}
	return found, nil
}

// findOld lists what events that are not listed any more would have named.
func (g *adapter) findOld(ctx context.Context, from core.Time, found *gateway.Found) error {
	complete := since(from - sessionLife)
	complete.Set("status", "complete")
	ended := since(from)
	ended.Set("status", "all")
	all, err := g.subscriptions(ctx, ended)
	if err != nil {
		return err
	}
	found.Subscriptions = append(found.Subscriptions, all...)
	for _, of := range []struct {
		params params
		path   []string
	}{{complete, []string{"checkout", "sessions"}}, {since(from), []string{"refunds"}}, {since(from), []string{"disputes"}}} {
		payments, err := list[paid](ctx, g.api, of.params, of.path...)
		if err != nil {
			return err
		}
		for _, one := range payments {
			if one.PaymentIntent != "" {
				found.Payments = append(found.Payments, string(one.PaymentIntent))
			}
		}
	}
	return nil
}
