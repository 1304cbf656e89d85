package account

import (
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"rsc.io/qr"

	"kith/backend/portal/frame"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/people"
)

var profileRoutes = frame.Routes{
	"GET /profile":                        frame.SignedInOnly(frame.Show(showProfile)),
	"POST /profile/name":                  frame.SignedInOnly(rename),
	"GET /profile/password":               frame.SignedInOnly(frame.Show(showPassword)),
	"POST /profile/password":              frame.SignedInOnly(changePassword),
	"POST /profile/session/{session}/end": frame.SignedInOnly(revokeSession),
	"GET /profile/confirm":                frame.SignedInOnly(frame.Show(showConfirm)),
	"POST /profile/confirm":               frame.SignedInOnly(confirm),
	"GET /profile/two-step":               confirmed(frame.Show(showTOTP)),
	"POST /profile/two-step/begin":        confirmed(beginTOTP),
	"POST /profile/two-step/confirm":      confirmed(confirmTOTP),
	"POST /profile/two-step/codes":        confirmed(renewCodes),
	"POST /profile/two-step/off":          confirmed(disableTOTP),
}

const profilePath = frame.Root + "/profile"

// profile is the data of the profile page.
type profile struct {
	*frame.Form
	Person   peopledb.Person
	Tenants  []peopledb.Membership
	Sessions []openSession
	Codes    int
	// Idle and Life are how long a session lives, as text.
	Idle, Life string
	Notices    []people.Notice
}

type openSession struct {
	people.Session
	Browser string
	Current bool
}

func showProfile(v *frame.Visit, f *frame.Form) error {
	limits := v.Engine.SignIns.Sessions
	data := profile{Form: f, Person: v.Seat.Person, Tenants: v.Tenants, Idle: durationOf(limits.Idle), Life: durationOf(limits.Life)}
	sessions, err := v.Engine.Profiles.Sessions(v.Ctx(), v.Seat)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		data.Sessions = append(data.Sessions, openSession{s, browserOf(s.Agent), s.ID == v.Seat.ID})
	}
	if data.Codes, err = v.Engine.Profiles.CountRecovery(v.Ctx(), v.Seat); err != nil {
		return err
	}
	if data.Notices, err = v.Engine.Profiles.Notices(v.Ctx(), v.Seat); err != nil {
		return err
	}
	return v.Page(f.Status(), "profile", "Your profile", data)
}

// durationOf returns a duration in the largest unit of which it is a whole number.
func durationOf(d core.Time) string {
	switch {
	case d%core.Day == 0:
		return frame.Plural(int(d/core.Day), "day", "days")
	case d%core.Hour == 0:
		return frame.Plural(int(d/core.Hour), "hour", "hours")
	}
	return frame.Plural(int(d/core.Minute), "minute", "minutes")
}

