package rules

import (
	"slices"

	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/state"
	"kith/core/wire"
)

// settlement is a command on an account.
type settlement struct {
	// account is the account with the update of the call, but the standing before it.
	account referral.Account
	// user is the user that the call identifies, with the update of the call; the
	// zero User for an account sync.
	user    referral.User
	command referral.Command
}

// Settled is the result of a command on an account.
type Settled struct {
	Account referral.Account
	// Referral is the account's referral, or nil.
	Referral *referral.Referral
	// Newly is true if the command created the referral, Moved if it changed it.
	Newly, Moved bool
	// Verdicts are the decisions about the claims.
	Verdicts []referral.Verdict
}

// Settle decides a command on an account that identifies no user, and stores the
// account, its referral and rewards. account has the update of the call, but the
// standing before it.
func (r *Rules) Settle(s *state.State, account referral.Account, command referral.Command) (Settled, error) {
	return r.settle(s, settlement{account: account, command: command})
}

func (r *Rules) settle(s *state.State, do settlement) (Settled, error) {
	if do.lostUsers(s) {
		do.account.Standing.Identified = false // its conversion waits for a user again
	}
	do.resolveClaims(s)
	if do.mayConvert() && do.account.Standing.Referral == referral.InProgress {
		ref, _ := s.ReferralOf(do.account.ID)
		do.command.ByEvent = convertsByEvent(s, ref.Program)
	}
	before := do.account.Standing
	if len(do.command.Claims) > 0 && before.Open() {
		do.command.Deleted = wasErased(s, do.account.ID)
	}
	standing, outcome := referral.Decide(before, do.command)
	do.account.Standing = standing
	s.PutAccount(do.account)
	r.record(s, do, before, outcome)
	if outcome.Attributed != nil {
		// A referred account has a discount from now on.
		s.Billing.Add(do.account.ID)
	}
	ref, moved, err := r.follow(s, do, outcome)
	return Settled{
		Account: do.account, Referral: ref, Newly: outcome.Attributed != nil, Moved: moved, Verdicts: outcome.Verdicts,
	}, err
}

// lostUsers reports whether all users of an identified account were deleted before a referral
// could name one of them.
func (do *settlement) lostUsers(s *state.State) bool {
	standing := do.account.Standing
	if !standing.Identified || do.user.ID != "" || standing.Referral == referral.Converted {
		return false
	}
	if account, known := s.Accounts.Get(do.account.ID); !known || account.Users > 0 {
		return false
	}
	ref, referred := s.ReferralOf(do.account.ID)
	return !referred || ref.Referred.User == ""
}

// wasErased reports whether an account was deleted after it had converted or paid.
func wasErased(s *state.State, account core.AccountID) bool {
	if !s.Facts.Get().Erasing {
		return false
	}
	was, _ := s.Erased.Get(account)
	return was
}

// resolveClaims looks up the owners of the call's codes, and sets the user who would
// be referred.
func (do *settlement) resolveClaims(s *state.State) {
	referred := do.user
	standing := do.account.Standing
	switch {
	case do.user.ID == "" && standing.Identified && len(do.command.Claims) > 0:
		// An account sync has no user, but the referral gets one: see nameReferred.
		referred, _ = s.FirstUser(do.account.ID)
	case do.user.ID != "" && !standing.Identified && standing.Referral == referral.InProgress:
		do.resolveLate(s)
	}
	// Copy the claims, because the call may be decided again.
	do.command.Claims = slices.Clone(do.command.Claims)
	for i := range do.command.Claims {
		claim := &do.command.Claims[i]
		do.claimFor(claim, referred)
		if claim.Source == referral.SourceByHand && standing.Referral == referral.InProgress {
			ref, _ := s.ReferralOf(do.account.ID)
			claim.Replaces = ref.Replaceable(standing)
		}
		if claim.Fault != "" {
			continue
		}
		if code, known := s.Code(claim.Code); known {
			claim.Known, claim.Code, claim.Owner, claim.OwnerBlocked = true, code.Code, code.Owner, code.Blocked
			claim.ByEvent = do.mayConvert() && convertsByEvent(s, code.Program)
		}
	}
}

// mayConvert reports whether the account is PAID after the command.
func (do *settlement) mayConvert() bool { return do.command.Paid || do.account.Standing.FirstPaid != 0 }

// convertsByEvent reports whether a program converts by an event.
func convertsByEvent(s *state.State, key core.ProgramKey) bool {
	program, _ := s.Program(key)
	return program.Conversion.ByEvent()
}

