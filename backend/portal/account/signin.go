package account

import (
	"kith/backend/portal/frame"
	"kith/core/people"
)

var signInRoutes = frame.Routes{
	"GET /signin":   signInPage,
	"POST /signin":  signIn,
	"GET /code":     codePage,
	"POST /code":    enterCode,
	"POST /signout": signOut,
}

// signInForm is the data of the sign-in pages.
type signInForm struct {
	*frame.Form
	Next string
}

func signInPage(v *frame.Visit) error {
	if v.SignedIn() {
		return v.Redirect(v.Next(frame.Root))
	}
	return showSignIn(v, v.NewForm())
}

func showSignIn(v *frame.Visit, f *frame.Form) error {
	return v.Page(f.Status(), "signin", "Sign in", signInForm{f, v.Next("")})
}

var signInLabels = map[string]string{"email": "The address", "password": "The password"}

func signIn(v *frame.Visit) error {
	f := v.NewForm()
	token, stage, err := v.Engine.SignIns.SignIn(v.Ctx(), v.Visitor(), f.Value("email"), f.Value("password"))
	if err != nil {
		return f.Again(v, err, signInLabels, showSignIn)
	}
	// A session that the browser brought is not used further: another person may know it.
	if v.Known {
		if err := v.Engine.SignIns.SignOut(v.Ctx(), v.Seat); err != nil {
			return err
		}
	}
	v.SetSession(token)
	if stage == people.SecondFactor {
		return v.Redirect(frame.Root + "/code" + frame.NextQuery(v.Next("")))
	}
	return v.Redirect(v.Next(frame.Root))
}

// waiting reports whether the visitor has given the password, and the one-time code is
// missing.
func waiting(v *frame.Visit) bool { return v.Known && !v.Seat.SignedIn() }

func codePage(v *frame.Visit) error {
	if !waiting(v) {
		return v.Redirect(frame.Root + "/signin" + frame.NextQuery(v.Next("")))
	}
	return showCode(v, v.NewForm())
}

func showCode(v *frame.Visit, f *frame.Form) error {
	return v.Page(f.Status(), "code", "Enter the one-time code", signInForm{f, v.Next("")})
}

func enterCode(v *frame.Visit) error {
	if !waiting(v) {
		return v.Redirect(frame.Root + "/signin?done=session-ended")
	}
	f := v.NewForm()
	token, err := v.Engine.SignIns.Enter(v.Ctx(), v.Visitor(), v.Seat, f.Value("code"))
	if err != nil {
		return f.Again(v, err, map[string]string{"code": "The code"}, showCode)
	}
	v.SetSession(token)
	return v.Redirect(v.Next(frame.Root))
}

func signOut(v *frame.Visit) error {
	if v.Known {
		if err := v.Engine.SignIns.SignOut(v.Ctx(), v.Seat); err != nil {
			return err
		}
	}
	v.SetSession("")
	return v.Redirect(frame.Root + "/signin?done=signed-out")
}
