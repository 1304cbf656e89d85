package frame

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"kith/backend/app/base"
	"kith/backend/fault"
	"kith/backend/store/peopledb"
	"kith/core"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/wire"
)

//go:embed page
var files embed.FS

// functions are what templates call. Helpers for amounts and dates are in format.go, those
// for forms in form.go.
var functions = template.FuncMap{
	"role":    RoleName,
	"did":     operation.Did,
	"time":    timeElement,
	"amount":  Amount,
	"number":  Number,
	"day":     Day,
	"input":   newInput,
	"select":  newSelect,
	"choices": newChoices,
	"option":  newOption,
	"crumb":   func(text, href string) crumb { return crumb{text, href} },
	"copied":  func(text, label string) copied { return copied{text, label} },
	"plural":  Plural,
	"mail":    breakable,
	"fold":    fold,
	"nameOf":  PersonName,
	"person":  PersonPath,
	"given":   given,
	"values":  Changes,
	"status":  word[referral.Status],
	"erased":  core.IsErased[core.UserID],

	"rewardStatus": RewardStatus,
}

// view is what the templates get.
type view struct {
	Title string
	Nonce string
	// Section is the key of the section, or empty.
	Section string
	// Script is the path of the section's script, or empty.
	Script string
	// CSRF is the token that each form sends.
	CSRF string
	// Person is the person who has signed in, or nil.
	Person *peopledb.Person
	// Tenant is the tenant of the page, or empty. Live is true for a live tenant, and
	// Other is the path of the same section in the other mode, or empty.
	Tenant core.TenantAlias
	Live   bool
	Other  string
	Role   people.Role
	// TimeZone is that of the tenant, or empty.
	TimeZone string
	// Tenants are the entries of the tenant switch, and Sections those of the navigation.
	Tenants  []tenantLink
	Sections []sectionLink
	// Finds are the look-ups of the sections, and Shortcuts their further pages.
	Finds, Shortcuts []sectionLink
	// Path is the path and query of the page.
	Path string
	// Done says what the last change did, and Failed is true if the form has errors.
	Done   string
	Failed bool
	// Failures are the failed sign-ins before a recent one; nil: none.
	Failures *people.Failures
	// News are the changes of the person's sign-in shortly before a recent one.
	News []people.Notice
	// Unconfirmed is true if the template "again" asks for the password.
	Unconfirmed bool
	// Data is the page's own data.
	Data any
}

type tenantLink struct {
	Name, Path string
	Role       people.Role
	Current    bool
}

type sectionLink struct {
	Title, Path, Letter string
	Current             bool
}

func (v *Visit) view(title string, data any) (w view, err error) {
	w = view{
		Title: title, Nonce: v.nonce, CSRF: v.csrfToken(), Path: v.R.URL.RequestURI(), Done: v.texts[v.R.URL.Query().Get("done")], Data: data,
	}
	if f, ok := data.(interface{ Failed() bool }); ok {
		w.Failed = f.Failed()
	}
	if !v.SignedIn() {
		return w, nil
	}
	w.Person = &v.Seat.Person
	if s := v.Seat.Session; s.Failed.Times > 0 && v.Engine.Now() < s.Created+people.FailuresShown {
		w.Failures = &s.Failed
	}
	if w.News, err = v.Engine.Profiles.News(v.Ctx(), v.Seat); err != nil {
		return w, err
	}
	w.Unconfirmed = !v.Seat.IsConfirmed(v.Engine.Now()) && !v.Caller.Confirmed
	w.Tenant, w.Role = v.Caller.Tenant, v.Caller.Role
	w.Live = v.Live()
	below := ""
	if v.section != nil {
		below, w.Section, w.Script = "/"+v.section.Key, v.section.Key, v.section.script
	}
	for _, t := range v.Tenants {
		current := t.Tenant == people.Home(w.Tenant)
		w.Tenants = append(w.Tenants, tenantLink{Name: string(t.Tenant), Path: Root + "/t/" + string(t.Tenant), Role: t.Role, Current: current})
		if current && w.Live {
			w.TimeZone = t.TimeZone
		} else if current {
			w.TimeZone = t.TestTimeZone
		}
		if current && t.Test {
			w.Other = Root + "/t/" + string(base.OtherMode(w.Tenant)) + below
		}
	}
	if w.Tenant != "" {
		for _, s := range v.visible() {
			w.Sections = append(w.Sections, sectionLink{s.Title, s.path(v), s.Letter, s == v.section})
			for _, f := range s.Finds {
				w.Finds = append(w.Finds, sectionLink{Title: f.Title, Path: s.path(v) + "?" + f.Parameter + "="})
			}
			if s.Shortcuts == nil {
				continue
			}
			further, err := s.Shortcuts(v)
			if err != nil {
				return w, err
			}
			for _, one := range further {
				w.Shortcuts = append(w.Shortcuts, sectionLink{Title: one.Title, Path: s.path(v) + one.Path})
			}
		}
	}
	return w, nil
}

// template returns a template of the visit's pages.
func (v *Visit) template(name string) *template.Template {
	if v.pages == nil {
		return v.templates()[name]
	}
	return v.pages.templates()[name]
}

