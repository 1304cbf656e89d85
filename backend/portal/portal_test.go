package portal_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

// The cookie of a session is bound to the host over https, is not readable by scripts, and
// is the only cookie of an answer.
func TestCookie(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.Browser()
	got := b.SignIn(t, "owner@acme.example")
	require.Equal(t, []string{"__Host-kith_portal=" + b.Cookies["__Host-kith_portal"] + "; Path=/; Max-Age=1209600; HttpOnly; Secure; SameSite=Lax"}, got.Header.Values("Set-Cookie"))
	plain := w.Browser()
	plain.Scheme, plain.Host = "http", "127.0.0.1:3000"
	got = plain.SignIn(t, "owner@acme.example")
	require.Equal(t, []string{"kith_portal=" + plain.Cookies["kith_portal"] + "; Path=/; Max-Age=1209600; HttpOnly; SameSite=Lax"}, got.Header.Values("Set-Cookie"))
	// A cookie without the prefix, which another host of the domain may set, does not count.
	b.Cookies = map[string]string{"kith_portal": plain.Cookies["kith_portal"]}
	require.Equal(t, http.StatusSeeOther, b.Get("/portal/profile").Status)
}

// A session that the browser had before a sign-in cannot be used after it, and a sign-in
// has a new one in each step.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Add(t, "mallory@acme.example", people.Viewer)
	mallory := w.SignedIn(t, "mallory@acme.example")
	planted := mallory.Cookies["__Host-kith_portal"]
	victim := w.Browser()
	victim.Cookies["__Host-kith_portal"] = planted
	victim.Get("/portal/signin")
	got := victim.Post(t, "/portal/profile", "/portal/signin", "email", "owner@acme.example", "password", portaltest.Password)
	require.Equal(t, http.StatusSeeOther, got.Status)
	require.NotEqual(t, planted, victim.Cookies["__Host-kith_portal"])
	require.Equal(t, "/portal/signin?next=%2Fportal%2Fprofile", mallory.Get("/portal/profile").Header.Get("Location"), "the planted session has ended")
	// A token that the server did not make is no session.
	made := w.Browser()
	made.Cookies["__Host-kith_portal"] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	require.Equal(t, http.StatusSeeOther, made.Get("/portal/profile").Status)
	made.SignIn(t, "owner@acme.example")
	require.NotContains(t, made.Cookies["__Host-kith_portal"], "AAAAAAAA")
}

// Each request that may change anything is refused without the origin or the token of the
// session; nothing is changed.
func TestCSRF(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	token := b.Get("/portal/t/acme/members").Token(t)
	invite := func(change func(*portaltest.Browser, url.Values)) portaltest.Answer {
		attacker := *b
		attacker.Headers = map[string]string{"Sec-Fetch-Site": "same-origin"}
		form := url.Values{"csrf": {token}, "email": {"new@acme.example"}, "role": {"owner"}}
		change(&attacker, form)
		return attacker.Send("POST", "/portal/t/acme/members/invite", form)
	}
	damaged := "x" + token[1:]
	if damaged == token {
		damaged = "y" + token[1:]
	}
	foreign := w.SignedIn(t, portaltest.Owner)
	otherToken := foreign.Get("/portal/t/acme/members").Token(t)
	for name, change := range map[string]func(*portaltest.Browser, url.Values){
		"another site":                    func(b *portaltest.Browser, _ url.Values) { b.Headers["Sec-Fetch-Site"] = "cross-site" },
		"another host of the same domain": func(b *portaltest.Browser, _ url.Values) { b.Headers["Sec-Fetch-Site"] = "same-site" },
		"an older browser, another site": func(b *portaltest.Browser, _ url.Values) {
			b.Headers = map[string]string{"Origin": "https://evil.example"}
		},
		"an older browser, no origin":   func(b *portaltest.Browser, _ url.Values) { b.Headers = map[string]string{} },
		"an older browser, null origin": func(b *portaltest.Browser, _ url.Values) { b.Headers = map[string]string{"Origin": "null"} },
		"no token":                      func(_ *portaltest.Browser, f url.Values) { f.Del("csrf") },
		"a token of another session":    func(_ *portaltest.Browser, f url.Values) { f.Set("csrf", otherToken) },
		"a damaged token":               func(_ *portaltest.Browser, f url.Values) { f.Set("csrf", damaged) },
		"a short token":                 func(_ *portaltest.Browser, f url.Values) { f.Set("csrf", "AAAA") },
	} {
		require.Equal(t, http.StatusForbidden, invite(change).Status, name)
	}
	_, open, err := w.Engine.Members.List(t.Context(), people.OperatorOf("acme"))
	require.NoError(t, err)
	require.Empty(t, open)
	require.Equal(t, http.StatusOK, invite(func(b *portaltest.Browser, _ url.Values) {
		b.Headers = map[string]string{"Origin": "https://portal.example"}
	}).Status)
	require.Equal(t, http.StatusOK, invite(func(b *portaltest.Browser, f url.Values) {
		f.Del("csrf")
		b.Headers["X-Csrf-Token"] = token // htmx sends it so
	}).Status)
	// Signing in needs the origin too: a foreign page could sign a visitor in as the attacker.
	stranger := w.Browser()
	stranger.Headers = map[string]string{"Sec-Fetch-Site": "cross-site"}
	require.Equal(t, http.StatusForbidden, stranger.Send("POST", "/portal/signin", url.Values{"email": {"owner@acme.example"}, "password": {portaltest.Password}}).Status)
}

