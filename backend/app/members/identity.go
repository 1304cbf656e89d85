package members

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// Identity is who an identity provider says that a visitor is.
type Identity struct {
	// Issuer and Subject identify the account at the provider for ever.
	Issuer, Subject string
	// Email is the address of the account, and Verified whether the provider has verified it.
	Email    string
	Verified bool
	// Name may be empty.
	Name string
}

// maxSubject limits the size of Identity.Subject, as OpenID Connect does.
const maxSubject = 255

// SignInAs begins a session for an account at an identity provider and returns its token.
// The first time, the account proves its address: see prove. Later the account decides,
// even if its address has changed. The second step of a person who has one is not left out.
func (ms *Members) SignInAs(ctx context.Context, v Visitor, i Identity) (token string, stage people.Stage, err error) {
	if i.Subject == "" || len(i.Subject) > maxSubject {
		return "", "", &core.Error{Code: core.CodeForbidden, Message: "the identity provider sent no usable account; ask its operator"}
	}
	type begun struct {
		token string
		stage people.Stage
	}
	session, err := store.WriteValue(ctx, ms.DB.Write, ms.Now(), func(tx *store.Tx) (s begun, err error) {
		p, ok, err := peopledb.FindByIdentity(ctx, tx.Reads, i.Issuer, i.Subject)
		switch {
		case err == nil && !ok:
			p, err = ms.prove(ctx, tx, v, i)
		case err == nil && i.Verified:
			err = ms.proveAgain(ctx, tx, v, p, i)
		}
		if err != nil {
			return s, err
		}
		s.stage = people.SignedIn
		if p.TOTPOn {
			s.stage = people.SecondFactor
		}
		s.token, err = ms.SignIns.begin(ctx, tx, v, p, s.stage)
		return s, err
	})
	return session.token, session.stage, err
}

// prove returns the person of an account that signs in for the first time. The address is
// the person's from now on. Until now, each reader of an invitation could act as the
// person: all passwords, sessions and second steps that people with the address had set are
// void, and only their memberships stay. If there are none, the person joins the tenants to
// which the address is invited. See withProven for an address that was proven before.
func (ms *Members) prove(ctx context.Context, tx *store.Tx, v Visitor, i Identity) (p peopledb.Person, err error) {
	email, err := people.ParseEmail("email", i.Email)
	if err != nil || !i.Verified {
		return p, &core.Error{Code: core.CodeForbidden, Message: "the identity provider has not verified a mail address of your account; verify it there, or sign in with your password"}
	}
	p, known, err := ms.withProven(ctx, tx, email, i)
	if err != nil {
		return p, err
	}
	replaced, err := peopledb.Absorb(ctx, tx, p)
	if err != nil {
		return p, err
	}
	if known {
		if err := ms.void(ctx, tx, p); err != nil {
			return p, err
		}
		p.TOTPOn = false
	} else if replaced == 0 {
		if err := ms.joinAll(ctx, tx, v, p); err != nil {
			return p, err
		}
	}
	if err := peopledb.PutIdentity(ctx, tx, i.Issuer, i.Subject, p.ID); err != nil {
		return p, err
	}
	return p, auditPerson(ctx, tx, v, p, identityAdded(p, i, known || replaced > 0))
}

// proveAgain is prove for the account of a person whose address is proven already, for what
// others with the address have set meanwhile.
func (ms *Members) proveAgain(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person, i Identity) error {
	if email, err := people.ParseEmail("email", i.Email); err != nil || email != p.Email {
		return nil // the account has another address by now
	}
	replaced, err := peopledb.Absorb(ctx, tx, p)
	if err != nil || replaced == 0 {
		return err
	}
	return auditPerson(ctx, tx, v, p, identityAdded(p, i, true))
}

func identityAdded(p peopledb.Person, i Identity, voided bool) base.Change {
	after := map[string]any{"issuer": i.Issuer}
	if voided {
		after["earlierSignInsVoid"] = true
	}
	return base.Change{Operation: operation.AddIdentity, Subject: p.Email, After: after}
}

// withProven returns the person whose address another issuer has proved, known is true then,
// or a new person. The person of another account at this issuer is not meant: the provider
// may have given the address to another person, who joins by invitations only.
func (ms *Members) withProven(ctx context.Context, tx *store.Tx, email string, i Identity) (p peopledb.Person, known bool, err error) {
	same, err := peopledb.WithEmail(ctx, tx.Reads, email)
	if err != nil {
		return p, false, err
	}
	name, err := people.ParseName("name", i.Name)
	for _, one := range same {
		if one.Proven != 0 {
			if other, err := peopledb.HasIdentity(ctx, tx.Reads, i.Issuer, one.ID); err != nil || !other {
				return one, true, err
			}
		} else if err != nil || name == "" {
			name, err = one.Name, nil // the person may enter another one
		}
	}
	p = peopledb.Person{ID: people.PersonID(ms.IDAt(tx.Now)), Email: email, Name: name, Proven: tx.Now}
	return p, false, peopledb.Insert(ctx, tx, p)
}

// void removes the password, the sessions and the second step of a person.
func (ms *Members) void(ctx context.Context, tx *store.Tx, p peopledb.Person) error {
	if _, err := setPassword(ctx, tx, p.ID, "", ""); err != nil {
		return err
	}
	return disableTOTP(ctx, tx, p, func(base.Change) error { return nil })
}

// joinAll makes a new person a member of all tenants to which the address is invited.
func (ms *Members) joinAll(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person) error {
	open, err := peopledb.InvitationsOf(ctx, tx.Reads, p.Email, tx.Now)
	if err == nil && len(open) == 0 {
		err = &core.Error{Code: core.CodeForbidden, Message: "this account is no member of a tenant, and there is no invitation of " + p.Email + "; ask an owner of your tenant to invite it"}
	}
	for _, invitation := range open {
		if err == nil {
			err = ms.joinBy(ctx, tx, v, p, invitation)
		}
	}
	return err
}
