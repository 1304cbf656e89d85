package members

import (
	"context"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// Resets lets people choose a new password by a link.
type Resets struct {
	*base.Base
	SignIns *SignIns
}

// MakeLink makes a link with which the person with an address chooses a new password, and
// returns its token and when it expires. It replaces an earlier one. The operator calls it
// by the command line. If several people have the address, tenant is one of the tenants of
// the person that is meant, else it may be empty. If withoutTOTP is true, two-step sign-in
// is turned off, for a person who has lost the phone and the recovery codes.
func (rs *Resets) MakeLink(ctx context.Context, email string, tenant core.TenantAlias, withoutTOTP bool) (token string, expires core.Time, err error) {
	email, err = people.ParseEmail("email", email)
	if err != nil {
		return "", 0, err
	}
	token = makeToken(rs.Base)
	expires, err = store.WriteValue(ctx, rs.DB.Write, rs.Now(), func(tx *store.Tx) (expires core.Time, err error) {
		p, err := withEmailIn(ctx, tx.Reads, email, people.Home(tenant), tx.Now)
		if err != nil {
			return expires, err
		}
		audit := func(c base.Change) error {
			e, err := c.Entry("", people.Operator, "")
			if err != nil {
				return err
			}
			return peopledb.AuditPerson(ctx, tx, p, e)
		}
		if withoutTOTP {
			if err := disableTOTP(ctx, tx, p, audit); err != nil {
				return expires, err
			}
		}
		expires = tx.Now + people.ResetLife
		if err := peopledb.PutReset(ctx, tx, p.ID, tokenHash(token), expires); err != nil {
			return expires, err
		}
		return expires, audit(base.Change{Operation: operation.MakeResetLink, Subject: email})
	})
	return token, expires, err
}

// withEmailIn returns the person with an address who is a member of a tenant, if one is
// given.
func withEmailIn(ctx context.Context, r store.Reads, email string, tenant core.TenantAlias, now core.Time) (p peopledb.Person, err error) {
	same, err := peopledb.WithEmail(ctx, r, email)
	if err != nil {
		return p, err
	}
	var of []string
	for _, one := range same {
		all, err := peopledb.Memberships(ctx, r, one.ID)
		if err != nil {
			return p, err
		}
		for _, m := range all {
			of = append(of, string(m.Tenant))
			if m.Tenant == tenant {
				return one, nil
			}
		}
	}
	switch {
	case len(same) == 0:
		return p, or(notAccepted(ctx, r, email, now, tenant), core.NotFound("no person has the address "+email))
	case tenant != "":
		return p, core.NotFound(email + " is no member of tenant " + string(tenant) + "; give one of " + strings.Join(of, ", "))
	case len(same) > 1:
		return p, &core.Error{Code: core.CodeConflict, Field: "tenant", Message: "is missing: " + strconv.Itoa(len(same)) + " people have the address " + email + "; give one of " + strings.Join(of, ", ")}
	}
	return same[0], nil
}

// Find returns the mail address of the person for whom a reset link was made.
func (rs *Resets) Find(ctx context.Context, token string) (email string, err error) {
	p, ok, err := peopledb.FindReset(ctx, rs.DB.Reads, tokenHash(token), rs.Now())
	if err != nil || !ok {
		return "", or(err, usedReset())
	}
	return p.Email, nil
}

func usedReset() error {
	return core.NotFound("the link was used, replaced or has expired; ask for another one")
}

// Reset replaces the password of the person of a link, and ends all sessions of the person,
// who then signs in as usual.
func (rs *Resets) Reset(ctx context.Context, v Visitor, token, password string) error {
	p, ok, err := peopledb.FindReset(ctx, rs.DB.Reads, tokenHash(token), rs.Now())
	if err != nil || !ok {
		return or(err, usedReset())
	}
	if err := people.CheckPassword("password", password, p.Email); err != nil {
		return err
	}
	// The link is used up by each password that is not refused, so no attempt is counted.
	hash, _, err := rs.SignIns.distinct(ctx, v, "password", password, p)
	if err != nil {
		return err
	}
	err = rs.DB.Write(ctx, rs.Now(), func(tx *store.Tx) error {
		p, ok, err := peopledb.FindReset(ctx, tx.Reads, tokenHash(token), tx.Now)
		if err != nil || !ok {
			return or(err, usedReset())
		}
		ended, err := setPassword(ctx, tx, p.ID, hash, "")
		if err != nil {
			return err
		}
		return auditPerson(ctx, tx, v, p, base.Change{Operation: operation.ResetPassword, Subject: p.Email, After: map[string]any{"endedSessions": ended}})
	})
	if err == nil {
		v.Device = "" // all attempts are forgotten
		err = rs.SignIns.succeed(ctx, v, p)
	}
	return err
}
