package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdk "github.com/stripe/stripe-go/v86"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/payments"
	"kith/backend/app/visits"
	"kith/backend/braintreelab"
	"kith/backend/demo"
	"kith/backend/file"
	"kith/backend/gateway/braintree"
	"kith/backend/libsql"
	"kith/backend/store/sqldtest"
	"kith/backend/stripelab"
	"kith/backend/testenv"
	"kith/core"
	"kith/core/people"
	"kith/core/wire"
	"kith/wasm/host"
	"kith/wasm/transcript"
)

const (
	// stories is the folder of the transcripts: each request with its whole response.
	stories = "../../../wasm/transcript/testdata/story"
	// storyStart is when every story begins, 2026-03-01 09:00 UTC. The clock stands
	// still unless the story advances it, so that times and signatures are the same in
	// every run.
	storyStart core.Time = 1772355600000
	// storyEnd is after every story's last call.
	storyEnd = storyStart + 1000*core.Day
	storyKey = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
)

// Every story gives the same bytes on the backend, through the component on a reused
// instance, and through the component as Spin runs it, on a file and on a libSQL server.
// The stories are played in this package because it is the only one that connects
// backend and component, so that both can use the same clock. make test plays a sample of
// them as Spin runs the component, and make race plays all; see testenv.Sampled.
func TestStories(t *testing.T) {
	f := newFixture(t)
	t.Run("backend", func(t *testing.T) { playOnBackend(t, f) })
	t.Run("edge", func(t *testing.T) {
		transcript.Run(t, stories, func(t *testing.T) transcript.Target { return f.stage(t).edgeTarget(t) })
	})
	t.Run("spin-file", func(t *testing.T) {
		transcript.RunSome(t, stories, func(i int) bool { return testenv.Sampled(t, i) }, func(t *testing.T) transcript.Target { return f.stage(t).edgeTarget(t, strictSpin) })
	})
	t.Run("without-database", func(t *testing.T) {
		transcript.RunSome(t, stories, func(i int) bool { return testenv.Sampled(t, i+2) }, func(t *testing.T) transcript.Target { return f.stage(t).edgeTarget(t, withoutDatabase) })
	})
	t.Run("spin-without-database", func(t *testing.T) {
		transcript.RunSome(t, stories, func(i int) bool { return testenv.Sampled(t, i+6) }, func(t *testing.T) transcript.Target { return f.stage(t).edgeTarget(t, strictSpin, withoutDatabase) })
	})
	t.Run("spin-libsql", func(t *testing.T) {
		transcript.RunSome(t, stories, func(i int) bool { return testenv.Sampled(t, i+4) }, func(t *testing.T) transcript.Target { return f.serverStage(t).edgeTarget(t, strictSpin) })
	})
}

// fixture is the database that every story starts with: the demo tenants, and tenants
// with other settings.
type fixture struct {
	database string // path of the file that stages copy
	cache    string // of compiled code
	values   map[string]string
}

// firstFixture is the fixture that the first test has created. Later tests copy it.
var firstFixture struct {
	sync.Mutex
	database []byte
	values   map[string]string
}

// newFixture returns a fixture of the test's own: created with commands for the first
// test, and a copy for later ones.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	firstFixture.Lock()
	defer firstFixture.Unlock()
	g := &fixture{database: filepath.Join(t.TempDir(), "kith.db"), cache: t.TempDir(), values: maps.Clone(firstFixture.values)}
	if firstFixture.database != nil {
		require.NoError(t, os.WriteFile(g.database, firstFixture.database, 0o600))
		return g
	}
	g.values = storyValues()
	g.create(t)
	database, err := os.ReadFile(g.database)
	require.NoError(t, err)
	firstFixture.database, firstFixture.values = database, maps.Clone(g.values)
	return g
}

