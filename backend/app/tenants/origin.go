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

// Origins are those whose pages may call a tenant.
type Origins struct{ *base.Base }

// Allowed reports whether pages of an origin, as the Origin header names
// it, may call a tenant. A tenant that there is not allows none.
func (os *Origins) Allowed(ctx context.Context, tenant core.TenantAlias, header string) (bool, error) {
	sites, err := tenantdb.Sites(ctx, os.DB.Reads, tenant)
	return err == nil && origin.Allowed(header, sites), err
}

// List returns the origins that a tenant lists, in order.
func (os *Origins) List(ctx context.Context, tenant core.TenantAlias) ([]origin.Origin, error) {
	if _, err := tenantdb.Find(ctx, os.DB.Reads, tenant); err != nil {
		return nil, err
	}
	return tenantdb.Origins(ctx, os.DB.Reads, tenant)
}

// Add lists origins, all of them or none; one that is listed stays so.
func (os *Origins) Add(ctx context.Context, tenant core.TenantAlias, origins ...origin.Origin) error {
	return os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		return listOrigins(ctx, tx, tenant, origins)
	})
}

func listOrigins(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, origins []origin.Origin) error {
	for _, o := range origins {
		if _, err := tenantdb.InsertOrigin(ctx, tx, tenant, o); err != nil {
			return err
		}
	}
	listed, err := tenantdb.Origins(ctx, tx.Reads, tenant)
	if err == nil && len(listed) > origin.MaxPerTenant {
		err = core.Invalid("origin", "a tenant lists at most "+strconv.Itoa(origin.MaxPerTenant))
	}
	return err
}

// Remove takes an origin off the list, or is a not-found error.
func (os *Origins) Remove(ctx context.Context, tenant core.TenantAlias, o origin.Origin) error {
	return os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error {
		if _, err := tenantdb.Find(ctx, tx.Reads, tenant); err != nil {
			return err
		}
		removed, err := tenantdb.DeleteOrigin(ctx, tx, tenant, o)
		if err == nil && !removed {
			err = core.NotFound("this origin is not listed; the origin of a landing page leaves with it")
		}
		return err
	})
}
