// Package attack lists attacks on Kith and their results: the holes that were found and
// closed, each with its number in issue 17, and attacks that were always repelled.
// TestAttacks, in wasm/e2e, sends every request to the built programs, at the edge and
// at the backend, and compares the answers.
//
// An attack that is not a single request is in Elsewhere, with the folders and names of
// the tests that show that it is repelled.
package attack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
)

// Row is an attack by one request.
type Row struct {
	// Attack is what the request tries.
	Attack string
	// Request is the text of the request, with LF for CRLF in its head. A missing Host,
	// Content-Length and "Connection: close" are added.
	Request string
	// Verbatim sends exactly the bytes of Request.
	Verbatim bool
	// Status is that of the answer. No second answer may follow on the connection.
	Status int
	// AtBackend is the status of the answer of a backend that is called without its edge, if
	// that is another one; 0: the same.
	AtBackend int
	// The answer, head or body, must contain Says and must not contain Never. Either may
	// be empty.
	Says, Never string
}

// Target is the site under attack. It has the tenants "demo" and "other", whose share
// links lead to https://shop.example/, and the user anna of demo, with the code ANNA10.
type Target struct {
	// Key and OtherKey are the API keys of the two tenants.
	Key, OtherKey string
}

const (
	evil = "evil.example"
	api  = "/api/v1/demo"
	anna = api + "/open/account/anna/user/anna"
	json = "\nContent-Type: application/json\n\n"
)

func (t Target) basic() string {
	return "\nAuthorization: Basic " + base64.StdEncoding.EncodeToString([]byte(":"+t.Key))
}

func bearer(token string) string { return "\nAuthorization: Bearer " + token }

// claims are token claims of the user anna that expire in the year 2100.
const claims = `{"sub":"YW5uYQ==:YW5uYQ==@demo:users","exp":4102444800,"user":{"accountId":"anna","id":"anna"}}`

