package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/wire"
)

// discount returns the discount of an account, as "referred+referrer".
func (b bundle) discount(t testing.TB, account string, code core.ReferralCode) string {
	t.Helper()
	d, err := b.Discounts.Of(t.Context(), b.tenant, core.AccountID(account), code)
	require.NoError(t, err)
	require.Equal(t, d.Referred+d.Referrer, d.Total())
	require.Equal(t, core.AccountID(account), d.Account)
	require.Equal(t, wire.DefaultDiscountID, d.DiscountID)
	return d.Referred.String() + "+" + d.Referrer.String()
}

// percent returns a grant of a percent discount to the user "u" of an account.
func percent(account string, points reward.BasisPoints, change ...func(*reward.Grant)) reward.Grant {
	g := reward.Grant{
		Account: core.AccountID(account), User: "u", Source: reward.FriendSignup,
		Offer: reward.Offer{Kind: reward.PercentDiscount, Percent: points},
	}
	for _, c := range change {
		c(&g)
	}
	return g
}

func TestAccountDiscount_AddsUpWhatIsAvailable(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.Equal(t, "0+0", b.discount(t, "anna", ""))
	b.reward(t, percent("anna", 1000))
	b.reward(t, percent("anna", 250, func(g *reward.Grant) { g.Source = reward.Manual }))
	b.reward(t, percent("anna", 500, func(g *reward.Grant) { g.Source = reward.Referred }))
	require.Equal(t, "5+12.5", b.discount(t, "anna", ""))

	b.reward(t, percent("anna", 700, func(g *reward.Grant) { g.Held = true }))
	b.reward(t, percent("anna", 700, func(g *reward.Grant) { g.Scheduled = start + core.Hour }))
	b.reward(t, points("anna", 700))
	cancelled := b.reward(t, percent("anna", 700))
	_, err := b.Rewards.Cancel(t.Context(), people.OperatorOf(b.tenant), cancelled.ID, "")
	require.NoError(t, err)
	b.reward(t, percent("anna", 700, func(g *reward.Grant) { g.Expires = start + core.Minute }))
	require.Equal(t, "5+19.5", b.discount(t, "anna", ""), "until it expires")
	b.pass(core.Minute)
	require.Equal(t, "5+12.5", b.discount(t, "anna", ""))
	b.pass(core.Hour)
	require.Equal(t, "5+19.5", b.discount(t, "anna", ""), "after the scheduled discount has begun")

	b.reward(t, percent("anna", 9900))
	require.Equal(t, "5+95", b.discount(t, "anna", ""), "all of the price at most")
}

// A program's discounts count up to its limit. The limit does not apply to discounts of
// another program or without one.
func TestAccountDiscount_UpToTheProgramsLimit(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Programs.Update(t.Context(), b.tenant, core.ClassicProgram, func(p *referral.Program) error {
		p.Limits.Discount = 2000
		return nil
	})
	require.NoError(t, err)
	in := func(program core.ProgramKey) func(*reward.Grant) {
		return func(g *reward.Grant) { g.Program = program }
	}
	b.reward(t, percent("anna", 1500, in("classic")))
	b.reward(t, percent("anna", 1500, in("classic")))
	require.Equal(t, "0+20", b.discount(t, "anna", ""))
	b.reward(t, percent("anna", 1000, in("classic"), func(g *reward.Grant) { g.Source = reward.Referred }))
	require.Equal(t, "10+10", b.discount(t, "anna", ""))
	b.reward(t, percent("anna", 3000))
	require.Equal(t, "10+40", b.discount(t, "anna", ""))
}

// A referral in progress promises its discount, which the gateway has from the checkout
// on. The conversion makes it a reward, and the end of the referral removes it.
func TestAccountDiscount_OfAReferral(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"))
	require.Equal(t, "10+0", b.discount(t, "friend", ""))
	b.sync(t, "friend", referral.Paid, "")
	require.Equal(t, "10+0", b.discount(t, "friend", ""))

	b.identify(t, "leaver", claim(referral.SourceInit, "ANNA10"))
	b.sync(t, "leaver", referral.Cancelled, "")
	require.Equal(t, "0+0", b.discount(t, "leaver", ""))
}

