package wire

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/text"
	"kith/core/widget"
)

// WidgetUpdate is the body of PUT /widgets/{type}. A nil field does not change; an
// empty template means the default one.
type WidgetUpdate struct {
	Template *string
	// Options, Branding and Values are JSON objects.
	Options, Branding, Values *string
}

// Apply returns the widget with the fields of the update.
func (u WidgetUpdate) Apply(s widget.Stored) widget.Stored {
	for _, part := range []struct{ stored, given *string }{
		{&s.Template, u.Template}, {&s.Options, u.Options}, {&s.Branding, u.Branding}, {&s.Values, u.Values},
	} {
		if part.given != nil {
			*part.stored = *part.given
		}
	}
	return s
}

// ParseWidget parses the body of PUT /widgets/{type}. widget.Stored.Check checks the length of
// the template. It ignores widgetType and
// dateModified, which are in a widget that a caller read and sends back.
func ParseWidget(body []byte) (u WidgetUpdate, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "template":
			return r.longText(&u.Template, key, v)
		case "jsOptions":
			return r.jsonObject(&u.Options, body, key, v)
		case "brandingConfig":
			return r.jsonObject(&u.Branding, body, key, v)
		case "values":
			return r.jsonObject(&u.Values, body, key, v)
		case "widgetType", "dateModified":
			return true
		}
		return false
	})
	if err != nil {
		return WidgetUpdate{}, err
	}
	return u, nil
}

// jsonObject stores an object of any keys, as sent, without duplicate keys; null does
// not change the field.
func (r *reader) jsonObject(into **string, body []byte, key string, v *fastjson.Value) bool {
	if v.Type() == fastjson.TypeNull {
		return true
	}
	if err := checkDocument(r.path(key), v); err != nil {
		return r.fail(err)
	}
	raw := gjson.GetBytes(body, key).Raw
	*into = &raw
	return true
}

func checkDocument(at string, v *fastjson.Value) error {
	return fields(v, at, func(r *reader, name string, v *fastjson.Value) bool {
		if v.Type() == fastjson.TypeObject {
			return r.fail(checkDocument(r.path(name), v))
		}
		return true
	})
}

// StoredWidget returns the response to GET /widgets/{type}.
func StoredWidget(s widget.Stored) []byte {
	w := begin(nil)
	w.text("widgetType", s.Type.String())
	w.textOrNull("template", s.Template)
	w.storedParts(s)
	return w.end()
}

func (w *writer) storedParts(s widget.Stored) {
	w.raw("jsOptions", cmp.Or(s.Options, "{}"))
	w.raw("brandingConfig", cmp.Or(s.Branding, "{}"))
	w.raw("values", cmp.Or(s.Values, "{}"))
	w.date("dateModified", s.Modified)
}

// StoredWidgets returns the response to GET /widgets, without templates: {count,
// totalCount, widgets}. total is the number of widgets on all pages.
func StoredWidgets(page []widget.Stored, total int) []byte {
	return pageOf("widgets", page, total, func(b []byte, s widget.Stored) []byte {
		w := begin(b)
		w.text("widgetType", s.Type.String())
		w.storedParts(s)
		return w.end()
	})
}

// Widget is a rendered widget.
type Widget struct {
	// Template is the rendered HTML page.
	Template string
	// User is the user in the response, a JSON object, or "null".
	User string
	// Account and ID are those of the user; empty for a widget without a user.
	Account core.AccountID
	ID      core.UserID
	// Options, Branding and Values are JSON objects; Branding may be empty.
	Options, Branding, Values string
}

// RenderedWidget returns the response to the widget calls (clients 1.6.1).
func RenderedWidget(x Widget) []byte {
	w := begin(nil)
	w.text("template", x.Template)
	w.raw("user", x.User)
	w.raw("jsOptions", cmp.Or(x.Options, "{}"))
	if x.Branding != "" {
		w.raw("brandingConfig", x.Branding)
	}
	return w.end()
}

// WidgetUser returns the public data of a widget's user as JSON: the ids.
func WidgetUser(account core.AccountID, user core.UserID) []byte {
	w := begin(nil)
	w.text("id", string(user))
	w.text("accountId", string(account))
	return w.end()
}

// DefaultWidgetOptions returns the default jsOptions, without which older clients
// fail (clients 7.1.3).
func DefaultWidgetOptions(t widget.Type) string {
	w := begin(nil)
	w.object("widget", func() { w.text("defaultWidgetType", t.String()) })
	return string(w.end())
}

