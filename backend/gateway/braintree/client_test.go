package braintree_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway/braintree"
)

// transport is a gateway that answers without a network, so that a test can use
// synctest.
type transport func(*http.Request) (*http.Response, error)

func (l transport) RoundTrip(r *http.Request) (*http.Response, error) { return l(r) }

func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/xml; charset=utf-8"}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// always gives every request the same answer.
func always(status int, body string, headers ...string) transport {
	return func(*http.Request) (*http.Response, error) { return answer(status, body, headers...), nil }
}

var settings = braintree.Config{MerchantID: "acme", Key: braintree.Key{Public: "pub", Private: "priv"}, Test: true}

func client(t *testing.T, via http.RoundTripper) *braintree.Client {
	t.Helper()
	c := settings
	c.Transport = via
	made, err := braintree.New(c)
	require.NoError(t, err)
	return made
}

func failure(t *testing.T, err error) *braintree.Error {
	t.Helper()
	var e *braintree.Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestNew_WhereCallsGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		test bool
		base string
		want string
	}{
		{false, "", "https://api.braintreegateway.com/merchants/acme/discounts"},
		{true, "", "https://api.sandbox.braintreegateway.com/merchants/acme/discounts"},
		{true, "http://127.0.0.1:8090", "http://127.0.0.1:8090/merchants/acme/discounts"},
		{true, "https://lab.example/braintree/", "https://lab.example/braintree/merchants/acme/discounts"},
	} {
		s, asked := settings, ""
		s.Test, s.BaseURL = c.test, c.base
		s.Transport = transport(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return answer(200, `<discounts type="array"/>`), nil
		})
		made, err := braintree.New(s)
		require.NoError(t, err)
		_, err = made.Discounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, c.want, asked)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*braintree.Config){
		"a live connection to another host": func(c *braintree.Config) { c.Test, c.BaseURL = false, "http://127.0.0.1:8090" },
		"no merchant":                       func(c *braintree.Config) { c.MerchantID = "" },
		"a merchant's path":                 func(c *braintree.Config) { c.MerchantID = "a/b" },
		"no public key":                     func(c *braintree.Config) { c.Key.Public = "" },
		"no private key":                    func(c *braintree.Config) { c.Key.Private = "" },
		"no scheme":                         func(c *braintree.Config) { c.BaseURL = "127.0.0.1:8090" },
		"another scheme":                    func(c *braintree.Config) { c.BaseURL = "file:///etc/passwd" },
		"no host":                           func(c *braintree.Config) { c.BaseURL = "http://" },
		"credentials":                       func(c *braintree.Config) { c.BaseURL = "http://a:b@h" },
		"a query":                           func(c *braintree.Config) { c.BaseURL = "http://h/?x=" },
		"a fragment":                        func(c *braintree.Config) { c.BaseURL = "http://h/#x" },
	} {
		c := settings
		change(&c)
		_, err := braintree.New(c)
		require.Error(t, err, name)
	}
}

const (
	subscriptionXML = `<subscription><id>s1</id><status>Active</status><price>50.00</price></subscription>`
	transactionXML  = `<transaction><id>t9</id><type>credit</type><status>submitted_for_settlement</status><amount>5.00</amount><order-id>svc-r1</order-id></transaction>`
)

