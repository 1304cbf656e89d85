package serve_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tursodatabase/libsql-client-go/libsql"

	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/app/tenants"
	"kith/backend/store"
	"kith/backend/store/secretdb"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/auth"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/wire"
	"kith/edge/abi"
	"kith/edge/serve"
	"kith/wasm/native"
)

const (
	// now is 2026-03-01 09:00 UTC.
	now       core.Time = 1772355600000
	masterKey           = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	apiKey              = "LIVE_KEY"
	basic               = "Basic OkxJVkVfS0VZ" // an empty name and the API key
)

// site is an edge in front of a backend, with a database that the backend's use cases
// filled: the tenants "shop" and "test_shop", each with the user "anna", whose code
// is ANNA10, and the user "bob", who is blocked. The edge's host is abi.Native, a
// global variable, so tests do not run in parallel.
type site struct {
	serve.Edge
	variables map[string]string
	// auth are headers with the credentials of a role, or of a user.
	auth map[string]string
	// backend handles forwarded requests. got is the last forwarded request, or nil.
	backend http.HandlerFunc
	got     *http.Request
	body    string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{backend: enveloped("200")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.got, s.body = r, string(body)
		s.backend(w, r)
	}))
	t.Cleanup(server.Close)
	s.variables = map[string]string{
		"master_key": masterKey, "backend_url": server.URL + "/", "backend_public_url": "https://api.example/", "max_body_bytes": "2048",
		"trusted_proxies": "10.0.0.0/8", "link_max_age_ms": "1000", "host_counts": "true",
	}
	s.Edge = serve.Edge{
		Variable: func(name string) (string, error) { return s.variables[name], nil },
		Now:      func() core.Time { return now },
	}
	url := storetest.File(t)
	s.auth = seed(t, url)
	abi.Native.Execute, abi.Native.Send = execute(t, url), send
	abi.Native.Random = func(b []byte) { _, _ = rand.Read(b) }
	t.Cleanup(func() { abi.Native.Execute, abi.Native.Send, abi.Native.Random = nil, nil, nil })
	return s
}

// enveloped returns a handler that responds with a status in an envelope, as the
// backend does.
func enveloped(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { seal(w, r, status, "") }
}

// seal sets the headers of an envelope for a hop, as the backend does.
func seal(w http.ResponseWriter, r *http.Request, status, location string) {
	keys, err := auth.ParseKeyring(masterKey)
	if err != nil {
		panic(err)
	}
	e := auth.Envelope{Hop: r.Header.Get(auth.HopHeader), Status: status, Location: location}
	w.Header().Set(auth.StatusHeader, status)
	if location != "" {
		w.Header().Set(auth.LocationHeader, location)
	}
	w.Header().Set(auth.EnvelopeHeader, e.Sign(keys.Hop()))
}

// seed fills a database and returns headers with credentials.
func seed(t *testing.T, url string) map[string]string {
	t.Helper()
	db, err := store.Open(url, "")
	require.NoError(t, err)
	defer db.Close()
	keys, err := auth.ParseKeyring(masterKey)
	require.NoError(t, err)
	engine := app.New(base.Base{
		DB: db, Keys: keys, Now: func() core.Time { return now }, Entropy: func(b []byte) { _, _ = rand.Read(b) },
	})
	for _, alias := range []core.TenantAlias{"shop", "test_shop"} {
		require.NoError(t, engine.Tenants.Create(t.Context(), tenants.NewTenant{
			Alias: alias, Key: apiKey, TokenKey: "TOKEN_KEY", Policy: link.Policy{Consent: link.ConsentOff},
			Program: referral.DefaultProgram("https://" + strings.ReplaceAll(string(alias), "_", "-") + ".example/welcome"),
		}))
		shareOrigin := "https://go.shop.example"
		_, err := engine.Tenants.Change(t.Context(), alias, tenants.TenantChange{ShareOrigin: &shareOrigin})
		require.NoError(t, err)
		identify(t, engine, alias, "anna", "ANNA10")
		identify(t, engine, alias, "bob", "BOB10")
		require.NoError(t, engine.Users.Block(t.Context(), alias, "bob", "bob", ""))
	}
	_, err = secretdb.KeepKeyFingerprint(t.Context(), db, now, keys.Fingerprint())
	require.NoError(t, err)
	return credentials(t, engine)
}

