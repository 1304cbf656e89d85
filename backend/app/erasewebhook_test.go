package app_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/app/base"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/store"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
	"kith/core/wire"
)

// profiled is an identification of a user with a profile and a code that names the user.
func profiled(in *rules.Identification) {
	first, last, image := "Zoe", "Zimmer", "https://zimmer.example/zoe.png"
	in.Update.FirstName, in.Update.LastName, in.Update.ImageURL = &first, &last, &image
	in.Update.Codes = []referral.UserCode{{Program: core.ClassicProgram, Code: "ZIMMER"}}
	in.Update.CustomFields = []referral.CustomField{{Name: "pet", Value: `"zimmercat"`}}
	in.Update.Segments = []string{"zimmerlings"}
	in.IP = "192.0.2.77"
}

// An attempt after the erasure of a user has the ids of the user and no profile, and the
// keys that it had before.
func TestDeleteUser_RetriedWebhookHasNoProfile(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.subscribe(t, hook)
		b.identify(t, "zoe", profiled, email("zoe@zimmer.example"))
		first := b.begin(t)
		require.Len(t, first, 2)
		b.end(t, 500, first...)
		require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "zoe", "u", users.DeleteOptions{}))
		b.pass(core.Day)
		// One attempt at a time is made at an endpoint that fails, until one succeeds.
		retried := b.begin(t)
		require.Len(t, retried, 1)
		b.end(t, 200, retried...)
		retried = append(retried, b.begin(t)...)
		require.Len(t, retried, len(first))
		for _, s := range retried {
			require.Contains(t, events(first), s.Event)
			for _, personal := range []string{"zimmer", "Zimmer", "ZIMMER", "Zoe", "192.0.2.77"} {
				require.NotContains(t, string(s.Body), personal)
			}
		}
	})
}

// events returns the ids of the events of attempts.
func events(all []webhooks.Sending) (ids []string) {
	for _, s := range all {
		ids = append(ids, s.Event)
	}
	return ids
}

// full returns a user who has every field, and rewards of each kind of that user.
func full(share link.Share) (wire.UserInfo, []reward.Reward) {
	u := referral.User{
		Account: "zoe", ID: "u", FirstName: "Zoe", LastName: "Zimmer", Email: "zoe@zimmer.example", ImageURL: "https://zimmer.example/zoe.png", Locale: "de_CH",
		CountryCode: "CH", Referable: true, CustomFields: `{"pet":"zimmercat"}`, Segments: []string{"zimmerlings"}, Created: start, FirstSeenIP: "192.0.2.77",
		LastSeenIP: "192.0.2.77", CookieID: "cookie-of-zoe", USTaxForm: start, Blocked: start, Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: "ZIMMER"}},
	}
	credit := reward.Reward{
		ID: "reward", Account: "zoe", User: "u", Program: core.ClassicProgram, ProgramRewardKey: "referrer", GlobalRewardKey: "global", Referral: "referral",
		Order: "order-of-zoe", Source: reward.FriendSignup, Offer: reward.Offer{Kind: reward.Credit, Unit: "CENTS", Amount: 1000, Currency: "USD", Name: "Zoe's gift"},
		Cancellable: true, Created: start, Given: start, Scheduled: start, Expires: start + core.Day,
		Redemptions: []reward.Redeemed{{ID: "redemption", At: start, Amount: 5}},
	}
	credit.Sums.Redeemed, credit.Sums.Reversed, credit.Sums.Settled = 5, 7, 3
	tank, gift, percent := credit, credit, credit
	tank.Offer, tank.FuelTankCode, tank.FuelTankType = reward.Offer{Kind: reward.FuelTank, Unit: "CENTS", Amount: 10}, "SHOPCODE", reward.Credit
	gift.Offer = reward.Offer{Kind: reward.Integration, Unit: "CENTS", Amount: 10, Description: "for Zoe", Settings: `{"to":"zoe@zimmer.example"}`}
	percent.Offer = reward.Offer{Kind: reward.PercentDiscount, Unit: "%", Percent: 1000}
	account := referral.NewAccount("zoe", start)
	account.PaymentProviderID = "customer-of-zoe"
	by := referral.Referral{Code: "ANNA10", State: referral.Converted, ReferredReward: &credit}
	return wire.UserInfo{User: u, Account: account, Share: share, ReferredBy: wire.ReferredBy{Referral: &by}}, []reward.Reward{credit, tank, gift, percent}
}

