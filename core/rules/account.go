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
		stored.Account = referral.NewAccount(u.ID, s.Now)
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
