package program

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/referral"
	"kith/core/wire"
)

// settlement is one command on one account, within a transaction.
type settlement struct {
	e      *Engine
	tx     *store.Tx
	tenant core.TenantAlias
	// account is the account with all of the call applied but its standing.
	account referral.Account
	// user is who the call identifies, or nobody in an account sync.
	user    referral.Identity
	command referral.Command
}

// settled is what a settlement left behind.
type settled struct {
	Account referral.Account
	// Referral is the account's referral, or nil.
	Referral *referral.Referral
	// Newly is true when this command made the referral.
	Newly bool
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
	ref, err := s.follow(ctx, outcome)
	return settled{Account: s.account, Referral: ref, Newly: outcome.Attributed != nil}, err
}

// resolveClaims looks up the owners of the codes that the call brings.
func (s settlement) resolveClaims(ctx context.Context) error {
	referred := referral.Identity{Account: s.account.ID, User: s.user.User, Email: s.user.Email}
	if len(s.command.Claims) > 0 && s.user.User == "" && s.account.Standing.Identified {
		// An account sync names no user, but the referral will: see nameReferred.
		var err error
		if _, referred.Email, err = s.tx.FirstUser(ctx, s.tenant, s.account.ID); err != nil {
			return err
		}
	}
	for i := range s.command.Claims {
		claim := &s.command.Claims[i]
		claim.Referred = referred
		if claim.Fault != "" {
			continue
		}
		code, known, err := s.tx.Code(ctx, s.tenant, claim.Code)
		if err != nil {
			return err
		}
		if known {
			claim.Known, claim.Code, claim.Owner = true, code.Code, code.Owner
		}
	}
	return nil
}

// record stores every verdict with what the rule looked at.
func (s settlement) record(ctx context.Context, before referral.Standing, outcome referral.Outcome) error {
	for _, v := range outcome.Verdicts {
		err := s.tx.RecordDecision(ctx, s.tenant, wire.Decision{
			ID: s.e.newID(s.tx.Now), Account: s.account.ID, User: s.user.User,
			Code: v.Claim.Code, Source: v.Claim.Source, Rule: v.Rule, Accepted: v.Accepted(),
			Inputs: wire.DecisionInputs(before, s.command, v),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow brings the account's referral to where the decision put it.
func (s settlement) follow(ctx context.Context, outcome referral.Outcome) (*referral.Referral, error) {
	ref, err := s.referral(ctx, outcome.Attributed)
	if err != nil || ref == nil {
		return nil, err
	}
	before := *ref
	if ref.Referred.User == "" && s.account.Standing.Identified {
		if err := s.nameReferred(ctx, ref); err != nil {
			return nil, err
		}
	}
	if s.account.Status == referral.Cancelled && ref.Ended == 0 {
		ref.Ended = s.tx.Now
	}
	if outcome.Converted {
		ref.State, ref.Converted = referral.Converted, s.tx.Now
	}
	// A page identifies on every load, and its referral seldom changes.
	if outcome.Attributed != nil || *ref != before {
		if err := s.tx.PutReferral(ctx, s.tenant, *ref); err != nil {
			return nil, err
		}
	}
	if outcome.Converted {
		return ref, s.unlock(ctx, ref)
	}
	return ref, nil
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
		Referrer: accepted.Owner, Referred: referral.Identity{Account: s.account.ID, User: s.user.User, Email: s.user.Email},
		ShareMedium: accepted.ShareMedium, Started: s.tx.Now,
	}, nil
}

// nameReferred sets the user of a referral that began with an account sync.
func (s settlement) nameReferred(ctx context.Context, ref *referral.Referral) error {
	if s.user.User != "" {
		ref.Referred.User, ref.Referred.Email = s.user.User, s.user.Email
		return nil
	}
	user, email, err := s.tx.FirstUser(ctx, s.tenant, s.account.ID)
	ref.Referred.User, ref.Referred.Email = user, email
	return err
}

// unlock gives the rewards of a converted referral.
func (s settlement) unlock(ctx context.Context, ref *referral.Referral) error {
	program, err := s.tx.Program(ctx, s.tenant, ref.Program)
	if err != nil {
		return err
	}
	for _, r := range program.Unlocks(*ref) {
		r.ID, r.Created = s.e.newID(s.tx.Now), s.tx.Now
		if err := s.tx.InsertReward(ctx, s.tenant, r); err != nil {
			return err
		}
		ref.Attach(r)
	}
	return nil
}