// A session that has ended while a page is open: the answer makes its script open the sign-in
// page, which leads back to the page, with the filter that was just chosen.
func TestSignIn_OfAPart(t *testing.T) {
	t.Parallel()
	b := portaltest.New(t).Browser()
	b.Headers["HX-Request"] = "true"
	to := func(method, path, open string) string {
		b.Headers["HX-Current-URL"] = open
		got := b.Send(method, path, url.Values{})
		require.Equal(t, http.StatusUnauthorized, got.Status)
		require.Empty(t, got.Body)
		next, err := url.Parse(got.Header.Get("HX-Redirect"))
		require.NoError(t, err)
		require.Equal(t, "/portal/signin", next.Path)
		return next.Query().Get("next")
	}
	const host, page = "https://portal.example", "/portal/t/acme/referrals"
	require.Equal(t, page+"?state=converted", to("GET", page+"?state=converted", host+page+"?state=ended"))
	require.Equal(t, "/portal/t/acme/integrations/gateway?a=b", to("GET", "/portal/t/acme/integrations/gateway/check", host+"/portal/t/acme/integrations/gateway?a=b"))
	require.Equal(t, "/portal/t/acme/programs/classic", to("POST", "/portal/t/acme/programs/classic/preview", host+"/portal/t/acme/programs/classic"))
	require.Equal(t, "/portal", to("GET", "/portal/t/acme/integrations/gateway/check", "https://evil.example/x"), "a page of another site")
}

// Every route with another method than GET is behind the checks of TestCSRF, and each page
// but those for people without a session needs one.
func TestRoutes_AreProtected(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	signedIn := w.SignedIn(t, portaltest.Owner)
	open := []string{"GET /portal/signin", "GET /portal/code", "GET /portal/invitation/{token}", "GET /portal/reset/{token}"}
	all := w.Patterns()
	require.Greater(t, len(all), 20)
	for _, pattern := range all {
		method, path, _ := strings.Cut(regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(strings.NewReplacer("{tenant}", "acme", "{$}", "").Replace(pattern), "x"), " ")
		if method != "GET" {
			for _, visitor := range []*portaltest.Browser{signedIn, w.Browser()} {
				foreign := *visitor
				foreign.Headers = map[string]string{"Sec-Fetch-Site": "cross-site"}
				require.Equal(t, http.StatusForbidden, foreign.Send(method, path, url.Values{}).Status, pattern)
			}
			require.Equal(t, http.StatusForbidden, signedIn.Send(method, path, url.Values{}).Status, "%s without a token", pattern)
			continue
		}
		if !slices.Contains(open, pattern) {
			got := w.Browser().Get(path)
			require.Equal(t, http.StatusSeeOther, got.Status, pattern)
			require.Equal(t, "/portal/signin?next="+url.QueryEscape(path), got.Header.Get("Location"), pattern)
		}
	}
}

