package referrals

import (
	"context"
	"encoding/json"

	"kith/backend/app/base"
	"kith/backend/store/orderdb"
	"kith/backend/store/peopledb"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/backend/store/webhookdb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/timeline"
)

// Search returns a page of the referrals that a search selects, the latest first. next is
// what Search.Before is for the next page; the zero value after the last.
func (rs *Referrals) Search(ctx context.Context, tenant core.TenantAlias, s referral.Search) (page []referral.Referral, next referral.Position, err error) {
	return rs.search(ctx, tenant, s, referral.MaxSearchPage)
}

// SearchAll calls write with the referrals that a search selects, the latest first, at most
// referral.MaxSearchExport of them; complete is false if there are more.
func (rs *Referrals) SearchAll(ctx context.Context, tenant core.TenantAlias, s referral.Search, write func(referral.Referral) error) (complete bool, err error) {
	const atOnce = 500
	for n := 0; ; {
		page, next, err := rs.search(ctx, tenant, s, atOnce)
		if err != nil {
			return false, err
		}
		for _, r := range page {
			if n++; n > referral.MaxSearchExport {
				return false, nil
			}
			if err := write(r); err != nil {
				return false, err
			}
		}
		if s.Before = next; next == (referral.Position{}) {
			return true, nil
		}
	}
}

func (rs *Referrals) search(ctx context.Context, tenant core.TenantAlias, s referral.Search, limit int) (page []referral.Referral, next referral.Position, err error) {
	if err := s.Check(); err != nil {
		return nil, next, err
	}
	words, err := s.PersonWords()
	if err != nil {
		return nil, next, err
	}
	if len(words) == 0 {
		s.Person = "" // blanks
	}
	if page, next, err = rs.found(ctx, tenant, s, words, limit); err != nil {
		return nil, next, err
	}
	return page, next, rewarddb.AttachGroups(ctx, rs.DB.Lists, tenant, rs.Now(), page)
}

// found returns up to limit referrals that a search with these words selects. A page of words
// that very many users have may have fewer before the end.
func (rs *Referrals) found(ctx context.Context, tenant core.TenantAlias, s referral.Search, words []string, limit int) (page []referral.Referral, next referral.Position, err error) {
	var people []referral.Identity
	if len(words) > 0 {
		all := false
		people, all, err = userdb.FindPeople(ctx, rs.DB.Lists, tenant, words, referral.MaxSearchPeople+1)
		switch {
		case err != nil:
			return nil, next, err
		case !all || len(people) > referral.MaxSearchPeople:
			return referraldb.Scan(ctx, rs.DB.Lists, tenant, s, words, limit)
		case len(people) == 0:
			return nil, next, nil
		}
	}
	page, err = referraldb.Search(ctx, rs.DB.Lists, tenant, s, people, limit+1)
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Position()
	}
	return page, next, err
}

// Timeline returns all that the timeline of a referral is made of, or a not-found error.
func (rs *Referrals) Timeline(ctx context.Context, tenant core.TenantAlias, id string) (f timeline.Facts, err error) {
	r, now := rs.DB.Reads, rs.Now()
	f.Now = now
	if f.Referral, err = rs.ByID(ctx, tenant, id); err != nil {
		return f, err
	}
	referred := f.Referral.Referred
	total := 0
	if f.Decisions, total, err = referraldb.Decisions(ctx, r, tenant, referred.Account, timeline.MaxDecisions, 0); err != nil {
		return f, err
	}
	f.Cut = total > len(f.Decisions)
	if f.Account, _, err = userdb.Account(ctx, r, tenant, referred.Account); err != nil {
		return f, err
	}
	if referred.User != "" {
		user, _, err := userdb.User(ctx, r, tenant, referred.Account, referred.User)
		if err != nil {
			return f, err
		}
		f.Identified = user.Created
	}
	if f.Program, err = programdb.ByKey(ctx, r, tenant, f.Referral.Program); err != nil && !base.IsNotFound(err) {
		return f, err
	}
	orders, err := orderdb.Lists(ctx, r, tenant, []string{id}, timeline.MaxOrders, 0)
	if err != nil {
		return f, err
	}
	f.Orders = orders[id].Page
	f.Cut = f.Cut || orders[id].Total > len(f.Orders)
	if f.Rewards, err = rewarddb.OfReferral(ctx, r, tenant, id, timeline.MaxRewards+1); err != nil {
		return f, err
	}
	f.Rewards, f.Cut = atMost(f.Rewards, timeline.MaxRewards, f.Cut)
	about := []string{id}
	for i := range f.Rewards {
		f.Rewards[i] = f.Rewards[i].AsOf(now)
		about = append(about, f.Rewards[i].ID)
	}
	if f.Ledger, err = rewarddb.History(ctx, r, tenant, id, timeline.MaxLedger+1); err != nil {
		return f, err
	}
	f.Ledger, f.Cut = atMost(f.Ledger, timeline.MaxLedger, f.Cut)
	if f.Dues, err = rewarddb.FuelDuesOf(ctx, r, tenant, id); err != nil {
		return f, err
	}
	if f.Deliveries, err = webhookdb.About(ctx, r, tenant, about, timeline.MaxDeliveries+1); err != nil {
		return f, err
	}
	f.Deliveries, f.Cut = atMost(f.Deliveries, timeline.MaxDeliveries, f.Cut)
	entries, err := peopledb.EntriesOf(ctx, r, tenant, id, timeline.MaxActs+1)
	entries, f.Cut = atMost(entries, timeline.MaxActs, f.Cut)
	for _, e := range entries {
		f.Acts = append(f.Acts, actOf(e))
	}
	return f, err
}

// atMost returns the first rows of a list, and whether it has more, or cut.
func atMost[T any](rows []T, most int, cut bool) ([]T, bool) {
	if len(rows) > most {
		return rows[:most], true
	}
	return rows, cut
}

// actOf returns an entry of the audit log as an act.
func actOf(e people.Entry) timeline.Act {
	var acted base.Acted
	_ = json.Unmarshal([]byte(e.After), &acted) // an erasure may have cleared it
	return timeline.Act{At: e.At, By: e.Actor, Decision: acted.Decision, Denied: e.Action == operation.DenyReferral.Action, Reason: acted.Reason, Reward: acted.Reward}
}