func identify(t *testing.T, engine *app.Engine, tenant core.TenantAlias, id string, code core.ReferralCode) {
	t.Helper()
	_, err := engine.Identification.Identify(t.Context(), tenant, rules.Identification{IP: "192.0.2.7", Update: referral.UserUpdate{
		Account: core.AccountID(id), ID: core.UserID(id), FirstName: &id,
		Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: code}},
	}})
	require.NoError(t, err)
}

func credentials(t *testing.T, engine *app.Engine) map[string]string {
	t.Helper()
	headers := map[string]string{}
	for _, role := range []auth.Role{auth.RoleRead, auth.RoleImport} {
		_, secret, err := engine.APIKeys.Create(t.Context(), "shop", string(role), role, 0)
		require.NoError(t, err)
		headers[string(role)] = "authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+secret))
	}
	for name, of := range map[string]wire.Subject{
		"anna": {Account: "anna", User: "anna"}, "bob": {Account: "bob", User: "bob"},
		"anna's colleague": {Account: "anna", User: "ann"}, "anna's namesake": {Account: "bob", User: "anna"},
	} {
		token, err := engine.Tenants.SignToken(t.Context(), "shop", of, now+core.Hour)
		require.NoError(t, err)
		headers[name] = "authorization: Bearer " + token
	}
	return headers
}

// execute runs statements on a database file, one at a time.
func execute(t *testing.T, url string) func(string, []abi.Value) (abi.Rows, error) {
	t.Helper()
	connector, err := libsql.NewConnector(url)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return func(statement string, params []abi.Value) (abi.Rows, error) {
		found, err := db.QueryContext(t.Context(), statement, native.Args(params)...)
		if err != nil {
			return abi.Rows{}, err
		}
		defer found.Close()
		return native.Rows(found)
	}
}

// client does not follow redirects, like the host in its default mode.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	// Compressed responses are not decompressed.
	Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true},
}

// send makes an HTTP request as a host does.
func send(method, url string, headers []abi.Header, body []byte) (abi.Response, error) {
	out, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return abi.Response{}, abi.HTTPInvalidURL
	}
	for _, h := range headers {
		out.Header.Add(h.Name, h.Value)
	}
	in, err := client.Do(out)
	if err != nil {
		return abi.Response{}, abi.HTTPRequestError
	}
	defer in.Body.Close()
	response := abi.Response{Status: in.StatusCode}
	for name, values := range in.Header {
		for _, value := range values {
			response.Headers = append(response.Headers, abi.Header{Name: strings.ToLower(name), Value: value})
		}
	}
	if response.Body, err = io.ReadAll(in.Body); err != nil {
		return abi.Response{}, abi.HTTPRequestError
	}
	return response, nil
}

// answer is a response of the edge.
type answer struct {
	abi.Response
	// forwarded is true if the request was forwarded to the backend.
	forwarded bool
}

// ask sends the edge a request, as a host does for a visitor of shop.example. Headers
// are lines such as "accept: text/html".
func (s *site) ask(method, uri, body string, headers ...string) answer {
	s.got, s.body = nil, ""
	in := &abi.Request{Method: method, URI: uri, Body: []byte(body), Headers: []abi.Header{
		{Name: "host", Value: "shop.example"},
		{Name: "spin-full-url", Value: "https://shop.example" + uri},
		{Name: "spin-client-addr", Value: "192.0.2.7:4711"},
	}}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name, first := strings.CutPrefix(name, "first "); first {
			in.Headers = slices.Insert(in.Headers, 0, abi.Header{Name: name, Value: value})
		} else if name, none := strings.CutPrefix(name, "no "); none {
			in.Headers = slices.DeleteFunc(in.Headers, func(h abi.Header) bool { return h.Name == name })
		} else {
			in.Headers = append(in.Headers, abi.Header{Name: name, Value: value})
		}
	}
	return answer{Response: s.Serve(in), forwarded: s.got != nil}
}

// all returns the values of a header.
func (a answer) all(name string) (values []string) {
	for _, h := range a.Headers {
		if h.Name == name {
			values = append(values, h.Value)
		}
	}
	return values
}

// header returns the value of a header, or "". Several values are joined by " and ".
func (a answer) header(name string) string { return strings.Join(a.all(name), " and ") }
