package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

func provider(id core.PaymentProviderID) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Update.PaymentProviderID = &id }
}

func codes(codes ...referral.UserCode) func(*rules.Identification) {
	return func(in *rules.Identification) { in.Update.Codes = codes }
}

func TestIdentify_ReturnsTheStoredUser(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	created := b.identify(t, "friend", email("a@example.com"), claim(referral.SourceInit, "ANNA10"), func(in *rules.Identification) {
		in.Update.Segments = []string{"vip", "~old"}
		in.Update.CustomFields = []referral.CustomField{{Name: "size", Value: `"XL"`}}
	})
	require.True(t, created.Created)
	require.True(t, created.ReferredBy.Newly)
	require.Equal(t, b.referral(t, "friend"), created.ReferredBy.Referral)
	b.pass(core.Second)
	converted := b.identify(t, "friend", paid)
	require.False(t, converted.Created)
	require.False(t, converted.ReferredBy.Newly)
	stored, err := b.Users.ByID(t.Context(), b.tenant, "friend", "u")
	require.NoError(t, err)
	require.Equal(t, stored, converted.UserInfo, "the response to the conversion is what is read later")
	require.Equal(t, "a@example.com", stored.User.Email)
	require.Equal(t, `{"size":"XL"}`, stored.User.CustomFields)
	require.Equal(t, []string{"vip"}, stored.User.Segments)
	require.Equal(t, start, stored.User.Created)
	require.Equal(t, referral.Paid, stored.Account.Status)
	again := b.identify(t, "friend")
	require.Equal(t, stored, again.UserInfo)
}

func TestIdentify_RefusedCallStoresNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", claim(referral.SourceInit, "ANNA10"), paid,
		codes(referral.UserCode{Program: core.ClassicProgram, Code: "BERT20"})))
	require.Equal(t, &core.Error{Code: core.CodeConflict, Field: "referralCodes.classic", Message: "this code belongs to another user"}, err)
	_, err = b.Accounts.ByID(t.Context(), b.tenant, "friend")
	require.Equal(t, &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}, err)
	_, err = b.Users.ByID(t.Context(), b.tenant, "friend", "u")
	require.Equal(t, &core.Error{Code: core.CodeNotFound, RS: "RS042", Message: "there is no such user; identify the user first"}, err)
	require.Nil(t, b.referral(t, "friend"))
	require.Empty(t, b.decisions(t, "friend"))
	require.Empty(t, b.rewards(t, "anna"))
}

func TestIdentify_PaymentProviderIsSetOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	refused := func(account string, id core.PaymentProviderID, rs, message string) {
		t.Helper()
		_, err := b.Identification.Identify(t.Context(), b.tenant, identification(account, provider(id)))
		require.Equal(t, &core.Error{Code: core.CodeInvalid, Field: "paymentProviderId", RS: rs, Message: message}, err)
	}
	b.identify(t, "a")
	b.identify(t, "a", provider("pp1"))
	b.identify(t, "a", provider("pp1"))
	b.identify(t, "a")
	refused("a", "pp2", "RS019", "is set already and cannot be changed")
	refused("b", "pp1", "RS029", "belongs to another account")
	b.identify(t, "b", provider("PP1"))
	a, err := b.Accounts.ByID(t.Context(), b.tenant, "a")
	require.NoError(t, err)
	require.Equal(t, core.PaymentProviderID("pp1"), a.PaymentProviderID)
	b.sync(t, "a", referral.Paid, "")
	a, err = b.Accounts.ByID(t.Context(), b.tenant, "a")
	require.NoError(t, err)
	require.Equal(t, core.PaymentProviderID("pp1"), a.PaymentProviderID, "an account sync keeps it")
}

func TestIdentify_Codes(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	made := b.identify(t, "friend").User.Codes
	require.Len(t, made, 1)
	require.Regexp(t, `^[2-9A-HJ-NP-Z]{8}$`, string(made[0].Code))
	require.Equal(t, made, b.identify(t, "friend").User.Codes, "no second code")

	mine := referral.UserCode{Program: core.ClassicProgram, Code: "Mine-1"}
	require.Equal(t, []referral.UserCode{mine}, b.identify(t, "friend", codes(mine)).User.Codes)
	require.Equal(t, []referral.UserCode{mine}, b.identify(t, "friend", codes(mine)).User.Codes)
	for _, code := range []core.ReferralCode{made[0].Code, "mine-1"} {
		info, err := b.Codes.Lookup(t.Context(), b.tenantRow(t), code)
		require.NoError(t, err, "an older code stays valid")
		require.Equal(t, core.ClassicProgram, info.Program)
	}
	again := referral.UserCode{Program: core.ClassicProgram, Code: "MINE-1"}
	require.Equal(t, []referral.UserCode{mine}, b.identify(t, "friend", codes(again)).User.Codes, "the same code in another case")

	for name, row := range map[string]struct {
		code referral.UserCode
		want *core.Error
	}{
		"of another user, in another case": {
			referral.UserCode{Program: core.ClassicProgram, Code: "anna10"},
			&core.Error{Code: core.CodeConflict, Field: "referralCodes.classic", Message: "this code belongs to another user"},
		},
		"of no program": {referral.UserCode{Program: "nope", Code: "X"}, core.Invalid("referralCodes.nope", "there is no such program")},
	} {
		_, err := b.Identification.Identify(t.Context(), b.tenant, identification("friend", codes(row.code)))
		require.Equal(t, row.want, err, name)
	}
}

