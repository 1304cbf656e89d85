package graphql

import (
	"context"

	"kith/backend/app/widgets"
	"kith/core"
	"kith/core/analytics"
	"kith/core/link"
	"kith/core/widget"
	"kith/core/wire"
)

// widgetNode is the GraphQL type WidgetResponse.
type widgetNode struct {
	c        *call
	rendered wire.Widget

	Template     string
	JsOptions    *node
	WidgetConfig *widgetConfig
}

type widgetConfig struct{ Values node }

// User returns the user of the widget; null for a widget without a user.
func (w *widgetNode) User(ctx context.Context) (*user, error) {
	account, id := w.rendered.Account, w.rendered.ID
	switch {
	case id == "":
		return nil, nil
	case !w.c.sees(account, id):
		// Only the ids are shown, which the caller sent.
		return &user{
			c: w.c, hidden: true, ID: pointer(string(id)), AccountID: pointer(string(account)),
			ReferralCodes: "{}", Segments: []word{}, ReferredByCodes: []string{},
		}, nil
	}
	return w.c.user(ctx, account, id)
}

// widgetArguments choose a widget.
type widgetArguments struct{ WidgetType, EngagementMedium, Locale argument }

func (a widgetArguments) request(c *call) (in widgets.Request, err error) {
	in.Caller, in.Base, in.AcceptLanguage = c.Caller, c.Base, c.AcceptLanguage
	if in.Type, err = widget.ParseType("widgetType", a.WidgetType.text()); err != nil {
		return in, err
	}
	if in.EngagementMedium, err = analytics.ParseEngagementMedium("engagementMedium", a.EngagementMedium.text(), link.Engagement(analytics.Popup)); err != nil {
		return in, err
	}
	in.Locale, err = wire.ParseLocale("locale", a.Locale.text())
	return in, err
}

func (c *call) renderWidget(ctx context.Context, in widgets.Request) (*widgetNode, error) {
	rendered, err := c.engine.Widgets.Render(ctx, c.tenant, in)
	if err != nil {
		return nil, err
	}
	return &widgetNode{
		c: c, rendered: rendered, Template: rendered.Template, JsOptions: pointer(node(rendered.Options)),
		WidgetConfig: &widgetConfig{node(rendered.Values)},
	}, nil
}

// RenderWidget returns a widget of a user, or one without a user. The tenant's secure mode
// decides which callers may use it.
func (*query) RenderWidget(ctx context.Context, args struct {
	User argument
	widgetArguments
}) (*widgetNode, error) {
	c := callOf(ctx)
	in, err := args.request(c)
	if err != nil {
		return nil, err
	}
	if args.User.value == nil {
		return c.renderWidget(ctx, in)
	}
	if in.Account, err = core.ParseAccountID("user.accountId", args.User.member("accountId").text()); err != nil {
		return nil, err
	}
	if in.User, err = core.ParseUserID("user.id", args.User.member("id").text()); err != nil {
		return nil, err
	}
	return c.renderWidget(ctx, in)
}

// Widget returns a widget of the user.
func (u *user) Widget(ctx context.Context, args widgetArguments) (*widgetNode, error) {
	if u.hidden {
		return nil, nil
	}
	in, err := args.request(u.c)
	if err != nil {
		return nil, err
	}
	in.Account, in.User = u.stored.User.Account, u.stored.User.ID
	return u.c.renderWidget(ctx, in)
}
