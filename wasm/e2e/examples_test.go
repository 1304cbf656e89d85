package e2e

import (
	"fmt"
	"html"
	"io"
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
	return p.open(t, http.MethodGet, at, nil)
}

// post sends a form to a path of the shop, or a URL, and returns the page to which that leads.
func (p *shopper) post(t *testing.T, at string, fields ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return p.open(t, http.MethodPost, at, form)
}

func (p *shopper) open(t *testing.T, method, at string, form url.Values) string {
	t.Helper()
	if strings.HasPrefix(at, "/") {
		at = p.shop + at
	}
	request, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := p.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", text)
	p.at = response.Request.URL.String()
	return string(text)
}

// awaitPage opens the page of a signed-in customer until it has a text.
func (p *shopper) awaitPage(t *testing.T, text string) (page string) {
	t.Helper()
	await(t, func() error {
		if page = p.get(t, "/"); !strings.Contains(page, text) {
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
	orderInput    = `action="/order">\s*<input type="hidden" name="id" value="([^"]+)"`
)

// playReferral plays the story of a shop that reports its orders: Anna's share link, Bob's
// sign-up, order and refund. It returns Anna's code.
func (e *exampleShop) playReferral(t *testing.T) (code string) {
	t.Helper()
	anna, bob := e.shopper(t), e.shopper(t)
	require.NotContains(t, anna.get(t, "/"), "off your first order")
	page := anna.post(t, "/signup", "name", "Anna", "email", "anna@example.com", "code", "")
	require.Contains(t, page, "Your credit: $0.00")
	require.Contains(t, page, "Buy the shoes for $80.00")
	link := within(t, page, shownLink)
	require.Contains(t, link, "/s/"+e.tenant+"/")

	page = bob.get(t, link+"?rsShareMedium=FACEBOOK")
	require.Contains(t, page, "Anna gives you 10% off your first order.")
	require.Contains(t, bob.get(t, "/"), "Anna gives you 10% off your first order.", "by the cookie")
	page = bob.post(t, "/signup", "name", "<Bob>", "email", "bob@example.com", "code", "")
	require.Contains(t, page, "Welcome, &lt;Bob&gt;.")
	require.Contains(t, page, "Buy the shoes for $72.00")

	customer := within(t, page, shownCustomer)
	order := within(t, page, orderInput)

	// Bob orders while Kith is stopped. A form that is sent twice is one order.
	e.kith.stop(t)
	bob.post(t, "/order", "id", order)
	page = bob.post(t, "/order", "id", order)
	require.Equal(t, 1, strings.Count(page, "Order "+order))
	require.Contains(t, page, "cannot be shown now")
	e.dev()
	anna.awaitPage(t, "Your credit: $7.20")
	require.Contains(t, bob.get(t, "/"), "Buy the shoes for $80.00", "the discount is for the first order")

	require.NotContains(t, anna.post(t, "/refund", "id", order), "refunded", "the order is not hers")
	bob.post(t, "/refund", "id", order)
	require.Contains(t, bob.post(t, "/refund", "id", order), "$72.00 refunded")
	anna.awaitPage(t, "Your credit: $0.00")
	orders := e.run(t, "program orders --tenant "+e.tenant+" "+customer)
	require.Contains(t, orders, "$72.00, refunded in full")
	require.Contains(t, orders, "1 of 1 orders")
	return link[strings.LastIndex(link, "/")+1:]
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
	code := e.playReferral(t)

	// A browser without the cookie has the code in the URL, and then in the form.
	carl := e.shopper(t)
	require.Contains(t, carl.get(t, "/?rsCode="+code), `name="code" value="`+code+`"`)
	page := carl.post(t, "/signup", "name", "Carl", "email", "carl@example.com", "code", code)
	require.Contains(t, page, "Buy the shoes for $72.00")
	// What the script of the page does: a call with the token, from the shop's origin.
	own := mustCall(t, http.StatusOK, http.MethodGet, within(t, page, `data-url="([^"]+)"`), "", "Origin: "+e.url, "Authorization: Bearer "+within(t, page, `data-token="([^"]+)"`))
	require.Equal(t, e.url, own.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, own.body, within(t, page, shownLink))
}

// The shop that is paid by Stripe: it reports nothing of an order and of its refund, and yet
// they give and take back a reward.
func TestExamples_Stripe(t *testing.T) {
	t.Parallel()
	require.DirExists(t, filepath.Join(root, "examples", "stripe", "node_modules"), "run make test-needs")
	e := startExample(t, "stripe", "4000")
	anna, bob := e.shopper(t), e.shopper(t)
	page := anna.post(t, "/signup", "name", "Anna", "email", "anna@example.com", "code", "")
	require.Contains(t, page, "Your credit: $0.00")
	bob.get(t, within(t, page, shownLink))
	bob.post(t, "/signup", "name", "<Bob>", "email", "bob@example.com", "code", "")
	page = bob.awaitPage(t, "the checkout lowers the price")
	customer := within(t, page, shownCustomer)

	require.Contains(t, bob.post(t, "/buy"), "Due today</td><td>72.00 USD")
	page = bob.post(t, bob.at, "email", "bob@example.com", "card", "4242 4242 4242 4242")
	require.Contains(t, page, "$72.00 paid")
	require.NotContains(t, page, "the checkout lowers the price", "the discount is for the first order")
	anna.awaitPage(t, "Your credit: $7.20")

	order := within(t, page, `action="/refund"><input type="hidden" name="id" value="([^"]+)"`)
	anna.post(t, "/refund", "id", order) // It is not hers.
	require.Contains(t, bob.get(t, "/"), "$72.00 paid")
	bob.post(t, "/refund", "id", order)
	require.Contains(t, bob.post(t, "/refund", "id", order), "$72.00 refunded")
	anna.awaitPage(t, "Your credit: $0.00")
	require.Contains(t, e.run(t, "program orders --tenant test_stripe "+customer), "$72.00, refunded in full")
}
