package tenants

import (
	"context"
	"errors"

	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/link"
	"kith/core/origin"
)

// Website has the settings of a tenant for the pages of its shop: which pages may call the
// service, which calls need credentials, and when browsers may store a cookie.
type Website struct {
	Tenant tenantdb.Tenant
	// Origins are the origins that were added; see Origins.List.
	Origins []origin.Origin
}

// Website returns the settings of a tenant's website.
func (ts *Tenants) Website(ctx context.Context, alias core.TenantAlias) (Website, error) {
	return website(ctx, ts.DB.Reads, alias)
}

func website(ctx context.Context, r store.Reads, alias core.TenantAlias) (w Website, err error) {
	if w.Tenant, err = tenantdb.Find(ctx, r, alias); err == nil {
		w.Origins, err = tenantdb.Origins(ctx, r, alias)
	}
	return w, err
}

// WebsiteChange is a change of the settings of a website. A nil field leaves the setting
// unchanged.
type WebsiteChange struct {
	Consent       *link.Consent
	ConsentCookie *string
	ShareOrigin   *string
	// SecureMode has changes of the form ENDPOINT=MODE, separated by commas; an empty text
	// changes nothing.
	SecureMode string
	// Origins replace all origins that were added.
	Origins *[]origin.Origin
}

// websiteFields are the names of fields in the API by those of kith tenant set.
var websiteFields = map[string]string{"consent-cookie": "consentCookie", "share-origin": "shareOrigin", "secure-mode": "secureMode", "origin": "origins"}

// Apply returns a tenant with the changed settings, except for the origins. The Field of an
// error is the name of the field in the API.
func (c WebsiteChange) Apply(t tenantdb.Tenant) (tenantdb.Tenant, error) {
	t, err := TenantChange{Consent: c.Consent, ConsentCookie: c.ConsentCookie, ShareOrigin: c.ShareOrigin, SecureMode: c.SecureMode}.Apply(t)
	return t, inWebsite(err)
}

// inWebsite returns an error with the name of the field in the API.
func inWebsite(err error) error {
	known, ok := errors.AsType[*core.Error](err)
	if !ok || websiteFields[known.Field] == "" {
		return err
	}
	named := *known
	named.Field = websiteFields[known.Field]
	return &named
}

// ChangeWebsite changes the settings of a tenant's website and returns them as stored. The
// Field of an error is the name of the field in the API.
func (ts *Tenants) ChangeWebsite(ctx context.Context, alias core.TenantAlias, c WebsiteChange) (w Website, err error) {
	return store.WriteValue(ctx, ts.DB.Write, ts.Now(), func(tx *store.Tx) (w Website, err error) {
		if w, err = website(ctx, tx.Reads, alias); err != nil {
			return w, err
		}
		after, err := c.Apply(w.Tenant)
		if err != nil {
			return w, err
		}
		if err := tenantdb.Update(ctx, tx, after); err != nil {
			return w, err
		}
		if c.Origins != nil {
			for _, o := range w.Origins {
				if _, err := tenantdb.DeleteOrigin(ctx, tx, alias, o); err != nil {
					return w, err
				}
			}
			if err := addOrigins(ctx, tx, alias, *c.Origins); err != nil {
				return w, inWebsite(err)
			}
		}
		return website(ctx, tx.Reads, alias)
	})
}
