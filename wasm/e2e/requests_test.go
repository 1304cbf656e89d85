package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// requestCase is one request as integrators send them, and what follows from it. The
// backend and the edge in front of it must answer alike: with the same status, and an error
// with the same text.
//
// To add a case, add a line to a table in requestcases_test.go. In all texts, {id} is an id of this
// case, {user} the path of the user with this id, {known} the same of a user that
// was identified before, {api} is /api/v1/demo, {now+60} a time in seconds, {nowms-60} one in
// milliseconds, {token} the value of a cookie of the share link ORDER10, and <1024*a> a text of
// 1024 letters. {orders} is a path that answers the orders of the referral of the user, of
// which {order} is the first.
type requestCase struct {
	// send is a method and a path.
	send string
	// headers are separated by " | ". "key" is the API key by Basic, "jwt {…}" a user token with
	// these claims, <key of other> the API key of a tenant, and <basic a:b> is sent as base64.
	headers string
	// body is the body; after "gzip:" it is sent compressed.
	body string
	// answer is a status and what the answer has, separated by "; ": gjson paths with their
	// values ("a.b=1", "a.c=" if it is missing or empty), headers ("Allow: GET"), and texts
	// ("~part of the body").
	answer string
	// stored is a path that is read with the API key until it answers as stated, in the form of
	// answer: "{user} 200; firstName=Ann".
	stored string
}

