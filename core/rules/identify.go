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
	// Create is true if the user must not exist yet. KnownAccount is true if the
	// account must exist.
	Create, KnownAccount bool
	// CookieUser is true if the ids were generated, for a user without ids.
	CookieUser bool
	// Since is when a new user was created in another system; zero means now.
	Since core.Time
	// Visit is the browser's request, or what the shop's server forwards of it. Only
	// Cookie, GPC and DNT are used. By Policy they decide whether the referral cookies of
	// the call count. Server is true for a call with the API key.
	Visit  link.Visit
	Policy link.Policy
	Server bool
	// IP is the address of the user's browser; empty if the call is from a server,
	// whose address would be that of all its users.
	IP string
	// Share builds the share links of the response.
	Share link.Share
}

// Identified is the result of an identification.
type Identified struct {
	wire.UserInfo
	// Created is true if the user is new.
	Created bool
	// UnknownCodes is the number of codes in the call that are unknown or of a
	// blocked user. It does not count the code in the attribution cookie, which is
	// signed.
	UnknownCodes int
}

// BringsCodes reports whether the call has codes that the caller may have guessed: in
// its body, or in a cookie that is not signed.
func (in Identification) BringsCodes() bool {
	return len(in.named()) > 0 || link.FindSquatchCookie(in.cookies()) != ""
}

// cookies returns the Cookie header of the call. It is empty if referral cookies in it
// do not count.
func (in Identification) cookies() string {
	place := link.InBrowser
	if in.Server {
		place = link.InServer
	}
	if !in.Policy.Counts(in.Visit, place) {
		return ""
	}
	return in.Visit.Cookie
}

