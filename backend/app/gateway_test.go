package app_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/payments"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
)

func TestConnect_SealsPrivateKeys(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	given := billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "p1", Private: "private-1"}}}
	stored, err := b.Gateways.Connect(t.Context(), b.tenant, given)
	require.NoError(t, err)
	require.Equal(t, billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "p1"}}, Credit: billing.CreditCoupon, Created: start}, stored)
	require.Equal(t, "private-1", given.Keys[0].Private, "the argument is not changed")

	_, err = b.Gateways.Change(t.Context(), b.tenant, billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "p2", Private: "private-2"}, {Public: "p1"}}})
	require.NoError(t, err)
	opened, err := b.Gateways.Open(t.Context(), b.tenant)
	require.NoError(t, err)
	require.Equal(t, []billing.Key{{Public: "p2", Private: "private-2"}, {Public: "p1", Private: "private-1"}}, opened.Keys)
	sealed, _, err := billingdb.Connection(t.Context(), b.DB.Reads, b.tenant)
	require.NoError(t, err)
	for _, k := range sealed.Keys {
		require.NotEmpty(t, k.Private)
		require.False(t, strings.Contains(k.Private, "private"), "it is sealed")
	}

	require.NoError(t, b.Gateways.Disconnect(t.Context(), b.tenant))
	_, err = b.Gateways.Open(t.Context(), b.tenant)
	require.Equal(t, core.NotFound("this tenant has no payment gateway; connect it first"), err)
}

func TestConnect_RefusesBaseURLOfLiveTenant(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Gateways.Connect(t.Context(), b.tenant, billing.Connection{Kind: billing.Braintree, MerchantID: "m", BaseURL: "http://127.0.0.1", Keys: []billing.Key{{Public: "p", Private: "s"}}})
	require.Equal(t, core.Invalid("baseUrl", "is for test tenants: a live tenant's gateway is the gateway's own host"), err)
}

func TestAddNotification_StoresAPayloadOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		for _, payload := range []string{"one\n", "one\n", "two\n"} {
			require.NoError(t, b.Notifications.Add(t.Context(), b.tenant, billing.Braintree, payload, payload))
		}
		n, err := store.One[int](t.Context(), b.DB.Reads, "notifications", `SELECT count(*) FROM gateway_notification WHERE tenant = ?`, string(b.tenant))
		require.NoError(t, err)
		require.Equal(t, 2, n)
	})
}

// A notification that a search found does not show that Stripe's webhook works. One that
// arrived by it does, also if a search had found it before.
func TestNotifications_OnlyTheWebhookIsADelivery(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, second(b.Gateways.Connect(t.Context(), b.tenant, billing.Connection{Kind: billing.Stripe, MerchantID: "acct_1", Keys: []billing.Key{billing.StripeKey("rk_live_key")}})))
	tasks, err := b.Gateways.Begin(t.Context(), &billingdb.Sweeps, 8, nil)
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.NoError(t, second(b.Sweeps.End(t.Context(), tasks[0], b.Sweeps.Search(tasks[0]), payments.SweepResult{Notifications: []payments.SentNotification{{Identity: "evt_1", Payload: "{}"}}})))
	read, err := b.Notifications.Read(t.Context(), 8, func(billing.Kind, string) payments.ParsedNotification {
		return payments.ParsedNotification{Kind: billing.CheckKind, Known: true}
	})
	require.NoError(t, err)
	require.Equal(t, 1, read)
	for _, want := range []core.Time{0, start} {
		c, err := b.Gateways.Connection(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Equal(t, want, c.Checked)
		require.NoError(t, b.Notifications.Add(t.Context(), b.tenant, billing.Stripe, "evt_1", "{}"))
	}
}

// A tenant whose keys cannot be opened, as after a restore under another master key, does
// not keep the tasks of other tenants from being begun.
func TestBegin_TenantWithoutAccess(t *testing.T) {
	t.Parallel()
	broken := newBundle(t)
	b := bundleOn(t, broken.DB)
	for _, c := range []bundle{broken, b} {
		_, err := c.Gateways.Connect(t.Context(), c.tenant, billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "p", Private: "private"}}})
		require.NoError(t, err)
	}
	require.NoError(t, b.DB.Write(t.Context(), start, func(tx *store.Tx) error {
		return tx.Exec(t.Context(), "break a key", `UPDATE gateway_key SET private_key = 'other' WHERE tenant = ?`, string(broken.tenant))
	}))
	tasks, err := b.Gateways.Begin(t.Context(), &billingdb.Sweeps, 8, nil)
	require.NoError(t, err)
	got := map[core.TenantAlias]string{}
	for _, task := range tasks {
		got[task.Tenant] = task.Connection.MerchantID
		require.Equal(t, task.Tenant == broken.tenant, task.Err != nil, task.Err)
	}
	require.Equal(t, map[core.TenantAlias]string{broken.tenant: "m", b.tenant: "m"}, got)
	require.NoError(t, second(b.Sweeps.End(t.Context(), tasks[0], b.Sweeps.Search(tasks[0]), payments.SweepResult{})))
}
