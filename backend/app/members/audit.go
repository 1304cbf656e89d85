package members

import (
	"context"
	"errors"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/people"
)

// Audits reads the audit log.
type Audits struct{ *base.Base }

// Page returns a page of the audit log of the caller's tenant, newest first. next is what
// AuditFilter.Before is for the next page; 0 after the last.
func (as *Audits) Page(ctx context.Context, c people.Caller, f people.AuditFilter) (page []people.Entry, next int64, err error) {
	if err := errors.Join(c.Require(people.ReadAudit), f.Check()); err != nil {
		return nil, 0, err
	}
	page, err = peopledb.Entries(ctx, as.DB.Reads, c.Tenant, f, people.MaxAuditPage+1)
	if len(page) > people.MaxAuditPage {
		page = page[:people.MaxAuditPage]
		next = page[len(page)-1].Seq
	}
	return page, next, err
}

// Export calls write with the entries that a filter selects, newest first, and adds the
// export itself to the log. It writes at most people.MaxAuditExport entries; complete is
// false if there are more.
func (as *Audits) Export(ctx context.Context, c people.Caller, f people.AuditFilter, format string, write func(people.Entry) error) (complete bool, err error) {
	if err := errors.Join(c.Require(people.ReadAudit), f.Check()); err != nil {
		return false, err
	}
	err = as.DB.Write(ctx, as.Now(), func(tx *store.Tx) error {
		return base.Audit(ctx, tx, c, base.Change{Action: people.AuditExported, Subject: format})
	})
	if err != nil {
		return false, err
	}
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

// Forget removes what is too old: entries of the audit log, expired sessions and
// invitations, and people without a tenant. It returns the number of rows.
func (as *Audits) Forget(ctx context.Context) (removed int, err error) {
	now := as.Now()
	for _, old := range []func(*store.Tx) (int, error){
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldEntries(ctx, tx, now-people.AuditLife, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldSessions(ctx, tx, now-people.SessionLife, base.ForgetBatch)
		},
		func(tx *store.Tx) (int, error) {
			return peopledb.DeleteOldInvitations(ctx, tx, now, base.ForgetBatch)
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
