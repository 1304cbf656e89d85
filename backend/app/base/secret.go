package base

import (
	"fmt"

	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/webhook"
)

// Seal encrypts a secret for its place in the database.
func (b *Base) Seal(place, secret string) (string, error) {
	var nonce [auth.NonceSize]byte
	b.Entropy(nonce[:])
	return b.Keys.Seal(place, secret, nonce)
}

// OpenKey opens the secret of a key that signs.
func (b *Base) OpenKey(tenant core.TenantAlias, k auth.APIKey) (string, error) {
	secret, err := b.Keys.Open(auth.KeyPlace(tenant), k.Sealed)
	if err != nil {
		return "", fmt.Errorf("program: open key %s of tenant %s: %w", k.Name, tenant, err)
	}
	return secret, nil
}

// SigningSecrets are the secrets that sign user tokens of a tenant; the first one is
// to sign new ones.
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

// EndpointPlace is the place of an endpoint's sealed secrets.
func EndpointPlace(line webhook.Line) string {
	return "tenant/" + string(line.Tenant) + "/webhook/" + string(line.Endpoint)
}

// GatewayPlace is the place of a sealed private key.
func GatewayPlace(tenant core.TenantAlias, public string) string {
	return "tenant/" + string(tenant) + "/gateway/" + public
}

// SigningKeyPlace is the place of the sealed private half of a key.
func SigningKeyPlace(id string) string { return "webhook/key/" + id }