// Each page has a strict policy with a nonce of its own, which each of its scripts has, and
// no inline styles or handlers.
func TestPolicy(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	_, token, err := w.Engine.Members.Invite(t.Context(), people.OperatorOf("acme"), "ben@acme.example", "viewer")
	require.NoError(t, err)
	reset, _, err := w.Engine.Resets.MakeLink(t.Context(), "owner@acme.example", "", false)
	require.NoError(t, err)
	nonces := map[string]bool{}
	for path, status := range map[string]int{
		"/portal/t/acme/overview": 200, "/portal/t/acme/members": 200, "/portal/t/acme/audit": 200, "/portal/t/test_acme/audit": 200, "/portal/profile": 200, "/portal/profile/password": 200,
		"/portal/profile/two-step": 200, "/portal/profile/confirm": 200, "/portal/invitation/" + token: 200, "/portal/reset/" + reset: 200,
		"/portal/nothing": 404, "/portal/t/rival/members": 404, "/portal/t/unknown/members": 404, "/portal//x": 404, "/portal/../x": 404,
		"/portal/t/acme/audit?before=x": 422, "/portal/t/acme/audit?action=fly": 422,
	} {
		got := b.Get(path)
		require.Equal(t, status, got.Status, path)
		require.Equal(t, "no-store", got.Header.Get("Cache-Control"), path)
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"), path)
		require.Equal(t, "same-origin", got.Header.Get("Referrer-Policy"), path)
		require.Equal(t, "camera=(), geolocation=(), microphone=()", got.Header.Get("Permissions-Policy"), path)
		policy := got.Header.Get("Content-Security-Policy")
		found := regexp.MustCompile(`^default-src 'none'; script-src 'nonce-([A-Za-z0-9+/]{22})'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$`).FindStringSubmatch(policy)
		require.NotNil(t, found, policy)
		require.False(t, nonces[found[1]], "a nonce is used once")
		nonces[found[1]] = true
		scripts := regexp.MustCompile(`<script[^>]*>`).FindAllString(got.Body, -1)
		require.GreaterOrEqual(t, len(scripts), 3, path)
		for _, s := range scripts {
			require.Contains(t, strings.ReplaceAll(s, "&#43;", "+"), `nonce="`+found[1]+`"`, path)
		}
		require.NotRegexp(t, `<[a-z][^>]*\s(style|on[a-z]+)=`, got.Body, path)
		require.NotContains(t, got.Body, "javascript:", path)
	}
}

// The portal answers wrong addresses and wrong passwords alike, up to the token of the page.
func TestSignIn_DoesNotShowWhichAddressesAreKnown(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	page := func(email string) portaltest.Answer {
		got := w.Browser().Post(t, "/portal/signin", "/portal/signin", "email", email, "password", "wrong password")
		got.Body = strings.ReplaceAll(regexp.MustCompile(`nonce="[^"]+"`).ReplaceAllString(got.Body, ""), email, "EMAIL")
		got.Header.Del("Content-Security-Policy")
		got.Header.Del("Content-Length")
		return got
	}
	known := page("owner@acme.example")
	require.Equal(t, http.StatusUnprocessableEntity, known.Status)
	require.Equal(t, known, page("other@acme.example"))
	require.Equal(t, known, page("not an address"))
}

