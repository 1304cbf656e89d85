// Package tenants has the use cases of operators: tenants with their settings, keys and
// origins, and the rotation of the master key.
package tenants

import (
	"cmp"
	"context"
	"strings"

	"kith/backend/app/base"
	"kith/backend/app/programs"
	"kith/backend/store"
	"kith/backend/store/tabledb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/job"
	"kith/core/link"
	"kith/core/origin"
	"kith/core/referral"
	"kith/core/wire"
)

// Tenants creates, reads and changes tenants.
type Tenants struct {
	*base.Base
	APIKeys *APIKeys
}

// NewTenant describes a tenant to create.
type NewTenant struct {
	Alias core.TenantAlias
	// Key is the secret of the API key "default"; see APIKeys.MakeKey. TokenKey is the
	// secret of the key "tokens", which signs user tokens; if empty, the tenant gets no
	// such key.
	Key, TokenKey string
	Policy        link.Policy
	// DiscountID is the id of the tenant's discount at the payment gateway; empty
	// means wire.DefaultDiscountID.
	DiscountID string
	// Program is the tenant's first program.
	Program referral.Program
	// Origins are the origins whose pages may call the tenant, in addition to that of
	// the landing page.
	Origins []origin.Origin
}

// Create adds tenants with their first programs, all of them or none. The host of a
// landing page becomes a shop of the tenant, unless another tenant has that host. An
// alias that is in use is a conflict; aliases must differ in more than case.
func (ts *Tenants) Create(ctx context.Context, tenants ...NewTenant) error {
	return ts.DB.Write(ctx, ts.Now(), func(tx *store.Tx) error {
		for _, n := range tenants {
			if err := ts.create(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

func (ts *Tenants) create(ctx context.Context, tx *store.Tx, n NewTenant) error {
	if err := n.Check(); err != nil {
		return err
	}
	rest, err := tabledb.HasRows(ctx, tx.Reads, n.Alias)
	if err != nil {
		return err
	}
	added, err := tenantdb.Insert(ctx, tx, tenantdb.Tenant{
		Alias: n.Alias, DiscountID: cmp.Or(n.DiscountID, wire.DefaultDiscountID), Policy: n.Policy, Created: tx.Now,
	})
	switch {
	case err != nil:
	case !added:
		err = aliasTaken(ctx, tx, n.Alias)
	case rest:
		err = &core.Error{Code: core.CodeConflict, Field: "alias", Message: "an erasure or a restore of " + string(n.Alias) + " has not finished; run it again first"}
	}
	if err != nil {
		return err
	}
	if err := ts.addFirstKeys(ctx, tx, n); err != nil {
		return err
	}
	if _, err := programs.InsertWithin(ctx, tx, n.Alias, n.Program); err != nil {
		return err
	}
	return addOrigins(ctx, tx, n.Alias, n.Origins)
}

// Check returns an error for an alias or a landing page that no tenant can have.
func (n NewTenant) Check() error {
	if _, err := core.ParseTenantAlias(string(n.Alias)); err != nil {
		return core.Invalid("alias", "must be 1 to 64 of A-Z a-z 0-9 - _")
	}
	if !link.ValidLandingURL(n.Program.LandingURL) {
		return core.Invalid("landing-url", "must be an absolute http or https URL")
	}
	return nil
}

// addFirstKeys stores the first keys of a tenant.
func (ts *Tenants) addFirstKeys(ctx context.Context, tx *store.Tx, n NewTenant) error {
	_, err := ts.APIKeys.add(ctx, tx, n.Alias, auth.APIKey{Name: auth.DefaultKey, Role: auth.RoleAll, Created: tx.Now}, n.Key)
	if err != nil || n.TokenKey == "" {
		return err
	}
	_, err = ts.APIKeys.add(ctx, tx, n.Alias, auth.APIKey{Name: auth.TokenKey, Role: auth.RoleTokens, Created: tx.Now}, n.TokenKey)
	return err
}

// aliasTaken returns the conflict with the tenant that has the alias, or one that
// differs only in case: such aliases would be confused.
func aliasTaken(ctx context.Context, tx *store.Tx, alias core.TenantAlias) error {
	taken, err := tenantdb.FindAlias(ctx, tx.Reads, alias)
	if err != nil {
		return err
	}
	message := "there is a tenant " + string(taken) + " already"
	if taken != alias {
		message += ", and aliases must differ in more than case"
	}
	return &core.Error{Code: core.CodeConflict, Field: "alias", Message: message + "; give another one"}
}

// MaxRemember is the longest time for which deleted accounts are recognised.
const MaxRemember = 3650 * core.Day

// TenantChange is a change of a tenant's settings. A nil field leaves the setting
// unchanged.
type TenantChange struct {
	DiscountID     *string
	Consent        *link.Consent
	ConsentCookie  *string
	BrowserPayment *auth.BrowserPayment
	ShareOrigin    *string
	InitChecksum   *bool
	UndatedTokens  *bool
	// SquatchParameter says whether landing pages get the parameter _saasquatch.
	SquatchParameter *link.SquatchParameter
	APIKeyTokens     *bool
	ExportDates      *job.Dates
	TimeZone         *string
	// RememberDeleted is 0 to MaxRemember.
	RememberDeleted *core.Time
	// LinkMaxAge is 0 to link.MaxAge.
	LinkMaxAge *core.Time
	CodeNames  *bool
	// SecondStep is a setting of live tenants.
	SecondStep *bool
	// SecureMode has changes of the form ENDPOINT=MODE, separated by commas; an empty
	// text changes nothing.
	SecureMode string
}

// Change changes a tenant's settings and returns the tenant as stored. An edge uses the
// new settings once its replica has them. The Field of an error is the name of a flag of
// kith tenant set, such as "share-origin".
func (ts *Tenants) Change(ctx context.Context, alias core.TenantAlias, c TenantChange) (tenant tenantdb.Tenant, err error) {
	return store.WriteValue(ctx, ts.DB.Write, ts.Now(), func(tx *store.Tx) (tenant tenantdb.Tenant, err error) {
		if tenant, err = tenantdb.Find(ctx, tx.Reads, alias); err != nil {
			return tenant, err
		}
		if tenant, err = c.Apply(tenant); err != nil {
			return tenant, err
		}
		return tenant, tenantdb.Update(ctx, tx, tenant)
	})
}

// Apply returns a tenant with the changed settings. The Field of an error is the name of the
// flag of kith tenant set.
func (c TenantChange) Apply(t tenantdb.Tenant) (tenantdb.Tenant, error) {
	given(&t.DiscountID, c.DiscountID)
	given(&t.Policy.Consent, c.Consent)
	given(&t.Policy.ConsentCookie, c.ConsentCookie)
	given(&t.BrowserPayment, c.BrowserPayment)
	given(&t.ShareOrigin, c.ShareOrigin)
	given(&t.InitChecksum, c.InitChecksum)
	given(&t.UndatedTokens, c.UndatedTokens)
	given(&t.SquatchParameter, c.SquatchParameter)
	given(&t.APIKeyTokens, c.APIKeyTokens)
	given(&t.ExportDates, c.ExportDates)
	given(&t.TimeZone, c.TimeZone)
	given(&t.RememberDeleted, c.RememberDeleted)
	given(&t.LinkMaxAge, c.LinkMaxAge)
	given(&t.CodeNames, c.CodeNames)
	given(&t.SecondStep, c.SecondStep)
	switch {
	case c.SecondStep != nil && !base.Live(t.Alias):
		return t, core.Invalid("second-step", "is a setting of the live tenant, which has the same members; give its alias")
	case t.RememberDeleted < 0 || t.RememberDeleted > MaxRemember:
		return t, core.Invalid("remember-deleted", "must be 0s to 87600h, which is 10 years")
	case t.LinkMaxAge < 0 || t.LinkMaxAge > link.MaxAge:
		return t, core.Invalid("link-max-age", "must be 0s to 5m")
	case t.DiscountID == "":
		return t, core.Invalid("discount-id", "must not be empty")
	case t.Policy.Consent != link.ConsentOff && t.Policy.ConsentCookie == "":
		return t, core.Invalid("consent-cookie", "is required with consent "+string(t.Policy.Consent))
	case c.ConsentCookie != nil && strings.ContainsFunc(t.Policy.ConsentCookie, notInCookieName):
		return t, core.Invalid("consent-cookie", "must be the name of a cookie: ASCII characters without blanks, commas, semicolons, quotes and equals signs")
	case t.ShareOrigin != "" && !link.ValidOrigin(t.ShareOrigin):
		return t, core.Invalid("share-origin", "must be http or https and a host, such as https://go.shop.example")
	}
	if _, err := base.ParseZone("time-zone", t.TimeZone); err != nil {
		return t, err
	}
	var err error
	t.SecureMode, err = t.SecureMode.With("secure-mode", c.SecureMode)
	return t, err
}

// notInCookieName reports whether browsers or servers do not take a character in the name of a
// cookie.
func notInCookieName(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`,;="`, c) }

// given sets a setting to the value, unless that is nil.
func given[T any](setting *T, value *T) {
	if value != nil {
		*setting = *value
	}
}

// ByAlias returns a tenant, or core.UnknownTenant.
func (ts *Tenants) ByAlias(ctx context.Context, alias core.TenantAlias) (tenantdb.Tenant, error) {
	return tenantdb.Find(ctx, ts.DB.Reads, alias)
}

// Edited returns the tenants of which something was edited that edges keep; see
// tenantdb.EditedSince.
func (ts *Tenants) Edited(ctx context.Context, number int64) (tenantdb.Edited, error) {
	return tenantdb.EditedSince(ctx, ts.DB.Reads, number)
}

// SignToken makes a user token that expires at the given time, signed by the tenant's
// newest signing key; see wire.SignToken.
func (ts *Tenants) SignToken(ctx context.Context, alias core.TenantAlias, s wire.Subject, expires core.Time) (string, error) {
	tenant, err := tenantdb.Find(ctx, ts.DB.Reads, alias)
	if err != nil {
		return "", err
	}
	secrets, err := ts.SigningSecrets(tenant)
	if err != nil {
		return "", err
	}
	if len(secrets) == 0 {
		return "", core.Invalid("tenant", "has no key that signs user tokens; create one with kith key create --role tokens")
	}
	return wire.SignToken(secrets[0], s, expires), nil
}
