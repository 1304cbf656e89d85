package integrations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/webhook"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

const section = "/portal/t/acme/integrations"

// secretShown is a secret that a page shows.
var secretShown = regexp.MustCompile(`aria-label="Secret of the [a-z]+"`)

// secretIn returns the secret that a page shows.
func secretIn(t *testing.T, body string) string {
	t.Helper()
	found := regexp.MustCompile(`readonly value="([^"]+)" aria-label="Secret of the [a-z]+"`).FindStringSubmatch(body)
	require.NotNil(t, found, "the page shows no secret")
	return strings.ReplaceAll(found[1], "&#43;", "+")
}

// entries returns the actions in the audit log, the newest first, and all that they have.
func entries(t *testing.T, w *portaltest.World) (actions []people.Action, all string) {
	t.Helper()
	for _, e := range w.Audit(t, people.AuditFilter{}) {
		if e.Action == operation.SignIn.Action || e.Action == operation.AddMember.Action || e.Action == operation.TryForbidden.Action {
			continue
		}
		actions = append(actions, e.Action)
		all += e.Subject + e.Before + e.After + "\n"
	}
	return actions, all
}

// Each page is open to the roles that may read integrations, and a form is only shown to
// those that may send it.
func TestPages_ByRole(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	s, err := w.Engine.Webhooks.Subscribe(t.Context(), "acme", webhook.Request{Endpoint: "https://shop.example/hook"})
	require.NoError(t, err)
	require.NotEmpty(t, s.Secret)
	owner := w.SignedIn(t, portaltest.Owner)
	hook := regexp.MustCompile(`/webhooks/[0-9a-f]{16}`).FindString(owner.Get(section + "/webhooks").Body)
	require.NotEmpty(t, hook)
	pages := []string{
		"", "/keys", "/keys/default", "/webhooks", hook, hook + "?state=failed", "/website", "/website/storage", "/gateway", "/gateway/check", "/gateway/notifications",
		"/gateway/notifications?problem=1", "/pipeline",
	}
	for _, role := range people.Roles() {
		b := w.As(t, role)
		for _, page := range pages {
			got := b.Get(section + page)
			want := http.StatusForbidden
			if operation.ReadIntegrations.Permits(role) {
				want = http.StatusOK
			}
			require.Equal(t, want, got.Status, "%s as %s: %s", page, role, got.Body)
			require.NotRegexp(t, `<[a-z][^>]*\s(style|on[a-z]+)=`, got.Body, page)
			require.Equal(t, http.StatusNotFound, b.Get("/portal/t/rival/integrations"+page).Status)
		}
		got := b.Get(section + "/keys").Body
		require.Equal(t, role == people.Owner, strings.Contains(got, "Create a key"), role)
		require.Equal(t, role == people.Owner, b.Post(t, section+"/webhooks", section+"/keys/create", "name", "by-"+string(role), "role", "read").Status == http.StatusOK, role)
	}
	for _, page := range []string{"/keys/none", "/webhooks/0000000000000000", hook + "/deliveries/x", "/nothing"} {
		require.Equal(t, http.StatusNotFound, owner.Get(section+page).Status, page)
	}
	for _, page := range []string{hook + "?state=fly", "/gateway/notifications?before=x"} {
		require.Equal(t, http.StatusBadRequest, owner.Get(section+page).Status, page)
	}
}

