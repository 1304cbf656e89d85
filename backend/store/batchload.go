package store

import (
	"context"
	"database/sql"
	"fmt"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
)

// loadAnew reads what the calls will ask about, at first and after one that ran by
// itself.
func (b *batch) loadAnew(ctx context.Context) error {
	b.forget()
	for _, read := range []func(context.Context) error{
		b.loadTenant, b.loadAccounts, b.loadUsers, b.loadCodes, b.loadReferrals, b.loadUntracked, b.loadKeys,
	} {
		if err := read(ctx); err != nil {
			return fmt.Errorf("store: load batch: %w", err)
		}
	}
	return nil
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
func (b *batch) loadAccounts(ctx context.Context) error {
	var asked []string
	for _, u := range b.about.Users {
		if b.accounts[u.Account] == nil {
			b.accounts[u.Account] = &batchAccount{}
			asked = append(asked, string(u.Account))
		}
	}
	type row struct {
		referral.Account
		users int
	}
	rows, err := b.conn.QueryContext(ctx, accountColumns+`, (SELECT count(*) FROM user u WHERE u.tenant = a.tenant AND u.account_id = a.id)
		FROM json_each(?2) j CROSS JOIN account a ON a.tenant = ?1 AND a.id = j.value
		LEFT JOIN referral r ON r.tenant = a.tenant AND r.referred_account_id = a.id`, string(b.tenant), textList(asked))
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
		*b.users[referral.Identity{Account: u.Account, User: u.ID}] = batchUser{User: u, known: true, stored: true}
	}
	return err
}

func (b *batch) loadCodes(ctx context.Context) error {
	var asked []string
	for _, code := range b.about.Codes {
		key := codeKey(code)
		if _, ok := b.codes[key]; !ok {
			b.codes[key] = nil
			asked = append(asked, string(code))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	rows, err := b.conn.QueryContext(ctx, codeColumns+` FROM json_each(?2) j CROSS JOIN code c ON c.tenant = ?1 AND c.code = j.value
		JOIN user u ON u.tenant = c.tenant AND u.account_id = c.account_id AND u.id = c.user_id`, string(b.tenant), textList(asked))
	found, err := collect(rows, err, "codes", func(rows *sql.Rows, c *Code) error { return rows.Scan(codeInto(c)...) })
	for _, c := range found {
		b.codes[codeKey(c.Code)] = &c
	}
	return err
}

func (b *batch) loadUntracked(ctx context.Context) error {
	if b.about.Identify == nil || !b.untracking {
		return nil
	}
	var asked []string
	for _, u := range b.about.Users {
		identity := b.about.Identify(u)
		b.untracked[identity] = false
		asked = append(asked, identity)
	}
	rows, err := b.conn.QueryContext(ctx, `SELECT identity FROM do_not_track WHERE tenant = ?1 AND identity IN (
			SELECT value FROM json_each(?2))`, string(b.tenant), textList(asked))
	found, err := collect(rows, err, "identities", func(rows *sql.Rows, s *string) error { return rows.Scan(s) })
	for _, identity := range found {
		b.untracked[identity] = true
	}
	return err
}

func (b *batch) loadKeys(ctx context.Context) error {
	var asked []string
	for _, key := range b.about.Keys {
		if _, ok := b.keys[key]; !ok && key != "" {
			b.keys[key] = false
			asked = append(asked, string(key))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	rows, err := b.conn.QueryContext(ctx, `SELECT i.idempotency_key FROM json_each(?2) j CROSS JOIN intake i
		ON i.tenant = ?1 AND i.idempotency_key = j.value AND i.received_at >= ?3`,
		string(b.tenant), textList(asked), int64(event.KeySince(b.now)))
	found, err := collect(rows, err, "keys", func(rows *sql.Rows, key *core.IdempotencyKey) error { return rows.Scan(key) })
	for _, key := range found {
		b.keys[key] = true
	}
	return err
}

// loadTenant reads what is the same for all calls.
func (b *batch) loadTenant(ctx context.Context) (err error) {
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
	return b.conn.QueryRowContext(ctx, `SELECT (`+subscribed+`), EXISTS (SELECT 1 FROM do_not_track WHERE tenant = ?1) AS untracking, (`+lastUser+`)`,
		string(b.tenant)).Scan(&b.listeners, &b.untracking, &b.lastUser)
}
