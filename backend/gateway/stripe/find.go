package stripe

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/stripe/stripe-go/v86"

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
	live, err := all(ctx, g.api.V1Subscriptions.List(ctx, &sdk.SubscriptionListParams{ListParams: page()}))
	for _, one := range live {
		// The list has no subscription that has ended.
		found.Subscriptions = append(found.Subscriptions, one.ID)
	}
	return found, err
}

// rangeFrom selects what was made since a time.
func rangeFrom(from core.Time) *sdk.RangeQueryParams {
	return &sdk.RangeQueryParams{GreaterThanOrEqual: int64(max(1, from) / core.Second)}
}

// events returns the events since a time, oldest first.
func (g *adapter) events(ctx context.Context, from core.Time) (found []gateway.Sent, err error) {
	params := &sdk.EventListParams{ListParams: page(), CreatedRange: rangeFrom(from), Types: sdk.StringSlice(Events())}
	events, err := all(ctx, g.api.V1Events.List(ctx, params))
	if err != nil {
		return nil, err
	}
	for i := len(events) - 1; i >= 0; i-- {
		e := events[i]
		payload, err := json.Marshal(map[string]any{
			"id": e.ID, "type": e.Type, "livemode": e.Livemode, "data": map[string]any{"object": e.Data.Raw},
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
	sessions, err := all(ctx, g.api.V1CheckoutSessions.List(ctx, &sdk.CheckoutSessionListParams{ListParams: page(), CreatedRange: rangeFrom(from - sessionLife), Status: sdk.String("complete")}))
	if err != nil {
		return err
	}
	for _, one := range sessions {
		if one.PaymentIntent != nil {
			found.Payments = append(found.Payments, one.PaymentIntent.ID)
		}
	}
	subscriptions, err := all(ctx, g.api.V1Subscriptions.List(ctx, &sdk.SubscriptionListParams{ListParams: page(), CreatedRange: rangeFrom(from), Status: sdk.String("all")}))
	if err != nil {
		return err
	}
	for _, one := range subscriptions {
		found.Subscriptions = append(found.Subscriptions, one.ID)
	}
	refunds, err := all(ctx, g.api.V1Refunds.List(ctx, &sdk.RefundListParams{ListParams: page(), CreatedRange: rangeFrom(from)}))
	if err != nil {
		return err
	}
	for _, one := range refunds {
		if one.PaymentIntent != nil {
			found.Payments = append(found.Payments, one.PaymentIntent.ID)
		}
	}
	disputes, err := all(ctx, g.api.V1Disputes.List(ctx, &sdk.DisputeListParams{ListParams: page(), CreatedRange: rangeFrom(from)}))
	for _, one := range disputes {
		if one.PaymentIntent != nil {
			found.Payments = append(found.Payments, one.PaymentIntent.ID)
		}
	}
	return err
}
