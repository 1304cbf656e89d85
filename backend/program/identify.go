package program

import (
	"cmp"
	"context"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// Identification is a call that identifies a user.
type Identification struct {
	Update referral.UserUpdate
	// Create is true when the user must not exist yet.
	Create bool
	// Cookie is the value of the browser's Cookie header, or empty.
	Cookie string
}

// Identified is a user as an identification left them.
type Identified struct {
	User       referral.User
	Account    referral.Account
	ReferredBy wire.ReferredBy
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
	user, known, err := e.userOf(ctx, tx, tenant, in)
	if err != nil {
		return out, err
	}
	account, err := e.accountOf(ctx, tx, tenant, in.Update)
	if err != nil {
		return out, err
	}
	claims, err := e.claims(ctx, tx, tenant, in, user)
	if err != nil {
		return out, err
	}
	done, err := settlement{
		e: e, tx: tx, tenant: tenant, account: account,
		user: referral.Identity{Account: user.Account, User: user.ID, Email: user.Email},
		command: referral.Command{
			Now: tx.Now, Identify: true, NewUser: !known, Claims: claims,
			Paid: in.Update.Status != nil && *in.Update.Status == referral.Paid,
		},
	}.run(ctx)
	if err != nil {
		return out, err
	}
	user, err = e.keepUser(ctx, tx, tenant, user, in.Update.Codes)
	return Identified{
		User: user, Account: done.Account, Created: !known,
		ReferredBy: wire.ReferredBy{Referral: done.Referral, Newly: done.Newly},
	}, err
}

// userOf returns the user with what the call tells of them, and whether they
// were known before.
func (e *Engine) userOf(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification) (user referral.User, known bool, err error) {
	u := in.Update
	user, known, err = tx.User(ctx, tenant, u.Account, u.ID)
	switch {
	case err != nil:
		return user, known, err
	case known && in.Create:
		return user, known, &core.Error{Code: core.CodeConflict, RS: "RS048", Message: "this user exists already"}
	case !known:
		user = referral.NewUser(u.Account, u.ID, tx.Now)
	}
	user = u.Apply(user)
	if len(user.Segments) > referral.MaxSegments {
		return user, known, core.Invalid("segments", "the user would be in more than 100 segments")
	}
	user.CustomFields, err = wire.MergeCustomFields(user.CustomFields, u.CustomFields)
	return user, known, err
}

// keepUser stores a user and the codes that they are to own, and returns the
// user with the codes that they own then.
func (e *Engine) keepUser(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, user referral.User, wanted []referral.UserCode) (referral.User, error) {
	if err := tx.PutUser(ctx, tenant, user); err != nil {
		return user, err
	}
	given, err := e.giveCodes(ctx, tx, tenant, user, wanted)
	if err != nil || !given {
		return user, err
	}
	user, _, err = tx.User(ctx, tenant, user.Account, user.ID)
	return user, err
}

// accountOf returns the user's account with what the call tells of it.
func (e *Engine) accountOf(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.UserUpdate) (referral.Account, error) {
	account, known, err := tx.Account(ctx, tenant, u.Account)
	if err != nil {
		return account, err
	}
	if !known {
		account = referral.NewAccount(u.Account, tx.Now)
	}
	if u.Status != nil {
		account.Status = *u.Status
	}
	if u.PaymentProviderID == nil || *u.PaymentProviderID == account.PaymentProviderID {
		return account, nil
	}
	if account.PaymentProviderID != "" {
		return account, &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS019",
			Message: "is set already and cannot be changed",
		}
	}
	other, err := tx.AccountOfProvider(ctx, tenant, *u.PaymentProviderID)
	if err == nil && other != "" {
		err = &core.Error{
			Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS029",
			Message: "belongs to another account",
		}
	}
	account.PaymentProviderID = *u.PaymentProviderID
	return account, err
}

// claims are the codes of the call and that of Kith's own cookie, most preferred
// first.
func (e *Engine) claims(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in Identification, user referral.User) ([]referral.Claim, error) {
	claims := slices.Clone(in.Update.Claims)
	if text := link.FindCookie(tenant, in.Cookie); text != "" {
		own, err := e.cookieClaim(ctx, tx, tenant, text)
		if err != nil {
			return nil, err
		}
		claims = append(claims, *own)
	}
	for i := range claims {
		claims[i].Unreferable = !user.Referable
	}
	slices.SortStableFunc(claims, func(a, b referral.Claim) int { return cmp.Compare(a.Source.Rank(), b.Source.Rank()) })
	return claims, nil
}

// cookieClaim is what the attribution cookie claims.
func (e *Engine) cookieClaim(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, text string) (*referral.Claim, error) {
	claim := &referral.Claim{Source: referral.SourceCookie}
	visit, err := link.ParseAttribution(e.Keys.Cookie(tenant), text)
	if err == nil {
		claim.Code, claim.ShareMedium = visit.Code, visit.ShareMedium
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

// User returns a user, or a not-found error.
func (e *Engine) User(ctx context.Context, tenant core.TenantAlias, account core.AccountID, id core.UserID) (Identified, error) {
	user, known, err := e.DB.User(ctx, tenant, account, id)
	if err == nil && !known {
		err = unknownUser()
	}
	if err != nil {
		return Identified{}, err
	}
	stored, err := e.Account(ctx, tenant, account)
	if err != nil {
		return Identified{}, err
	}
	ref, err := e.DB.ReferralOf(ctx, tenant, account)
	return Identified{User: user, Account: stored, ReferredBy: wire.ReferredBy{Referral: ref}}, err
}

func unknownUser() *core.Error {
	return &core.Error{Code: core.CodeNotFound, RS: "RS042", Message: "there is no such user; identify the user first"}
}