// Each member of an event about an erased user stays, or gets the value that it has for a
// user without a profile. Those that stay are ids, times, amounts and states.
func TestDeleteUser_WebhookMembers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	u, rewards := full(link.Share{Origin: "https://go.example", Tenant: b.tenant})
	b.identify(t, "zoe", profiled, claim(referral.SourceBody, "ANNA10"))
	b.identify(t, "bob", claim(referral.SourceBody, "ZIMMER"))
	b.subscribe(t, hook)
	referralEvent := func(account string) []byte {
		r := *b.referral(t, account)
		r.ShareLink, r.Moderation.Signals = "https://go.example/s/ZIMMER", []referral.Finding{{Signal: referral.SignalName, Message: "the same name"}}
		r.ReferrerReward, r.ReferredReward = &rewards[0], &rewards[0]
		return wire.ReferralEvent(r)
	}
	const (
		given     = ` reversedValue settledValue cancellable dateCreated dateGiven dateScheduledFor dateExpires`
		rewarded  = `id type accountId userId programId programRewardKey globalRewardKey rewardSource unit `
		credit    = rewarded + `assignedCredit redeemedCredit currency redemptions` + given
		moderated = ` moderationStatus referrerModerationStatus referredModerationStatus referrerReward (` + credit + `) referredReward (` + credit + `) dateReferralStarted dateModerated dateModified`
		dropped   = `fraudSignals=null referrerReward (name=null orderId=) referredReward (name=null orderId=)`
	)
	cases := []struct {
		of            string
		typ           webhook.Type
		data          []byte
		kept, changed string
	}{
		{
			"a user", webhook.UserCreated, wire.UserCreated(u), `id accountId referable dateCreated`,
			`cookieId=null firstName="" lastName="" email=null emailHash=null imageUrl="" locale=null countryCode=null paymentProviderId=null ` +
				`referralCode=null referralCodes={} referredBy=null referredByCodes=[] customFields={} segments=[] shareLinks=null programShareLinks={} ` +
				`firstSeenIP=null lastSeenIP=null dateUsTaxFormSubmitted=null dateBlocked=null lastInitial=""`,
		},
		{"a code", webhook.CouponCreated, wire.CouponCreated(u.User.Codes[0], start), `dateCreated programId`, `code="deleted-…"`},
		{
			"a balance", webhook.RewardBalanceChanged, wire.RewardBalanceChanged(reward.Change{Owner: reward.Owner{Account: "zoe", User: "u", Unit: "CENTS"}, Available: 5, Version: 2}),
			`userId accountId unit availableValue resourceVersion`, ``,
		},
		{"a credit", webhook.RewardCreated, wire.Reward(rewards[0]), credit, `name=null orderId=`},
		{"a code of the shop", webhook.RewardCreated, wire.Reward(rewards[1]), rewarded + `amount fueltankType fuelTankType` + given, `fuelTankCode=null orderId=`},
		{"a gift", webhook.RewardReversed, wire.Reward(rewards[2]), rewarded + `valueInCents` + given, `description=null integrationSettings=null orderId=`},
		{"a discount", webhook.RewardCreated, wire.Reward(rewards[3]), rewarded + `discountPercent` + given, `orderId=`},
		{"the user's referral", webhook.ReferralStarted, referralEvent("zoe"), `id programId referrer referred referralCodeUsed shareLinkUsed` + moderated, dropped},
		{
			"a referral that the user made", webhook.ReferralConverted, referralEvent("bob"), `id programId referrer referred` + moderated,
			`referralCodeUsed="deleted-…" shareLinkUsed=null ` + dropped,
		},
		{
			"the reward of the referrer", webhook.RewardCreated, []byte(`{"id":"` + b.referrerReward(t, "zoe") + `","accountId":"anna","userId":"u","orderId":"o","name":"n"}`),
			`id accountId userId name`, `orderId=`,
		},
		{"another user", webhook.UserCreated, []byte(`{"id":"u","accountId":"anna","email":"anna@example.com"}`), `id accountId email`, ``},
		{
			"a user whom the user referred", webhook.UserCreated, []byte(`{"id":"u","accountId":"bob","email":"b@example.com","referredBy":{"code":"ZIMMER","isConverted":true},"referredByCodes":["ZIMMER"]}`),
			`id accountId email`, `referredBy={"code":"deleted-…","isConverted":true} referredByCodes=["deleted-…"]`,
		},
	}
	for _, c := range cases {
		require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
			return webhookdb.Emit(t.Context(), tx, b.tenant, c.of, c.typ, c.data)
		}))
	}
	require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "zoe", "u", users.DeleteOptions{}))
	for _, c := range cases {
		kept, changed := compare(gjson.ParseBytes(c.data), gjson.Parse(b.eventData(t, c.of)))
		assert.Equal(t, c.kept, kept, c.of)
		assert.Equal(t, c.changed, regexp.MustCompile(`deleted-[0-9a-f]{24}`).ReplaceAllString(changed, "deleted-…"), c.of)
	}
}

