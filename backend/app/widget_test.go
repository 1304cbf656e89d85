package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/app/base"
	"kith/backend/app/widgets"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/widget"
	"kith/core/wire"
)

// keyHolder returns a caller with the tenant's API key.
func (b bundle) keyHolder(t testing.TB) base.Caller {
	t.Helper()
	tenant, err := tenantdb.Find(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	return base.Caller{Tenant: tenant, Key: true, Role: auth.RoleAll}
}

// anonymous returns a caller without credentials.
func (b bundle) anonymous(t testing.TB) base.Caller {
	c := b.keyHolder(t)
	c.Key = false
	return c
}

// user returns a caller with a token of the user "u" of an account.
func (b bundle) user(t testing.TB, account core.AccountID) base.Caller {
	c := b.anonymous(t)
	c.User, c.Token = &wire.Subject{Account: account, User: "u"}, "the token"
	return c
}

// shown returns the data in a rendered widget.
func shown(t testing.TB, w wire.Widget) (ident, data gjson.Result) {
	t.Helper()
	_, rest, ok := strings.Cut(w.Template, "<script>window.widgetIdent=")
	require.True(t, ok, w.Template)
	script, _, _ := strings.Cut(rest, ";</script>")
	first, second, ok := strings.Cut(script, ";window.kith=")
	require.True(t, ok)
	require.True(t, gjson.Valid(first) && gjson.Valid(second), script)
	return gjson.Parse(first), gjson.Parse(second)
}

func TestRenderWidget_ShowsWhatTheCallerMaySee(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, name := range []string{"carl", "cleo"} {
		b.identify(t, name, func(in *rules.Identification) {
			first, last := strings.ToUpper(name), "Testerson"
			in.Update.FirstName, in.Update.LastName = &first, &last
			in.Update.Claims = []referral.Claim{{Code: "ANNA10", Source: referral.SourceCodes}}
		})
		b.pass(core.Minute)
	}
	b.sync(t, "carl", referral.Paid, "")
	for _, c := range []struct {
		name    string
		caller  base.Caller
		private bool
		token   string
	}{
		{"the user", b.user(t, "anna"), true, "the token"},
		{"a caller with the API key", b.keyHolder(t), true, ""},
		{"an anonymous caller", b.anonymous(t), false, ""},
	} {
		w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{
			Caller: c.caller, Account: "anna", User: "u", Base: "https://kith.example", EngagementMedium: analytics.Popup,
		})
		require.NoError(t, err, c.name)
		ident, data := shown(t, w)
		require.Equal(t, string(b.tenant), ident.Get("tenantAlias").String())
		require.Equal(t, "anna", ident.Get("accountId").String())
		require.Equal(t, "classic", ident.Get("programId").String())
		require.Equal(t, "https://kith.example/s/"+string(b.tenant)+"/ANNA10", data.Get("user.shareLink").String())
		require.Equal(t, "anna", gjson.Get(w.User, "accountId").String())
		require.Equal(t, c.private, gjson.Get(w.User, "email").Exists(), c.name)
		if !c.private {
			require.Equal(t, "null", data.Get("referrals").Raw)
			require.False(t, data.Get("rewards").Exists())
			require.NotContains(t, w.Template, "CARL")
			require.Empty(t, ident.Get("token").String())
			continue
		}
		require.Equal(t, `["CLEO T","CARL T"]`, data.Get("referrals.#.name").Raw)
		require.EqualValues(t, 2, data.Get("referralCount").Int())
		require.Equal(t, "null", data.Get("referrals.0.dateConverted").Raw)
		require.Positive(t, data.Get("referrals.1.dateConverted").Int())
		require.EqualValues(t, 1000, data.Get("rewards.0.totalAssignedCredit").Int())
		if c.token != "" {
			require.Equal(t, c.token, ident.Get("token").String())
			continue
		}
		subject, err := wire.VerifyToken(b.tenant, []string{b.key}, ident.Get("token").String(), start+core.Hour, false)
		require.NoError(t, err, "a widget that was requested with the API key has a token of its user")
		require.Equal(t, core.AccountID("anna"), subject.Account)
	}
}

// A friend whose whole order was refunded is not complete.
func TestRenderWidget_Returned(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shop(t)
	b.identify(t, "carl", func(in *rules.Identification) {
		in.Update.Claims = []referral.Claim{{Code: "ANNA10", Source: referral.SourceCodes}}
	})
	returned := func() string {
		w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "anna"), Account: "anna", User: "u", Base: "https://kith.example"})
		require.NoError(t, err)
		_, data := shown(t, w)
		return data.Get("referrals.#.returned").Raw
	}
	b.pass(1)
	for _, step := range []struct {
		send           func(testing.TB, string, string, string)
		order, revenue string
		want           string
	}{
		{b.purchase, "7", "80", "[false]"}, {b.refund, "7", "30", "[false]"}, {b.refund, "7", "50", "[true]"}, {b.purchase, "8", "10", "[false]"},
	} {
		step.send(t, "carl", step.order, step.revenue)
		b.process(t)
		require.Equal(t, step.want, returned(), step)
	}
}