// The secret of a key is shown once, works at once, and is in no other place.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	got := b.Post(t, section+"/keys", section+"/keys/create", "name", "checkout", "role", "events", "dateExpires", "2023-12-31", "zone", "Europe/Berlin")
	require.Equal(t, http.StatusOK, got.Status)
	first := secretIn(t, got.Body)
	valid := func(secret string) bool {
		tenant, err := w.Engine.Tenants.ByAlias(t.Context(), "acme")
		require.NoError(t, err)
		k, ok := tenant.Keys.Match(secret, w.Engine.Now())
		return ok && k.Role == auth.RoleEvents
	}
	require.True(t, valid(first))
	got = b.Get(section + "/keys")
	require.NotRegexp(t, secretShown, got.Body)
	require.NotContains(t, got.Body, first)
	require.Contains(t, got.Body, "2023-12-31T22:59:59.999Z", "the day ends in the visitor's zone")

	got = b.Post(t, section+"/keys", section+"/keys/checkout/rotate", "overlap", "1")
	require.Equal(t, http.StatusOK, got.Status)
	second := secretIn(t, got.Body)
	require.NotEqual(t, first, second)
	require.Contains(t, got.Body, "The old secret stays valid until")
	require.True(t, valid(first) && valid(second))
	require.Contains(t, b.Get(section+"/keys").Body, "Old secret valid until")
	w.Pass(core.Hour)
	require.False(t, valid(first))
	require.True(t, valid(second))
	require.NotContains(t, b.Get(section+"/keys").Body, "Old secret valid until")

	// A key is made with a recent password only, which the form asks for.
	got = b.Post(t, section+"/keys", section+"/keys/create", "name", "late", "role", "events")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Text(), "Your password must be given again")
	require.Contains(t, got.Body, `value="late"`, "what was typed is kept")
	require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, section+"/keys", section+"/keys/create", "name", "late", "role", "events", "password", "wrong").Status)
	require.NotContains(t, b.Get(section+"/keys").Body, ">late<")
	got = b.Post(t, section+"/keys", section+"/keys/create", "name", "late", "role", "events", "password", portaltest.Password)
	require.Equal(t, http.StatusOK, got.Status)
	secretIn(t, got.Body)
	require.NotContains(t, b.Get(section+"/keys").Body, "Your password", "it was given just now")
	require.Equal(t, http.StatusSeeOther, b.Post(t, section+"/keys", section+"/keys/late/revoke").Status)

	require.Equal(t, section+"/keys?done=key-revoked", b.Post(t, section+"/keys", section+"/keys/checkout/revoke").Header.Get("Location"))
	require.False(t, valid(second))
	got = b.Post(t, section+"/keys", section+"/keys/default/revoke")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "create another one first")
	require.Contains(t, b.Get(section+"/keys").Body, ">default<")

	actions, all := entries(t, w)
	require.Equal(t, []people.Action{operation.RevokeKey.Action, operation.RevokeKey.Action, operation.CreateKey.Action, operation.RotateKey.Action, operation.CreateKey.Action}, actions)
	for _, secret := range []string{first, second} {
		require.NotContains(t, all, secret)
	}
	require.Contains(t, all, `{"role":"events","dateExpires":1704063599999}`)
}

// A form that is wrong keeps what was entered, and says what to do.
func TestKeys_Errors(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	for want, form := range map[string][]string{
		"The name must be 1 to 64 of":             {"name", "a b", "role", "read"},
		"The name is that of another key":         {"name", "default", "role", "read"},
		"The role must be one of":                 {"name", "new", "role", "king"},
		"The last day is not a day":               {"name", "new", "role", "read", "dateExpires", "soon"},
		"The last day must be in the future":      {"name", "new", "role", "read", "dateExpires", "2020-01-31"},
		"The name must be 1 to 64 of A-Z a-z 0-9": {"name", "", "role", "read"},
	} {
		got := b.Post(t, section+"/keys", section+"/keys/create", form...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, strings.ToLower(got.Body), strings.ToLower(want))
		require.Contains(t, got.Body, `<title>Error: `)
		require.Contains(t, got.Body, `name="name" type="text" value="`+form[1]+`"`)
	}
	got := b.Post(t, section+"/keys", section+"/keys/default/rotate", "overlap", "721")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "must be 0 to 720 hours")
}

// deliver makes the attempt that is due at an endpoint, with a result.
func deliver(t *testing.T, w *portaltest.World, result webhook.Attempt) {
	t.Helper()
	begun, err := w.Engine.Deliveries.Begin(t.Context(), webhook.Slots{All: 10, PerQueue: 10}, webhook.Busy{Queues: map[webhook.Queue]int{}})
	require.NoError(t, err)
	require.NotEmpty(t, begun)
	var made []webhooks.Sent
	for _, s := range slices.Concat(begun...) {
		result.Number, result.Started = s.Number, w.Engine.Now()
		made = append(made, webhooks.Sent{Sending: s, Attempt: result})
	}
	_, err = w.Engine.Deliveries.End(t.Context(), made)
	require.NoError(t, err)
}

