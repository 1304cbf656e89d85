package members

import (
	"context"
	"errors"
	"slices"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// Profiles changes what a person has decided about their own sign-in.
type Profiles struct {
	*base.Base
	SignIns *SignIns
}

// Rename changes the name of the person of a session.
func (ps *Profiles) Rename(ctx context.Context, s Seat, name string) error {
	name, err := people.ParseName("name", name)
	if err != nil {
		return err
	}
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error { return peopledb.SetName(ctx, tx, s.Person.ID, name) })
}

// ChangePassword replaces the password of the person of a session, who gives the current
// one. All other sessions of the person end.
func (ps *Profiles) ChangePassword(ctx context.Context, v Visitor, s Seat, current, password string) error {
	if err := people.CheckPassword("new", password, s.Person.Email); err != nil {
		return err
	}
	if err := ps.SignIns.checkPassword(ctx, v, s.Person, "current", current); err != nil {
		return err
	}
	hash, err := ps.SignIns.chosen(ctx, v, "new", password, s.Person)
	if err != nil {
		return err
	}
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		ended, err := setPassword(ctx, tx, s.Person.ID, hash, s.hash)
		if err != nil {
			return err
		}
		if err := peopledb.ConfirmSession(ctx, tx, s.hash); err != nil {
			return err
		}
		return auditPerson(ctx, tx, v, s.Person, base.Change{Operation: operation.ChangePassword, Subject: s.Person.Email, After: map[string]any{"endedSessions": ended}})
	})
}

// chosen returns the hash of the password that a person has chosen; the id of a new person
// is empty. The error is about field if it is the password of another person with the address:
// a sign-in could not distinguish the two. Any other password then counts as an attempt to
// guess theirs; see Limits.reserve.
func (si *SignIns) chosen(ctx context.Context, v Visitor, field, password string, p peopledb.Person) (hash string, err error) {
	giveBack, err := si.Limits.reserve(v, p.Email)
	if err != nil {
		return "", err
	}
	hash, alone, err := si.distinct(ctx, v, field, password, p)
	if err != nil || alone {
		giveBack()
	}
	return hash, err
}

// distinct is chosen without a count; alone is true if no other person has the address.
func (si *SignIns) distinct(ctx context.Context, v Visitor, field, password string, p peopledb.Person) (hash string, alone bool, err error) {
	others, err := peopledb.WithEmail(ctx, si.DB.Reads, p.Email)
	if err != nil {
		return "", false, err
	}
	others = slices.DeleteFunc(others, func(other peopledb.Person) bool { return other.ID == p.ID })
	hash, err = si.Passwords.hash(ctx, v, password, others)
	if err == nil && slices.ContainsFunc(others, func(other peopledb.Person) bool { return other.Password == hash }) {
		err = &core.Error{Code: core.CodeConflict, Field: field, Message: "is that of another account with your address; sign in with that one, or choose another password"}
	}
	return hash, len(others) == 0, err
}

// setPassword replaces a person's password and ends all sessions but the one with a hash.
func setPassword(ctx context.Context, tx *store.Tx, id people.PersonID, hash, except string) (ended int, err error) {
	if err := peopledb.SetPassword(ctx, tx, id, hash); err != nil {
		return 0, err
	}
	if err := peopledb.DeleteReset(ctx, tx, id); err != nil {
		return 0, err
	}
	return peopledb.DeleteSessions(ctx, tx, id, except)
}

// Sessions returns the valid sessions of the person of a session, newest first.
func (ps *Profiles) Sessions(ctx context.Context, s Seat) (valid []people.Session, err error) {
	all, err := peopledb.Sessions(ctx, ps.DB.Reads, s.Person.ID)
	for _, one := range all {
		if ps.SignIns.Sessions.Valid(one, ps.Now()) {
			valid = append(valid, one)
		}
	}
	return valid, err
}

// Notices returns the changes of how the person of a session signs in that the profile
// lists, newest first.
func (ps *Profiles) Notices(ctx context.Context, s Seat) ([]people.Notice, error) {
	return peopledb.Notices(ctx, ps.DB.Reads, s.Person, ps.Now()-people.NoticesListed, ps.Now()+1)
}

