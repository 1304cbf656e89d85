package account

import "kith/backend/portal/frame"

var resetRoutes = frame.Routes{
	"GET /reset/{token}":  resetPage,
	"POST /reset/{token}": reset,
}

// resetForm is the data of the page on which a person chooses a new password.
type resetForm struct {
	*frame.Form
	Email string
}

func resetPage(v *frame.Visit) error {
	email, err := v.Engine.Resets.Find(v.Ctx(), v.R.PathValue("token"))
	if err != nil {
		return err
	}
	return v.Page(200, "reset", "Choose a new password", resetForm{v.NewForm(), email})
}

func reset(v *frame.Visit) error {
	f, token := v.NewForm(), v.R.PathValue("token")
	email, err := v.Engine.Resets.Find(v.Ctx(), token)
	if err != nil {
		return err
	}
	if err := v.Engine.Resets.Reset(v.Ctx(), v.Visitor(), token, f.Value("password")); err != nil {
		if !f.Refuse(err, map[string]string{"password": "The password"}) {
			return err
		}
		return v.Page(f.Status(), "reset", "Choose a new password", resetForm{f, email})
	}
	v.SetSession("")
	return v.Redirect(frame.Root + "/signin?done=password-set")
}