// A page of a tenant is open to its members only, with what their role permits.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	for _, role := range people.Roles() {
		b := w.As(t, role)
		for path, op := range map[string]*operation.Operation{
			"overview": operation.ReadPrograms, "programs": operation.ReadPrograms, "referrals": operation.ReadReferrals, "people": operation.ReadReferrals,
			"files": operation.ReadImports, "files/sftp": operation.ReadIntegrations, "integrations": operation.ReadIntegrations, "integrations/keys": operation.ReadIntegrations,
			"members": operation.ReadMembers, "audit": operation.ReadAudit,
		} {
			want := http.StatusForbidden
			if op.Permits(role) {
				want = http.StatusOK
			}
			require.Equal(t, want, b.Get("/portal/t/acme/"+path).Status, "%s %s", role, path)
			require.Equal(t, http.StatusNotFound, b.Get("/portal/t/rival/"+path).Status, "%s %s", role, path)
		}
		got := b.Post(t, "/portal/profile", "/portal/t/acme/members/invite", "email", "new@acme.example", "role", "owner")
		require.Equal(t, role == people.Owner, got.Status == http.StatusOK, "%s %d", role, got.Status)
		require.Equal(t, operation.ReadMembers.Permits(role), strings.Contains(b.Get("/portal/profile").Body+b.Get(b.Get("/portal/t/acme").Header.Get("Location")).Body, "/portal/t/acme/members"), role)
	}
	var refused []string
	for _, e := range w.Audit(t, people.AuditFilter{Action: operation.TryForbidden.Action}) {
		refused = append(refused, e.Actor+" "+e.Subject)
	}
	for _, role := range []string{"viewer", "support"} {
		for _, what := range []string{"GET /portal/t/{tenant}/audit", "GET /portal/t/{tenant}/members", "POST /portal/t/{tenant}/members/invite"} {
			require.Contains(t, refused, role+"@acme.example "+what)
		}
	}
}

// The palette offers further pages, and each role may open those that it is offered.
func TestPalette(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	shortcut := regexp.MustCompile(`<li hidden data-typed><a href="([^"]+)">([^<]+)</a>`)
	for _, role := range people.Roles() {
		b := w.As(t, role)
		titles := ""
		for _, found := range shortcut.FindAllStringSubmatch(b.Get(b.Get("/portal/t/acme").Header.Get("Location")).Body, -1) {
			require.Equal(t, http.StatusOK, b.Get(found[1]).Status, "%s %s", role, found[1])
			titles += found[2] + "\n"
		}
		if role == people.Owner {
			for _, title := range []string{"Refer a friend (classic): Settings, rewards", "Refer a friend (classic): Try an event", "New program", "Integrations: API keys", "Import a file", "Unknown codes", "Refused events"} {
				require.Contains(t, titles, title)
			}
		}
	}
}

// The parameter next leads to pages of the portal only.
func TestNext(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	for next, want := range map[string]string{
		"/portal/profile": "/portal/profile", "/portal/t/acme/audit?actor=a&from=2026-01-01": "/portal/t/acme/audit?actor=a&from=2026-01-01",
		"": "/portal", "https://evil.example/portal": "/portal", "//evil.example/portal/": "/portal", "/portal/../evil": "/portal", "/portal//evil": "/portal",
		"/portalevil": "/portal", "/welcome": "/portal", "/portal/\\evil": "/portal", "javascript:alert(1)": "/portal", "/portal/\nx": "/portal",
	} {
		b := w.Browser()
		got := b.Post(t, "/portal/signin", "/portal/signin", "email", "owner@acme.example", "password", portaltest.Password, "next", next)
		require.Equal(t, http.StatusSeeOther, got.Status)
		require.Equal(t, want, got.Header.Get("Location"), next)
	}
}

// A stolen cookie is worth nothing after its session was ended, and a password change
// needs the password.
func TestSessionTheft(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	owner := w.SignedIn(t, portaltest.Owner)
	thief := w.Browser()
	thief.Cookies["__Host-kith_portal"] = owner.Cookies["__Host-kith_portal"]
	require.Equal(t, http.StatusOK, thief.Get("/portal/profile").Status)
	got := thief.Post(t, "/portal/profile/password", "/portal/profile/password", "current", "wrong password", "new", "another horse battery")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	w.Pass(people.ConfirmLife)
	for _, path := range []string{"begin", "confirm", "codes", "off"} {
		got := thief.Post(t, "/portal/profile", "/portal/profile/two-step/"+path, "code", "000000")
		require.Equal(t, "/portal/profile/confirm?next=%2Fportal%2Fprofile%2Ftwo-step", got.Header.Get("Location"), path)
	}
	fresh := w.SignedIn(t, portaltest.Owner)
	got = fresh.Post(t, "/portal/profile/password", "/portal/profile/password", "current", portaltest.Password, "new", "another horse battery")
	require.Equal(t, "/portal/profile?done=password-changed", got.Header.Get("Location"))
	require.Equal(t, http.StatusSeeOther, thief.Get("/portal/profile").Status)
	require.Equal(t, http.StatusOK, fresh.Get("/portal/profile").Status)
}

