// Package widgets has the use cases of widgets: rendering a widget for a user, and
// storing a tenant's own templates and values.
package widgets

import (
	"cmp"
	"context"
	_ "embed"
	"net/url"
	"slices"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
	"kith/core/widget"
	"kith/core/wire"
)

// Widgets renders and stores widgets: HTML pages that show users their share links,
// referrals and rewards.
type Widgets struct {
	*base.Base
	Users *users.Users
}

// DefaultTemplate is the template of a widget for which the tenant stored none. It loads
// no other files, and shows the data of wire.WidgetScript.
//
//go:embed widget.html
var DefaultTemplate string

// Request asks for a rendered widget.
type Request struct {
	// Caller is the sender of the request; it decides what the widget may show.
	Caller base.Caller
	// Account and User name the user of the widget. If both are empty, it is the user
	// of the caller's token, or no user.
	Account core.AccountID
	User    core.UserID
	Type    widget.Type
	// EngagementMedium is where the widget is shown.
	EngagementMedium link.Engagement
	// Locale is the preferred language, or empty. Then the user's, and those of the
	// header AcceptLanguage, are tried.
	Locale, AcceptLanguage string
	// Base is the origin of the service; if empty, it is the origin of the tenant's
	// share links.
	Base string
}

// widgetReferrals is the number of referrals that a widget shows at most.
const widgetReferrals = 20

// widgetRewards is the number of the latest rewards among which a widget finds coupon
// codes and pending rewards.
const widgetRewards = 100

// widgetToken is how long the user token is valid that a widget gets if it was requested
// with the API key.
const widgetToken = core.Day

// Render returns the widget of a user, or a widget without a user, which has no share
// link. The tenant's secure mode decides whether the caller is allowed; see
// base.Caller.May. A caller without credentials gets only the public data of the user.
func (ws *Widgets) Render(ctx context.Context, tenant core.TenantAlias, in Request) (wire.Widget, error) {
	in, err := ws.widgetUser(ctx, tenant, in)
	if err != nil {
		return wire.Widget{}, err
	}
	if err := in.Caller.May(auth.GetWidget, in.Account, in.User); err != nil {
		return wire.Widget{}, err
	}
	in.Base = cmp.Or(in.Base, in.Caller.Share("").Origin)
	info, stored, err := ws.widgetInfo(ctx, tenant, in)
	if err != nil {
		return wire.Widget{}, err
	}
	user := "null"
	if in.User != "" {
		if user, err = ws.widgetOf(ctx, tenant, in, &info); err != nil {
			return wire.Widget{}, err
		}
	}
	userLocale := ""
	if info.User != nil {
		userLocale = info.User.Locale
	}
	info.Wanted = text.Wanted(in.Locale, userLocale, in.AcceptLanguage)
	return wire.Widget{
		Template: widget.WithScript(cmp.Or(stored.Template, DefaultTemplate), wire.WidgetScript(info)),
		User:     user, Account: in.Account, ID: in.User,
		Options: cmp.Or(stored.Options, wire.DefaultWidgetOptions(info.Type)), Branding: stored.Branding, Values: cmp.Or(stored.Values, "{}"),
	}, nil
}

// widgetUser sets the user of the widget. The browser SDK percent-encodes ids outside of
// URLs too (clients 7.1.2), so the ids of an unknown user are decoded.
func (ws *Widgets) widgetUser(ctx context.Context, tenant core.TenantAlias, in Request) (Request, error) {
	if in.Account == "" && in.User == "" {
		if own := in.Caller.User; own != nil {
			in.Account, in.User = own.Account, own.User
		}
		return in, nil
	}
	account, accountErr := url.PathUnescape(string(in.Account))
	user, userErr := url.PathUnescape(string(in.User))
	if accountErr != nil || userErr != nil || account == string(in.Account) && user == string(in.User) {
		return in, nil
	}
	known, err := userdb.UserExists(ctx, ws.DB.Reads, tenant, in.Account, in.User)
	if err == nil && !known {
		in.Account, in.User = core.AccountID(account), core.UserID(user)
	}
	return in, err
}

