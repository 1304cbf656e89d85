package unit

import (
	"context"
	"database/sql"
	"slices"

	"kith/backend/store"
	"kith/backend/store/orderdb"
	"kith/backend/store/programdb"
	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/state"
)

// loadPlans loads the plans of the programs that are wanted.
func (u *Unit) loadPlans() (all []query) {
	for _, key := range absent(&u.Plans) {
		var plans conversion.Plans
		all = append(all, query{`SELECT ` + programdb.VersionColumns.SQL() + ` FROM program_version WHERE tenant = ? AND program = ? ORDER BY since`,
			[]any{string(u.Tenant), string(key)}, reading(
				func(rows *sql.Rows, p *conversion.Plan) error {
					var v programdb.Version
					err := programdb.VersionColumns.Scan(rows, &v)
					if err == nil {
						*p, err = v.Plan()
					}
					return err
				},
				func(p conversion.Plan) {
					plans = append(plans, p)
					u.Plans.Load(key, plans)
				})})
	}
	return all
}

// loadOrders loads the orders and histories that are wanted.
func (u *Unit) loadOrders() (all []query) {
	if keys := absent(&u.Orders); len(keys) > 0 {
		var given store.Tuples
		for _, key := range keys {
			given.Row()
			given.Text(key.Referral, key.Order)
		}
		all = append(all, query{orderdb.SelectOrders + ` FROM json_each(?2) given CROSS JOIN referral_order o
			ON o.tenant = ?1 AND o.referral_id = given.value ->> 0 AND o.order_key = given.value ->> 1`,
			[]any{string(u.Tenant), given.String()}, reading(orderdb.ScanOrder, func(o state.Order) { u.Orders.Load(o.Key(), o) })})
	}
	for _, key := range absent(&u.Histories) {
		var events []event.Event
		all = append(all, query{orderdb.SelectHistory, []any{string(u.Tenant), string(key.Account), state.MaxHistory}, bySelection(orderdb.HistoryColumns,
			func(e event.Event) {
				events = append(events, e)
				u.Histories.Load(key, events)
			})})
	}
	return all
}

// loadSequences loads the sequences and plans that are wanted. How many rewards before it a
// sequence has depends on the limits in the plans: if they are not loaded yet, they are
// requested, and the sequence stays wanted until the next load.
func (u *Unit) loadSequences() (all []query) {
	for _, p := range u.Sequences.Wanted() {
		if plans := u.Plans.Row(p.Program); plans != nil {
			all = append(all, u.loadSequence(p, plans.Now)...)
		} else {
			u.Plans.Want(p.Program)
		}
	}
	return append(all, u.loadPlans()...)
}

// loadSequence returns the statements that load one step of a replay: three, and those that a
// limit in a period or a plan that converts by PAID needs.
func (u *Unit) loadSequence(p state.Replay, plans conversion.Plans) []query {
	var s state.Sequence
	args := orderdb.Args(u.Tenant, p)
	total, inPeriod := plans.Limits()
	step := append(slices.Clone(args), int64(p.Until.At), p.Until.Referral, p.Until.Order, p.Moderated, p.Limit+1)
	progress := map[string]orderdb.Progress{}
	paidUntil := plans.PaidUntil()
	u.Sequences.Load(p, s)
	all := []query{
		{orderdb.SelectCounts, append(slices.Clone(args), total), bySelection(orderdb.CountColumns, func(c orderdb.Counts) {
			s.Conversions, s.LastConversion, s.Rewards = c.Conversions, core.Time(c.LastConversion), c.Rewards
			u.Sequences.Load(p, s)
		})},
		// The progress comes first, since it is copied to each order of its referral.
		{orderdb.SelectProgress, append(slices.Clone(step), plans.MaxOrders(), store.BoolInt(paidUntil > 0)), bySelection(orderdb.ProgressColumns, func(p orderdb.Progress) { progress[p.Referral] = p })},
		{orderdb.SelectStep, step, reading(orderdb.ScanOrder, func(o state.Order) {
			if len(s.Stored) == p.Limit {
				s.More, s.Next = true, o.Position()
			} else {
				of := progress[o.Referral]
				s.Stored = append(s.Stored, o)
				s.Orders = append(s.Orders, conversion.Entry{
					Order: o.Order, Since: core.Time(of.Since), First: of.First, Number: of.Number, Converted: core.Time(of.Converted),
					Earned: of.Earned, Denied: of.Denied,
				})
			}
			u.Sequences.Load(p, s)
		})},
	}
	if inPeriod > 0 {
		all = append(all, query{orderdb.SelectRecent, append(slices.Clone(args), inPeriod), reading(scanOne[core.Time], func(at core.Time) {
			s.Recent = slices.Insert(s.Recent, 0, at)
			u.Sequences.Load(p, s)
		})})
	}
	if paidUntil > 0 {
		all = append(all, query{orderdb.SelectPaid, append(slices.Clone(args[:4]), int64(paidUntil), conversion.MaxPaid), bySelection(orderdb.PaidColumns, func(c conversion.PaidConversion) {
			s.Paid = append(s.Paid, c)
			u.Sequences.Load(p, s)
		})})
	}
	return all
}

func (u *Unit) saveOrders(ctx context.Context) error {
	if err := putAll(ctx, u, orderdb.Put, changedRows(&u.Orders), func(t *store.Tuples, o *state.Row[state.Order]) { orderdb.AppendRow(t, o.Now) }); err != nil {
		return err
	}
	for _, p := range u.Replays.Take() {
		if err := orderdb.PutReplay(ctx, u.tx, u.Tenant, p); err != nil {
			return err
		}
	}
	return nil
}