// The first page after a sign-in marks the browser, so that wrong passwords of others do not
// lock the person out of it.
func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	got := b.Get("/portal/profile")
	require.Regexp(t, `^__Host-kith_device=[^;]+; Path=/; Max-Age=15552000; HttpOnly; Secure; SameSite=Lax$`, got.Header.Get("Set-Cookie"))
	require.Empty(t, b.Get("/portal/profile").Header.Values("Set-Cookie"))
	require.Equal(t, http.StatusSeeOther, b.Post(t, "/portal/profile", "/portal/signout").Status)
	require.Empty(t, w.Browser().Get("/portal/signin").Header.Values("Set-Cookie"), "no sign-in here")
	wrong := func(b *portaltest.Browser) string {
		return b.Post(t, "/portal/signin", "/portal/signin", "email", portaltest.Owner, "password", "wrong password").Text()
	}
	for range 10 {
		wrong(w.Browser())
	}
	require.Contains(t, wrong(w.Browser()), "Too many wrong attempts; wait 15 minutes")
	require.Equal(t, http.StatusUnprocessableEntity, w.Browser().SignIn(t, portaltest.Owner).Status)
	require.Contains(t, wrong(b), "does not match the address")
	require.Equal(t, http.StatusSeeOther, b.SignIn(t, portaltest.Owner).Status)
}

// A changed password is shown after the next sign-in, with the address that changed it.
func TestChangedPassword_IsShown(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	require.NotContains(t, b.Get("/portal/t/acme/members").Text(), ": changed the password")
	require.Equal(t, http.StatusSeeOther, b.Post(t, "/portal/profile/password", "/portal/profile/password", "current", portaltest.Password, "new", "another horse battery").Status)
	w.Pass(core.Hour)
	b = w.Browser()
	require.Equal(t, http.StatusSeeOther, b.Post(t, "/portal/signin", "/portal/signin", "email", portaltest.Owner, "password", "another horse battery").Status)
	require.Regexp(t, `: changed the password, from 198\.51\.100\.7 If one of these was not you`, b.Get("/portal/t/acme/members").Text())
	w.Pass(people.FailuresShown)
	require.NotContains(t, b.Get("/portal/t/acme/members").Text(), ": changed the password")
	require.Contains(t, b.Get("/portal/profile").Text(), ": changed the password")
}

// A member without a second step is led to set it up when the tenant requires it.
func TestSecondStep_LeadsToTheSetUp(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	owner, viewer := w.SignedIn(t, portaltest.Owner), w.As(t, people.Viewer)
	require.Equal(t, http.StatusOK, viewer.Get("/portal/t/acme/programs").Status)
	require.Equal(t, http.StatusForbidden, viewer.Get("/portal/t/acme/files/import").Status)
	got := owner.Post(t, "/portal/t/acme/members", "/portal/t/acme/members/second-step", "required", "yes")
	require.Contains(t, got.Text(), "Two-step sign-in cannot be required yet: you sign in without")
	on := true
	_, err := w.Engine.Admin.Website.ChangeTenant(t.Context(), people.OperatorOf("acme"), tenants.TenantChange{SecondStep: &on})
	require.NoError(t, err)
	for _, path := range []string{"/portal/t/acme/programs", "/portal/t/test_acme/programs"} {
		got = viewer.Get(path)
		require.Equal(t, "/portal/profile/two-step?done=second-step-needed", got.Header.Get("Location"))
	}
	require.Contains(t, viewer.Get(got.Header.Get("Location")).Text(), "This tenant requires two-step sign-in. Set it up here")
	w.Pass(people.ConfirmLife)
	require.Equal(t, "/portal/profile/confirm?next=%2Fportal%2Fprofile%2Ftwo-step%3Fdone%3Dsecond-step-needed", viewer.Get("/portal/profile/two-step?done=second-step-needed").Header.Get("Location"))
	require.Equal(t, http.StatusOK, viewer.Get("/portal/profile").Status)
}