// referrerReward returns the id of the reward of an account's referrer.
func (b bundle) referrerReward(t testing.TB, account string) string {
	t.Helper()
	b.identify(t, account, paid)
	return b.referral(t, account).ReferrerReward.ID
}

// compare returns the members of an object that have a value and the same one later, and
// those that have another one later, with it.
func compare(before, after gjson.Result) (kept, changed string) {
	before.ForEach(func(key, value gjson.Result) bool {
		later := after.Get(key.String())
		switch {
		case strings.HasSuffix(key.String(), "Reward") && later.IsObject():
			k, c := compare(value, later)
			kept, changed = kept+key.String()+" ("+k+") ", changed+key.String()+" ("+c+") "
		case later.Raw != value.Raw:
			changed += key.String() + "=" + later.Raw + " "
		case value.Type != gjson.Null:
			kept += key.String() + " "
		}
		return true
	})
	return strings.TrimSpace(kept), strings.TrimSpace(changed)
}

// eventData returns the stored data of a webhook event.
func (b bundle) eventData(t testing.TB, id string) (data string) {
	t.Helper()
	require.NoError(t, b.DB.Reads.QueryRowContext(t.Context(), `SELECT data FROM webhook_event WHERE tenant = ? AND id = ?`, string(b.tenant), id).Scan(&data))
	return data
}

// An event that all endpoints got becomes empty, and is not sent again. Answers of endpoints
// are emptied, also that of an attempt that ends after the erasure.
func TestDeleteUser_DeliveredWebhooksAreBlank(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		queue := b.subscribe(t, hook)
		b.identify(t, "zoe", profiled)
		begun := b.begin(t)
		require.Len(t, begun, 2)
		b.end(t, 200, begun[0])
		require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "zoe", "u", users.DeleteOptions{}))
		b.end(t, 200, begun[1])
		require.Equal(t, "{}", b.eventData(t, begun[0].Event))
		require.NotEqual(t, "{}", b.eventData(t, begun[1].Event), "it was not delivered at the time of the erasure")
		page, total, err := b.Deliveries.List(t.Context(), queue, webhook.Delivered, base.Page{Limit: 10})
		require.NoError(t, err)
		require.Equal(t, 2, total)
		for _, d := range page {
			require.Len(t, d.Attempts, 1)
			require.Empty(t, d.Attempts[0].Answer)
		}
		requireCode(t, core.CodeNotFound, b.Deliveries.Replay(t.Context(), begun[0].DeliveryKey))
		require.NoError(t, b.Deliveries.Replay(t.Context(), begun[1].DeliveryKey))
	})
}

// Concurrent identifications and deletions of a user leave no event with the profile.
func TestDeleteUser_WebhooksAgainstIdentification(t *testing.T) {
	withDeliveries(t, func(t *testing.T, b bundle) {
		b.subscribe(t, hook)
		for _, err := range concurrently(func(i int) error {
			if i%2 == 0 {
				return b.Erasures.DeleteUser(t.Context(), b.tenant, "zoe", "u", users.DeleteOptions{})
			}
			_, err := b.Identification.Identify(t.Context(), b.tenant, identification("zoe", profiled))
			return err
		}) {
			if err != nil {
				requireCode(t, core.CodeNotFound, err)
			}
		}
		if err := b.Erasures.DeleteUser(t.Context(), b.tenant, "zoe", "u", users.DeleteOptions{}); err != nil {
			requireCode(t, core.CodeNotFound, err)
		}
		n, err := store.One[int](t.Context(), b.DB.Reads, "events", `SELECT count(*) FROM webhook_event WHERE tenant = ? AND data LIKE '%zimmer%'`, string(b.tenant))
		require.NoError(t, err)
		require.Zero(t, n)
	})
}
