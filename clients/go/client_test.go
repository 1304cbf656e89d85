package kith_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	kith "kith/clients/go"
)

const (
	demoKey  = "LIVE_DEMO_KEY_0123456789"
	testKey  = "TEST_DEMO_KEY_0123456789"
	deadline = 2 * time.Minute
)

// edge is the base URL of the program under test, and data its folder.
var edge, data string

// TestMain starts the program of this tree on free ports with its demo tenants.
func TestMain(m *testing.M) {
	os.Exit(withProgram(m.Run))
}

func withProgram(run func() int) int {
	folder, err := os.MkdirTemp("", "kith-client")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	data = folder
	program := kithCommand("dev")
	edge = "http://" + freeAddr()
	program.Env = append(program.Env, "KITH_EDGE_ADDR="+strings.TrimPrefix(edge, "http://"), "KITH_BACKEND_ADDR="+freeAddr(), "KITH_LAB_ADDR=off", "KITH_STRIPE_LAB_ADDR=off", "KITH_SFTP_ADDR=off")
	if err := program.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err, "- run make build")
		return 1
	}
	defer func() { _ = program.Process.Kill(); _ = program.Wait() }()
	for end := time.Now().Add(deadline); ; time.Sleep(20 * time.Millisecond) {
		if answer, err := http.Get(edge + "/healthz"); err == nil {
			answer.Body.Close()
			return run()
		}
		if time.Now().After(end) {
			fmt.Fprintln(os.Stderr, "kith dev does not answer")
			return 1
		}
	}
}

// kithCommand returns a command of the program of this tree.
func kithCommand(args ...string) *exec.Cmd {
	binary, err := filepath.Abs("../../bin/kith")
	if err != nil {
		panic(err)
	}
	c := exec.Command(binary, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "KITH_") {
			c.Env = append(c.Env, entry)
		}
	}
	c.Env = append(c.Env, "KITH_DATA="+data)
	return c
}

// freeAddr returns a loopback address on which nothing listens. Its port is below those that
// Linux uses for outgoing connections: one of those could take it before the program does.
func freeAddr() string {
	for {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(22_000))
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return addr
		}
		if err == nil {
			c.Close()
		}
	}
}

