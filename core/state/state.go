// Package state defines the unit of work between the database and the rules: the data
// of a tenant on which calls are decided, and the changes that they make.
//
// The store loads the rows that calls need, core/rules decides the calls one after
// another on the State alone, and the store saves the changes. If a call reads a row
// that was not loaded, the State is incomplete: the call's changes are dropped, the
// row is loaded, and the call is decided again. The changes of a refused call are
// dropped too.
package state

import (
	"slices"
	"strings"

	"kith/core"
	"kith/core/conversion"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// State has the loaded data of one tenant and the changes of calls. Create it with
// New. It is not safe for concurrent use.
type State struct {
	Tenant core.TenantAlias
	// Now is the time of all calls.
	Now core.Time
	// Entropy is that of the last id that was made, zero before the first; see rules.Rules.
	Entropy [6]byte
	// Silent is true if the calls send no webhooks.
	Silent bool

	// Facts are the data that all calls share.
	Facts One[Facts]

	Accounts Table[core.AccountID, Account]
	// Users are by account and id, without the email address. AddCode and AddLink
	// change their codes and links; Blocked does not change here.
	Users Table[referral.Identity, referral.User]
	// Codes are by CodeKey.
	Codes Table[string, referral.Code]
	// Customers are the accounts by their customer at the payment gateway.
	Customers Table[core.PaymentProviderID, core.AccountID]
	// Referrals are by id. Referred has the id of each referred account's referral.
	Referrals Table[string, referral.Referral]
	Referred  Table[core.AccountID, string]
	// Recent has a referrer's referrals that started within referral.RateWindow, latest
	// first, at most MaxRecent.
	Recent Table[referral.Identity, []Recent]
	// Untracked has true for deleted users who must not be tracked again, and, without a user,
	// for accounts.
	Untracked Table[referral.Identity, bool]
	// Erased has true for accounts that were deleted after they had converted or paid.
	Erased Table[core.AccountID, bool]
	// EventKeys are the idempotency keys of event calls within event.KeyLife.
	EventKeys Table[core.IdempotencyKey, bool]
	// RedeemKeys are the idempotency keys of redemptions.
	RedeemKeys Table[core.IdempotencyKey, bool]
	// Rewards are by id, without their redemptions.
	Rewards Table[string, reward.Reward]
	// Tanks has the next codes of fuel tanks.
	Tanks Table[TankKey, Tank]
	// Balances are the amounts that owners can redeem; see AddBalance.
	Balances Table[reward.Owner, reward.Purse]
	// Owing has the debts of owners, and the credit that can settle them.
	Owing Table[OwingKey, Owing]
	// Plans are the plans of programs that convert by events; a program that never did
	// has none.
	Plans Table[core.ProgramKey, conversion.Plans]
	// Orders are the orders of referrals.
	Orders Table[OrderKey, Order]
	// Histories are the first MaxHistory events of accounts that rules of a program read.
	Histories Table[HistoryKey, []event.Event]
	// Sequences are loaded for one step of a replay, after all changes before it were
	// saved.
	Sequences Table[Replay, Sequence]
	// Earned has sums that are valid for one call: they are loaded again for the
	// next.
	Earned Table[EarnedKey, referral.Earned]

	NewCodes  List[NewCode]
	Links     List[NewCode]
	MadeCodes List[core.ReferralCode]
	Ledger    List[reward.Entry]
	Decisions List[wire.Decision]
	Events    List[Event]
	Intake    List[event.Call]
	UsedFuel  List[UsedFuel]
	FuelDues  List[FuelDue]
	// Replays are decided later.
	Replays List[Replay]
	// Billing lists the accounts whose discounts at the payment gateway are to be
	// updated. TiedCustomers lists customers that were connected to an account, whose
	// subscriptions are to be read.
	Billing       List[core.AccountID]
	TiedCustomers List[core.PaymentProviderID]
	// savedLedger is the number of saved entries.
	savedLedger int64
}

// MaxRecent is the most referrals of one referrer in Recent. As soon as there is one
// too many, all within the window are flagged, so there are never more than
// referral.RateMost without a flag.
const MaxRecent = 10

// Recent is one of a referrer's recent referrals.
type Recent struct {
	ID string
	// Flagged is true if the referral had referral.SignalRate when it was loaded or added. It
	// keeps that signal, so no rule needs the rest of it.
	Flagged bool
}

// Facts are the data that all calls share.
type Facts struct {
	Programs []referral.Program
	// Connected is true if a payment gateway is connected, Listens if an endpoint is
	// subscribed to webhooks, and Untracking if there are deleted users who must not
	// be tracked again, and Erasing if there are deleted accounts that are recognised.
	Connected, Listens, Untracking, Erasing bool
	// Indebted is true if a reward of the tenant is a debt.
	Indebted bool
	// Blocking is true if a user is blocked whose rewards are held or cancelled.
	Blocking bool
	// LastLedger is the position of the last entry of the ledger.
	LastLedger int64
}

// Account is an account with data about its users.
type Account struct {
	referral.Account
	// Users is the number of its users.
	Users int
	// First is the user who was identified first, at FirstCreated; empty if it has no
	// users.
	First        core.UserID
	FirstCreated core.Time
}

// NewCode is a code or link that was added to a user.
type NewCode struct {
	referral.UserCode
	Owner referral.Identity
}

// Event is a webhook event. Data is its JSON.
type Event struct {
	ID   string
	Type webhook.Type
	Data []byte
}

// EarnedKey identifies the sum that a referrer has earned in a program since a time.
type EarnedKey struct {
	Program core.ProgramKey
	Who     referral.Identity
	Since   core.Time
}

// OwingKey identifies the debts of an owner in one currency, or if Credits is true, the
// credit that can settle them.
type OwingKey struct {
	reward.Owner
	Currency string
	Credits  bool
}

// OwingOf returns the key of the debts of a reward's owner in its currency.
func OwingOf(w reward.Reward) OwingKey { return OwingKey{Owner: w.Owner(), Currency: w.Offer.Currency} }

// Owing has the ids of up to reward.MaxSettled debts or credits, those that are settled
// first, and of all rewards of the owner that were changed since. More is true if there
// are more.
type Owing struct {
	Rewards []string
	More    bool
}

// TankKey identifies the fuel tank of a side of a program.
type TankKey struct {
	Program core.ProgramKey
	Side    referral.SideKey
}

// Tank has the next codes of a fuel tank. Whole is true if these are all that are
// left.
type Tank struct {
	Codes []TankCode
	Whole bool
}

// TankCode is a code of a fuel tank. Number is its position in the tank.
type TankCode struct {
	Number int64
	Code   string
}

// UsedFuel is a code of a tank, by number, and the reward that got it.
type UsedFuel struct {
	Number int64
	Reward string
}

// FuelDue is a referral of which one or more rewards wait for a code of a tank.
type FuelDue struct {
	TankKey
	Referral string
}

// New returns the state of a tenant without loaded data.
func New(tenant core.TenantAlias, now core.Time) *State { return &State{Tenant: tenant, Now: now} }

// collection is a Table, a List or a One: each that State has is in collections.
type collection interface {
	incomplete() bool
	keep()
	drop()
	saved()
}

func (s *State) collections() []collection {
	return []collection{
		&s.Accounts, &s.Users, &s.Codes, &s.Customers, &s.Referrals, &s.Referred, &s.Recent, &s.Untracked, &s.Erased, &s.EventKeys, &s.RedeemKeys,
		&s.Rewards, &s.Plans, &s.Orders, &s.Histories, &s.Sequences, &s.Tanks, &s.Earned, &s.Balances, &s.Owing, &s.NewCodes, &s.Links, &s.MadeCodes, &s.Ledger, &s.Decisions,
		&s.Events, &s.Intake, &s.UsedFuel, &s.FuelDues, &s.Replays, &s.Billing, &s.TiedCustomers, &s.Facts,
	}
}

// Incomplete reports whether calls need rows that were not loaded.
func (s *State) Incomplete() bool {
	return slices.ContainsFunc(s.collections(), collection.incomplete)
}

// Keep keeps the changes of the call that was decided.
func (s *State) Keep() {
	for _, p := range s.collections() {
		p.keep()
	}
	s.Earned = Table[EarnedKey, referral.Earned]{}
}

// Drop discards the changes of the call that was decided.
func (s *State) Drop() {
	for _, p := range s.collections() {
		p.drop()
	}
}

// Saved records that the kept changes were saved.
func (s *State) Saved() {
	for _, p := range s.collections() {
		p.saved()
	}
}

// Connected reports whether the tenant has a payment gateway.
func (s *State) Connected() bool { return s.Facts.Get().Connected }

// Indebted reports whether a reward of the tenant is a debt.
func (s *State) Indebted() bool { return s.Facts.Get().Indebted }

// SetIndebted records that a reward became a debt.
func (s *State) SetIndebted() {
	facts := s.Facts.Get()
	if facts.Indebted || s.Facts.Wanted() {
		return
	}
	facts.Indebted = true
	s.Facts.Load(facts)
}

// Listens reports whether the calls send webhooks.
func (s *State) Listens() bool { return !s.Silent && s.Facts.Get().Listens }

// Programs returns the tenant's programs, oldest first.
func (s *State) Programs() []referral.Program { return s.Facts.Get().Programs }

// Program returns the program with a key; ok is false if it is unknown.
func (s *State) Program(key core.ProgramKey) (p referral.Program, ok bool) {
	all := s.Programs()
	i := slices.IndexFunc(all, func(p referral.Program) bool { return p.Key == key })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// IsUntracked reports whether a user, or an account if who has no user, was deleted and must
// not be tracked again.
func (s *State) IsUntracked(who referral.Identity) bool {
	if !s.Facts.Get().Untracking {
		return false
	}
	is, _ := s.Untracked.Get(Who(who))
	return is
}

// Who returns an identity without the email address: the key of a user in Users.
func Who(who referral.Identity) referral.Identity {
	who.Email = ""
	return who
}

// CodeKey returns the key of a code in Codes.
func CodeKey(code core.ReferralCode) string { return code.Folded() }

// User returns a user; ok is false if it is unknown. The caller may modify the
// result.
func (s *State) User(who referral.Identity) (u referral.User, ok bool) {
	u, ok = s.Users.Get(Who(who))
	u.Codes, u.Links, u.Segments = slices.Clone(u.Codes), slices.Clone(u.Links), slices.Clone(u.Segments)
	return u, ok
}

// PutUser adds or changes a user of an existing account. It does not change the
// user's codes, links and Blocked.
func (s *State) PutUser(u referral.User) {
	who := referral.Identity{Account: u.Account, User: u.ID}
	before, known := s.Users.Get(who)
	u.Codes, u.Links, u.Blocked = before.Codes, before.Links, before.Blocked
	s.Users.Put(who, u)
	if known {
		return
	}
	account, _ := s.Accounts.Get(u.Account)
	account.Users++
	if account.First == "" || u.Created < account.FirstCreated || u.Created == account.FirstCreated && u.ID < account.First {
		account.First, account.FirstCreated = u.ID, u.Created
	}
	s.Accounts.Put(u.Account, account)
}

// PutAccount adds or changes an account.
func (s *State) PutAccount(a referral.Account) {
	before, _ := s.Accounts.Get(a.ID)
	before.Account = a
	s.Accounts.Put(a.ID, before)
}

// FirstUser returns the user of an account who was identified first; ok is false if
// it has no users.
func (s *State) FirstUser(account core.AccountID) (u referral.User, ok bool) {
	a, ok := s.Accounts.Get(account)
	if !ok || a.First == "" {
		return u, false
	}
	return s.User(referral.Identity{Account: account, User: a.First})
}

// Code returns a code, ignoring case, with the current data of its owner; ok is false
// if it does not exist.
func (s *State) Code(code core.ReferralCode) (c referral.Code, ok bool) {
	c, ok = s.Codes.Get(CodeKey(code))
	if owner := Who(c.Owner); ok && s.Users.Has(owner) {
		u, _ := s.Users.Get(owner)
		c.Owner.Email, c.FirstName, c.LastName, c.Blocked = u.Email, u.FirstName, u.LastName, u.Blocked != 0
	}
	return c, ok
}

// AddCode adds an unused code to a user.
func (s *State) AddCode(c referral.UserCode, owner referral.Identity) {
	owner = Who(owner)
	u, _ := s.User(owner)
	u.Codes = insertCode(u.Codes, c)
	s.Users.Put(owner, u)
	s.Codes.Put(CodeKey(c.Code), referral.Code{Code: c.Code, Program: c.Program, Owner: owner, Blocked: u.Blocked != 0, Created: s.Now})
	s.NewCodes.Add(NewCode{c, owner})
}

// MakeCode turns the name of a user's share link into a code too.
func (s *State) MakeCode(code core.ReferralCode) {
	c, _ := s.Code(code)
	c.LinkOnly = false
	s.Codes.Put(CodeKey(code), c)
	u, _ := s.User(c.Owner)
	u.Codes = insertCode(u.Codes, referral.UserCode{Program: c.Program, Code: c.Code})
	s.Users.Put(Who(c.Owner), u)
	s.MadeCodes.Add(c.Code)
}

// AddLink makes a name the primary share link of a user in a program. It returns
// false if the name is already a link or code of another user or program.
func (s *State) AddLink(l referral.UserCode, owner referral.Identity) bool {
	owner = Who(owner)
	c, known := s.Code(l.Code)
	if known && (Who(c.Owner) != owner || c.Program != l.Program) {
		return false
	}
	if !known {
		c = referral.Code{Code: l.Code, Program: l.Program, Owner: owner, LinkOnly: true, Created: s.Now}
		s.Codes.Put(CodeKey(l.Code), c)
	}
	u, _ := s.User(owner)
	u.Links = insertCode(u.Links, referral.UserCode{Program: c.Program, Code: c.Code})
	s.Users.Put(owner, u)
	s.Links.Add(NewCode{l, owner})
	return true
}

// insertCode returns a list of codes, one for each program and ordered by program,
// with c added or in place of the code of c's program.
func insertCode(codes []referral.UserCode, c referral.UserCode) []referral.UserCode {
	codes = slices.DeleteFunc(slices.Clone(codes), func(o referral.UserCode) bool { return o.Program == c.Program })
	at, _ := slices.BinarySearchFunc(codes, c, func(a, b referral.UserCode) int { return strings.Compare(string(a.Program), string(b.Program)) })
	return slices.Insert(codes, at, c)
}

// Referral returns a referral with the current data of its two users.
func (s *State) Referral(id string) (r referral.Referral, ok bool) {
	r, ok = s.Referrals.Get(id)
	s.show(&r.Referrer, &r.ReferrerProfile)
	s.show(&r.Referred, &r.ReferredProfile)
	return r, ok
}

func (s *State) show(who *referral.Identity, profile *referral.Profile) {
	if !s.Users.Has(Who(*who)) {
		return
	}
	if u, ok := s.Users.Get(Who(*who)); ok {
		who.Email = u.Email
		*profile = referral.Profile{FirstName: u.FirstName, LastName: u.LastName, ImageURL: u.ImageURL}
	}
}

// ReferralOf returns the referral of a referred account; ok is false if it has none.
func (s *State) ReferralOf(account core.AccountID) (r referral.Referral, ok bool) {
	id, ok := s.Referred.Get(account)
	if !ok {
		return r, false
	}
	return s.Referral(id)
}

// PutReferral adds or changes a referral.
func (s *State) PutReferral(r referral.Referral) {
	r.Modified = s.Now
	r.Moderation = r.Moderation.Stored(r.Started)
	before, known := referral.Referral{}, s.Referrals.Has(r.ID)
	if known {
		before, _ = s.Referrals.Get(r.ID)
	}
	if !known || Who(before.Referrer) != Who(r.Referrer) {
		s.Referred.Put(r.Referred.Account, r.ID)
		recent, _ := s.Recent.Get(Who(r.Referrer))
		s.Recent.Put(Who(r.Referrer), append([]Recent{{r.ID, r.Moderation.Shows(referral.SignalRate)}}, recent[:min(len(recent), MaxRecent-1)]...))
	}
	s.Referrals.Put(r.ID, r)
}

// PutReward adds or changes a reward, also within its referral and its owner's credit.
func (s *State) PutReward(w reward.Reward) {
	s.Rewards.Put(w.ID, w)
	s.addOwing(OwingOf(w), w.ID)
	if w.Referral == "" || !s.Referrals.Has(w.Referral) {
		return
	}
	r, ok := s.Referrals.Get(w.Referral)
	if !ok {
		return
	}
	before := r
	r.Attach(w)
	if before.ReferrerReward == nil != (r.ReferrerReward == nil) || before.ReferredReward == nil != (r.ReferredReward == nil) {
		r.Modified = s.Now // exports of changed referrals have it, with the reward
	}
	s.Referrals.Put(r.ID, r)
}

// addOwing adds a reward to the loaded debts and credits of its owner.
func (s *State) addOwing(key OwingKey, id string) {
	for _, key.Credits = range []bool{false, true} {
		if !s.Owing.Has(key) {
			continue
		}
		if owing, _ := s.Owing.Get(key); !slices.Contains(owing.Rewards, id) {
			owing.Rewards = append(slices.Clip(owing.Rewards), id)
			s.Owing.Put(key, owing)
		}
	}
}

// AddBalance adds change, which may be negative, to the amount of a currency that an
// owner can redeem.
func (s *State) AddBalance(owner reward.Owner, currency string, change int64) {
	purse, _ := s.Balances.Get(owner)
	s.Balances.Put(owner, purse.Add(currency, change))
}

// LedgerEnd returns the position of the last entry of the ledger.
func (s *State) LedgerEnd() int64 {
	return s.Facts.Get().LastLedger + s.savedLedger + int64(s.Ledger.Len())
}

// TookLedger returns the kept entries of the ledger and counts them as saved.
func (s *State) TookLedger() []reward.Entry {
	entries := s.Ledger.Take()
	s.savedLedger += int64(len(entries))
	return entries
}
