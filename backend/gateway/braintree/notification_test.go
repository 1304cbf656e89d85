package braintree_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/gateway/braintree"
	"kith/core"
)

func read(t testing.TB, name string) string {
	t.Helper()
	doc, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(doc)
}

// payload encodes a document as the gateway and Ruby do: base64 in lines of 60
// characters, with a line break at the end.
func payload(doc string) string {
	text := base64.StdEncoding.EncodeToString([]byte(doc))
	var b strings.Builder
	for len(text) > 60 {
		b.WriteString(text[:60] + "\n")
		text = text[60:]
	}
	return b.String() + text + "\n"
}

var charged = braintree.Notification{
	Kind: braintree.SubscriptionChargedSuccessfully,
	Subscription: &braintree.Subscription{
		ID: "s_1", Status: braintree.Active, PlanID: "pro", Price: "49.99", PaymentMethod: "tok-1",
		NextBilling: "2026-12-21", PeriodStart: "2026-11-21", PeriodEnd: "2026-12-20", PaidThrough: "2026-12-20",
		Cycle: 2, Created: 1792550004000,
		Discounts: []braintree.Modification{{ID: "svc_discount", Amount: "5.00", Quantity: 1, NeverExpires: true, Spent: 1}},
		AddOns:    []braintree.Modification{{ID: "seats", Amount: "3.00", Quantity: 2, Cycles: 6}},
		Transactions: []braintree.Transaction{
			{
				ID: "t2", Type: braintree.Sale, Status: braintree.SubmittedForSettlement, Amount: "44.99", Currency: "USD",
				SubscriptionID: "s_1", CustomerID: "anna",
				Discounts: []braintree.Modification{{ID: "svc_discount", Amount: "5.00", Quantity: 1}},
				RefundIDs: []string{"r1", "r2"}, Created: core.Time(1795228403000),
			},
			{ID: "t1", Type: braintree.Sale, Status: braintree.Settled, Amount: "49.99"},
		},
	},
}

func TestParseNotification_Subscription(t *testing.T) {
	t.Parallel()
	doc := read(t, "charged.xml")
	oneLine := base64.StdEncoding.EncodeToString([]byte(doc))
	for name, text := range map[string]string{
		"60 columns, as the gateway": payload(doc),
		"one line, as the Node SDK":  oneLine + "\n",
		"trimmed":                    oneLine,
		"names as in SDK samples":    payload(strings.NewReplacer("add-ons", "add_ons", "add-on>", "add_on>").Replace(doc)),
	} {
		n, err := braintree.ParseNotification(text)
		require.NoError(t, err, name)
		require.Equal(t, charged, n, name)
	}
	discount, ok := charged.Subscription.Discount("svc_discount")
	require.True(t, ok)
	require.Equal(t, braintree.Amount("5.00"), discount.Amount)
	_, ok = charged.Subscription.Discount("seats")
	require.False(t, ok, "an add-on is not a discount")
	require.Equal(t, "anna", charged.Subscription.CustomerID())
	require.Equal(t, "USD", charged.Subscription.Currency())
	require.Empty(t, braintree.Subscription{}.CustomerID())
	require.Empty(t, braintree.Subscription{}.Currency())
}

func TestParseNotification_OtherSubjects(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]braintree.Notification{
		"<notification><kind>dispute_lost</kind><subject><dispute><id>d1</id><amount-disputed>250.0</amount-disputed><status>lost</status><transaction><id>t1</id></transaction></dispute></subject></notification>": {
			Kind: braintree.DisputeLost, Dispute: &braintree.Dispute{TransactionID: "t1"},
		},
		"<notification><subject><transaction><id>t1</id><amount>100</amount></transaction></subject><kind>transaction_settled</kind></notification>": {
			Kind: "transaction_settled", Transaction: &braintree.Transaction{ID: "t1", Amount: "100"},
		},
		"<notification><kind>disbursement</kind><subject><disbursement><id>9</id></disbursement></subject></notification>": {Kind: "disbursement"},
	} {
		n, err := braintree.ParseNotification(payload(doc))
		require.NoError(t, err, doc)
		require.Equal(t, want, n)
	}
}

func TestParseNotification_Refuses(t *testing.T) {
	t.Parallel()
	subscription := func(inner string) string {
		return payload("<notification><kind>k</kind><timestamp>2026-11-21T02:33:24Z</timestamp><subject><subscription>" + inner + "</subscription></subject></notification>")
	}
	for name, text := range map[string]string{
		"no base64":                  "PD9!",
		"no XML":                     payload("hello"),
		"another element":            payload("<subscription/>"),
		"no kind":                    payload("<notification><kind nil=\"true\"/></notification>"),
		"no id":                      subscription("<status>Active</status>"),
		"an id that leads elsewhere": subscription("<id>../../customers/x</id>"),
		"an invalid amount":          subscription("<id>s</id><price>1e9</price>"),
		"an amount too long":         subscription("<id>s</id><price>1234567890123.00</price>"),
		"an invalid number":          subscription("<id>s</id><current-billing-cycle>x</current-billing-cycle>"),
		"an invalid date":            subscription("<id>s</id><next-billing-date>2026-02-30</next-billing-date>"),
		"an invalid time":            subscription("<id>s</id><created-at>yesterday</created-at>"),
		"a dispute about nothing":    payload("<notification><kind>dispute_lost</kind><subject><dispute><id>d</id></dispute></subject></notification>"),
		"too long":                   strings.Repeat("A", braintree.MaxPayload+1),
	} {
		_, err := braintree.ParseNotification(text)
		require.Error(t, err, name)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[braintree.TransactionStatus][2]bool{
		braintree.Authorized: {true, false}, braintree.SubmittedForSettlement: {true, false}, braintree.SettlementPending: {true, false},
		braintree.Settling: {true, true}, braintree.Settled: {true, true},
		braintree.SettlementDeclined: {}, braintree.ProcessorDeclined: {}, braintree.GatewayRejected: {}, braintree.Failed: {}, braintree.Voided: {},
	} {
		require.Equal(t, want, [2]bool{status.Paid(), status.Refundable()}, status)
	}
}

// Any document is parsed or refused, without a panic.
func FuzzParseNotification(f *testing.F) {
	f.Add([]byte(read(f, "charged.xml")))
	f.Add([]byte("<notification><kind>check</kind><subject><check type='boolean'>true</check></subject></notification>"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		n, err := braintree.ParseNotification(base64.StdEncoding.EncodeToString(doc))
		if err != nil {
			return
		}
		require.NotEmpty(t, n.Kind)
		if s := n.Subscription; s != nil {
			require.Regexp(t, `^[A-Za-z0-9_-]+$`, s.ID)
		}
	})
}

func FuzzParseNotification_Text(f *testing.F) {
	f.Add(payload(read(f, "charged.xml")))
	f.Add("====")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = braintree.ParseNotification(text) })
}