// named returns the claims of the call's body. Those of its field cookies are left out
// if they do not count.
func (in Identification) named() []referral.Claim {
	claims := slices.Clone(in.Update.Claims)
	place := link.InScript
	if in.Server {
		place = link.InServer
	}
	if in.Policy.Counts(in.Visit, place) {
		return claims
	}
	return slices.DeleteFunc(claims, func(c referral.Claim) bool { return c.Source == referral.SourceBody })
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

// WantIdentify requests the rows that an identification needs first.
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

// WantMore requests the further rows that an identification needs. Call it when the
// rows of WantIdentify are loaded, which decide what these are.
func (r *Rules) WantMore(s *state.State, in Identification) {
	u := in.Update
	who := referral.Identity{Account: u.Account, User: u.ID}
	a, known := s.Accounts.Get(u.Account)
	if !known {
		// An account that does not exist has no users.
		s.Users.LoadNone(who)
	}
	s.Users.Want(who)
	s.IsUntracked(who)
	if a.Standing.Referral != referral.None && a.Standing.Referral != "" {
		s.Referred.Want(u.Account)
		return
	}
	claims := r.claims(s, in)
	if len(claims) > 0 {
		wasErased(s, u.Account)
	}
	for _, c := range claims {
		if c.Fault != "" {
			continue
		}
		if code, known := s.Codes.Get(state.CodeKey(c.Code)); known {
			s.Users.Want(state.Who(code.Owner))
			s.Recent.Want(state.Who(code.Owner))
			s.Referred.Want(code.Owner.Account)
		}
	}
}

// Identify updates a user and their account. At most one of the codes in the call
// attributes, in the order of preference (spec 3.1.7).
func (r *Rules) Identify(s *state.State, in Identification) (out Identified, err error) {
	if s.Connected() {
		// Payments are reported by the gateway, not by callers (clients 4.2.1).
		in.Update.Status, in.Update.Reported = nil, nil
	}
	claims := r.claims(s, in)
	if in.Update.OfReferral && hasOnlyUnknownCodes(s, in.Update.Account, claims) {
		in.Update.Status = nil
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
			Now: s.Now, Identify: true, NewUser: !who.known, Claims: claims,
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
		// Read it again, with the updated user.
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

// hasOnlyUnknownCodes reports whether a call about an account that is not referred has codes, and
// no user owns one of them. Then no referral has converted, whatever the call says: a payment
// without a referral would prevent the referral when the call comes again, after the referrer.
func hasOnlyUnknownCodes(s *state.State, account core.AccountID, claims []referral.Claim) bool {
	a, _ := s.Accounts.Get(account)
	referred := a.Standing.Referral != referral.None && a.Standing.Referral != ""
	return !referred && len(claims) > 0 && !slices.ContainsFunc(claims, func(c referral.Claim) bool {
		if c.Fault != "" {
			return false // and not loaded
		}
		_, known := s.Code(c.Code)
		return known
	})
}

// referralOf returns the referral of an account, or nil.
func referralOf(s *state.State, account core.AccountID) *referral.Referral {
	if ref, ok := s.ReferralOf(account); ok {
		return &ref
	}
	return nil
}

// userChange is a user after the update of a call.
type userChange struct {
	after referral.User
	// known is true if the user existed before.
	known bool
}

// change returns the user with the update of the call.
func (r *Rules) change(s *state.State, in Identification) (who userChange, err error) {
	u := in.Update
	identity := referral.Identity{Account: u.Account, User: u.ID}
	var before referral.User
	before, who.known = s.User(identity)
	if who.known && in.Create {
		return who, &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"}
	}
	if err := referral.CheckCreated(in.Since, s.Now); err != nil {
		return who, err
	}
	if !who.known {
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
		return who, core.Invalid("segments", "must not have more than 100 segments for a user; remove some")
	}
	who.after.CustomFields, err = wire.MergeCustomFields(who.after.CustomFields, u.CustomFields)
	return who, err
}

// mayBeNew returns an error if a user must not be created: the user was deleted and
// must not be tracked, or the account is full.
func mayBeNew(s *state.State, who referral.Identity) error {
	if s.IsUntracked(who) {
		return untracked("user")
	}
	if account, _ := s.Accounts.Get(who.Account); account.Users >= referral.MaxUsers {
		return &core.Error{Code: core.CodeInvalid, Field: "accountId", RS: "RS013", Message: "has 1000 users, which is the limit"}
	}
	return nil
}

// keepUser stores a user, adds the codes and share links, and returns the user with
// all codes and links.
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

// accountOf returns the user's account with the update of the call.
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

// TieCustomer returns the account with its customer at the payment gateway. An
// account's customer cannot be changed, and two accounts cannot have the same one.
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

// claims returns the codes of the call and of its cookies, most preferred first. The
// cookies of a visitor who refused are left out (clients 1.8.8).
func (r *Rules) claims(s *state.State, in Identification) []referral.Claim {
	claims, cookies := in.named(), in.cookies()
	if text := link.FindCookie(s.Tenant, cookies); text != "" {
		claims = append(claims, r.cookieClaim(s, text, in.Share))
	}
	if text := link.FindSquatchCookie(cookies); text != "" {
		claims = append(claims, wire.CookieClaims(s.Tenant, referral.SourceThirdParty, text)...)
	}
	slices.SortStableFunc(claims, func(a, b referral.Claim) int { return cmp.Compare(a.Source.Rank(), b.Source.Rank()) })
	return claims
}

// cookieClaim returns the claim of the attribution cookie.
func (r *Rules) cookieClaim(s *state.State, text string, share link.Share) referral.Claim {
	claim := referral.Claim{Source: referral.SourceCookie}
	visit, err := link.ParseAttribution(r.Keys.Cookie(s.Tenant), text)
	if err == nil {
		claim.Code, claim.ShareMedium = visit.Code, visit.ShareMedium
		if share.Origin != "" {
			claim.ShareLink = share.URL(visit.Code) + link.Mediums(link.Engagement(visit.EngagementMedium), link.ShareMedium(visit.ShareMedium))
		}
		// The cookie of a deleted program is expired: its CookieLife is zero.
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