// claimFor sets the user who would be referred by a claim; an account may have no
// user yet.
func (do *settlement) claimFor(claim *referral.Claim, referred referral.User) {
	claim.Referred = referral.Identity{Account: do.account.ID, User: referred.ID, Email: referred.Email}
	claim.Unreferable = referred.ID != "" && !referred.Referable
}

// resolveLate looks up the claim that started a referral before its account had a
// user, so that it can be checked for the user.
func (do *settlement) resolveLate(s *state.State) {
	ref, ok := s.ReferralOf(do.account.ID)
	if !ok {
		return
	}
	late := referral.Claim{Code: ref.Code, Source: referral.SourceAccount, Known: true, Owner: ref.Referrer}
	do.claimFor(&late, do.user)
	do.command.Late = &late
}

// record stores every verdict with the inputs of its rule.
func (r *Rules) record(s *state.State, do settlement, before referral.Standing, outcome referral.Outcome) {
	for _, v := range outcome.Verdicts {
		before := before
		if v.Rule == referral.RuleByHand {
			// Its owner is not the referrer any more, by whom an erasure would find it.
			before.Code = ""
		}
		s.Decisions.Add(wire.Decision{
			ID: r.newID(s), Account: do.account.ID, User: do.user.ID,
			Code: v.Claim.Code, Source: v.Claim.Source, Rule: v.Rule, Accepted: v.Accepted(),
			Inputs: wire.DecisionInputs(before, do.command, v),
		})
	}
}

// changes are the changes of a referral by a settlement.
type changes struct{ started, named, converted, ended, refused bool }

// follow updates the account's referral after the decision, and reports whether it
// changed.
func (r *Rules) follow(s *state.State, do settlement, outcome referral.Outcome) (ref *referral.Referral, moved bool, err error) {
	if ref = r.referral(s, do, outcome.Attributed); ref == nil {
		return nil, false, nil
	}
	did := changes{started: outcome.Attributed != nil, converted: outcome.Converted, refused: outcome.Refused}
	did.named = do.nameReferred(s, ref)
	if did.ended = do.account.Status == referral.Cancelled && ref.Ended == 0; did.ended {
		ref.Ended = s.Now
	}
	if did.converted {
		ref.State, ref.Converted = referral.Converted, s.Now
	}
	// Pages identify on every load, and mostly the referral does not change.
	if did == (changes{}) {
		return ref, false, nil
	}
	return ref, true, r.advance(s, do, ref, did)
}

// advance stores a changed referral, moderates it, and gives its rewards if it
// converted.
func (r *Rules) advance(s *state.State, do settlement, ref *referral.Referral, did changes) error {
	if did.started || did.named || did.converted {
		if err := r.automoderate(s, do, ref, did); err != nil {
			return err
		}
	}
	ref.Modified = s.Now
	s.PutReferral(*ref)
	if did.converted {
		if err := r.unlock(s, ref, reward.FriendSignup, reward.Referred); err != nil {
			return err
		}
	}
	r.emitReferral(s, *ref, did)
	return nil
}

// referral returns the new referral of an accepted claim, or the account's existing
// one, or nil. One that replaces another has its id.
func (r *Rules) referral(s *state.State, do settlement, accepted *referral.Claim) *referral.Referral {
	switch {
	case do.account.Standing.Referral == referral.None:
		return nil
	case accepted == nil:
		return referralOf(s, do.account.ID)
	}
	id := r.newID(s)
	if accepted.Replaces {
		replaced, _ := s.ReferralOf(do.account.ID)
		id = replaced.ID
	}
	code, _ := s.Code(accepted.Code)
	return &referral.Referral{
		ID: id, Program: code.Program, State: referral.InProgress, Code: code.Code,
		Referrer: accepted.Owner, Referred: referral.Identity{Account: do.account.ID, User: do.user.ID, Email: do.user.Email},
		ShareMedium: accepted.ShareMedium, ShareLink: accepted.ShareLink, Started: s.Now,
	}
}

// nameReferred sets the user of a referral that started with an account sync, and
// reports whether it did.
func (do *settlement) nameReferred(s *state.State, ref *referral.Referral) bool {
	if ref.Referred.User != "" || !do.account.Standing.Identified {
		return false
	}
	user := do.user
	if user.ID == "" {
		user, _ = s.FirstUser(do.account.ID)
	}
	ref.Referred.User, ref.Referred.Email = user.ID, user.Email
	return true
}