// Each call sends the expected request and returns the expected value.
func TestCalls(t *testing.T) {
	t.Parallel()
	subscription := braintree.Subscription{ID: "s1", Status: braintree.Active, Price: "50.00"}
	refunded := braintree.Transaction{ID: "t9", Type: braintree.Credit, Status: braintree.SubmittedForSettlement, Amount: "5.00", OrderID: "svc-r1"}
	for name, c := range map[string]struct {
		call    func(context.Context, *braintree.Client) (any, error)
		request string
		answer  string
		want    any
	}{
		"discounts": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.Discounts(ctx) },
			"GET /merchants/acme/discounts\n",
			`<discounts type="array"><discount><id>svc_discount</id><amount>1.00</amount><never-expires type="boolean">true</never-expires></discount></discounts>`,
			[]braintree.Modification{{ID: "svc_discount", Amount: "1.00", NeverExpires: true}},
		},
		"plans": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.Plans(ctx) },
			"GET /merchants/acme/plans\n",
			`<plans type="array"><plan><id>pro</id><name>Pro</name><price>50</price><currency-iso-code>USD</currency-iso-code><billing-frequency type="integer">12</billing-frequency></plan></plans>`,
			[]braintree.Plan{{ID: "pro", Currency: "USD"}},
		},
		"subscription": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.Subscription(ctx, "s1") },
			"GET /merchants/acme/subscriptions/s1\n", subscriptionXML, subscription,
		},
		"add a discount": {
			func(ctx context.Context, c *braintree.Client) (any, error) {
				return c.AddDiscount(ctx, "s1", "svc_discount", "5.00", braintree.Duration{})
			},
			`PUT /merchants/acme/subscriptions/s1
<?xml version="1.0" encoding="UTF-8"?>
<subscription>
  <discounts>
    <add type="array">
      <item>
        <inherited-from-id>svc_discount</inherited-from-id>
        <amount>5.00</amount>
      </item>
    </add>
  </discounts>
  <options>
    <prorate-charges type="boolean">false</prorate-charges>
  </options>
</subscription>
`, subscriptionXML, subscription,
		},
		"update a discount": {
			func(ctx context.Context, c *braintree.Client) (any, error) {
				return c.UpdateDiscount(ctx, "s1", "svc_discount", "12.50", braintree.Duration{})
			},
			`PUT /merchants/acme/subscriptions/s1
<?xml version="1.0" encoding="UTF-8"?>
<subscription>
  <discounts>
    <update type="array">
      <item>
        <existing-id>svc_discount</existing-id>
        <amount>12.50</amount>
      </item>
    </update>
  </discounts>
  <options>
    <prorate-charges type="boolean">false</prorate-charges>
  </options>
</subscription>
`, subscriptionXML, subscription,
		},
		"remove a discount": {
			func(ctx context.Context, c *braintree.Client) (any, error) {
				return c.RemoveDiscount(ctx, "s1", "svc_discount")
			},
			`PUT /merchants/acme/subscriptions/s1
<?xml version="1.0" encoding="UTF-8"?>
<subscription>
  <discounts>
    <remove type="array">
      <item>svc_discount</item>
    </remove>
  </discounts>
  <options>
    <prorate-charges type="boolean">false</prorate-charges>
  </options>
</subscription>
`, subscriptionXML, subscription,
		},
		"refund": {
			func(ctx context.Context, c *braintree.Client) (any, error) {
				return c.Refund(ctx, "t1", braintree.Refund{Amount: "5.00", OrderID: "svc-r1", Key: "svc-refund-r1"})
			},
			`POST /merchants/acme/transactions/t1/refund
<?xml version="1.0" encoding="UTF-8"?>
<transaction>
  <amount>5.00</amount>
  <order-id>svc-r1</order-id>
  <api-request-key>svc-refund-r1</api-request-key>
</transaction>
`, transactionXML, refunded,
		},
		"transaction": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.Transaction(ctx, "t9") },
			"GET /merchants/acme/transactions/t9\n", transactionXML, refunded,
		},
		"customer": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.Customer(ctx, "anna") },
			"GET /merchants/acme/customers/anna\n",
			`<customer><id>anna</id><email>a@b.c</email><custom-fields><svc-coupon>ANNA10</svc-coupon><empty/></custom-fields>
				<addresses type="array"><address><id>x</id></address></addresses>
				<credit-cards type="array"><credit-card><token>c1</token><customer-id>anna</customer-id><unique-number-identifier>u1</unique-number-identifier>
					<subscriptions type="array">` + subscriptionXML + `</subscriptions></credit-card></credit-cards>
				<paypal-accounts type="array"><paypal-account><token>p1</token><customer-id>anna</customer-id></paypal-account></paypal-accounts></customer>`,
			braintree.Customer{
				ID: "anna", CustomFields: map[string]string{"svc_coupon": "ANNA10"},
				PaymentMethods: []braintree.PaymentMethod{
					{Token: "c1", CustomerID: "anna", Subscriptions: []braintree.Subscription{subscription}},
					{Token: "p1", CustomerID: "anna"},
				},
			},
		},
		"custom field": {
			func(ctx context.Context, c *braintree.Client) (any, error) {
				return c.SetCustomField(ctx, "anna", "svc_coupon", "A&B")
			},
			`PUT /merchants/acme/customers/anna
<?xml version="1.0" encoding="UTF-8"?>
<customer>
  <custom-fields>
    <svc-coupon>A&amp;B</svc-coupon>
  </custom-fields>
</customer>
`, `<customer><id>anna</id></customer>`, braintree.Customer{ID: "anna", CustomFields: map[string]string{}},
		},
		"payment method": {
			func(ctx context.Context, c *braintree.Client) (any, error) { return c.PaymentMethod(ctx, "p1") },
			"GET /merchants/acme/payment_methods/any/p1\n", `<paypal-account><token>p1</token><customer-id>anna</customer-id></paypal-account>`,
			braintree.PaymentMethod{Token: "p1", CustomerID: "anna"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var request string
			gw := client(t, transport(func(r *http.Request) (*http.Response, error) {
				request = r.Method + " " + r.URL.Path + "\n"
				if r.Body != nil {
					body, _ := io.ReadAll(r.Body)
					request += string(body)
					require.Equal(t, "application/xml", r.Header.Get("Content-Type"))
				}
				public, private, _ := r.BasicAuth()
				require.Equal(t, []string{"pub", "priv", "6", "application/xml"}, []string{public, private, r.Header.Get("X-ApiVersion"), r.Header.Get("Accept")})
				return answer(200, c.answer), nil
			}))
			got, err := c.call(t.Context(), gw)
			require.NoError(t, err)
			require.Equal(t, c.request, request)
			require.Equal(t, c.want, got)
		})
	}
}

