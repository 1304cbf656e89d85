package people

import "kith/core"

// How long sessions and links live.
const (
	// SessionIdle ends a session that was not used, SessionLife ends any session.
	SessionIdle = core.Day
	SessionLife = 14 * core.Day
	// SecondFactorLife is how long a person has for the one-time code after the password.
	SecondFactorLife = 10 * core.Minute
	// SeenStep is how old the recorded time of the last use gets before it is written
	// again.
	SeenStep = 5 * core.Minute
	// InvitationLife and ResetLife are how long a link to join a tenant and one to choose
	// a new password can be used.
	InvitationLife = 7 * core.Day
	ResetLife      = core.Hour
	// ConfirmLife is how long ago the password must have been given for a change that
	// could lock the person out, or a stranger in.
	ConfirmLife = 15 * core.Minute
	// FailuresShown is how long after a sign-in each page shows the failed ones before it.
	FailuresShown = 5 * core.Minute
)

// Stage is how far a sign-in has progressed.
type Stage string

// The stages of a session.
const (
	// SecondFactor: the password was right, and the one-time code is missing. Such a
	// session permits nothing else.
	SecondFactor Stage = "code"
	SignedIn     Stage = "in"
)

// Session is a sign-in of a person on one device. The cookie has its token, the database
// only a hash of it.
type Session struct {
	// ID names the session in the list of a person's sessions. The token cannot be
	// derived from it.
	ID     string
	Person PersonID
	Stage  Stage
	// Created is when the person signed in, Seen when the session was last used, to within
	// SeenStep. Confirmed is when the password was last given.
	Created, Seen, Confirmed core.Time
	// From and Agent are the IP address and the browser that signed in.
	From, Agent string
	// Failed are the failed sign-ins since the person had signed in before.
	Failed Failures
}

// Failures are wrong passwords and codes for an address.
type Failures struct {
	Times int
	// Last is when the last one was, and From its IP address, empty if it is unknown.
	Last core.Time
	From string
}

// Valid reports whether a session can be used at a time.
func (s Session) Valid(now core.Time) bool {
	if s.Stage == SecondFactor {
		return now < s.Created+SecondFactorLife
	}
	return now < s.Seen+SessionIdle && now < s.Created+SessionLife
}

// Stale reports whether the time of the last use is to be written again.
func (s Session) Stale(now core.Time) bool { return now >= s.Seen+SeenStep }

// IsConfirmed reports whether the password was given recently enough for a change that
// needs it.
func (s Session) IsConfirmed(now core.Time) bool { return now < s.Confirmed+ConfirmLife }
