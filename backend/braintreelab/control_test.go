package braintreelab_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/braintreelab"
)

func TestControls_Refuse(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	b.subscribe(t, "anna", "s1", "pro")
	for name, forms := range map[string][][]string{
		"customers":     {{"id", "anna"}, {"id", "a/b"}},
		"subscriptions": {{"customer", "nobody", "plan", "pro"}, {"customer", "anna", "plan", "none"}, {"customer", "anna", "plan", "pro", "trial_days", "x"}, {"customer", "anna", "plan", "pro", "discount", "x"}},
		"cancel":        {{"subscription", "none"}},
		"retry":         {{"subscription", "none"}, {"subscription", "s1"}},
		"advance":       {{}, {"by", "d"}, {"by", "-1d"}, {"by", "1x"}, {"by", "99999d"}, {"by", "3y"}, {"to", "2025-01-01"}, {"to", "soon"}, {"by", "1é"}},
		"settle":        {{"transaction", "none"}},
		"refund":        {{"transaction", "none"}, {"transaction", b.State().Transactions[0].ID}},
		"decline":       {{"customer", "nobody", "on", "true"}},
		"dispute":       {{"transaction", "none", "status", "open"}, {"transaction", b.State().Transactions[0].ID, "status", "lost"}, {"transaction", b.State().Transactions[0].ID, "status", "angry"}},
		"settings":      {{"retry_days", "2 x"}, {"retry_days", "5 2"}, {"retry_days", "0"}},
		"modifications": {{"kind", "gift", "id", "x", "amount", "1"}, {"kind", "discount", "id", "loyalty", "amount", "1"}, {"kind", "discount", "id", "x", "amount", "y"}},
		"faults":        {{"kind", "fire"}, {"kind", "429", "times", "-1"}, {"kind", "429", "times", "1001"}},
		"mode":          {{"mode", "x"}},
	} {
		for _, form := range forms {
			require.NotEmpty(t, b.control(t, name, form...), "%s %q", name, form)
		}
	}
	require.Len(t, b.State().Transactions, 1, "nothing was changed")
}

func TestDisputes_Life(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	b.subscribe(t, "anna", "s1", "pro")
	id := b.State().Transactions[0].ID
	b.must(t, "dispute", "transaction", id, "status", "open")
	require.NotEmpty(t, b.control(t, "dispute", "transaction", id, "status", "open"), "the charge is disputed already")
	for _, status := range []string{"disputed", "under_review", "won"} {
		b.must(t, "dispute", "transaction", id, "status", status)
	}
	require.NotEmpty(t, b.control(t, "dispute", "transaction", id, "status", "lost"), "won is final")
	b.must(t, "dispute", "transaction", id, "status", "open")
	b.must(t, "dispute", "transaction", id, "status", "lost")
	var kinds []string
	for _, k := range b.kinds() {
		if kind, _, _ := strings.Cut(k, " "); strings.HasPrefix(kind, "dispute_") {
			kinds = append(kinds, kind)
		}
	}
	require.Equal(t, []string{"dispute_opened", "dispute_disputed", "dispute_under_review", "dispute_won", "dispute_opened", "dispute_lost"}, kinds)
	require.Equal(t, "lost", b.State().Transactions[0].Dispute)
}

func TestFaults_ChooseTheirCalls(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	gw := b.client(t)
	b.must(t, "faults", "kind", "500", "times", "5", "method", "PUT")
	b.must(t, "faults", "kind", "500", "times", "5", "path", "/customers")
	_, err := gw.Plans(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, b.State().Faults)
	b.must(t, "faults", "times", "0")
	require.Zero(t, b.State().Faults)
}

