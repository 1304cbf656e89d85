package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/webhook"
	"kith/core/wire"
)

// LookupCode returns what a code promises (spec, Look up a referral code), or a
// not-found error.
func (e *Engine) LookupCode(ctx context.Context, tenant store.Tenant, code core.ReferralCode) (wire.CodeInfo, error) {
	c, known, err := e.DB.Code(ctx, tenant.Alias, code)
	if err == nil && !known {
		err = wire.UnknownCode()
	}
	if err != nil {
		return wire.CodeInfo{}, err
	}
	return e.codeInfo(ctx, tenant, c)
}

// OpenCode is LookupCode for anybody who has the code: the code of a blocked user
// is unknown (reference, 1.3).
func (e *Engine) OpenCode(ctx context.Context, tenant store.Tenant, code core.ReferralCode) (wire.CodeInfo, error) {
	c, known, err := e.DB.Code(ctx, tenant.Alias, code)
	if err == nil && (!known || c.Blocked) {
		err = wire.UnknownCode()
	}
	if err != nil {
		return wire.CodeInfo{}, err
	}
	return e.codeInfo(ctx, tenant, c)
}

func (e *Engine) codeInfo(ctx context.Context, tenant store.Tenant, c store.Code) (wire.CodeInfo, error) {
	program, err := e.DB.Program(ctx, tenant.Alias, c.Program)
	return wire.CodeInfo{
		Code: c.Code, Program: c.Program, FirstName: c.FirstName, LastName: c.LastName,
		Offer: program.Referred, DiscountID: tenant.DiscountID, Created: c.Created,
	}, err
}

// ApplyCode attributes a known user to the owner of a code, and returns what the
// code promises (reference, 1.3). The code that referred the account before may
// be applied again. An unknown user, an unknown code and that of a blocked user
// are not found; a code that cannot refer this user is invalid. Either way the
// decision is recorded.
func (e *Engine) ApplyCode(ctx context.Context, tenant store.Tenant, code core.ReferralCode, account core.AccountID, id core.UserID) (wire.CodeInfo, error) {
	var rule referral.Rule
	err := e.DB.Write(ctx, e.Now(), func(tx *store.Tx) (err error) {
		rule, err = e.applyCode(ctx, tx, tenant.Alias, code, account, id)
		return err
	})
	switch {
	case err != nil:
		return wire.CodeInfo{}, err
	case rule == referral.RuleFirstCode || rule == referral.RuleSameCode:
		return e.LookupCode(ctx, tenant, code)
	case rule == referral.RuleUnknownCode || rule == referral.RuleBlocked:
		return wire.CodeInfo{}, wire.UnknownCode()
	}
	return wire.CodeInfo{}, core.Invalid("code", "cannot be applied to this user: "+string(rule))
}

func (e *Engine) applyCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, code core.ReferralCode, account core.AccountID, id core.UserID) (referral.Rule, error) {
	user, known, err := tx.User(ctx, tenant, account, id)
	if err == nil && !known {
		err = unknownUser()
	}
	if err != nil {
		return "", err
	}
	stored, _, err := tx.Account(ctx, tenant, account)
	if err != nil {
		return "", err
	}
	done, err := settlement{
		e: e, tx: tx, tenant: tenant, account: stored, user: user,
		command: referral.Command{Now: tx.Now, Claims: []referral.Claim{{Code: code, Source: referral.SourceApplied}}},
	}.run(ctx)
	if err != nil {
		return "", err
	}
	return done.Verdicts[0].Rule, nil
}

// giveLinks makes share links the primary ones of a user, and reports whether one
// was not so before. They must begin as share does.
func (e *Engine) giveLinks(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, user referral.User, wanted []referral.UserLink, share link.Share) (given bool, err error) {
	for _, l := range wanted {
		if slices.Contains(user.LinkNames(), l.UserCode) {
			continue
		}
		if err := e.giveLink(ctx, tx, tenant, user, l, share); err != nil {
			return false, err
		}
		given = true
	}
	return given, nil
}