// browserOf returns a browser and its system in the words that people use, from what it
// calls itself.
func browserOf(agent string) string {
	find := func(names ...string) string {
		for i := 0; i < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	browser := find("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari", "curl/", "curl")
	system := find("iPhone", "iPhone", "iPad", "iPad", "Android", "Android", "Windows", "Windows", "Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case browser == "":
		return "Unknown browser"
	case system == "":
		return browser
	}
	return browser + " on " + system
}

func rename(v *frame.Visit) error {
	f := v.NewForm()
	if err := v.Engine.Profiles.Rename(v.Ctx(), v.Seat, f.Value("name")); err != nil {
		return f.Again(v, err, map[string]string{"name": "The name"}, showProfile)
	}
	return v.Done(profilePath, "renamed")
}

func showPassword(v *frame.Visit, f *frame.Form) error {
	return v.Page(f.Status(), "password", "Change your password", resetForm{f, v.Seat.Person.Email})
}

func changePassword(v *frame.Visit) error {
	f := v.NewForm()
	err := v.Engine.Profiles.ChangePassword(v.Ctx(), v.Visitor(), v.Seat, f.Value("current"), f.Value("new"))
	if err != nil {
		return f.Again(v, err, map[string]string{"current": "The current password", "new": "The new password"}, showPassword)
	}
	return v.Done(profilePath, "password-changed")
}

func revokeSession(v *frame.Visit) error {
	if err := v.Engine.Profiles.RevokeSession(v.Ctx(), v.Visitor(), v.Seat, v.R.PathValue("session")); err != nil {
		return err
	}
	return v.Done(profilePath, "session-revoked")
}

// confirmed returns a frame.Handler for people who have given their password recently. Others
// give it first.
func confirmed(h frame.Handler) frame.Handler {
	return frame.SignedInOnly(func(v *frame.Visit) error {
		if v.Seat.IsConfirmed(v.Engine.Now()) {
			return h(v)
		}
		next := profilePath + "/two-step"
		if v.R.Method == http.MethodGet {
			next = v.R.URL.RequestURI()
		}
		return v.Redirect(profilePath + "/confirm" + frame.NextQuery(next))
	})
}

func showConfirm(v *frame.Visit, f *frame.Form) error {
	return v.Page(f.Status(), "confirm", "Enter your password again", signInForm{f, v.Next(profilePath)})
}

func confirm(v *frame.Visit) error {
	f := v.NewForm()
	if err := v.Engine.SignIns.Confirm(v.Ctx(), v.Visitor(), v.Seat, f.Value("password")); err != nil {
		return f.Again(v, err, map[string]string{"password": "The password"}, showConfirm)
	}
	return v.Redirect(v.Next(profilePath))
}

// totp is the data of the page of two-step sign-in.
type totp struct {
	*frame.Form
	// On is true if it is on. Codes is then the number of unused recovery codes, and
	// Fresh are new ones, which are shown once.
	On    bool
	Codes int
	Fresh []string
	// Secret and QR are the secret of an app that is being set up.
	Secret string
	QR     template.HTML
}

func showTOTP(v *frame.Visit, f *frame.Form) error {
	data := totp{Form: f, On: v.Seat.Person.TOTPOn}
	var err error
	if data.On {
		data.Codes, err = v.Engine.Profiles.CountRecovery(v.Ctx(), v.Seat)
	} else {
		var secret people.TOTP
		var pending bool
		if secret, pending, err = v.Engine.Profiles.PendingTOTP(v.Seat); pending {
			data.Secret = grouped(secret.String())
			data.QR, err = qrCode(secret.URI("Kith "+v.Host(), v.Seat.Person.Email))
		}
	}
	if err != nil {
		return err
	}
	return v.Page(f.Status(), "two-step", "Two-step sign-in", data)
}

// showFresh shows new recovery codes, once.
func showFresh(v *frame.Visit, codes []string) error {
	return v.Page(http.StatusOK, "two-step", "Save your recovery codes", totp{Form: &frame.Form{}, On: true, Codes: len(codes), Fresh: codes})
}

// grouped returns a text in groups of four characters, which are easier to type.
func grouped(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// qrCode returns a QR code as an SVG image.
func qrCode(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	size := strconv.Itoa(code.Size + 8)
	var b strings.Builder
	b.WriteString(`<svg class="qr" viewBox="0 0 ` + size + ` ` + size + `" role="img" aria-label="QR code for the authenticator app" shape-rendering="crispEdges"><path class="qr-paper" d="M0 0h` + size + `v` + size + `h-` + size + `z"/><path class="qr-ink" d="`)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				b.WriteString("M" + strconv.Itoa(x+4) + " " + strconv.Itoa(y+4) + "h1v1h-1z")
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return template.HTML(b.String()), nil // #nosec G203 -- numbers
}

func beginTOTP(v *frame.Visit) error {
	if _, err := v.Engine.Profiles.BeginTOTP(v.Ctx(), v.Seat); err != nil {
		return err
	}
	return v.Redirect(profilePath + "/two-step")
}

func confirmTOTP(v *frame.Visit) error {
	f := v.NewForm()
	codes, err := v.Engine.Profiles.ConfirmTOTP(v.Ctx(), v.Visitor(), v.Seat, f.Value("code"))
	if err != nil {
		return f.Again(v, err, map[string]string{"code": "The code"}, showTOTP)
	}
	return showFresh(v, codes)
}

func renewCodes(v *frame.Visit) error {
	codes, err := v.Engine.Profiles.RenewRecovery(v.Ctx(), v.Visitor(), v.Seat)
	if err != nil {
		return err
	}
	return showFresh(v, codes)
}

func disableTOTP(v *frame.Visit) error {
	if err := v.Engine.Profiles.DisableTOTP(v.Ctx(), v.Visitor(), v.Seat); err != nil {
		return err
	}
	return v.Done(profilePath, "totp-off")
}
