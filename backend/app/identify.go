package app

import (
	"cmp"
	"context"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
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
	// Share makes the share links that are told of; see Caller.Share.
	Share link.Share
}

// Identified is a user as an identification left them.
type Identified struct {
	wire.UserInfo
	// Created is true when the user was not known before.
	Created bool
}

// Identify stores what is told of a user and of their account. The codes that
// come with the call attribute in the order of preference, at most one of them
// (spec, States and transitions).
func (e *Engine) Identify(ctx context.Context, tenant core.TenantAlias, in Identification) (out Identified, err error) {
	err = e.DB.Write(ctx, e.Now(), func(tx *store.Tx) error {
		out, err = e.identify(ctx, tx, tenant, in)
		return err
	})
	return out, err
}

func (e *Engine) identify(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification) (out Identified, err error) {
	if in.Update.Status != nil || in.Update.Reported != nil {
		// Who has paid is the gateway's to tell (reference, 4.2).
		connected, err := tx.Connected(ctx, tenant)
		if err != nil {
			return out, err
		}
		if connected {
			in.Update.Status, in.Update.Reported = nil, nil
		}
	}
	who, err := e.change(ctx, tx, tenant, in)
	if err != nil {
		return out, err
	}
	account, err := e.accountOf(ctx, tx, tenant, in)
	if err != nil {
		return out, err
	}
	claims, err := e.claims(ctx, tx, tenant, in)
	if err != nil {
		return out, err
	}
	done, err := settlement{
		e: e, tx: tx, tenant: tenant, account: account, user: who.after,
		command: referral.Command{
			Now: tx.Now, Identify: true, NewUser: !who.known, Claims: claims,
			Paid: in.Update.Status != nil && *in.Update.Status == referral.Paid,
		},
	}.run(ctx)
	if err != nil {
		return out, err
	}
	user, err := e.keepUser(ctx, tx, tenant, who, in)
	if err == nil && done.Moved {
		// As it will be read, with what the call says of its user.
		done.Referral, err = tx.ReferralOf(ctx, tenant, user.Account)
	}
	out = Identified{Created: !who.known, UserInfo: wire.UserInfo{
		User: user, Account: done.Account, Share: in.Share,
		ReferredBy: wire.ReferredBy{Referral: done.Referral, Newly: done.Newly},
	}}
	if err != nil || who.known {
		return out, err
	}
	if listens, err := tx.Listens(ctx, tenant); err != nil || !listens {
		return out, err
	}
	return out, e.emit(ctx, tx, tenant, webhook.UserCreated, wire.UserCreated(out.UserInfo))
}

// userChange is a user before and after a call.
type userChange struct {
	before, after referral.User
	// known is true when the user was known before.
	known bool
}

// change returns the user with what the call tells of them.
func (e *Engine) change(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification) (who userChange, err error) {
	u := in.Update
	who.before, who.known, err = tx.User(ctx, tenant, u.Account, u.ID)
	switch {
	case err != nil:
		return who, err
	case who.known && in.Create:
		return who, &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"}
	case in.Since > tx.Now:
		return who, core.Invalid("dateCreated", "must not be in the future")
	case !who.known:
		who.before = referral.NewUser(u.Account, u.ID, cmp.Or(in.Since, tx.Now))
		if err := e.mayCome(ctx, tx, tenant, u.Account, u.ID); err != nil {
			return who, err
		}
	}
	who.after = u.Apply(who.before).SeenAt(in.IP)
	if in.CookieUser {
		who.after.CookieID = string(u.ID)
	}
	if len(who.after.Segments) > referral.MaxSegments {
		return who, core.Invalid("segments", "the user would be in more than 100 segments")
	}
	who.after.CustomFields, err = wire.MergeCustomFields(who.after.CustomFields, u.CustomFields)
	return who, err
}

