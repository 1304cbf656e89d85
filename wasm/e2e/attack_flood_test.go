package e2e

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While 400 bodies stall, share links, look-ups and other calls are answered by edge and
// backend, and each stalled request gets 408.
func TestAttack_SlowBodies(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.serveEdge(t)
	const slow = 200
	for _, base := range []string{s.edge, s.backend} {
		conns := make([]net.Conn, slow)
		for i := range conns {
			c, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			require.NoError(t, err)
			defer c.Close()
			_, err = io.WriteString(c, "PUT /api/v1/demo/open/account/a/user/a HTTP/1.1\r\nHost: h\r\n"+s.auth("demo")+"\r\nContent-Length: 1000000\r\n\r\n{")
			require.NoError(t, err)
			conns[i] = c
		}
		for range 20 {
			mustCall(t, http.StatusFound, "GET", base+"/s/demo/ANNA10", "")
			mustCall(t, http.StatusOK, "GET", base+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
			s.identify(t, base, "demo", "ben", `{}`)
		}
		for _, c := range conns {
			a := readAnswer(t, bufio.NewReader(c), "PUT")
			require.Equal(t, http.StatusRequestTimeout, a.status, a.body)
			require.Equal(t, "REQUEST_TIMEOUT", decode[failure](t, a).APIErrorCode)
		}
	}
}

// When an address has as many connections as it may have, further ones are closed without
// an answer. Visitors at other addresses are served, and a closed connection frees a place.
// Forwarding headers do not change the counted address.
func TestAttack_ConnectionsOfOneAddress(t *testing.T) {
	t.Parallel()
	const maxConnections = 4
	own := ownAddress(t)
	s := demoSite(t)
	anyAddress := func(base string) string {
		return strings.Replace(strings.TrimPrefix(base, "http://"), "127.0.0.1", "0.0.0.0", 1)
	}
	setting := "KITH_MAX_CONNECTIONS=" + strconv.Itoa(maxConnections)
	s.serve(t, setting, "KITH_BACKEND_ADDR="+anyAddress(s.backend))
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.serveEdge(t, setting, "KITH_EDGE_ADDR="+anyAddress(s.edge))
	for name, base := range map[string]string{"edge": s.edge, "backend": s.backend} {
		t.Run(name, func(t *testing.T) {
			_, port, err := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
			require.NoError(t, err)
			to := net.JoinHostPort(own, port)
			held := make([]net.Conn, maxConnections)
			for i := range held {
				held[i], err = visit(t, to)
				require.NoError(t, err)
			}
			for range 3 {
				_, err = visit(t, to)
				require.Error(t, err, "a connection beyond the limit")
			}
			for range 3 * maxConnections {
				mustCall(t, http.StatusFound, "GET", base+"/s/demo/ANNA10", "")
				mustCall(t, http.StatusOK, "GET", base+"/api/v1/demo/code/ANNA10", "", s.auth("demo"))
			}
			require.NoError(t, held[0].Close())
			await(t, func() error {
				_, err := visit(t, to)
				return err
			})
		})
	}
}

// ownAddress returns an address of this machine that is not loopback: connections from
// loopback are not limited.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range all {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Fatal("this machine has only loopback addresses; the test needs an interface with an IPv4 address")
	return ""
}

// visit follows a share link on a new connection, which stays open until the test ends.
func visit(t *testing.T, to string) (net.Conn, error) {
	t.Helper()
	c, err := net.Dial("tcp", to)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(deadline)))
	if _, err := io.WriteString(c, "GET /s/demo/ANNA10 HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n"); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, err
	}
	require.Equal(t, http.StatusFound, response.StatusCode)
	return c, nil
}

// More than 4,096 headers are refused.
func TestAttack_ManyHeaders(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	a := raw(t, s.edge, "GET /healthz HTTP/1.1\nHost: h\n"+strings.Repeat("a:\n", 4097)+"\n")
	require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, a.status, a.body)
	require.Equal(t, http.StatusOK, raw(t, s.edge, "GET /healthz HTTP/1.1\nHost: h\n"+strings.Repeat("a:\n", 4000)+"\n").status)
}