// The widget of a referred user names the referrer.
func TestRenderWidget_Conversion(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first := "Anna"
	b.identify(t, "anna", func(in *rules.Identification) { in.Update.FirstName = &first })
	b.identify(t, "carl", func(in *rules.Identification) {
		in.Update.Claims = []referral.Claim{{Code: "ANNA10", Source: referral.SourceCodes}}
	})
	conversion, err := widget.ParseType("", "CONVERSION_WIDGET")
	require.NoError(t, err)
	w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "carl"), Type: conversion})
	require.NoError(t, err)
	_, data := shown(t, w)
	require.Equal(t, "p/classic/w/conversionWidget", data.Get("widgetType").String())
	require.Equal(t, "conversion", data.Get("kind").String())
	require.Equal(t, "Anna", data.Get("referredBy.name").String())
}

// Without ids the widget has the user of the token, or no user.
func TestRenderWidget_WithoutUserAndByToken(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, caller := range []base.Caller{b.anonymous(t), b.keyHolder(t)} {
		w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: caller})
		require.NoError(t, err)
		ident, data := shown(t, w)
		require.Equal(t, "null", w.User)
		require.Equal(t, "null", data.Get("user").Raw)
		require.Equal(t, "", ident.Get("userId").String()+ident.Get("token").String())
	}
	w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "anna")})
	require.NoError(t, err)
	require.Equal(t, core.AccountID("anna"), w.Account)
	require.Equal(t, "anna@example.com", gjson.Get(w.User, "email").String())
}

// The SDK encodes ids outside of URLs too. The id of an existing user is not decoded.
func TestRenderWidget_EncodedIDs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "a@x.example")
	b.identify(t, "100%41")
	for given, want := range map[core.AccountID]core.AccountID{
		"a%40x.example": "a@x.example", "a@x.example": "a@x.example", "100%41": "100%41", "100%2541": "100%41",
	} {
		for _, caller := range []base.Caller{b.anonymous(t), b.keyHolder(t), b.user(t, want)} {
			w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: caller, Account: given, User: "u"})
			require.NoError(t, err, given)
			require.Equal(t, want, w.Account)
		}
		_, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "anna"), Account: given, User: "u"})
		require.ErrorContains(t, err, "another user")
	}
	_, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.anonymous(t), Account: "no%", User: "body"})
	require.ErrorContains(t, err, "no such user")
}

// Secure mode decides which callers are allowed.
func TestRenderWidget_SecureMode(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, c := range []struct {
		mode                 auth.Mode
		anonymous, user, key bool
	}{{auth.Open, true, true, true}, {auth.Signed, false, true, true}, {auth.Disabled, false, false, true}} {
		for i, caller := range []base.Caller{b.anonymous(t), b.user(t, "anna"), b.keyHolder(t)} {
			caller.Tenant.SecureMode[auth.GetWidget] = c.mode
			_, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: caller, Account: "anna", User: "u"})
			require.Equal(t, []bool{c.anonymous, c.user, c.key}[i], err == nil, "%s: %v", c.mode, err)
		}
	}
}

// A stored template is shown. After its deletion the default is shown again. The default
// is itself a valid template.
func TestPutWidget_IsShown(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, widget.Stored{Template: widgets.DefaultTemplate}.Check())
	first := widget.Type{First: true, Key: widget.Referrer}
	text := func(s string) *string { return &s }
	render := func(t0 widget.Type) wire.Widget {
		w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "anna"), Type: t0})
		require.NoError(t, err)
		return w
	}
	require.Contains(t, render(first).Template, `<div class="squatch-container">`)
	require.JSONEq(t, `{"widget":{"defaultWidgetType":"p/classic/w/referrerWidget"}}`, render(first).Options)

	_, err := b.Widgets.Put(t.Context(), b.tenant, first, wire.WidgetUpdate{Template: text("<!doctype html><head></head>Ours"), Values: text(`{"a":1}`)})
	require.NoError(t, err)
	_, err = b.Widgets.Put(t.Context(), b.tenant, first, wire.WidgetUpdate{Options: text(`{"b":2}`)})
	require.NoError(t, err)
	w := render(widget.Type{Program: core.ClassicProgram, Key: widget.Referrer})
	require.True(t, strings.HasSuffix(w.Template, "</script>\n</head>Ours"), w.Template)
	require.Equal(t, []string{`{"a":1}`, `{"b":2}`, ""}, []string{w.Values, w.Options, w.Branding})
	require.NotContains(t, render(widget.Type{Key: widget.Referrer}).Template, "Ours", "the widget without a program is another one")

	require.NoError(t, b.Widgets.Delete(t.Context(), b.tenant, first))
	require.NotContains(t, render(first).Template, "Ours")
	_, err = b.Widgets.Put(t.Context(), b.tenant, widget.Type{Program: "nothing", Key: "k"}, wire.WidgetUpdate{})
	require.Equal(t, widget.Unknown("widgetType"), err)
	_, err = b.Widgets.Put(t.Context(), b.tenant, first, wire.WidgetUpdate{Template: text("x")})
	require.ErrorContains(t, err, "whole HTML document")
}