// A webhook to a machine that Kith may not reach says so before the first delivery fails.
func TestWebhooks_Barred(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	const list, text = "/portal/t/test_acme/integrations/webhooks", "kith webhook allow --tenant test_acme ADDRESS"
	allow := func(prefix string) {
		require.NoError(t, w.Engine.Deliveries.AllowAddresses(t.Context(), "test_acme", []netip.Prefix{netip.MustParsePrefix(prefix)}, false))
	}
	allow("10.0.0.0/8")
	for endpoint, barred := range map[string]bool{
		"http://localhost:9/hook": true, "http://192.168.1.7/hook": true, "http://[fd00::1]/hook": true, "http://10.1.2.3/allowed": false, "http://shop.example/hook": false,
	} {
		got := b.Post(t, list, list+"/subscribe", "endpointUrl", endpoint)
		require.Equal(t, http.StatusOK, got.Status, endpoint)
		require.Equal(t, barred, strings.Contains(got.Text(), text), endpoint)
	}
	allow("127.0.0.1/32")
	sum := sha256.Sum256([]byte("http://localhost:9/hook"))
	got := b.Get(list + "/" + hex.EncodeToString(sum[:8]))
	require.Contains(t, got.Text(), "http://localhost:9/hook")
	require.NotContains(t, got.Text(), text)
}

// A person subscribes an endpoint, tests it, sees why it failed, sends the event again,
// changes the webhook and removes it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	require.Contains(t, b.Get(section+"/webhooks").Body, "No webhooks yet")
	got := b.Post(t, section+"/webhooks", section+"/webhooks/subscribe", "endpointUrl", "http://shop.example/hook", "eventTypes", "reward.created")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The URL must be an https URL")
	require.Contains(t, got.Body, `value="reward.created" checked`, "the choice stays")
	got = b.Post(t, section+"/webhooks", section+"/webhooks/subscribe", "endpointUrl", "https://shop.example/hook", "eventTypes", "fly")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	got = b.Post(t, section+"/webhooks", section+"/webhooks/subscribe", "endpointUrl", " https://shop.example/hook ", "name", "<b>CRM</b>", "eventTypes", "reward.created")
	require.Equal(t, http.StatusOK, got.Status)
	secret := secretIn(t, got.Body)
	require.True(t, strings.HasPrefix(secret, "whsec_"), secret)
	hook := section + regexp.MustCompile(`/webhooks/[0-9a-f]{16}`).FindString(got.Body)
	got = b.Get(hook)
	require.NotContains(t, got.Body, secret)
	require.NotContains(t, got.Body, "<b>CRM")
	for _, page := range []string{hook, section + "/webhooks"} {
		require.Contains(t, b.Get(page).Body, "Nothing sent yet")
		require.NotContains(t, b.Get(page).Body, "Works")
	}

	got = b.Post(t, hook, hook+"/test")
	require.Equal(t, http.StatusSeeOther, got.Status)
	delivery := got.Header.Get("Location")
	require.True(t, strings.HasPrefix(delivery, hook+"/deliveries/"), delivery)
	got = b.Get(delivery)
	require.Contains(t, got.Body, "It is sent in a moment")
	require.Contains(t, got.Body, `hx-get="`+delivery+`"`)
	deliver(t, w, webhook.Attempt{Status: 410, Answer: "<i>gone</i>", Duration: 12})
	got = b.Get(delivery)
	require.Contains(t, got.Body, "Answer 410")
	require.Contains(t, got.Body, "&lt;i&gt;gone")
	require.NotContains(t, got.Body, "hx-get", "the result is there")
	got = b.Get(hook)
	require.Contains(t, got.Body, "Disabled")
	require.Contains(t, got.Body, "Send all failed events again")
	require.Contains(t, b.Get(section+"/webhooks").Body, hook+"?state=failed")
	require.Contains(t, b.Get(section).Body, "1 event was not delivered")
	require.Contains(t, b.Get(hook+"?state=failed").Body, delivery)
	require.NotContains(t, b.Get(hook+"?state=delivered").Body, delivery)

	// Saving it enables it again; then the event can be sent again.
	require.Equal(t, hook+"?done=webhook-changed", b.Post(t, hook, hook+"/change", "name", "CRM").Header.Get("Location"))
	got = b.Get(hook)
	require.NotContains(t, got.Body, "Disabled")
	require.Contains(t, got.Body, "<dd>all</dd>")
	require.Equal(t, hook+"?done=events-replayed", b.Post(t, hook, hook+"/replay").Header.Get("Location"))
	deliver(t, w, webhook.Attempt{Error: "connection refused"})
	require.Contains(t, b.Get(delivery).Body, "connection refused")
	event := delivery[strings.LastIndexByte(delivery, '/')+1:]
	require.Equal(t, delivery, b.Post(t, hook, hook+"/replay/"+event).Header.Get("Location"))
	deliver(t, w, webhook.Attempt{Status: 204})
	require.Contains(t, b.Get(delivery).Body, "The endpoint has accepted the event")
	for _, page := range []string{hook, section + "/webhooks"} {
		require.Contains(t, b.Get(page).Body, "Works")
	}
	w.Pass(webhook.Kept + 1)
	_, err := w.Engine.Deliveries.Forget(t.Context())
	require.NoError(t, err)
	b = w.SignedIn(t, portaltest.Owner)
	require.Contains(t, b.Get(hook).Body, "Nothing sent in 30 days")

	got = b.Post(t, hook, hook+"/secret")
	require.NotEqual(t, secret, secretIn(t, got.Body))
	renewed := secretIn(t, got.Body)
	require.Equal(t, section+"/webhooks?done=webhook-removed", b.Post(t, hook, hook+"/remove").Header.Get("Location"))
	require.Equal(t, http.StatusNotFound, b.Get(hook).Status)
	require.Equal(t, http.StatusNotFound, b.Post(t, section+"/webhooks", hook+"/test").Status)

	actions, all := entries(t, w)
	require.Equal(t, []people.Action{
		operation.UnsubscribeWebhook.Action, operation.RotateWebhookSecret.Action, operation.ReplayWebhook.Action, operation.ReplayWebhook.Action, operation.SubscribeWebhook.Action, operation.TestWebhook.Action, operation.SubscribeWebhook.Action,
	}, actions)
	require.NotContains(t, all, secret)
	require.NotContains(t, all, renewed)
}