// Large forms are refused.
func TestForm_IsBounded(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	got := w.Browser().Send("POST", "/portal/signin", url.Values{"email": {strings.Repeat("a", 64<<10)}})
	require.Equal(t, http.StatusRequestEntityTooLarge, got.Status)
}

// What people entered is shown as text.
func TestPages_EscapeWhatPeopleEntered(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	const attack = `"><script>alert(1)</script>`
	require.Equal(t, http.StatusSeeOther, b.Post(t, "/portal/profile", "/portal/profile/name", "name", attack).Status)
	for _, path := range []string{"/portal/profile", "/portal/t/acme/members", "/portal/t/acme/audit?actor=" + url.QueryEscape(attack), "/portal/t/acme/audit?zone=" + url.QueryEscape(attack)} {
		require.NotContains(t, b.Get(path).Body, "<script>alert", path)
	}
}

// Downloads have what the filter selects, are harmless in spreadsheets, and are recorded.
func TestAudit_Download(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	require.NoError(t, w.Engine.DB.Write(t.Context(), portaltest.Began, func(tx *store.Tx) error {
		return base.Audit(t.Context(), tx, people.Caller{Email: "=1+1", Tenant: "acme"}, base.Change{Operation: operation.RemoveMember, Subject: "a,b", After: map[string]any{"role": "x"}})
	}))
	got := b.Post(t, "/portal/t/acme/audit", "/portal/t/acme/audit/export", "format", "csv", "action", "member.removed", "zone", "Europe/Berlin")
	require.Equal(t, `attachment; filename="audit-acme-2023-11-14.csv"`, got.Header.Get("Content-Disposition"))
	require.Equal(t, "\ufeffseq,time (Europe/Berlin),time,actor,ip,action,subject,before,after,accountId,userId,invitedBy\n2,2023-11-14 23:13:20,2023-11-14T22:13:20.000Z,'=1+1,,member.removed,\"a,b\",,\"{\"\"role\"\":\"\"x\"\"}\",,,\n", got.Body)
	got = b.Post(t, "/portal/t/acme/audit", "/portal/t/acme/audit/export", "format", "json", "action", "audit.exported")
	require.Equal(t, "application/json; charset=utf-8", got.Header.Get("Content-Type"))
	require.Contains(t, got.Body, `"action":"audit.exported","subject":"csv"`)
	require.Equal(t, http.StatusUnprocessableEntity, b.Get("/portal/t/acme/audit?from=x").Status)
	require.NotEqual(t, http.StatusOK, b.Post(t, "/portal/t/acme/audit", "/portal/t/acme/audit/export", "from", "x").Status)
}

// Files have a hash in their URL, so that browsers keep them; other hashes do not exist.
func TestAssets(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	total := 0
	for _, path := range w.Assets() {
		got := w.Browser().Get(path)
		require.Equal(t, http.StatusOK, got.Status, path)
		require.Equal(t, "public, max-age=31536000, immutable", got.Header.Get("Cache-Control"))
		require.Equal(t, http.StatusNotFound, w.Browser().Get("/portal/assets/000000000000/"+path[strings.LastIndexByte(path, '/')+1:]).Status)
		zipped := w.Browser()
		zipped.Headers["Accept-Encoding"] = "gzip"
		got = zipped.Get(path)
		require.Equal(t, "gzip", got.Header.Get("Content-Encoding"))
		total += len(got.Body)
	}
	require.Less(t, total, 90_000, "all files, compressed: the first view loads at most these")
	require.Equal(t, http.StatusNotFound, w.Browser().Get("/portal/assets/x/../portal.go").Status)
}
