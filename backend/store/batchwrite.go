package store

import (
	"context"

	"kith/core/event"
	"kith/core/wire"
)

// later is what is left to do of a write when all its values are gathered: it
// shares nothing with the batch, which goes on.
type later func(ctx context.Context, tx *Tx) error

// gather takes what the calls noted, to be written. Accounts go before their
// users, and users before what is theirs.
func (b *batch) gather() []later {
	b.undo = nil
	return []later{
		b.gatherAccounts(), b.gatherUsers(), b.gatherReferrals(), b.gatherRewards(),
		b.gatherDecisions(), b.gatherTouched(), b.gatherIntake(), b.gatherEvents(),
	}
}

// behind writes what calls noted while further ones are made, which take less
// time and nothing from the database.
type behind struct {
	// parts has room for one, so that the connection never waits for calls, nor
	// are these far ahead of it.
	parts chan []later
	done  chan error
}

func (b *batch) writeBehind(ctx context.Context) {
	if b.behind == nil {
		b.behind = &behind{parts: make(chan []later, 1), done: make(chan error, 1)}
		go b.behind.run(func(noted []later) error { return b.run(ctx, noted) })
	}
	b.behind.parts <- b.gather()
}

func (w *behind) run(write func([]later) error) {
	var err error
	for noted := range w.parts {
		if err == nil {
			err = write(noted)
		}
	}
	w.done <- err
}

// written waits for what is written behind the calls.
func (b *batch) written() error {
	if b == nil || b.behind == nil {
		return nil
	}
	close(b.behind.parts)
	err := <-b.behind.done
	b.behind = nil
	return err
}

// write writes what the calls noted.
func (b *batch) write(ctx context.Context) error {
	b.allBehind(ctx)
	return b.written()
}

// allBehind also has written what is kept for the end: codes, since a file is a tenth
// quicker with those of all parts in a row, and what users are found by, since the
// index has more to do for each statement than for each row.
func (b *batch) allBehind(ctx context.Context) {
	b.writeBehind(ctx)
	b.behind.parts <- []later{b.gatherCodes()}
	b.behind.parts <- []later{b.gatherTerms()}
}

