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

// ApplyCode attributes an existing user to the owner of a code, and returns the rule
// that decided. An unknown user is a CodeNotFound error.
func (r *Rules) ApplyCode(s *state.State, code core.ReferralCode, who referral.Identity) (referral.Rule, error) {
	return r.applyCode(s, referral.Claim{Code: code, Source: referral.SourceApplied}, who)
}

func (r *Rules) applyCode(s *state.State, claim referral.Claim, who referral.Identity) (referral.Rule, error) {
	user, known := s.User(who)
	if !known {
		return "", UnknownUser()
	}
	stored, _ := s.Accounts.Get(who.Account)
	done, err := r.settle(s, settlement{
		account: stored.Account, user: user,
		command: referral.Command{Now: s.Now, Claims: []referral.Claim{claim}},
	})
	if err != nil {
		return "", err
	}
	return done.Verdicts[0].Rule, nil
}

// AttributeByHand attributes an existing user to the owner of a code because a member of
// the tenant decided so, and returns the rule that decided. An unknown user is a
// CodeNotFound error.
func (r *Rules) AttributeByHand(s *state.State, code core.ReferralCode, who referral.Identity, reason string) (referral.Rule, error) {
	return r.applyCode(s, referral.Claim{Code: code, Source: referral.SourceByHand, Reason: reason}, who)
}

// giveLinks sets primary share links of a user. Their host must be that of share.
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
		return &core.Error{Code: core.CodeConflict, Field: field, RS: "RS053", Message: "is the name of another link or code; choose another name"}
	}
	return nil
}

// hostOf returns the host of an origin, in lower case.
func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return strings.ToLower(host)
}

// giveCodes gives a user the requested codes, and a generated code in every program
// in which the user has none.
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

// CodeAlphabet has no characters that people confuse. Its 32 characters are equally
// likely for a random byte.
const CodeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// makeCode gives a user a generated code of 8 characters, which is 40 bits: with a
// million codes of a tenant, one in a million new codes collides. A collision with a
// code that is not loaded is found when the state is saved; then the calls are
// decided again.
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
	return errors.New("rules: 5 generated codes in a row exist already")
}

// addCode adds a code and emits an event.
func (r *Rules) addCode(s *state.State, who referral.Identity, code referral.UserCode) {
	s.AddCode(code, who)
	r.emit(s, webhook.CouponCreated, func() []byte { return wire.CouponCreated(code, s.Now) })
}