// requestCases are the tables of cases by subject.
func requestCases() map[string][]requestCase {
	return map[string][]requestCase{
		"body": bodyRequests, "path": pathRequests, "credential": credentialRequests, "choice": choiceRequests,
		"order": orderRequests, "program": programRequests, "data": dataRequests, "event": eventRequests,
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := demoSite(t)
	s.createTenant(t, "other", "--landing-url", "https://other.example/")
	s.serve(t)
	s.serveEdge(t)
	mustCall(t, http.StatusCreated, "POST", s.backend+"/api/v1/demo/programs", `{"id":"orders","sharing":{"url":"https://shop.example/"},
		"conversion":{"event":"purchase","conditions":["revenue >= 50"]},"rewards":{"referrer":{"type":"CREDIT","unit":"CENTS","percentOfRevenue":10}}}`, s.auth("demo"))
	s.identify(t, s.backend, "demo", "anna", `{"firstName":"Anna","referralCodes":{"classic":"ANNA10","orders":"ORDER10"}}`)
	link := mustCall(t, http.StatusFound, "GET", s.edge+"/s/demo/ORDER10", "")
	cookie, _, _ := strings.Cut(link.header.Get("Set-Cookie"), ";")
	_, token, _ := strings.Cut(cookie, "=")
	for subject, cases := range requestCases() {
		for i, c := range cases {
			t.Run(fmt.Sprint(subject, i+1), func(t *testing.T) {
				t.Parallel()
				id := fmt.Sprint(subject, "-", i+1)
				c.body = strings.ReplaceAll(c.body, "{token}", token)
				direct := c.try(t, s, s.backend, id)
				forwarded := c.try(t, s, s.edge, id+"-e")
				require.Equal(t, direct.status, forwarded.status)
				if direct.status >= 400 {
					require.Equal(t, direct.body, strings.ReplaceAll(forwarded.body, id+"-e", id), c.send)
				}
			})
		}
	}
}

// try sends the request to one of them, and checks what is answered and stored.
func (c requestCase) try(t *testing.T, s *site, base, id string) answer {
	t.Helper()
	fill := func(text string) string { return fillIn(text, id) }
	if text := c.send + c.headers + c.body; strings.Contains(text, "{known}") {
		s.identify(t, s.backend, "demo", id, `{}`)
	}
	method, path, _ := strings.Cut(fill(c.send), " ")
	a, err := sendAsIs(s, method, base+path, fill(c.headers), fill(c.body))
	require.NoError(t, err, c.send)
	require.NoError(t, a.has(fill(c.answer)), "%s %s\n%s", base, c.send, a.body)
	if c.stored != "" {
		path, want, _ := strings.Cut(fill(c.stored), " ")
		await(t, func() error {
			a, err := call("GET", s.backend+path, "", s.auth("demo"))
			if err == nil {
				err = a.has(want)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w\n%s", path, err, a.body)
			}
			return err
		})
	}
	return a
}

var (
	timeIn = regexp.MustCompile(`\{now(ms)?([+-]\d+)\}`)
	longIn = regexp.MustCompile(`<(\d+)\*([^>]+)>`)
)

const ordersQuery = `{user(accountId:"{id}",id:"{id}"){referredByReferral{referralCodeUsed orders{data{orderId counts reason{code} detail referrer{reason{code} reward{ id }} referred{reason{code}}}}}}}`

// fillIn replaces the placeholders of a case.
func fillIn(text, id string) string {
	text = strings.NewReplacer("{known}", "{user}", "{orders}", "{api}/graphql?query="+url.QueryEscape(ordersQuery), "{order}", "data.user.referredByReferral.orders.data.0").Replace(text)
	text = strings.ReplaceAll(text, url.QueryEscape("{id}"), "{id}")
	text = strings.NewReplacer("{user}", "{api}/open/account/{id}/user/{id}").Replace(text)
	text = strings.NewReplacer("{api}", "/api/v1/demo", "{id}", id).Replace(text)
	text = longIn.ReplaceAllStringFunc(text, func(found string) string {
		part := longIn.FindStringSubmatch(found)
		n, _ := strconv.Atoi(part[1])
		return strings.Repeat(part[2], n)
	})
	return timeIn.ReplaceAllStringFunc(text, func(found string) string {
		part := timeIn.FindStringSubmatch(found)
		seconds, _ := strconv.Atoi(part[2])
		at := time.Now().Add(time.Duration(seconds) * time.Second)
		if part[1] != "" {
			return fmt.Sprint(at.UnixMilli())
		}
		return fmt.Sprint(at.Unix())
	})
}

// sendAsIs sends a request with exactly this path and these names of headers.
func sendAsIs(s *site, method, target, headers, body string) (answer, error) {
	if text, packed := strings.CutPrefix(body, "gzip:"); packed {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
			return answer{}, fmt.Errorf("gzip: %w", err)
		}
		body = b.String()
	}
	request, err := http.NewRequest(method, s.backend, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	rest := strings.ReplaceAll(strings.TrimPrefix(target, "http://"), "<key of demo>", s.keys["demo"])
	host, path, _ := strings.Cut(rest, "/")
	request.URL, request.Host = &url.URL{Scheme: "http", Host: host, Opaque: "/" + path}, host
	for _, h := range strings.Split(headers, " | ") {
		if h == "" {
			continue
		}
		if h == "key" {
			h = s.auth("demo")
		}
		for _, tenant := range []string{"demo", "test_demo", "other"} {
			h = strings.ReplaceAll(h, "<key of "+tenant+">", s.keys[tenant])
		}
		if before, plain, ok := strings.Cut(h, "<basic "); ok {
			h = before + base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(plain, ">")))
		}
		if claims, ok := strings.CutPrefix(h, "jwt "); ok {
			h = "Authorization: Bearer " + signClaims(s.keys["demo"], claims)
		}
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			return answer{}, fmt.Errorf("no header: %s", h)
		}
		request.Header[name] = append(request.Header[name], value)
	}
	response, err := noRedirect.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

var headerIn = regexp.MustCompile(`^([A-Z][A-Za-z-]+): (.*)$`)

// has returns an error unless the answer is as stated; see requestCase.answer.
func (a answer) has(want string) error {
	parts := strings.Split(want, "; ")
	if fmt.Sprint(a.status) != parts[0] {
		return fmt.Errorf("status %d in place of %s", a.status, parts[0])
	}
	for _, part := range parts[1:] {
		if text, ok := strings.CutPrefix(part, "~"); ok {
			if !strings.Contains(a.body, text) {
				return fmt.Errorf("the answer does not contain %s", text)
			}
			continue
		}
		if h := headerIn.FindStringSubmatch(part); h != nil {
			if got := strings.Join(a.header.Values(h[1]), ", "); got != h[2] {
				return fmt.Errorf("%s is %q in place of %q", h[1], got, h[2])
			}
			continue
		}
		path, value, ok := strings.Cut(part, "=")
		if got := gjson.Get(a.body, path).String(); !ok || got != value {
			return fmt.Errorf("%s is %q in place of %q", path, got, value)
		}
	}
	return nil
}
