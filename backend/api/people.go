package api

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/app/members"
	"kith/core"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/wire"
)

func (a *API) peopleRoutes() routes {
	const invitations = tenantPath + "/members/invitations"
	return routes{
		tenantPath + "/members":          {"GET": a.keyed(operation.ReadMembers, a.members)},
		tenantPath + "/members/{person}": {"PUT": a.keyed(operation.ChangeMemberRole, with(body(wire.ParseMemberRole), a.changeMember)), "DELETE": a.keyed(operation.RemoveMember, a.removeMember)},
		invitations:                      {"POST": a.keyed(operation.InviteMember, created(with(body(wire.ParseInvitation), a.inviteMember)))},
		invitations + "/{id}":            {"DELETE": a.keyed(operation.RevokeInvitation, a.revokeInvitation)},
		tenantPath + "/audit":            {"GET": a.keyed(operation.ReadAudit, a.audit)},
		tenantPath + "/audit/export":     {"GET": a.exportAudit},
	}
}

// members handles GET /members.
func (a *API) members(c *call) ([]byte, error) {
	return encodeBoth(wire.Members)(a.Engine.Members.List(c.Context(), c.member()))
}

// inviteMember handles POST /members/invitations. The answer has the link of the
// invitation, once.
func (a *API) inviteMember(c *call, in wire.NewMember) ([]byte, error) {
	i, token, err := a.Engine.Members.Invite(c.Context(), c.member(), in.Email, in.Role)
	if err != nil {
		return nil, err
	}
	return wire.NewInvitation(i, link.Sent(a.PortalURL, seenScheme(c.Request), seenHost(c.Request), members.InvitationPath+token)), nil
}

// revokeInvitation handles DELETE /members/invitations/{id}.
func (a *API) revokeInvitation(c *call) ([]byte, error) {
	return nil, a.Engine.Members.RevokeInvitation(c.Context(), c.member(), c.PathValue("id"))
}

// changeMember handles PUT /members/{person}: it changes the role of a member.
func (a *API) changeMember(c *call, role string) ([]byte, error) {
	return nil, a.Engine.Members.ChangeRole(c.Context(), c.member(), people.PersonID(c.PathValue("person")), role)
}

// removeMember handles DELETE /members/{person}.
func (a *API) removeMember(c *call) ([]byte, error) {
	return nil, a.Engine.Members.Remove(c.Context(), c.member(), people.PersonID(c.PathValue("person")))
}

// auditFilter reads the query parameters that select entries of the audit log.
func auditFilter(r *http.Request) (f people.AuditFilter, err error) {
	q := r.URL.Query()
	f = people.AuditFilter{Actor: q.Get("actor"), Action: people.Action(strings.ToLower(q.Get("action"))), Subject: q.Get("subject")}
	if f.Span.From, f.Span.Before, err = period(q); err != nil {
		return f, err
	}
	if f.Span.Before != 0 && f.Span.From >= f.Span.Before {
		return f, core.Invalid("until", "must be after from; exchange the two times")
	}
	if before := q.Get("before"); before != "" {
		if f.Before, err = strconv.ParseInt(before, 10, 64); err != nil || f.Before < 1 {
			return f, core.Invalid("before", "must be the value of next of the page before, or the seq of an entry")
		}
	}
	return f, nil
}

// audit handles GET /audit.
func (a *API) audit(c *call) ([]byte, error) {
	f, err := auditFilter(c.Request)
	if err != nil {
		return nil, err
	}
	f.Limit, err = count(c.URL.Query(), "limit", people.MaxAuditPage, people.MaxAuditPage)
	if err != nil || f.Limit == 0 {
		return nil, core.Invalid("limit", "must be a whole number from 1 to "+strconv.Itoa(people.MaxAuditPage))
	}
	return encodeBoth(wire.AuditEntries)(a.Engine.Audits.Page(c.Context(), c.member(), f))
}

// exportAudit handles GET /audit/export: the entries that a filter selects, as a file.
func (a *API) exportAudit(w http.ResponseWriter, r *http.Request) error {
	caller, err := a.keyHolder(w, r, operation.ExportAudit)
	if err != nil {
		return err
	}
	f, err := auditFilter(r)
	if err != nil {
		return err
	}
	format, err := people.ParseAuditFormat("format", r.URL.Query().Get("format"))
	if err != nil {
		return err
	}
	name := "audit-" + string(caller.Tenant.Alias) + "." + string(format)
	return a.sendWritten(w, r, name, format.Type(), func(to io.Writer) error {
		_, err := a.Engine.Audits.Export(r.Context(), caller.Member(seenIP(r)), f, format, nil, to)
		return err
	})
}
