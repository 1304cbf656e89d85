package e2e

import (
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exampleShop is a shop of the folder examples that runs as its README says.
type exampleShop struct {
	*reader
	// url is where the shop listens, and tenant is its tenant at Kith.
	url, tenant string
}

// startExample runs the commands of an example's README beside a kith dev. port is the one
// on which the shop listens in the README.
func startExample(t *testing.T, name, port string) *exampleShop {
	t.Helper()
	r := newReader(t, readDocument(t, "examples/"+name+"/README.md"))
	r.read(t)
	return &exampleShop{reader: r, url: "http://localhost:" + r.ports[port], tenant: "test_" + name}
}

// run runs a command of kith, and returns what it prints.
func (e *exampleShop) run(t *testing.T, command string) string {
	t.Helper()
	out, status := e.shell.run(t, "bin/kith "+command)
	require.Zero(t, status, out)
	return out
}

// shopper is a person with a browser: it stores cookies and follows redirects.
type shopper struct {
	shop   string
	client *http.Client
	// at is the URL of the page that is open.
	at string
}

// shopper returns a person who has not visited the shop yet.
func (e *exampleShop) shopper(t *testing.T) *shopper {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &shopper{shop: e.url, client: &http.Client{Jar: jar, Timeout: deadline, Transport: noRedirect.Transport}}
}

// get opens a page: a path of the shop, or a URL.
func (p *shopper) get(t *testing.T, at string) string {
	t.Helper()
	if strings.HasPrefix(at, "/") {
		at = p.shop + at
	}
	return p.open(t, http.MethodGet, at, "")
}

// submit fills in the form of a page that has a button, sends it, and returns the page to which
// that leads. fields are names and values.
func (p *shopper) submit(t *testing.T, page, button string, fields ...string) string {
	t.Helper()
	f := formWith(t, page, button)
	for i := 0; i < len(fields); i += 2 {
		require.Contains(t, f.values, fields[i])
		f.values.Set(fields[i], fields[i+1])
	}
	var body strings.Builder
	contentType := "application/x-www-form-urlencoded"
	if f.multipart {
		w := multipart.NewWriter(&body)
		for name := range f.values {
			require.NoError(t, w.WriteField(name, f.values.Get(name)))
		}
		require.NoError(t, w.Close())
		contentType = w.FormDataContentType()
	} else {
		body.WriteString(f.values.Encode())
	}
	at, err := url.Parse(p.at)
	require.NoError(t, err)
	at, err = at.Parse(f.action)
	require.NoError(t, err)
	return p.open(t, http.MethodPost, at.String(), body.String(), "Content-Type", contentType, "Origin", at.Scheme+"://"+at.Host)
}

func (p *shopper) open(t *testing.T, method, at, body string, header ...string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := p.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	p.at = response.Request.URL.String()
	return strings.ReplaceAll(string(text), "<!-- -->", "") // React writes it between texts
}

// form is a form of a page, as a browser sends it.
type form struct {
	action    string
	multipart bool
	values    url.Values
}

var (
	formElement = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)
	inputTag    = regexp.MustCompile(`<(?:input|select)\b[^>]*>`)
	attribute   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

func attributes(tag string) map[string]string {
	all := map[string]string{}
	for _, m := range attribute.FindAllStringSubmatch(tag, -1) {
		all[strings.ToLower(m[1])] = html.UnescapeString(m[2])
	}
	return all
}

// formWith returns the first form of a page with a button whose text begins with button.
func formWith(t *testing.T, page, button string) form {
	t.Helper()
	for _, m := range formElement.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(m[2], "<button>"+button) {
			continue
		}
		tag, values := attributes(m[1]), url.Values{}
		for _, input := range inputTag.FindAllString(m[2], -1) {
			one := attributes(input)
			values.Set(one["name"], one["value"])
		}
		return form{tag["action"], tag["enctype"] == "multipart/form-data", values}
	}
	require.Fail(t, "no form with this button", "%s\n%s", button, page)
	return form{}
}

// awaitPage opens a page until it has a text that the shop asks Kith for: the shop waits 3 s
// for an answer, and then shows the page without it.
func (p *shopper) awaitPage(t *testing.T, at, text string) (page string) {
	t.Helper()
	await(t, func() error {
		if page = p.get(t, at); !strings.Contains(page, text) {
			return fmt.Errorf("the page has no %q:\n%s", text, page)
		}
		return nil
	})
	return page
}

// within returns the group of a pattern in a page.
func within(t *testing.T, page, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(page)
	require.NotNil(t, m, "%s is not in\n%s", pattern, page)
	return html.UnescapeString(m[1])
}

const (
	shownLink     = `id="link" href="([^"]+)"`
	shownCustomer = `id="customer">([^<]+)<`
)

// signUp opens the shop and signs a person up. The address is that of the name. It returns the
// page of the customer once it has a text.
func (p *shopper) signUp(t *testing.T, name, text string) string {
	t.Helper()
	p.submit(t, p.get(t, "/"), "Sign up", "name", name, "email", strings.ToLower(strings.Trim(name, "<>"))+"@example.com")
	return p.awaitPage(t, "/", text)
}

