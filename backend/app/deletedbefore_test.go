package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kith/core"
	"kith/core/job"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/wire"
)

// An account that had paid and was deleted is referred by no call, except by hand.
func TestDeletedBefore_EveryCall(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.owner(t, "anna", "ANNA10")
	b.shop(t)
	for by, refer := range map[string]func(account string){
		"identification": func(account string) { b.identify(t, account, claim(referral.SourceCodes, "ANNA10")) },
		"cookie":         func(account string) { b.identify(t, account, b.cookie("ANNA10")) },
		"sync":           func(account string) { b.sync(t, account, "", "ANNA10") },
		"import": func(account string) {
			b.imported(t, job.ImportUser, "users.csv", "id,accountId,referredBy.code\nu,"+account+",ANNA10\n", `{}`)
		},
		"segment": func(account string) {
			b.receive(t, `{"type":"identify","userId":"`+account+`","traits":{"referral_code":"ANNA10"}}`)
		},
		"event": func(account string) {
			b.identify(t, account)
			require.NoError(t, b.log(t, account, "", `{"key":"purchase","fields":{"order_id":"1","revenue":80,"referral_code":"ANNA10"}}`))
			b.process(t)
		},
		"discount": func(account string) {
			_, err := b.Discounts.Register(t.Context(), b.tenant, wire.DiscountRegistration{Account: core.AccountID(account), Provider: core.PaymentProviderID("c-" + account), Code: "ANNA10"})
			require.NoError(t, err)
		},
	} {
		for _, deleted := range []bool{true, false} {
			account, want := by+"-new", referral.InProgress
			if by == "event" {
				want = referral.Converted
			}
			if deleted {
				account, want = by+"-again", referral.None
				b.identify(t, account)
				b.sync(t, account, referral.Paid, "")
				require.NoError(t, b.Erasures.DeleteAccount(t.Context(), b.tenant, core.AccountID(account), false))
			}
			refer(account)
			require.Equal(t, want, b.state(t, account), account)
			if deleted {
				require.Contains(t, b.rules(t, account)[0], string(referral.RuleDeleted), account)
			}
		}
	}
	_, err := b.Admin.Users.Attribute(t.Context(), people.OperatorOf(b.tenant), referral.Identity{Account: "identification-again", User: "u"}, "ANNA10", "known to the shop")
	require.NoError(t, err)
	require.Equal(t, referral.InProgress, b.state(t, "identification-again"))
}