func (g *fixture) create(t *testing.T) {
	t.Helper()
	g.createTenant(t, "landing", "--landing-url", "https://landing.example/start?utm=a%20b&rsCode=OLD#top", "--allow-host", "partner.example",
		"--origin", "https://app.landing.example:8443")
	g.setTenant(t, "landing", "--squatch-parameter", "on")
	g.createTenant(t, "optin", "--landing-url", "https://optin.example/", "--consent", "opt-in", "--consent-cookie", "agreed")
	g.createTenant(t, "optout", "--landing-url", "https://optout.example/", "--consent", "opt-out", "--consent-cookie", "agreed")
	g.createTenant(t, "bare", "--landing-url", "https://bare.example/")
	g.setTenant(t, "bare", "--share-origin", "")
	g.createTenant(t, "open", "--landing-url", "https://open.example/")
	g.setTenant(t, "open", "--secure-mode", "create-user=open", "--secure-mode", "upsert-user=open", "--secure-mode", "lookup-user=open",
		"--secure-mode", "track-events=open,apply-code=open,get-share-links=open,create-cookie-user=open,list-referrals=open")
	g.createTenant(t, "shut", "--landing-url", "https://shut.example/")
	g.setTenant(t, "shut", "--secure-mode", "create-user=disabled,upsert-user=disabled,lookup-user=disabled,track-events=disabled,"+
		"apply-code=disabled,get-share-links=disabled,create-cookie-user=disabled,list-referrals=disabled,get-widget=disabled")
	g.createTenant(t, "strict", "--landing-url", "https://strict.example/")
	g.createTenant(t, "trusting", "--landing-url", "https://trusting.example/")
	g.setTenant(t, "trusting", "--browser-payment", "any", "--undated-tokens", "on")
	g.createTenant(t, "isodates", "--landing-url", "https://isodates.example/")
	g.setTenant(t, "isodates", "--export-dates", "ISO")
	g.createTenant(t, "gateway", "--landing-url", "https://gateway.example/")
	g.createTenant(t, "stripe", "--landing-url", "https://stripe.example/")
	g.createTenant(t, "team", "--landing-url", "https://team.example/")
	g.connectLab(t)
	engine := openStory(t, "file:"+g.database, new(storyClock))
	require.NoError(t, demo.Seed(t.Context(), engine, "https://shop.example", "https://test.shop.example"))
	require.NoError(t, engine.SigningKeys.Ensure(t.Context()))
	addMembers(t, engine)
	g.connectStripe(t, engine)
	require.NoError(t, engine.DB.Close())
	g.setTenant(t, "demo", "--share-origin", "https://go.example", "--init-checksum", "on")
	g.setTenant(t, "test_demo", "--share-origin", "https://go.example", "--init-checksum", "on")
	g.setTenant(t, "test_stripe", "--share-origin", "https://go.example")
}

// addMembers makes people members of the tenant team.
func addMembers(t *testing.T, engine *app.Engine) {
	t.Helper()
	for _, m := range []struct {
		email, name string
		role        people.Role
	}{{"olga@team.example", "Olga", people.Owner}, {"vera@team.example", "", people.Viewer}} {
		_, err := engine.Members.Create(t.Context(), people.OperatorOf("team"), m.email, m.name, "correct horse battery", m.role)
		require.NoError(t, err)
	}
}

