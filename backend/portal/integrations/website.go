package integrations

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"kith/backend/app/admin"
	"kith/backend/app/tenants"
	"kith/backend/portal/frame"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/origin"
	"kith/core/referral"
)

// websiteForm is the data of the page of the website.
type websiteForm struct {
	*frame.Form
	admin.WebsiteSettings
	May      bool
	Consents []frame.Option
	Secure   secureState
	Calls    []securedCall
	// ShareLink is an example of a share link.
	ShareLink string
	// KeptFor is for how many seconds edges keep answers.
	KeptFor int
	// CodeNames is true if look-ups of codes name the referrer, as chosen in the form.
	CodeNames bool
}

// secureState says for how many calls of browsers secure mode is on.
type secureState struct{ Signed, Open, Disabled, All int }

func secureStateOf(modes auth.SecureMode) (s secureState) {
	for _, e := range auth.Endpoints() {
		s.All++
		switch modes[e] {
		case auth.Signed:
			s.Signed++
		case auth.Open:
			s.Open++
		case auth.Disabled:
			s.Disabled++
		}
	}
	return s
}

// securedCall is a call of browsers with the choice of its mode.
type securedCall struct {
	Name, Text, Mode string
	Modes            []frame.Option
}

// callText says what a call does.
func callText(e auth.Endpoint) string {
	switch e {
	case auth.CreateUser:
		return "Create a user"
	case auth.UpsertUser:
		return "Identify a user, or change one"
	case auth.CreateCookieUser:
		return "Identify a visitor who has not signed in"
	case auth.LookupUser:
		return "Read a user"
	case auth.ApplyCode:
		return "Apply a referral code to a user"
	case auth.ListReferrals:
		return "List the referrals of a user"
	case auth.GetWidget:
		return "Show a widget"
	case auth.GetShareLinks:
		return "Read the share links of a user"
	case auth.TrackEvents:
		return "Log events of a user"
	}
	return e.String()
}

var modeTexts = map[auth.Mode]string{
	auth.Signed:   "Only with a signed user token",
	auth.Open:     "Open to everybody",
	auth.Disabled: "Only with an API key",
}

// modeField is the field with the mode of a call.
func modeField(e auth.Endpoint) string { return "mode-" + e.String() }

var websiteLabels = map[string]string{
	"origin": "The origin", "consent": "The rule", "consentCookie": "The cookie of your banner", "shareOrigin": "The origin of share links",
	"time-zone": "The time zone", "link-max-age": "The time",
}