// mayCome refuses a new user who was deleted for good, or for whom the account
// has no place.
func (e *Engine) mayCome(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, id core.UserID) error {
	untracked, err := tx.DoNotTrack(ctx, tenant, func() string { return e.Keys.Identity(tenant, account, id) })
	if err != nil {
		return err
	}
	if untracked {
		return &core.Error{Code: core.CodeForbidden, RS: "RS050", Message: "this user was deleted, not to be tracked again"}
	}
	count, err := tx.UserCount(ctx, tenant, account)
	if err == nil && count >= referral.MaxUsers {
		err = &core.Error{Code: core.CodeInvalid, Field: "accountId", RS: "RS013", Message: "has 1000 users already, which is the most"}
	}
	return err
}

// keepUser stores a user, what they are found by and the codes and share links that
// they are to own, and returns the user with those that they own then.
func (e *Engine) keepUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, who userChange, in Identification) (referral.User, error) {
	user := who.after
	// A page identifies on every load, and its user seldom changes.
	if !who.known || !who.before.Same(user) {
		if err := tx.PutUser(ctx, tenant, user); err != nil {
			return user, err
		}
	}
	if !who.known || !slices.Equal(who.before.Terms(), user.Terms()) {
		if err := tx.PutTerms(ctx, tenant, user); err != nil {
			return user, err
		}
	}
	given, err := e.giveCodes(ctx, tx, tenant, user, in.Update.Codes)
	if err != nil {
		return user, err
	}
	linked, err := e.giveLinks(ctx, tx, tenant, user, in.Update.Links, in.Share)
	if err != nil || !given && !linked {
		return user, err
	}
	user, _, err = tx.User(ctx, tenant, user.Account, user.ID)
	return user, err
}

// accountOf returns the user's account with what the call tells of it.
func (e *Engine) accountOf(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification) (referral.Account, error) {
	u := in.Update
	account, known, err := tx.Account(ctx, tenant, u.Account)
	switch {
	case err != nil:
		return account, err
	case !known && in.KnownAccount:
		return account, unknownAccount()
	case !known:
		account = referral.NewAccount(u.Account, tx.Now)
	}
	account = account.Report(u.Reported)
	if u.Status != nil {
		account.Status = *u.Status
	}
	if u.PaymentProviderID == nil {
		return account, nil
	}
	return tieProvider(ctx, tx, tenant, account, *u.PaymentProviderID)
}

// claims are the codes of the call and of the cookies that came with it, most
// preferred first.
func (e *Engine) claims(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification) ([]referral.Claim, error) {
	claims := slices.Clone(in.Update.Claims)
	if text := link.FindCookie(tenant, in.Cookie); text != "" {
		own, err := e.cookieClaim(ctx, tx, tenant, text, in.Share)
		if err != nil {
			return nil, err
		}
		claims = append(claims, *own)
	}
	if text := link.FindSquatchCookie(in.Cookie); text != "" {
		claims = append(claims, wire.CookieClaims(tenant, referral.SourceThirdParty, text)...)
	}
	slices.SortStableFunc(claims, func(a, b referral.Claim) int { return cmp.Compare(a.Source.Rank(), b.Source.Rank()) })
	return claims, nil
}

// cookieClaim is what the attribution cookie claims.
func (e *Engine) cookieClaim(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, text string, share link.Share) (*referral.Claim, error) {
	claim := &referral.Claim{Source: referral.SourceCookie}
	visit, err := link.ParseAttribution(e.Keys.Cookie(tenant), text)
	if err == nil {
		claim.Code, claim.ShareMedium = visit.Code, visit.ShareMedium
		if share.Origin != "" {
			claim.ShareLink = share.URL(visit.Code) + link.Mediums(link.Engagement(visit.EngagementMedium), link.ShareMedium(visit.ShareMedium))
		}
		life, lifeErr := e.cookieLife(ctx, tx, tenant, visit.Program)
		if lifeErr != nil {
			return nil, lifeErr
		}
		err = visit.Fresh(life, tx.Now)
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
	return claim, nil
}

// cookieLife is the life that the cookie's program gives it; a program that is
// gone gives it none.
func (e *Engine) cookieLife(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, key core.ProgramKey) (core.Time, error) {
	program, err := tx.Program(ctx, tenant, key)
	if isNotFound(err) {
		return 0, nil
	}
	return program.CookieLife, err
}
