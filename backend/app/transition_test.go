package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
)

// The rows of the table of spec 3.1, and the cases between them, as sequences of calls.
// Between two calls there is one second.
func TestTransitions(t *testing.T) {
	t.Parallel()
	type step = func(*testing.T, bundle)
	sync := func(status referral.Status, code core.ReferralCode) step {
		return func(t *testing.T, b bundle) { b.sync(t, "friend", status, code) }
	}
	identify := func(change ...func(*rules.Identification)) step {
		return func(t *testing.T, b bundle) { b.identify(t, "friend", change...) }
	}
	cookie := func(t *testing.T, b bundle) { b.identify(t, "friend", b.cookie("ANNA10")) }
	for name, story := range map[string]struct {
		steps []step
		state referral.State
		rules []string
	}{
		"row 1: a code is set on an account": {
			[]step{sync("", "ANNA10")},
			referral.InProgress, []string{"referral.code ANNA10: first-code"},
		},
		"row 1: only the first code counts": {
			[]step{sync("", "ANNA10"), sync("", "BERT20"), sync("", "anna10")},
			referral.InProgress,
			[]string{"referral.code ANNA10: first-code", "referral.code BERT20: already-referred", "referral.code ANNA10: same-code-again"},
		},
		"row 1: an unknown code is not a first code": {
			[]step{sync("", "NOBODY"), sync("", "ANNA10")},
			referral.InProgress, []string{"referral.code NOBODY: unknown-code", "referral.code ANNA10: first-code"},
		},
		"row 2: a code is set at identification": {
			[]step{identify(claim(referral.SourceInit, "ANNA10"))},
			referral.InProgress, []string{"referral_code ANNA10: first-code"},
		},
		"row 2: also of a user who was seen before": {
			[]step{identify(), identify(claim(referral.SourceInit, "ANNA10"))},
			referral.InProgress, []string{"referral_code ANNA10: first-code"},
		},
		"row 2: the first valid code of several": {
			[]step{identify(claim(referral.SourceCodes, "NOBODY"), claim(referral.SourceCodes, "BERT20"), claim(referral.SourceReferredBy, "ANNA10"))},
			referral.InProgress, []string{"referredByCodes NOBODY: unknown-code", "referredByCodes BERT20: first-code"},
		},
		"row 3: a new user with a cookie": {
			[]step{cookie},
			referral.InProgress, []string{"cookie ANNA10: first-code"},
		},
		"row 3: a user seen before": {
			[]step{identify(), cookie},
			referral.None, []string{"cookie ANNA10: known-user"},
		},
		"row 3: an account that has converted": {
			[]step{sync(referral.Paid, ""), cookie},
			referral.None, []string{"cookie ANNA10: paid-while-unreferred"},
		},
		"row 4: PAID by account sync": {
			[]step{identify(claim(referral.SourceInit, "ANNA10")), sync(referral.Paid, "")},
			referral.Converted, []string{"referral_code ANNA10: first-code"},
		},
		"row 4: PAID at identification": {
			[]step{sync("", "ANNA10"), identify(paid)},
			referral.Converted, []string{"referral.code ANNA10: first-code"},
		},
		"row 4: attributed and converted by one call": {
			[]step{identify(claim(referral.SourceInit, "ANNA10"), paid)},
			referral.Converted, []string{"referral_code ANNA10: first-code"},
		},
		"row 4: PAID waits for a user": {
			[]step{sync(referral.Paid, "ANNA10")},
			referral.InProgress, []string{"referral.code ANNA10: first-code"},
		},
		"row 4: and completes at the first identification": {
			[]step{sync(referral.Paid, "ANNA10"), identify()},
			referral.Converted, []string{"referral.code ANNA10: first-code"},
		},
		"row 4: also when it is no longer PAID by then": {
			[]step{sync(referral.Paid, "ANNA10"), sync(referral.Cancelled, ""), identify()},
			referral.Converted, []string{"referral.code ANNA10: first-code"},
		},
		"row 4: TRIAL, FREE and CANCELLED convert nothing": {
			[]step{identify(claim(referral.SourceInit, "ANNA10")), sync(referral.Trial, ""), sync(referral.Free, ""), sync(referral.Cancelled, "")},
			referral.InProgress, []string{"referral_code ANNA10: first-code"},
		},
		"row 5: PAID while unreferred closes the account": {
			[]step{sync(referral.Paid, ""), sync(referral.Trial, ""), sync("", "ANNA10"), identify(claim(referral.SourceInit, "BERT20"))},
			referral.None, []string{"referral.code ANNA10: paid-while-unreferred", "referral_code BERT20: paid-while-unreferred"},
		},
		"row 5: also when no user was identified": {
			[]step{sync(referral.Paid, ""), identify(claim(referral.SourceInit, "ANNA10"))},
			referral.None, []string{"referral_code ANNA10: paid-while-unreferred"},
		},
		"row 5: also with a code that is unknown": {
			[]step{sync(referral.Paid, "NOBODY"), sync("", "ANNA10")},
			referral.None, []string{"referral.code NOBODY: unknown-code", "referral.code ANNA10: paid-while-unreferred"},
		},
		"self-referral by mailbox": {
			[]step{identify(email("Anna+shop@EXAMPLE.com"), claim(referral.SourceInit, "ANNA10"))},
			referral.None, []string{"referral_code ANNA10: self-referral-email"},
		},
		"self-referral by mailbox, in an account sync": {
			[]step{identify(email("anna@example.com")), sync("", "ANNA10")},
			referral.None, []string{"referral.code ANNA10: self-referral-email"},
		},
		"a user who is not to be referred": {
			[]step{identify(func(in *rules.Identification) { in.Update.Referable = new(bool) }, claim(referral.SourceInit, "ANNA10"))},
			referral.None, []string{"referral_code ANNA10: not-referable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			for _, step := range story.steps {
				b.pass(core.Second)
				step(t, b)
			}
			require.Equal(t, story.state, b.state(t, "friend"))
			require.ElementsMatch(t, story.rules, b.rules(t, "friend"))
			want, ref := map[reward.Source]int{}, b.referral(t, "friend")
			switch story.state {
			case referral.None:
				require.Nil(t, ref)
			case referral.InProgress:
				require.Nil(t, ref.ReferrerReward)
				require.Nil(t, ref.ReferredReward)
			case referral.Converted:
				want[reward.Referred] = 1
				require.Equal(t, reward.Offer{Kind: reward.Credit, Amount: 1000, Unit: "CENTS", Currency: "USD"}, ref.ReferrerReward.Offer)
				require.Equal(t, reward.Offer{Kind: reward.PercentDiscount, Percent: 1000, Unit: "%"}, ref.ReferredReward.Offer)
			}
			require.Equal(t, want, b.rewards(t, "friend"))
		})
	}
}