// Page writes a page with a status.
func (v *Visit) Page(status int, name, title string, data any) error {
	shown, err := v.view(title, data)
	if err == nil {
		err = v.markDevice()
	}
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := v.template(name).ExecuteTemplate(&text, "layout.html", shown); err != nil {
		return err
	}
	v.secure()
	h := v.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Vary", "Accept-Encoding")
	if link.AcceptsGzip(strings.Join(v.R.Header.Values("Accept-Encoding"), ",")) {
		h.Set("Content-Encoding", "gzip")
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = text.WriteTo(zip) // a buffer takes all
		_ = zip.Close()
		text = packed
	}
	h.Set("Content-Length", strconv.Itoa(text.Len()))
	v.W.WriteHeader(status)
	// If this fails the visitor has disconnected.
	_, _ = text.WriteTo(v.W)
	return nil
}

// problem is what the page of an error shows.
type problem struct {
	Status  int
	Message string
	// ID identifies the request in the log, for an internal error.
	ID string
}

// problemTitles are the titles of the pages of errors.
var problemTitles = map[int]string{
	http.StatusForbidden: "You may not do this", http.StatusNotFound: "Page not found", http.StatusTooManyRequests: "Too many attempts",
	http.StatusConflict: "This cannot be done now", http.StatusServiceUnavailable: "Kith is busy",
}

// stopPolling is the status with which htmx shows an answer and does not ask again.
const stopPolling = 286

// fail answers with the page of an error. A visitor who is not signed in gets the sign-in
// page, which leads back.
func (v *Visit) fail(err error) {
	var known *core.Error
	if errors.As(err, &known) && known.Code == core.CodeUnauthenticated && known.Field == "" {
		v.toSignIn()
		return
	}
	if known != nil && known.Code == core.CodeForbidden && known.Field == "" && v.Caller.Person != "" {
		what := v.R.Pattern // the path may name a user
		v.failures.Warn(v.Log, string(v.Caller.Person)+what, "portal: refused by role", "tenant", v.Caller.Tenant, "person", v.Caller.Person, "role", v.Caller.Role, "action", what)
		if failed := v.Engine.Audits.Refused(v.Ctx(), v.Caller, what); failed != nil && v.Ctx().Err() == nil {
			v.failures.Error(v.Log, failed.Error(), "portal: a refusal is missing in the audit log", "error", failed)
		}
	}
	shown := problem{Status: http.StatusInternalServerError, ID: v.R.Header.Get(core.RequestIDHeader)}
	if known != nil && known.Code != core.CodeInternal {
		_, shown.Status, _ = wire.Shown(err)
		shown.Message, shown.ID = Sentence(known.Error()), ""
	}
	if shown.Status >= 500 && v.Ctx().Err() == nil {
		v.failures.Error(v.Log, err.Error(), "portal: request failed", "id", v.R.Header.Get(core.RequestIDHeader), "method", v.R.Method, "route", v.R.Pattern, "tenant", v.R.PathValue("tenant"), "error", err)
	}
	fault.Abort(err)
	if after := wire.RetryAfter(shown.Status); after != "" {
		v.W.Header().Set("Retry-After", after)
	}
	title := problemTitles[shown.Status]
	if title == "" {
		title = "This did not work"
	}
	status := shown.Status
	if status == http.StatusNotFound && v.R.Header.Get("HX-Request") != "" {
		// A part of a page is asked for again and again, of something that was removed.
		status = stopPolling
		for _, name := range []string{"HX-Retarget", "HX-Reselect"} {
			v.W.Header().Set(name, "main")
		}
		v.W.Header().Set("HX-Reswap", "outerHTML")
	}
	if err := v.Page(status, "problem", title, shown); err != nil {
		if v.Ctx().Err() == nil { // otherwise the visitor has left
			v.Log.Error("portal: render error page", "error", err)
		}
		http.Error(v.W, title, shown.Status)
	}
}

// toSignIn sends the visitor to the sign-in page, and from there to the page that was
// requested. A part of a page is requested by a script, which would put the sign-in page in
// the place of the part: the answer makes it leave the page.
func (v *Visit) toSignIn() {
	next := v.R.URL.RequestURI()
	whole := v.R.Header.Get("HX-Request") == ""
	if !whole {
		// The page that is open, unless the request is that page with another filter.
		if open, err := url.Parse(v.R.Header.Get("HX-Current-URL")); err == nil && (v.R.Method != http.MethodGet || open.Path != v.R.URL.Path) {
			next = Local(open.RequestURI(), Root)
		}
	}
	to := Root + "/signin" + NextQuery(next)
	if whole && v.R.Method != http.MethodGet {
		// The script of the page has kept the form, whose address leads back to it; see Serve.
		to += "&done=session-ended"
	}
	if whole {
		_ = v.Redirect(to)
		return
	}
	v.secure()
	v.W.Header().Set("HX-Redirect", to)
	v.W.WriteHeader(http.StatusUnauthorized)
}

// Sentence returns an error text as a sentence for people.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

type crumb struct{ Text, Href string }

type copied struct{ Text, Label string }

// Plural returns a number with a noun: "1 member", "2 members".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
