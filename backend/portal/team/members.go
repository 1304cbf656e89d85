package team

import (
	"cmp"

	"kith/backend/app/members"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

// memberList is the data of the members page.
type memberList struct {
	*frame.Form
	Members     []people.Member
	Invitations []people.Invitation
	Roles       []frame.Option
	// May is true if the caller may change members.
	May bool
	// SecondStep is true if two-step sign-in is required.
	SecondStep bool
	// Link is the link of an invitation that was just made, for the address To.
	Link, To string
	Self     people.PersonID
}

func membersPage(v *frame.Visit, f *frame.Form) error { return showMembers(v, f, "", "") }

func showMembers(v *frame.Visit, f *frame.Form, link, to string) error {
	all, open, err := v.Engine.Members.List(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	data := memberList{
		Form: f, Members: all, Invitations: open, Roles: roleOptions(f.Value("role"), people.Viewer), May: v.May(operation.InviteMember),
		Link: link, To: to, Self: v.Caller.Person,
	}
	if data.SecondStep, err = v.Engine.Members.NeedsSecondStep(v.Ctx(), v.Caller); err != nil {
		return err
	}
	return v.Page(f.Status(), "members", "Members", data)
}

// roleOptions returns the roles as options.
func roleOptions(chosen string, otherwise people.Role) (all []frame.Option) {
	for _, role := range people.Roles() {
		all = append(all, frame.Option{Value: string(role), Label: frame.RoleName(role), Hint: role.Describe()})
	}
	return frame.Choose(all, cmp.Or(chosen, string(otherwise)))
}

// invite makes an invitation and shows its link, once.
func invite(v *frame.Visit) error {
	f := v.NewForm()
	var i people.Invitation
	var token string
	err := frame.Confirmed(v, f, "password", func() (err error) {
		i, token, err = v.Engine.Members.Invite(v.Ctx(), v.Caller, f.Value("email"), f.Value("role"))
		return err
	})
	if err != nil {
		return f.Again(v, err, map[string]string{"email": "The address", "role": "The role", "password": "Your password"}, membersPage)
	}
	return showMembers(v, &frame.Form{}, v.Link(members.InvitationPath+token), i.Email)
}

// requireSecondStep requires two-step sign-in of all members, or of none.
func requireSecondStep(v *frame.Visit) error {
	f := v.NewForm()
	on, done := f.Value("required") == "yes", "second-step-off"
	if on {
		done = "second-step-on"
	}
	err := frame.Confirmed(v, f, "second-step-password", func() error { return v.Engine.Members.RequireSecondStep(v.Ctx(), v.Caller, on) })
	if err == nil {
		return v.Done(v.SectionPath(), done)
	}
	return f.Again(v, err, map[string]string{"second-step-password": "Your password", "second-step": "Two-step sign-in"}, membersPage)
}

func revokeInvitation(v *frame.Visit) error {
	if err := v.Engine.Members.RevokeInvitation(v.Ctx(), v.Caller, v.R.PostForm.Get("invitation")); err != nil {
		return err
	}
	return v.Done(v.SectionPath(), "invitation-ended")
}

// memberForm is the data of the page of a member.
type memberForm struct {
	*frame.Form
	Member people.Member
	Roles  []frame.Option
	Self   bool
}

func showMember(v *frame.Visit, f *frame.Form) error {
	if err := operation.RemoveMember.Require(v.Caller); err != nil {
		return err
	}
	all, _, err := v.Engine.Members.List(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	for _, m := range all {
		if string(m.Person) == v.R.PathValue("person") {
			data := memberForm{Form: f, Member: m, Roles: roleOptions(f.Value("role"), m.Role), Self: m.Person == v.Caller.Person}
			return v.Page(f.Status(), "member", m.Email, data)
		}
	}
	return core.NotFound("This person is not a member any more.")
}

func changeRole(v *frame.Visit) error {
	f := v.NewForm()
	role, changed := f.Changed("role")
	if !changed {
		return v.Redirect(v.SectionPath())
	}
	err := frame.Confirmed(v, f, "password", func() error {
		return v.Engine.Members.ChangeRole(v.Ctx(), v.Caller, people.PersonID(v.R.PathValue("person")), role)
	})
	return afterMember(v, f, err, "role-changed")
}

func removeMember(v *frame.Visit) error {
	f := v.NewForm()
	err := frame.Confirmed(v, f, "remove-password", func() error {
		return v.Engine.Members.Remove(v.Ctx(), v.Caller, people.PersonID(v.R.PathValue("person")))
	})
	return afterMember(v, f, err, "member-removed")
}

// afterMember shows the members after a change, or what is wrong with it.
func afterMember(v *frame.Visit, f *frame.Form, err error, done string) error {
	if err == nil {
		return v.Done(v.SectionPath(), done)
	}
	return f.Again(v, err, map[string]string{"password": "Your password", "remove-password": "Your password"}, showMember)
}
