package graphql

import (
	"context"

	"kith/backend/app/base"
	"kith/core/webhook"
	"kith/core/wire"
)

// subscription is the GraphQL type WebhookSubscription.
type subscription struct {
	EndpointURL                                 string
	Name, Secret                                *string
	EventTypes                                  []string
	Source                                      string
	DateCreated, DateFailingSince, DateDisabled *date
}

func newSubscription(s webhook.Subscription) *subscription {
	types := []string{}
	for _, t := range s.Types {
		types = append(types, string(t))
	}
	return &subscription{
		EventTypes:  types,
		EndpointURL: string(s.Endpoint), Name: pointer(s.Name), Secret: textOrNull(s.Secret), Source: "MANUAL",
		DateCreated: dateOrNull(s.Created), DateFailingSince: dateOrNull(s.FailingSince), DateDisabled: dateOrNull(s.Disabled),
	}
}

// WebhookSubscriptions returns a page of the tenant's subscriptions. It needs the API key.
func (*query) WebhookSubscriptions(ctx context.Context, args pageArguments) (*list[*subscription], error) {
	c, limit, offset, err := args.keyed(ctx)
	if err != nil {
		return nil, err
	}
	all, err := c.engine.Webhooks.List(ctx, c.tenant)
	if err != nil {
		return nil, err
	}
	page := []*subscription{}
	for _, s := range sublist(all, limit, offset) {
		page = append(page, newSubscription(s))
	}
	return newList(page, len(all)), nil
}

// UpsertWebhookSubscription subscribes an endpoint, or renames its subscription. It needs
// the API key.
func (*mutation) UpsertWebhookSubscription(ctx context.Context, args struct{ WebhookSubscriptionInput argument }) (*subscription, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	in, err := wire.ParseWebhookSubscription([]byte(args.WebhookSubscriptionInput.json()))
	if err != nil {
		return nil, err
	}
	s, err := c.engine.Admin.Webhooks.Subscribe(ctx, c.member(), in)
	if err != nil {
		return nil, err
	}
	return newSubscription(s), nil
}

type endpointArguments struct{ EndpointURL argument }

func (a endpointArguments) endpoint() webhook.Endpoint { return webhook.Endpoint(a.EndpointURL.text()) }

type deleted struct{ DeletedCount long }

// DeleteWebhookSubscription ends a subscription. It needs the API key.
func (*mutation) DeleteWebhookSubscription(ctx context.Context, args endpointArguments) (*deleted, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.engine.Admin.Webhooks.Unsubscribe(ctx, c.member(), args.endpoint()); base.IsNotFound(err) {
		return &deleted{}, nil
	} else if err != nil {
		return nil, err
	}
	return &deleted{DeletedCount: 1}, nil
}

type testedSubscription struct{ Subscription *subscription }

// TestWebhookSubscription sends a test event to an endpoint. It needs the API key.
func (*mutation) TestWebhookSubscription(ctx context.Context, args endpointArguments) (*testedSubscription, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.engine.Admin.Webhooks.Test(ctx, c.member(), args.endpoint()); err != nil {
		return nil, err
	}
	return c.tested(ctx, args.endpoint())
}

func (c *call) tested(ctx context.Context, endpoint webhook.Endpoint) (*testedSubscription, error) {
	all, err := c.engine.Webhooks.List(ctx, c.tenant)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Endpoint == endpoint {
			return &testedSubscription{newSubscription(s)}, nil
		}
	}
	// It was deleted after the test event was queued.
	return &testedSubscription{newSubscription(webhook.Subscription{Endpoint: endpoint})}, nil
}

// Jwks returns the public keys that verify webhooks. It needs no credentials.
func (*query) Jwks(ctx context.Context) (*node, error) {
	keys, err := callOf(ctx).engine.SigningKeys.Public(ctx)
	if err != nil {
		return nil, err
	}
	return pointer(node(wire.KeySet(keys))), nil
}
