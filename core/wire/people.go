package wire

import (
	"github.com/valyala/fastjson"

	"kith/core/people"
)

// NewMember is a request to invite a member, or, without Email, to change a role.
type NewMember struct{ Email, Role string }

// ParseInvitation parses the body that invites a member: {email, role}.
func ParseInvitation(body []byte) (in NewMember, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "email":
			return take(r.text, &in.Email, key, v)
		case "role":
			return take(r.text, &in.Role, key, v)
		}
		return false
	})
	return in, err
}

// ParseMemberRole parses the body that changes the role of a member: {role}.
func ParseMemberRole(body []byte) (role string, err error) {
	err = object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		return key == "role" && take(r.text, &role, key, v)
	})
	return role, err
}

// Members returns the members and the open invitations of a tenant as JSON, without the
// links of the invitations.
func Members(members []people.Member, open []people.Invitation) []byte {
	w := begin(nil)
	w.number("count", int64(len(members)))
	w.list("members", len(members), func(b []byte, i int) []byte { return appendMember(b, members[i]) })
	w.list("invitations", len(open), func(b []byte, i int) []byte { return appendInvitation(b, open[i], "") })
	return w.end()
}

func appendMember(b []byte, m people.Member) []byte {
	w := begin(b)
	w.text("id", string(m.Person))
	w.text("email", m.Email)
	w.textOrNull("name", m.Name)
	w.text("role", string(m.Role))
	w.boolean("twoStepSignIn", m.TOTP)
	w.date("dateJoined", m.Joined)
	w.date("dateLastSignedIn", m.SignedIn)
	w.boolean("addressProven", m.Proven)
	w.textOrNull("invitedBy", m.InvitedBy)
	return w.end()
}

// NewInvitation returns an invitation that was just made as JSON, with the link that
// accepts it.
func NewInvitation(i people.Invitation, link string) []byte { return appendInvitation(nil, i, link) }

func appendInvitation(b []byte, i people.Invitation, link string) []byte {
	w := begin(b)
	w.text("id", i.ID)
	w.text("email", i.Email)
	w.text("role", string(i.Role))
	w.text("invitedBy", i.By)
	w.date("dateCreated", i.Created)
	w.date("dateExpires", i.Expires)
	if link != "" {
		w.text("link", link)
	}
	return w.end()
}

// AuditEntries returns a page of the audit log as JSON. next is the parameter before of the
// next page, or zero.
func AuditEntries(page []people.Entry, next int64) []byte {
	return pageBefore("entries", page, next, appendAuditEntry)
}

// AuditEntry returns an entry of the audit log as JSON. What it has not is null.
func AuditEntry(e people.Entry) []byte { return appendAuditEntry(nil, e) }

func appendAuditEntry(b []byte, e people.Entry) []byte {
	w := begin(b)
	w.number("seq", e.Seq)
	w.number("date", int64(e.At))
	w.text("actor", e.Actor)
	w.textOrNull("ipAddress", e.From)
	w.text("action", string(e.Action))
	w.text("subject", e.Subject)
	w.rawOrNull("before", e.Before)
	w.rawOrNull("after", e.After)
	w.textOrNull("accountId", string(e.Account))
	w.textOrNull("userId", string(e.User))
	w.textOrNull("invitedBy", e.InvitedBy)
	return w.end()
}
