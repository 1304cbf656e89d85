package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/wire"
)

// load reads what the calls of the batch will ask about.
func (b *batch) load(ctx context.Context) error {
	b.accounts, b.users = map[core.AccountID]*batchAccount{}, map[referral.Identity]*batchUser{}
	b.codes, b.untracked, b.keys = map[string]*Code{}, map[string]bool{}, map[core.IdempotencyKey]bool{}
	for _, read := range []func(context.Context) error{
		b.loadAccounts, b.loadUsers, b.loadCodes, b.loadReferrals, b.loadUntracked, b.loadKeys, b.loadTenant,
	} {
		if err := read(ctx); err != nil {
			return fmt.Errorf("store: load batch: %w", err)
		}
	}
	return nil
}

// loadAccounts reads the accounts of the users. Of those that are not there, no
// user is.
func (b *batch) loadAccounts(ctx context.Context) error {
	var asked tuples
	for _, u := range b.about.Users {
		if b.accounts[u.Account] == nil {
			b.accounts[u.Account] = &batchAccount{}
			asked.row()
			asked.text(string(u.Account))
		}
	}
	type row struct {
		referral.Account
		users int
	}
	rows, err := b.conn.QueryContext(ctx, accountColumns+`, (SELECT count(*) FROM user u WHERE u.tenant = a.tenant AND u.account_id = a.id)
		FROM json_each(?2) j CROSS JOIN account a ON a.tenant = ?1 AND a.id = j.value ->> 0
		LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id`, string(b.tenant), asked.String())
	found, err := collect(rows, err, "accounts", func(rows *sql.Rows, one *row) error {
		return scanAccount(also{rows, &one.users}, &one.Account)
	})
	for _, one := range found {
		*b.accounts[one.ID] = batchAccount{Account: one.Account, known: true, users: one.users}
	}
	return err
}

// also scans one value more than the caller of Scan wants.
type also struct {
	rows *sql.Rows
	last any
}

func (a also) Scan(into ...any) error { return a.rows.Scan(append(into, a.last)...) }

