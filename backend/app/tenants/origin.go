package tenants

import (
	"context"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/origin"
)

// Origins manages the origins whose pages may call a tenant from a browser.
type Origins struct{ *base.Base }

// Allowed reports whether pages of an origin may call a tenant. header is the Origin
// header of the request. An unknown tenant allows no origin.
func (os *Origins) Allowed(ctx context.Context, tenant core.TenantAlias, header string) (bool, error) {
	sites, err := tenantdb.Sites(ctx, os.DB.Reads, tenant)
	return err == nil && origin.Allowed(header, sites), err
}

// List returns the origins that were added to a tenant, sorted. The origins of landing
// pages are not among them, but are allowed too.
func (os *Origins) List(ctx context.Context, tenant core.TenantAlias) ([]origin.Origin, error) {
	if _, err := tenantdb.Find(ctx, os.DB.Reads, tenant); err != nil {
		return nil, err
	}
	return tenantdb.Origins(ctx, os.DB.Reads, tenant)
}

// Add adds origins to a tenant, all of them or none. It skips those that the tenant has.
// A tenant has at most origin.MaxPerTenant.
func (os *Origins) Add(ctx context.Context, tenant core.TenantAlias, origins ...origin.Origin) error {
	return os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		return addOrigins(ctx, tx, tenant, origins)
	})
}

func addOrigins(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, origins []origin.Origin) error {
	for _, o := range origins {
		if _, err := tenantdb.InsertOrigin(ctx, tx, tenant, o); err != nil {
			return err
		}
	}
	listed, err := tenantdb.Origins(ctx, tx.Reads, tenant)
	if err == nil && len(listed) > origin.MaxPerTenant {
		err = core.Invalid("origin", "a tenant has at most "+strconv.Itoa(origin.MaxPerTenant)+" origins; remove one first")
	}
	return err
}

// Remove removes an origin that was added to a tenant, or returns a not-found error.
func (os *Origins) Remove(ctx context.Context, tenant core.TenantAlias, o origin.Origin) error {
	return os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		removed, err := tenantdb.DeleteOrigin(ctx, tx, tenant, o)
		if err == nil && !removed {
			err = core.NotFound("this origin is not listed; the origin of a landing page is removed with its program")
		}
		return err
	})
}