// WidgetInfo is the data that a widget shows.
type WidgetInfo struct {
	Tenant core.TenantAlias
	// Base is the scheme and host of the service, as the page reaches it.
	Base             string
	Type             widget.Type
	EngagementMedium link.Engagement
	Locale           string
	// Token is the user's token, or empty.
	Token   string
	Program referral.Program
	// User is the user of the widget, or nil: then it has no share links.
	User *referral.User
	Code core.ReferralCode
	// Links are the user's share links; the first one has no medium.
	Links []WidgetLink
	// Wanted are the languages of the texts, the most wanted first.
	Wanted []text.Tag
	// Private is true if the caller is the user or may see all of the user's data.
	// Otherwise the fields below, except Values, are not shown.
	Private       bool
	Referrals     []WidgetReferral
	ReferralCount int
	// Rewards are the user's reward balances in the program.
	Rewards []reward.Balance
	// Earned are the user's coupon codes and pending rewards in the program.
	Earned widget.Earned
	// ReferrerFirstName and ReferrerLastName are those of the user's referrer; empty
	// if the user was not referred.
	ReferrerFirstName, ReferrerLastName string
	// Values is a JSON object, or empty.
	Values string

	// catalog has the texts, in language; dates is the locale for dates. WidgetScript
	// sets them by Wanted.
	catalog         *text.Catalog
	language, dates text.Tag
}

// WidgetLink is a share link for a medium, or without one.
type WidgetLink struct{ Medium, URL string }

// WidgetReferral is the data of a referral that its referrer may see.
type WidgetReferral struct {
	// FirstName and LastName are those of the referred user. Only the initial of
	// LastName is shown.
	FirstName, LastName       string
	Started, Converted, Ended core.Time
	// Returned is true if refunds took back all that the user earned with it.
	Returned bool
}

// WidgetScript returns the script with a widget's user, in the form that the browser
// SDK reads (clients 7.1.4: widgetIdent), and its data. No text in it can end the
// script: "<" is escaped, and so are U+2028 and U+2029, which older browsers do not
// allow in strings.
func WidgetScript(x WidgetInfo) string {
	x.catalog, x.language, x.dates = text.For(x.Wanted)
	w := writer{b: []byte("window.widgetIdent=")}
	w.widgetIdent(x)
	w.b = append(w.b, ";window.kith="...)
	w.widgetData(x)
	w.b = append(w.b, ';')
	return strings.NewReplacer("<", `\u003c`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(w.b))
}

func (w *writer) widgetIdent(x WidgetInfo) {
	w.open()
	w.text("tenantAlias", string(x.Tenant))
	w.text("appDomain", x.Base)
	w.text("token", x.Token)
	account, user := "", ""
	if x.User != nil {
		account, user = string(x.User.Account), string(x.User.ID)
	}
	w.text("userId", user)
	w.text("accountId", account)
	w.text("engagementMedium", string(x.EngagementMedium))
	w.text("programId", string(x.Program.Key))
	w.text("locale", x.Locale)
	w.close()
}

func (w *writer) widgetData(x WidgetInfo) {
	w.open()
	w.text("widgetType", x.Type.String())
	w.text("kind", widgetKind(x.Type))
	w.object("program", func() {
		w.text("id", string(x.Program.Key))
		w.text("name", x.Program.Name)
		w.widgetOffer(referral.ReferredSide, x)
		w.widgetOffer(referral.ReferrerSide, x)
	})
	w.widgetUser(x)
	w.widgetTexts(x)
	if x.Private {
		w.list("referrals", len(x.Referrals), func(b []byte, i int) []byte { return appendWidgetReferral(b, x.Referrals[i]) })
		w.number("referralCount", int64(x.ReferralCount))
		w.key("rewards")
		w.b = append(w.b, RewardBalances(x.Rewards)...)
		w.widgetEarned(x)
	} else {
		w.raw("referrals", "null")
	}
	w.raw("values", cmp.Or(x.Values, "{}"))
	w.close()
}

func widgetKind(t widget.Type) string {
	if t.Key == widget.Conversion {
		return "conversion"
	}
	return "referrer"
}

func (w *writer) widgetUser(x WidgetInfo) {
	if x.User == nil {
		w.raw("user", "null")
		return
	}
	w.object("user", func() {
		if x.Private {
			w.text("firstName", x.User.FirstName)
		}
		w.textOrNull("referralCode", string(x.Code))
		if len(x.Links) > 0 {
			w.text("shareLink", x.Links[0].URL)
		}
		w.object("shareLinks", func() {
			for _, l := range x.Links {
				if l.Medium != "" {
					w.text(l.Medium, l.URL)
				}
			}
		})
	})
	if name := x.referrer(); name != "" {
		w.object("referredBy", func() { w.text("name", name) })
	}
}

