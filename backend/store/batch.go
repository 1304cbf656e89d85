package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// About is what calls of a batch will ask about.
type About struct {
	Users []referral.Identity
	// Identify returns the keyed hash of a user, for DoNotTrack, which nil says they
	// will not ask.
	Identify func(referral.Identity) string
	// Codes are the codes that the calls name, and Claimed those of them by which
	// somebody is to be referred.
	Codes, Claimed []core.ReferralCode
	// Owners are the users who ask for codes of their own.
	Owners []referral.Identity
	// LatestSince and LatestMost say which referrals of a referrer the calls may
	// look at; see RecentReferrals.
	LatestSince core.Time
	LatestMost  int
	// Keys are the idempotency keys of event calls.
	Keys []core.IdempotencyKey
}

// batch makes the statements of many like calls within one transaction few: what
// they read is read before them, by a statement for all of them, and what some of
// them write is written after those, in the same way, while the next ones are made.
// The methods of Tx that know of batches answer from what was read and note what is
// to be written; any other statement makes its call be run again by itself, see
// Tx.Try. So a batch only ever does what the calls would do one after the other.
type batch struct {
	conn querier
	// lock is taken before anything is written, when it is not nil.
	lock   *lock
	tenant core.TenantAlias
	now    core.Time
	// embedded is Tx.embedded.
	embedded bool
	// about is what the calls may ask about.
	about About

	accounts  map[core.AccountID]*batchAccount
	users     map[referral.Identity]*batchUser
	codes     map[string]*Code // by their lower case; nil is not there
	untracked map[string]bool
	keys      map[core.IdempotencyKey]bool
	programs  []referral.Program
	// listeners is true when somebody is subscribed, connected when there is a
	// gateway, and untracking when there are users who must not come back.
	listeners, connected, untracking bool

	referrals map[string]*batchReferral
	// referred are the referrals of accounts, and made the latest of a referrer,
	// the latest first.
	referred map[core.AccountID]*batchReferral
	made     map[referral.Identity][]*batchReferral

	// What is to be written, in the order in which it was noted.
	putAccounts  []*batchAccount
	putUsers     []*batchUser
	putTerms     []*batchUser
	newCodes     []newCode
	putReferrals []*batchReferral
	newRewards   []reward.Reward
	ledger       []reward.Entry
	decisions    []wire.Decision
	touched      []core.AccountID
	events       []newEvent
	intake       []event.Batch

	// unindexed is true when users were stored whom the index of words does not have:
	// those behind lastUser.
	unindexed bool
	lastUser  int64

	// undo takes back what the call that runs has noted.
	undo []func()
	// behind writes behind the calls, or is nil. Until it has ended nothing else may
	// use the connection.
	behind *behind
	// wanted is true when the call needs to run by itself, alone while it does.
	wanted, alone bool
	// calls is how many there were, and singles how many of them ran by themselves.
	calls, singles int
}

type batchAccount struct {
	referral.Account
	known, put bool
	// users is how many it has.
	users int
}

type batchUser struct {
	referral.User
	// known is true when the user is there, and stored when that has been written.
	known, stored bool
	put, terms    bool
}

type newCode struct {
	referral.UserCode
	owner referral.Identity
}

type newEvent struct {
	id   string
	kind webhook.Type
	data string
}

// errAlone makes a call end that needs to run by itself.
var errAlone = errors.New("store: the batch does not know")

// errTaken says that of what a batch noted as new something was not: somebody has
// the code. The transaction must be given up, and run without a batch.
var errTaken = errors.New("store: a code of the batch was taken")

// BatchFailed reports whether a transaction failed only because its calls were
// run as a batch.
func BatchFailed(err error) bool { return errors.Is(err, errTaken) }

// Batch makes the calls that follow, each within Try, a batch of a tenant, which
// EndBatch ends. It reads what they will ask about.
func (tx *Tx) Batch(ctx context.Context, tenant core.TenantAlias, about About) error {
	b := &batch{conn: tx.q, lock: tx.lock, tenant: tenant, now: tx.Now, embedded: tx.embedded, about: about}
	tx.b, tx.q = b, batchConn{b}
	return b.loadAnew(ctx)
}

// Behind has what the calls of a batch have noted so far written while further
// calls are made. What goes wrong with it is told by a later one, or by EndBatch.
func (tx *Tx) Behind(ctx context.Context) {
	if tx.b.on() {
		tx.b.writeBehind(ctx)
	}
}

// AllBehind is Behind after the last call; what is left to do for EndBatch is to wait.
// What the batch knew is forgotten.
func (tx *Tx) AllBehind(ctx context.Context) {
	if tx.b.on() {
		tx.b.allBehind(ctx)
		tx.b.forget()
	}
}

