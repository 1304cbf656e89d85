package rules

import (
	"cmp"
	"slices"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// Identification is a call that identifies a user.
type Identification struct {
	Update referral.UserUpdate
	// Create is true when the user must not exist yet, and KnownAccount when the
	// account must.
	Create, KnownAccount bool
	// CookieUser is true when the ids were drawn for a user who came without.
	CookieUser bool
	// Since is when a user that is new here came about elsewhere; zero is now.
	Since core.Time
	// Cookie is the value of the browser's Cookie header, or empty.
	Cookie string
	// IP is the address of the user's browser; empty when the call is a
	// server's, which would be the address of all its users.
	IP string
	// Share makes the share links that the answer shows.
	Share link.Share
}

// Identified is a user as an identification left them.
type Identified struct {
	wire.UserInfo
	// Created is true when the user was not known before.
	Created bool
	// UnknownCodes is how many codes the call brought that are unknown or a blocked
	// user's, without that of Kith's own cookie, which is signed.
	UnknownCodes int
}

// BringsCodes reports whether the call brings codes that the caller may have made up,
// in its body or in a cookie that is not signed.
func (in Identification) BringsCodes() bool {
	return len(in.Update.Claims) > 0 || link.FindSquatchCookie(in.Cookie) != ""
}

// unknownCodes counts Identified.UnknownCodes.
func unknownCodes(verdicts []referral.Verdict) (n int) {
	for _, v := range verdicts {
		if v.Claim.Source != referral.SourceCookie && (v.Rule == referral.RuleUnknownCode || v.Rule == referral.RuleBlocked) {
			n++
		}
	}
	return n
}

// WantIdentify has loaded what an identification needs first.
func (r *Rules) WantIdentify(s *state.State, in Identification) {
	u := in.Update
	s.Facts.Want()
	s.Accounts.Want(u.Account)
	for _, c := range u.Codes {
		s.Codes.Want(state.CodeKey(c.Code))
	}
	for _, c := range r.claims(s, in) {
		if c.Fault == "" {
			s.Codes.Want(state.CodeKey(c.Code))
		}
	}
}

// WantMore has loaded what an identification needs besides, as far as that shows in
// what WantIdentify had loaded.
func (r *Rules) WantMore(s *state.State, in Identification) {
	u := in.Update
	who := referral.Identity{Account: u.Account, User: u.ID}
	a, known := s.Accounts.Get(u.Account)
	if !known {
		// An account that is not there has no users.
		s.Users.LoadNone(who)
	}
	s.Users.Want(who)
	s.IsUntracked(who)
	if a.Standing.Referral != referral.None && a.Standing.Referral != "" {
		s.Referred.Want(u.Account)
		return
	}
	for _, c := range r.claims(s, in) {
		if c.Fault != "" {
			continue
		}
		if code, known := s.Codes.Get(state.CodeKey(c.Code)); known {
			s.Users.Want(state.Who(code.Owner))
			s.Recent.Want(state.Who(code.Owner))
		}
	}
}

// Identify stores what is said of a user and of their account. The codes that come
// with the call attribute in the order of preference, at most one of them (spec,
// States and transitions).
func (r *Rules) Identify(s *state.State, in Identification) (out Identified, err error) {
	if s.Connected() {
		// Who has paid is the gateway's to say (reference, 4.2).
		in.Update.Status, in.Update.Reported = nil, nil
	}
	who, err := r.change(s, in)
	if err != nil {
		return out, err
	}
	account, err := r.accountOf(s, in)
	if err != nil {
		return out, err
	}
	done, err := r.settle(s, settlement{
		account: account, user: who.after,
		command: referral.Command{
			Now: s.Now, Identify: true, NewUser: !who.known, Claims: r.claims(s, in),
			Paid: in.Update.Status != nil && *in.Update.Status == referral.Paid,
		},
	})
	if err != nil {
		return out, err
	}
	user, err := r.keepUser(s, who, in)
	if err != nil {
		return out, err
	}
	if done.Moved {
		// With what the call says of its user.
		done.Referral = referralOf(s, user.Account)
	}
	out = Identified{Created: !who.known, UnknownCodes: unknownCodes(done.Verdicts), UserInfo: wire.UserInfo{
		User: user, Account: done.Account, Share: in.Share,
		ReferredBy: wire.ReferredBy{Referral: done.Referral, Newly: done.Newly},
	}}
	if out.Created {
		r.emit(s, webhook.UserCreated, func() []byte { return wire.UserCreated(out.UserInfo) })
	}
	return out, nil
}

// referralOf is the referral of an account, or nil.
func referralOf(s *state.State, account core.AccountID) *referral.Referral {
	if ref, ok := s.ReferralOf(account); ok {
		return &ref
	}
	return nil
}

// userChange is a user before and after a call.
type userChange struct {
	after referral.User
	// known is true when the user was known before.
	known bool
}

// change returns the user with what the call says of them.
func (r *Rules) change(s *state.State, in Identification) (who userChange, err error) {
	u := in.Update
	identity := referral.Identity{Account: u.Account, User: u.ID}
	var before referral.User
	before, who.known = s.User(identity)
	switch {
	case who.known && in.Create:
		return who, &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"}
	case in.Since > s.Now:
		return who, core.Invalid("dateCreated", "must not be in the future")
	case !who.known:
		before = referral.NewUser(u.Account, u.ID, cmp.Or(in.Since, s.Now))
		if err := mayBeNew(s, identity); err != nil {
			return who, err
		}
	}
	who.after = u.Apply(before).SeenAt(in.IP)
	if in.CookieUser {
		who.after.CookieID = string(u.ID)
	}
	if len(who.after.Segments) > referral.MaxSegments {
		return who, core.Invalid("segments", "the user would be in more than 100 segments")
	}
	who.after.CustomFields, err = wire.MergeCustomFields(who.after.CustomFields, u.CustomFields)
	return who, err
}

// mayBeNew refuses a new user who was deleted for good, or for whom the account
// has no place.
func mayBeNew(s *state.State, who referral.Identity) error {
	if s.IsUntracked(who) {
		return &core.Error{Code: core.CodeForbidden, RS: "RS050", Message: "this user was deleted, not to be tracked again"}
	}
	if account, _ := s.Accounts.Get(who.Account); account.Users >= referral.MaxUsers {
		return &core.Error{Code: core.CodeInvalid, Field: "accountId", RS: "RS013", Message: "has 1000 users already, which is the most"}
	}
	return nil
}

// keepUser stores a user and the codes and share links that they are to own, and
// returns the user with those that they own then.
func (r *Rules) keepUser(s *state.State, who userChange, in Identification) (referral.User, error) {
	s.PutUser(who.after)
	identity := referral.Identity{Account: who.after.Account, User: who.after.ID}
	if err := r.giveCodes(s, identity, in.Update.Codes); err != nil {
		return who.after, err
	}
	if err := giveLinks(s, identity, in.Update.Links, in.Share); err != nil {
		return who.after, err
	}
	user, _ := s.User(identity)
	return user, nil
}

// accountOf returns the user's account with what the call says of it.
func (r *Rules) accountOf(s *state.State, in Identification) (referral.Account, error) {
	u := in.Update
	stored, known := s.Accounts.Get(u.Account)
	account := stored.Account
	switch {
	case !known && in.KnownAccount:
		return account, UnknownAccount()
	case !known:
		account = referral.NewAccount(u.Account, s.Now)
	}
	account = account.Report(u.Reported)
	if u.Status != nil {
		account.Status = *u.Status
	}
	if u.PaymentProviderID == nil {
		return account, nil
	}
	return TieCustomer(s, account, *u.PaymentProviderID)
}

// TieCustomer returns the account with its customer at the payment gateway. That is
// set once, and to no other account's.
func TieCustomer(s *state.State, account referral.Account, id core.PaymentProviderID) (referral.Account, error) {
	switch account.PaymentProviderID {
	case id:
		return account, nil
	case "":
	default:
		return account, &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS019",
			Message: "is set already and cannot be changed",
		}
	}
	if _, taken := s.Customers.Get(id); taken {
		return account, &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS029",
			Message: "belongs to another account",
		}
	}
	account.PaymentProviderID = id
	s.Customers.Put(id, account.ID)
	s.TiedCustomers.Add(id)
	return account, nil
}