func (b *batch) loadUsers(ctx context.Context) error {
	var asked []referral.Identity
	for _, u := range b.about.Users {
		u.Email = ""
		if b.users[u] != nil {
			continue
		}
		b.users[u] = &batchUser{}
		if b.accounts[u.Account].known {
			asked = append(asked, u)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	found, err := Reads{q: b.conn}.UsersByID(ctx, b.tenant, asked)
	for _, u := range found {
		*b.users[referral.Identity{Account: u.Account, User: u.ID}] = batchUser{User: u, known: true}
	}
	return err
}

func (b *batch) loadCodes(ctx context.Context) error {
	var asked tuples
	for _, code := range b.about.Codes {
		key := codeKey(code)
		if _, ok := b.codes[key]; !ok {
			b.codes[key] = nil
			asked.row()
			asked.text(string(code))
		}
	}
	if asked.rows == 0 {
		return nil
	}
	rows, err := b.conn.QueryContext(ctx, codeColumns+` FROM json_each(?2) j CROSS JOIN code c ON c.tenant = ?1 AND c.code = j.value ->> 0
		JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id`, string(b.tenant), asked.String())
	found, err := collect(rows, err, "codes", func(rows *sql.Rows, c *Code) error { return rows.Scan(codeInto(c)...) })
	for _, c := range found {
		b.codes[codeKey(c.Code)] = &c
	}
	return err
}

func (b *batch) loadUntracked(ctx context.Context) error {
	var asked tuples
	for _, identity := range b.about.Identities {
		b.untracked[identity] = false
		asked.row()
		asked.text(identity)
	}
	if asked.rows == 0 {
		return nil
	}
	// Most tenants have none.
	rows, err := b.conn.QueryContext(ctx, `SELECT identity FROM do_not_track WHERE tenant = ?1 AND identity IN (
			SELECT value ->> 0 FROM json_each(?2)) AND EXISTS (SELECT 1 FROM do_not_track WHERE tenant = ?1)`, string(b.tenant), asked.String())
	found, err := collect(rows, err, "identities", func(rows *sql.Rows, s *string) error { return rows.Scan(s) })
	for _, identity := range found {
		b.untracked[identity] = true
	}
	return err
}

func (b *batch) loadKeys(ctx context.Context) error {
	var asked tuples
	for _, key := range b.about.Keys {
		if _, ok := b.keys[key]; !ok && key != "" {
			b.keys[key] = false
			asked.row()
			asked.text(string(key))
		}
	}
	if asked.rows == 0 {
		return nil
	}
	rows, err := b.conn.QueryContext(ctx, `SELECT i.idempotency_key FROM json_each(?2) j CROSS JOIN intake i
		ON i.tenant = ?1 AND i.idempotency_key = j.value ->> 0 AND i.received_at >= ?3`,
		string(b.tenant), asked.String(), int64(event.KeySince(b.now)))
	found, err := collect(rows, err, "keys", func(rows *sql.Rows, key *core.IdempotencyKey) error { return rows.Scan(key) })
	for _, key := range found {
		b.keys[key] = true
	}
	return err
}

// loadTenant reads what is the same for all calls.
func (b *batch) loadTenant(ctx context.Context) (err error) {
	if b.programs, err = (Reads{q: b.conn}).Programs(ctx, b.tenant); err != nil {
		return err
	}
	if b.connected, err = (Reads{q: b.conn}).Connected(ctx, b.tenant); err != nil {
		return err
	}
	return b.conn.QueryRowContext(ctx, subscribed, string(b.tenant)).Scan(&b.listeners)
}

// write writes what the calls noted. Accounts go before their users, and users
// before what is theirs.
func (b *batch) write(ctx context.Context) error {
	tx := &Tx{Reads: Reads{q: b.conn}, Now: b.now, embedded: b.embedded}
	for _, write := range []func(context.Context, *Tx) error{
		b.writeAccounts, b.writeUsers, b.writeTerms, b.writeCodes, b.writeReferrals, b.writeRewards, b.writeDecisions, b.writeTouched,
		b.writeIntake, b.writeEvents,
	} {
		if err := write(ctx, tx); err != nil {
			return err
		}
	}
	b.undo = nil
	return nil
}

func (b *batch) writeAccounts(ctx context.Context, tx *Tx) error {
	var rows tuples
	rows.room(putAccounts, len(b.putAccounts))
	for _, a := range b.putAccounts {
		rows.account(a.Account)
		a.put = false
	}
	b.putAccounts = nil
	_, err := tx.put(ctx, putAccounts, b.tenant, &rows)
	return err
}

func (b *batch) writeUsers(ctx context.Context, tx *Tx) error {
	var rows tuples
	rows.room(putUsers, len(b.putUsers))
	for _, u := range b.putUsers {
		rows.user(u.User)
		u.put = false
	}
	b.putUsers = nil
	_, err := tx.put(ctx, putUsers, b.tenant, &rows)
	return err
}

func (b *batch) writeTerms(ctx context.Context, tx *Tx) error {
	var rows tuples
	rows.room(putTerms, len(b.putTerms))
	for _, u := range b.putTerms {
		rows.terms(b.tenant, u.User)
		u.terms = false
	}
	b.putTerms = nil
	_, err := tx.put(ctx, putTerms, b.tenant, &rows)
	return err
}

func (b *batch) writeCodes(ctx context.Context, tx *Tx) error {
	var rows tuples
	rows.room(putCodes, len(b.newCodes))
	for _, c := range b.newCodes {
		rows.code(c.UserCode, c.owner)
	}
	wanted := len(b.newCodes)
	b.newCodes = nil
	n, err := tx.put(ctx, putCodes, b.tenant, &rows)
	if err == nil && n != wanted {
		err = errTaken
	}
	return err
}

func (b *batch) writeIntake(ctx context.Context, tx *Tx) error {
	var rows tuples
	for _, in := range b.intake {
		rows.intake(in)
	}
	b.intake = nil
	_, err := tx.put(ctx, putIntake, b.tenant, &rows)
	return err
}

func (b *batch) writeEvents(ctx context.Context, tx *Tx) error {
	if len(b.events) == 0 {
		return nil
	}
	var rows, ids tuples
	for _, e := range b.events {
		rows.row()
		rows.text(e.id, string(e.kind), e.data)
		ids.row()
		ids.text(e.id)
	}
	b.events = nil
	if _, err := tx.put(ctx, putEvents, b.tenant, &rows); err != nil {
		return err
	}
	return tx.exec(ctx, "webhook deliveries", `INSERT INTO webhook_delivery (`+newDelivery+`)
		SELECT ?1, s.url, j.value ->> 0, 'waiting', 0, 0, ?3, ?3 FROM json_each(?2) j
		JOIN webhook_subscription s ON s.tenant = ?1 AND s.disabled_at IS NULL ORDER BY j.key`,
		string(b.tenant), ids.String(), int64(b.now))
}

// putIntake takes event calls in: tuples.intake of each.
var putIntake = statement(put{
	table: "intake", columns: "account_id, user_id, idempotency_key, events", at: "received_at",
})

// putEvents writes webhook events down: id, type and data of each.
var putEvents = statement(put{table: "webhook_event", columns: "id, type, data", at: "created_at"})

func (t *tuples) intake(in event.Batch) {
	t.row()
	t.text(string(in.Account), string(in.User))
	t.textOrNull(string(in.Key))
	t.text(string(wire.IntakeEvents(in)))
}
