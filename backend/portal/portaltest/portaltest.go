// Package portaltest has a portal for tests, and browsers that open its pages.
package portaltest

import (
	"bytes"
	"crypto/rand"
	"html"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/file"
	"kith/backend/portal"
	"kith/backend/portal/frame"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/people"
	"kith/core/referral"
)

const (
	// Began is the time at which the clock of a World starts.
	Began core.Time = 1_700_000_000_000
	// Owner is the mail address of the owner of acme.
	Owner = "owner@acme.example"
	// Password is the password of each person.
	Password = "correct horse battery"
)

// World is a portal with the tenants acme and test_acme, and an owner.
type World struct {
	*frame.Portal
	Clock *atomic.Int64
}

// New returns a portal with the tenants acme, test_acme and rival, and the Owner of acme.
func New(t testing.TB) *World {
	t.Helper()
	return On(t, storetest.File(t))
}

// On is like New, on a migrated database without tenants.
func On(t testing.TB, url string) *World {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	db.SetTimeout(sqldtest.Deadline)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	keys, err := auth.ParseKeyring(strings.Repeat("a", 64))
	require.NoError(t, err)
	w := &World{Clock: new(atomic.Int64)}
	w.Clock.Store(int64(Began))
	engine := app.New(base.Base{
		DB: db, Keys: keys,
		Now:     func() core.Time { return core.Time(w.Clock.Load()) },
		Entropy: func(p []byte) { _, _ = rand.Read(p) },
	})
	// Tests let days pass.
	engine.SignIns.Sessions = people.SessionLimits{Idle: people.MaxSessionLife, Life: people.MaxSessionLife}
	engine.Files.Store = file.Dir(t.TempDir())
	for _, alias := range []core.TenantAlias{"acme", "test_acme", "rival"} {
		require.NoError(t, engine.Tenants.Create(t.Context(), tenants.NewTenant{
			Alias: alias, Key: engine.APIKeys.MakeKey(alias), Policy: link.Policy{Consent: link.ConsentOff},
			Program: referral.DefaultProgram("https://" + string(alias) + ".example/"),
		}))
	}
	w.Portal = portal.New(engine, "", slog.New(slog.DiscardHandler), nil)
	w.Add(t, Owner, people.Owner)
	return w
}

// Pass lets time pass.
func (w *World) Pass(d core.Time) { w.Clock.Add(int64(d)) }

// Add adds a member of acme.
func (w *World) Add(t testing.TB, email string, role people.Role) {
	t.Helper()
	created, err := w.Engine.Members.Create(t.Context(), people.OperatorOf("acme"), email, "", Password, role)
	require.NoError(t, err)
	require.True(t, created)
}

// Audit returns the entries of the audit log of acme that a filter selects, the latest
// first.
func (w *World) Audit(t testing.TB, filter people.AuditFilter) []people.Entry {
	t.Helper()
	all, _, err := w.Engine.Audits.Page(t.Context(), people.Caller{Tenant: "acme", Role: people.Owner}, filter)
	require.NoError(t, err)
	return all
}

// Browser is a visitor with cookies.
type Browser struct {
	*World
	Cookies map[string]string
	// scheme and host are what the visitor requested, from is the page that sends forms.
	Scheme, Host string
	Headers      map[string]string
}

// Browser returns the browser of a visitor.
func (w *World) Browser() *Browser {
	return &Browser{World: w, Cookies: map[string]string{}, Scheme: "https", Host: "portal.example", Headers: map[string]string{"Sec-Fetch-Site": "same-origin"}}
}

// Answer is what the portal answered.
type Answer struct {
	Status int
	Body   string
	Header http.Header
}

// Send sends a request, with a form unless it is nil.
func (b *Browser) Send(method, path string, form url.Values) Answer {
	if form == nil {
		return b.SendBody(method, path, "", nil)
	}
	return b.SendBody(method, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// SendBody sends a request with a body of a type, and pairs of name and value as headers.
func (b *Browser) SendBody(method, path, kind string, body io.Reader, headers ...string) Answer {
	r := httptest.NewRequest(method, "http://backend:8080"+path, body)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	for name, value := range b.Headers {
		r.Header.Set(name, value)
	}
	for name, value := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value}) // #nosec G124 -- a request's cookie has no attributes
	}
	w := httptest.NewRecorder()
	b.Serve(w, r, auth.Hop{For: "198.51.100.7", Proto: b.Scheme, Host: b.Host})
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(b.Cookies, c.Name)
		} else {
			b.Cookies[c.Name] = c.Value
		}
	}
	return Answer{w.Code, w.Body.String(), w.Header()}
}

// Part is a field of a form, or a file if File is its name.
type Part struct{ Name, File, Value string }

// Multipart returns a form with files as browsers send it.
func Multipart(t testing.TB, parts ...Part) (kind string, body *bytes.Buffer) {
	t.Helper()
	body = &bytes.Buffer{}
	form := multipart.NewWriter(body)
	for _, p := range parts {
		if p.File == "" {
			require.NoError(t, form.WriteField(p.Name, p.Value))
			continue
		}
		file, err := form.CreateFormFile(p.Name, p.File)
		require.NoError(t, err)
		_, err = file.Write([]byte(p.Value))
		require.NoError(t, err)
	}
	require.NoError(t, form.Close())
	return form.FormDataContentType(), body
}

// Get opens a page.
func (b *Browser) Get(path string) Answer { return b.Send("GET", path, nil) }

// tokenInPage finds the token with which a page sends its forms.
var tokenInPage = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// Token returns the token with which a page sends its forms.
func (a Answer) Token(t testing.TB) string {
	t.Helper()
	found := tokenInPage.FindStringSubmatch(a.Body)
	require.NotNil(t, found, "the page has no form: %d", a.Status)
	return found[1]
}

var (
	tags = regexp.MustCompile(`(?s)<script.*?</script>|<[^>]*>`)
	// within are the tags of elements within a word.
	within = regexp.MustCompile(`</?(data|time|wbr)\b[^>]*>`)
)

// Text returns the page as people read it, with single blanks.
func (a Answer) Text() string {
	body := tags.ReplaceAllString(within.ReplaceAllString(a.Body, ""), " ")
	return strings.Join(strings.Fields(html.UnescapeString(body)), " ")
}

// Post sends a form of a page, with the token that the page has.
func (b *Browser) Post(t testing.TB, page, path string, fields ...string) Answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	if found := tokenInPage.FindStringSubmatch(b.Get(page).Body); found != nil {
		form.Set("csrf", found[1])
	}
	return b.Send("POST", path, form)
}

// SignIn signs a person in.
func (b *Browser) SignIn(t testing.TB, email string) Answer {
	t.Helper()
	return b.Post(t, "/portal/signin", "/portal/signin", "email", email, "password", Password)
}

// SignedIn returns the browser of a person who has signed in.
func (w *World) SignedIn(t testing.TB, email string) *Browser {
	t.Helper()
	b := w.Browser()
	require.Equal(t, http.StatusSeeOther, b.SignIn(t, email).Status)
	return b
}

// As returns the browser of the owner, or of a new member with another role.
func (w *World) As(t testing.TB, role people.Role) *Browser {
	t.Helper()
	email := string(role) + "@acme.example"
	if email != Owner {
		w.Add(t, email, role)
	}
	return w.SignedIn(t, email)
}
