// Package widgets holds the use cases of widgets: rendering one for a user, and storing
// what a tenant changes of it.
package widgets

import (
	"cmp"
	"context"
	_ "embed"
	"net/url"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/app/users"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/widget"
	"kith/core/wire"
)

// Widgets show users what they can share and what they have earned.
type Widgets struct {
	*base.Base
	Users   *users.Users
	Rewards *rewards.Rewards
}

// DefaultTemplate is the widget of a tenant that stored none of its own. It
// loads nothing, and shows what wire.WidgetScript tells it.
//
//go:embed widget.html
var DefaultTemplate string

// Request asks for a rendered widget.
type Request struct {
	// Caller is who asks: it decides what the widget may show.
	Caller base.Caller
	// Account and User are whose widget it is. Both empty: the caller's own,
	// or nobody's when the caller has no user token.
	Account core.AccountID
	User    core.UserID
	Type    widget.Type
	// EngagementMedium is where the widget is shown.
	EngagementMedium link.Engagement
	// Locale is the language that is wished, or empty.
	Locale string
	// Base is the service's own origin; empty: where the tenant's share links begin.
	Base string
}

// widgetReferrals is how many referrals a widget shows.
const widgetReferrals = 20

// widgetToken is how long the token is good for that a widget gets when its page
// was asked for with the API key.
const widgetToken = core.Day

// Render returns a widget of a user, or nobody's, which has no link to
// share. Who is admitted is for the tenant's secure mode to say; a caller who is
// neither that user nor a holder of the API key sees what is public of them.
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
	return wire.Widget{
		Template: widget.WithScript(cmp.Or(stored.Template, DefaultTemplate), wire.WidgetScript(info)),
		User:     user, Account: in.Account, ID: in.User,
		Options: cmp.Or(stored.Options, wire.DefaultWidgetOptions(info.Type)), Branding: stored.Branding, Values: cmp.Or(stored.Values, "{}"),
	}, nil
}

// widgetUser settles whose widget is asked for. The browser SDK percent-encodes
// ids where no URL has them (clients 7.1.2), so an id that nobody has is read as
// encoded.
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

// widgetInfo gathers what a widget shows whoever it is for, and returns what the
// tenant stored of it.
func (ws *Widgets) widgetInfo(ctx context.Context, tenant core.TenantAlias, in Request) (info wire.WidgetInfo, stored widget.Stored, err error) {
	info = wire.WidgetInfo{Tenant: tenant, Base: in.Base, EngagementMedium: in.EngagementMedium, Locale: in.Locale}
	if info.Program, info.Type, err = widgetProgram(ctx, ws.DB.Reads, tenant, in.Type); err != nil {
		return info, stored, err
	}
	stored, _, err = programdb.Widget(ctx, ws.DB.Reads, tenant, info.Type)
	info.Values = stored.Values
	return info, stored, err
}

// widgetOf adds what a widget shows of its user, and returns what its answer
// tells of them.
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

// widgetLinks are the user's code in a program and the links that share it, the
// plain one first.
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

// widgetPrivate adds what only the user may see; made is the referral by which
// the user came, or nil.
func (ws *Widgets) widgetPrivate(ctx context.Context, tenant core.TenantAlias, in Request, info *wire.WidgetInfo, made *referral.Referral) (err error) {
	who := referral.Identity{Account: in.Account, User: in.User}
	info.Referrals, info.ReferralCount, err = programdb.WidgetReferrals(ctx, ws.DB.Reads, tenant, info.Program.Key, who, widgetReferrals)
	if err != nil {
		return err
	}
	if info.Rewards, err = ws.Rewards.Balances(ctx, tenant, in.Account, in.User, ""); err != nil {
		return err
	}
	if made != nil {
		by, _, err := userdb.Code(ctx, ws.DB.Reads, tenant, made.Code)
		if err != nil {
			return err
		}
		info.ReferrerFirstName, info.ReferrerLastName = by.FirstName, by.LastName
	}
	info.Token, err = ws.widgetToken(in)
	return err
}

// widgetToken is the token that the widget's own calls are made with: the one
// that asked for it, or a new one when the API key did; none when no key of the tenant
// signs tokens.
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

// List returns a page of what a tenant stored of its widgets, without the
// templates, and how much there is in all.
func (ws *Widgets) List(ctx context.Context, tenant core.TenantAlias, p base.Page) ([]widget.Stored, int, error) {
	return programdb.Widgets(ctx, ws.DB.Reads, tenant, p.Limit, p.Offset)
}

// Stored returns what a tenant stored of a widget; it is empty for one that is
// the default.
func (ws *Widgets) Stored(ctx context.Context, tenant core.TenantAlias, t widget.Type) (widget.Stored, error) {
	_, t, err := widgetProgram(ctx, ws.DB.Reads, tenant, t)
	if err != nil {
		return widget.Stored{}, err
	}
	stored, _, err := programdb.Widget(ctx, ws.DB.Reads, tenant, t)
	return stored, err
}

// Put changes what a tenant stored of a widget and returns it as it is
// stored.
func (ws *Widgets) Put(ctx context.Context, tenant core.TenantAlias, t widget.Type, u wire.WidgetUpdate) (stored widget.Stored, err error) {
	err = ws.DB.Write(ctx, ws.Now(), func(tx *store.Tx) error {
		_, t, err := widgetProgram(ctx, tx.Reads, tenant, t)
		if err != nil {
			return err
		}
		before, _, err := programdb.Widget(ctx, tx.Reads, tenant, t)
		if err != nil {
			return err
		}
		stored = u.Apply(before)
		stored.Modified = tx.Now
		if err := stored.Check(); err != nil {
			return err
		}
		if err := programdb.PutWidget(ctx, tx, tenant, stored); err != nil {
			return err
		}
		_, total, err := programdb.Widgets(ctx, tx.Reads, tenant, 0, 0)
		if err == nil && total > widget.MaxPerTenant {
			err = core.Invalid("widgetType", "a tenant stores at most "+strconv.Itoa(widget.MaxPerTenant)+" widgets")
		}
		return err
	})
	return stored, err
}

// Delete makes a widget the default again.
func (ws *Widgets) Delete(ctx context.Context, tenant core.TenantAlias, t widget.Type) error {
	return ws.DB.Write(ctx, ws.Now(), func(tx *store.Tx) error {
		_, t, err := widgetProgram(ctx, tx.Reads, tenant, t)
		if err != nil {
			return err
		}
		return programdb.DeleteWidget(ctx, tx, tenant, t)
	})
}