func TestAccountDiscount_WithACode(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.sync(t, "shop", referral.Trial, "")
	require.Equal(t, "0+0", b.discount(t, "shop", ""))
	require.Equal(t, "10+0", b.discount(t, "shop", "anna10"))
	require.Equal(t, "0+0", b.discount(t, "shop", ""), "reading a discount changes nothing")
	require.Equal(t, "0+0", b.discount(t, "anna", "ANNA10"), "the account's own code")
	require.NoError(t, b.Users.Block(t.Context(), b.tenant, "bert", "u", ""))
	require.Equal(t, "0+0", b.discount(t, "shop", "BERT20"), "a blocked user's code")
	b.identify(t, "friend", claim(referral.SourceInit, "ANNA10"), paid)
	require.Equal(t, "10+0", b.discount(t, "friend", "BERT20"), "a second code adds nothing")
	b.sync(t, "payer", referral.Paid, "")
	require.Equal(t, "0+0", b.discount(t, "payer", "ANNA10"), "too late to be referred")

	_, err := b.Identification.Identify(t.Context(), b.tenant, identification("anna", func(in *rules.Identification) {
		first, last := "Anna", "Ash"
		in.Update.FirstName, in.Update.LastName = &first, &last
	}))
	require.NoError(t, err)
	d, err := b.Discounts.Of(t.Context(), b.tenant, "shop", "ANNA10")
	require.NoError(t, err)
	require.Equal(t, reward.Discount{Account: "shop", Referred: 1000, DiscountID: "svc_discount", FirstName: "Anna", LastName: "Ash"}, d)
	_, err = b.Discounts.Of(t.Context(), b.tenant, "shop", "NOBODY")
	require.Equal(t, wire.UnknownCode(), err)
	_, err = b.Discounts.Of(t.Context(), b.tenant, "nobody", "ANNA10")
	require.Equal(t, &core.Error{Code: core.CodeNotFound, RS: "RS041", Message: "there is no such account"}, err)
}

func TestRegisterDiscount(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		register := func(account string, provider core.PaymentProviderID, code core.ReferralCode) (reward.Discount, error) {
			return b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{Account: core.AccountID(account), Provider: provider, Code: code})
		}
		d, err := register("friend", "bt-1", "ANNA10")
		require.NoError(t, err)
		require.Equal(t, reward.Discount{Account: "friend", Referred: 1000, DiscountID: "svc_discount"}, d)
		account, err := b.Accounts.ByID(t.Context(), b.tenant, "friend")
		require.NoError(t, err)
		require.Equal(t, core.PaymentProviderID("bt-1"), account.PaymentProviderID)
		require.Equal(t, core.ReferralCode("ANNA10"), account.Standing.Code)
		require.Equal(t, []string{"couponCode ANNA10: first-code"}, b.rules(t, "friend"))

		d, err = register("friend", "bt-1", "BERT20")
		require.NoError(t, err)
		require.Equal(t, reward.BasisPoints(1000), d.Total())
		require.Equal(t, "couponCode BERT20: already-referred", b.rules(t, "friend")[1])
		_, err = register("friend", "bt-2", "ANNA10")
		require.Equal(t, &core.Error{Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS019", Message: "is set already and cannot be changed"}, err)
		_, err = register("other", "bt-1", "ANNA10")
		require.Equal(t, &core.Error{Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS029", Message: "belongs to another account"}, err)
		_, err = b.Accounts.ByID(t.Context(), b.tenant, "other")
		require.Equal(t, core.CodeNotFound, codeOf(err), "a refused call creates no account")

		d, err = register("stranger", "bt-3", "NOBODY")
		require.NoError(t, err)
		require.Zero(t, d.Total())
		require.Equal(t, []string{"couponCode NOBODY: unknown-code"}, b.rules(t, "stranger"))
	})
}

func TestRegisterDiscount_OneOfManyCodesCounts(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, err := range concurrently(func(i int) error {
			_, err := b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{
				Account: "friend", Provider: "bt-1", Code: []core.ReferralCode{"ANNA10", "BERT20"}[i%2],
			})
			return err
		}) {
			require.NoError(t, err)
		}
		require.NotNil(t, b.referral(t, "friend"))
		require.Equal(t, "10+0", b.discount(t, "friend", ""))
	})
}