// token returns a JSON Web Token signed by HMAC-SHA-256, whatever algorithm its header names.
func token(header, claims, key string) string {
	text := encode(header) + "." + encode(claims)
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

const hs256 = `{"alg":"HS256","typ":"JWT"}`

// Tables returns all attacks by one request, by kind.
func (t Target) Tables() map[string][]Row {
	return map[string][]Row{
		"tokens": t.tokens(), "unsigned claims": t.unsigned(), "redirects and headers": t.redirects(),
		"other sites": t.sites(), "smuggling": smuggling(), "bodies": t.bodies(), "tenants": t.tenants(),
	}
}

func (t Target) tokens() []Row {
	read := "GET " + anna
	refused := func(name, token string) Row {
		return Row{Attack: name, Request: read + bearer(token), Status: 401, Never: `"accountId"`}
	}
	rows := []Row{
		{Attack: "none: the right token", Request: read + bearer(token(hs256, claims, t.Key)), Status: 200},
		refused("alg none", encode(`{"alg":"none"}`)+"."+encode(claims)+"."),
		refused("alg nOnE with a signature", token(`{"alg":"nOnE"}`, claims, t.Key)),
		refused("no alg", token(`{"typ":"JWT"}`, claims, t.Key)),
		refused("no signature", encode(hs256)+"."+encode(claims)+"."),
		refused("RS256, signed by the secret", token(`{"alg":"RS256"}`, claims, t.Key)),
		refused("HS512, signed by HS256", token(`{"alg":"HS512"}`, claims, t.Key)),
		refused("an empty key", token(hs256, claims, "")),
		refused("a key of another tenant", token(hs256, claims, t.OtherKey)),
		refused("the tenant's name as the key", token(hs256, claims, "demo")),
		refused("kid names a file, whose content signs", token(`{"alg":"HS256","kid":"/dev/null"}`, claims, "")),
		refused("kid is SQL that names the key", token(`{"alg":"HS256","kid":"' UNION SELECT 'x"}`, claims, "x")),
		refused("jwk contains the key", token(`{"alg":"HS256","jwk":{"kty":"oct","k":"eA"}}`, claims, "x")),
		refused("jku names where the key is", token(`{"alg":"HS256","jku":"https://`+evil+`/"}`, claims, "x")),
		refused("crit requires an unknown extension", token(`{"alg":"HS256","crit":["b64"],"b64":false}`, claims, t.Key)),
		refused("exp is 10^18, which never comes", token(hs256, `{"exp":1000000000000000000,"user":{"accountId":"anna","id":"anna"}}`, t.Key)),
		refused("exp in milliseconds", token(hs256, `{"exp":4102444800000,"user":{"accountId":"anna","id":"anna"}}`, t.Key)),
		refused("hole 14: no exp", token(hs256, `{"sub":"YW5uYQ==:YW5uYQ==@demo:users"}`, t.Key)),
		refused("expired", token(hs256, `{"exp":1,"user":{"accountId":"anna","id":"anna"}}`, t.Key)),
		refused("exp is a text", token(hs256, `{"exp":"4102444800","user":{"accountId":"anna","id":"anna"}}`, t.Key)),
		refused("hole 14: sub has two colons", token(hs256, `{"sub":"a:b:c@demo:users","exp":4102444800}`, t.Key)),
		refused("a token claim twice", token(hs256, `{"exp":4102444800,"exp":1,"user":{"accountId":"anna","id":"anna"}}`, t.Key)),
		refused("hole 14: an id twice, once escaped", token(hs256, `{"exp":4102444800,"user":{"accountId":"anna","id":"ben","\u0069d":"anna"}}`, t.Key)),
		refused("four parts", token(hs256, claims, t.Key)+".x"),
		{Attack: "another user's data with one's own token", Request: "GET " + api + "/open/account/ben/user/ben" + bearer(token(hs256, claims, t.Key)), Status: 403, Never: `"ben@`},
		{Attack: "the whole tenant with a user's token", Request: "GET " + api + "/users" + bearer(token(hs256, claims, t.Key)), Status: 403},
		{Attack: "a wrong key", Request: "GET " + api + "/users\nAuthorization: Basic Ondyb25n", Status: 401},
		{Attack: "an empty key", Request: "GET " + api + "/users\nAuthorization: Basic Og==", Status: 401},
		{Attack: "credentials twice", Request: "GET " + api + "/users\nAuthorization: Basic Ondyb25n" + t.basic(), Status: 401},
	}
	return rows
}

func (t Target) unsigned() []Row {
	put := func(name, body, never string) Row {
		return Row{Attack: name, Request: "PUT " + api + "/open/account/mallory/user/mallory" + bearer(token(hs256, `{"exp":4102444800,"user":{"accountId":"mallory","id":"mallory"}}`, t.Key)) + json + body, Status: 200, Never: never}
	}
	return []Row{
		put("hole 5: a stranger's payment customer", `{"paymentProviderId":"cus_1"}`, "cus_1"),
		put("hole 5: segments of one's own", `{"segments":["vip"]}`, "vip"),
		put("hole 5: custom fields of one's own", `{"customFields":{"plan":"pro"}}`, `"pro"`),
		put("hole 5: PAID", `{"accountStatus":"PAID"}`, `"isConverted":true`),
		{Attack: "a user without credentials", Request: "PUT " + anna + json + `{"firstName":"x"}`, Status: 401},
		{Attack: "account sync without the key", Request: "POST " + api + "/accountsync" + json + `{"id":"anna"}`, Status: 401},
		{Attack: "hole 14: the owner of a code", Request: "GET " + api + "/open/user?referralCode=ANNA10", Status: 200, Never: `"accountId":"anna"`},
		{Attack: "hole 6: a notification without a signature", Request: "POST " + api + "/gateway/braintree/webhook\nContent-Type: application/x-www-form-urlencoded\n\nbt_payload=x&bt_signature=a|b", Status: 401},
	}
}

func (t Target) redirects() []Row {
	link := "/s/demo/ANNA10"
	lands := "Location: https://shop.example/"
	return []Row{
		{Attack: "none: the share link", Request: "GET " + link, Status: 302, Says: lands},
		{Attack: "hole 11: Host leads elsewhere", Request: "GET " + link + "\nHost: " + evil, Status: 302, Says: lands, Never: evil},
		{Attack: "hole 11: X-Forwarded-Host leads elsewhere", Request: "GET " + link + "\nX-Forwarded-Host: " + evil, Status: 302, Says: lands, Never: evil},
		{Attack: "X-Original-URL and X-Rewrite-URL name another path", Request: "GET " + link + "\nX-Original-URL: /api/v1/demo/users\nX-Rewrite-URL: /api/v1/demo/users", Status: 302, Says: lands},
		{Attack: "open redirect: a landing page elsewhere", Request: "GET " + link + "?landingPage=https://" + evil + "/", Status: 302, Says: lands},
		{Attack: "open redirect: by rsRedirectUrl", Request: "GET " + link + "?rsRedirectUrl=//" + evil, Status: 302, Says: lands},
		{Attack: "open redirect: a path that begins a host", Request: "GET //" + evil + "/%2e%2e", Status: 404, Never: "Location"},
		{Attack: "open redirect: a path with dots", Request: "GET " + api + "/../../" + evil, Status: 404, Never: "Location"},
		{Attack: "response splitting in the code", Request: "GET /s/demo/ANNA10%0d%0aSet-Cookie:x=1", Status: 302, Never: "\nSet-Cookie: x"},
		{Attack: "response splitting in the query", Request: "GET " + link + "?rsShareMedium=A%0d%0aX-Evil:1", Status: 302, Never: "\nX-Evil"},
		{Attack: "a forged cookie", Request: "GET " + api + "/open/account/new/user/new" + "\nCookie: kith_demo=v1.mwq5srsp.classic.ANNA10...AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", Status: 401},
		{Attack: "a forged address", Request: "GET " + api + "/open/code/ANNA10\nX-Forwarded-For: 127.0.0.1", Status: 200},
		{Attack: "the edge's signature, forged", Request: "GET " + api + "/code/ANNA10\nX-Kith-Hop: 1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nX-Forwarded-For: 10.0.0.1", Status: 401, AtBackend: 503},
		{Attack: "the edge's signature, malformed", Request: "GET " + api + "/code/ANNA10\nX-Kith-Hop: v1.0.AAAA\nX-Forwarded-For: 10.0.0.1", Status: 401, AtBackend: 400},
		{Attack: "the edge's report of guesses, forged", Request: "GET " + link + "\nX-Kith-Guesses: 1000000", Status: 302},
		{Attack: "a path below the data folder", Request: "GET /../../etc/passwd", Status: 404, Never: "root:"},
		{Attack: "a path below the data folder, encoded", Request: "GET /s/%2e%2e%2f%2e%2e%2fetc%2fpasswd", Status: 404, Never: "root:"},
		{Attack: "NUL in a path", Request: "GET /s/demo/ANNA10%00.html", Status: 302},
	}
}

func (t Target) sites() []Row {
	events := anna + "/events"
	webhook := func(to, endpoint string) Row {
		return Row{Attack: "SSRF: a webhook to " + to, Request: "POST " + api + "/subscription" + t.basic() + json + `{"endpointUrl":"` + endpoint + `"}`, Status: 400, Says: "endpointUrl: must"}
	}
	return []Row{
		{Attack: "CORS: preflight from a page of another site", Request: "OPTIONS " + events + "\nOrigin: https://" + evil + "\nAccess-Control-Request-Method: POST", Status: 403, Never: "Access-Control-Allow-Origin"},
		{Attack: "CORS: origin null", Request: "OPTIONS " + events + "\nOrigin: null\nAccess-Control-Request-Method: POST", Status: 403, Never: "Access-Control-Allow-Origin"},
		{Attack: "CORS: an origin that begins with the shop's", Request: "OPTIONS " + events + "\nOrigin: https://shop.example." + evil + "\nAccess-Control-Request-Method: POST", Status: 403, Never: "Access-Control-Allow-Origin"},
		{Attack: "CSRF: a form of another site makes a cookie user", Request: "PUT " + api + "/open/user/cookie_user\nOrigin: https://" + evil + json + "{}", Status: 401, Never: "Set-Cookie"},
		{Attack: "CSRF: a body that needs no preflight request", Request: "POST " + api + "/graphql\nContent-Type: text/plain\n\n" + `{"query":"{jwks}"}`, Status: 415},
		{Attack: "CSRF: a body without a type, which needs none either", Request: "POST " + api + "/graphql\nOrigin: https://" + evil + "\n\n" + `{"query":"{jwks}"}`, Status: 415},
		{Attack: "CSRF: GraphQL by GET", Request: "GET " + api + "/graphql?query=mutation%7BdeleteUser(accountId:%22anna%22,id:%22anna%22)%7D", Status: 405},
		{Attack: "XSS: a code in an error", Request: "GET " + api + "/open/code/%3Cscript%3Ealert(1)%3C%2Fscript%3E", Status: 404, Says: "application/json", Never: "text/html"},
		{Attack: "XSS: a path in an error", Request: "GET /%3Cscript%3Ealert(1)%3C%2Fscript%3E", Status: 404, Never: "text/html"},
		{Attack: "XSS: a javascript URL as image", Request: "PUT " + anna + t.basic() + json + `{"imageUrl":"javascript:alert(1)"}`, Status: 400},
		{Attack: "GraphiQL in production", Request: "GET " + api + "/graphql\nAccept: text/html", Status: 400, Never: "text/html"},
		{Attack: "the schema in production", Request: "POST " + api + "/graphql" + json + `{"query":"{__schema{types{name}}}"}`, Status: 200, Says: "must not ask for the schema"},
		webhook("this machine by http", "http://127.0.0.1/"),
		webhook("this machine by name", "https://localhost/"),
		webhook("this machine by IPv6", "https://[::1]/"),
		webhook("this machine as a number", "https://2130706433/"),
		webhook("a private network", "https://10.0.0.1/"),
		webhook("the metadata of a cloud", "https://169.254.169.254/latest/"),
		webhook("the metadata of a cloud, as IPv6", "https://[::ffff:169.254.169.254]/"),
		webhook("a file", "file:///etc/passwd"),
		{Attack: "SSRF: a webhook to a private network by GraphQL", Request: "POST " + api + "/graphql" + t.basic() + json + `{"query":"mutation{upsertWebhookSubscription(webhookSubscriptionInput:{endpointUrl:\"https://10.0.0.1/\"}){endpointUrl}}"}`, Status: 200, Says: "must not be localhost or an address that is not public"},
	}
}

// smuggling returns requests that two servers in a row may parse differently. The hidden
// second request must not be answered.
func smuggling() []Row {
	const hidden = "GET /s/demo/ANNA10 HTTP/1.1\r\nHost: h\r\n\r\n"
	post := func(head, body string) string {
		return "POST " + api + "/graphql HTTP/1.1\r\nHost: h\r\n" + head + "\r\n" + body
	}
	row := func(name, request string, status int) Row {
		return Row{Attack: name, Request: request, Verbatim: true, Status: status, Never: "302 Found"}
	}
	return []Row{
		row("Content-Length and Transfer-Encoding", post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+hidden), 400),
		row("Transfer-Encoding in a folded line", post("X-A: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400),
		row("Transfer-Encoding after a LF alone", post("Content-Length: 4\r\nX-A: a\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"+hidden), 400),
		row("a chunk's extension with a LF", post("Transfer-Encoding: chunked\r\n", "0;a=\nb\r\n\r\n"+hidden), 400),
		row("a chunk's extension", post("Transfer-Encoding: chunked\r\nConnection: close\r\n", "0;a=b\r\n\r\n"+hidden), 400),
		row("a GET with a body", "GET "+api+"/code/ANNA10 HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 40\r\n\r\n"+hidden, 401),
		row("Transfer-Encoding twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"+hidden), 501),
		row("Transfer-Encoding with a vertical tab", post("Transfer-Encoding: \x0bchunked\r\n", "0\r\n\r\n"+hidden), 400),
		row("Transfer-Encoding: xchunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"+hidden), 501),
		row("a space before the colon", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"+hidden), 400),
		row("two Content-Lengths that differ", post("Content-Length: 0\r\nContent-Length: 40\r\n", hidden), 400),
		row("a Content-Length of two numbers", post("Content-Length: 0, 40\r\n", hidden), 400),
		row("a negative Content-Length", post("Content-Length: -1\r\n", hidden), 400),
		row("a Content-Length with a sign", post("Content-Length: +40\r\n", hidden), 400),
		row("a chunk's size with 0x", post("Transfer-Encoding: chunked\r\n", "0x28\r\n"+hidden+"\r\n0\r\n\r\n"), 400),
		row("a chunk's size that overflows", post("Transfer-Encoding: chunked\r\n", "10000000000000001\r\nx\r\n0\r\n\r\n"+hidden), 400),
		row("a chunk longer than its size", post("Transfer-Encoding: chunked\r\n", "1\r\nxx\r\n0\r\n\r\n"+hidden), 400),
		row("HTTP/1.0 with chunks", "POST "+api+"/graphql HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+hidden, 400),
		row("a header name with a line break", "GET /healthz HTTP/1.1\r\nHost: h\r\nX\nA: 1\r\n\r\n", 400),
		row("NUL in a header", "GET /healthz HTTP/1.1\r\nHost: h\r\nX-A: a\x00b\r\n\r\n", 400),
		row("two Hosts", "GET /healthz HTTP/1.1\r\nHost: h\r\nHost: "+evil+"\r\n\r\n", 400),
		row("no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400),
		row("a line break in the path", "GET /healthz\rX HTTP/1.1\r\nHost: h\r\n\r\n", 400),
		row("HTTP/9.9", "GET /healthz HTTP/9.9\r\nHost: h\r\n\r\n", 505),
		{Attack: "CONNECT", Request: "CONNECT " + evil + ":443", Status: 404},
		{Attack: "TRACE", Request: "TRACE /\nCookie: secret", Status: 404, Never: "secret"},
	}
}

func (t Target) bodies() []Row {
	put := "PUT " + anna + t.basic() + json
	return []Row{
		{Attack: "a key twice", Request: put + `{"firstName":"a","firstName":"b"}`, Status: 400},
		{Attack: "hole 14: half a character", Request: put + `{"firstName":"\ud800"}`, Status: 400},
		{Attack: "U+0000", Request: put + `{"firstName":"a\u0000b"}`, Status: 400},
		{Attack: "10,000 brackets", Request: put + deep(10_000), Status: 400},
		{Attack: "a number with a million digits to come", Request: put + `{"firstName":1e1000000}`, Status: 400},
		{Attack: "__proto__", Request: put + `{"__proto__":{"admin":true}}`, Status: 400},
		{Attack: "XXE: XML where JSON belongs", Request: "PUT " + anna + t.basic() + "\nContent-Type: application/xml\n\n" + `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, Status: 415, Never: "root:"},
		{Attack: "hole 4: a GraphQL bomb", Request: "POST " + api + "/graphql" + json + `{"query":"{` + repeat(25, "a%:renderWidget{template}") + `}"}`, Status: 200, Says: "must not ask for more than 20 fields"},
		{Attack: "GraphQL in an array", Request: "POST " + api + "/graphql" + json + `[{"query":"{jwks}"},{"query":"{jwks}"}]`, Status: 400},
		{Attack: "SQL in a filter", Request: "GET " + api + "/users?query='%20OR%201=1--" + t.basic(), Status: 200, Never: "anna"},
		{Attack: "FTS syntax in a search", Request: "GET " + api + "/users?query=%22%20OR%20terms:*" + t.basic(), Status: 200},
		{Attack: "no gzip where the header says so; TestRequests has a bomb", Request: "PUT " + anna + t.basic() + "\nContent-Encoding: gzip" + json + "{}", Status: 400},
	}
}

func (t Target) tenants() []Row {
	return []Row{
		{Attack: "hole 1: a key at another tenant", Request: "GET /api/v1/other/users" + t.basic(), Status: 401},
		{Attack: "hole 1: a name in other case", Request: "GET /api/v1/DEMO/users" + t.basic(), Status: 404},
		{Attack: "a tenant encoded", Request: "GET /api/v1/%64emo%2f..%2fother/users" + t.basic(), Status: 404},
		{Attack: "the live key at the test tenant", Request: "GET /api/v1/test_demo/users" + t.basic(), Status: 401},
		{Attack: "a job of another tenant", Request: "GET " + api + "/export/01a1fd44c8ce9593e85bd25e/download" + t.basic(), Status: 404},
	}
}

// Shown is an attack that is not a single request, with the tests that show that it is
// repelled. TestAttacks_Elsewhere checks that these tests exist, and that the list has all
// TestAttack_ functions of wasm/e2e.
type Shown struct {
	Attack string
	// Tests have the form folder.Name: go test ./folder -run Name runs one.
	Tests []string
}

// Elsewhere has the attacks that have their own tests, and the holes that the test of a
// package checks more precisely than a request can.
var Elsewhere = []Shown{
	{"hole 1: a search finds users of a tenant whose name differs in case", []string{"backend/statements.TestSQL_NamesTheTenant", "backend/store/userdb.TestTenant_AliasesDifferingInCase"}},
	{"hole 2: an init call's checksum, replayed for another user", []string{"core/wire.TestVerifyChecksum", "backend/cmd/kith.TestStories"}},
	{"hole 3: slow bodies stop the service", []string{"wasm/e2e.TestAttack_SlowBodies", "wasm/host.TestServe_SlowBodiesTakeNoInstance"}},
	{"hole 3: slow readers stop the service", []string{"wasm/host.TestServe_SlowReadersTakeNoPlace"}},
	{"hole 3: guesses take the instances of share links", []string{"wasm/host.TestPool_LookUpsThatAskTheBackendLeaveTheReserve"}},
	{"hole 3: all connections come from one address", []string{"wasm/e2e.TestAttack_ConnectionsOfOneAddress", "backend/cmd/kith.TestLimitedListener"}},
	{"hole 4: a GraphQL call takes gigabytes", []string{"backend/graphql.TestMemory_OfOneCall", "backend/graphql.TestMemory_AnswerIsBounded"}},
	{"hole 4: 100 GraphQL calls take all processors", []string{"backend/api.TestAnonymousSlots", "wasm/e2e.TestSiege"}},
	{"hole 4: the OpenAPI document is converted for each request", []string{"backend/api.TestOpenAPI_IsConvertedOnce"}},
	{"hole 5: a browser claims a payment", []string{"backend/cmd/kith.TestStories", "core/wire.TestVouched_Payment", "core/wire.TestVouched_Grants"}},
	{"hole 6: a notification with thousands of keys", []string{"backend/gateway/braintree.TestVerify_BoundsPairs", "backend/cmd/kith.TestGateway_UnsignedNotificationsAreLimited"}},
	{"hole 7: a small file makes a large one", []string{"wasm/e2e.TestAttack_SmallFileLargeErrors", "wasm/e2e.TestAttack_SmallFileLargeResult", "backend/app.TestImport_StopsAfterTooManyRejectedRows"}},
	{"hole 7: a run of newlines outlasts a worker's lease", []string{"wasm/e2e.TestAttack_EmptyLinesOutlastNoLease", "core/importfile.TestReader_EmptyLinesAreBounded"}},
	{"hole 8: guesses that are not counted", []string{"wasm/e2e.TestAttack_Guesses", "wasm/e2e.TestAttack_GuessesOfAUser", "wasm/e2e.TestRateLimit", "core/auth.TestClient", "backend/guess.TestLimiter_ByNetwork"}},
	{"downgrade: plain http at the operator's own hosts", []string{"wasm/e2e.TestAttack_DowngradeToHTTP"}},
	{"lock-out: wrong passwords for an owner's address", []string{"backend/app/members.TestDevice_IsNotLockedOut", "backend/portal.TestDeviceCookie"}},
	{"lock-out: sign-ins that wait for a code end an owner's sessions", []string{"backend/app/members.TestSession_WaitingOnesEndNone"}},
	{"theft: a session makes keys and owners", []string{"backend/app/members.TestOwners_NeedARecentPassword", "backend/portal/integrations.TestKeys"}},
	{"guessing: cookies of a stolen session give attempts", []string{"backend/app/members.TestDevice_GivesFewAttempts", "backend/app/members.TestDevice_GivesNoAttemptsOnANamesake"}},
	{"hiding: many harmless changes before the notice of a new password", []string{"backend/app/members.TestSecondStep_StaysOn"}},
	{"disk: an import key fills it", []string{"backend/app.TestUpload_StorageIsBounded", "backend/app.TestUpload_UnusedFilesAreBounded"}},
	{"guessing: more addresses than a limit counts", []string{"backend/guess.TestNames_IsBounded"}},
	{"hole 8: trust in every forwarded address", []string{"wasm/e2e.TestAttack_TrustIsAListOfNetworks"}},
	{"hole 9: a user's token uses up the shop's keys", []string{"backend/cmd/kith.TestStories"}},
	{"hole 10: silent connections block SFTP for all others", []string{"wasm/e2e.TestAttack_SilentSFTPConnections", "backend/sftp.TestConnections_OfOneAddressBlockNoOther", "backend/sftp.TestStartups", "backend/sftp.TestDropShare"}},
	{"hole 12: formulas in ids", []string{"wasm/e2e.TestAttack_FormulasInIDs", "backend/app.TestExport_NamesThatAreFormulas", "backend/app.TestImport_EscapedFormulas", "core/exportfile.TestHarmless"}},
	{"hole 13: a changed backup", []string{"backend/cmd/kith.TestRestore_ChangedFileIsRefused", "backend/backup.TestVerify_TruncatedOrChanged"}},
	{"hole 14: database files that others may read", []string{"backend/libsql.TestNewConnector_FilesArePrivate", "backend/cmd/kith.TestDatabase_IsPrivate"}},
	{"hole 14: 4,097 headers", []string{"wasm/e2e.TestAttack_ManyHeaders", "wasm/host.TestServe_HeaderCount"}},
	{"hole 14: bodies fill the memory", []string{"wasm/host.TestServe_BodiesAreBoundedInBytes"}},
	{"hole 14: challenges without end", []string{"backend/cmd/kith.TestGateway_ChallengesAreLimited", "backend/gateway/braintree.TestAnswerChallenge_IsNoSigningOracle"}},
	{"hole 14: a solved challenge, used as a notification", []string{"wasm/e2e.TestAttack_SolvedChallenge", "backend/gateway/braintree.FuzzAnswerChallenge"}},
	{"hole 14: the error of a failed delivery reveals our network", []string{"backend/sender.TestReason_HidesOurNetwork"}},
	{"hole 14: half a character", []string{"core/wire.TestLoneSurrogate"}},
	{"hole 15: a wrong master key, a mistyped folder", []string{"backend/cmd/kith.TestDatabase_IsNotCreatedByTenantCommands", "backend/cmd/kith.TestDatabase_IsNotCreatedByAnEdge"}},
	{"a webhook to a private address, by name, by redirect, by a name that changes", []string{"backend/sender.TestGuard_RefusesPrivateAddresses", "backend/sender.TestSend_ReachesOnlyPublicAddresses", "backend/sender.TestSend_FollowsNoRedirect", "backend/sender.TestSend_RebindingName"}},
	{"XXE in a notification of the gateway, the only XML that is read", []string{"backend/gateway/xmltree.TestParse_Refuses", "backend/gateway/braintree.FuzzParseNotification_Text"}},
	{"paths in the names of SFTP files", []string{"backend/sftp.TestOpen_NamesThatAreRefused", "backend/sftp.TestOperations_AreRefused", "backend/sftp.TestConnection_OffersNothingElse"}},
	{"a forged or replayed cookie", []string{"core/link.TestParseAttribution_Refused", "core/link.TestFindCookieUser_Forged", "core/link.FuzzParseAttribution"}},
	{"a forged token", []string{"core/wire.TestVerifyToken_Refused"}},
	{"a hop between edge and backend, forged", []string{"core/auth.TestHop_CoversEachPart", "core/auth.TestHop_PartsDoNotRunTogether"}},
	{"script in a widget's texts", []string{"core/widget.TestWithScript"}},
	{"open redirects of share links", []string{"core/link.FuzzFollowShareLink", "core/link.TestFollowShareLink_LandingPage", "core/origin.FuzzAllowed"}},
	{"an inviter takes the address of a person, and with it other tenants", []string{"backend/app/members.TestSignInAs_TakesTheAddressBack", "wasm/e2e.TestBrowser_Identity"}},
	{"an API key removes a member and acts under the address", []string{"backend/app/members.TestAudit_NamesTheInviter"}},
	{"people with one address give each other attempts to guess", []string{"backend/app/members.TestSignIn_AttemptsOnASharedAddress"}},
	{"attempts at the same time exceed the limit of wrong passwords and codes", []string{"backend/app/members.TestSignIn_LimitsAttemptsAtTheSameTime"}},
	{"sign-ins or anonymous calls of one network stop those of others", []string{"backend/guess.TestSlots_NetworksTakeTurns", "wasm/e2e.TestSiege"}},
	{"a request line makes a handler panic", []string{"wasm/e2e.TestAttack_RequestLines"}},
	{"forged hops fill the log", []string{"wasm/e2e.TestAttack_ForgedHopsInTheLog"}},
	{"a hostile component", []string{"wasm/host.TestHostile"}},
}

func deep(n int) string { return strings.Repeat("[", n) }

// repeat joins n copies of a text, in which % is replaced by the number of the copy.
func repeat(n int, text string) (all string) {
	for i := range n {
		all += strings.ReplaceAll(text, "%", strconv.Itoa(i)) + " "
	}
	return all
}
