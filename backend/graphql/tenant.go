package graphql

import (
	"context"

	"kith/backend/app/base"
	"kith/core"
)

// viewer is the caller of a call: a user or a tenant.
type viewer struct {
	user   *user
	tenant *tenant
}

// Permissions is empty: the documentation of each field states which role it needs.
func (viewer) Permissions() []string { return []string{} }

// ToUser returns the user of a user token.
func (v viewer) ToUser() (*user, bool) { return v.user, v.user != nil }

// ToTenant returns the tenant of an API key.
func (v viewer) ToTenant() (*tenant, bool) { return v.tenant, v.tenant != nil }

// Viewer returns the caller; null without credentials.
func (*query) Viewer(ctx context.Context) (*viewer, error) {
	c := callOf(ctx)
	switch {
	case c.Caller.Key:
		return &viewer{tenant: newTenant(c)}, nil
	case c.Caller.User == nil:
		return nil, nil
	}
	u, err := c.user(ctx, c.Caller.User.Account, c.Caller.User.User)
	if u == nil || err != nil {
		return nil, err
	}
	return &viewer{user: u}, nil
}

type tenant struct {
	TenantAlias id
	IsLiveMode  bool
	DateCreated *date
}

func newTenant(c *call) *tenant {
	return &tenant{
		TenantAlias: id(c.tenant), IsLiveMode: base.Live(c.tenant),
		DateCreated: dateOrNull(c.Caller.Tenant.Created),
	}
}

// Permissions is empty; see viewer.Permissions.
func (*tenant) Permissions() []string { return []string{} }

// Tenant returns the tenant in the path. It needs the API key.
func (*query) Tenant(ctx context.Context) (*tenant, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	return newTenant(c), nil
}

// maxIDs is how many ids one field may return.
const maxIDs = 1000

// Ids returns new ids. It needs no credentials.
func (*query) Ids(ctx context.Context, args struct{ Length argument }) (*[]id, error) {
	n := args.Length.number(0)
	if n < 1 || n > maxIDs {
		return nil, core.Invalid("length", "must be a whole number from 1 to 1000")
	}
	out := make([]id, n)
	for i := range out {
		out[i] = id(callOf(ctx).engine.NewID())
	}
	return &out, nil
}

// IdentityFunction returns its argument. It needs no credentials.
func (*query) IdentityFunction(args struct{ Value argument }) *node {
	if args.Value.value == nil {
		return nil
	}
	return pointer(node(args.Value.json()))
}
