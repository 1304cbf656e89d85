package referrals

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/wire"
)

// Codes looks up and applies the codes by which users refer others.
type Codes struct{ *base.Base }

// Lookup returns a code with the offer of its program (spec 4.3), or a not-found error.
func (cs *Codes) Lookup(ctx context.Context, tenant tenantdb.Tenant, code core.ReferralCode) (wire.CodeInfo, error) {
	c, err := base.Code(ctx, cs.DB.Reads, tenant.Alias, code)
	if err != nil {
		return wire.CodeInfo{}, err
	}
	return cs.info(ctx, tenant, c)
}

// LookupPublic is Lookup for callers without the API key; see base.PublicCode.
func (cs *Codes) LookupPublic(ctx context.Context, tenant tenantdb.Tenant, code core.ReferralCode) (wire.CodeInfo, error) {
	c, err := base.PublicCode(ctx, cs.DB.Reads, tenant.Alias, code)
	if err != nil {
		return wire.CodeInfo{}, err
	}
	return cs.info(ctx, tenant, c)
}

func (cs *Codes) info(ctx context.Context, tenant tenantdb.Tenant, c referral.Code) (wire.CodeInfo, error) {
	program, err := programdb.ByKey(ctx, cs.DB.Reads, tenant.Alias, c.Program)
	if !tenant.CodeNames {
		c.FirstName, c.LastName = "", ""
	}
	return wire.CodeInfo{
		Code: c.Code, Program: c.Program, FirstName: c.FirstName, LastName: c.LastName,
		Offer: program.Referred, DiscountID: tenant.DiscountID, Created: c.Created,
	}, err
}

// Unknown returns the codes that people gave within referral.UnknownSpan and no user owns,
// with the codes that they may have meant.
func (cs *Codes) Unknown(ctx context.Context, tenant core.TenantAlias) ([]referral.UnknownCode, error) {
	all, err := referraldb.UnknownCodes(ctx, cs.DB.Lists, tenant, cs.Now()-referral.UnknownSpan, referral.MostUnknown)
	for i := range all {
		if err == nil {
			all[i].Meant, err = userdb.CodesThatRefer(ctx, cs.DB.Lists, tenant, referral.NearCodes(all[i].Typed))
		}
		all[i].Meant = all[i].Meant[:min(len(all[i].Meant), referral.MostMeant)]
	}
	return all, err
}

// Apply attributes an existing user to the owner of a code, and returns the code as
// Lookup does (clients 1.3.2). The code that referred the account before may be applied
// again. The error is not-found for an unknown user, an unknown code and the code of a
// blocked user, and invalid for a code that cannot refer this user. The decision about
// the code is recorded in each case.
func (cs *Codes) Apply(ctx context.Context, tenant tenantdb.Tenant, code core.ReferralCode, account core.AccountID, id core.UserID) (wire.CodeInfo, error) {
	var rule referral.Rule
	err := cs.Decide(ctx, tenant.Alias, func(s *state.State) (err error) {
		rule, err = cs.Rules().ApplyCode(s, code, referral.Identity{Account: account, User: id})
		return err
	})
	switch {
	case err != nil:
		return wire.CodeInfo{}, err
	case rule == referral.RuleFirstCode || rule == referral.RuleSameCode:
		return cs.Lookup(ctx, tenant, code)
	case rule == referral.RuleUnknownCode || rule == referral.RuleBlocked:
		return wire.CodeInfo{}, wire.UnknownCode()
	}
	return wire.CodeInfo{}, core.Invalid("code", "cannot be applied to this user: "+string(rule))
}

// AttributeByHand attributes an existing user to the owner of a code, because a member of
// the tenant decided so. It calls made with the referral before it is stored. The error is
// not-found for an unknown user, and about code for a code that cannot refer the user: then
// nothing is recorded.
func (cs *Codes) AttributeByHand(ctx context.Context, tenant core.TenantAlias, code core.ReferralCode, who referral.Identity, reason string, made func(referral.Referral)) error {
	return cs.Decide(ctx, tenant, func(s *state.State) error {
		rule, err := cs.Rules().AttributeByHand(s, code, who, reason)
		if err != nil {
			return err
		}
		if !(referral.Verdict{Rule: rule}).Accepted() {
			return core.Invalid("code", "cannot refer this user. "+rule.Explain())
		}
		ref, _ := s.ReferralOf(who.Account)
		made(ref)
		return nil
	})
}
