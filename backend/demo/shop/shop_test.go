package shop

import (
	"encoding/json"
	"go/parser"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kith/clients/go"
)

func TestBill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		product string
		percent basisPoints
		want    Bill
		total   string
	}{
		"grinder":              {grinder, 0, Bill{Price: 8900, Tax: 712, Shipping: 690}, "$103.02"},
		"grinder of a friend":  {grinder, 1000, Bill{Price: 8900, Percent: 1000, Discount: 890, Tax: 641, Shipping: 690}, "$93.41"},
		"half a cent":          {grinder, 1250, Bill{Price: 8900, Percent: 1250, Discount: 1113, Tax: 623, Shipping: 690}, "$91.00"},
		"all of it":            {grinder, 10000, Bill{Price: 8900, Percent: 10000, Discount: 8900, Shipping: 690}, "$6.90"},
		"subscription":         {coffee, 0, Bill{Price: 1800}, "$18.00"},
		"subscription, friend": {coffee, 1000, Bill{Price: 1800, Percent: 1000, Discount: 180}, "$16.20"},
	} {
		got := billFor(productByID(c.product), c.percent)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.total, got.Total().String(), name)
	}
}

func TestCents(t *testing.T) {
	t.Parallel()
	for c, want := range map[cents]string{0: "$0.00", 5: "$0.05", 8900: "$89.00", -890: "−$8.90", 123456: "$1234.56"} {
		require.Equal(t, want, c.String())
	}
	for text, want := range map[string]cents{"0.00": 0, "18.00": 1800, "1234.56": 123456} {
		got, err := parseCents(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.decimal())
	}
	for _, text := range []string{"", "18", "18.0", "18.000", "-1.00", "1e3.00", "x.00", "99999999999999.00"} {
		_, err := parseCents(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "10 %", basisPoints(1000).String())
	require.Equal(t, "8.25 %", basisPoints(825).String())
	require.Equal(t, "0.5 %", basisPoints(50).String())
}

func TestNext(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/buy/grinder": "/buy/grinder", "/buy/coffee": "/buy/coffee", "": "/account", "/buy/tea": "/account",
		"//evil.example": "/account", "https://evil.example/buy/grinder": "/account", "/buy/grinder/../../x": "/account",
	} {
		require.Equal(t, want, next(path), path)
	}
}

func TestAttributionWords(t *testing.T) {
	t.Parallel()
	code := "ANNA"
	for want, a := range map[string]kith.Attribution{
		"Attributed by the first code of the share link's cookie: ANNA.":                                        {Attributed: true, Code: &code, Source: "cookie", Rule: "first-code"},
		"Attributed by the first code of the form: ANNA.":                                                       {Attributed: true, Code: &code, Source: "referredByCodes", Rule: "first-code"},
		"Not attributed by the code of the form: ANNA: no customer has this code.":                              {Code: &code, Source: "referredByCodes", Rule: "unknown-code"},
		"Not attributed by the code of the share link's cookie: a cookie counts for a new customer only.":       {Source: "cookie", Rule: "known-user"},
		"Not attributed by a code (carrier-pigeon): ANNA: new-rule.":                                            {Code: &code, Source: "carrier-pigeon", Rule: "new-rule"},
		"Not attributed by the code of the form: ANNA: the code's owner has the same e-mail address.":           {Code: &code, Source: "referredByCodes", Rule: "self-referral-email"},
		"Not attributed by the code of the share link's cookie: ANNA: the cookie is not signed by this tenant.": {Code: &code, Source: "cookie", Rule: "cookie-forged"},
	} {
		got := attributionWords([]kith.Attribution{a})
		require.Len(t, got, 1)
		require.Equal(t, Decision{want, a.Attributed}, got[0])
	}
}

// The code that counts is first, and the same code again is left out.
func TestAttributionWords_Order(t *testing.T) {
	t.Parallel()
	got := attributionWords([]kith.Attribution{
		{Code: kith.Ptr("ANNA"), Source: "_saasquatch", Rule: "same-code-again"},
		{Code: kith.Ptr("BEN"), Source: "cookie", Rule: "already-referred"},
		{Code: kith.Ptr("ANNA"), Source: "cookie", Rule: "first-code", Attributed: true},
	})
	require.Equal(t, []Decision{
		{"Attributed by the first code of the share link's cookie: ANNA.", true},
		{"Not attributed by the code of the share link's cookie: BEN: the customer was referred by another code before, and the first one counts.", false},
	}, got)
}

func TestReferralWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	later, revenue, one, credit, percent := now.AddDate(0, 0, 30).UnixMilli(), int64(8010), int64(1), int64(801), 10.0
	r := &kith.Referral{State: "converted", ReferrerUser: kith.Participant{FirstName: "anna"}}
	order := kith.Order{OrderID: "1001", Counts: true, Conversion: &one, Number: &one, RevenueInCents: &revenue, Currency: kith.Ptr("USD"), Rewards: kith.OrderRewards{
		Referrer: kith.OrderReward{Reward: &kith.Reward{Unit: "CENTS", AssignedCredit: &credit, DateScheduledFor: &later}},
		Referred: kith.OrderReward{Reward: &kith.Reward{Unit: "%", DiscountPercent: &percent}},
	}}
	texts := func(all []Decision) (texts []string) {
		for _, d := range all {
			texts = append(texts, d.Text)
		}
		return texts
	}
	require.Equal(t, []string{
		"Converted: purchase of 80.10 USD (order 1001).",
		"Anna earns $8.01 of credit. The reward waits until December 23, 2026, when the order can no longer be returned.",
		"The friend earns 10 % off. The reward is available.",
	}, texts(referralWords(r, []kith.Order{order}, now)))

	less := int64(450)
	second := kith.Order{Rewards: kith.OrderRewards{Referrer: kith.OrderReward{Reward: &kith.Reward{Unit: "CENTS", AssignedCredit: &less}}}}
	require.Equal(t, "bought: $8.01 of credit from December 23, 2026; bought: $4.50 of credit", friendWords(*r, []kith.Order{second, {}, order}, now))

	order.RefundedInCents, order.Refunded = revenue, true
	order.Rewards.Referrer.Reward.ReversedValue = kith.Ptr(801.0)
	require.Equal(t, []string{
		"Converted: purchase of 80.10 USD (order 1001).",
		"Returned: 80.10 of it, so that share of each reward is taken back.",
		"Anna earned $8.01 of credit; the return took it back.",
		"The friend earns 10 % off. The reward is available.",
	}, texts(referralWords(r, []kith.Order{order}, now)))

	order = kith.Order{OrderID: "1002", RevenueInCents: &revenue, Reason: &kith.OrderReason{Code: "condition-failed", Message: "A condition does not hold"}}
	waiting := &kith.Referral{State: "started", ReferrerModerationStatus: kith.Ptr(kith.SideStatusPENDING)}
	require.Equal(t, []string{
		"The referral has not converted yet: the program waits for an order that counts.",
		"Order 1002 of 80.10 does not count. A condition does not hold.",
		"A moderator must look at this referral before its rewards are given.",
	}, texts(referralWords(waiting, []kith.Order{order}, now)))
	require.Equal(t, []string{"No friend referred this customer, so their orders convert nothing."}, texts(referralWords(nil, nil, now)))
}