func must[T any](t *testing.T, value T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func newClient(t *testing.T, change func(*kith.Config)) *kith.Client {
	t.Helper()
	config := kith.Config{BaseURL: edge, Tenant: "demo", APIKey: demoKey, Timeout: deadline}
	if change != nil {
		change(&config)
	}
	c, err := kith.New(config)
	return must(t, c, err)
}

// A friend follows a share link and signs up at a server; the account pays, and the
// referrer redeems the reward.
func TestClient_RunsTheStoryOfAReferral(t *testing.T) {
	c, ctx := newClient(t, nil), context.Background()

	link, err := http.NewRequest("GET", edge+"/s/demo/ANNA10", nil)
	followed, err := http.DefaultTransport.RoundTrip(must(t, link, err))
	followed.Body.Close()
	signUp := httptest.NewRequest("POST", "/signup", nil)
	signUp.Header.Set("Cookie", "session=secret")
	for _, cookie := range must(t, followed, err).Cookies() {
		signUp.AddCookie(cookie)
	}
	visitor := c.ForwardedVisitor(signUp, "agreed")
	if strings.Contains(visitor.Cookie, "secret") || !strings.Contains(visitor.Cookie, "kith_demo=") {
		t.Fatalf("cookies that are forwarded: %s", visitor.Cookie)
	}
	user, err := c.UpsertUser(kith.WithVisitor(ctx, visitor), "bob/eu", "bob/eu", kith.UpsertUserParams{}, kith.UserInput{FirstName: kith.Ptr("Bob"), Email: kith.Ptr("bob@example.com")})
	equal(t, "code", must(t, user, err).ReferredBy.Code, "ANNA10")

	account, err := c.SyncAccount(ctx, kith.AccountInput{ID: "bob/eu", Subscription: &kith.SubscriptionInput{Status: kith.Ptr(kith.SubscriptionStatusPAID), Value: kith.Ptr(29.0)}})
	equal(t, "status", must(t, account, err).Subscription.Status, kith.SubscriptionStatusPAID)
	page, err := c.ListReferrals(ctx, kith.ListReferralsParams{ReferredAccountID: kith.Ptr("bob/eu")})
	equal(t, "state", must(t, page, err).Referrals[0].State, kith.ReferralStateConverted)

	redeemed, err := c.RedeemCredit(ctx, kith.BulkRedemptionInput{AccountID: "anna", Unit: "CENTS", Amount: 400})
	equal(t, "credit left", must(t, redeemed, err).CreditAvailable, 600)

	order := kith.EventsInput{IdempotencyKey: kith.Ptr("order-0001"), Events: []kith.EventInput{{Key: "purchase", Fields: map[string]any{"revenue": 29}}}}
	events, err := c.LogEvents(ctx, "bob/eu", "bob/eu", order)
	equal(t, "events", len(must(t, events, err).Events), 1)
	_, err = c.LogEvents(ctx, "bob/eu", "bob/eu", order)
	var e *kith.Error
	equal(t, "duplicate", errors.As(err, &e) && e.Duplicate() && kith.Once(err) == nil, true)
	if err := c.DeleteUser(ctx, "bob/eu", "bob/eu", kith.DeleteUserParams{DoNotTrack: kith.Ptr(true)}); err != nil {
		t.Fatal(err)
	}
}

// Each answer about a user gives the clean share link of GetShareURLs.
func TestFlatShareLinks_CleanShareLink(t *testing.T) {
	c, ctx := newClient(t, nil), context.Background()
	urls, err := c.GetShareURLs(ctx, "anna", "anna", kith.GetShareURLsParams{})
	want := must(t, urls, err).ShareLinks.CleanShareLink
	equal(t, "clean link", want, edge+"/s/demo/ANNA10")
	user, err := c.GetUser(ctx, "anna", "anna", kith.GetUserParams{})
	equal(t, "of a user", must(t, user, err).ShareLinks.CleanShareLink(), want)
	older, err := c.GetShareLinks(ctx, "anna", "anna", kith.GetShareLinksParams{})
	older = must(t, older, err)
	equal(t, "of the older form", older.CleanShareLink(), want)
	user, err = c.GetUser(ctx, "anna", "anna", kith.GetUserParams{Fields: kith.Ptr("id")})
	equal(t, "without links", must(t, user, err).ShareLinks.CleanShareLink(), "")
}

// An error has the fields of the answer, also if a proxy answered.
func TestClient_ErrorsAreTyped(t *testing.T) {
	ctx := context.Background()
	_, err := newClient(t, nil).GetUser(ctx, "nobody", "nobody", kith.GetUserParams{})
	var e *kith.Error
	if !errors.As(err, &e) || e.StatusCode != 404 || e.APIErrorCode != "NOT_FOUND" || e.Message == "" || e.RequestID == "" || e.Duplicate() {
		t.Fatalf("%#v", err)
	}
	_, err = newClient(t, func(c *kith.Config) { c.APIKey = "wrong" }).GetAccount(ctx, "anna")
	equal(t, "status", errors.As(err, &e) && e.StatusCode == 401, true)
	_, err = newClient(t, nil).GetUser(ctx, "..", "anna", kith.GetUserParams{})
	equal(t, "refused id", err != nil && strings.HasPrefix(err.Error(), "kith: account: "), true)

	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }))
	defer proxy.Close()
	_, err = newClient(t, func(c *kith.Config) { c.BaseURL = proxy.URL }).GetAccount(ctx, "anna")
	equal(t, "status of the proxy", errors.As(err, &e) && e.StatusCode == 502 && e.APIErrorCode == "", true)
}

// A client with a user token is limited to the user of the token.
func TestClient_WithUserToken(t *testing.T) {
	ctx := context.Background()
	c := newClient(t, func(c *kith.Config) {
		c.APIKey = ""
		c.UserToken = func(context.Context) (string, error) {
			return kith.SignUserToken(demoKey, map[string]any{"accountId": "anna", "id": "anna"}, time.Hour)
		}
	})
	user, err := c.GetUser(ctx, "anna", "anna", kith.GetUserParams{Fields: kith.Ptr("id,referralCode")})
	equal(t, "code", *must(t, user, err).ReferralCode, "ANNA10")
	var e *kith.Error
	_, err = c.GetUser(ctx, "eve", "eve", kith.GetUserParams{})
	equal(t, "another user", errors.As(err, &e) && e.StatusCode == 403, true)

	anonymous := newClient(t, func(c *kith.Config) {
		c.APIKey = ""
		c.UserToken = func(context.Context) (string, error) { return kith.SignAnonymousToken(demoKey, time.Minute) }
	})
	visitor, err := anonymous.UpsertCookieUser(ctx, kith.UpsertCookieUserParams{}, kith.UserInput{FirstName: kith.Ptr("Eve")})
	equal(t, "name", must(t, visitor, err).FirstName != nil, true)
	for _, user := range []map[string]any{nil, {"id": "anna"}, {"id": 1, "accountId": "anna"}} {
		if _, err := kith.SignUserToken(demoKey, user, time.Hour); err == nil {
			t.Errorf("a token for %v", user)
		}
	}
}