func (b *batch) run(ctx context.Context, all []later) error {
	if err := b.lock.take(ctx); err != nil {
		return err
	}
	tx := &Tx{Reads: Reads{q: b.conn}, Now: b.now, embedded: b.embedded}
	for _, write := range all {
		if err := write(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// rowsLater stores rows of the batch's tenant.
func (b *batch) rowsLater(p *put, rows tuples) later {
	b.prepare(&rows)
	return func(ctx context.Context, tx *Tx) error {
		_, err := tx.put(ctx, p, b.tenant, &rows)
		return err
	}
}

// prepare does what the write need not wait for then.
func (b *batch) prepare(rows *tuples) {
	rows.fold()
	if !b.embedded {
		_ = rows.String()
	}
}

// taken are the rows of what was noted, which is noted no more.
func taken[T any](p *put, noted *[]T, add func(*tuples, T)) (rows tuples) {
	rows.room(p, len(*noted))
	for _, one := range *noted {
		add(&rows, one)
	}
	*noted = nil
	return rows
}

func (b *batch) gatherAccounts() later {
	return b.rowsLater(putAccounts, taken(putAccounts, &b.putAccounts, func(t *tuples, a *batchAccount) {
		t.account(a.Account)
		a.put = false
	}))
}

func (b *batch) gatherUsers() later {
	return b.rowsLater(putUsers, taken(putUsers, &b.putUsers, func(t *tuples, u *batchUser) {
		terms := ""
		if !u.stored && u.terms {
			terms = termsText(b.tenant, u.User)
			u.terms, b.unindexed = false, true
		}
		t.user(u.User, terms)
		u.put, u.stored = false, true
	}))
}

// gatherTerms gathers what users are found by: of those who are new it is stored with
// them, and has only to be indexed, of others it changes.
func (b *batch) gatherTerms() later {
	var changed tuples
	for _, u := range b.putTerms {
		changed.terms(b.tenant, u.User)
		u.terms = false
	}
	_ = changed.String() // the write need not wait for it then
	unindexed, last := b.unindexed, b.lastUser
	b.putTerms, b.unindexed = nil, false
	return func(ctx context.Context, tx *Tx) error {
		if unindexed {
			if err := tx.indexNew(ctx, last); err != nil {
				return err
			}
		}
		return tx.changeTerms(ctx, b.tenant, &changed)
	}
}

func (b *batch) gatherCodes() later {
	rows := taken(putCodes, &b.newCodes, func(t *tuples, c newCode) { t.code(c.UserCode, c.owner) })
	b.prepare(&rows)
	return func(ctx context.Context, tx *Tx) error {
		n, err := tx.put(ctx, putCodes, b.tenant, &rows)
		if err == nil && n != rows.rows {
			err = errTaken
		}
		return err
	}
}

func (b *batch) gatherReferrals() later {
	return b.rowsLater(putReferrals, taken(putReferrals, &b.putReferrals, func(t *tuples, r *batchReferral) {
		t.referral(r.Referral)
		r.put = false
	}))
}

func (b *batch) gatherRewards() later {
	rewards := b.rowsLater(putNewRewards, taken(putNewRewards, &b.newRewards, (*tuples).reward))
	entries := b.ledger
	b.ledger = nil
	return func(ctx context.Context, tx *Tx) error {
		if err := rewards(ctx, tx); err != nil {
			return err
		}
		return tx.AppendLedger(ctx, b.tenant, nil, entries)
	}
}

func (b *batch) gatherDecisions() later {
	return b.rowsLater(putDecisions, taken(putDecisions, &b.decisions, (*tuples).decision))
}

func (b *batch) gatherTouched() later {
	var rows tuples
	for _, account := range b.touched {
		rows.row()
		rows.text(string(account))
	}
	b.touched = nil
	return func(ctx context.Context, tx *Tx) error {
		if rows.rows == 0 {
			return nil
		}
		return tx.exec(ctx, "touch billing", `UPDATE gateway_subscription SET due_at = ?3
			WHERE tenant = ?1 AND account_id IN (SELECT value ->> 0 FROM json_each(?2)) AND `+billed,
			string(b.tenant), rows.String(), int64(tx.Now))
	}
}

func (b *batch) gatherIntake() later {
	return b.rowsLater(putIntake, taken(putIntake, &b.intake, (*tuples).intake))
}

func (b *batch) gatherEvents() later {
	var ids tuples
	events := b.rowsLater(putEvents, taken(putEvents, &b.events, func(t *tuples, e newEvent) {
		t.row()
		t.text(e.id, string(e.kind), e.data)
		ids.row()
		ids.text(e.id)
	}))
	return func(ctx context.Context, tx *Tx) error {
		if err := events(ctx, tx); err != nil || ids.rows == 0 {
			return err
		}
		return tx.exec(ctx, "webhook deliveries", `INSERT INTO webhook_delivery (`+newDelivery+`)
			SELECT ?1, s.url, j.value ->> 0, 'waiting', 0, 0, ?3, ?3 FROM json_each(?2) j
			JOIN webhook_subscription s ON s.tenant = ?1 AND s.disabled_at IS NULL ORDER BY j.key`,
			string(b.tenant), ids.String(), int64(tx.Now))
	}
}

// putIntake takes event calls in: tuples.intake of each.
var putIntake = &put{
	table: "intake", columns: columns("account_id, user_id, idempotency_key, events"), at: columns("received_at"),
}

// putEvents writes webhook events down: id, type and data of each.
var putEvents = &put{table: "webhook_event", columns: columns("id, type, data"), at: columns("created_at")}

func (t *tuples) intake(in event.Batch) {
	t.row()
	t.text(string(in.Account), string(in.User))
	t.textOrNull(string(in.Key))
	t.text(string(wire.IntakeEvents(in)))
}
