package members

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/people"
)

// recognises reports whether a person has signed in with the browser of a visitor before, and
// has not changed the password since.
func (si *SignIns) recognises(v Visitor, p peopledb.Person) bool {
	if v.Device == "" {
		return false
	}
	text, err := si.Keys.Open(base.DevicePlace, v.Device)
	if err != nil {
		return false
	}
	person, at, _ := strings.Cut(text, " ")
	since, err := strconv.ParseInt(at, 10, 64)
	return err == nil && person == string(p.ID) && core.Time(since) >= p.PasswordAt && si.Now() < core.Time(since)+people.DeviceLife
}

// NewDevice returns a Visitor.Device for the person of a complete sign-in, or "" if the
// browser has one.
func (si *SignIns) NewDevice(v Visitor, s Seat) (string, error) {
	if si.recognises(v, s.Person) {
		return "", nil
	}
	return si.Seal(base.DevicePlace, string(s.Person.ID)+" "+strconv.FormatInt(int64(si.Now()), 10))
}

// reserve is Limits.reserve for a person, whose own browsers have attempts of their own:
// wrong passwords that others send cannot lock the person out of them. All browsers of a
// person share these attempts: a session, which may be stolen, gets as many Visitor.Device
// as it asks for. If none are left, the browser is like any other.
func (si *SignIns) reserve(v Visitor, p peopledb.Person) (giveBack func(), err error) {
	if si.recognises(v, p) && si.Limits.devices.Take(string(p.ID)) {
		return func() { si.Limits.devices.Give(string(p.ID)) }, nil
	}
	return si.Limits.reserve(v, p.Email)
}

// withPassword returns the person with an address and a password; ok is false if there is
// none. The person who has signed in with the visitor's browser before has attempts of their
// own; see reserve.
func (si *SignIns) withPassword(ctx context.Context, v Visitor, email, password string) (p peopledb.Person, ok bool, err error) {
	same, err := peopledb.WithEmail(ctx, si.DB.Reads, email)
	if err != nil {
		return p, false, err
	}
	mine := slices.IndexFunc(same, func(p peopledb.Person) bool { return si.recognises(v, p) })
	if mine >= 0 && si.Limits.devices.Take(string(same[mine].ID)) {
		p, ok, err = si.Passwords.find(ctx, v, password, same[mine])
		if err != nil || ok {
			si.Limits.devices.Give(string(same[mine].ID))
			return p, ok, err
		}
		if same = slices.Delete(same, mine, mine+1); len(same) == 0 {
			return p, false, nil
		}
	}
	giveBack, err := si.Limits.reserve(v, email)
	if err != nil {
		si.ReportWork(base.WorkSignIn, base.SignInPassword, base.OutcomeRefused, 1)
		return p, false, err
	}
	if p, ok, err = si.Passwords.find(ctx, v, password, same...); err != nil || ok {
		giveBack()
	}
	return p, ok, err
}