// The page of a delivery shows what is sent, as text and up to a bound. What named a user who
// was deleted is gone from it, and an event without data is not offered to be sent again.
func TestWebhooks_Payload(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	for _, path := range []string{"delivered", "waiting"} {
		_, err := w.Engine.Webhooks.Subscribe(t.Context(), "acme", webhook.Request{Endpoint: "https://shop.example/" + path, Types: []webhook.Type{webhook.UserCreated}})
		require.NoError(t, err)
		w.Identify(t, core.AccountID(path), "u", portaltest.Named("<b>Ann</b>", "Able"))
		if path == "delivered" {
			deliver(t, w, webhook.Attempt{Status: 200})
		}
	}
	b := w.SignedIn(t, portaltest.Owner)
	first := regexp.MustCompile(`href="([^"]+/deliveries/[0-9a-f]+)"`)
	hooks := regexp.MustCompile(`/webhooks/[0-9a-f]{16}`).FindAllString(b.Get(section+"/webhooks").Body, -1)
	require.Len(t, hooks, 2)
	delivered := first.FindStringSubmatch(b.Get(section + hooks[0] + "?state=delivered").Body)[1]
	waiting := first.FindStringSubmatch(b.Get(section + hooks[1] + "?state=waiting").Body)[1]
	const again = "Send this event again"
	for page, account := range map[string]string{delivered: "delivered", waiting: "waiting"} {
		got := b.Get(page)
		require.NotContains(t, got.Body, "<b>Ann")
		for _, want := range []string{`"type": "user.created"`, `"accountId": "` + account + `"`, `"lastName": "Able"`} {
			require.Contains(t, html.UnescapeString(got.Body), want)
		}
		require.Contains(t, got.Body, again)
		require.NotContains(t, got.Body, "was deleted")
		require.NoError(t, w.Engine.Erasures.DeleteUser(t.Context(), "acme", core.AccountID(account), "u", users.DeleteOptions{}))
	}
	got := b.Get(delivered)
	require.Contains(t, got.Body, "and its data with the user. It cannot be sent again.")
	require.NotContains(t, got.Body, again)
	require.NotContains(t, got.Body, "Able")
	got = b.Get(waiting)
	require.Contains(t, got.Body, "what it said of the user is no longer in it.")
	require.Contains(t, html.UnescapeString(got.Body), `"accountId": "waiting"`)
	require.Contains(t, got.Body, again)
	require.NotContains(t, got.Body, "Able")

	large := strings.Repeat("x", 20_000)
	event := delivered[strings.LastIndexByte(delivered, '/')+1:]
	require.NoError(t, w.Engine.DB.Write(t.Context(), w.Engine.Now(), func(tx *store.Tx) error {
		return tx.Exec(t.Context(), "test", `UPDATE webhook_event SET data = json_object('x', ?) WHERE tenant = 'acme' AND id = ?`, large, event)
	}))
	got = b.Get(delivered)
	require.Contains(t, got.Body, "This is the beginning; the endpoint gets all of it.")
	require.NotContains(t, got.Body, large)
}

