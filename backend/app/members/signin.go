package members

import (
	"context"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// SignIns begins, checks and ends sessions.
type SignIns struct {
	*base.Base
	Passwords *Passwords
	Limits    *Limits
	Sessions  people.SessionLimits
}

// failed records a wrong password or code for an address, and takes as long whether a person
// has the address or not.
func (si *SignIns) failed(ctx context.Context, v Visitor, kind, email string) error {
	si.ReportWork(base.WorkSignIn, kind, base.OutcomeFailed, 1)
	return si.DB.Write(ctx, si.Now(), func(tx *store.Tx) error { return peopledb.CountFailure(ctx, tx, tokenHash(email), v.from()) })
}

// Seat is a valid session and its person.
type Seat struct {
	people.Session
	Person peopledb.Person
	hash   string
}

// SignedIn reports whether the sign-in is complete.
func (s Seat) SignedIn() bool { return s.Stage == people.SignedIn }

// wrongCredentials is the answer to a wrong password, and to an address that no person has.
func wrongCredentials() error {
	return &core.Error{Code: core.CodeUnauthenticated, Field: "password", Message: "does not match the address; check both, or ask for a link to reset the password"}
}

// SignIn begins a session and returns its token. If the person signs in with two steps,
// the session waits for Enter. The work is the same for each address until the password
// was verified, so that its duration does not show which addresses are known.
func (si *SignIns) SignIn(ctx context.Context, v Visitor, email, password string) (token string, stage people.Stage, err error) {
	email, wrong := people.ParseEmail("email", email)
	if wrong != nil {
		email = ""
	}
	p, right, err := si.withPassword(ctx, v, email, password)
	if err != nil {
		return "", "", err
	}
	if !right {
		return "", "", or(si.failed(ctx, v, base.SignInPassword, email), wrongCredentials())
	}
	si.ReportWork(base.WorkSignIn, base.SignInPassword, base.OutcomeDone, 1)
	stage = people.SignedIn
	if p.TOTPOn {
		stage = people.SecondFactor
	}
	token, err = store.WriteValue(ctx, si.DB.Write, si.Now(), func(tx *store.Tx) (token string, err error) {
		// The password may have changed meanwhile.
		if now, ok, err := peopledb.Find(ctx, tx.Reads, p.ID); err != nil || !ok || now.Password != p.Password || now.TOTPOn != p.TOTPOn {
			if err == nil {
				err = wrongCredentials()
			}
			return token, err
		}
		return si.begin(ctx, tx, v, p, stage)
	})
	if err == nil && stage == people.SignedIn {
		err = si.succeed(ctx, v, p)
	}
	return token, stage, err
}

// succeed forgets the failed attempts of a person who has just signed in: those of the
// person's own browsers and, in another browser, those on the address. It does not forget the
// latter if other people have the address, too: they would give each other attempts.
func (si *SignIns) succeed(ctx context.Context, v Visitor, p peopledb.Person) error {
	si.Limits.devices.Succeed(string(p.ID))
	if si.recognises(v, p) {
		return nil
	}
	same, err := peopledb.WithEmail(ctx, si.DB.Reads, p.Email)
	if err == nil && len(same) == 1 {
		si.Limits.succeed(v, p.Email)
	}
	return err
}

// begin adds a session of a person, who has just given the password. If the sign-in is
// complete, it is recorded; see enter for the audit log.
func (si *SignIns) begin(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person, stage people.Stage) (token string, err error) {
	token = makeToken(si.Base)
	var failed people.Failures
	if stage == people.SignedIn {
		if failed, err = peopledb.TakeFailures(ctx, tx, tokenHash(p.Email)); err != nil {
			return "", err
		}
	}
	err = peopledb.InsertSession(ctx, tx, tokenHash(token), people.Session{
		ID: si.IDAt(tx.Now), Person: p.ID, Stage: stage, Created: tx.Now, Seen: tx.Now, Confirmed: tx.Now, From: v.from(), Agent: v.agent(), Failed: failed,
	})
	if err != nil || stage != people.SignedIn {
		return token, err
	}
	if err := peopledb.RecordSignIn(ctx, tx, p.ID); err != nil {
		return "", err
	}
	return token, nil
}

// enter records the sign-in of a session in the audit log of a tenant, when the session is
// first used in it: an owner need not know that a member works for other tenants.
func (si *SignIns) enter(ctx context.Context, s Seat, c people.Caller) error {
	home := people.Home(c.Tenant)
	if strings.Contains(s.Entered+" ", " "+string(home)+" ") {
		return nil
	}
	c.Tenant, c.From = home, s.From
	change := base.Change{Operation: operation.SignIn, Subject: c.Email}
	if s.Failed.Times > 0 {
		change.After = map[string]any{"failedBefore": s.Failed.Times, "lastFailedFrom": s.Failed.From}
	}
	return si.DB.Write(ctx, si.Now(), func(tx *store.Tx) error {
		first, err := peopledb.EnterTenant(ctx, tx, s.hash, home)
		if err != nil || !first {
			return err
		}
		return base.Audit(ctx, tx, c, change)
	})
}

// auditPerson adds a change that a person made to their own profile to the audit logs of
// all their tenants.
func auditPerson(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person, c base.Change) error {
	e, err := c.Entry(p.ID, p.Email, v.from())
	if err != nil {
		return err
	}
	return peopledb.AuditPerson(ctx, tx, p, e)
}

// Enter completes a sign-in that waits for a one-time code, and returns the token of a new
// session, which replaces the one that waited. A recovery code is accepted in place of a
// one-time code, once.
func (si *SignIns) Enter(ctx context.Context, v Visitor, waiting Seat, code string) (token string, err error) {
	if waiting.Stage != people.SecondFactor {
		return "", expired()
	}
	email := waiting.Person.Email
	giveBack, err := si.reserve(v, waiting.Person)
	if err != nil {
		si.ReportWork(base.WorkSignIn, base.SignInCode, base.OutcomeRefused, 1)
		return "", err
	}
	token, err = store.WriteValue(ctx, si.DB.Write, si.Now(), func(tx *store.Tx) (token string, err error) {
		seat, ok, err := si.find(ctx, tx.Reads, waiting.hash, tx.Now)
		if err != nil || !ok {
			return token, or(err, expired())
		}
		if err := useCode(ctx, tx, si.Base, v, seat.Person, code); err != nil {
			return token, err
		}
		if err := peopledb.DeleteSession(ctx, tx, seat.hash); err != nil {
			return token, err
		}
		return si.begin(ctx, tx, v, seat.Person, people.SignedIn)
	})
	if base.HasCode(err, core.CodeInvalid) {
		return "", or(si.failed(ctx, v, base.SignInCode, email), err)
	}
	giveBack()
	if err == nil {
		si.ReportWork(base.WorkSignIn, base.SignInCode, base.OutcomeDone, 1)
		err = si.succeed(ctx, v, waiting.Person)
	}
	return token, err
}

func expired() error {
	return &core.Error{Code: core.CodeUnauthenticated, Message: "the sign-in has expired; sign in again"}
}

// useCode uses a one-time code or a recovery code of a person up.
func useCode(ctx context.Context, tx *store.Tx, b *base.Base, v Visitor, p peopledb.Person, code string) error {
	if plain := people.PlainRecoveryCode(code); plain != "" {
		used, err := peopledb.UseRecovery(ctx, tx, p.ID, tokenHash(plain))
		if err != nil || !used {
			return or(err, core.Invalid("code", "is not one of your unused recovery codes; try another one"))
		}
		left, err := peopledb.CountRecovery(ctx, tx.Reads, p.ID)
		if err != nil {
			return err
		}
		return auditPerson(ctx, tx, v, p, base.Change{Operation: operation.UseRecoveryCode, Subject: p.Email, After: map[string]any{"left": left}})
	}
	if ok, err := useTOTP(ctx, tx, b, p, code); err != nil || !ok {
		return or(err, core.Invalid("code", "is wrong, expired or used; enter the one that the app shows now"))
	}
	return nil
}

// Find returns the session of a token; ok is false if there is none or it has expired. It
// records that the session was used.
func (si *SignIns) Find(ctx context.Context, token string) (s Seat, ok bool, err error) {
	if token == "" {
		return s, false, nil
	}
	now := si.Now()
	s, ok, err = si.find(ctx, si.DB.Reads, tokenHash(token), now)
	if err == nil && ok && s.SignedIn() && si.Sessions.Stale(s.Session, now) {
		err = si.DB.Write(ctx, now, func(tx *store.Tx) error { return peopledb.SeeSession(ctx, tx, s.hash) })
	}
	return s, ok, err
}

func (si *SignIns) find(ctx context.Context, r store.Reads, hash string, now core.Time) (s Seat, ok bool, err error) {
	s.hash = hash
	s.Session, s.Person, ok, err = peopledb.FindSession(ctx, r, hash)
	return s, ok && si.Sessions.Valid(s.Session, now), err
}

// SignOut ends a session.
func (si *SignIns) SignOut(ctx context.Context, s Seat) error {
	return si.DB.Write(ctx, si.Now(), func(tx *store.Tx) error { return peopledb.DeleteSession(ctx, tx, s.hash) })
}

// Confirm records that the person of a session gave the password again, for changes that
// need it; see people.Session.IsConfirmed.
func (si *SignIns) Confirm(ctx context.Context, v Visitor, s Seat, password string) error {
	if err := si.checkPassword(ctx, v, s.Person, "password", password); err != nil {
		return err
	}
	return si.DB.Write(ctx, si.Now(), func(tx *store.Tx) error { return peopledb.ConfirmSession(ctx, tx, s.hash) })
}

// checkPassword returns an error about field unless a person has a password. Wrong ones
// are counted as in SignIn.
func (si *SignIns) checkPassword(ctx context.Context, v Visitor, p peopledb.Person, field, password string) error {
	if p.Password == "" {
		return core.Invalid(field, "is not set: you sign in with an identity provider")
	}
	if password == "" {
		return core.Invalid(field, "is missing; enter the password that you sign in with")
	}
	giveBack, err := si.reserve(v, p)
	if err != nil {
		si.ReportWork(base.WorkSignIn, base.SignInPassword, base.OutcomeRefused, 1)
		return err
	}
	_, right, err := si.Passwords.find(ctx, v, password, p)
	if err != nil || right {
		giveBack()
	} else {
		err = or(si.failed(ctx, v, base.SignInPassword, p.Email), core.Invalid(field, "is wrong; enter the password that you sign in with"))
	}
	return err
}

// Tenants returns the tenants of the person of a session.
func (si *SignIns) Tenants(ctx context.Context, s Seat) ([]peopledb.Membership, error) {
	return peopledb.Memberships(ctx, si.DB.Reads, s.Person.ID)
}

// ErrSecondStep is the error of a tenant that requires two-step sign-in, for a member who
// has a password and no second step.
var ErrSecondStep error = &core.Error{Code: core.CodeForbidden, Message: "this tenant requires two-step sign-in; set it up in your profile first"}

// As returns the person of a session as a caller in a tenant. A tenant that the person is
// no member of is answered as an unknown one. The error may be ErrSecondStep.
func (si *SignIns) As(ctx context.Context, v Visitor, s Seat, tenant core.TenantAlias) (people.Caller, error) {
	if !s.SignedIn() {
		return people.Caller{}, expired()
	}
	m, ok, err := peopledb.FindMember(ctx, si.DB.Reads, people.Home(tenant), s.Person.ID)
	if err != nil || !ok {
		return people.Caller{}, or(err, core.UnknownTenant())
	}
	found, err := tenantdb.FindAlias(ctx, si.DB.Reads, tenant)
	if err != nil || found != tenant {
		return people.Caller{}, or(err, core.UnknownTenant())
	}
	if s.Person.Password != "" && !s.Person.TOTPOn {
		if needed, err := tenantdb.NeedsSecondStep(ctx, si.DB.Reads, people.Home(tenant)); err != nil || needed {
			return people.Caller{}, or(err, ErrSecondStep)
		}
	}
	c := people.Caller{
		Person: s.Person.ID, Email: s.Person.Email, Tenant: tenant, Role: m.Role, From: v.from(), InvitedBy: m.Voucher(),
		Confirmed: s.IsConfirmed(si.Now()),
	}
	return c, si.enter(ctx, s, c)
}

// or returns err, or the error otherwise if err is nil.
func or(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