// Ids and element names are checked before anything is sent.
func TestCalls_NothingIsSentForAnInvalidID(t *testing.T) {
	t.Parallel()
	gw := client(t, transport(func(r *http.Request) (*http.Response, error) {
		t.Errorf("%s was requested", r.URL)
		return nil, errors.New("sent")
	}))
	ctx := t.Context()
	for _, id := range []string{"", ".", "..", "a/b", "a%2Fb", "a b", "a?b", "a#b", "é", "a\n", strings.Repeat("a", 65)} {
		for name, call := range map[string]func() error{
			"subscription":   func() error { _, err := gw.Subscription(ctx, id); return err },
			"add":            func() error { _, err := gw.AddDiscount(ctx, id, "d", "1.00", braintree.Duration{}); return err },
			"update":         func() error { _, err := gw.UpdateDiscount(ctx, id, "d", "1.00", braintree.Duration{}); return err },
			"remove":         func() error { _, err := gw.RemoveDiscount(ctx, id, "d"); return err },
			"refund":         func() error { _, err := gw.Refund(ctx, id, braintree.Refund{OrderID: "o", Key: "k"}); return err },
			"find refund":    func() error { _, _, err := gw.FindRefund(ctx, id, "o"); return err },
			"transaction":    func() error { _, err := gw.Transaction(ctx, id); return err },
			"customer":       func() error { _, err := gw.Customer(ctx, id); return err },
			"custom field":   func() error { _, err := gw.SetCustomField(ctx, id, "f", "v"); return err },
			"payment method": func() error { _, err := gw.PaymentMethod(ctx, id); return err },
		} {
			require.Equal(t, braintree.Missing, failure(t, call()).Action, "%s %q", name, id)
		}
	}
	for name, call := range map[string]func() error{
		"no key": func() error {
			_, err := gw.Refund(ctx, "t", braintree.Refund{Amount: "1.00", OrderID: "o"})
			return err
		},
		"a key too long": func() error {
			_, err := gw.Refund(ctx, "t", braintree.Refund{Amount: "1.00", OrderID: "o", Key: strings.Repeat("k", 256)})
			return err
		},
		"no order id":   func() error { _, err := gw.Refund(ctx, "t", braintree.Refund{Amount: "1.00", Key: "k"}); return err },
		"an element":    func() error { _, err := gw.SetCustomField(ctx, "c", "x><y", "v"); return err },
		"a digit first": func() error { _, err := gw.SetCustomField(ctx, "c", "1x", "v"); return err },
		"no field":      func() error { _, err := gw.SetCustomField(ctx, "c", "", "v"); return err },
		"no amount":     func() error { _, err := gw.AddDiscount(ctx, "s", "d", "", braintree.Duration{}); return err },
		"an exponent":   func() error { _, err := gw.UpdateDiscount(ctx, "s", "d", "1e3", braintree.Duration{}); return err },
	} {
		require.Equal(t, braintree.Alert, failure(t, call()).Action, name)
	}
}

// reasons returns the body of a 422 as the gateway writes it, with nested errors.
func reasons(message string, codes ...string) string {
	var errs strings.Builder
	for i, code := range codes {
		fmt.Fprintf(&errs, `<index-%d><errors type="array"><error><code>%s</code><attribute type="symbol">inherited_from_id</attribute><message>m</message></error></errors></index-%d>`, i, code, i)
	}
	return `<api-error-response><errors><errors type="array"/><subscription><errors type="array"/><discounts><errors type="array"/><add><errors type="array"/>` +
		errs.String() + `</add></discounts></subscription></errors><params/><message>` + message + `</message></api-error-response>`
}

