// Package programs has the use cases of referral programs. The first program of a
// tenant is created with the tenant.
package programs

import (
	"context"
	"fmt"
	"net/url"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/referral"
)

// Programs manages the referral programs of tenants.
type Programs struct {
	*base.Base
	FuelTanks *rewards.FuelTanks
}

// List returns the programs of a tenant in the order of their creation.
func (ps *Programs) List(ctx context.Context, tenant core.TenantAlias) ([]referral.Program, error) {
	return programdb.List(ctx, ps.DB.Reads, tenant)
}

// ByKey returns a program, or a not-found error.
func (ps *Programs) ByKey(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) (referral.Program, error) {
	return programdb.ByKey(ctx, ps.DB.Reads, tenant, key)
}

// Create adds a program and returns it as stored. A key that is in use is a conflict;
// more than referral.MaxPrograms programs are invalid. Existing users get a code in the
// new program at their next identification.
func (ps *Programs) Create(ctx context.Context, tenant core.TenantAlias, p referral.Program) (stored referral.Program, err error) {
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (stored referral.Program, err error) {
		keys, err := programdb.Keys(ctx, tx.Reads, tenant)
		if err == nil && len(keys) >= referral.MaxPrograms {
			err = core.Invalid("", "a tenant has at most 50 programs")
		}
		if err != nil {
			return stored, err
		}
		return InsertWithin(ctx, tx, tenant, p)
	})
}

// InsertWithin adds a program within the transaction tx; see Create. The host of its
// landing page becomes a shop of the tenant, unless another tenant has that host.
func InsertWithin(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p referral.Program) (referral.Program, error) {
	if err := p.Check(); err != nil {
		return p, err
	}
	if p.MoneyBack == referral.KeepMoneyBack {
		p.MoneyBack = referral.DefaultMoneyBack
	}
	added, err := programdb.Insert(ctx, tx, tenant, p)
	if err == nil && !added {
		err = &core.Error{Code: core.CodeConflict, Field: "id", Message: "there is a program " + string(p.Key) + " already; give another id"}
	}
	if err != nil {
		return p, err
	}
	if err := addShop(ctx, tx, tenant, p.LandingURL); err != nil {
		return p, err
	}
	return programdb.ByKey(ctx, tx.Reads, tenant, p.Key)
}

// Update changes a program and returns it as stored. change gets the stored program and
// may change every field; changes to Key and Created are ignored. If change returns an
// error, nothing is stored, and Update returns that error.
func (ps *Programs) Update(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey, change func(*referral.Program) error) (stored referral.Program, err error) {
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (stored referral.Program, err error) {
		p, err := programdb.ByKey(ctx, tx.Reads, tenant, key)
		if err != nil {
			return stored, err
		}
		before := p
		if err := change(&p); err != nil {
			return stored, err
		}
		p.Key, p.Created = key, before.Created
		if p.MoneyBack == referral.KeepMoneyBack {
			p.MoneyBack = before.MoneyBack
		}
		if err := p.Check(); err != nil {
			return stored, err
		}
		if err := programdb.Update(ctx, tx, tenant, p, before); err != nil {
			return stored, err
		}
		if err := ps.FuelTanks.GiveReplacement(ctx, tx, tenant, p); err != nil {
			return stored, err
		}
		if err := addShop(ctx, tx, tenant, p.LandingURL); err != nil {
			return stored, err
		}
		return programdb.ByKey(ctx, tx.Reads, tenant, key)
	})
}

// Delete removes a program without codes and referrals, with its widgets. A program
// that has some is a conflict, and so is the tenant's last program: a share link with
// an unknown code leads to a program's landing page.
func (ps *Programs) Delete(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey) error {
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		if _, err := programdb.ByKey(ctx, tx.Reads, tenant, key); err != nil {
			return err
		}
		codes, referrals, err := programdb.Usage(ctx, tx.Reads, tenant, key)
		if err != nil {
			return err
		}
		if codes+referrals > 0 {
			return conflict(fmt.Sprintf("the program is in use and cannot be deleted: codes of users: %d, referrals: %d", codes, referrals))
		}
		keys, err := programdb.Keys(ctx, tx.Reads, tenant)
		if err == nil && len(keys) == 1 {
			err = conflict("the last program of a tenant cannot be deleted; create another one first")
		}
		if err != nil {
			return err
		}
		if err := programdb.DeleteWidgets(ctx, tx, tenant, key); err != nil {
			return err
		}
		return programdb.Delete(ctx, tx, tenant, key)
	})
}

func conflict(message string) *core.Error {
	return &core.Error{Code: core.CodeConflict, Message: message}
}

func addShop(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, landingURL string) error {
	u, err := url.Parse(landingURL)
	if err != nil {
		return err
	}
	_, err = tenantdb.InsertSite(ctx, tx, u.Host, tenant)
	return err
}
