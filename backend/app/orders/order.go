// Package orders has the use cases of orders: applying the events that place them or take
// them back, and reading what was decided.
package orders

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/orderdb"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/unit"
	"kith/core"
	"kith/core/conversion"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/wire"
)

// Orders applies the events of referred accounts to their orders.
type Orders struct{ *base.Base }

// batch is the number of events that one transaction applies at most, or of waiting
// replays that it continues: other writers wait for the transaction.
//
// A transaction that applies events decides as many orders as it applies events, which is
// enough if they are the latest. The others wait until no event does, since a later event
// may make them be decided again. Then a transaction decides up to decidedOnFile or
// decidedOnServer orders: on a server, larger transactions are much cheaper.
const (
	batch           = 100
	decidedOnFile   = 200
	decidedOnServer = 400
)

// Apply applies one batch of queued events, or else continues waiting replays. It returns false
// if there was nothing to do: call it again until then. Each event is applied exactly
// once, even if the process is killed. Events that a rule refuses are logged.
func (os *Orders) Apply(ctx context.Context, log *slog.Logger) (more bool, err error) {
	// A read comes first, so that an idle database needs no write lock.
	if more, err = orderdb.Waiting(ctx, os.DB.Reads); err != nil || !more {
		return false, err
	}
	err = os.DB.Write(ctx, os.Now(), func(tx *store.Tx) error { return os.ApplyWithin(ctx, tx, log) })
	return true, err
}

// ApplyWithin is Apply within a transaction.
func (os *Orders) ApplyWithin(ctx context.Context, tx *store.Tx, log *slog.Logger) error {
	a := apply{os, log}
	events, taken, err := orderdb.TakeEvents(ctx, tx, batch)
	if err != nil {
		return err
	}
	if taken == 0 {
		return a.applyReplays(ctx, tx)
	}
	for _, tenant := range tenantsOf(events) {
		if err := a.applyEvents(ctx, tx, tenant, events, taken); err != nil {
			return err
		}
	}
	return nil
}

// apply is one call of Apply.
type apply struct {
	*Orders
	log *slog.Logger
}

// tenantsOf returns the tenants of events, each once.
func tenantsOf(events []orderdb.Pending) (all []core.TenantAlias) {
	seen := map[core.TenantAlias]bool{}
	for _, e := range events {
		if !seen[e.Tenant] {
			seen[e.Tenant] = true
			all = append(all, e.Tenant)
		}
	}
	return all
}

// applyEvents applies the events of a tenant in their order, and then replays what they
// changed, up to most orders.
func (a apply) applyEvents(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, events []orderdb.Pending, most int) error {
	u, r := a.Unit(tx, tenant), a.Rules()
	for _, want := range []func(*state.State, rules.OrderEvent){rules.WantOrder, rules.WantPlaced, rules.WantHistory} {
		for _, e := range events {
			if e.Tenant == tenant {
				want(u.State, e.OrderEvent)
			}
		}
		if err := u.Load(ctx); err != nil {
			return err
		}
	}
	var replays []state.Replay
	for _, e := range events {
		if e.Tenant != tenant {
			continue
		}
		var found []state.Replay
		err := u.Decide(ctx, func(s *state.State) (err error) {
			found, err = r.ApplyOrder(s, e.OrderEvent)
			return err
		})
		if err := a.skip(err, "event", e.ID); err != nil {
			return err
		}
		replays = append(replays, found...)
	}
	return a.replay(ctx, tx, u, rules.MergeReplays(replays), most)
}

// skip logs an error of a rule, which would be the same at the next attempt, and returns
// any other.
func (a apply) skip(err error, what, id string) error {
	if base.Refused(err) {
		a.log.Error("order skipped: a rule refuses it", what, id, "error", err)
		return nil
	}
	return err
}

// applyReplays continues the oldest waiting replays of one tenant.
func (a apply) applyReplays(ctx context.Context, tx *store.Tx) error {
	tenant, replays, err := orderdb.TakeReplays(ctx, tx, batch)
	if err != nil || len(replays) == 0 {
		return err
	}
	most := decidedOnServer
	if tx.Embedded {
		most = decidedOnFile
	}
	return a.replay(ctx, tx, a.Unit(tx, tenant), replays, most)
}

// replay decides up to left orders again, and stores the rest for later.
func (a apply) replay(ctx context.Context, tx *store.Tx, u *unit.Unit, all []state.Replay, left int) error {
	for len(all) > 0 && left > 0 {
		now := all[:min(len(all), left)]
		rests, decided, err := a.step(ctx, u, now, min(left/len(now), state.ReplayChunk))
		if err != nil {
			return err
		}
		left -= max(decided, 1)
		all = append(all[len(now):], rests...)
	}
	for _, p := range all {
		if err := orderdb.PutReplay(ctx, tx, u.Tenant, p); err != nil {
			return err
		}
	}
	return u.Save(ctx)
}

// step runs one step of each of several replays: of at most limit orders each. Each replay
// is of another referrer or program, or of single orders, so that they can be loaded
// together. It returns their rests, and how many orders it decided.
func (a apply) step(ctx context.Context, u *unit.Unit, now []state.Replay, limit int) (rests []state.Replay, decided int, err error) {
	r := a.Rules()
	for i := range now {
		now[i].Limit = limit
	}
	for _, want := range []func(*state.State, state.Replay){rules.WantReplay, rules.WantReplayed, rules.WantConverted} {
		for _, p := range now {
			want(u.State, p)
		}
		if err := u.Load(ctx); err != nil {
			return nil, 0, err
		}
	}
	for _, p := range now {
		var rest state.Replay
		var more bool
		err := u.Decide(ctx, func(s *state.State) (err error) {
			rest, more, err = r.ReplayOrders(s, p)
			return err
		})
		if more && err == nil {
			rests = append(rests, rest)
		}
		if err := a.skip(err, "referrer", string(p.Referrer.User)); err != nil {
			return nil, 0, err
		}
		sequence, _ := u.Sequences.Get(p)
		decided += len(sequence.Stored)
	}
	return rests, decided, nil
}