func TestPutWidget_AtMost200(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range widget.MaxPerTenant {
		key := widget.Key(strings.Repeat("k", i/60+1) + strings.Repeat("x", i%60))
		_, err := b.Widgets.Put(t.Context(), b.tenant, widget.Type{Key: key}, wire.WidgetUpdate{})
		require.NoError(t, err)
	}
	_, err := b.Widgets.Put(t.Context(), b.tenant, widget.Type{Key: "one-more"}, wire.WidgetUpdate{})
	require.ErrorContains(t, err, "at most 200")
	_, total, err := b.Widgets.List(t.Context(), b.tenant, base.Page{})
	require.NoError(t, err)
	require.Equal(t, widget.MaxPerTenant, total)
}

// A widget shows the rewards of its own program, and those of no program, and why some
// are pending.
func TestRenderWidget_RewardsOfItsProgram(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tank := aProgram("tank")
	tank.Referrer = reward.Offer{Kind: reward.FuelTank, Amount: 1500, Unit: reward.UnitPercent}
	tank.Fraud.BySignal = map[referral.Signal]referral.Handling{referral.SignalName: referral.HandlePending}
	_, err := b.Programs.Create(t.Context(), b.tenant, tank)
	require.NoError(t, err)
	_, err = b.FuelTanks.Fill(t.Context(), b.tenant, "tank", referral.ReferrerSide, []string{"ONE"})
	require.NoError(t, err)
	first, last := "Anna", "Alm"
	b.identify(t, "anna", func(in *rules.Identification) { in.Update.FirstName, in.Update.LastName = &first, &last })
	anna, err := b.Users.ByID(t.Context(), b.tenant, "anna", "u")
	require.NoError(t, err)
	codes := map[core.ProgramKey]core.ReferralCode{}
	for _, c := range anna.User.Codes {
		codes[c.Program] = c.Code
	}
	for _, friend := range []struct {
		name    string
		program core.ProgramKey
	}{{"carl", "classic"}, {"cleo", "tank"}, {"dora", "tank"}} {
		b.pass(core.Minute)
		b.identify(t, friend.name, func(in *rules.Identification) {
			in.Update.Claims = []referral.Claim{{Code: codes[friend.program], Source: referral.SourceCodes}}
		})
		b.sync(t, friend.name, referral.Paid, "")
	}
	b.pass(core.Minute)
	b.identify(t, "emil", func(in *rules.Identification) { // a look-alike of Anna
		in.Update.FirstName, in.Update.LastName = &first, &last
		in.Update.Claims = []referral.Claim{{Code: codes["tank"], Source: referral.SourceCodes}}
	})
	b.sync(t, "emil", referral.Paid, "")
	_, err = b.Rewards.Create(t.Context(), b.tenant, reward.Grant{
		Account: "anna", User: "u", Source: reward.Manual, Scheduled: start + 30*core.Day,
		Offer: reward.Offer{Kind: reward.Credit, Amount: 2, Unit: "months"},
	})
	require.NoError(t, err)
	render := func(program core.ProgramKey) gjson.Result {
		w, err := b.Widgets.Render(t.Context(), b.tenant, widgets.Request{Caller: b.user(t, "anna"), Type: widget.Type{Program: program, Key: widget.Referrer}})
		require.NoError(t, err)
		_, data := shown(t, w)
		return data
	}
	classic, own := render("classic"), render("tank")
	require.Equal(t, "You have: $10", classic.Get("have").String())
	require.Equal(t, `[]`, classic.Get("codes").Raw)
	require.Equal(t, `["2 months free"]`, classic.Get("pending.#.text").Raw)
	require.Equal(t, start+30*core.Day, core.Time(classic.Get("pending.0.date").Int()))
	require.Equal(t, gjson.Null, own.Get("have").Type)
	require.Equal(t, `["ONE"]`, own.Get("codes.#.code").Raw, own.Raw)
	require.Equal(t, `["15% off"]`, own.Get("codes.#.text").Raw)
	require.Equal(t, `["SCHEDULED","FUEL_TANK","FUEL_TANK"]`, own.Get("pending.#.reason").Raw, own.Get("pending").Raw)
	require.Equal(t, "Invite friends, get a coupon code for 15% off", own.Get("texts.title").String())

	b.pass(core.Minute)
	_, err = b.FuelTanks.Fill(t.Context(), b.tenant, "tank", referral.ReferrerSide, []string{"TWO", "THREE"})
	require.NoError(t, err)
	own = render("tank")
	require.Equal(t, `["TWO","ONE"]`, own.Get("codes.#.code").Raw)
	require.Equal(t, `["MODERATION","SCHEDULED"]`, own.Get("pending.#.reason").Raw, own.Get("pending").Raw)
}