// The panel's curl command makes the same request when a shell runs it, and its Go code
// is Go.
func TestRecorder_CommandsMakeTheSameCall(t *testing.T) {
	t.Parallel()
	type seen struct{ Method, URI, Key, Cookie, Kind, Body string }
	var got []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		_, key, _ := r.BasicAuth()
		got = append(got, seen{r.Method, r.RequestURI, key, r.Header.Get("Cookie"), r.Header.Get("Content-Type"), string(body)})
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"orders":[],"referrals":[]}`))
	}))
	defer server.Close()
	calls := &recorder{base: http.DefaultTransport}
	client, err := kith.New(kith.Config{BaseURL: server.URL, Tenant: "demo", APIKey: "KEY", HTTPClient: &http.Client{Transport: calls}})
	require.NoError(t, err)
	s, ctx := service{Client: client, recorder: calls, program: Program}, t.Context()
	c := Customer{ID: "o-1", First: `Conan "Doc"`, Last: "O'Brien$(id)", Email: "o@example.com"}
	_, err = s.identify(ctx, c, kith.Visitor{Cookie: "kith_demo=v1.x'y", SecGPC: "0"}, "CODE'1")
	require.NoError(t, err)
	require.NoError(t, s.purchase(ctx, c, "1001", 8010))
	require.NoError(t, s.refund(ctx, c, "1001"))
	require.NoError(t, s.sync(ctx, c, kith.SubscriptionStatusPAID))
	_, _, err = s.code(ctx, "A/B")
	require.NoError(t, err)
	_, err = s.orders(ctx, "r1")
	require.NoError(t, err)
	_, _, err = s.friends(ctx, c)
	require.NoError(t, err)

	made := got
	require.Len(t, made, 7)
	require.Contains(t, made[1].Body, `"revenue":80.10`)
	for i, call := range calls.all() {
		got = nil
		out, err := exec.CommandContext(ctx, "sh", "-c", call.Curl+" -sS").CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, made[i:i+1], got, call.Curl)
		_, err = parser.ParseExpr("func() {\n" + call.Go + "\n}")
		require.NoError(t, err, call.Go)
		require.True(t, json.Valid([]byte(call.Answer)))
		require.Equal(t, 200, call.Status)
	}
}

// What the shop stores is there after a restart; a page does not get the session of
// another customer.
func TestBook_KeepsCustomers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "shop.json")
	b, err := openBook(path)
	require.NoError(t, err)
	c, added, err := b.join("Anna", "Ahrens", "anna@example.com", time.Now())
	require.NoError(t, err)
	require.True(t, added)
	token, err := b.begin(c.ID)
	require.NoError(t, err)
	_, err = b.change(c.ID, func(c *Customer) error {
		c.Orders = append(c.Orders, Order{ID: b.data.Customers[c.ID].ID, Product: grinder, Bill: billFor(productByID(grinder), 0)})
		return nil
	})
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NotContains(t, string(text), token, "the file has no session's token")

	again, err := openBook(path)
	require.NoError(t, err)
	found, ok := again.customer(token)
	require.True(t, ok)
	require.Len(t, found.Orders, 1)
	_, ok = again.customer("other")
	require.False(t, ok)
	same, added, err := again.join("Other", "", "ANNA@example.com", time.Now())
	require.NoError(t, err)
	require.False(t, added)
	require.Equal(t, c.ID, same.ID)
	require.NoError(t, again.end(token))
	_, ok = again.customer(token)
	require.False(t, ok)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = openBook(path)
	require.ErrorContains(t, err, "remove the file")
}

func TestBook_IsBounded(t *testing.T) {
	t.Parallel()
	b, err := openBook("")
	require.NoError(t, err)
	for i := range maxCustomers {
		_, _, err = b.join("A", "", "a"+strconv.Itoa(i)+"@example.com", time.Now())
		require.NoError(t, err)
	}
	_, _, err = b.join("A", "", "last@example.com", time.Now())
	require.ErrorContains(t, err, "is full")
	for range maxSessions + 1 {
		_, err = b.begin("x")
		require.NoError(t, err)
	}
	require.Len(t, b.data.Sessions, 1)
	for i := range 100 {
		b.keep("page", []Call{{Title: strconv.Itoa(i)}})
	}
	require.Len(t, b.kept("page"), maxCalls)
}

// Two hosts have two shops, and a page of another site cannot send a form.
func TestShop_HostsAndForms(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Tenants: []Tenant{{Alias: "demo", Key: "k", URL: "http://127.0.0.1:3000"}, {Alias: "test_demo", Key: "k", URL: "http://localhost:3000"}}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	s.Register(mux)
	get := func(host, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "backend:8080"
		r.Header.Set("X-Forwarded-Host", host)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	require.Contains(t, get("127.0.0.1:3000", "/shop").Body.String(), "Tenant <code>demo</code>")
	require.Contains(t, get("LOCALHOST:3000", "/shop").Body.String(), "Tenant <code>test_demo</code>")
	require.Contains(t, get("elsewhere", "/shop").Body.String(), "Tenant <code>demo</code>")
	require.Equal(t, "/shop/join?next=%2Fbuy%2Fgrinder", get("localhost", "/shop/buy/grinder").Header().Get("Location"))
	page := get("localhost", "/shop?rsShareMedium=%3Cscript%3E")
	policy := page.Header().Get("Content-Security-Policy")
	require.NotContains(t, policy, "unsafe")
	_, nonce, _ := strings.Cut(policy, "'nonce-")
	nonce, _, _ = strings.Cut(nonce, "'")
	require.Equal(t, strings.Count(page.Body.String(), "<script"), strings.Count(page.Body.String(), `nonce="`+nonce+`"`))
	require.NotContains(t, get("localhost", "/shop").Header().Get("Content-Security-Policy"), nonce)

	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:3000/shop/join", strings.NewReader("name=A&email=a@example.com"))
	r.Header.Set("Content-Type", formType)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
}