// News returns the changes of how the person of a session signs in that were made shortly
// before the session began, newest first. There are none if the session began longer ago
// than people.FailuresShown.
func (ps *Profiles) News(ctx context.Context, s Seat) ([]people.Notice, error) {
	if ps.Now() >= s.Created+people.FailuresShown {
		return nil, nil
	}
	return peopledb.Notices(ctx, ps.DB.Reads, s.Person, s.Created-people.NoticesShown, s.Created)
}

// RevokeSession ends one session of the person of a session.
func (ps *Profiles) RevokeSession(ctx context.Context, v Visitor, s Seat, id string) error {
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		was, err := peopledb.DeleteSessionByID(ctx, tx, s.Person.ID, id)
		if err != nil || !was {
			return or(err, core.NotFound("the session has ended already"))
		}
		return auditPerson(ctx, tx, v, s.Person, base.Change{Operation: operation.RevokeSession, Subject: s.Person.Email})
	})
}

// openTOTP returns the secret of a person's authenticator app.
func openTOTP(b *base.Base, p peopledb.Person) (people.TOTP, error) {
	text, err := b.Keys.Open(base.TOTPPlace(string(p.ID)), p.TOTP)
	if err != nil {
		return people.TOTP{}, err
	}
	secret, ok := people.ParseTOTP(text)
	if !ok {
		return people.TOTP{}, errors.New("app: the secret of an authenticator app has another form")
	}
	return secret, nil
}

// useTOTP uses a code of a person's authenticator app up; ok is false if it is wrong, expired or
// used.
func useTOTP(ctx context.Context, tx *store.Tx, b *base.Base, p peopledb.Person, code string) (ok bool, err error) {
	secret, err := openTOTP(b, p)
	if err != nil {
		return false, err
	}
	step, ok := secret.Verify(code, tx.Now, p.TOTPStep)
	if !ok {
		return false, nil
	}
	return peopledb.UseTOTP(ctx, tx, p.ID, step)
}

// mustConfirm returns an error unless the password was given recently in a session.
func (ps *Profiles) mustConfirm(s Seat) error {
	if s.IsConfirmed(ps.Now()) {
		return nil
	}
	return people.NotConfirmed()
}

// BeginTOTP makes a secret for an authenticator app. Two-step sign-in is on when a code of
// the app has confirmed it; see ConfirmTOTP.
func (ps *Profiles) BeginTOTP(ctx context.Context, s Seat) (secret people.TOTP, err error) {
	if err := ps.mustConfirm(s); err != nil {
		return secret, err
	}
	ps.Entropy(secret[:])
	sealed, err := ps.Seal(base.TOTPPlace(string(s.Person.ID)), secret.String())
	if err != nil {
		return secret, err
	}
	return secret, ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		p, ok, err := peopledb.Find(ctx, tx.Reads, s.Person.ID)
		if err != nil || !ok {
			return or(err, expired())
		}
		if p.TOTPOn {
			return &core.Error{Code: core.CodeConflict, Message: "two-step sign-in is on already; turn it off first"}
		}
		return peopledb.SetTOTP(ctx, tx, p.ID, sealed)
	})
}

// PendingTOTP returns the secret that waits for its confirmation; ok is false if none does.
func (ps *Profiles) PendingTOTP(s Seat) (secret people.TOTP, ok bool, err error) {
	if s.Person.TOTP == "" || s.Person.TOTPOn {
		return secret, false, nil
	}
	secret, err = openTOTP(ps.Base, s.Person)
	return secret, err == nil, err
}

// ConfirmTOTP turns two-step sign-in on by the first code of the authenticator app, and
// returns the recovery codes, which cannot be read again. All other sessions of the person
// end.
func (ps *Profiles) ConfirmTOTP(ctx context.Context, v Visitor, s Seat, code string) (codes []string, err error) {
	if err := ps.mustConfirm(s); err != nil {
		return nil, err
	}
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (codes []string, err error) {
		p, ok, err := peopledb.Find(ctx, tx.Reads, s.Person.ID)
		if err != nil || !ok {
			return codes, or(err, expired())
		}
		if p.TOTP == "" || p.TOTPOn {
			return codes, &core.Error{Code: core.CodeConflict, Message: "there is no authenticator app to confirm; set one up first"}
		}
		if ok, err := useTOTP(ctx, tx, ps.Base, p, code); err != nil || !ok {
			return codes, or(err, core.Invalid("code", "is wrong or expired; enter the one that the app shows now, and check that the phone's clock is right"))
		}
		if codes, err = ps.renew(ctx, tx, p.ID); err != nil {
			return codes, err
		}
		if _, err := peopledb.DeleteSessions(ctx, tx, p.ID, s.hash); err != nil {
			return codes, err
		}
		return codes, auditPerson(ctx, tx, v, p, base.Change{Operation: operation.EnableTOTP, Subject: p.Email})
	})
}