// widgetOffer writes the offer of a side, without settings for the service that
// delivers it.
func (w *writer) widgetOffer(side referral.SideKey, x WidgetInfo) {
	o := x.Program.Offer(side)
	w.objectOrNull(string(side), !o.None(), func() {
		w.text("type", string(o.Kind))
		w.textOrNull("name", o.Name)
		w.text("unit", o.InUnit())
		if o.Kind == reward.PercentDiscount {
			w.raw("discountPercent", o.Percent.String())
		} else {
			w.number("amount", o.Amount)
			w.textOrNull("currency", o.Currency)
		}
		described := x.catalog.Describe(x.Program.Described(side))
		w.text("text", described.Reward)
		w.texts("terms", described.Terms)
	})
}

// referrer returns the name of the user's referrer, or "" if the caller may not see it.
func (x WidgetInfo) referrer() string {
	if !x.Private || x.User == nil {
		return ""
	}
	return shortName(x.ReferrerFirstName, x.ReferrerLastName)
}

// widgetTexts writes the language of the widget, its texts, and the invitation that the
// user sends. A template fills {date}, {n}, {count} and {code} in.
func (w *writer) widgetTexts(x WidgetInfo) {
	w.text("language", string(x.language))
	w.text("locale", string(x.dates))
	w.text("direction", x.language.Direction())
	c := x.catalog
	title, sentence := c.Heading(text.Heading{
		Conversion: x.Type.Key == widget.Conversion, User: x.User != nil, Referrer: x.referrer(),
		Give: c.Describe(x.Program.Described(referral.ReferredSide)).Reward, Get: c.Describe(x.Program.Described(referral.ReferrerSide)).Reward,
	})
	w.object("texts", func() {
		for _, t := range [...][2]string{
			{"title", title}, {"text", sentence}, {"link", c.Link}, {"copy", c.Copy}, {"copied", c.Copied}, {"copyCode", c.CopyCode},
			{"share", c.Share}, {"email", c.Email}, {"close", c.Close}, {"friends", c.Friends}, {"latestOf", c.LatestOf},
			{"noFriends", c.NoFriends}, {"aFriend", c.AFriend}, {"joined", c.Joined}, {"complete", c.Complete}, {"ended", c.Ended}, {"returned", c.Returned},
			{"codes", c.Codes}, {"codeUntil", c.CodeUntil}, {"pending", c.Pending}, {"pendingUntil", c.PendingUntil},
			{"pendingReview", c.PendingReview}, {"pendingCodes", c.PendingCodes},
		} {
			w.text(t[0], t[1])
		}
	})
	if x.User == nil {
		return
	}
	invitation, _ := x.Program.Invite(x.Wanted)
	w.object("invitation", func() {
		w.text("subject", invitation.Subject)
		w.text("message", invitation.Message)
	})
}

// widgetEarned writes what the user has, as texts, and lists the user's coupon codes
// and pending rewards.
func (w *writer) widgetEarned(x WidgetInfo) {
	var have, debts []string
	for _, b := range x.Rewards {
		has, debt := x.catalog.Balance(b, x.Program.Limits.Discount)
		if has != "" {
			have = append(have, has)
		}
		if debt != "" {
			debts = append(debts, debt)
		}
	}
	sum := ""
	if len(have) > 0 {
		sum = text.Fill(x.catalog.Have, "rewards", x.catalog.Listed(have))
	}
	w.textOrNull("have", sum)
	w.texts("debts", debts)
	w.list("codes", len(x.Earned.Codes), func(b []byte, i int) []byte {
		w, code := begin(b), x.Earned.Codes[i]
		w.text("code", code.Code)
		w.text("text", x.catalog.Earned(code.Offer))
		w.date("dateExpires", code.Expires)
		return w.end()
	})
	w.list("pending", len(x.Earned.Pending), func(b []byte, i int) []byte {
		w, pending := begin(b), x.Earned.Pending[i]
		w.text("text", x.catalog.Earned(pending.Offer))
		w.text("reason", string(pending.Reason))
		w.date("date", pending.Date)
		return w.end()
	})
}

func appendWidgetReferral(b []byte, r WidgetReferral) []byte {
	w := begin(b)
	w.text("name", shortName(r.FirstName, r.LastName))
	w.date("dateReferralStarted", r.Started)
	w.date("dateConverted", r.Converted)
	w.date("dateReferralEnded", r.Ended)
	w.boolean("returned", r.Returned)
	return w.end()
}
