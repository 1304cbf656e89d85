package rules

import (
	"errors"
	"slices"
	"strings"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/state"
	"kith/core/webhook"
	"kith/core/wire"
)

// ApplyCode attributes a known user to the owner of a code, and returns the rule that
// decided. An unknown user is a not-found error.
func (r *Rules) ApplyCode(s *state.State, code core.ReferralCode, who referral.Identity) (referral.Rule, error) {
	user, known := s.User(who)
	if !known {
		return "", UnknownUser()
	}
	stored, _ := s.Accounts.Get(who.Account)
	done, err := r.settle(s, settlement{
		account: stored.Account, user: user,
		command: referral.Command{Now: s.Now, Claims: []referral.Claim{{Code: code, Source: referral.SourceApplied}}},
	})
	if err != nil {
		return "", err
	}
	return done.Verdicts[0].Rule, nil
}

// giveLinks makes share links the primary ones of a user. They must begin as share
// does.
func giveLinks(s *state.State, who referral.Identity, wanted []referral.UserLink, share link.Share) error {
	for _, l := range wanted {
		if user, _ := s.User(who); slices.Contains(user.LinkNames(), l.UserCode) {
			continue
		}
		if err := giveLink(s, who, l, share); err != nil {
			return err
		}
	}
	return nil
}

func giveLink(s *state.State, who referral.Identity, l referral.UserLink, share link.Share) error {
	field := "shareLinks." + string(l.Program)
	if l.Host != hostOf(share.Origin) {
		return wire.BadShareLink(field, s.Tenant, share.Origin)
	}
	if _, ok := s.Program(l.Program); !ok {
		return core.Invalid(field, "there is no such program")
	}
	if !s.AddLink(l.UserCode, who) {
		return &core.Error{Code: core.CodeConflict, Field: field, RS: "RS053", Message: "this name is that of another link or code; choose another name"}
	}
	return nil
}

// hostOf is the host of an origin.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return strings.ToLower(host)
}

// giveCodes gives a user the codes that the call asks for, and a code of our
// own making in every program where the user has none.
func (r *Rules) giveCodes(s *state.State, who referral.Identity, wanted []referral.UserCode) error {
	for _, code := range wanted {
		if user, _ := s.User(who); slices.Contains(user.Codes, code) {
			continue
		}
		if err := r.giveCode(s, who, code); err != nil {
			return err
		}
	}
	user, _ := s.User(who)
	for _, program := range s.Programs() {
		owns := func(c referral.UserCode) bool { return c.Program == program.Key }
		if slices.ContainsFunc(user.Codes, owns) {
			continue
		}
		if err := r.makeCode(s, who, program.Key); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rules) giveCode(s *state.State, who referral.Identity, wanted referral.UserCode) error {
	field := "referralCodes." + string(wanted.Program)
	if _, ok := s.Program(wanted.Program); !ok {
		return core.Invalid(field, "there is no such program")
	}
	code, taken := s.Code(wanted.Code)
	switch {
	case !taken:
		r.addCode(s, who, wanted)
	case state.Who(code.Owner) != state.Who(who):
		return &core.Error{Code: core.CodeConflict, Field: field, Message: "this code belongs to another user"}
	case code.Program != wanted.Program:
		return &core.Error{Code: core.CodeConflict, Field: field, Message: "this code belongs to another program"}
	case code.LinkOnly:
		s.MakeCode(wanted.Code)
	}
	return nil
}

// CodeAlphabet has no letters and digits that people mistake for one another.
// It has 32 of them, so that a random byte picks each as often.
const CodeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// makeCode gives a user a code of 8 characters: 40 bits, so that even a million
// codes of a tenant collide once in a million tries. That it is free shows when it is
// saved; then the calls are decided again.
func (r *Rules) makeCode(s *state.State, who referral.Identity, program core.ProgramKey) error {
	for range 5 {
		var raw [8]byte
		r.Entropy(raw[:])
		for i := range raw {
			raw[i] = CodeAlphabet[raw[i]&31]
		}
		code := core.ReferralCode(raw[:])
		if key := state.CodeKey(code); s.Codes.Has(key) {
			if _, taken := s.Codes.Get(key); taken {
				continue
			}
		}
		r.addCode(s, who, referral.UserCode{Program: program, Code: code})
		return nil
	}
	return errors.New("rules: five random codes in a row were taken")
}

// addCode adds a code and emits an event.
func (r *Rules) addCode(s *state.State, who referral.Identity, code referral.UserCode) {
	s.AddCode(code, who)
	r.emit(s, webhook.CouponCreated, func() []byte { return wire.CouponCreated(code, s.Now) })
}
