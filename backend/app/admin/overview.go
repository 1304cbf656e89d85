package admin

import (
	"context"

	"kith/backend/app/statistics"
	"kith/core/analytics"
	"kith/core/people"
)

// Overview is what the first page of a tenant shows: its figures, and what waits for a
// person.
type Overview struct{ api *statistics.Analytics }

// Compare returns the series of a period and of the period before; see
// statistics.Analytics.Compare.
func (o *Overview) Compare(ctx context.Context, c people.Caller, in statistics.Range, f analytics.SeriesFilter) (before, now analytics.Series, err error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return before, now, err
	}
	return o.api.Compare(ctx, c.Tenant, in, f)
}

// TopReferrers returns the users with the most visits, referrals or conversions in a
// period; see statistics.Analytics.TopReferrers.
func (o *Overview) TopReferrers(ctx context.Context, c people.Caller, in statistics.Range, f analytics.TopFilter) ([]analytics.Referrer, error) {
	if err := c.Require(people.ReadReferrals); err != nil {
		return nil, err
	}
	found, _, err := o.api.TopReferrers(ctx, c.Tenant, in, f)
	return found, err
}

// Attention returns what waits for a person, as far as the role of the caller may read it.
func (o *Overview) Attention(ctx context.Context, c people.Caller) (analytics.Attention, error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return analytics.Attention{}, err
	}
	return o.api.Attention(ctx, c.Tenant, statistics.Parts{
		Referrals: c.Role.Permits(people.ReadReferrals), Integrations: c.Role.Permits(people.ReadIntegrations),
	})
}

// Beginning returns what a tenant without figures has; see statistics.Analytics.Beginning.
func (o *Overview) Beginning(ctx context.Context, c people.Caller) (b statistics.Beginning, begins bool, err error) {
	if err := c.Require(people.ReadPrograms); err != nil {
		return b, false, err
	}
	return o.api.Beginning(ctx, c.Tenant)
}