// Each code in the reference leads to its action.
func TestError_Codes(t *testing.T) {
	t.Parallel()
	for action, codes := range map[braintree.Action][]string{
		braintree.SwitchToUpdate:  {"91911"},
		braintree.AlreadyDone:     {"92016", "92025", "91504"},
		braintree.SwitchToAdd:     {"92011", "92012"},
		braintree.SetUp:           {"92013", "92014", "91602"},
		braintree.Park:            {"92022", "91920"},
		braintree.Terminal:        {"81901", "81910", "81905"},
		braintree.Alert:           {"92002", "92003", "92023", "915230", "915232", "99999"},
		braintree.AwaitSettlement: {"91506", "91574"},
		braintree.ReadBack:        {"91512", "91521", "915234", "915235"},
	} {
		for _, code := range codes {
			_, err := client(t, always(422, reasons("No.", code))).AddDiscount(t.Context(), "s", "d", "1.00", braintree.Duration{})
			require.Equal(t, &braintree.Error{
				Action: action, Status: 422, Message: "No.",
				Failures: []braintree.Failure{{Code: code, Attribute: "subscription.discounts.add.index_0.inherited_from_id"}},
			}, failure(t, err), code)
			require.Equal(t, action, braintree.ActionOf(fmt.Errorf("wrapped: %w", err)))
			require.True(t, failure(t, err).Has(code))
			require.Equal(t, "gateway: status 422, "+code+" on subscription.discounts.add.index_0.inherited_from_id", err.Error())
		}
	}
	require.Equal(t, braintree.Alert, braintree.ActionOf(errors.New("another")))
}

func TestError_StrongestActionCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		codes []string
		want  braintree.Action
	}{
		{[]string{"91911", "92022"}, braintree.Park}, {[]string{"81901", "91911"}, braintree.Terminal}, {[]string{"92016", "99999"}, braintree.Alert},
	} {
		_, err := client(t, always(422, reasons("", c.codes...))).RemoveDiscount(t.Context(), "s", "d")
		require.Equal(t, c.want, failure(t, err).Action)
		require.Len(t, failure(t, err).Failures, 2)
	}
}

func TestError_WithoutCodes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]braintree.Action{
		reasons("Custom field is invalid: svc_coupon."): braintree.SetUp,
		reasons("Processor Declined"):                   braintree.Alert,
		"<something/>":                                  braintree.Alert,
	} {
		_, err := client(t, always(422, body)).SetCustomField(t.Context(), "c", "svc_coupon", "v")
		require.Equal(t, want, failure(t, err).Action, body)
	}
}

func TestError_Statuses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]braintree.Action{
		401: braintree.SetUp, 403: braintree.SetUp, 404: braintree.Missing, 426: braintree.Alert, 400: braintree.Alert, 301: braintree.Alert, 204: braintree.Alert,
		408: braintree.Retry, 429: braintree.Retry, 500: braintree.Retry, 502: braintree.Retry, 503: braintree.Retry, 504: braintree.Retry,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := client(t, always(status, "")).Customer(t.Context(), "c")
			require.Equal(t, &braintree.Error{Action: want, Status: status}, failure(t, err))
		})
	}
}

// An answer that does not come from the gateway is neither a success nor a refusal.
func TestCalls_SomethingElseAnswers(t *testing.T) {
	t.Parallel()
	html := answer(200, "<html>sign in</html>", "Content-Type", "text/html")
	for name, c := range map[string]struct {
		answer *http.Response
		want   braintree.Action
	}{
		"a page":              {html, braintree.Retry},
		"half a document":     {answer(200, "<customer><id>c</id>"), braintree.Retry},
		"nothing":             {answer(201, ""), braintree.Retry},
		"another record":      {answer(200, "<subscription><id>c</id></subscription>"), braintree.Alert},
		"a record without id": {answer(200, "<customer/>"), braintree.Alert},
		"a broken connection": {&http.Response{StatusCode: 200, Header: html.Header, Body: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))}, braintree.Retry},
		"an endless answer":   {&http.Response{StatusCode: 200, Header: html.Header, Body: io.NopCloser(endless{})}, braintree.Retry},
	} {
		s := settings
		s.Attempts, s.Transport = 1, transport(func(*http.Request) (*http.Response, error) { return c.answer, nil })
		gw, err := braintree.New(s)
		require.NoError(t, err)
		_, err = gw.Customer(t.Context(), "c")
		require.Equal(t, c.want, failure(t, err).Action, name)
		require.Error(t, errors.Unwrap(err), name)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Redirects are not followed, since the keys would be sent to the new host.
func TestCalls_NoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	s := settings
	s.BaseURL = server.URL
	gw, err := braintree.New(s)
	require.NoError(t, err)
	_, err = gw.Discounts(t.Context())
	require.Equal(t, 307, failure(t, err).Status)
	require.EqualValues(t, 1, asked.Load())
}

