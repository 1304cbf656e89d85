// Package state holds what is known of a tenant while calls are decided, and what
// they change: the unit of work between a database and the rules.
//
// The store loads what calls want, core/rules decides the calls one after the other
// on the State alone, and the store saves what they changed. A call that asks for
// what was not loaded is incomplete: nothing of it is kept, what it wanted is loaded,
// and it is decided again. A call that is refused leaves nothing either.
package state

import (
	"slices"
	"strings"

	"kith/core"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
	"kith/core/wire"
)

// State is what is known of one tenant at one time. Make it with New; it is not safe
// for concurrent use.
type State struct {
	Tenant core.TenantAlias
	// Now is the time of all calls.
	Now core.Time
	// Silent is true when no webhook is sent for what the calls do.
	Silent bool

	// Facts are what is the same for all calls.
	Facts One[Facts]

	Accounts Table[core.AccountID, Account]
	// Users are by account and id, without the address. Their codes and links are
	// changed by AddCode and AddLink, and what blocks them is not changed here.
	Users Table[referral.Identity, referral.User]
	// Codes are by CodeKey.
	Codes Table[string, referral.Code]
	// Customers are the accounts of customers at the payment gateway.
	Customers Table[core.PaymentProviderID, core.AccountID]
	// Referrals are by id, Referred are the ids of the referrals of accounts.
	Referrals Table[string, referral.Referral]
	Referred  Table[core.AccountID, string]
	// Recent are the ids of a referrer's referrals that began within
	// referral.RateWindow, the latest first, at most MaxRecent.
	Recent Table[referral.Identity, []string]
	// Untracked are the users who were deleted, not to be tracked again.
	Untracked Table[referral.Identity, bool]
	// EventKeys are the idempotency keys of event calls within the time in which
	// they count.
	EventKeys Table[core.IdempotencyKey, bool]
	// RedeemKeys are those of redemptions.
	RedeemKeys Table[core.IdempotencyKey, bool]
	// Rewards are by id, without their redemptions.
	Rewards Table[string, reward.Reward]
	// Tanks have the next codes of fuel tanks.
	Tanks Table[TankKey, Tank]
	// Balances are what owners can use; see AddBalance.
	Balances Table[reward.Owner, int64]
	// Earned are sums that hold for one call: they are loaded anew for the next.
	Earned Table[EarnedKey, referral.Earned]

	NewCodes  List[NewCode]
	Links     List[NewCode]
	MadeCodes List[core.ReferralCode]
	Ledger    List[reward.Entry]
	Decisions List[wire.Decision]
	Events    List[Event]
	Intake    List[event.Batch]
	UsedFuel  List[UsedFuel]
	FuelDues  List[FuelDue]
	// Billing are the accounts whose discounts at the payment gateway are to be
	// brought in line, TiedCustomers those whose subscriptions are to be read since
	// an account was tied to them.
	Billing       List[core.AccountID]
	TiedCustomers List[core.PaymentProviderID]
	// savedLedger is how many entries were saved.
	savedLedger int64
}

// MaxRecent bounds how many referrals of one referrer are looked at. As soon as one
// too many comes, all within the time are flagged, so that the unflagged ones are
// never more than referral.RateMost.
const MaxRecent = 10

// Facts are what is the same for all calls.
type Facts struct {
	Programs []referral.Program
	// Connected is true when a payment gateway is connected, Listens when an
	// endpoint is subscribed to webhooks, and Untracking when there are users who
	// were deleted, not to be tracked again.
	Connected, Listens, Untracking bool
	// LastLedger is the place of the last entry of the ledger.
	LastLedger int64
}

// Account is an account and what is known of its users.
type Account struct {
	referral.Account
	// Users is how many it has.
	Users int
	// First is the user who was identified first, at FirstCreated; empty: none.
	First        core.UserID
	FirstCreated core.Time
}

// NewCode is a code of a user.
type NewCode struct {
	referral.UserCode
	Owner referral.Identity
}

// Event is a webhook event: data is its JSON.
type Event struct {
	ID   string
	Type webhook.Type
	Data []byte
}

// EarnedKey names what a referrer has earned in a program since a time.
type EarnedKey struct {
	Program core.ProgramKey
	Who     referral.Identity
	Since   core.Time
}

