package people

import "kith/core"

// How long sessions and links live.
const (
	// MaxSessionLife ends any session, and MinSessionIdle is the least SessionLimits.Idle.
	MaxSessionLife = 14 * core.Day
	MinSessionIdle = core.Minute
	// SecondFactorLife is how long a person has for the one-time code after the password.
	SecondFactorLife = 10 * core.Minute
	// InvitationLife and ResetLife are how long a link to join a tenant and one to choose
	// a new password can be used.
	InvitationLife = 7 * core.Day
	ResetLife      = core.Hour
	// ConfirmLife is how long ago the password must have been given for a change that
	// could lock the person out, or a stranger in.
	ConfirmLife = 15 * core.Minute
	// DeviceLife is how long a browser that has signed in is recognised.
	DeviceLife = 180 * core.Day
	// NoticesShown is for how long a new sign-in shows an earlier change of the person's
	// sign-in, and NoticesListed for how long the profile lists it.
	NoticesShown  = 7 * core.Day
	NoticesListed = 90 * core.Day
	// FailuresShown is how long after a sign-in each page shows the failed ones before it.
	FailuresShown = 5 * core.Minute
)

// Notice is a change of how a person signs in, as the person sees it, in case a thief made it.
type Notice struct {
	At     core.Time
	Action Action
	// From is the IP address that made the change, empty if it is unknown, and Actor who
	// made it, as the audit log names them.
	From, Actor string
	// Times is how often the actor made it; At and From are those of the last time.
	Times int
}

// SessionLimits is how long sessions live, as the operator has decided.
type SessionLimits struct {
	// Idle ends a session that was not used, Life ends any session.
	Idle, Life core.Time
}

// DefaultSessionLimits returns the limits of OWASP ASVS 4.0.3, 3.3.2, for level 2.
func DefaultSessionLimits() SessionLimits {
	return SessionLimits{Idle: 30 * core.Minute, Life: 12 * core.Hour}
}

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
	// a sixth of SessionLimits.Idle. Confirmed is when the password was last given.
	Created, Seen, Confirmed core.Time
	// From and Agent are the IP address and the browser that signed in.
	From, Agent string
	// Entered are the live tenants that the session was used in, each after a blank.
	Entered string
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
func (l SessionLimits) Valid(s Session, now core.Time) bool {
	if s.Stage == SecondFactor {
		return now < s.Created+SecondFactorLife
	}
	return now < s.Seen+l.Idle && now < s.Created+l.Life
}

// Stale reports whether the time of a session's last use is to be written again.
func (l SessionLimits) Stale(s Session, now core.Time) bool { return now >= s.Seen+l.Idle/6 }

// IsConfirmed reports whether the password was given recently enough for a change that
// needs it.
func (s Session) IsConfirmed(now core.Time) bool { return now < s.Confirmed+ConfirmLife }
