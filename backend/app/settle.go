package app

import (
	"context"
	"slices"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/wire"
)

// settlement is one command on one account, within a transaction.
type settlement struct {
	e      *Engine
	tx     *store.Tx
	tenant core.TenantAlias
	// account is the account with all of the call applied but its standing.
	account referral.Account
	// user is who the call identifies, with all of it applied, or nobody in an
	// account sync.
	user    referral.User
	command referral.Command
}

// settled is what a settlement left behind.
type settled struct {
	Account referral.Account
	// Referral is the account's referral, or nil.
	Referral *referral.Referral
	// Newly is true when this command made the referral, Moved when it did
	// anything to it.
	Newly, Moved bool
	// Verdicts are what was decided about the claims.
	Verdicts []referral.Verdict
}

// run lets core decide about the command and stores the account and all that
// follows from the decision.
func (s settlement) run(ctx context.Context) (settled, error) {
	if err := s.resolveClaims(ctx); err != nil {
		return settled{}, err
	}
	before := s.account.Standing
	standing, outcome := referral.Decide(before, s.command)
	s.account.Standing = standing
	// The account goes first: a referral refers to it.
	if err := s.tx.PutAccount(ctx, s.tenant, s.account); err != nil {
		return settled{}, err
	}
	if err := s.record(ctx, before, outcome); err != nil {
		return settled{}, err
	}
	if outcome.Attributed != nil {
		// Who is referred pays less from now on.
		if err := s.tx.TouchBilling(ctx, s.tenant, s.account.ID); err != nil {
			return settled{}, err
		}
	}
	ref, moved, err := s.follow(ctx, outcome)
	return settled{
		Account: s.account, Referral: ref, Newly: outcome.Attributed != nil, Moved: moved, Verdicts: outcome.Verdicts,
	}, err
}

// resolveClaims looks up the owners of the codes that the call brings, and who
// they are brought for.
func (s *settlement) resolveClaims(ctx context.Context) error {
	referred := s.user
	standing := s.account.Standing
	switch {
	case s.user.ID == "" && standing.Identified && len(s.command.Claims) > 0:
		// An account sync names no user, but the referral will: see nameReferred.
		first, _, err := s.tx.FirstUser(ctx, s.tenant, s.account.ID)
		if err != nil {
			return err
		}
		referred = first
	case s.user.ID != "" && !standing.Identified && standing.Referral == referral.InProgress:
		if err := s.resolveLate(ctx); err != nil {
			return err
		}
	}
	for i := range s.command.Claims {
		claim := &s.command.Claims[i]
		s.claimFor(claim, referred)
		if claim.Fault != "" {
			continue
		}
		code, known, err := s.tx.Code(ctx, s.tenant, claim.Code)
		if err != nil {
			return err
		}
		if known {
			claim.Known, claim.Code, claim.Owner, claim.OwnerBlocked = true, code.Code, code.Owner, code.Blocked
		}
	}
	return nil
}

// claimFor says whom a claim is for; an account may have nobody yet.
func (s *settlement) claimFor(claim *referral.Claim, referred referral.User) {
	claim.Referred = referral.Identity{Account: s.account.ID, User: referred.ID, Email: referred.Email}
	claim.Unreferable = referred.ID != "" && !referred.Referable
}

// resolveLate looks up the claim that began a referral before its account had a
// user, now that there is one.
func (s *settlement) resolveLate(ctx context.Context) error {
	ref, err := s.tx.ReferralOf(ctx, s.tenant, s.account.ID)
	if err != nil || ref == nil {
		return err
	}
	late := referral.Claim{Code: ref.Code, Source: referral.SourceAccount, Known: true, Owner: ref.Referrer}
	s.claimFor(&late, s.user)
	s.command.Late = &late
	return nil
}