func TestSyncAccount_SelfReferralIsRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.sync(t, "anna", "", "ANNA10")
	require.Equal(t, referral.None, b.state(t, "anna"))
	require.Equal(t, []string{"referral.code ANNA10: self-referral-account"}, b.rules(t, "anna"))
}

// The record of a decision alone answers why a user was attributed.
func TestIdentify_DecisionHasItsInputs(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceCodes, "bert20"), claim(referral.SourceReferredBy, "ANNA10"))
	b.pass(core.Minute)
	b.identify(t, "friend", claim(referral.SourceCodes, "ANNA10"))
	b.pass(core.Minute)
	b.identify(t, "friend", claim(referral.SourceCodes, "ANNA10"), paid)
	decisions := b.decisions(t, "friend")
	require.Len(t, decisions, 2)
	refused, accepted := decisions[0], decisions[1]
	require.Equal(t, referral.RuleFirstCode, accepted.Rule)
	require.True(t, accepted.Accepted)
	require.Equal(t, core.ReferralCode("BERT20"), accepted.Code, "as its owner wrote it")
	require.Equal(t, core.UserID("u"), accepted.User)
	require.Equal(t, start, accepted.First)
	require.JSONEq(t, `{"referral":"none","referralCode":null,"firstPaid":null,"identified":false,"identifies":true,"newUser":true,
		"paid":false,"referable":true,"codeKnown":true,"codeOwnerAccount":"bert","codeOwnerUser":"u","shareMedium":null}`, accepted.Inputs)
	require.Equal(t, referral.RuleAlreadyReferred, refused.Rule)
	require.False(t, refused.Accepted)
	require.Equal(t, int64(2), refused.Times)
	require.Equal(t, start+core.Minute, refused.First)
	require.Equal(t, start+2*core.Minute, refused.Last)
	require.JSONEq(t, `{"referral":"in-progress","referralCode":"BERT20","firstPaid":null,"identified":true,"identifies":true,"newUser":false,
		"paid":true,"referable":true,"codeKnown":true,"codeOwnerAccount":"anna","codeOwnerUser":"u","shareMedium":null}`, refused.Inputs)
}