// connectLab connects the tenant test_gateway to a gateway lab. Its URL differs between
// runs, so no story shows it. The lab runs until the process ends, because later tests
// use copies of the fixture.
func (g *fixture) connectLab(t *testing.T) {
	t.Helper()
	lab, err := braintreelab.New(braintreelab.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(lab)
	g.kith(t, "gateway", "connect", "--tenant", "test_gateway", "--merchant-id", braintreelab.MerchantID,
		"--public-key", braintreelab.PublicKey, "--private-key", braintreelab.PrivateKey, "--base-url", server.URL)
}

// connectStripe connects the tenant test_stripe to a lab of Stripe, by a key without the
// permission to make coupons and webhook endpoints.
func (g *fixture) connectStripe(t *testing.T, engine *app.Engine) {
	t.Helper()
	lab, err := stripelab.New(stripelab.Options{Now: func() time.Time { return time.UnixMilli(int64(storyStart)) }})
	require.NoError(t, err)
	key, err := lab.NewKey("account_read", "customer_write", "checkout_session_read", "payment_intent_read", "dispute_read", "event_read",
		"charge_write", "invoice_write", "subscription_write", "promotion_code_write")
	require.NoError(t, err)
	g.values["stripe_lab"] = httptest.NewServer(lab).URL
	_, err = engine.Gateways.ConnectStripe(t.Context(), "test_stripe", payments.StripeSettings{
		APIKey: key, Secrets: []string{"whsec_story"}, BaseURL: g.values["stripe_lab"],
	}, "https://kith.example"+payments.StripeWebhook("test_stripe"))
	require.NoError(t, err)
	for name, secret := range map[string]string{"stripe_signature": "whsec_story", "stripe_forged": "whsec_other"} {
		signed := sdk.ComputeSignature(time.UnixMilli(int64(storyStart)), []byte(stripeEvent), secret)
		g.values[name] = fmt.Sprintf("t=%d,v1=%x", storyStart/core.Second, signed)
	}
	late := storyStart + core.Hour
	g.values["stripe_later"] = fmt.Sprintf("t=%d,v1=%x", late/core.Second, sdk.ComputeSignature(time.UnixMilli(int64(late)), []byte(stripeEvent), "whsec_story"))
	live := strings.Replace(stripeEvent, "false", "true", 1)
	g.values["stripe_live"] = fmt.Sprintf("t=%d,v1=%x", storyStart/core.Second, sdk.ComputeSignature(time.UnixMilli(int64(storyStart)), []byte(live), "whsec_story"))
}

// stripeEvent is an event of Stripe in stories.
const stripeEvent = `{"id":"evt_1","type":"customer.updated","livemode":false,"data":{"object":{"id":"cus_1","object":"customer"}}}`

// createTenant creates a tenant with the command. The keys of the tenant and of its test
// tenant become values of the stories.
func (g *fixture) createTenant(t *testing.T, alias string, args ...string) {
	t.Helper()
	out := g.kith(t, append([]string{"tenant", "create", alias}, args...)...)
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		name, key := words[0], words[1]
		switch name {
		case base.TestPrefix + alias:
			g.values[name+"_basic"] = basic("", key)
		case alias:
			g.values[alias+"_basic"] = basic("", key)
			g.values[alias+"_cookies"] = base64.RawURLEncoding.EncodeToString([]byte(`{"kith.example":{"` + alias + `_CODE":{"codes":{"classic":"DORA7"}}}}`))
			g.values[alias+"_token"] = wire.SignToken(key, wire.Subject{Account: "ben", User: "ben"}, storyEnd)
			g.values[alias+"_token_anonymous"] = jwt(`{"alg":"HS256"}`, withExp(`{"allowAnonymous":true}`), key)
			g.values[alias+"_checksum"] = initChecksum(key, "benTRIALben")
			g.values[alias+"_token_carl"] = wire.SignToken(key, wire.Subject{Account: "carl", User: "carl"}, storyEnd)
			g.values[alias+"_token_paid"] = jwt(`{"alg":"HS256"}`, withExp(`{"user":{"id":"ben","accountId":"ben","accountStatus":"PAID"}}`), key)
		}
	}
	require.NotEmpty(t, g.values[alias+"_basic"], out)
	g.setTenant(t, alias, "--share-origin", "https://go.example")
}

// setTenant changes the settings of a tenant with the command.
func (g *fixture) setTenant(t *testing.T, alias string, args ...string) {
	t.Helper()
	g.kith(t, append([]string{"tenant", "set", alias}, args...)...)
}

// kith runs a command on the database of the fixture and returns its output.
func (g *fixture) kith(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut strings.Builder
	args = append(args, "--master-key", storyKey, "--database-url", "file:"+g.database)
	require.Zero(t, run(args, &out, &errOut), errOut.String())
	return out.String()
}

