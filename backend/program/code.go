package program

import (
	"context"
	"errors"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
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
	program, err := e.DB.Program(ctx, tenant.Alias, c.Program)
	return wire.CodeInfo{
		Code: c.Code, Program: c.Program, FirstName: c.FirstName, LastName: c.LastName,
		Offer: program.Referred, DiscountID: tenant.DiscountID, Created: c.Created,
	}, err
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
	programs, err := tx.Programs(ctx, tenant)
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
	added, err := tx.InsertCode(ctx, tenant, wanted, u.Account, u.ID)
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
	}
	return nil
}

// codeAlphabet has no letters and digits that people mistake for one another.
// It has 32 of them, so that a random byte picks each as often.
const codeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// makeCode gives a user a code of 8 characters: 40 bits, so that even a million
// codes of a tenant collide once in a million tries.
func (e *Engine) makeCode(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, u referral.User, program core.ProgramKey) error {
	for range 5 {
		var raw [8]byte
		e.Entropy(raw[:])
		for i := range raw {
			raw[i] = codeAlphabet[raw[i]&31]
		}
		code := referral.UserCode{Program: program, Code: core.ReferralCode(raw[:])}
		if added, err := tx.InsertCode(ctx, tenant, code, u.Account, u.ID); added || err != nil {
			return err
		}
	}
	return errors.New("program: five random codes in a row were taken")
}

func isNotFound(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Code == core.CodeNotFound
}
