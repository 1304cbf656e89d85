package account

import (
	"kith/backend/portal/frame"
	"kith/core/people"
)

var invitationRoutes = frame.Routes{
	"GET /invitation/{token}":  invitationPage,
	"POST /invitation/{token}": acceptInvitation,
}

// invited is the data of the page of an invitation.
type invited struct {
	*frame.Form
	people.Invitation
	// SignIn is the path of the sign-in page that leads back here.
	SignIn string
	// Mine is true if the invited person has signed in, Other if another person has.
	Mine, Other bool
}

func newInvited(v *frame.Visit, f *frame.Form) (invited, error) {
	i, err := v.Engine.Members.FindInvitation(v.Ctx(), v.R.PathValue("token"))
	return invited{
		Form: f, Invitation: i, SignIn: frame.Root + "/signin" + frame.NextQuery(v.R.URL.Path),
		Mine: v.SignedIn() && v.Seat.Person.Email == i.Email, Other: v.SignedIn() && v.Seat.Person.Email != i.Email,
	}, err
}

func invitationPage(v *frame.Visit) error {
	data, err := newInvited(v, v.NewForm())
	if err != nil {
		return err
	}
	return v.Page(200, "invitation", "Join "+string(data.Tenant), data)
}

func acceptInvitation(v *frame.Visit) error {
	f := v.NewForm()
	data, err := newInvited(v, f)
	if err != nil {
		return err
	}
	token := v.R.PathValue("token")
	if data.Mine {
		tenant, err := v.Engine.Members.AcceptAs(v.Ctx(), v.Visitor(), v.Seat, token)
		if err != nil {
			return err
		}
		return v.Done(frame.Root+"/t/"+string(tenant), "joined")
	}
	session, err := v.Engine.Members.Accept(v.Ctx(), v.Visitor(), token, f.Value("name"), f.Value("password"))
	if err != nil {
		if !f.Refuse(err, map[string]string{"name": "The name", "password": "The password"}) {
			return err
		}
		return v.Page(f.Status(), "invitation", "Join "+string(data.Tenant), data)
	}
	v.SetSession(session)
	return v.Redirect(frame.Root + "/t/" + string(data.Tenant))
}