// record stores every verdict with what the rule looked at.
func (s settlement) record(ctx context.Context, before referral.Standing, outcome referral.Outcome) error {
	for _, v := range outcome.Verdicts {
		err := s.tx.RecordDecision(ctx, s.tenant, wire.Decision{
			ID: s.e.newID(s.tx.Now), Account: s.account.ID, User: s.user.ID,
			Code: v.Claim.Code, Source: v.Claim.Source, Rule: v.Rule, Accepted: v.Accepted(),
			Inputs: wire.DecisionInputs(before, s.command, v),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// move is what a settlement does to a referral.
type move struct{ started, named, converted, ended, refused bool }

// follow brings the account's referral to where the decision put it, and reports
// whether it moved.
func (s settlement) follow(ctx context.Context, outcome referral.Outcome) (ref *referral.Referral, moved bool, err error) {
	if ref, err = s.referral(ctx, outcome.Attributed); err != nil || ref == nil {
		return nil, false, err
	}
	did := move{started: outcome.Attributed != nil, converted: outcome.Converted, refused: outcome.Refused}
	if did.named, err = s.nameReferred(ctx, ref); err != nil {
		return nil, false, err
	}
	if did.ended = s.account.Status == referral.Cancelled && ref.Ended == 0; did.ended {
		ref.Ended = s.tx.Now
	}
	if did.converted {
		ref.State, ref.Converted = referral.Converted, s.tx.Now
	}
	// A page identifies on every load, and its referral seldom changes.
	if did == (move{}) {
		return ref, false, nil
	}
	return ref, true, s.carryOut(ctx, ref, did)
}

// carryOut stores a referral that moved, and all that follows from that.
func (s settlement) carryOut(ctx context.Context, ref *referral.Referral, did move) error {
	if did.started || did.named || did.converted {
		if err := s.automoderate(ctx, ref, did); err != nil {
			return err
		}
	}
	ref.Modified = s.tx.Now
	if err := s.tx.PutReferral(ctx, s.tenant, *ref); err != nil {
		return err
	}
	if did.converted {
		if err := s.e.unlock(ctx, s.tx, s.tenant, ref, reward.FriendSignup, reward.Referred); err != nil {
			return err
		}
	}
	return s.e.tellReferral(ctx, s.tx, s.tenant, *ref, did)
}

// referral returns the referral that an accepted claim makes, or the one that
// the account has, or nil.
func (s settlement) referral(ctx context.Context, accepted *referral.Claim) (*referral.Referral, error) {
	switch {
	case s.account.Standing.Referral == referral.None:
		return nil, nil
	case accepted == nil:
		return s.tx.ReferralOf(ctx, s.tenant, s.account.ID)
	}
	code, _, err := s.tx.Code(ctx, s.tenant, accepted.Code)
	if err != nil {
		return nil, err
	}
	return &referral.Referral{
		ID: s.e.newID(s.tx.Now), Program: code.Program, State: referral.InProgress, Code: code.Code,
		Referrer: accepted.Owner, Referred: referral.Identity{Account: s.account.ID, User: s.user.ID, Email: s.user.Email},
		ShareMedium: accepted.ShareMedium, ShareLink: accepted.ShareLink, Started: s.tx.Now,
	}, nil
}

// nameReferred sets the user of a referral that began with an account sync, and
// reports whether it did.
func (s settlement) nameReferred(ctx context.Context, ref *referral.Referral) (bool, error) {
	if ref.Referred.User != "" || !s.account.Standing.Identified {
		return false, nil
	}
	user := s.user
	if user.ID == "" {
		var err error
		if user, _, err = s.tx.FirstUser(ctx, s.tenant, s.account.ID); err != nil {
			return false, err
		}
	}
	ref.Referred.User, ref.Referred.Email = user.ID, user.Email
	return true, nil
}

// unlock gives the rewards of a converted referral, those of some sources, as far
// as its moderation and the program's limits let it.
func (e *Engine) unlock(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref *referral.Referral, sources ...reward.Source) error {
	program, err := tx.Program(ctx, tenant, ref.Program)
	if err != nil {
		return err
	}
	var earned referral.Earned
	if program.Limits.Total > 0 || program.Limits.InPeriod > 0 {
		if earned, err = tx.Earned(ctx, tenant, ref.Program, ref.Referrer, tx.Now-program.Limits.Period); err != nil {
			return err
		}
	}
	for _, g := range program.Unlocks(*ref, earned, tx.Now) {
		if !slices.Contains(sources, g.Source) {
			continue
		}
		if err := e.giveUnlocked(ctx, tx, tenant, ref, g); err != nil {
			return err
		}
	}
	return nil
}

// giveUnlocked gives one reward of a referral; one of a fuel tank that is empty
// is due from then on.
func (e *Engine) giveUnlocked(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, ref *referral.Referral, g reward.Grant) error {
	if g.Offer.Kind != reward.FuelTank {
		r, err := e.give(ctx, tx, tenant, g)
		ref.Attach(r)
		return err
	}
	side := referral.SideOf(g.Source)
	number, code, ok, err := tx.FuelCode(ctx, tenant, ref.Program, side)
	if err != nil {
		return err
	}
	if !ok {
		return tx.PutFuelDue(ctx, tenant, ref.Program, side, ref.ID)
	}
	g.FuelTankCode, g.FuelTankType = code, g.Offer.TankType()
	r, err := e.give(ctx, tx, tenant, g)
	if err != nil {
		return err
	}
	ref.Attach(r)
	return tx.UseFuelCode(ctx, tenant, number, r.ID)
}