// EndBatch writes what the calls of a batch noted, and ends it; without a batch it
// does nothing.
func (tx *Tx) EndBatch(ctx context.Context) error {
	b := tx.b
	if b == nil {
		return nil
	}
	tx.b, tx.q = nil, b.conn
	return b.write(ctx)
}

// batchConn is what statements of a batch are run on that no method noted.
type batchConn struct{ b *batch }

func (c batchConn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if !c.b.alone {
		c.b.wanted = true
		return nil, errAlone
	}
	return c.b.conn.ExecContext(ctx, query, args...)
}

func (c batchConn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !c.b.alone {
		c.b.wanted = true
		return nil, errAlone
	}
	return c.b.conn.QueryContext(ctx, query, args...)
}

func (c batchConn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if !c.b.alone {
		// A row cannot be made to fail, but to be none; what the caller makes of
		// that is undone.
		c.b.wanted = true
		query, args = `SELECT 1 WHERE 0`, nil
	}
	return c.b.conn.QueryRowContext(ctx, query, args...)
}

// on reports whether a method is to ask the batch.
func (b *batch) on() bool { return b != nil && !b.alone }

// miss is the answer to a question that the batch was not made for.
func (b *batch) miss() error {
	b.wanted = true
	return errAlone
}

// note makes a change that can be taken back.
func (b *batch) note(do, undo func()) {
	do()
	b.undo = append(b.undo, undo)
}

// try runs a call of the batch; alone is true when it has to be run by itself.
func (b *batch) try(do func() error) (alone bool, err error) {
	b.undo, b.wanted = b.undo[:0], false
	if err = do(); err == nil && !b.wanted {
		return false, nil
	}
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
	return b.wanted, err
}

// Try runs a part of the transaction: when do returns an error, nothing of it
// remains, and the transaction may go on. In a batch, do may be run twice.
func (tx *Tx) Try(ctx context.Context, do func() error) error {
	if !tx.b.on() {
		return tx.try(ctx, do)
	}
	tx.b.calls++
	alone, err := tx.b.try(do)
	if !alone {
		return err
	}
	// What was noted before must be there for the call, and what the batch knows
	// may be wrong after it.
	if err := tx.b.write(ctx); err != nil {
		return err
	}
	tx.b.alone = true
	err = tx.try(ctx, do)
	if tx.b.singles++; tx.b.singles > fewSingles && tx.b.singles*manyCalls > tx.b.calls {
		return err
	}
	tx.b.alone = false
	return errors.Join(err, tx.b.loadAnew(ctx))
}

// After each call that runs by itself, the batch is loaded anew, which takes as
// long as a few calls for each hundred of it. When they are more than fewSingles,
// and more than one of manyCalls, all others run by themselves too.
const fewSingles, manyCalls = 4, 16

func (tx *Tx) try(ctx context.Context, do func() error) error {
	if err := tx.exec(ctx, "begin part", `SAVEPOINT part`); err != nil {
		return err
	}
	err := do()
	if err != nil {
		err = errors.Join(err, tx.exec(ctx, "undo part", `ROLLBACK TO part`))
	}
	return errors.Join(err, tx.exec(ctx, "end part", `RELEASE part`))
}

func (b *batch) account(id core.AccountID) (a referral.Account, known bool, err error) {
	e, ok := b.accounts[id]
	if !ok {
		return a, false, b.miss()
	}
	return e.Account, e.known, nil
}

func (b *batch) userCount(id core.AccountID) (int, error) {
	e, ok := b.accounts[id]
	if !ok {
		return 0, b.miss()
	}
	return e.users, nil
}

func (b *batch) putAccount(a referral.Account) error {
	e, ok := b.accounts[a.ID]
	if !ok || a.PaymentProviderID != e.PaymentProviderID {
		return b.miss()
	}
	before, n := *e, len(b.putAccounts)
	b.note(func() {
		e.Account, e.known = a, true
		if !e.put {
			e.put = true
			b.putAccounts = append(b.putAccounts, e)
		}
	}, func() { *e, b.putAccounts = before, b.putAccounts[:n] })
	return nil
}

func (b *batch) user(account core.AccountID, id core.UserID) (u referral.User, known bool, err error) {
	e, ok := b.users[referral.Identity{Account: account, User: id}]
	if !ok {
		return u, false, b.miss()
	}
	// The caller may change what it gets.
	u = e.User
	u.Codes, u.Links, u.Segments = slices.Clone(u.Codes), slices.Clone(u.Links), slices.Clone(u.Segments)
	return u, e.known, nil
}