func showWebsite(v *frame.Visit, f *frame.Form) error {
	s, err := v.Engine.Admin.Website.Read(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	data := websiteForm{
		Form: f, WebsiteSettings: s, May: v.May(operation.ChangeWebsite), Secure: secureStateOf(s.Tenant.SecureMode),
		ShareLink: v.Engine.Share(s.Tenant).URL("ANNA10"), KeptFor: int(s.Tenant.LinkMaxAge / core.Second),
	}
	data.CodeNames = s.Tenant.CodeNames
	if f.Value("link-max-age") != "" {
		data.CodeNames = f.Value("code-names") != ""
	}
	data.Consents = frame.Choose([]frame.Option{
		{Value: string(link.ConsentOff), Label: "Do not ask", Hint: "Kith stores the cookie when a visitor follows a share link. Choose this only if the law of your visitors does not demand consent, or your shop asks in another way."},
		{Value: string(link.ConsentOptIn), Label: "Only after the visitor agrees", Hint: "Kith stores the cookie once the cookie of your banner says yes. The referral code stays in the address until then. Most shops in Europe need this."},
		{Value: string(link.ConsentOptOut), Label: "Unless the visitor refuses", Hint: "Kith stores the cookie, and deletes it when the cookie of your banner says no."},
	}, cmp.Or(f.Value("consent"), string(s.Tenant.Policy.Consent)))
	for _, e := range auth.Endpoints() {
		call := securedCall{Name: modeField(e), Text: callText(e), Mode: s.Tenant.SecureMode[e].String()}
		for _, m := range []auth.Mode{auth.Signed, auth.Open, auth.Disabled} {
			call.Modes = append(call.Modes, frame.Option{Value: m.String(), Label: modeTexts[m], Chosen: m == s.Tenant.SecureMode[e]})
		}
		data.Calls = append(data.Calls, call)
	}
	return v.Page(f.Status(), "website", "Website", data)
}

// afterWebsite leads to the page of the website after a change, or shows what is wrong
// with it.
func afterWebsite(v *frame.Visit, f *frame.Form, err error, done string) error {
	if err == nil {
		return v.Done(path(v, "/website"), done)
	}
	return f.Again(v, err, websiteLabels, showWebsite)
}

func addOrigin(v *frame.Visit) error {
	f := v.NewForm()
	o, err := origin.Parse("origin", strings.TrimSpace(f.Value("origin")))
	if err == nil {
		err = v.Engine.Admin.Website.AddOrigins(v.Ctx(), v.Caller, o)
	}
	return afterWebsite(v, f, err, "origin-added")
}

func removeOrigin(v *frame.Visit) error {
	err := v.Engine.Admin.Website.RemoveOrigin(v.Ctx(), v.Caller, origin.Origin(v.R.PostForm.Get("remove")))
	if err != nil {
		return err
	}
	return v.Done(path(v, "/website"), "origin-removed")
}

func changeConsent(v *frame.Visit) error {
	f := v.NewForm()
	var change tenants.WebsiteChange
	if text, changed := f.Changed("consent"); changed {
		consent, ok := link.ParseConsent(text)
		if !ok {
			return afterWebsite(v, f, core.Invalid("consent", "must be one of off, opt-in, opt-out"), "")
		}
		change.Consent = &consent
	}
	if cookie, changed := f.Changed("consentCookie"); changed {
		cookie = strings.TrimSpace(cookie)
		change.ConsentCookie = &cookie
	}
	_, err := v.Engine.Admin.Website.Change(v.Ctx(), v.Caller, change)
	return afterWebsite(v, f, err, "consent-saved")
}

func changeSecureMode(v *frame.Visit) error {
	f := v.NewForm()
	var changes []string
	for _, e := range auth.Endpoints() {
		if mode, changed := f.Changed(modeField(e)); changed && mode != "" {
			changes = append(changes, e.String()+"="+mode)
		}
	}
	_, err := v.Engine.Admin.Website.Change(v.Ctx(), v.Caller, tenants.WebsiteChange{SecureMode: strings.Join(changes, ",")})
	return afterWebsite(v, f, err, "secure-mode-saved")
}

func changeShareOrigin(v *frame.Visit) error {
	f := v.NewForm()
	text, changed := f.Changed("shareOrigin")
	if !changed {
		return v.Redirect(path(v, "/website"))
	}
	o := strings.TrimSuffix(strings.TrimSpace(text), "/")
	_, err := v.Engine.Admin.Website.Change(v.Ctx(), v.Caller, tenants.WebsiteChange{ShareOrigin: &o})
	return afterWebsite(v, f, err, "share-origin-saved")
}

func changeTimeZone(v *frame.Visit) error {
	f := v.NewForm()
	text, changed := f.Changed("time-zone")
	if !changed {
		return v.Redirect(path(v, "/website"))
	}
	zone := strings.TrimSpace(text)
	_, err := v.Engine.Admin.Website.ChangeTenant(v.Ctx(), v.Caller, tenants.TenantChange{TimeZone: &zone})
	return afterWebsite(v, f, err, "time-zone-saved")
}

func changeCache(v *frame.Visit) error {
	f := v.NewForm()
	var change tenants.TenantChange
	if text, changed := f.Changed("link-max-age"); changed {
		seconds, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
		age := core.Time(seconds) * core.Second
		if err != nil || age > link.MaxAge {
			return afterWebsite(v, f, core.Invalid("link-max-age", "must be a whole number from 0 to 300"), "cache-saved")
		}
		change.LinkMaxAge = &age
	}
	if text, changed := f.Changed("code-names"); changed {
		names := text != ""
		change.CodeNames = &names
	}
	_, err := v.Engine.Admin.Website.ChangeTenant(v.Ctx(), v.Caller, change)
	return afterWebsite(v, f, err, "cache-saved")
}

// storage is the data of the page about what browsers store.
type storage struct {
	admin.WebsiteSettings
	Cookies []link.StoredCookie
	Consent string
}

func storagePage(v *frame.Visit) error {
	s, err := v.Engine.Admin.Website.Read(v.Ctx(), v.Caller)
	if err != nil {
		return err
	}
	data := storage{WebsiteSettings: s, Cookies: shownCookies(s), Consent: string(s.Tenant.Policy.Consent)}
	return v.Page(http.StatusOK, "storage", "What this configuration stores", data)
}

// shownCookies returns the cookies that visitors of a tenant may get.
func shownCookies(s admin.WebsiteSettings) []link.StoredCookie {
	return link.StoredCookies(s.Tenant.Alias, linkPrograms(s.Programs), s.Tenant.SecureMode[auth.CreateCookieUser] != auth.Disabled)
}

func linkPrograms(programs []referral.Program) (all []link.Program) {
	for _, p := range programs {
		all = append(all, p.Program)
	}
	return all
}