// flakyProxy is a proxy in front of the program. spoil may answer a request itself, before
// or after the program did the call.
func flakyProxy(t *testing.T, spoil func(n int, w http.ResponseWriter, forward func()) bool) (base string, calls *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(edge)
	proxy := httputil.NewSingleHostReverseProxy(must(t, target, err))
	calls = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(calls.Add(1))
		if !spoil(n, w, func() { proxy.ServeHTTP(httptest.NewRecorder(), r) }) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, calls
}

// The answer to the first attempt is lost, after the program stored the events. The
// second attempt has the same key, and nothing is stored twice.
func TestClient_RepeatsWithTheSameIdempotencyKey(t *testing.T) {
	base, calls := flakyProxy(t, func(n int, w http.ResponseWriter, forward func()) bool {
		if n == 1 {
			forward()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n == 1
	})
	ctx := context.Background()
	c := newClient(t, func(c *kith.Config) { c.BaseURL = base })
	_, err := c.LogEvents(ctx, "anna", "anna", kith.EventsInput{Events: []kith.EventInput{{Key: "login"}}})
	var e *kith.Error
	equal(t, "duplicate", errors.As(err, &e) && e.Duplicate(), true)
	equal(t, "attempts", calls.Load(), 2)

	key := "login-anna-0001"
	_, err = c.LogEvents(ctx, "anna", "anna", kith.EventsInput{IdempotencyKey: &key, Events: []kith.EventInput{{Key: "login"}}})
	equal(t, "err", err, nil)
	_, err = c.LogEvents(ctx, "anna", "anna", kith.EventsInput{IdempotencyKey: &key, Events: []kith.EventInput{{Key: "refund"}}})
	equal(t, "differs", errors.As(err, &e) && e.Differs && !e.Duplicate(), true)

	calls.Store(0)
	given, err := c.CreateReward(ctx, "anna", "anna", kith.RewardInput{Type: "CREDIT", Unit: kith.Ptr("ONCE"), AssignedCredit: kith.Ptr(int64(5))})
	equal(t, "err", err, nil)
	equal(t, "attempts", calls.Load(), 2)
	all, err := c.ListRewards(ctx, kith.ListRewardsParams{AccountID: "anna"})
	equal(t, "err", err, nil)
	var ids []string
	for _, r := range all {
		if r.Unit == "ONCE" {
			ids = append(ids, r.ID)
		}
	}
	equal(t, "rewards", strings.Join(ids, " "), given.ID)

	// With a key of one's own, calls that the program repeats are one.
	own := kith.WithIdempotencyKey(ctx, "order-4711-reward")
	first, err := c.CreateReward(own, "anna", "anna", kith.RewardInput{Type: "CREDIT", Unit: kith.Ptr("OWN"), AssignedCredit: kith.Ptr(int64(5))})
	equal(t, "err", err, nil)
	second, err := c.CreateReward(own, "anna", "anna", kith.RewardInput{Type: "CREDIT", Unit: kith.Ptr("OWN"), AssignedCredit: kith.Ptr(int64(5))})
	equal(t, "err", err, nil)
	equal(t, "id", second.ID, first.ID)
}

// What is repeated, and when.
func TestClient_Repeats(t *testing.T) {
	read := func(c *kith.Client) error { _, err := c.GetAccount(context.Background(), "anna"); return err }
	create := func(c *kith.Client) error {
		_, err := c.RunGraphQL(context.Background(), kith.GraphQLRequest{Query: "{__typename}"})
		return err
	}
	for _, test := range []struct {
		name   string
		status int
		after  string
		call   func(*kith.Client) error
		want   int32
		failed bool
	}{
		{"a call that changes nothing, after 503", 503, "1", read, 2, false},
		{"a POST without key, after 503", 503, "1", create, 1, true},
		{"a POST without key, after 429: it was not done", 429, "1", create, 2, false},
		{"without Retry-After", 503, "", read, 1, true},
		{"a longer wait than MaxWait", 503, "60", read, 1, true},
		{"another status", 500, "1", read, 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			base, calls := flakyProxy(t, func(n int, w http.ResponseWriter, _ func()) bool {
				if n == 1 {
					if test.after != "" {
						w.Header().Set("Retry-After", test.after)
					}
					w.WriteHeader(test.status)
				}
				return n == 1
			})
			err := test.call(newClient(t, func(c *kith.Config) { c.BaseURL = base }))
			equal(t, "attempts", calls.Load(), test.want)
			equal(t, "failed", err != nil, test.failed)
		})
	}
}