// playReferral plays the story of a shop that reports its orders: Anna's share link, Bob's
// sign-up, order and refund. Then Carl signs up by Anna's code in the URL; the result is his
// page.
func (e *exampleShop) playReferral(t *testing.T) (page string) {
	t.Helper()
	anna, bob, carl := e.shopper(t), e.shopper(t), e.shopper(t)
	require.NotContains(t, anna.get(t, "/"), "off your first order")
	page = anna.signUp(t, "Anna", "Your credit: $0.00")
	require.Contains(t, page, "Buy the shoes for $80.00")
	link := within(t, page, shownLink)
	require.Contains(t, link, "/s/"+e.tenant+"/")

	const offer = "Anna gives you 10% off your first order."
	bob.awaitPage(t, link+"?rsShareMedium=FACEBOOK", offer)
	bob.awaitPage(t, "/", offer) // by the cookie
	page = bob.signUp(t, "<Bob>", "Buy the shoes for $72.00")
	require.Contains(t, page, "Welcome, &lt;Bob&gt;.")
	customer := within(t, page, shownCustomer)

	// Bob orders while Kith is stopped. A form that is sent twice is one order.
	e.kith.stop(t)
	bob.submit(t, page, "Buy")
	page = bob.submit(t, page, "Buy")
	require.Equal(t, 1, strings.Count(page, "<button>Refund"))
	require.Contains(t, page, "cannot be shown now")
	e.dev()
	anna.awaitPage(t, "/", "Your credit: $7.20")
	page = bob.get(t, "/")
	require.Contains(t, page, "Buy the shoes for $80.00", "the discount is for the first order")

	anna.submit(t, page, "Refund") // It is not hers.
	require.NotContains(t, bob.get(t, "/"), "refunded")
	bob.submit(t, page, "Refund")
	require.Contains(t, bob.submit(t, page, "Refund"), "$72.00 refunded")
	anna.awaitPage(t, "/", "Your credit: $0.00")
	orders := e.run(t, "program orders --tenant "+e.tenant+" "+customer)
	require.Contains(t, orders, "$72.00, refunded in full")
	require.Contains(t, orders, "1 of 1 orders")

	// A browser without the cookie has the code in the URL, and then in the form.
	code := link[strings.LastIndex(link, "/")+1:]
	page = carl.awaitPage(t, "/?rsCode="+code, offer)
	require.Equal(t, code, formWith(t, page, "Sign up").values.Get("code"))
	carl.submit(t, page, "Sign up", "name", "Carl", "email", "carl@example.com")
	return carl.awaitPage(t, "/", "Buy the shoes for $72.00")
}

// Each example has a test of its own.
func TestExamples_AllAreTested(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	require.NoError(t, err)
	for _, entry := range entries {
		test := "wasm/e2e.TestExamples_" + strings.ToUpper(entry.Name()[:1]) + entry.Name()[1:]
		require.True(t, declaredTests(t)[test], "%s is missing", test)
	}
}

// The shop without a framework: a share link becomes a reward, which a refund takes back.
func TestExamples_Plain(t *testing.T) {
	t.Parallel()
	e := startExample(t, "plain", "4000")
	page := e.playReferral(t)
	e.requireToken(t, within(t, page, `data-url="([^"]+)"`), within(t, page, `data-token="([^"]+)"`))
}

// The shop with Next.js, with the same story.
func TestExamples_Next(t *testing.T) {
	t.Parallel()
	require.DirExists(t, filepath.Join(root, "examples", "next", "node_modules"), "run make test-needs")
	e := startExample(t, "next", "4000")
	page := e.playReferral(t)
	kith, user := "http://localhost:"+e.ports["3000"], within(t, page, shownCustomer)
	e.requireToken(t, kith+"/api/v1/test_next/widget/account/"+user+"/user/"+user+"/render", within(t, page, `token\\":\\"([\w.-]+)`))
}

// requireToken makes the call of the page's widget: with the user token, from the shop's origin.
func (e *exampleShop) requireToken(t *testing.T, widget, token string) {
	t.Helper()
	a := mustCall(t, http.StatusOK, http.MethodGet, widget, "", "Origin: "+e.url, "Authorization: Bearer "+token)
	require.Equal(t, e.url, a.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.body, "Carl")
}

// The shop that is paid by Stripe: it reports nothing of an order and of its refund, and yet
// they give and take back a reward.
func TestExamples_Stripe(t *testing.T) {
	t.Parallel()
	require.DirExists(t, filepath.Join(root, "examples", "stripe", "node_modules"), "run make test-needs")
	e := startExample(t, "stripe", "4000")
	// Stripe's times are whole seconds: an order in the second in which the program was changed
	// would be before the change.
	mustCall(t, http.StatusOK, http.MethodPost, "http://127.0.0.1:"+e.ports["8091"]+"/lab/advance", "by=1s", formHeader)
	anna, bob := e.shopper(t), e.shopper(t)
	link := within(t, anna.signUp(t, "Anna", "Your share link"), shownLink)
	anna.awaitPage(t, "/", "Your credit: $0.00")
	bob.get(t, link)
	page := bob.signUp(t, "<Bob>", "the checkout lowers the price")
	customer := within(t, page, shownCustomer)

	page = bob.submit(t, page, "Buy")
	require.Contains(t, page, "Due today</td><td>72.00 USD")
	page = bob.submit(t, page, "Pay", "card", "4242 4242 4242 4242")
	require.Contains(t, page, "$72.00 paid")
	require.NotContains(t, page, "the checkout lowers the price", "the discount is for the first order")
	anna.awaitPage(t, "/", "Your credit: $7.20")

	anna.submit(t, page, "Refund") // It is not hers.
	require.Contains(t, bob.get(t, "/"), "$72.00 paid")
	bob.submit(t, page, "Refund")
	require.Contains(t, bob.submit(t, page, "Refund"), "$72.00 refunded")
	anna.awaitPage(t, "/", "Your credit: $0.00")
	require.Contains(t, e.run(t, "program orders --tenant test_stripe "+customer), "$72.00, refunded in full")
}