func browse(t *testing.T, b bundle, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// The page shows the state and its controls work in a browser.
func TestPage(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	w := browse(t, b, "GET", "/", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "No customers yet.")
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	const html = "text/html,application/xhtml+xml"
	for _, step := range [][2]string{
		{"/lab/customers", "id=anna&email=a@b.c&coupon=%3Cscript%3E"}, {"/lab/subscriptions", "customer=anna&plan=pro&discount=5.00"},
		{"/lab/settle", "transaction={tx}"}, {"/lab/refund", "transaction={tx}"}, {"/lab/dispute", "transaction={tx}&status=open"},
		{"/lab/advance", "by=1m"}, {"/lab/decline", "customer=anna&on=true"}, {"/lab/faults", "kind=503"},
	} {
		form := step[1]
		if all := b.State().Transactions; len(all) > 0 {
			form = strings.ReplaceAll(form, "{tx}", all[0].ID)
		}
		w = browse(t, b, "POST", step[0], form, "Accept", html, "Sec-Fetch-Site", "same-origin")
		require.Equal(t, http.StatusSeeOther, w.Code, step)
		require.Equal(t, "/", w.Header().Get("Location"), step)
	}
	s := b.State()
	body := browse(t, b, "GET", "/", "").Body.String()
	for _, want := range []string{
		"Sun 1 Feb 2026, 10:00", "<code>anna</code> a@b.c", "<code>svc_coupon = &lt;script&gt;</code>", "declines", s.Subscriptions[0].ID, "Active, cycle 2",
		s.Transactions[0].ID, "45.00 USD", "subscription_charged_successfully", "Faults for the next calls: 1",
		"refund of <code>" + s.Transactions[0].ID, "dispute open",
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "<script>")
	w = browse(t, b, "POST", "/lab/advance", "by=never", "Accept", html)
	back, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	require.Contains(t, browse(t, b, "GET", back.String(), "").Body.String(), "is not a time to advance by")
}

// Requests from pages of other sites are refused.
func TestControls_OtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		w := browse(t, b, "POST", "/lab/webhook", "url=http://evil.example/", headers...)
		require.Equal(t, http.StatusForbidden, w.Code)
	}
	require.Empty(t, b.State().Webhook)
}

func TestServer_BadBodies(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	for contentType, bodies := range map[string][]string{
		"application/json": {"{", "[1", `{"a":1}{}`, strings.Repeat("[", 100), `{"a":tru}`},
		"application/xml":  {"<a", "<a></b>", "hello", "<!DOCTYPE a><a/>"},
		"":                 {strings.Repeat("x", 1<<20+1)},
	} {
		for _, body := range bodies {
			r := httptest.NewRequest("POST", "/merchants/lab_merchant/customers", strings.NewReader(body))
			r.SetBasicAuth(labKey.Public, labKey.Private)
			r.Header.Set("Content-Type", contentType)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			require.Equal(t, http.StatusBadRequest, w.Code, "%.40s", body)
		}
	}
	require.Empty(t, b.State().Customers)
}

// The lab answers any body sent to any call, and its state stays valid.
func FuzzCalls(f *testing.F) {
	for i, body := range []string{
		`{"customer":{"id":"bob","creditCard":{"number":"4111111111111111","expirationDate":"12/2030"},"customFields":{"svc_coupon":"X"}}}`,
		`{"subscription":{"discounts":{"add":[{"inherited_from_id":"svc_discount","amount":"5.00"}],"update":[{"existingId":"loyalty","quantity":2}],"remove":["seats"]},"options":{"prorate_charges":true}}}`,
		`{"transaction":{"amount":"5.00","order_id":"o","api_request_key":"k"}}`,
		`{"search":{"plan_id":{"is":"pro"},"status":["Active"],"ids":["s1"],"created_at":{"min":"2026-01-01T00:00:00Z"}}}`,
		`<subscription><price>60.00</price><plan-id>pro</plan-id></subscription>`,
	} {
		f.Add(byte(i), body)
	}
	calls := []string{
		"POST /customers", "PUT /customers/anna", "POST /payment_methods", "POST /subscriptions", "PUT /subscriptions/s1", "PUT /subscriptions/s1/cancel",
		"POST /transactions", "POST /transactions/{tx}/refund", "PUT /transactions/{tx}/void", "POST /subscriptions/advanced_search", "POST /customers/advanced_search_ids", "POST /plans",
	}
	f.Fuzz(func(t *testing.T, which byte, body string) {
		lab, err := braintreelab.New(braintreelab.Options{Now: func() time.Time { return start }})
		require.NoError(t, err)
		b := bundle{Lab: lab}
		control := func(name, form string) {
			w := browse(t, b, "POST", "/lab/"+name, form)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
		}
		control("customers", "id=anna")
		control("subscriptions", "id=s1&customer=anna&plan=pro&discount=5.00")
		method, path, _ := strings.Cut(calls[int(which)%len(calls)], " ")
		r := httptest.NewRequest(method, "/merchants/lab_merchant"+strings.ReplaceAll(path, "{tx}", b.State().Transactions[0].ID), strings.NewReader(body))
		r.SetBasicAuth(labKey.Public, labKey.Private)
		if strings.HasPrefix(body, "{") {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		b.ServeHTTP(w, r)
		require.Contains(t, []int{200, 201, 400, 422}, w.Code)
		control("advance", "by=1m")
		require.Equal(t, http.StatusOK, browse(t, b, "GET", "/", "").Code)
	})
}