// The delivery log goes from page to page, in each state.
func TestWebhooks_DeliveryLog(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	_, err := w.Engine.Webhooks.Subscribe(t.Context(), "acme", webhook.Request{Endpoint: "https://shop.example/hook"})
	require.NoError(t, err)
	var events []string
	for range 2*webhook.MaxDeliveryPage + 1 {
		event, err := w.Engine.Webhooks.Test(t.Context(), "acme", "https://shop.example/hook")
		require.NoError(t, err)
		events = append([]string{event}, events...)
		w.Pass(1)
	}
	b := w.SignedIn(t, portaltest.Owner)
	hook := section + regexp.MustCompile(`/webhooks/[0-9a-f]{16}`).FindString(b.Get(section+"/webhooks").Body)
	for _, state := range []string{"", "waiting"} {
		var seen []string
		page := hook + "?state=" + state
		for pages := 0; page != ""; pages++ {
			require.Less(t, pages, 3)
			body := b.Get(page).Body
			for _, found := range regexp.MustCompile(`/deliveries/([0-9a-f]+)"`).FindAllStringSubmatch(body, -1) {
				seen = append(seen, found[1])
			}
			page = ""
			if older := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(body); older != nil {
				page = strings.ReplaceAll(older[1], "&amp;", "&")
			}
		}
		require.Equal(t, events, seen, state)
	}
	require.Contains(t, b.Get(hook+"?state=failed").Body, "No delivery is in this state")
}

// The page of the website changes origins, consent, secure mode and the share origin, and
// says what is wrong.
func TestWebsite(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/website"
	require.Contains(t, b.Get(page).Body, "https://acme.example/")
	got := b.Post(t, page, page+"/origin", "origin", "https://shop.example/path")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The origin must be an origin such as")
	require.Equal(t, page+"?done=origin-added", b.Post(t, page, page+"/origin", "origin", "https://shop.example/").Header.Get("Location"))
	allowed := func() bool {
		ok, err := w.Engine.Origins.Allowed(t.Context(), "acme", "https://shop.example")
		require.NoError(t, err)
		return ok
	}
	require.True(t, allowed())
	require.Equal(t, page+"?done=origin-removed", b.Post(t, page, page+"/origin-remove", "remove", "https://shop.example").Header.Get("Location"))
	require.False(t, allowed())

	got = b.Post(t, page, page+"/consent", "consent", "opt-in", "consentCookie", "")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The cookie of your banner is required with consent opt-in")
	require.Contains(t, got.Body, `value="opt-in" checked`)
	got = b.Post(t, page, page+"/consent", "consent", "opt-in", "consentCookie", "a;b")
	require.Contains(t, got.Body, "The cookie of your banner must be the name of a cookie: ASCII characters without blanks")
	require.Equal(t, page+"?done=consent-saved", b.Post(t, page, page+"/consent", "consent", "opt-in", "consentCookie", "agreed").Header.Get("Location"))
	got = b.Post(t, page, page+"/secure-mode", "mode-lookup-user", "open", "mode-get-widget", "signed")
	require.Equal(t, page+"?done=secure-mode-saved", got.Header.Get("Location"))
	require.Contains(t, b.Get(page).Body, "1 call is open to everybody")
	require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, page, page+"/secure-mode", "mode-lookup-user", "fly").Status)
	got = b.Post(t, page, page+"/share-origin", "shareOrigin", "go.shop.example")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The origin of share links must be http or https and a host")
	require.Equal(t, page+"?done=share-origin-saved", b.Post(t, page, page+"/share-origin", "shareOrigin", "https://go.shop.example/").Header.Get("Location"))
	require.Contains(t, b.Get(page).Body, "https://go.shop.example/s/acme/ANNA10")
	got = b.Post(t, page, page+"/time-zone", "time-zone", "Berlin")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The time zone is not the name of a time zone; give one like Europe/Berlin")
	require.NotContains(t, got.Body, "data-zone=")
	require.Equal(t, page+"?done=time-zone-saved", b.Post(t, page, page+"/time-zone", "time-zone", "Europe/Berlin").Header.Get("Location"))
	require.Contains(t, b.Get(page).Body, ` data-zone="Europe/Berlin"`)

	tenant, err := w.Engine.Tenants.ByAlias(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, link.Policy{Consent: link.ConsentOptIn, ConsentCookie: "agreed"}, tenant.Policy)
	require.Equal(t, auth.Open, tenant.SecureMode[auth.LookupUser])
	require.Equal(t, auth.Signed, tenant.SecureMode[auth.GetWidget])
	actions, all := entries(t, w)
	require.Equal(t, []people.Action{operation.ChangeTenant.Action, operation.ChangeWebsite.Action, operation.ChangeWebsite.Action, operation.ChangeWebsite.Action, operation.RemoveOrigin.Action, operation.AddOrigin.Action}, actions)
	require.Contains(t, all, `"secureMode.lookup-user":"open"`)
}

