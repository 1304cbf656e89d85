package members

import (
	"context"
	"crypto/rand"
	"encoding/base64"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
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
// The first time, the account is the person with its address; if there is none, it joins
// the tenants to which the address is invited. Later the account decides, even if its
// address has changed. The second step of a person who has one is not left out.
func (ms *Members) SignInAs(ctx context.Context, v Visitor, i Identity) (token string, stage people.Stage, err error) {
	if i.Subject == "" || len(i.Subject) > maxSubject {
		return "", "", &core.Error{Code: core.CodeForbidden, Message: "the identity provider sent no usable account; ask its operator"}
	}
	_, ok, err := peopledb.FindByIdentity(ctx, ms.DB.Reads, i.Issuer, i.Subject)
	if err != nil {
		return "", "", err
	}
	unused := ""
	if !ok {
		// Hashing takes long: not in the transaction.
		if unused, err = ms.SignIns.Passwords.unusable(ctx); err != nil {
			return "", "", err
		}
	}
	type begun struct {
		token string
		stage people.Stage
	}
	session, err := store.WriteValue(ctx, ms.DB.Write, ms.Now(), func(tx *store.Tx) (s begun, err error) {
		p, ok, err := peopledb.FindByIdentity(ctx, tx.Reads, i.Issuer, i.Subject)
		if err == nil && !ok {
			p, err = ms.adopt(ctx, tx, v, i, unused)
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

// adopt finds or creates the person of an account that signs in for the first time.
func (ms *Members) adopt(ctx context.Context, tx *store.Tx, v Visitor, i Identity, password string) (p peopledb.Person, err error) {
	email, err := people.ParseEmail("email", i.Email)
	if err != nil || !i.Verified {
		return p, &core.Error{Code: core.CodeForbidden, Message: "the identity provider has not verified a mail address of your account; verify it there, or sign in with your password"}
	}
	p, known, err := peopledb.FindByEmail(ctx, tx.Reads, email)
	if err != nil {
		return p, err
	}
	open, err := peopledb.InvitationsOf(ctx, tx.Reads, email, tx.Now)
	if err != nil {
		return p, err
	}
	if !known {
		if len(open) == 0 {
			return p, &core.Error{Code: core.CodeForbidden, Message: "no person has the address " + email + "; ask an owner of your tenant to invite it"}
		}
		name, err := people.ParseName("name", i.Name)
		if err != nil {
			name = "" // the person enters another one
		}
		p = peopledb.Person{ID: people.PersonID(ms.IDAt(tx.Now)), Email: email, Name: name, Password: password}
		if _, err := peopledb.Insert(ctx, tx, p); err != nil {
			return p, err
		}
		for _, invitation := range open {
			if err := ms.joinBy(ctx, tx, v, p, invitation); err != nil {
				return p, err
			}
		}
	}
	if err := peopledb.PutIdentity(ctx, tx, i.Issuer, i.Subject, p.ID); err != nil {
		return p, err
	}
	return p, auditPerson(ctx, tx, v, p, base.Change{Action: people.IdentityAdded, Subject: p.Email, After: map[string]any{"issuer": i.Issuer}})
}

// unusable returns the hash of a random password, for a person who signs in without one.
func (p *Passwords) unusable(ctx context.Context) (string, error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	return p.hash(ctx, base64.RawURLEncoding.EncodeToString(raw[:]))
}