func (b *batch) putUser(u referral.User) error {
	e, ok := b.users[referral.Identity{Account: u.Account, User: u.ID}]
	if !ok {
		return b.miss()
	}
	account := b.accounts[u.Account]
	if account == nil {
		return b.miss()
	}
	before, users, n := *e, account.users, len(b.putUsers)
	b.note(func() {
		if !e.known {
			account.users++
		}
		// Codes and what blocks the user have their own statements.
		u.Codes, u.Links, u.Blocked = e.Codes, e.Links, e.Blocked
		e.User, e.known = u, true
		if !e.put {
			e.put = true
			b.putUsers = append(b.putUsers, e)
		}
	}, func() { *e, account.users, b.putUsers = before, users, b.putUsers[:n] })
	return nil
}

func (b *batch) putTermsOf(u referral.User) error {
	e, ok := b.users[referral.Identity{Account: u.Account, User: u.ID}]
	if !ok {
		return b.miss()
	}
	before, n := e.terms, len(b.putTerms)
	b.note(func() {
		// Who is new is stored with them.
		if e.stored && !e.terms {
			b.putTerms = append(b.putTerms, e)
		}
		e.terms = true
	}, func() { e.terms, b.putTerms = before, b.putTerms[:n] })
	return nil
}

// codeKey is a code without regard to case.
func codeKey(code core.ReferralCode) string { return strings.ToLower(string(code)) }

func (b *batch) code(code core.ReferralCode) (c Code, known bool, err error) {
	e, ok := b.codes[codeKey(code)]
	if !ok {
		return c, false, b.miss()
	}
	if e == nil {
		return c, false, nil
	}
	c = *e
	if u, ok := b.users[referral.Identity{Account: c.Owner.Account, User: c.Owner.User}]; ok {
		c.Owner.Email, c.FirstName, c.LastName = u.Email, u.FirstName, u.LastName
	}
	return c, true, nil
}

// insertCode notes a code. Of one that was not asked about it is taken for
// granted that nobody has it: it was drawn at random. When it is written, that is
// seen to.
func (b *batch) insertCode(c referral.UserCode, owner referral.Identity) (bool, error) {
	key := codeKey(c.Code)
	if e := b.codes[key]; e != nil {
		return false, nil
	}
	user, ok := b.users[owner]
	if !ok {
		return false, b.miss()
	}
	_, asked := b.codes[key]
	codes, n := user.Codes, len(b.newCodes)
	b.note(func() {
		user.Codes = slices.DeleteFunc(slices.Clone(codes), func(o referral.UserCode) bool { return o.Program == c.Program })
		user.Codes = append(user.Codes, c)
		slices.SortFunc(user.Codes, func(a, b referral.UserCode) int { return strings.Compare(string(a.Program), string(b.Program)) })
		b.codes[key] = &Code{Code: c.Code, Program: c.Program, Owner: owner, Blocked: user.Blocked != 0, Created: b.now}
		b.newCodes = append(b.newCodes, newCode{c, owner})
	}, func() {
		user.Codes, b.newCodes = codes, b.newCodes[:n]
		if delete(b.codes, key); asked {
			b.codes[key] = nil
		}
	})
	return true, nil
}

func (b *batch) isUntracked(identity func() string) (bool, error) {
	if !b.untracking {
		return false, nil
	}
	is, ok := b.untracked[identity()]
	if !ok {
		return false, b.miss()
	}
	return is, nil
}

func (b *batch) program(key core.ProgramKey) (referral.Program, error) {
	for _, p := range b.programs {
		if p.Key == key {
			return p, nil
		}
	}
	return referral.Program{}, unknownProgram()
}

func (b *batch) programKeys() []core.ProgramKey {
	keys := make([]core.ProgramKey, len(b.programs))
	for i, p := range b.programs {
		keys[i] = p.Key
	}
	return keys
}

func (b *batch) emit(id string, t webhook.Type, data []byte) {
	if !b.listeners {
		return
	}
	n := len(b.events)
	b.note(func() { b.events = append(b.events, newEvent{id, t, string(data)}) }, func() { b.events = b.events[:n] })
}

func (b *batch) userKnown(account core.AccountID, id core.UserID) (bool, error) {
	e, ok := b.users[referral.Identity{Account: account, User: id}]
	if !ok {
		return false, b.miss()
	}
	return e.known, nil
}

// appendIntake notes a call; false means that its key was used.
func (b *batch) appendIntake(in event.Batch) (bool, error) {
	used, asked := b.keys[in.Key]
	switch {
	case in.Key != "" && !asked:
		return false, b.miss()
	case in.Key != "" && used:
		return false, nil
	}
	n := len(b.intake)
	b.note(func() { b.intake, b.keys[in.Key] = append(b.intake, in), true },
		func() { b.intake, b.keys[in.Key] = b.intake[:n], false })
	return true, nil
}