// widgetInfo returns the data of a widget that does not depend on its user, and what the
// tenant stored for the widget.
func (ws *Widgets) widgetInfo(ctx context.Context, tenant core.TenantAlias, in Request) (info wire.WidgetInfo, stored widget.Stored, err error) {
	info = wire.WidgetInfo{Tenant: tenant, Base: in.Base, EngagementMedium: in.EngagementMedium, Locale: in.Locale}
	if info.Program, info.Type, err = widgetProgram(ctx, ws.DB.Reads, tenant, in.Type); err != nil {
		return info, stored, err
	}
	stored, _, err = programdb.Widget(ctx, ws.DB.Reads, tenant, info.Type)
	info.Values = stored.Values
	return info, stored, err
}

// widgetOf adds the data of the widget's user to info, and returns the user's JSON for
// the response.
func (ws *Widgets) widgetOf(ctx context.Context, tenant core.TenantAlias, in Request, info *wire.WidgetInfo) (string, error) {
	found, err := ws.Users.ByID(ctx, tenant, in.Account, in.User)
	if err != nil {
		return "", err
	}
	found.Share = in.Caller.Share(in.Base)
	info.User = &found.User
	info.Code, info.Links = widgetLinks(found, info.Program.Key, in.EngagementMedium)
	if !in.Caller.Key && in.Caller.User == nil {
		return string(wire.WidgetUser(in.Account, in.User)), nil
	}
	info.Private = true
	return string(wire.User(found)), ws.widgetPrivate(ctx, tenant, in, info, found.ReferredBy.Referral)
}

// widgetProgram returns the program whose links a widget shows: its own, or the
// tenant's first.
func widgetProgram(ctx context.Context, r store.Reads, tenant core.TenantAlias, t widget.Type) (referral.Program, widget.Type, error) {
	if t.Program == "" {
		first, err := programdb.First(ctx, r, tenant)
		return first, t.In(first.Key), err
	}
	program, err := programdb.ByKey(ctx, r, tenant, t.Program)
	if base.IsNotFound(err) {
		err = widget.Unknown("widgetType")
	}
	return program, t, err
}

// widgetLinks returns the user's code in a program, and the share links of that code:
// first the one without a medium, then one for each of link.ShareMediums.
func widgetLinks(user wire.UserInfo, program core.ProgramKey, e link.Engagement) (code core.ReferralCode, links []wire.WidgetLink) {
	var name core.ReferralCode
	for i, c := range user.User.Codes {
		if c.Program == program {
			code, name = c.Code, user.User.LinkNames()[i].Code
		}
	}
	if code == "" {
		return "", nil
	}
	url := user.Share.URL(name)
	links = append(links, wire.WidgetLink{URL: url})
	for _, medium := range link.ShareMediums {
		links = append(links, wire.WidgetLink{Medium: string(medium), URL: url + link.Mediums(e, medium)})
	}
	return code, links
}

// widgetPrivate adds the data that only the user may see to info. referredBy is the
// referral by which the user was referred, or nil.
func (ws *Widgets) widgetPrivate(ctx context.Context, tenant core.TenantAlias, in Request, info *wire.WidgetInfo, referredBy *referral.Referral) (err error) {
	user := referral.Identity{Account: in.Account, User: in.User}
	info.Referrals, info.ReferralCount, err = programdb.WidgetReferrals(ctx, ws.DB.Reads, tenant, info.Program.Key, user, widgetReferrals)
	if err != nil {
		return err
	}
	if err = ws.widgetRewards(ctx, tenant, user, info); err != nil {
		return err
	}
	if referredBy != nil {
		code, _, err := userdb.Code(ctx, ws.DB.Reads, tenant, referredBy.Code)
		if err != nil {
			return err
		}
		info.ReferrerFirstName, info.ReferrerLastName = code.FirstName, code.LastName
	}
	info.Token, err = ws.widgetToken(in)
	return err
}

