package peopledb

import (
	"context"

	"kith/backend/store"
	"kith/core"
	"kith/core/people"
)

var sessionColumns = store.Selection[people.Session]{
	store.Col(`s.id`, func(s *people.Session) any { return &s.ID }),
	store.Col(`s.person`, func(s *people.Session) any { return &s.Person }),
	store.Col(`s.stage`, func(s *people.Session) any { return &s.Stage }),
	store.Col(`s.created_at`, func(s *people.Session) any { return &s.Created }),
	store.Col(`s.seen_at`, func(s *people.Session) any { return &s.Seen }),
	store.Col(`s.confirmed_at`, func(s *people.Session) any { return &s.Confirmed }),
	store.Col(`s.ip`, func(s *people.Session) any { return &s.From }),
	store.Col(`s.agent`, func(s *people.Session) any { return &s.Agent }),
	store.Col(`s.entered`, func(s *people.Session) any { return &s.Entered }),
	store.Col(`s.failed`, func(s *people.Session) any { return &s.Failed.Times }),
	store.Col(`s.failed_at`, func(s *people.Session) any { return &s.Failed.Last }),
	store.Col(`s.failed_from`, func(s *people.Session) any { return &s.Failed.From }),
}

// owned is a session with its person.
type owned struct {
	people.Session
	Person Person
}

var ownedColumns = store.Nested(sessionColumns, func(o *owned) *people.Session { return &o.Session }).
	With(store.Nested(personColumns, func(o *owned) *Person { return &o.Person }))

// FindSession returns the session with a hash and its person; ok is false if there is
// none. The session may have expired.
func FindSession(ctx context.Context, r store.Reads, hash string) (s people.Session, p Person, ok bool, err error) {
	var o owned
	ok, err = ownedColumns.One(r.QueryRowContext(ctx, `SELECT `+ownedColumns.SQL()+`
		FROM person_session s JOIN person p ON p.id = s.person WHERE s.hash = ?`, hash), "session", &o)
	return o.Session, o.Person, ok, err
}

// Sessions returns the sessions of a person in which a sign-in was completed, newest
// first.
func Sessions(ctx context.Context, r store.Reads, id people.PersonID) ([]people.Session, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+sessionColumns.SQL()+` FROM person_session s
		WHERE s.person = ? AND s.stage = 'in' ORDER BY s.created_at DESC, s.id DESC LIMIT ?`, string(id), people.MaxSessions)
	return sessionColumns.All(rows, err, "sessions")
}

// InsertSession adds a session. If the person then has more than people.MaxSessions at the
// same stage, it removes the oldest of them: a password alone ends no complete sign-in.
func InsertSession(ctx context.Context, tx *store.Tx, hash string, s people.Session) error {
	err := tx.Exec(ctx, "insert session", `INSERT INTO person_session (hash, id, person, stage, created_at, seen_at, confirmed_at, ip, agent, failed, failed_at, failed_from)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, hash, s.ID, string(s.Person), string(s.Stage), int64(s.Created), int64(s.Seen), int64(s.Confirmed), s.From, s.Agent,
		s.Failed.Times, int64(s.Failed.Last), s.Failed.From)
	if err != nil {
		return err
	}
	return tx.Exec(ctx, "delete old sessions", `DELETE FROM person_session WHERE hash IN (SELECT hash FROM person_session
		WHERE person = ? AND stage = ? ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?)`, string(s.Person), string(s.Stage), people.MaxSessions)
}

// RecordSignIn records that a person signed in at the time of the transaction.
func RecordSignIn(ctx context.Context, tx *store.Tx, id people.PersonID) error {
	return tx.Exec(ctx, "record sign-in", `UPDATE person SET signed_in_at = ? WHERE id = ?`, int64(tx.Now), string(id))
}

// SeeSession records that a session was used at the time of the transaction.
func SeeSession(ctx context.Context, tx *store.Tx, hash string) error {
	return tx.Exec(ctx, "see session", `UPDATE person_session SET seen_at = max(seen_at, ?) WHERE hash = ?`, int64(tx.Now), hash)
}

// EnterTenant records that a session was used in a live tenant. It returns false if that is
// recorded already.
func EnterTenant(ctx context.Context, tx *store.Tx, hash string, tenant core.TenantAlias) (bool, error) {
	return tx.Changed(ctx, "enter tenant", `UPDATE person_session SET entered = entered || ' ' || ?1 WHERE hash = ?2 AND instr(entered || ' ', ' ' || ?1 || ' ') = 0`, string(tenant), hash)
}

// ConfirmSession records that the password was given in a session at the time of the
// transaction.
func ConfirmSession(ctx context.Context, tx *store.Tx, hash string) error {
	return tx.Exec(ctx, "confirm session", `UPDATE person_session SET confirmed_at = ? WHERE hash = ?`, int64(tx.Now), hash)
}

// DeleteSession removes the session with a hash, if there is one.
func DeleteSession(ctx context.Context, tx *store.Tx, hash string) error {
	return tx.Exec(ctx, "delete session", `DELETE FROM person_session WHERE hash = ?`, hash)
}

// DeleteSessionByID removes one session of a person. It returns false if the person has
// no such session.
func DeleteSessionByID(ctx context.Context, tx *store.Tx, id people.PersonID, session string) (bool, error) {
	return tx.Changed(ctx, "delete session", `DELETE FROM person_session WHERE person = ? AND id = ?`, string(id), session)
}

// DeleteSessions removes all sessions of a person but the one with the hash except, and
// returns how many.
func DeleteSessions(ctx context.Context, tx *store.Tx, id people.PersonID, except string) (int, error) {
	return tx.Count(ctx, "delete sessions", `DELETE FROM person_session WHERE person = ? AND hash <> ?`, string(id), except)
}

// DeleteOldSessions removes up to limit sessions that were created before a time.
func DeleteOldSessions(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "delete expired sessions", `DELETE FROM person_session WHERE hash IN (
		SELECT hash FROM person_session WHERE created_at < ? LIMIT ?)`, int64(before), limit)
}