// A connection that breaks is repeated; an attempt and an answer are limited.
func TestClient_IsBounded(t *testing.T) {
	base, calls := flakyProxy(t, func(n int, _ http.ResponseWriter, _ func()) bool {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	_, err := newClient(t, func(c *kith.Config) { c.BaseURL = base }).GetAccount(context.Background(), "anna")
	equal(t, "repeated after a broken connection", err == nil && calls.Load() == 2, true)

	stop := make(chan struct{})
	base, calls = flakyProxy(t, func(int, http.ResponseWriter, func()) bool { <-stop; return true })
	t.Cleanup(func() { close(stop) })
	_, err = newClient(t, func(c *kith.Config) { c.BaseURL, c.Timeout, c.Retries = base, 50*time.Millisecond, 1 }).GetAccount(context.Background(), "anna")
	equal(t, "timeout", errors.Is(err, context.DeadlineExceeded) && calls.Load() == 2, true)

	_, err = newClient(t, func(c *kith.Config) { c.MaxAnswer = 10 }).GetAccount(context.Background(), "anna")
	equal(t, "large answer", err != nil && strings.Contains(err.Error(), "MaxAnswer"), true)
}

func TestNew_NamesTheWrongField(t *testing.T) {
	for field, config := range map[string]kith.Config{
		"BaseURL": {Tenant: "demo"},
		"Tenant":  {BaseURL: edge},
		"APIKey":  {BaseURL: edge, Tenant: "demo", APIKey: "k", UserToken: func(context.Context) (string, error) { return "", nil }},
	} {
		_, err := kith.New(config)
		equal(t, field, err != nil && strings.HasPrefix(err.Error(), "kith: "+field), true)
	}
	_, err := kith.New(kith.Config{BaseURL: "https://user:password@shop.example", Tenant: "demo"})
	equal(t, "credentials", err != nil, true)
}

// The program sends a webhook, which is verified; changed, old and foreign ones are not.
func TestVerifyWebhook(t *testing.T) {
	ctx := context.Background()
	if output, err := kithCommand("webhook", "allow", "127.0.0.1", "--tenant", "test_demo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	type received struct {
		header http.Header
		body   []byte
	}
	arrived := make(chan received, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<20))
		arrived <- received{r.Header, body}
	}))
	defer server.Close()
	c := newClient(t, func(c *kith.Config) { c.Tenant, c.APIKey = "test_demo", testKey })
	subscription, err := c.CreateSubscription(ctx, kith.WebhookSubscriptionInput{EndpointURL: server.URL})
	secret := *must(t, subscription, err).Secret
	if err := c.TestSubscription(ctx, server.URL); err != nil {
		t.Fatal(err)
	}
	var r received
	select {
	case r = <-arrived:
	case <-time.After(deadline):
		t.Fatal("no webhook arrived")
	}
	w, err := kith.VerifyWebhook(secret, r.header, r.body)
	if w = must(t, w, err); w.Type != "test" || w.ID != r.header.Get("Webhook-Id") || w.TenantAlias != "test_demo" || w.Live || len(w.Data) == 0 {
		t.Fatalf("%+v", w)
	}
	old := r.header.Clone()
	old.Set("Webhook-Timestamp", "1700000000")
	other := kith.Ptr("whsec_" + strings.Repeat("A", 43) + "=")
	for name, forged := range map[string]error{
		"changed body":   second(kith.VerifyWebhook(secret, r.header, append(r.body, ' '))),
		"old":            second(kith.VerifyWebhook(secret, old, r.body)),
		"another secret": second(kith.VerifyWebhook(*other, r.header, r.body)),
		"no headers":     second(kith.VerifyWebhook(secret, http.Header{}, r.body)),
	} {
		equal(t, name, errors.Is(forged, kith.ErrSignature), true)
	}
	equal(t, "wrong secret", second(kith.VerifyWebhook("whsec_", r.header, r.body)) != nil, true)
}

func second[T any](_ T, err error) error { return err }