// TankKey names the fuel tank of a side of a program.
type TankKey struct {
	Program core.ProgramKey
	Side    referral.SideKey
}

// Tank is the next codes of a fuel tank; Whole is true when there are no more.
type Tank struct {
	Codes []TankCode
	Whole bool
}

// TankCode is a code of a fuel tank, by its number.
type TankCode struct {
	Number int64
	Code   string
}

// UsedFuel says which reward has got a code of a tank.
type UsedFuel struct {
	Number int64
	Reward string
}

// FuelDue is a referral that waits for a code.
type FuelDue struct {
	TankKey
	Referral string
}

// New returns the state of a tenant of which nothing is known.
func New(tenant core.TenantAlias, now core.Time) *State { return &State{Tenant: tenant, Now: now} }

// part is a Table or a List.
type part interface {
	incomplete() bool
	keep()
	drop()
}

func (s *State) parts() []part {
	return []part{
		&s.Accounts, &s.Users, &s.Codes, &s.Customers, &s.Referrals, &s.Referred, &s.Recent, &s.Untracked, &s.EventKeys, &s.RedeemKeys,
		&s.Rewards, &s.Tanks, &s.Earned, &s.Balances, &s.NewCodes, &s.Links, &s.MadeCodes, &s.Ledger, &s.Decisions,
		&s.Events, &s.Intake, &s.UsedFuel, &s.FuelDues, &s.Billing, &s.TiedCustomers, &s.Facts,
	}
}

// Incomplete reports whether something is wanted that was not loaded.
func (s *State) Incomplete() bool {
	return slices.ContainsFunc(s.parts(), part.incomplete)
}

// Keep keeps what the call that was decided has changed.
func (s *State) Keep() {
	for _, p := range s.parts() {
		p.keep()
	}
	s.Earned = Table[EarnedKey, referral.Earned]{}
}

// Drop forgets what the call that was decided has changed.
func (s *State) Drop() {
	for _, p := range s.parts() {
		p.drop()
	}
}

// Connected reports whether the tenant has a payment gateway.
func (s *State) Connected() bool { return s.Facts.Get().Connected }

// Listens reports whether webhooks are sent for what the calls do.
func (s *State) Listens() bool { return !s.Silent && s.Facts.Get().Listens }

// Programs returns the tenant's programs, the first first.
func (s *State) Programs() []referral.Program { return s.Facts.Get().Programs }

// Program returns a program; ok is false when there is none of that key.
func (s *State) Program(key core.ProgramKey) (p referral.Program, ok bool) {
	all := s.Programs()
	i := slices.IndexFunc(all, func(p referral.Program) bool { return p.Key == key })
	if i < 0 {
		return p, false
	}
	return all[i], true
}

// IsUntracked reports whether a user was deleted, not to be tracked again.
func (s *State) IsUntracked(who referral.Identity) bool {
	if !s.Facts.Get().Untracking {
		return false
	}
	is, _ := s.Untracked.Get(Who(who))
	return is
}

// Who is an identity without the address, the key of a user.
func Who(who referral.Identity) referral.Identity {
	who.Email = ""
	return who
}

// CodeKey is the key of a code: its case does not count.
func CodeKey(code core.ReferralCode) string { return strings.ToLower(string(code)) }

// User returns a user; ok is false when there is none. What it returns may be
// changed.
func (s *State) User(who referral.Identity) (u referral.User, ok bool) {
	u, ok = s.Users.Get(Who(who))
	u.Codes, u.Links, u.Segments = slices.Clone(u.Codes), slices.Clone(u.Links), slices.Clone(u.Segments)
	return u, ok
}

// PutUser changes or adds a user of an account that there is, but for the codes and
// what blocks the user.
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

// PutAccount changes or adds an account.
func (s *State) PutAccount(a referral.Account) {
	before, _ := s.Accounts.Get(a.ID)
	before.Account = a
	s.Accounts.Put(a.ID, before)
}

// FirstUser returns the user of an account who was identified first; ok is false
// when there is none.
func (s *State) FirstUser(account core.AccountID) (u referral.User, ok bool) {
	a, ok := s.Accounts.Get(account)
	if !ok || a.First == "" {
		return u, false
	}
	return s.User(referral.Identity{Account: account, User: a.First})
}