// List returns a page of the orders of a referral with their rewards, the latest first,
// and their number. An unknown referral is a not-found error.
func (os *Orders) List(ctx context.Context, tenant core.TenantAlias, referral string, limit, offset int) ([]wire.Order, int, error) {
	if found, err := referraldb.ByID(ctx, os.DB.Reads, tenant, referral); err != nil || found == nil {
		return nil, 0, cmp.Or(err, error(core.NotFound("there is no such referral")))
	}
	pages, err := os.Lists(ctx, tenant, []string{referral}, limit, offset)
	return pages[referral].Page, pages[referral].Total, err
}

// Lists returns, for each of several referrals, a page of its orders; see List.
func (os *Orders) Lists(ctx context.Context, tenant core.TenantAlias, referrals []string, limit, offset int) (map[string]store.PageOf[wire.Order], error) {
	stored, err := orderdb.Lists(ctx, os.DB.Lists, tenant, referrals, limit, offset)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, page := range stored {
		for _, o := range page.Page {
			for _, side := range o.Sides {
				ids = append(ids, side.Reward)
			}
		}
	}
	rewards, err := rewarddb.ByIDs(ctx, os.DB.Reads, tenant, ids)
	if err != nil {
		return nil, err
	}
	known, err := os.unrewarded(ctx, tenant, stored)
	pages, now := make(map[string]store.PageOf[wire.Order], len(stored)), os.Now()
	for referral, from := range stored {
		page := store.PageOf[wire.Order]{Page: make([]wire.Order, len(from.Page)), Total: from.Total}
		for i, o := range from.Page {
			page.Page[i] = wire.Order{Order: o.Order, Outcome: o.Outcome.Explained(o.Event != "", known[referral].users, known[referral].due)}
			for side, paid := range o.Sides {
				if w, ok := rewards[paid.Reward]; ok {
					w = w.AsOf(now)
					page.Page[i].Rewards[side] = &w
				}
			}
		}
		pages[referral] = page
	}
	return pages, err
}

// sidesOf says what an order without a reward is explained by; see conversion.Outcome.Explained.
type sidesOf struct{ users, due [2]bool }

// earns reports whether a user is known, and not deleted.
func earns(user core.UserID) bool { return user != "" && !core.IsErased(user) }

// unrewarded returns the sides of the referrals that have an order without a reward and
// without a reason.
func (os *Orders) unrewarded(ctx context.Context, tenant core.TenantAlias, stored map[string]store.PageOf[state.Order]) (map[string]sidesOf, error) {
	var ids []string
	for id, from := range stored {
		if slices.ContainsFunc(from.Page, func(o state.Order) bool { return !o.Complete() }) {
			ids = append(ids, id)
		}
	}
	found, err := referraldb.ByIDs(ctx, os.DB.Reads, tenant, ids)
	all := make(map[string]sidesOf, len(found))
	for _, r := range found {
		dues, err := rewarddb.FuelDuesOf(ctx, os.DB.Reads, tenant, r.ID)
		if err != nil {
			return nil, err
		}
		all[r.ID] = sidesOf{
			users: [2]bool{earns(r.Referrer.User), earns(r.Referred.User)},
			due:   [2]bool{slices.Contains(dues, referral.ReferrerSide), slices.Contains(dues, referral.ReferredSide)},
		}
	}
	return all, err
}

// Try returns what an event would cause in a program now, and why, without storing it.
// If the trial names an account, the state of its referral counts.
func (os *Orders) Try(ctx context.Context, tenant core.TenantAlias, key core.ProgramKey, t wire.Trial) (conversion.Decision, []conversion.Step, error) {
	p, err := programdb.ByKey(ctx, os.DB.Reads, tenant, key)
	if err != nil {
		return conversion.Decision{}, nil, err
	}
	if t.Event.Triggered == 0 {
		t.Event.Triggered = os.Now()
	}
	t.Event.ID = "trial"
	trial := t.Trial
	if trial.Since == 0 {
		trial.Since = t.Event.Triggered
	}
	if t.Account != "" {
		ref, err := referraldb.OfAccount(ctx, os.DB.Reads, tenant, t.Account)
		switch {
		case err != nil:
			return conversion.Decision{}, nil, err
		case ref == nil:
			return conversion.Decision{Reason: conversion.ReasonBefore}, []conversion.Step{{Text: "The account " + string(t.Account) + " was not referred, so its events convert nothing. It can be referred by the field referral_code of the event."}}, nil
		case ref.Program != key:
			return conversion.Decision{}, nil, core.Invalid("accountId", "was referred in the program "+string(ref.Program)+"; try the event there")
		}
		if trial, err = orderdb.TrialOf(ctx, os.DB.Reads, tenant, *ref, p.Conversion.Event); err != nil {
			return conversion.Decision{}, nil, err
		}
	}
	trial.Event = wire.OrderEvent(t.Event, p.Conversion.Fields())
	d, steps := p.Plan(0).Try(trial)
	return d, steps, nil
}