// renew replaces a person's recovery codes.
func (ps *Profiles) renew(ctx context.Context, tx *store.Tx, id people.PersonID) (codes []string, err error) {
	var hashes []string
	for range people.RecoveryCodes {
		var raw [people.RecoverySize]byte
		ps.Entropy(raw[:])
		code := people.RecoveryCode(raw)
		codes, hashes = append(codes, code), append(hashes, tokenHash(people.PlainRecoveryCode(code)))
	}
	return codes, peopledb.SetRecovery(ctx, tx, id, hashes)
}

// RenewRecovery replaces the recovery codes of the person of a session, and returns the
// new ones.
func (ps *Profiles) RenewRecovery(ctx context.Context, v Visitor, s Seat) (codes []string, err error) {
	if err := ps.mustConfirm(s); err != nil {
		return nil, err
	}
	if !ps.SignIns.Limits.renewals.Take(string(s.Person.ID)) {
		return nil, &core.Error{Code: core.CodeRateLimited, Message: "new recovery codes were made often; wait an hour, the last ones are valid"}
	}
	return store.WriteValue(ctx, ps.DB.Write, ps.Now(), func(tx *store.Tx) (codes []string, err error) {
		p, ok, err := peopledb.Find(ctx, tx.Reads, s.Person.ID)
		if err != nil || !ok {
			return codes, or(err, expired())
		}
		if !p.TOTPOn {
			return codes, &core.Error{Code: core.CodeConflict, Message: "two-step sign-in is off; turn it on to get recovery codes"}
		}
		if codes, err = ps.renew(ctx, tx, p.ID); err != nil {
			return codes, err
		}
		return codes, auditPerson(ctx, tx, v, p, base.Change{Operation: operation.RenewRecoveryCodes, Subject: p.Email})
	})
}

// CountRecovery returns how many unused recovery codes the person of a session has.
func (ps *Profiles) CountRecovery(ctx context.Context, s Seat) (int, error) {
	return peopledb.CountRecovery(ctx, ps.DB.Reads, s.Person.ID)
}

// DisableTOTP turns two-step sign-in off, or ends setting it up. If a tenant of the person
// requires it, it stays on.
func (ps *Profiles) DisableTOTP(ctx context.Context, v Visitor, s Seat) error {
	if err := ps.mustConfirm(s); err != nil {
		return err
	}
	return ps.DB.Write(ctx, ps.Now(), func(tx *store.Tx) error {
		p, ok, err := peopledb.Find(ctx, tx.Reads, s.Person.ID)
		if err != nil || !ok {
			return or(err, expired())
		}
		if by, err := tenantdb.RequiringSecondStep(ctx, tx.Reads, string(p.ID)); err != nil || by != "" && p.TOTPOn && p.Password != "" {
			return or(err, &core.Error{Code: core.CodeConflict, Message: "two-step sign-in stays on: " + string(by) + " requires it of its members"})
		}
		return disableTOTP(ctx, tx, p, func(c base.Change) error { return auditPerson(ctx, tx, v, p, c) })
	})
}

// disableTOTP removes a person's secret and recovery codes. If two-step sign-in was on, it
// calls audit.
func disableTOTP(ctx context.Context, tx *store.Tx, p peopledb.Person, audit func(base.Change) error) error {
	if err := peopledb.SetTOTP(ctx, tx, p.ID, ""); err != nil {
		return err
	}
	if err := peopledb.SetRecovery(ctx, tx, p.ID, nil); err != nil || !p.TOTPOn {
		return err
	}
	return audit(base.Change{Operation: operation.DisableTOTP, Subject: p.Email})
}
