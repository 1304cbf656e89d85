package stripe

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway"
)

const key = "rk_test_51Secret"

// said is an answer of the server.
type said struct {
	status int
	body   string
	header http.Header
	// before is called before the answer, if it is not nil.
	before func()
}

// server is a server that gives some answers, and the last one again and again.
type server struct {
	answers []said
	seen    []*http.Request
	bodies  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.seen, s.bodies = append(s.seen, r), append(s.bodies, string(body))
	a := s.answers[min(len(s.seen), len(s.answers))-1]
	for name := range a.header {
		w.Header().Set(name, a.header.Get(name))
	}
	if a.before != nil {
		a.before()
	}
	if a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

// start returns a server and its client.
func start(t *testing.T, answers ...said) (*server, *client) {
	t.Helper()
	s := &server{answers: answers}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	return s, newClient(listener.URL, key)
}

const made = `{"id":"re_1","amount":700,"created":1}`

func refusing(status int, code, message string, header ...string) said {
	h := http.Header{"Request-Id": {"req_9"}}
	if len(header) > 0 {
		h.Set("Stripe-Should-Retry", header[0])
	}
	return said{status: status, body: `{"error":{"type":"api_error","code":"` + code + `","param":"customer","message":"` + message + `"}}`, header: h}
}

// A call has the headers and the form that Stripe documents.
func TestClient_Request(t *testing.T) {
	t.Parallel()
	s, c := start(t, said{status: 200, body: made})
	_, err := postOnce[refund](t.Context(), c, "order-1", each(params{"amount": {"700"}, "metadata[kith_refund]": {"ä&b"}}, "expand", "a", "b"), "customers", "cus/1 ?", "refunds")
	require.NoError(t, err)
	r := s.seen[0]
	require.Equal(t, "POST /v1/customers/cus%2F1%20%3F/refunds", r.Method+" "+r.RequestURI)
	require.Equal(t, "amount=700&expand%5B0%5D=a&expand%5B1%5D=b&metadata%5Bkith_refund%5D=%C3%A4%26b", s.bodies[0])
	want := http.Header{
		"Authorization": {"Bearer " + key}, "Stripe-Version": {APIVersion}, "Idempotency-Key": {"order-1"}, "User-Agent": {"Kith"},
		"Content-Type": {"application/x-www-form-urlencoded"}, "Accept-Encoding": {"gzip"}, "Content-Length": r.Header["Content-Length"],
	}
	require.Equal(t, want, r.Header)

	_, err = get[refund](t.Context(), c, params{"limit": {"1"}}, "refunds")
	require.NoError(t, err)
	require.Equal(t, "GET /v1/refunds?limit=1", s.seen[1].Method+" "+s.seen[1].RequestURI)
	require.Empty(t, s.seen[1].Header.Get("Idempotency-Key")+s.seen[1].Header.Get("Content-Type"))

	require.NoError(t, remove(t.Context(), c, "coupons", "a"))
	require.NoError(t, remove(t.Context(), c, "coupons", "b"))
	require.Equal(t, "DELETE /v1/coupons/a", s.seen[2].Method+" "+s.seen[2].RequestURI)
	require.NotEmpty(t, s.seen[2].Header.Get("Idempotency-Key"))
	require.NotEqual(t, s.seen[2].Header.Get("Idempotency-Key"), s.seen[3].Header.Get("Idempotency-Key"))

	for _, id := range []string{"", ".", ".."} {
		_, err = get[customer](t.Context(), c, nil, "customers", id)
		require.True(t, gateway.Is(err, gateway.Missing), id)
	}
	require.Len(t, s.seen, 4)
}

// A call whose result is unknown is repeated once, with the same key.
func TestClient_Repeats(t *testing.T) {
	t.Parallel()
	ok := said{status: 200, body: made}
	for name, c := range map[string]struct {
		first said
		calls int
	}{
		"no answer":                     {said{}, 2},
		"a body that is cut":            {said{status: 200, body: "{", header: http.Header{"Content-Length": {"9"}}}, 2},
		"a proxy":                       {said{status: 502, body: "<h1>Bad gateway</h1>"}, 2},
		"a proxy without a server":      {said{status: 404, body: "<h1>Not found</h1>"}, 2},
		"500":                           {refusing(500, "", "sorry"), 2},
		"503":                           {refusing(503, "", "sorry"), 2},
		"500, and the result is stored": {refusing(500, "", "sorry", "false"), 1},
		"409":                           {refusing(409, "idempotency_key_in_use", "in use"), 2},
		"a lock":                        {refusing(429, "lock_timeout", "locked"), 2},
		"too many calls":                {refusing(429, "rate_limit", "too many"), 1},
		"400":                           {refusing(400, "", "no"), 1},
		"400 that may change":           {refusing(400, "", "no", "true"), 2},
		"an answer that makes no sense": {said{status: 200, body: `{"id":"re_1"}`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, client := start(t, c.first, ok)
			_, err := post[refund](t.Context(), client, params{"amount": {"700"}}, "refunds")
			require.Len(t, s.seen, c.calls)
			if c.calls == 1 {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "amount=700", s.bodies[1])
			require.NotEmpty(t, s.seen[0].Header.Get("Idempotency-Key"))
			require.Equal(t, s.seen[0].Header, s.seen[1].Header)
		})
	}
}

// Every error is one of the port. Its text has no key, and no body.
func TestClient_Errors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer said
		action gateway.Action
		text   string
	}{
		"revoked key":     {refusing(401, "", "Invalid API Key: rk_test_51****cret"), gateway.SetUp, "gateway: status 401 on customer: Invalid API Key: key"},
		"no permission":   {refusing(403, "", "no"), gateway.SetUp, "gateway: status 403 on customer: no"},
		"missing":         {refusing(404, "resource_missing", "none"), gateway.Missing, "gateway: status 404, resource_missing on customer: none"},
		"missing inside":  {refusing(400, "resource_missing", "none"), gateway.Missing, "gateway: status 400, resource_missing on customer: none"},
		"refused":         {refusing(402, "card_declined", "no"), gateway.Alert, "gateway: status 402, card_declined on customer: no"},
		"too many":        {refusing(429, "rate_limit", "slow"), gateway.Retry, "gateway: status 429, rate_limit on customer: slow"},
		"Stripe's fault":  {refusing(500, "", "sorry", "false"), gateway.Retry, "gateway: status 500 on customer, request req_9: sorry"},
		"a long text":     {refusing(400, "", strings.Repeat("é", 200)), gateway.Alert, "gateway: status 400 on customer: " + strings.Repeat("é", 133)},
		"a proxy":         {said{status: 403, body: "secret"}, gateway.Retry, "gateway: no answer: status 403, and no error of Stripe"},
		"a redirect":      {said{status: 302, header: http.Header{"Location": {"http://127.0.0.1:1/"}}}, gateway.Retry, "gateway: no answer: status 302, and no error of Stripe"},
		"no JSON":         {said{status: 200, body: "secret"}, gateway.Retry, "gateway: no answer: the answer to POST /v1/refunds cannot be read: invalid character 's' looking for beginning of value"},
		"another object":  {said{status: 200, body: `"re_1"`}, gateway.Retry, "gateway: no answer: the answer to POST /v1/refunds cannot be read: json: cannot unmarshal string into Go value of type stripe.plain"},
		"no amount":       {said{status: 200, body: `{"id":"re_1","amount":null}`}, gateway.Retry, "gateway: no answer: the answer to POST /v1/refunds cannot be read: it has no amount"},
		"half a cent":     {said{status: 200, body: `{"id":"re_1","amount":0.5}`}, gateway.Retry, "gateway: no answer: the answer to POST /v1/refunds cannot be read: json: cannot unmarshal number 0.5 into Go struct field plain.amount of type int64"},
		"too long a body": {said{status: 200, body: `{"id":"` + strings.Repeat("x", maxAnswer) + `"}`}, gateway.Retry, "gateway: no answer: the answer has more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := start(t, c.answer)
			_, err := post[refund](t.Context(), client, nil, "refunds")
			require.EqualError(t, err, c.text)
			require.Equal(t, c.action, gateway.ActionOf(err))
			var port *gateway.Error
			require.ErrorAs(t, err, &port)
		})
	}
}