// hidden returns the hidden fields of a form on a page, by its action.
func hidden(t *testing.T, page, action string) (fields []string) {
	t.Helper()
	_, form, found := strings.Cut(page, `action="`+action+`"`)
	require.True(t, found)
	form, _, _ = strings.Cut(form, "</form>")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
		if m[1] != "csrf" {
			fields = append(fields, m[1], html.UnescapeString(m[2]))
		}
	}
	require.NotEmpty(t, fields)
	return fields
}

// A form that was opened before a colleague's change takes back nothing of it.
func TestForms_OpenedBeforeAnotherChange(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/website"
	opened := b.Get(page).Body
	for _, c := range []struct {
		form         string
		first, later []string
	}{
		{"secure-mode", []string{"mode-get-widget", "signed", "mode-track-events", "signed"}, []string{"mode-get-widget", "open", "mode-track-events", "disabled"}},
		{"consent", []string{"consent", "opt-in", "consentCookie", "agreed"}, []string{"consent", "off", "consentCookie", "answer"}},
		{"cache", []string{"link-max-age", "7", "code-names", "1"}, []string{"link-max-age", "60"}},
		{"share-origin", []string{"shareOrigin", "https://go.acme.example"}, []string{"shareOrigin", ""}},
		{"time-zone", []string{"time-zone", "Europe/Berlin"}, []string{"time-zone", ""}},
	} {
		seen := hidden(t, opened, page+"/"+c.form)
		require.Equal(t, http.StatusSeeOther, b.Post(t, page, page+"/"+c.form, append(seen, c.first...)...).Status, c.form)
		require.Equal(t, http.StatusSeeOther, b.Post(t, page, page+"/"+c.form, append(seen, c.later...)...).Status, c.form)
	}
	tenant, err := w.Engine.Tenants.ByAlias(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, auth.Signed, tenant.SecureMode[auth.GetWidget], "the later form had not changed it")
	require.Equal(t, auth.Disabled, tenant.SecureMode[auth.TrackEvents])
	require.Equal(t, link.Policy{Consent: link.ConsentOptIn, ConsentCookie: "answer"}, tenant.Policy)
	require.Equal(t, 7*core.Second, tenant.LinkMaxAge)
	require.False(t, tenant.CodeNames)
	require.Equal(t, []string{"https://go.acme.example", "Europe/Berlin"}, []string{tenant.ShareOrigin, tenant.TimeZone})

	b.Post(t, section+"/webhooks", section+"/webhooks/subscribe", "endpointUrl", "https://crm.example/hook", "eventTypes", "reward.created")
	hook := section + regexp.MustCompile(`/webhooks/[0-9a-f]{16}`).FindString(b.Get(section+"/webhooks").Body)
	for _, c := range []struct{ page, form, field string }{{section + "/pipeline", "mapping", "accountId"}, {hook, "change", "name"}} {
		seen := append(hidden(t, b.Get(c.page).Body, c.page+"/"+c.form), "otherEvents", "log")
		require.Equal(t, http.StatusSeeOther, b.Post(t, c.page, c.page+"/"+c.form, append(seen, c.field, "context.groupId")...).Status)
		later := b.Post(t, c.page, c.page+"/"+c.form, append(seen, c.field, "traits.account")...)
		require.Equal(t, http.StatusUnprocessableEntity, later.Status)
		require.Contains(t, later.Text(), "has changed since you opened this page")
		require.Contains(t, later.Body, `value="traits.account"`, "what was entered stays")
		require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, c.page, c.page+"/"+c.form, append(hidden(t, later.Body, c.page+"/"+c.form), c.field, "x")...).Status)
	}
}

