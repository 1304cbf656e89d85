package unit

import (
	"context"
	"slices"

	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/orderdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/userdb"
	"kith/backend/store/webhookdb"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/wire"
)

// Save stores the changes since the last save, with one statement for each table.
func (u *Unit) Save(ctx context.Context) error {
	u.unsaved = false
	for _, t := range tables {
		if t.save == nil {
			continue
		}
		if err := t.save(u, ctx); err != nil {
			return err
		}
	}
	u.Saved()
	return nil
}

// putAll stores one row for each item of a list.
func putAll[T any](ctx context.Context, u *Unit, p *store.Put, list []T, add func(*store.Tuples, T)) error {
	return u.tx.Put(ctx, p, u.Tenant, rowsOf(p, list, add))
}

func rowsOf[T any](p *store.Put, list []T, add func(*store.Tuples, T)) *store.Tuples {
	var rows store.Tuples
	rows.Grow(p, len(list))
	for _, one := range list {
		add(&rows, one)
	}
	rows.Fold()
	return &rows
}

// changedRows returns the rows of a table that were changed.
func changedRows[K comparable, V any](t *state.Table[K, V]) []*state.Row[V] {
	rows := make([]*state.Row[V], 0, len(t.Changed()))
	for _, key := range t.Changed() {
		rows = append(rows, t.Row(key))
	}
	return rows
}

func (u *Unit) saveAccounts(ctx context.Context) error {
	// A new user changes the user count of the account, which is not stored.
	changed := slices.DeleteFunc(changedRows(&u.Accounts), func(a *state.Row[state.Account]) bool {
		return a.Stored && a.Before.Account == a.Now.Account
	})
	return putAll(ctx, u, userdb.PutAccounts, changed, func(t *store.Tuples, a *state.Row[state.Account]) { userdb.AppendAccount(t, a.Now.Account) })
}

// saveUsers stores users and their search terms. The terms of new users are stored with
// them and then indexed; those of other users are changed.
func (u *Unit) saveUsers(ctx context.Context) error {
	var terms store.Tuples
	added := false
	changed := slices.DeleteFunc(changedRows(&u.Users), func(r *state.Row[referral.User]) bool {
		return r.Stored && r.Now.SameProfile(r.Before)
	})
	if err := u.findLastUser(ctx); err != nil {
		return err
	}
	err := putAll(ctx, u, userdb.PutUsers, changed, func(t *store.Tuples, r *state.Row[referral.User]) {
		switch {
		case !r.Stored:
			added = true
			userdb.AppendUser(t, r.Now, userdb.TermsText(u.Tenant, r.Now))
			return
		case !slices.Equal(r.Before.Terms(), r.Now.Terms()):
			userdb.AppendTerms(&terms, u.Tenant, r.Now)
		}
		userdb.AppendUser(t, r.Now, "")
	})
	if err == nil && added {
		u.added = true
		err = userdb.IndexNew(ctx, u.tx, u.lastSeq)
	}
	if err == nil {
		err = userdb.ChangeTerms(ctx, u.tx, u.Tenant, &terms)
	}
	return err
}

// findLastUser updates lastSeq if the unit has added users since it was read.
func (u *Unit) findLastUser(ctx context.Context) error {
	if !u.added {
		return nil
	}
	return u.tx.QueryRowContext(ctx, userdb.LastUser).Scan(&u.lastSeq)
}

func (u *Unit) saveCodes(ctx context.Context) error {
	codes := u.NewCodes.Take()
	n, err := u.tx.PutCounted(ctx, userdb.PutCodes, u.Tenant, rowsOf(userdb.PutCodes, codes, func(t *store.Tuples, c state.NewCode) { userdb.AppendCode(t, c.UserCode, c.Owner) }))
	if err == nil && n != len(codes) {
		err = store.ErrTaken
	}
	for _, l := range u.Links.Take() {
		if err == nil {
			err = u.saveLink(ctx, l)
		}
	}
	for _, code := range u.MadeCodes.Take() {
		if err == nil {
			err = u.tx.Exec(ctx, "make code", `UPDATE code SET link_only = 0 WHERE tenant = ? AND code = ?`, string(u.Tenant), string(code))
		}
	}
	return err
}

func (u *Unit) saveLink(ctx context.Context, l state.NewCode) error {
	return u.tx.Exec(ctx, "put link", `INSERT INTO code (tenant, code, program, account_id, user_id, created_at, link_only, linked_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?6)
		ON CONFLICT (tenant, code) DO UPDATE SET linked_at = excluded.linked_at WHERE tenant = ?1`,
		string(u.Tenant), string(l.Code), string(l.Program), string(l.Owner.Account), string(l.Owner.User), int64(u.Now))
}

