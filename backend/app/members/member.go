package members

import (
	"context"
	"errors"
	"strconv"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// Members manages who is a member of a tenant. A live tenant and its test tenant have the
// same members; changes are in the audit log of the live tenant. What an API key may change
// is limited by operation.Require and people.Caller.CheckRole.
type Members struct {
	*base.Base
	SignIns *SignIns
}

// List returns the members and the open invitations of the caller's tenant.
func (ms *Members) List(ctx context.Context, c people.Caller) (members []people.Member, open []people.Invitation, err error) {
	if err := operation.ReadMembers.Require(c); err != nil {
		return nil, nil, err
	}
	home := people.Home(c.Tenant)
	if members, err = peopledb.Members(ctx, ms.DB.Reads, home); err != nil {
		return nil, nil, err
	}
	open, err = peopledb.Invitations(ctx, ms.DB.Reads, home, ms.Now())
	return members, open, err
}

// atHome returns the caller in the tenant that has the members.
func atHome(c people.Caller) people.Caller {
	c.Tenant = people.Home(c.Tenant)
	return c
}

// Invite makes a link with which the person with an address joins the caller's tenant, and
// returns the token of the link, which cannot be read again. An earlier invitation of the
// same address is replaced.
func (ms *Members) Invite(ctx context.Context, c people.Caller, email, role string) (i people.Invitation, token string, err error) {
	if err := operation.InviteMember.Require(c); err != nil {
		return i, "", err
	}
	c = atHome(c)
	email, err = people.ParseEmail("email", email)
	as, roleErr := people.ParseRole("role", role)
	if err := errors.Join(err, roleErr); err != nil {
		return i, "", err
	}
	if err := c.CheckRole("role", as); err != nil {
		return i, "", err
	}
	token = makeToken(ms.Base)
	i, err = store.WriteValue(ctx, ms.DB.Write, ms.Now(), func(tx *store.Tx) (i people.Invitation, err error) {
		if _, err := tenantdb.Find(ctx, tx.Reads, c.Tenant); err != nil {
			return i, err
		}
		if err := notMember(ctx, tx, c.Tenant, email); err != nil {
			return i, err
		}
		open, err := peopledb.Invitations(ctx, tx.Reads, c.Tenant, tx.Now)
		if err != nil {
			return i, err
		}
		for _, replaced := range open {
			if replaced.Email != email {
				continue
			}
			if err := c.CheckRole("email", replaced.Role); err != nil {
				return i, err
			}
		}
		if len(open) >= people.MaxInvitations {
			return i, core.Invalid("email", "cannot be invited: a tenant has at most "+strconv.Itoa(people.MaxInvitations)+" open invitations; revoke one first")
		}
		i = people.Invitation{Tenant: c.Tenant, ID: ms.IDAt(tx.Now), Email: email, Role: as, By: c.Email, Created: tx.Now, Expires: tx.Now + people.InvitationLife}
		if err := peopledb.PutInvitation(ctx, tx, tokenHash(token), i); err != nil {
			return i, err
		}
		return i, base.Audit(ctx, tx, c, base.Change{Operation: operation.InviteMember, Subject: email, After: map[string]any{"role": as}})
	})
	return i, token, err
}

// notMember returns an error if a tenant has a member with an address.
func notMember(ctx context.Context, tx *store.Tx, home core.TenantAlias, email string) error {
	_, ok, err := peopledb.FindMemberByEmail(ctx, tx.Reads, home, email)
	if err == nil && ok {
		err = &core.Error{Code: core.CodeConflict, Field: "email", Message: "is a member already; change the role of " + email + " instead"}
	}
	return err
}

// RevokeInvitation makes the link of an invitation invalid.
func (ms *Members) RevokeInvitation(ctx context.Context, c people.Caller, id string) error {
	if err := operation.RevokeInvitation.Require(c); err != nil {
		return err
	}
	c = atHome(c)
	return ms.DB.Write(ctx, ms.Now(), func(tx *store.Tx) error {
		i, ok, err := peopledb.TakeInvitation(ctx, tx, c.Tenant, id)
		if err != nil || !ok {
			return or(err, core.NotFound("the invitation was accepted or revoked already"))
		}
		if err := c.CheckRole("", i.Role); err != nil {
			return err
		}
		return base.Audit(ctx, tx, c, base.Change{Operation: operation.RevokeInvitation, Subject: i.Email, Before: map[string]any{"role": i.Role}})
	})
}

// FindInvitation returns the invitation of a link.
func (ms *Members) FindInvitation(ctx context.Context, token string) (people.Invitation, error) {
	i, ok, err := peopledb.FindInvitation(ctx, ms.DB.Reads, tokenHash(token), ms.Now())
	if err == nil && !ok {
		err = usedInvitation()
	}
	return i, err
}

func usedInvitation() error {
	return core.NotFound("the invitation was used, revoked or has expired; ask an owner for another one")
}

// Accept creates the person whom a link invited, with a name and a password, and begins a
// session. Other people with the address stay as they are, and have no access to the
// tenant: the link was sent to this one. A person with an account signs in instead and
// calls AcceptAs.
func (ms *Members) Accept(ctx context.Context, v Visitor, token, name, password string) (session string, err error) {
	i, err := ms.FindInvitation(ctx, token)
	if err != nil {
		return "", err
	}
	name, err = people.ParseName("name", name)
	if err := errors.Join(err, people.CheckPassword("password", password, i.Email)); err != nil {
		return "", err
	}
	hash, err := ms.SignIns.chosen(ctx, v, "password", password, peopledb.Person{Email: i.Email})
	if err != nil {
		return "", err
	}
	return store.WriteValue(ctx, ms.DB.Write, ms.Now(), func(tx *store.Tx) (session string, err error) {
		p := peopledb.Person{ID: people.PersonID(ms.IDAt(tx.Now)), Email: i.Email, Name: name, Password: hash}
		if err := peopledb.Insert(ctx, tx, p); err != nil {
			return session, err
		}
		if err := ms.join(ctx, tx, v, p, token); err != nil {
			return session, err
		}
		return ms.SignIns.begin(ctx, tx, v, p, people.SignedIn)
	})
}

// AcceptAs makes the person of a session a member of the tenant of a link.
func (ms *Members) AcceptAs(ctx context.Context, v Visitor, s Seat, token string) (tenant core.TenantAlias, err error) {
	i, err := ms.FindInvitation(ctx, token)
	if err != nil {
		return "", err
	}
	if !s.SignedIn() {
		return "", expired()
	}
	if i.Email != s.Person.Email {
		return "", &core.Error{Code: core.CodeForbidden, Message: "the invitation is for " + i.Email + ", and you are signed in as " + s.Person.Email + "; sign out first"}
	}
	return i.Tenant, ms.DB.Write(ctx, ms.Now(), func(tx *store.Tx) error { return ms.join(ctx, tx, v, s.Person, token) })
}

// join uses the invitation of a link up and makes a person a member of its tenant.
func (ms *Members) join(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person, token string) error {
	i, ok, err := peopledb.FindInvitation(ctx, tx.Reads, tokenHash(token), tx.Now)
	if err != nil || !ok {
		return or(err, usedInvitation())
	}
	return ms.joinBy(ctx, tx, v, p, i)
}

// joinBy uses an invitation up and makes a person a member of its tenant.
func (ms *Members) joinBy(ctx context.Context, tx *store.Tx, v Visitor, p peopledb.Person, i people.Invitation) error {
	if _, _, err := peopledb.TakeInvitation(ctx, tx, i.Tenant, i.ID); err != nil {
		return err
	}
	if err := notMember(ctx, tx, i.Tenant, p.Email); err != nil {
		return err
	}
	if err := ms.checkRoom(ctx, tx, i.Tenant, p.ID); err != nil {
		return err
	}
	if err := peopledb.PutMember(ctx, tx, i.Tenant, p.ID, i.Role, i.By); err != nil {
		return err
	}
	c := people.Caller{Person: p.ID, Email: p.Email, Tenant: i.Tenant, Role: i.Role, From: v.from(), InvitedBy: people.Vouching(p.Proven != 0, i.By)}
	return base.Audit(ctx, tx, c, base.Change{Operation: operation.AddMember, Subject: p.Email, After: map[string]any{"role": i.Role, "invitedBy": i.By}})
}

// checkRoom returns an error if a tenant or a person has too many memberships for one
// more.
func (ms *Members) checkRoom(ctx context.Context, tx *store.Tx, home core.TenantAlias, id people.PersonID) error {
	n, _, err := peopledb.CountMembers(ctx, tx.Reads, home)
	if err != nil {
		return err
	}
	of, err := peopledb.Memberships(ctx, tx.Reads, id)
	switch {
	case err != nil:
		return err
	case n >= people.MaxMembers:
		return core.Invalid("email", "cannot be added: a tenant has at most "+strconv.Itoa(people.MaxMembers)+" members; remove one first")
	case len(of) >= people.MaxTenants:
		return core.Invalid("email", "cannot be added: a person is a member of at most "+strconv.Itoa(people.MaxTenants)+" tenants; ask an owner of another one to remove you")
	}
	return nil
}

// Create adds a person with a password and makes them a member of the caller's tenant,
// without an invitation. It returns false if the tenant has a member with this address;
// then nothing is changed. `kith dev` makes its first owner so.
func (ms *Members) Create(ctx context.Context, c people.Caller, email, name, password string, role people.Role) (created bool, err error) {
	if err := operation.AddMember.Require(c); err != nil {
		return false, err
	}
	c = atHome(c)
	if email, err = people.ParseEmail("email", email); err != nil {
		return false, err
	}
	// A repeated call does not compute the hash.
	if _, ok, err := peopledb.FindMemberByEmail(ctx, ms.DB.Reads, c.Tenant, email); err != nil || ok {
		return false, err
	}
	if err := people.CheckPassword("password", password, email); err != nil {
		return false, err
	}
	same, err := peopledb.WithEmail(ctx, ms.DB.Reads, email)
	if err != nil {
		return false, err
	}
	hash, err := ms.SignIns.Passwords.hash(ctx, Visitor{}, password, same)
	if err != nil {
		return false, err
	}
	return store.WriteValue(ctx, ms.DB.Write, ms.Now(), func(tx *store.Tx) (created bool, err error) {
		if _, ok, err := peopledb.FindMemberByEmail(ctx, tx.Reads, c.Tenant, email); err != nil || ok {
			return false, err
		}
		p := peopledb.Person{ID: people.PersonID(ms.IDAt(tx.Now)), Email: email, Name: name, Password: hash}
		if err := peopledb.Insert(ctx, tx, p); err != nil {
			return false, err
		}
		if err := peopledb.PutMember(ctx, tx, c.Tenant, p.ID, role, c.Email); err != nil {
			return false, err
		}
		return true, base.Audit(ctx, tx, c, base.Change{Operation: operation.AddMember, Subject: email, After: map[string]any{"role": role}})
	})
}

// HasPassword reports whether a person with this address exists and has a password.
func (ms *Members) HasPassword(ctx context.Context, email, password string) (bool, error) {
	same, err := peopledb.WithEmail(ctx, ms.DB.Reads, email)
	if err != nil {
		return false, err
	}
	_, ok, err := ms.SignIns.Passwords.find(ctx, Visitor{}, password, same...)
	return ok, err
}

// ChangeRole gives a member of the caller's tenant another role. The last owner stays one.
func (ms *Members) ChangeRole(ctx context.Context, c people.Caller, id people.PersonID, role string) error {
	if err := operation.ChangeMemberRole.Require(c); err != nil {
		return err
	}
	as, err := people.ParseRole("role", role)
	if err != nil {
		return err
	}
	c = atHome(c)
	return ms.DB.Write(ctx, ms.Now(), func(tx *store.Tx) error {
		m, err := ms.member(ctx, tx, c, id)
		if err != nil || m.Role == as {
			return err
		}
		if err := errors.Join(c.CheckRole("role", m.Role), c.CheckRole("role", as)); err != nil {
			return err
		}
		if err := ms.keepsOwner(ctx, tx, c, m); err != nil {
			return err
		}
		if err := peopledb.PutMember(ctx, tx, c.Tenant, id, as, m.InvitedBy); err != nil {
			return err
		}
		return base.Audit(ctx, tx, c, base.Change{
			Operation: operation.ChangeMemberRole, Subject: m.Email, Before: map[string]any{"role": m.Role}, After: map[string]any{"role": as},
		})
	})
}

// Remove ends the membership of a person in the caller's tenant. The last owner stays. A
// person who is a member of no other tenant is deleted.
func (ms *Members) Remove(ctx context.Context, c people.Caller, id people.PersonID) error {
	if err := operation.RemoveMember.Require(c); err != nil {
		return err
	}
	c = atHome(c)
	return ms.DB.Write(ctx, ms.Now(), func(tx *store.Tx) error {
		m, err := ms.member(ctx, tx, c, id)
		if err != nil {
			return err
		}
		if err := c.CheckRole("", m.Role); err != nil {
			return err
		}
		if m.Role == people.Owner && !c.Confirmed {
			return people.NotConfirmed()
		}
		if err := ms.keepsOwner(ctx, tx, c, m); err != nil {
			return err
		}
		if err := peopledb.DeleteMember(ctx, tx, c.Tenant, id); err != nil {
			return err
		}
		if _, err := peopledb.DeleteLonely(ctx, tx, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, c, base.Change{Operation: operation.RemoveMember, Subject: m.Email, Before: map[string]any{"role": m.Role}})
	})
}

// RequireSecondStep sets whether members of the caller's tenant who have a password must
// sign in with two steps, or lose access to the tenant until they do. A caller who has a
// password and no second step may not turn it on: they would be the first.
func (ms *Members) RequireSecondStep(ctx context.Context, c people.Caller, on bool) error {
	if err := operation.RequireSecondStep.Require(c); err != nil {
		return err
	}
	c = atHome(c)
	return ms.DB.Write(ctx, ms.Now(), func(tx *store.Tx) error {
		t, err := tenantdb.Find(ctx, tx.Reads, c.Tenant)
		if err != nil || t.SecondStep == on {
			return err
		}
		if p, ok, err := peopledb.Find(ctx, tx.Reads, c.Person); err != nil || on && ok && p.Password != "" && !p.TOTPOn {
			return or(err, core.Invalid("second-step", "cannot be required yet: you sign in without; set it up in your profile first"))
		}
		t.SecondStep = on
		if err := tenantdb.Update(ctx, tx, t); err != nil {
			return err
		}
		return base.Audit(ctx, tx, c, base.Change{Operation: operation.ChangeTenant, Before: map[string]any{"secondStep": !on}, After: map[string]any{"secondStep": on}})
	})
}

// NeedsSecondStep reports whether the caller's tenant requires two-step sign-in.
func (ms *Members) NeedsSecondStep(ctx context.Context, c people.Caller) (bool, error) {
	if err := operation.ReadMembers.Require(c); err != nil {
		return false, err
	}
	return tenantdb.NeedsSecondStep(ctx, ms.DB.Reads, people.Home(c.Tenant))
}

func (ms *Members) member(ctx context.Context, tx *store.Tx, c people.Caller, id people.PersonID) (people.Member, error) {
	m, ok, err := peopledb.FindMember(ctx, tx.Reads, c.Tenant, id)
	if err != nil || !ok {
		return m, or(err, core.NotFound("this person is not a member any more"))
	}
	return m, nil
}

// keepsOwner returns an error if a member is the last owner of the caller's tenant.
func (ms *Members) keepsOwner(ctx context.Context, tx *store.Tx, c people.Caller, m people.Member) error {
	if m.Role != people.Owner {
		return nil
	}
	_, owners, err := peopledb.CountMembers(ctx, tx.Reads, c.Tenant)
	if err == nil && owners <= 1 {
		err = &core.Error{Code: core.CodeConflict, Field: "role", Message: m.Email + " is the last owner; make another member an owner first"}
	}
	return err
}

// ByEmail returns the member of the caller's tenant with an address.
func (ms *Members) ByEmail(ctx context.Context, c people.Caller, email string) (people.Member, error) {
	if err := operation.ReadMembers.Require(c); err != nil {
		return people.Member{}, err
	}
	email, err := people.ParseEmail("email", email)
	if err != nil {
		return people.Member{}, err
	}
	m, ok, err := peopledb.FindMemberByEmail(ctx, ms.DB.Reads, people.Home(c.Tenant), email)
	if err == nil && !ok {
		err = or(notAccepted(ctx, ms.DB.Reads, email, ms.Now(), people.Home(c.Tenant)), core.NotFound("the tenant has no member "+email))
	}
	return m, err
}

// notAccepted returns an error if the address has an open invitation of a tenant, or of any
// tenant if that is empty.
func notAccepted(ctx context.Context, r store.Reads, email string, now core.Time, tenant core.TenantAlias) error {
	open, err := peopledb.InvitationsOf(ctx, r, email, now)
	for _, i := range open {
		if tenant == "" || i.Tenant == tenant {
			err = core.NotFound(email + " has not accepted the invitation to tenant " + string(i.Tenant) + " yet; kith person invite replaces it, with a new link and role")
		}
	}
	return err
}
