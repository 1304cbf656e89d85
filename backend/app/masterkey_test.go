package app_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/store/secretdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/billing"
	"kith/core/webhook"
	"kith/core/wire"
)

// After a rotation all secrets are sealed under the new key alone, even if the rotation
// was interrupted and run again. Processes with both keys work meanwhile.
func TestRotateMasterKey(t *testing.T) {
	onOwnServer(t, func(t *testing.T, b bundle) {
		old, next := keyring(t, "a"), keyring(t, "b")
		both := ringOf(t, "a", "b")
		_, err := secretdb.KeepKeyFingerprint(t.Context(), b.DB, start, old.Fingerprint())
		require.NoError(t, err)
		var more []tenants.NewTenant
		for i := range 120 {
			more = append(more, aTenant(core.TenantAlias(fmt.Sprintf("%s-%d", b.tenant, i)), fmt.Sprintf("secret %d", i)))
		}
		require.NoError(t, b.Tenants.Create(t.Context(), more...))
		const endpoint = "https://shop.example/hook"
		_, err = b.Webhooks.Subscribe(t.Context(), b.tenant, webhook.Request{Endpoint: endpoint})
		require.NoError(t, err)
		_, err = b.Webhooks.RotateSecret(t.Context(), b.tenant, endpoint)
		require.NoError(t, err)
		require.NoError(t, b.SigningKeys.Ensure(t.Context()))
		var pipeline [2]string
		for i := range pipeline {
			pipeline[i], _, err = b.Pipelines.RotateSecret(t.Context(), b.tenant, core.Hour)
			require.NoError(t, err)
		}
		_, err = b.Gateways.Connect(t.Context(), b.tenant, billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "p", Private: "private"}}})
		require.NoError(t, err)
		b.identify(t, "gone")
		require.NoError(t, b.Erasures.DeleteUser(t.Context(), b.tenant, "gone", "u", users.DeleteOptions{DoNotTrack: true}))
		token, err := b.Tenants.SignToken(t.Context(), b.tenant, wire.Subject{Account: "anna", User: "u"}, start+core.Day)
		require.NoError(t, err)

		serves := func(keys auth.Keyring) error {
			e := b.under(keys)
			for _, tenant := range append(more, tenants.NewTenant{Alias: b.tenant}) {
				if _, err := e.Tenants.SignToken(t.Context(), tenant.Alias, wire.Subject{Account: "a", User: "u"}, start); err != nil {
					return err
				}
			}
			_, err := e.SigningKeys.Current(t.Context(), webhooks.SigningKey{})
			return err
		}
		evidence := func() (string, string) {
			k, err := secretdb.FindMasterKey(t.Context(), b.DB.Reads)
			require.NoError(t, err)
			return k.Fingerprint, k.Next
		}
		rotation := b.under(ringOf(t, "b", "a").WithIdentity(old))

		ctx, cancel := context.WithCancel(t.Context())
		remaining := 110
		rotation.Entropy = func(p []byte) {
			if remaining--; remaining == 0 {
				cancel()
			}
			b.Entropy(p)
		}
		_, err = rotation.MasterKey.Rotate(ctx)
		require.Error(t, err)
		fingerprint, replacedBy := evidence()
		require.Equal(t, old.Fingerprint(), fingerprint)
		require.Equal(t, next.Fingerprint(), replacedBy)
		require.NoError(t, serves(both), "some secrets are sealed under each key")
		require.Error(t, serves(old))
		require.Error(t, serves(next))

		rotation.Entropy = b.Entropy
		n, err := rotation.MasterKey.Rotate(t.Context())
		require.NoError(t, err)
		require.Less(t, n, len(more), "secrets under the new key are skipped")
		require.Positive(t, n)
		require.NoError(t, serves(next))
		fingerprint, replacedBy = evidence()
		require.Equal(t, next.Fingerprint(), fingerprint)
		require.Empty(t, replacedBy)

		// A process seals a secret under the old key; another rotation reseals it.
		_, _, err = b.APIKeys.Create(t.Context(), b.tenant, "late", auth.RoleTokens, 0)
		require.NoError(t, err)
		n, err = rotation.MasterKey.Rotate(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, n)

		kept, err := secretdb.FindMasterKey(t.Context(), b.DB.Reads)
		require.NoError(t, err)
		identified, err := next.OpenIdentity(kept.Identity)
		require.NoError(t, err)
		after := b.under(identified)
		_, err = after.Callers.Authenticate(t.Context(), b.tenant, "Bearer "+token, "")
		require.NoError(t, err)
		// An attempt shows that the endpoint's two secrets can be opened.
		require.NoError(t, second(after.Webhooks.Test(t.Context(), b.tenant, endpoint)))
		begun, err := after.Deliveries.Begin(t.Context(), someSlots, webhook.Busy{})
		require.NoError(t, err)
		require.NotEmpty(t, begun)
		require.Empty(t, begun[0][0].Fault)
		require.Len(t, begun[0][0].Secrets, 2)
		require.Equal(t, b.key, begun[0][0].APIKey)
		for _, secret := range pipeline {
			_, err = after.Pipelines.Authenticate(t.Context(), b.tenant, sign(secret, "{}"), []byte("{}"))
			require.NoError(t, err)
		}
		connection, err := after.Gateways.Open(t.Context(), b.tenant)
		require.NoError(t, err)
		require.Equal(t, "private", connection.Keys[0].Private)
		// A user who must not be tracked is still refused.
		require.Equal(t, old.Identity(b.tenant, "gone", "u"), after.Keys.Identity(b.tenant, "gone", "u"))
		var refused *core.Error
		_, err = after.Identification.Identify(t.Context(), b.tenant, identification("gone"))
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "RS050", refused.RS)
	})
}

// under returns an engine on the same database with other master keys.
func (b bundle) under(keys auth.Keyring) *app.Engine {
	return app.New(base.Base{DB: b.DB, Keys: keys, Now: b.Now, Entropy: b.Entropy})
}

// ringOf returns a keyring of several keys, each 64 times a digit.
func ringOf(t testing.TB, digits ...string) auth.Keyring {
	t.Helper()
	text := ""
	for i, d := range digits {
		if i > 0 {
			text += ","
		}
		for range 64 {
			text += d
		}
	}
	keys, err := auth.ParseKeyring(text)
	require.NoError(t, err)
	return keys
}