func (u *Unit) saveReferrals(ctx context.Context) error {
	changed := slices.DeleteFunc(changedRows(&u.Referrals), func(r *state.Row[referral.Referral]) bool {
		return r.Stored && !r.Now.Moved(r.Before)
	})
	err := putAll(ctx, u, referraldb.Put, changed, func(t *store.Tuples, r *state.Row[referral.Referral]) { referraldb.AppendRow(t, r.Now) })
	var began store.Tuples
	for _, r := range changed {
		if !r.Stored {
			began.Row()
			began.Text(string(r.Now.Referred.Account))
		} else if err == nil && r.Now.Replaced(r.Before) {
			err = referraldb.Replace(ctx, u.tx, u.Tenant, r.Now)
		}
	}
	if err != nil || began.Rows == 0 {
		return err
	}
	return orderdb.PutHistory(ctx, u.tx, u.Tenant, &began)
}

// saveRewards stores rewards and the entries of their ledger.
func (u *Unit) saveRewards(ctx context.Context) error {
	var added, changed []reward.Reward
	for _, r := range changedRows(&u.Rewards) {
		if r.Stored {
			changed = append(changed, r.Now)
		} else {
			added = append(added, r.Now)
		}
	}
	if err := putAll(ctx, u, rewarddb.PutNew, added, rewarddb.AppendRow); err != nil {
		return err
	}
	return rewarddb.AppendLedger(ctx, u.tx, u.Tenant, changed, u.TookLedger())
}

func (u *Unit) saveFuel(ctx context.Context) error {
	for _, used := range u.UsedFuel.Take() {
		if err := rewarddb.UseFuelCode(ctx, u.tx, u.Tenant, used.Number, used.Reward); err != nil {
			return err
		}
	}
	for _, due := range u.FuelDues.Take() {
		if err := rewarddb.PutFuelDue(ctx, u.tx, u.Tenant, due.Program, due.Side, due.Referral); err != nil {
			return err
		}
	}
	return nil
}

func (u *Unit) saveDecisions(ctx context.Context) error {
	return putAll(ctx, u, referraldb.PutDecisions, u.Decisions.Take(), referraldb.AppendDecision)
}

func (u *Unit) saveTouched(ctx context.Context) error {
	accounts, customers := u.Billing.Take(), u.TiedCustomers.Take()
	if len(accounts) > 0 {
		if err := u.tx.Exec(ctx, "touch billing", `UPDATE gateway_subscription SET due_at = ?3
			WHERE tenant = ?1 AND account_id IN (SELECT value FROM json_each(?2)) AND `+billingdb.LiveSubscription,
			string(u.Tenant), store.TextList(slices.Compact(slices.Sorted(slices.Values(accounts)))), int64(u.Now)); err != nil {
			return err
		}
	}
	if len(customers) == 0 {
		return nil
	}
	return u.tx.Exec(ctx, "touch customers", `UPDATE gateway_subscription SET due_at = ?3
		WHERE tenant = ?1 AND customer_id IN (SELECT value FROM json_each(?2))`,
		string(u.Tenant), store.TextList(customers), int64(u.Now))
}

func (u *Unit) saveIntake(ctx context.Context) error {
	return putAll(ctx, u, putIntake, u.Intake.Take(), intakeRow)
}

// saveEvents stores webhook events, and a delivery of each to each enabled endpoint that
// gets events of its type.
func (u *Unit) saveEvents(ctx context.Context) error {
	events := u.Events.Take()
	if len(events) == 0 {
		return nil
	}
	var ids []string
	err := putAll(ctx, u, putEvents, events, func(t *store.Tuples, e state.Event) {
		t.Row()
		t.Text(e.ID, string(e.Type), string(e.Data))
		ids = append(ids, e.ID)
	})
	if err != nil {
		return err
	}
	return u.tx.Exec(ctx, "webhook deliveries", putDeliveries, string(u.Tenant), store.TextList(ids), int64(u.Now))
}

// putDeliveries adds a delivery of each event of a list to each endpoint that gets it. Its
// parameters are the tenant, the list and the time.
var putDeliveries = `INSERT INTO webhook_delivery (` + webhookdb.DeliveryColumns + `)
		SELECT ?1, s.url, e.id, 'waiting', 0, 0, ?3, ?3 FROM json_each(?2) given
		CROSS JOIN webhook_event e ON e.tenant = ?1 AND e.id = given.value
		JOIN webhook_subscription s ON s.tenant = ?1 AND ` + webhookdb.Wants("s", "e.type") + ` ORDER BY given.key`

// putIntake appends event calls to the intake. intakeRow adds its rows.
var putIntake = &store.Put{
	Table: "intake", Columns: store.Columns("account_id, user_id, idempotency_key, events, key_id, trusted"), At: store.Columns("received_at"),
}

// putEvents stores webhook events.
var putEvents = &store.Put{Table: "webhook_event", Columns: store.Columns("id, type, data"), At: store.Columns("created_at")}

func intakeRow(t *store.Tuples, in event.Call) {
	t.Row()
	t.Text(string(in.Account), string(in.User))
	t.TextOrNull(string(in.Key))
	t.Text(string(wire.IntakeEvents(in)))
	t.TextOrNull(in.Sender)
	t.Boolean(in.Trusted)
}