// The page about storage names each cookie that share links set, with its lifetime, and
// follows the policy.
func TestStorage_NamesTheCookiesThatAreSet(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/website"
	body := b.Get(page + "/storage").Body
	settings, err := w.Engine.Admin.Website.Read(t.Context(), people.Caller{Tenant: "acme", Role: people.Owner})
	require.NoError(t, err)
	signer := w.Engine.Keys.Cookie("acme")
	visit := link.Visit{Method: "GET", Secure: true, Host: "kith.example", UserAgent: "Mozilla/5.0"}
	answer := link.FollowShareLink(visit, link.Tenant{Alias: "acme", Policy: settings.Tenant.Policy, Cookies: func() auth.Signer { return signer }}, settings.Programs[0].Program, "ANNA10", w.Engine.Now())
	set := regexp.MustCompile(`^([^=]+)=.*; Max-Age=([0-9]+);`)
	for _, cookie := range []string{answer.SetCookie, answer.SquatchCookie} {
		found := set.FindStringSubmatch(cookie)
		require.NotNil(t, found, cookie)
		require.Equal(t, "2592000", found[2], "30 days")
		require.Contains(t, body, `<code class="break">`+found[1]+`</code></td>`+"\n"+`<td data-label="For how long">30 days</td>`)
	}
	require.Contains(t, body, `<code class="break">kith-user_acme</code></td>`+"\n"+`<td data-label="For how long">400 days</td>`)
	require.Contains(t, body, "without asking")

	b.Post(t, page, page+"/secure-mode", "mode-create-cookie-user", "disabled")
	b.Post(t, page, page+"/consent", "consent", "opt-out", "consentCookie", "agreed")
	body = b.Get(page + "/storage").Body
	require.NotContains(t, body, "kith-user_acme")
	require.Contains(t, body, "unless the visitor has refused: then the cookie <code>agreed</code>")
}

// The lifetime of the cookie that kith.js sets is the one in the script.
func TestStorage_ScriptCookie(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../../edge/script/kith.js")
	require.NoError(t, err)
	found := regexp.MustCompile(`writeCookie\(text, ([0-9]+) \* day\)`).FindAllStringSubmatch(string(script), -1)
	require.Len(t, found, 1)
	days, err := strconv.ParseInt(found[0][1], 10, 64)
	require.NoError(t, err)
	require.Equal(t, link.ScriptCookieLife, core.Time(days)*core.Day)
}

// What people entered is shown as text.
func TestPages_Escape(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	const attack = `"><script>alert(1)</script>`
	for path, fields := range map[string][]string{
		"/keys/create": {"name", attack, "role", "read"}, "/webhooks/subscribe": {"endpointUrl", attack, "name", attack}, "/website/origin": {"origin", attack},
		"/website/consent": {"consent", attack, "consentCookie", attack}, "/website/share-origin": {"shareOrigin", attack},
		"/gateway/connect": {"merchantId", attack, "publicKey", attack, "privateKey", attack}, "/pipeline/mapping": {"events", attack, "accountId", attack},
	} {
		got := b.Post(t, section+"/keys", section+path, fields...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, path)
		require.NotContains(t, got.Body, "<script>alert", path)
	}
	require.NotContains(t, b.Get(section+"/gateway/notifications?before="+url.QueryEscape(attack)).Body, "<script>alert")
}