// All kinds of guesses are counted together for the network of the client.
func TestAttack_Guesses(t *testing.T) {
	t.Parallel()
	const limit = 20
	s := demoSite(t)
	s.serve(t, "KITH_RATE_LIMIT="+strconv.Itoa(limit))
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.serveEdge(t, "KITH_TRUSTED_PROXIES=127.0.0.0/8", "KITH_RATE_LIMIT="+strconv.Itoa(limit))
	inputs := strings.TrimSuffix(strings.Repeat(`{accountId:"x",id:"x"},`, 50), ",")
	for i, row := range []struct {
		name, method, path, body string
		headers                  []string
	}{
		{"share links", "GET", "/s/demo/NOBODY", "", nil},
		{"share links, by HEAD", "HEAD", "/s/demo/NOBODY", "", nil},
		{"pages", "GET", "/shoes?rsCode=NOBODY", "", []string{"Host: shop.example"}},
		{"open look-ups", "GET", "/api/v1/demo/open/code/NOBODY", "", nil},
		{"open look-ups that the edge answers", "GET", "/api/v1/demo/open/code/ANNA10", "", nil},
		{"names of owners", "GET", "/api/v1/demo/open/user?referralCode=NOBODY", "", nil},
		{"API keys", "GET", "/api/v1/demo/code/ANNA10", "", []string{"Authorization: Basic eDp4"}},
		{"API keys of cookie users", "PUT", "/api/v1/demo/open/user/cookie_user", "{}", []string{"Authorization: Basic eDp4"}},
		{"a call of many inputs", "POST", "/api/v1/demo/graphql", `{"query":` + strconv.Quote("mutation{upsertUsers(userInputs:["+inputs+"]){__typename}}") + `}`, nil},
		{"many look-ups in a call", "POST", "/api/v1/demo/graphql", `{"query":` + strconv.Quote("{"+lookUps(40)+"}") + `}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			from := func(host int, port string) string {
				return fmt.Sprintf("X-Forwarded-For: 198.51.%d.%d%s", i, host, port)
			}
			calls, a := 0, answer{}
			for a.status != http.StatusTooManyRequests {
				// All addresses of a network are counted together, with or without a port.
				a, _ = call(row.method, s.edge+row.path, row.body, append(row.headers, from(calls%250, ":"+strconv.Itoa(1000+calls)))...)
				require.Empty(t, a.header.Get("X-Kith-Guesses"))
				calls++
				require.Less(t, calls, 50*limit)
			}
			for _, path := range []string{"/s/demo/NOBODY", "/api/v1/demo/open/code/NOBODY"} {
				mustCall(t, http.StatusTooManyRequests, "GET", s.edge+path, "", from(9, ""))
			}
			// A client without attempts left cannot distinguish existing codes from others.
			mustCall(t, http.StatusTooManyRequests, "GET", s.edge+"/s/demo/ANNA10", "", from(9, ""))
			// The shop's own server, and visitors in other networks, are not affected.
			mustCall(t, http.StatusOK, "GET", s.edge+"/api/v1/demo/code/ANNA10", "", s.auth("demo"), from(9, ""))
			mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "", "X-Forwarded-For: 203.0.113.1")
		})
	}
	for range 5 * limit {
		mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ANNA10", "", "X-Forwarded-For: 203.0.113.1")
	}
}

// The answer to a challenge of the gateway is a signature with the tenant's key. Used as
// the signature of a notification, it is refused by edge and backend, and nothing is
// stored.
func TestAttack_SolvedChallenge(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.serve(t)
	s.serveEdge(t)
	mustCall(t, http.StatusOK, "PUT", s.backend+"/api/v1/test_demo/gateway/braintree/connection",
		`{"merchantId":"m","publicKey":"public","privateKey":"private"}`, s.auth("test_demo"))
	const webhook, challenge = "/api/v1/test_demo/gateway/braintree/webhook", "20f9f8ed05f77439fe955c977e4c8a53"
	for _, base := range []string{s.edge, s.backend} {
		answer := mustCall(t, http.StatusOK, "GET", base+webhook+"?bt_challenge="+challenge, "").body
		require.Regexp(t, `^public\|[0-9a-f]{40}$`, answer)
		for _, payload := range []string{challenge, challenge + "\n"} {
			form := url.Values{"bt_signature": {answer}, "bt_payload": {payload}}
			mustCall(t, http.StatusUnauthorized, "POST", base+webhook, form.Encode(), "Content-Type: application/x-www-form-urlencoded")
		}
	}
	require.Zero(t, number(t, s.open(t), `SELECT count(*) FROM gateway_notification`))
}

// userGuesses returns the calls with which a user, mallory, can try a code.
func userGuesses() map[string]guess {
	const user = "account/mallory/user/mallory"
	squatch := base64.StdEncoding.EncodeToString([]byte(`{"app.referralsaasquatch.com":{"demo_CODE":{"codes":{"classic":"NOBODY"}}}}`))
	return map[string]guess{
		"codes of a referrer":    {"PUT", "/open/" + user, `{"referredByCodes":["NOBODY"]}`, nil},
		"the code of a referral": {"PUT", "/open/" + user, `{"referredBy":{"code":"NOBODY"}}`, nil},
		"a cookie in the body":   {"PUT", "/open/" + user, `{"cookies":"` + squatch + `"}`, nil},
		"a cookie":               {"PUT", "/open/" + user, `{}`, []string{"Cookie: _saasquatch=" + squatch}},
		"with a widget":          {"PUT", "/widget/" + user + "/upsert", `{"referredByCodes":["NOBODY"]}`, nil},
		"by GraphQL":             {"POST", "/graphql", `{"query":"mutation{upsertUser(userInput:{accountId:\"mallory\",id:\"mallory\",referredByCodes:[\"NOBODY\"]}){id}}"}`, nil},
		"an applied code":        {"POST", "/open/code/NOBODY/" + user, "", nil},
	}
}

// guess is a call that tries the code NOBODY.
type guess struct {
	method, path, body string
	headers            []string
}

func (g guess) call(t *testing.T, base string, headers ...string) answer {
	t.Helper()
	a, err := call(g.method, base+"/api/v1/demo"+g.path, g.body, append(headers, g.headers...)...)
	require.NoError(t, err)
	require.Empty(t, a.header.Get("X-Kith-Guesses"))
	return a
}

// exhaust guesses until the call is refused.
func (g guess) exhaust(t *testing.T, base string, headers ...string) {
	t.Helper()
	for calls := 0; !strings.Contains(g.call(t, base, headers...).body, "RATE_LIMITED"); calls++ {
		require.Less(t, calls, 1000)
	}
}

// Codes that a user with a token tries are counted for the network, in all kinds of calls,
// by edge and backend. When the network has no attempts left, existing codes cannot be
// distinguished from others, and the user can still be identified without codes.
func TestAttack_GuessesOfAUser(t *testing.T) {
	t.Parallel()
	settings := []string{"KITH_TRUSTED_PROXIES=127.0.0.0/8", "KITH_RATE_LIMIT=20"}
	s := demoSite(t)
	s.serve(t, settings...)
	s.identify(t, s.backend, "demo", "anna", `{"referralCode":"ANNA10"}`)
	s.identify(t, s.backend, "demo", "mallory", `{}`)
	s.serveEdge(t, settings...)
	token := "Authorization: Bearer " + s.token(t, "mallory")
	guesses, network := userGuesses(), 0
	for name, own := range guesses {
		for server, base := range map[string]string{"edge": s.edge, "backend": s.backend} {
			network++
			from := fmt.Sprintf("X-Forwarded-For: 198.51.%d.7", network)
			t.Run(name+"/"+server, func(t *testing.T) {
				for other, right := range guesses {
					if strings.Contains(other, "cookie") {
						continue // its code is encoded
					}
					right.path, right.body = strings.ReplaceAll(right.path, "NOBODY", "ANNA10"), strings.ReplaceAll(right.body, "NOBODY", "ANNA10")
					a := withinAMinute(func() answer { own.exhaust(t, base, token, from); return right.call(t, base, token, from) })
					require.Contains(t, a.body, "RATE_LIMITED", other)
				}
				share := withinAMinute(func() answer {
					own.exhaust(t, base, token, from)
					a, err := call("GET", base+"/s/demo/ANNA10", "", from)
					require.NoError(t, err)
					return a
				})
				require.Equal(t, http.StatusTooManyRequests, share.status)
				mustCall(t, http.StatusOK, "PUT", base+"/api/v1/demo/open/account/mallory/user/mallory", `{"firstName":"M"}`, token, from)
				mustCall(t, http.StatusFound, "GET", base+"/s/demo/ANNA10", "", "X-Forwarded-For: 203.0.113.1")
			})
		}
	}
}

// withinAMinute repeats a step during which a new minute began, since a network then has
// new attempts.
func withinAMinute(do func() answer) answer {
	for {
		minute := time.Now().Unix() / 60
		if a := do(); time.Now().Unix()/60 == minute {
			return a
		}
	}
}

func lookUps(n int) (all string) {
	for i := range n {
		all += fmt.Sprintf("c%d:referralCode(referralCode:\"NOBODY%d\"){code} ", i, i)
	}
	return all
}

// A setting whose meaning has changed is an error at start.
func TestAttack_TrustIsAListOfNetworks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ setting, says string }{
		{"KITH_TRUST_PROXY=true", "KITH_TRUSTED_PROXIES"},
		{"KITH_TRUSTED_PROXIES=true", "must be networks such as 10.0.0.0/8"},
	} {
		for _, command := range []string{"edge", "serve", "dev"} {
			c := newSite(t).command(t, command)
			c.Env = append(c.Env, row.setting)
			out, err := c.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), row.says)
		}
	}
}