// widgetRewards adds the user's rewards to info, without those of other programs.
func (ws *Widgets) widgetRewards(ctx context.Context, tenant core.TenantAlias, user referral.Identity, info *wire.WidgetInfo) error {
	groups, err := rewarddb.Groups(ctx, ws.DB.Reads, tenant, ws.Now(), user.Account, user.User, "")
	if err != nil {
		return err
	}
	info.Rewards = reward.Balances(slices.DeleteFunc(groups, func(g reward.Group) bool { return !widget.Shows(info.Program.Key, g.Program) }))
	latest, _, err := rewarddb.List(ctx, ws.DB.Reads, tenant, reward.Filter{Account: user.Account, User: user.User, Limit: widgetRewards})
	if err != nil {
		return err
	}
	info.Earned = widget.EarnedOf(latest, info.Program.Key, ws.Now())
	for _, side := range []referral.SideKey{referral.ReferrerSide, referral.ReferredSide} {
		offer := info.Program.Offer(side)
		if offer.Kind != reward.FuelTank {
			continue
		}
		due, err := programdb.WidgetDue(ctx, ws.DB.Reads, tenant, info.Program.Key, side, user)
		if err != nil {
			return err
		}
		info.Earned.AddDue(offer, due)
	}
	return nil
}

// widgetToken returns the user token for the widget's own calls: the token of the
// caller, or a new one if the caller used the API key. It is empty if the tenant has no
// key that signs user tokens.
func (ws *Widgets) widgetToken(in Request) (string, error) {
	if !in.Caller.Key {
		return in.Caller.Token, nil
	}
	secrets, err := ws.SigningSecrets(in.Caller.Tenant)
	if err != nil || len(secrets) == 0 {
		return "", err
	}
	return wire.SignToken(secrets[0], wire.Subject{Account: in.Account, User: in.User}, ws.Now()+widgetToken), nil
}

// List returns a page of the widgets that a tenant stored, without their templates, and
// their total number.
func (ws *Widgets) List(ctx context.Context, tenant core.TenantAlias, p base.Page) ([]widget.Stored, int, error) {
	return programdb.Widgets(ctx, ws.DB.Reads, tenant, p.Limit, p.Offset)
}

// Stored returns what a tenant stored for a widget. It is empty if the tenant stored
// nothing for it. An unknown program is an error about "widgetType".
func (ws *Widgets) Stored(ctx context.Context, tenant core.TenantAlias, t widget.Type) (widget.Stored, error) {
	_, t, err := widgetProgram(ctx, ws.DB.Reads, tenant, t)
	if err != nil {
		return widget.Stored{}, err
	}
	stored, _, err := programdb.Widget(ctx, ws.DB.Reads, tenant, t)
	return stored, err
}

// Put changes what a tenant stored for a widget, and returns it as stored. A tenant
// stores at most widget.MaxPerTenant widgets.
func (ws *Widgets) Put(ctx context.Context, tenant core.TenantAlias, t widget.Type, u wire.WidgetUpdate) (stored widget.Stored, err error) {
	return store.WriteValue(ctx, ws.DB.Write, ws.Now(), func(tx *store.Tx) (stored widget.Stored, err error) {
		_, t, err := widgetProgram(ctx, tx.Reads, tenant, t)
		if err != nil {
			return stored, err
		}
		before, _, err := programdb.Widget(ctx, tx.Reads, tenant, t)
		if err != nil {
			return stored, err
		}
		stored = u.Apply(before)
		stored.Modified = tx.Now
		if err := stored.Check(); err != nil {
			return stored, err
		}
		if err := programdb.PutWidget(ctx, tx, tenant, stored); err != nil {
			return stored, err
		}
		_, total, err := programdb.Widgets(ctx, tx.Reads, tenant, 0, 0)
		if err == nil && total > widget.MaxPerTenant {
			err = core.Invalid("widgetType", "a tenant stores at most "+strconv.Itoa(widget.MaxPerTenant)+" widgets")
		}
		return stored, err
	})
}

// Delete removes what a tenant stored for a widget, so that the default is used again.
func (ws *Widgets) Delete(ctx context.Context, tenant core.TenantAlias, t widget.Type) error {
	return ws.DB.Write(ctx, ws.Now(), func(tx *store.Tx) error {
		_, t, err := widgetProgram(ctx, tx.Reads, tenant, t)
		if err != nil {
			return err
		}
		return programdb.DeleteWidget(ctx, tx, tenant, t)
	})
}