func openStory(t *testing.T, database string, clock *storyClock) *app.Engine {
	t.Helper()
	flags := databaseFlags{DatabaseURL: database, MasterKey: storyKey}
	engine, err := flags.openOrCreate(&env{ctx: t.Context(), log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	engine.Now, engine.Jobs.CallTime, engine.PublicURL = clock.now, time.Hour, "http://kith.example"
	return engine
}

// storyClock returns storyStart until it is advanced.
type storyClock struct{ passed atomic.Int64 }

func (c *storyClock) now() core.Time { return storyStart + core.Time(c.passed.Load()) }

func (c *storyClock) advance(d time.Duration) { c.passed.Add(d.Milliseconds()) }

// stage is a running backend on a database of its own.
type stage struct {
	fixture *fixture
	clock   storyClock
	backend string
	flags   databaseFlags
	// edgeDatabase is the URL of the database for the edge.
	edgeDatabase string
}

func (g *fixture) stage(t *testing.T) *stage {
	t.Helper()
	return g.stageWith(t, noPages)
}

func noPages(*app.Engine) *http.ServeMux { return nil }

// stageWith is like stage but for a backend with pages.
func (g *fixture) stageWith(t *testing.T, pages func(*app.Engine) *http.ServeMux) *stage {
	t.Helper()
	database := filepath.Join(t.TempDir(), "kith.db")
	copyFile(t, g.database, database)
	return g.stageOn(t, "file:"+database, "file:"+database, pages)
}

// serverStage returns a stage whose edge uses a libSQL server of its own, as with Spin.
// The backend uses the server's file, because only the edge is tested, and with the
// server the polling of the backend would take a minute.
func (g *fixture) serverStage(t *testing.T) *stage {
	t.Helper()
	server := sqldtest.StartWith(t, sqldtest.Options{File: g.database})
	return g.stageOn(t, "file:"+server.PrimaryFile(), "http"+strings.TrimPrefix(server.PrimaryURL(), "ws"), noPages)
}

// stageOn returns a stage on a database, by its URLs for the backend and for the edge.
func (g *fixture) stageOn(t *testing.T, database, edgeDatabase string, pages func(*app.Engine) *http.ServeMux) *stage {
	t.Helper()
	s := &stage{fixture: g, flags: databaseFlags{DatabaseURL: database, MasterKey: storyKey}, edgeDatabase: edgeDatabase}
	engine := openStory(t, database, &s.clock)
	engine.Files.Store = file.Dir(t.TempDir())
	t.Cleanup(func() { require.NoError(t, engine.DB.Close()) })
	s.backend = serveStory(t, func(e *env, l net.Listener) error {
		return backend{engine: engine, listener: l, pages: pages(engine), flags: backendFlags{answerFlags: answerFlags{PortalURL: "https://portal.example"}, jobFlags: jobFlags{JobWorkers: 1}}}.serve(e)
	})
	return s
}

func (s *stage) backendTarget(name string) transcript.Target {
	return transcript.Target{Base: s.backend, Name: name, Values: s.fixture.values, Advance: s.clock.advance, Check: oneRequestID}
}

// oneRequestID checks that a response has one request id, as the OpenAPI document states.
// The stories do not show it, because it differs between runs.
func oneRequestID(h http.Header) error {
	if ids := h.Values(core.RequestIDHeader); len(ids) != 1 || !core.ValidRequestID(ids[0]) {
		return fmt.Errorf("the answer has the request ids %q, not one", ids)
	}
	return nil
}

// strictSpin and withoutDatabase change how the component is run.
func strictSpin(o *host.Options) { o.StrictSpin = true }

func withoutDatabase(o *host.Options) { o.ReadFile = grantNoDatabase(os.ReadFile) }

func (s *stage) edgeTarget(t *testing.T, as ...func(*host.Options)) transcript.Target {
	t.Helper()
	options := host.Options{
		Variables: map[string]string{"master_key": storyKey, "backend_url": s.backend, "host_counts": "true"},
		CacheDir:  s.fixture.cache,
		Now:       func() time.Time { return time.UnixMilli(int64(s.clock.now())) },
		Log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, change := range as {
		change(&options)
	}
	database, err := libsql.Open(t.Context(), libsql.Config{URL: s.edgeDatabase, PerRequest: options.StrictSpin, WriteTimeout: time.Minute})
	require.NoError(t, err)
	options.Databases = map[string]host.Database{"default": database}
	loaded, err := host.Load(t.Context(), "../../../spin.toml", options)
	require.NoError(t, err, "build the component with: make edge")
	counter := visits.New(s.clock.now, storeIn(database))
	target := s.backendTarget("edge")
	target.Check = func(h http.Header) error { return errors.Join(oneRequestID(h), loaded.CheckIdle()) }
	target.Base = serveStory(t, func(e *env, l net.Listener) error {
		return serveEdge(e, loaded, nil, counter, l, connectionFlags{}, nil)
	})
	target.Advance = func(d time.Duration) {
		// The edge has stored its visits after a second.
		require.NoError(t, counter.Flush(t.Context()))
		s.clock.advance(d)
	}
	return target
}

// serveStory serves until the end of the test and returns the base URL.
func serveStory(t *testing.T, serve func(*env, net.Listener) error) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		err := serve(newEnv(ctx, io.Discard, slog.New(slog.NewTextHandler(t.Output(), nil))), listener)
		_ = listener.Close() // a caller of one that did not start must not wait
		done <- err
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-done)
	})
	return "http://" + listener.Addr().String()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