func TestIdentify_CookieCountsOnlyWhileValid(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	signed := b.signed("ANNA10")
	for name, row := range map[string]struct {
		cookie string
		later  core.Time
		rule   string
	}{
		"valid":             {signed, 0, "cookie ANNA10: first-code"},
		"at the last ms":    {signed, 30 * core.Day, "cookie ANNA10: first-code"},
		"1 ms too old":      {signed, 30*core.Day + 1, "cookie ANNA10: cookie-expired"},
		"of a tenant":       {strings.TrimSuffix(signed, signed[len(signed)-4:]) + "AAAA", 0, "cookie : cookie-forged"},
		"no cookie at all":  {"kith_" + string(b.tenant) + "=rubbish", 0, "cookie : cookie-malformed"},
		"of another tenant": {strings.Replace(b.signedFor("other", "ANNA10"), "kith_other", "kith_"+string(b.tenant), 1), 0, "cookie : cookie-forged"},
	} {
		b.clock.Store(int64(start + row.later))
		b.identify(t, name, func(in *rules.Identification) { in.Visit.Cookie = "x=1; " + row.cookie + "; y=2" })
		require.Equal(t, []string{row.rule}, b.rules(t, name), name)
	}
}

// The cookies of a visitor who refused attribute nothing, and nothing is recorded of them;
// a code that the call names counts (clients 1.8.8). With opt-in, a server may leave the
// consent cookie out.
func TestIdentify_RefusedCookiesDoNotCount(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	optIn := link.Policy{Consent: link.ConsentOptIn, ConsentCookie: "agreed"}
	for name, row := range map[string]struct {
		cookie, gpc, dnt string
		policy           link.Policy
		server           bool
		want             []string
	}{
		"permitted":                 {policy: optIn, cookie: "agreed=yes; ", want: []string{"cookie ANNA10: first-code"}},
		"gpc":                       {gpc: "1"},
		"dnt":                       {dnt: "1"},
		"denied":                    {policy: optIn, cookie: "agreed=no; "},
		"silent":                    {policy: optIn, want: []string{"cookies BERT20: first-code"}},
		"permitted, from a server":  {policy: optIn, server: true, cookie: "agreed=yes; ", want: []string{"cookie ANNA10: first-code"}},
		"gpc, from a server":        {server: true, gpc: "1"},
		"dnt, from a server":        {server: true, dnt: "1"},
		"denied, from a server":     {policy: optIn, server: true, cookie: "agreed=no; "},
		"silent, from a server":     {policy: optIn, server: true, want: []string{"cookie ANNA10: first-code"}},
		"denied, without a policy":  {cookie: "agreed=no; ", want: []string{"cookie ANNA10: first-code"}},
		"granted, but gpc, optin":   {policy: optIn, cookie: "agreed=yes; ", gpc: "1"},
		"no signal, from a server":  {server: true, gpc: "0", dnt: "0", want: []string{"cookie ANNA10: first-code"}},
		"denied, then another name": {policy: optIn, server: true, cookie: "agreed2=no; ", want: []string{"cookie ANNA10: first-code"}},
	} {
		call := func(in *rules.Identification) {
			in.Visit = link.Visit{Cookie: row.cookie + b.signed("ANNA10"), GPC: row.gpc, DNT: row.dnt}
			in.Policy, in.Server = row.policy, row.server
		}
		b.identify(t, name, call, claim(referral.SourceBody, "BERT20"))
		require.ElementsMatch(t, row.want, b.rules(t, name), name)
		b.identify(t, name+" and a code", call, claim(referral.SourceBody, "BERT20"), claim(referral.SourceCodes, "BERT20"))
		require.Equal(t, []string{"referredByCodes BERT20: first-code"}, b.rules(t, name+" and a code"), name)
	}
}