// A search names what it selects, and returns the ids of all pages.
func TestSubscriptionIDs(t *testing.T) {
	t.Parallel()
	var request string
	gw := client(t, transport(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		request = r.URL.Path + "\n" + string(body)
		return answer(200, `<search-results><page-size type="integer">2</page-size><ids type="array"><item>a</item><item>b</item><item>c</item></ids></search-results>`), nil
	}))
	found, err := gw.SubscriptionIDs(t.Context(), braintree.Search{Statuses: []braintree.Status{braintree.PastDue}, CreatedFrom: 1795228404000})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, found)
	require.Equal(t, `/merchants/acme/subscriptions/advanced_search_ids
<?xml version="1.0" encoding="UTF-8"?>
<search>
  <status type="array">
    <item>Past Due</item>
  </status>
  <created-at>
    <min type="datetime">2026-11-21T02:33:24Z</min>
  </created-at>
</search>
`, request)
	_, err = client(t, always(401, "")).SubscriptionIDs(t.Context(), braintree.Search{})
	require.Equal(t, braintree.SetUp, failure(t, err).Action)
}

// For a merchant without at-most-once keys, an existing refund is found, a missing one
// is sent, and a call whose result is unknown is not repeated.
func TestRefund_WithoutKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refunds string
		unkeyed func() (*http.Response, error)
		want    string
		action  braintree.Action
		posts   int
	}{
		"missing":         {`<item>r0</item>`, func() (*http.Response, error) { return answer(201, transactionXML), nil }, "t9", 0, 2},
		"exists":          {`<item>r0</item><item>t9</item>`, nil, "t9", 0, 1},
		"connection lost": {"", func() (*http.Response, error) { return nil, errors.New("reset") }, "", braintree.ReadBack, 2},
		"server error":    {"", func() (*http.Response, error) { return answer(503, ""), nil }, "", braintree.ReadBack, 2},
		"not settled yet": {"", func() (*http.Response, error) { return answer(422, reasons("", "91506")), nil }, "", braintree.AwaitSettlement, 2},
	} {
		posts := 0
		gw := client(t, transport(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				posts++
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "api-request-key") {
					return answer(422, reasons("", "915231")), nil
				}
				return c.unkeyed()
			}
			switch r.URL.Path {
			case "/merchants/acme/transactions/t9":
				return answer(200, transactionXML), nil
			case "/merchants/acme/transactions/r0":
				return answer(200, `<transaction><id>r0</id><order-id>another</order-id></transaction>`), nil
			}
			return answer(200, `<transaction><id>t1</id><refund-ids type="array">`+c.refunds+`</refund-ids></transaction>`), nil
		}))
		made, err := gw.Refund(t.Context(), "t1", braintree.Refund{Amount: "5.00", OrderID: "svc-r1", Key: "k"})
		require.Equal(t, c.posts, posts, name)
		require.Equal(t, c.want, made.ID, name)
		if c.action != 0 {
			require.Equal(t, c.action, failure(t, err).Action, name)
		} else {
			require.NoError(t, err, name)
		}
	}
}

func TestFindRefund_Fails(t *testing.T) {
	t.Parallel()
	gw := client(t, transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/t1") {
			return answer(200, `<transaction><id>t1</id><refund-ids type="array"><item>../x</item></refund-ids></transaction>`), nil
		}
		return answer(404, ""), nil
	}))
	for _, id := range []string{"t1", "t2"} {
		_, found, err := gw.FindRefund(t.Context(), id, "o")
		require.False(t, found)
		require.Equal(t, braintree.Missing, failure(t, err).Action)
	}
}

func TestTimeout_BoundsOneAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		s := settings
		s.Timeout, s.Attempts = time.Second, 2
		s.Transport = transport(func(r *http.Request) (*http.Response, error) {
			sent++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		gw, err := braintree.New(s)
		require.NoError(t, err)
		_, err = gw.Subscription(t.Context(), "s")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, braintree.Retry, failure(t, err).Action)
		require.Zero(t, failure(t, err).Status)
		require.Equal(t, 2, sent)
	})
}
