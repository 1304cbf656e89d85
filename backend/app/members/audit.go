package members

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"time"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/exportfile"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/wire"
)

// Audits reads the audit log.
type Audits struct{ *base.Base }

// Page returns a page of the audit log of the caller's tenant, newest first. next is what
// AuditFilter.Before is for the next page; 0 after the last.
func (as *Audits) Page(ctx context.Context, c people.Caller, f people.AuditFilter) (page []people.Entry, next int64, err error) {
	if err := errors.Join(operation.ReadAudit.Require(c), f.Check(operation.Actions())); err != nil {
		return nil, 0, err
	}
	limit := cmp.Or(f.Limit, people.MaxAuditPage)
	page, err = peopledb.Entries(ctx, as.DB.Reads, c.Tenant, f, limit+1)
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].Seq
	}
	return page, next, err
}

// Refused records that the caller's role did not permit an action, which what names: in the
// metrics always, and in the audit log up to people.MaxAuditRefused times an hour.
func (as *Audits) Refused(ctx context.Context, c people.Caller, what string) error {
	as.ReportWork(base.WorkPermission, base.PermissionPerson, base.OutcomeRefused, 1)
	recent := people.AuditFilter{Action: operation.TryForbidden.Action, Actor: c.Email, Span: core.Span{From: as.Now() - core.Hour}}
	full := func(r store.Reads) (bool, error) {
		earlier, err := peopledb.Entries(ctx, r, c.Tenant, recent, people.MaxAuditRefused)
		return len(earlier) == people.MaxAuditRefused, err
	}
	if is, err := full(as.DB.Reads); err != nil || is {
		return err // without a transaction
	}
	return as.DB.Write(ctx, as.Now(), func(tx *store.Tx) error {
		if is, err := full(tx.Reads); err != nil || is {
			return err
		}
		return base.Audit(ctx, tx, c, base.Change{Operation: operation.TryForbidden, Subject: what})
	})
}

// Export writes the entries that a filter selects to a file, newest first, and adds the
// export itself to the log. With a zone, a CSV file is for people with a spreadsheet. It writes
// at most people.MaxAuditExport entries; complete is false if there are more.
func (as *Audits) Export(ctx context.Context, c people.Caller, f people.AuditFilter, format people.AuditFormat, zone *time.Location, to io.Writer) (complete bool, err error) {
	if err := errors.Join(operation.ReadAudit.Require(c), f.Check(operation.Actions())); err != nil {
		return false, err
	}
	err = as.DB.Write(ctx, as.Now(), func(tx *store.Tx) error {
		return base.Audit(ctx, tx, c, base.Change{Operation: operation.ExportAudit, Subject: string(format)})
	})
	if err != nil {
		return false, err
	}
	if format == people.AuditJSON {
		return as.exportJSON(ctx, c, f, to)
	}
	if zone != nil {
		if _, err := io.WriteString(to, exportfile.Mark); err != nil {
			return false, err
		}
	}
	out := csv.NewWriter(to)
	if err := out.Write(exportfile.AuditHeader(zone)); err != nil {
		return false, err
	}
	complete, err = as.each(ctx, c, f, func(e people.Entry) error { return out.Write(exportfile.AuditRow(e, zone)) })
	out.Flush()
	return complete, errors.Join(err, out.Error())
}

// exportJSON writes entries as a JSON array.
func (as *Audits) exportJSON(ctx context.Context, c people.Caller, f people.AuditFilter, to io.Writer) (complete bool, err error) {
	before := "["
	complete, err = as.each(ctx, c, f, func(e people.Entry) error {
		_, err := to.Write(append([]byte(before), wire.AuditEntry(e)...))
		before = ",\n"
		return err
	})
	if err != nil {
		return false, err
	}
	end := "]\n"
	if before == "[" {
		end = "[]\n"
	}
	_, err = io.WriteString(to, end)
	return complete, err
}

// each calls write with the first people.MaxAuditExport entries that a filter selects.
func (as *Audits) each(ctx context.Context, c people.Caller, f people.AuditFilter, write func(people.Entry) error) (complete bool, err error) {
	f.Limit = 0
	for n := 0; ; {
		page, next, err := as.Page(ctx, c, f)
		if err != nil {
			return false, err
		}
		for _, e := range page {
			if n++; n > people.MaxAuditExport {
				return false, nil
			}
			if err := write(e); err != nil {
				return false, err
			}
		}
		if next == 0 {
			return true, nil
		}
		f.Before = next
	}
}

// lonelyLife is how long a person who is a member of no tenant is kept, since a tenant may
// be restored.
const lonelyLife = 30 * core.Day

// failuresLife is how long failed sign-ins of an address are kept whose person does not
// come, or does not exist.
const failuresLife = 30 * core.Day

// Forget removes what is too old: entries of the audit log, expired sessions and
// invitations, and people without a tenant. It returns the number of rows.
func (as *Audits) Forget(ctx context.Context) (removed int, err error) {
	now := as.Now()
	for _, old := range []func(*store.Tx) (int, error){
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldEntries(ctx, tx, now-people.AuditLife, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldSessions(ctx, tx, now-people.MaxSessionLife, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldInvitations(ctx, tx, now, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldFailures(ctx, tx, now-failuresLife, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldLonely(ctx, tx, now-lonelyLife, base.ForgetBatch)
		},
	} {
		n, failed := as.Base.Forget(ctx, old)
		removed, err = removed+n, errors.Join(err, failed)
	}
	return removed, err
}