func (e *Engine) giveLink(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User, l referral.UserLink, share link.Share) error {
	field := "shareLinks." + string(l.Program)
	if l.Host != hostOf(share.Origin) {
		return wire.BadShareLink(field, tenant, share.Origin)
	}
	if _, err := tx.Program(ctx, tenant, l.Program); isNotFound(err) {
		return core.Invalid(field, "there is no such program")
	} else if err != nil {
		return err
	}
	put, err := tx.PutLink(ctx, tenant, l.UserCode, u.Account, u.ID)
	if err == nil && !put {
		err = &core.Error{Code: core.CodeConflict, Field: field, RS: "RS053", Message: "this name is that of another link or code; choose another name"}
	}
	return err
}

// hostOf is the host of an origin.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return strings.ToLower(host)
}

// giveCodes gives a user the codes that the call asks for, and a code of our
// own making in every program where the user has none. It reports whether there
// was one to give.
func (e *Engine) giveCodes(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, user referral.User, wanted []referral.UserCode) (given bool, err error) {
	for _, code := range wanted {
		if slices.Contains(user.Codes, code) {
			continue
		}
		if err := e.giveCode(ctx, tx, tenant, user, code); err != nil {
			return false, err
		}
		user.Codes, given = append(user.Codes, code), true
	}
	programs, err := tx.ProgramKeys(ctx, tenant)
	if err != nil {
		return false, err
	}
	for _, program := range programs {
		if owns(user, program) {
			continue
		}
		if err := e.makeCode(ctx, tx, tenant, user, program); err != nil {
			return false, err
		}
		given = true
	}
	return given, nil
}

func owns(user referral.User, program core.ProgramKey) bool {
	return slices.ContainsFunc(user.Codes, func(c referral.UserCode) bool { return c.Program == program })
}

func (e *Engine) giveCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User, wanted referral.UserCode) error {
	field := "referralCodes." + string(wanted.Program)
	if _, err := tx.Program(ctx, tenant, wanted.Program); isNotFound(err) {
		return core.Invalid(field, "there is no such program")
	} else if err != nil {
		return err
	}
	added, err := e.insertCode(ctx, tx, tenant, u, wanted)
	if err != nil || added {
		return err
	}
	code, _, err := tx.Code(ctx, tenant, wanted.Code)
	switch {
	case err != nil:
		return err
	case code.Owner.Account != u.Account || code.Owner.User != u.ID:
		return &core.Error{Code: core.CodeConflict, Field: field, Message: "this code belongs to another user"}
	case code.Program != wanted.Program:
		return &core.Error{Code: core.CodeConflict, Field: field, Message: "this code belongs to another program"}
	case code.LinkOnly:
		return tx.MakeCode(ctx, tenant, wanted.Code)
	}
	return nil
}

// codeAlphabet has no letters and digits that people mistake for one another.
// It has 32 of them, so that a random byte picks each as often.
const codeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// makeCode gives a user a code of 8 characters: 40 bits, so that even a million
// codes of a tenant collide once in a million tries. Codes of one transaction begin
// alike, so that those of a batch lie side by side in their index, not each on a
// page of its own; the thousands of a batch, of 35 bits, are still as hard to guess
// as the million.
func (e *Engine) makeCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User, program core.ProgramKey) error {
	for range 5 {
		var raw [8]byte
		e.Entropy(raw[:])
		for i := range raw {
			raw[i] = codeAlphabet[raw[i]&31]
		}
		tx.CodeStart = cmp.Or(tx.CodeStart, raw[0])
		raw[0] = tx.CodeStart
		code := referral.UserCode{Program: program, Code: core.ReferralCode(raw[:])}
		if added, err := e.insertCode(ctx, tx, tenant, u, code); added || err != nil {
			return err
		}
	}
	return errors.New("program: five random codes in a row were taken")
}

// insertCode adds a code and tells the tenant's systems of it; false means that
// the tenant has it already.
func (e *Engine) insertCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User, code referral.UserCode) (bool, error) {
	added, err := tx.InsertCode(ctx, tenant, code, u.Account, u.ID)
	if err != nil || !added {
		return false, err
	}
	return true, e.emit(ctx, tx, tenant, webhook.CouponCreated, wire.CouponCreated(code, tx.Now))
}

func isNotFound(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeNotFound
}