// What attributes is what a look-up finds: only the letters of ASCII have a case in a code.
func TestIdentify_LettersThatAreNoneOfACode(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "kim", "KIS1")
	b.identify(t, "friend", claim(referral.SourceCodes, "\u212aIS1"), claim(referral.SourceCodes, "K\u0130S1"), claim(referral.SourceCodes, "KI\u017f1"))
	require.Equal(t, referral.None, b.state(t, "friend"))
	b.identify(t, "friend", claim(referral.SourceCodes, "kis1"))
	require.Equal(t, referral.InProgress, b.state(t, "friend"))
}

// The order of preference is: a code in the call, Kith's cookie, then the body's "cookies"
// (clients 1.8.5).
func TestIdentify_OrderOfPreference(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	both := []func(*rules.Identification){b.cookie("ANNA10"), claim(referral.SourceBody, "BERT20")}
	b.identify(t, "one", both...)
	require.Equal(t, []string{"cookie ANNA10: first-code"}, b.rules(t, "one"))
	b.identify(t, "two", append(both, func(in *rules.Identification) {
		in.Update.Claims = append([]referral.Claim{{Source: referral.SourceCodes, Code: "BERT20"}}, in.Update.Claims...)
	})...)
	require.Equal(t, []string{"referredByCodes BERT20: first-code"}, b.rules(t, "two"))
}

func TestReferral_EndsWhenTheAccountIsCancelled(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	require.Zero(t, b.referral(t, "friend").Ended)
	b.pass(core.Day)
	b.sync(t, "friend", referral.Cancelled, "")
	b.pass(core.Day)
	b.sync(t, "friend", referral.Cancelled, "")
	ref := b.referral(t, "friend")
	require.Equal(t, start, ref.Converted)
	require.Equal(t, start+core.Day, ref.Ended, "the first time")
	require.Equal(t, referral.Converted, ref.State)
}

func TestReferral_OfAnAccountSyncNamesTheFirstUser(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.sync(t, "friend", "", "ANNA10")
	require.Equal(t, referral.Identity{Account: "friend"}, b.referral(t, "friend").Referred)
	b.identify(t, "friend", email("u@example.com"))
	require.Equal(t, referral.Identity{Account: "friend", User: "u", Email: "u@example.com"}, b.referral(t, "friend").Referred)
	b.identify(t, "friend", func(in *rules.Identification) { in.Update.ID = "second" })
	require.Equal(t, core.UserID("u"), b.referral(t, "friend").Referred.User)

	b.identify(t, "later")
	b.sync(t, "later", referral.Paid, "ANNA10")
	ref := b.referral(t, "later")
	require.Equal(t, core.UserID("u"), ref.Referred.User)
	require.Equal(t, referral.Converted, ref.State)
}

func TestSyncAccount_KeepsMissingFields(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	interval, value, currency, count := referral.Interval("MONTH"), "19.90", "EUR", int64(3)
	u := update("a", referral.Free, "")
	u.Interval, u.Value, u.Currency, u.IntervalValue = &interval, &value, &currency, &count
	_, err := b.Accounts.Sync(t.Context(), b.tenant, u)
	require.NoError(t, err)
	returned := b.sync(t, "a", "", "")
	stored, err := b.Accounts.ByID(t.Context(), b.tenant, "a")
	require.NoError(t, err)
	require.Equal(t, stored, returned)
	require.Equal(t, referral.Account{
		ID: "a", Currency: "EUR", Status: referral.Free, Interval: "MONTH", IntervalValue: 3, Value: "19.90", Created: start,
		Standing: referral.Standing{Referral: referral.None},
	}, stored)
}