// storyValues returns the values that stories use by name. Tokens are for the user ben
// unless their name says otherwise.
func storyValues() map[string]string {
	const key, ben = demo.LiveKey, `"user":{"id":"ben","accountId":"ben"}`
	hour := int64((storyStart + core.Hour) / core.Second)
	check := base64.StdEncoding.EncodeToString([]byte(`<notification><kind>check</kind><timestamp type="datetime">2026-03-01T09:00:00Z</timestamp>`+
		`<subject><check type="boolean">true</check></subject></notification>`)) + "\n"
	return map[string]string{
		"check": notification(check, braintreelab.PrivateKey), "check_forged": notification(check, "another"),
		"check_oracle": url.QueryEscape(check),

		"basic": basic("", key), "basic_user": basic(key, ""), "basic_both": basic(key, key), "basic_alias": basic("demo", key),
		"basic_wrong": basic("", key+"x"), "basic_mixed": basic("someone", key), "basic_empty": basic("", ""),
		"test_basic": basic("", demo.TestKey),

		"token":         wire.SignToken(key, wire.Subject{Account: "ben", User: "ben"}, storyStart+core.Hour),
		"token_anna":    wire.SignToken(key, wire.Subject{Account: "anna", User: "anna"}, storyEnd),
		"token_test":    wire.SignToken(demo.TestKey, wire.Subject{Account: "ben", User: "ben"}, storyEnd),
		"token_sub":     jwt(`{"alg":"HS256"}`, withExp(`{"sub":"ben:ben@demo:users"}`), key),
		"token_foreign": jwt(`{"alg":"HS256"}`, withExp(`{"sub":"ben:ben@test_demo:users"}`), key),
		"token_signed":  jwt(`{"alg":"HS256"}`, withExp(`{"user":{"id":"ben","accountId":"ben","email":"ben@example.com","referralCodes":{"classic":"BENSOWN"}}}`), key),
		// The fields that the tests of the Java SDK sign, and more; see its story.
		"token_java": jwt(`{"alg":"HS256"}`, withExp(`{"user":{"id":"ben","accountId":"ben","email":"ben@example.com","segments":["vip","eu"],"dateUsTaxFormSubmitted":1700000000123,`+
			`"customFields":{"points":5,"since":1700000000123,"ratio":0.25,"nick":null}}}`), key),
		"token_none":      jwt(`{"alg":"none"}`, `{`+ben+`}`, ""),
		"token_512":       jwt(`{"alg":"HS512"}`, `{`+ben+`}`, key),
		"token_anonymous": jwt(`{"alg":"HS256"}`, withExp(`{"allowAnonymous":true}`), key), "token_forged": jwt(`{"alg":"HS256"}`, withExp(`{"allowAnonymous":true}`), key+"x"),
		// Each is the checksum of the values of its story's body, in the order of the keys.
		"checksum": initChecksum(key, "benTRIALben@example.comBenANNA10ben"), "checksum_ids": initChecksum(key, "benTRIALben"),
		"checksum_twice": initChecksum(key, "benTRIALPAIDben"),
		"checksum_code":  initChecksum(key, "benTRIALbenBENSOWN"), "checksum_mail": initChecksum(key, "ben@example.com"),

		"token_expired": jwt(`{"alg":"HS256"}`, `{`+ben+`,"exp":`+strconv.FormatInt(hour-3600, 10)+`}`, key),
		"token_texp":    jwt(`{"alg":"HS256"}`, `{`+ben+`,"exp":"`+strconv.FormatInt(hour, 10)+`"}`, key),

		"cookies":     base64.RawURLEncoding.EncodeToString([]byte(`{".shop.example":{"demo_CODE":{"codes":{"classic":"CARL5"}},"test_demo_CODE":{"codes":{"classic":"OTHER"}}}}`)),
		"cookies_two": base64.RawURLEncoding.EncodeToString([]byte(`{"kith.example":{"demo_CODE":{"codes":{"spring":"EVE7","classic":"ANNA10"},"codesExp":{"ANNA10":1774000000000}}}}`)),
	}
}

// notification returns the body with which the gateway sends a payload.
func notification(payload, private string) string {
	signature := braintreelab.PublicKey + "|" + braintree.Key{Private: private}.Sign(payload)
	return url.Values{"bt_signature": {signature}, "bt_payload": {payload}}.Encode()
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// initChecksum returns the checksum of an init call with these values (clients 2.2.8).
func initChecksum(key, values string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(values))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// withExp adds an exp after the end of the story to token claims.
func withExp(claims string) string {
	return `{"exp":` + strconv.FormatInt(int64(storyEnd/core.Second), 10) + "," + claims[1:]
}

// jwt returns a token with any header and token claims, as an attacker may build it.
func jwt(header, claims, key string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	if key == "" {
		return signed + "."
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}
