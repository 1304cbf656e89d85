package program

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// TestPrefix begins the alias of a tenant's test mode (reference, 2.1).
const TestPrefix = "test_"

// NewTenant is what a tenant starts with.
type NewTenant struct {
	Alias core.TenantAlias
	// Key is the API key.
	Key    string
	Policy link.Policy
	// DiscountID is the tenant's discount at the payment gateway; empty means
	// wire.DefaultDiscountID.
	DiscountID string
	// Program is the tenant's first program.
	Program referral.Program
}

// MakeKey makes an API key of 192 random bits behind a prefix that tells live
// and test apart (reference, 2.1).
func (e *Engine) MakeKey(alias core.TenantAlias) string {
	prefix := "LIVE_"
	if strings.HasPrefix(string(alias), TestPrefix) {
		prefix = "TEST_"
	}
	raw := make([]byte, 40)
	e.Entropy(raw)
	for i := range raw {
		raw[i] = codeAlphabet[raw[i]&31]
	}
	return prefix + string(raw)
}

// CreateTenants adds tenants with their programs, all of them or none. The host
// of a landing page becomes the tenant's shop, unless it is somebody's already.
// An alias that is taken is a conflict.
func (e *Engine) CreateTenants(ctx context.Context, tenants ...NewTenant) error {
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		for _, n := range tenants {
			if err := e.createTenant(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) createTenant(ctx context.Context, tx *store.Tx, n NewTenant) error {
	if _, err := core.ParseTenantAlias(string(n.Alias)); err != nil {
		return core.Invalid("alias", "must be 1 to 64 of A-Z a-z 0-9 - _")
	}
	if !link.ValidLandingURL(n.Program.LandingURL) {
		return core.Invalid("landing-url", "must be an absolute http or https URL")
	}
	var nonce [auth.NonceSize]byte
	e.Entropy(nonce[:])
	sealed, err := e.Keys.Seal(auth.KeyPlace(n.Alias), n.Key, nonce)
	if err != nil {
		return err
	}
	added, err := tx.InsertTenant(ctx, store.Tenant{
		Alias: n.Alias, KeyHash: auth.KeyHash(n.Key), KeySealed: sealed,
		DiscountID: cmp.Or(n.DiscountID, wire.DefaultDiscountID), Policy: n.Policy, Created: tx.Now,
	})
	if err == nil && !added {
		err = &core.Error{Code: core.CodeConflict, Field: "alias", Message: "there is a tenant " + string(n.Alias) + " already"}
	}
	if err != nil {
		return err
	}
	if _, err := tx.InsertProgram(ctx, n.Alias, n.Program); err != nil {
		return err
	}
	return claimShop(ctx, tx, n.Alias, n.Program.LandingURL)
}

// MoveShop changes where a program lands; the new host becomes the tenant's
// shop, unless it is somebody's already.
func (e *Engine) MoveShop(ctx context.Context, tenant core.TenantAlias, program core.ProgramKey, landingURL string) error {
	if !link.ValidLandingURL(landingURL) {
		return core.Invalid("landing-url", "must be an absolute http or https URL")
	}
	return e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		if err := tx.SetLandingURL(ctx, tenant, program, landingURL); err != nil {
			return err
		}
		return claimShop(ctx, tx, tenant, landingURL)
	})
}

func claimShop(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, landingURL string) error {
	u, err := url.Parse(landingURL)
	if err != nil {
		return err
	}
	_, err = tx.ClaimSite(ctx, u.Host, tenant)
	return err
}

// SignToken makes a user token of a tenant; see wire.SignToken.
func (e *Engine) SignToken(ctx context.Context, alias core.TenantAlias, s wire.Subject, expires core.Time) (string, error) {
	tenant, err := e.DB.Tenant(ctx, alias)
	if err != nil {
		return "", err
	}
	key, err := e.Keys.Open(auth.KeyPlace(alias), tenant.KeySealed)
	if err != nil {
		return "", err
	}
	return wire.SignToken(key, s, expires), nil
}
