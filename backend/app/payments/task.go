package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/billing"
)

// Task is a task that a worker has leased.
type Task struct {
	billingdb.Task
	Access
}

// Access is what a worker needs to call the gateway of a tenant.
type Access struct {
	Connection billing.Connection
	// DiscountID is the id of the tenant's discount at the gateway.
	DiscountID string
	// Err is why the two are not known, or nil. The worker ends the task with it: what
	// one tenant lacks must not keep the tasks of the others.
	Err error
}

// access returns the access of a tenant.
func (g *Gateways) access(ctx context.Context, alias core.TenantAlias) (a Access) {
	tenant, err := tenantdb.Find(ctx, g.DB.Reads, alias)
	if err == nil {
		a.Connection, err = g.Open(ctx, alias)
	}
	a.DiscountID, a.Err = tenant.DiscountID, err
	return a
}

// Begin leases up to limit tasks of a kind that are due. It skips those of busy tenants.
func (g *Gateways) Begin(ctx context.Context, k *billingdb.Kind, limit int, busy []core.TenantAlias) ([]Task, error) {
	due := func() (bool, error) { return billingdb.Due(ctx, g.DB.Reads, k, g.Now()) }
	leased, err := base.Take(ctx, g.Base, due, func(tx *store.Tx, token string) ([]billingdb.Task, error) {
		return billingdb.Take(ctx, tx, k, limit, busy, token)
	})
	if err != nil {
		return nil, err
	}
	tasks := make([]Task, len(leased))
	for i, t := range leased {
		tasks[i] = Task{t, g.access(ctx, t.Tenant)}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // the process stops, which releases its leases
	}
	return tasks, nil
}

// Result is how a task has ended.
type Result struct {
	// Problem says what a person may have to mend, or is empty. Failed is true if the task
	// failed by it.
	Problem string
	Failed  bool
	// After is the time after which the task is due again; zero is when something makes it due.
	After core.Time
}

// End ends a task. A result that does not count any more is reported as late; see the kinds in
// billingdb.
func (g *Gateways) End(ctx context.Context, k *billingdb.Kind, t Task, r Result) error {
	counts, err := store.WriteValue(ctx, g.DB.Write, g.Now(), func(tx *store.Tx) (bool, error) {
		e := billingdb.Ended{Problem: r.Problem}
		if r.Failed {
			e.Tries = t.Tries + 1
		}
		if r.After != 0 {
			e.Next = tx.Now + r.After
		}
		return billingdb.End(ctx, tx, k, t.Task, e)
	})
	if err != nil {
		return err
	}
	outcome := outcomeOf(r.Problem)
	if !counts {
		outcome = base.OutcomeLate
	}
	g.ReportWork(base.WorkGateway, k.Name, outcome, 1)
	return nil
}

// outcomeOf returns base.OutcomeFailed if there was a problem, else base.OutcomeDone.
func outcomeOf(problem string) string {
	if problem != "" {
		return base.OutcomeFailed
	}
	return base.OutcomeDone
}