// A call whose context has ended is not repeated, and a later one is not sent.
func TestClient_Context(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, c := start(t, said{before: cancel})
	_, err := get[refund](ctx, c, nil, "refunds", "re_1")
	require.True(t, gateway.Is(err, gateway.Retry), err) // the lab's end of the connection, or the context's
	_, err = get[refund](ctx, c, nil, "refunds", "re_1")
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, s.seen, 1)
}

// A list is read page by page. A list without data is none that is empty: what was made
// would be made again.
func TestClient_Lists(t *testing.T) {
	t.Parallel()
	s, c := start(t,
		said{status: 200, body: `{"object":"list","has_more":true,"data":[{"id":"re_1","amount":1,"created":1},{"id":"re_2","amount":2,"created":1}]}`},
		said{status: 200, body: `{"object":"list","has_more":false,"data":[{"id":"re_3","amount":3,"created":1}]}`})
	p := page()
	found, err := list[refund](t.Context(), c, p, "refunds")
	require.NoError(t, err)
	require.Equal(t, []refund{{ID: "re_1", Amount: 1, Created: 1}, {ID: "re_2", Amount: 2, Created: 1}, {ID: "re_3", Amount: 3, Created: 1}}, found)
	require.Equal(t, "/v1/refunds?limit=100", s.seen[0].RequestURI)
	require.Equal(t, "/v1/refunds?limit=100&starting_after=re_2", s.seen[1].RequestURI)
	require.Equal(t, page(), p)

	for _, body := range []string{`{}`, `{"data":[]}`, `{"has_more":false}`, `{"data":null,"has_more":false}`, `[]`, `{"data":[{"amount":1,"created":1}],"has_more":false}`, `{"data":["re_1"],"has_more":false}`, `{"data":[null],"has_more":false}`} {
		_, c := start(t, said{status: 200, body: body})
		_, err := list[refund](t.Context(), c, page(), "refunds")
		require.True(t, gateway.Is(err, gateway.Retry), body)
	}
	// A server that has no end does not keep the caller.
	_, c = start(t, said{status: 200, body: `{"has_more":true,"data":[` + strings.Repeat(`{"id":"re_1","amount":1,"created":1},`, 2999) + `{"id":"re_1","amount":1,"created":1}]}`})
	found, err = list[refund](t.Context(), c, page(), "refunds")
	require.NoError(t, err)
	require.Len(t, found, maxList)
}
