package stripe_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/gateway/stripe"
	"kith/backend/stripelab"
)

// api returns a client that may make all calls of a lab.
func api(l lab) *sdk.Client {
	backend := sdk.GetBackendWithConfig(sdk.APIBackend, &sdk.BackendConfig{
		URL: sdk.String(l.url), MaxNetworkRetries: sdk.Int64(0), LeveledLogger: &sdk.LeveledLogger{Level: sdk.LevelNull},
	})
	return sdk.NewClient(stripelab.SecretKey, sdk.WithBackends(&sdk.Backends{API: backend}))
}

// foreignEndpoint makes a webhook endpoint that is not of the connection, with the tenant
// of another service of Kith in its metadata unless it is empty.
func (l lab) foreignEndpoint(t *testing.T, url, tenant string) string {
	t.Helper()
	params := &sdk.WebhookEndpointCreateParams{URL: &url, EnabledEvents: sdk.StringSlice(stripe.Events())}
	if tenant != "" {
		params.AddMetadata("kith_tenant", tenant)
	}
	e, err := api(l).V1WebhookEndpoints.Create(t.Context(), params)
	require.NoError(t, err)
	return e.ID
}
