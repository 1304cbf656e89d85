package rules

import (
	"kith/core"
	"kith/core/referral"
	"kith/core/state"
)

// SyncAccount updates an account. A referral code in the update attributes, and the
// first status PAID converts (spec 4.2).
func (r *Rules) SyncAccount(s *state.State, u referral.AccountUpdate) (referral.Account, error) {
	stored, known := s.Accounts.Get(u.ID)
	if !known {
		var err error
		if stored.Account, err = NewAccount(s, u.ID); err != nil {
			return referral.Account{}, err
		}
	}
	paid := u.Status != nil && *u.Status == referral.Paid
	if paid && s.Connected() {
		return referral.Account{}, &core.Error{
			Code: core.CodeNotSupported, Field: "subscription.status",
			Message: "must not be PAID: this tenant's payment gateway reports payments; leave it out",
		}
	}
	command := referral.Command{Now: s.Now, Paid: paid}
	if u.Code != nil && *u.Code != "" {
		command.Claims = []referral.Claim{{Code: *u.Code, Source: referral.SourceAccount}}
	}
	done, err := r.Settle(s, u.Apply(stored.Account), command)
	return done.Account, err
}

// NewAccount returns the account of a call that names no user, for an account that does not
// exist. It returns an error if the account was deleted and must not be tracked: then only
// the identification of a user who was not deleted may make it again (clients 1.2.19).
func NewAccount(s *state.State, id core.AccountID) (referral.Account, error) {
	if s.IsUntracked(referral.Identity{Account: id}) {
		return referral.Account{}, untracked("account")
	}
	return referral.NewAccount(id, s.Now), nil
}

func untracked(what string) *core.Error {
	return &core.Error{Code: core.CodeForbidden, RS: "RS050", Message: "this " + what + " was deleted, not to be tracked again"}
}
