package peopledb

import (
	"context"
	"strings"

	"kith/backend/store"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

var entryColumns = store.Selection[people.Entry]{
	store.Col(`seq`, func(e *people.Entry) any { return &e.Seq }),
	store.Col(`at`, func(e *people.Entry) any { return &e.At }),
	store.Col(`person`, func(e *people.Entry) any { return &e.Person }),
	store.Col(`actor`, func(e *people.Entry) any { return &e.Actor }),
	store.Col(`ip`, func(e *people.Entry) any { return &e.From }),
	store.Col(`action`, func(e *people.Entry) any { return &e.Action }),
	store.Col(`subject`, func(e *people.Entry) any { return &e.Subject }),
	store.Col(`was`, func(e *people.Entry) any { return &e.Before }),
	store.Col(`became`, func(e *people.Entry) any { return &e.After }),
	store.Col(`account_id`, func(e *people.Entry) any { return &e.Account }),
	store.Col(`user_id`, func(e *people.Entry) any { return &e.User }),
	store.Col(`invited_by`, func(e *people.Entry) any { return &e.InvitedBy }),
}

// Audit adds an entry to the audit log of a tenant, at the time of the transaction.
func Audit(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, e people.Entry) error {
	return tx.Exec(ctx, "audit", `INSERT INTO audit_entry (tenant, at, person, actor, ip, action, subject, was, became, account_id, user_id, invited_by)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, string(tenant), int64(tx.Now), string(e.Person), e.Actor, e.From, string(e.Action), e.Subject,
		e.Before, e.After, string(e.Account), string(e.User), e.InvitedBy)
}

// AuditPerson adds an entry about a person to the audit logs of all tenants of the person.
func AuditPerson(ctx context.Context, tx *store.Tx, p Person, e people.Entry) error {
	all, err := Memberships(ctx, tx.Reads, p.ID)
	for _, m := range all {
		if err == nil {
			if e.Person == p.ID {
				e.InvitedBy = people.Vouching(p.Proven != 0, m.InvitedBy)
			}
			err = Audit(ctx, tx, m.Tenant, e)
		}
	}
	return err
}

// Entries returns up to limit entries of the audit log of a tenant, newest first.
func Entries(ctx context.Context, r store.Reads, tenant core.TenantAlias, f people.AuditFilter, limit int) ([]people.Entry, error) {
	query, args := entriesOf(f)
	args[0], args[len(args)-1] = string(tenant), limit
	rows, err := r.QueryContext(ctx, query, args...)
	return entryColumns.All(rows, err, "audit log")
}

// EntriesAbout returns up to limit entries of the audit log about a user, newest first.
func EntriesAbout(ctx context.Context, r store.Reads, tenant core.TenantAlias, account core.AccountID, user core.UserID, limit int) ([]people.Entry, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+entryColumns.SQL()+` FROM audit_entry WHERE tenant = ? AND account_id = ? AND user_id = ? AND user_id <> ''
		ORDER BY seq DESC LIMIT ?`, string(tenant), string(account), string(user), limit)
	return entryColumns.All(rows, err, "audit log about a user")
}

var noticeColumns = store.Selection[people.Notice]{
	store.Col(`max(at)`, func(n *people.Notice) any { return &n.At }), // ip is of the same row
	store.Col(`action`, func(n *people.Notice) any { return &n.Action }),
	store.Col(`ip`, func(n *people.Notice) any { return &n.From }),
	store.Col(`actor`, func(n *people.Notice) any { return &n.Actor }),
	store.Col(`count(DISTINCT at)`, func(n *people.Notice) any { return &n.Times }),
}

// Notices returns the changes of how a person signs in, newest first, which were made from a
// time until another one, from the audit logs of the person's tenants. Equal changes of one
// actor are one notice, so that many of them hide no other one.
func Notices(ctx context.Context, r store.Reads, p Person, from, until core.Time) ([]people.Notice, error) {
	var changes []string
	for _, a := range operation.SignInChanges() {
		changes = append(changes, string(a))
	}
	rows, err := r.QueryContext(ctx, `SELECT `+noticeColumns.SQL()+` FROM audit_entry
		WHERE tenant IN (SELECT tenant FROM membership WHERE person = ?) AND subject = ? AND at >= ? AND at < ? AND action IN (SELECT value FROM json_each(?))
		GROUP BY action, actor ORDER BY 1 DESC, action`, string(p.ID), p.Email, int64(max(from, p.Created)), int64(until), store.TextList(changes))
	return noticeColumns.All(rows, err, "notices")
}

// ProgramEntries returns up to limit entries about the creation and the changes of a
// program, newest first.
func ProgramEntries(ctx context.Context, r store.Reads, tenant core.TenantAlias, key core.ProgramKey, limit int) ([]people.Entry, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+entryColumns.SQL()+` FROM audit_entry WHERE tenant = ? AND action IN (?, ?) AND subject = ?
		ORDER BY seq DESC LIMIT ?`, string(tenant), string(operation.CreateProgram.Action), string(operation.ChangeProgram.Action), string(key), limit)
	return entryColumns.All(rows, err, "audit log of a program")
}

// entriesOf returns the statement that selects a page of entries, and its arguments. The
// first argument is the tenant, the last the limit; both are to be set.
func entriesOf(f people.AuditFilter) (query string, args []any) {
	var w store.Where
	if f.Before != 0 {
		w.Require(`seq < ?`, f.Before)
	}
	if f.Action != "" {
		w.Require(`action = ?`, string(f.Action))
	}
	contains := func(column, part string) {
		if part != "" {
			w.Require(`lower(`+column+`) LIKE ? ESCAPE '\'`, `%`+escaped.Replace(strings.ToLower(part))+`%`)
		}
	}
	contains(`actor`, f.Actor)
	contains(`subject`, f.Subject)
	w.Span(`at`, f.Span)
	return `SELECT ` + entryColumns.SQL() + ` FROM audit_entry WHERE tenant = ? AND ` + w.SQL() + `
		ORDER BY seq DESC LIMIT ?`, append(w.ArgsFor(""), 0)
}

// escaped escapes the wildcards of LIKE.
var escaped = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// DeleteOldEntries removes up to limit entries that are older than a time.
func DeleteOldEntries(ctx context.Context, tx *store.Tx, before core.Time, limit int) (int, error) {
	return tx.Count(ctx, "delete old audit entries", `DELETE FROM audit_entry WHERE seq IN (SELECT seq FROM audit_entry WHERE at < ? ORDER BY at LIMIT ?)`,
		int64(before), limit)
}

// EntriesOf returns the last entries, up to limit, of the audit log of a tenant with
// exactly this subject, the latest first.
func EntriesOf(ctx context.Context, r store.Reads, tenant core.TenantAlias, subject string, limit int) ([]people.Entry, error) {
	rows, err := r.QueryContext(ctx, `SELECT `+entryColumns.SQL()+` FROM audit_entry WHERE tenant = ? AND subject = ? ORDER BY seq DESC LIMIT ?`,
		string(tenant), subject, limit)
	return entryColumns.All(rows, err, "audit log of a subject")
}
