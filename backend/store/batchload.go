package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// load reads what calls will ask about, but for what is known.
func (b *batch) load(ctx context.Context, about About) error {
	for _, read := range []func(context.Context, About) error{
		b.loadTenant, b.loadAccounts, b.loadUsers, b.loadCodes, b.loadReferrals, b.loadUntracked, b.loadKeys,
	} {
		if err := read(ctx, about); err != nil {
			return fmt.Errorf("store: load batch: %w", err)
		}
	}
	return nil
}

// loadAnew reads all again after a call that ran by itself.
func (b *batch) loadAnew(ctx context.Context) error {
	b.forget()
	return b.load(ctx, b.about)
}

// forget makes a batch that knows nothing.
func (b *batch) forget() {
	b.accounts, b.users = map[core.AccountID]*batchAccount{}, map[referral.Identity]*batchUser{}
	b.codes, b.untracked, b.keys = map[string]*Code{}, map[string]bool{}, map[core.IdempotencyKey]bool{}
	b.referrals, b.referred = map[string]*batchReferral{}, map[core.AccountID]*batchReferral{}
	b.made, b.programs = map[referral.Identity][]*batchReferral{}, nil
}

// loadAccounts reads the accounts of the users. Of those that are not there, no
// user is.
func (b *batch) loadAccounts(ctx context.Context, about About) error {
	var asked tuples
	for _, u := range about.Users {
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

func (b *batch) loadUsers(ctx context.Context, about About) error {
	var asked []referral.Identity
	for _, u := range about.Users {
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

func (b *batch) loadCodes(ctx context.Context, about About) error {
	var asked tuples
	for _, code := range about.Codes {
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

func (b *batch) loadUntracked(ctx context.Context, about About) error {
	var asked tuples
	for _, identity := range about.Identities {
		b.untracked[identity] = false
		asked.row()
		asked.text(identity)
	}
	if asked.rows == 0 || !b.untracking {
		return nil
	}
	rows, err := b.conn.QueryContext(ctx, `SELECT identity FROM do_not_track WHERE tenant = ?1 AND identity IN (
			SELECT value ->> 0 FROM json_each(?2))`, string(b.tenant), asked.String())
	found, err := collect(rows, err, "identities", func(rows *sql.Rows, s *string) error { return rows.Scan(s) })
	for _, identity := range found {
		b.untracked[identity] = true
	}
	return err
}

func (b *batch) loadKeys(ctx context.Context, about About) error {
	var asked tuples
	for _, key := range about.Keys {
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
func (b *batch) loadTenant(ctx context.Context, _ About) (err error) {
	if b.programs != nil {
		return nil
	}
	if b.programs, err = (Reads{q: b.conn}).Programs(ctx, b.tenant); err != nil {
		return err
	}
	if b.connected, err = (Reads{q: b.conn}).Connected(ctx, b.tenant); err != nil {
		return err
	}
	// Most tenants track everybody.
	return b.conn.QueryRowContext(ctx, `SELECT (`+subscribed+`), EXISTS (SELECT 1 FROM do_not_track WHERE tenant = ?1) AS untracking`,
		string(b.tenant)).Scan(&b.listeners, &b.untracking)
}
