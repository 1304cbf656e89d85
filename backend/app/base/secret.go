package base

import (
	"fmt"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
	"kith/core/webhook"
)

// Seal encrypts a secret for its place in the database: the result cannot be opened as
// the secret of another place.
func (b *Base) Seal(place, secret string) (string, error) {
	var nonce [auth.NonceSize]byte
	b.Entropy(nonce[:])
	return b.Keys.Seal(place, secret, nonce)
}

// NewSecret makes a secret of 40 characters, which have 200 random bits.
func (b *Base) NewSecret() string {
	raw := make([]byte, 40)
	b.Entropy(raw)
	for i := range raw {
		raw[i] = rules.CodeAlphabet[raw[i]&31]
	}
	return string(raw)
}

// OpenKey decrypts the secret of an API key that signs user tokens or webhooks.
func (b *Base) OpenKey(tenant core.TenantAlias, k auth.APIKey) (string, error) {
	secret, err := b.Keys.Open(auth.KeyPlace(tenant), k.Sealed)
	if err != nil {
		return "", fmt.Errorf("app: open key %s of tenant %s: %w", k.Name, tenant, err)
	}
	return secret, nil
}

// SigningSecrets returns the secrets that sign the user tokens of a tenant: a token of
// any of them is valid, and the first one signs new tokens. A tenant may have none.
func (b *Base) SigningSecrets(tenant tenantdb.Tenant) (secrets []string, err error) {
	for _, k := range tenant.Keys.Signing(tenant.APIKeyTokens, b.Now()) {
		secret, err := b.OpenKey(tenant.Alias, k)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	return secrets, nil
}

// EndpointPlace returns the place of the sealed secrets of a webhook endpoint.
func EndpointPlace(queue webhook.Queue) string {
	return "tenant/" + string(queue.Tenant) + "/webhook/" + string(queue.Endpoint)
}

// GatewayPlace returns the place of the sealed private key that belongs to a public key
// at the tenant's payment gateway.
func GatewayPlace(tenant core.TenantAlias, public string) string {
	return "tenant/" + string(tenant) + "/gateway/" + public
}

// PipelinePlace returns the place of the sealed secrets of a tenant's pipeline.
func PipelinePlace(tenant core.TenantAlias) string { return "tenant/" + string(tenant) + "/pipeline" }

// TOTPPlace returns the place of the sealed secret of a person's authenticator app.
func TOTPPlace(person string) string { return "person/" + person + "/totp" }

// DevicePlace is the place of what the browser of a member keeps, so that it is recognised.
const DevicePlace = "portal/device"

// SigningKeyPlace returns the place of the sealed private half of a webhook signing key.
func SigningKeyPlace(id string) string { return "webhook/key/" + id }