// Code returns a code, whatever its case, with its owner as they are now; ok is
// false when there is none.
func (s *State) Code(code core.ReferralCode) (c referral.Code, ok bool) {
	c, ok = s.Codes.Get(CodeKey(code))
	if owner := Who(c.Owner); ok && s.Users.Has(owner) {
		u, _ := s.Users.Get(owner)
		c.Owner.Email, c.FirstName, c.LastName, c.Blocked = u.Email, u.FirstName, u.LastName, u.Blocked != 0
	}
	return c, ok
}

// AddCode gives a user a code that is free.
func (s *State) AddCode(c referral.UserCode, owner referral.Identity) {
	owner = Who(owner)
	u, _ := s.User(owner)
	u.Codes = placed(u.Codes, c)
	s.Users.Put(owner, u)
	s.Codes.Put(CodeKey(c.Code), referral.Code{Code: c.Code, Program: c.Program, Owner: owner, Blocked: u.Blocked != 0, Created: s.Now})
	s.NewCodes.Add(NewCode{c, owner})
}

// MakeCode makes the name of a user's share link a code as well.
func (s *State) MakeCode(code core.ReferralCode) {
	c, _ := s.Code(code)
	c.LinkOnly = false
	s.Codes.Put(CodeKey(code), c)
	u, _ := s.User(c.Owner)
	u.Codes = placed(u.Codes, referral.UserCode{Program: c.Program, Code: c.Code})
	s.Users.Put(Who(c.Owner), u)
	s.MadeCodes.Add(c.Code)
}

// AddLink makes a name the primary share link of a user in a program; false means
// that it is the name of another link or code.
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
	u.Links = placed(u.Links, referral.UserCode{Program: c.Program, Code: c.Code})
	s.Users.Put(owner, u)
	s.Links.Add(NewCode{l, owner})
	return true
}

// placed is a list of codes, one for each program in their order, with one more or
// in place of its program's.
func placed(codes []referral.UserCode, c referral.UserCode) []referral.UserCode {
	codes = slices.DeleteFunc(slices.Clone(codes), func(o referral.UserCode) bool { return o.Program == c.Program })
	at, _ := slices.BinarySearchFunc(codes, c, func(a, b referral.UserCode) int { return strings.Compare(string(a.Program), string(b.Program)) })
	return slices.Insert(codes, at, c)
}

// Referral returns a referral, with its two users as they are now.
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

// ReferralOf returns the referral of an account; ok is false when it has none.
func (s *State) ReferralOf(account core.AccountID) (r referral.Referral, ok bool) {
	id, ok := s.Referred.Get(account)
	if !ok {
		return r, false
	}
	return s.Referral(id)
}

// PutReferral changes a referral, or adds it to its referrer's.
func (s *State) PutReferral(r referral.Referral) {
	r.Modified = s.Now
	r.Moderation = r.Moderation.Stored(r.Started)
	if !s.Referrals.Has(r.ID) {
		s.Referred.Put(r.Referred.Account, r.ID)
		recent, _ := s.Recent.Get(Who(r.Referrer))
		s.Recent.Put(Who(r.Referrer), append([]string{r.ID}, recent[:min(len(recent), MaxRecent-1)]...))
	}
	s.Referrals.Put(r.ID, r)
}

// PutReward changes a reward, or adds it, and shows it with its referral.
func (s *State) PutReward(w reward.Reward) {
	s.Rewards.Put(w.ID, w)
	if w.Referral == "" || !s.Referrals.Has(w.Referral) {
		return
	}
	r, ok := s.Referrals.Get(w.Referral)
	if !ok {
		return
	}
	r.Attach(w)
	s.Referrals.Put(r.ID, r)
}

// AddBalance adds to what an owner can use.
func (s *State) AddBalance(owner reward.Owner, change int64) {
	available, _ := s.Balances.Get(owner)
	s.Balances.Put(owner, available+change)
}

// LedgerEnd is the place of the last entry of the ledger.
func (s *State) LedgerEnd() int64 {
	return s.Facts.Get().LastLedger + s.savedLedger + int64(s.Ledger.Len())
}

// TookLedger returns the entries that were kept, which were saved.
func (s *State) TookLedger() []reward.Entry {
	entries := s.Ledger.Take()
	s.savedLedger += int64(len(entries))
	return entries
}