// claims are the codes of the call and of the cookies that came with it, most
// preferred first.
func (r *Rules) claims(s *state.State, in Identification) []referral.Claim {
	claims := slices.Clone(in.Update.Claims)
	if text := link.FindCookie(s.Tenant, in.Cookie); text != "" {
		claims = append(claims, r.cookieClaim(s, text, in.Share))
	}
	if text := link.FindSquatchCookie(in.Cookie); text != "" {
		claims = append(claims, wire.CookieClaims(s.Tenant, referral.SourceThirdParty, text)...)
	}
	slices.SortStableFunc(claims, func(a, b referral.Claim) int { return cmp.Compare(a.Source.Rank(), b.Source.Rank()) })
	return claims
}

// cookieClaim is what the attribution cookie claims.
func (r *Rules) cookieClaim(s *state.State, text string, share link.Share) referral.Claim {
	claim := referral.Claim{Source: referral.SourceCookie}
	visit, err := link.ParseAttribution(r.Keys.Cookie(s.Tenant), text)
	if err == nil {
		claim.Code, claim.ShareMedium = visit.Code, visit.ShareMedium
		if share.Origin != "" {
			claim.ShareLink = share.URL(visit.Code) + link.Mediums(link.Engagement(visit.EngagementMedium), link.ShareMedium(visit.ShareMedium))
		}
		// A program that is gone gives the cookie no life.
		program, _ := s.Program(visit.Program)
		err = visit.Fresh(program.CookieLife, s.Now)
	}
	switch err {
	case nil:
	case link.ErrCookieForged:
		claim.Fault = referral.RuleCookieForged
	case link.ErrCookieExpired:
		claim.Fault = referral.RuleCookieExpired
	default:
		claim.Fault = referral.RuleCookieForm
	}
	return claim
}