// If a generated code is in use, another one is generated, a few times at most.
func TestIdentify_GeneratedCodesCollide(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	draws, collide := 0, 3
	b.Entropy = func(p []byte) {
		for i := range p {
			p[i] = byte(draws)
		}
		// Codes use eight random bytes, ids six.
		if len(p) == 8 && draws < collide {
			for i := range p {
				p[i] = 0
			}
		}
		draws++
	}
	b.owner(t, "taken", "22222222")
	draws = 0
	require.NotEqual(t, core.ReferralCode("22222222"), b.identify(t, "friend").User.Codes[0].Code)
	draws, collide = 0, 1000
	_, err := b.Identification.Identify(t.Context(), b.tenant, identification("unlucky"))
	require.EqualError(t, err, "store: a new code was taken")
	_, err = b.Accounts.ByID(t.Context(), b.tenant, "unlucky")
	require.Error(t, err, "nothing is stored")
}

func TestLookupCode(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first, last := "Anna", "Ahrens"
	b.identify(t, "anna", func(in *rules.Identification) { in.Update.FirstName, in.Update.LastName = &first, &last })
	info, err := b.Codes.Lookup(t.Context(), b.tenantRow(t), "anna10")
	require.NoError(t, err)
	require.Equal(t, wire.CodeInfo{
		Code: "ANNA10", Program: core.ClassicProgram, FirstName: "Anna", LastName: "Ahrens", DiscountID: wire.DefaultDiscountID,
		Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: 1000}, Created: start,
	}, info)
	_, err = b.Codes.Lookup(t.Context(), b.tenantRow(t), "NOBODY")
	require.Equal(t, wire.UnknownCode(), err)
	b.owner(t, "carla", "CARLA")
	_, err = b.Codes.Lookup(t.Context(), bundleOn(t, b.DB).tenantRow(t), "CARLA")
	require.Equal(t, wire.UnknownCode(), err, "a code of another tenant")
}

func TestLogEvents(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	call := event.Call{Account: "anna", User: "u", Key: "some-key", Events: []event.Event{{Key: "k", Triggered: 5}, {Key: "l"}}}
	b.pass(core.Second)
	logged, err := b.Events.Log(t.Context(), b.keyHolder(t), call)
	require.NoError(t, err)
	require.Equal(t, start+core.Second, logged.Received)
	require.Equal(t, []core.Time{5, start + core.Second}, []core.Time{logged.Events[0].Triggered, logged.Events[1].Triggered})
	require.Len(t, logged.Events[0].ID, 24)
	require.NotEqual(t, logged.Events[0].ID, logged.Events[1].ID)
	_, err = b.Events.Log(t.Context(), b.keyHolder(t), call)
	require.Equal(t, event.Duplicate(""), err)
	b.pass(event.KeyLife + 1)
	_, err = b.Events.Log(t.Context(), b.keyHolder(t), call)
	require.NoError(t, err)
	require.Equal(t, int64(2), b.woken.Load())

	// The idempotency keys of callers without the API key are separate, by user.
	call.Account, call.User = "anna", "u"
	browser := b.keyHolder(t)
	browser.Key = false
	_, err = b.Events.Log(t.Context(), browser, call)
	require.NoError(t, err)
	_, err = b.Events.Log(t.Context(), browser, call)
	require.Equal(t, event.Duplicate(""), err)

	call.User = "nobody"
	_, err = b.Events.Log(t.Context(), b.keyHolder(t), call)
	require.Equal(t, &core.Error{Code: core.CodeNotFound, RS: "RS042", Message: "there is no such user; identify the user first"}, err)
	require.Equal(t, int64(3), b.woken.Load())
}

// The address of a browser is stored. That of a server is not, since it would be the same
// for all of its users.
func TestIdentify_KeepsTheBrowsersAddress(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	at := func(ip string) func(*rules.Identification) {
		return func(in *rules.Identification) { in.IP = ip }
	}
	for _, step := range []struct{ ip, first, last string }{
		{"", "", ""}, {"192.0.2.1", "192.0.2.1", "192.0.2.1"}, {"2001:db8::1", "192.0.2.1", "2001:db8::1"}, {"", "192.0.2.1", "2001:db8::1"},
	} {
		b.identify(t, "friend", at(step.ip))
		stored, err := b.Users.ByID(t.Context(), b.tenant, "friend", "u")
		require.NoError(t, err)
		require.Equal(t, [2]string{step.first, step.last}, [2]string{stored.User.FirstSeenIP, stored.User.LastSeenIP})
	}
}
