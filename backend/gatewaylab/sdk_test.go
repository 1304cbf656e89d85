package gatewaylab_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/gateway"
	"kith/backend/gatewaylab"
)

func decode(t testing.TB, r io.Reader, into any) {
	t.Helper()
	require.NoError(t, json.NewDecoder(r).Decode(into))
}

// sdk is the gateway's own client library for Node, in a process of its own.
type sdk struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func newSDK(t *testing.T, base, merchant, public, private string) *sdk {
	t.Helper()
	if _, err := os.Stat("testdata/sdk/node_modules/braintree"); err != nil {
		t.Fatalf("%v: run make test, or npm ci --ignore-scripts in testdata/sdk", err)
	}
	u, err := url.Parse(base)
	require.NoError(t, err)
	node := exec.Command("node", "sdk.js", u.Hostname(), u.Port(), merchant, public, private)
	node.Dir, node.Stderr = "testdata/sdk", os.Stderr
	s := &sdk{}
	s.in, err = node.StdinPipe()
	require.NoError(t, err)
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	s.out = bufio.NewReader(out)
	require.NoError(t, node.Start())
	kill := time.AfterFunc(time.Minute, func() { _ = node.Process.Kill() })
	t.Cleanup(func() {
		_ = s.in.Close()
		require.NoError(t, node.Wait())
		kill.Stop()
	})
	return s
}

// sdk starts the library on the lab, with good keys.
func (b bundle) sdk(t *testing.T) *sdk {
	t.Helper()
	return newSDK(t, b.url, gatewaylab.MerchantID, gatewaylab.PublicKey, gatewaylab.PrivateKey)
}

func (s *sdk) line(t *testing.T, request any) gjson.Result {
	t.Helper()
	text, err := json.Marshal(request)
	require.NoError(t, err)
	_, err = s.in.Write(append(text, '\n'))
	require.NoError(t, err)
	answer, err := s.out.ReadString('\n')
	require.NoError(t, err)
	return gjson.Parse(answer)
}

type object = map[string]any

// try makes a call and returns its answer: "value" or "error".
func (s *sdk) try(t *testing.T, call string, args ...any) gjson.Result {
	t.Helper()
	if args == nil {
		args = []any{}
	}
	return s.line(t, object{"call": call, "args": args})
}

// do makes a call that has to succeed.
func (s *sdk) do(t *testing.T, call string, args ...any) gjson.Result {
	t.Helper()
	answer := s.try(t, call, args...)
	require.True(t, answer.Get("value").Exists(), "%s: %s", call, answer)
	require.NotEqual(t, gjson.False, answer.Get("value.success").Type, "%s: %s", call, answer)
	return answer.Get("value")
}

// refused makes a call that the gateway has to refuse, and returns the codes.
func (s *sdk) refused(t *testing.T, call string, args ...any) []string {
	t.Helper()
	answer := s.try(t, call, args...)
	require.Equal(t, gjson.False, answer.Get("value.success").Type, "%s: %s", call, answer)
	var codes []string
	for _, f := range answer.Get("value.failures").Array() {
		codes = append(codes, f.Get("code").String())
	}
	return codes
}

// is checks values of an answer by their paths.
func is(t *testing.T, answer gjson.Result, want object) {
	t.Helper()
	for path, value := range want {
		if value == nil {
			require.Equal(t, gjson.Null, answer.Get(path).Type, "%s of %s", path, answer)
			continue
		}
		require.EqualValues(t, value, answer.Get(path).Value(), "%s of %s", path, answer)
	}
}

var card = object{"number": "4111111111111111", "expirationDate": "12/2030"}

// The library signs what the service believes, whichever kind it is.
func TestSDK_SignsWhatIsVerified(t *testing.T) {
	t.Parallel()
	s := newLab(t).sdk(t)
	for _, kind := range []gateway.Kind{
		gateway.Check, gateway.SubscriptionChargedSuccessfully, gateway.SubscriptionChargedUnsuccessfully, gateway.SubscriptionBillingSkipped,
		gateway.SubscriptionWentActive, gateway.SubscriptionTrialEnded, gateway.SubscriptionWentPastDue, gateway.SubscriptionCanceled,
		gateway.SubscriptionExpired, gateway.DisputeOpened, gateway.DisputeUnderReview, gateway.DisputeDisputed, gateway.DisputeWon, gateway.DisputeLost,
		gateway.DisputeAccepted, gateway.DisputeAutoAccepted, gateway.DisputeExpired,
	} {
		sample := s.do(t, "webhookTesting.sampleNotification", kind, "my_id")
		signature, payload := sample.Get("bt_signature").String(), sample.Get("bt_payload").String()
		require.NoError(t, gateway.Keys{{Public: "new", Private: "n"}, labKey}.Verify(signature, payload), kind)
		require.ErrorIs(t, gateway.Keys{{Public: labKey.Public, Private: "x"}}.Verify(signature, payload), gateway.ErrSignature)
		n, err := gateway.ParseNotification(payload)
		require.NoError(t, err, kind)
		require.Equal(t, kind, n.Kind)
		require.NotZero(t, n.Time)
		switch {
		case strings.HasPrefix(string(kind), "subscription_"):
			require.Equal(t, "my_id", n.Subscription.ID)
		case strings.HasPrefix(string(kind), "dispute_"):
			require.Equal(t, "my_id", n.Dispute.TransactionID)
			require.Equal(t, gateway.Amount("250.0"), n.Dispute.Amount)
		}
	}
	sample := s.do(t, "webhookTesting.sampleNotification", gateway.SubscriptionChargedSuccessfully, "s1", "merchant")
	n, err := gateway.ParseNotification(sample.Get("bt_payload").String())
	require.NoError(t, err)
	require.Equal(t, gateway.Amount("49.99"), n.Subscription.Transactions[0].Amount)
}

// Both answer a challenge alike.
func TestSDK_AnswersTheSameChallenge(t *testing.T) {
	t.Parallel()
	s := newLab(t).sdk(t)
	const challenge = "20f9f8ed05f77439fe955c977e4c8a53"
	own, err := gateway.Keys{labKey}.AnswerChallenge(challenge)
	require.NoError(t, err)
	require.Equal(t, own, s.do(t, "webhookNotification.verify", challenge).String())
	require.Equal(t, "invalidChallengeError", s.try(t, "webhookNotification.verify", challenge+"0").Get("error").String())
}

// The library believes and reads every notification that the lab sends.
func TestSDK_ReadsWhatTheLabSends(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	raw := &rawInbox{inbox: newInbox(t, labKey)}
	raw.listen(t)
	b.must(t, "webhook", "url", raw.url)
	b.subscribe(t, "anna", "s1", "pro", "discount", "5.00")
	b.must(t, "subscriptions", "id", "s2", "customer", "anna", "plan", "basic", "trial_days", "7")
	b.must(t, "advance", "by", "1m")
	b.must(t, "decline", "customer", "anna", "on", "true")
	b.must(t, "advance", "by", "1m")
	b.must(t, "cancel", "subscription", "s1")
	b.must(t, "dispute", "transaction", b.State().Transactions[0].ID, "status", "open")
	b.must(t, "check")
	b.Flush(t.Context())

	s, made := b.sdk(t), b.State().Notifications
	require.Len(t, raw.forms, len(made))
	for i, form := range raw.forms {
		n := s.do(t, "webhookNotification.parse", form.Get("bt_signature"), form.Get("bt_payload"))
		is(t, n, object{"kind": string(made[i].Kind), "timestamp": made[i].Made.Format("2006-01-02T15:04:05Z")})
		switch {
		case strings.HasPrefix(string(made[i].Kind), "subscription_"):
			is(t, n, object{"subscription.id": made[i].Subject})
		case strings.HasPrefix(string(made[i].Kind), "dispute_"):
			is(t, n, object{"dispute.id": made[i].Subject, "dispute.status": "open", "dispute.transaction.id": b.State().Transactions[0].ID})
		}
	}
	first := s.do(t, "webhookNotification.parse", raw.forms[0].Get("bt_signature"), raw.forms[0].Get("bt_payload"))
	is(t, first.Get("subscription"), object{
		"status": "Active", "planId": "pro", "price": "50.00", "balance": "0.00", "currentBillingCycle": 1, "nextBillingDate": "2026-02-01",
		"billingPeriodStartDate": "2026-01-01", "billingPeriodEndDate": "2026-01-31", "daysPastDue": nil, "neverExpires": true, "failureCount": 0,
		"discounts.0.id": "svc_discount", "discounts.0.amount": "5.00", "discounts.0.quantity": 1, "addOns.#": 0,
		"transactions.0.amount": "45.00", "transactions.0.status": "submitted_for_settlement", "transactions.0.customer.id": "anna",
		"transactions.0.creditCard.last4": "1111", "transactions.0.refundIds.#": 0, "statusHistory.0.status": "Active",
	})
}

func TestSDK_Customers(t *testing.T) {
	t.Parallel()
	s := newLab(t).sdk(t)
	made := s.do(t, "customer.create", object{"id": "bob", "firstName": "Bob", "email": "bob@example.com", "creditCard": card,
		"customFields": object{"svc_coupon": "ANNA10"}})
	is(t, made, object{
		"success": true, "customer.id": "bob", "customer.firstName": "Bob", "customer.lastName": nil, "customer.customFields.svcCoupon": "ANNA10",
		"customer.creditCards.0.maskedNumber": "411111******1111", "customer.creditCards.0.expirationDate": "12/2030", "customer.creditCards.0.default": true,
	})
	token := made.Get("customer.paymentMethods.0.token").String()
	is(t, s.do(t, "customer.update", "bob", object{"lastName": "Berg", "customFields": object{"svcCoupon": "EVA10"}}), object{
		"customer.firstName": "Bob", "customer.lastName": "Berg", "customer.customFields.svcCoupon": "EVA10"})
	is(t, s.do(t, "customer.find", "bob"), object{"lastName": "Berg", "email": "bob@example.com"})
	is(t, s.do(t, "paymentMethod.find", token), object{"customerId": "bob", "last4": "1111", "subscriptions.#": 0})
	second := s.do(t, "paymentMethod.create", object{"customerId": "bob", "paymentMethodNonce": "fake-valid-nonce"})
	require.Equal(t, s.do(t, "paymentMethod.find", token).Get("uniqueNumberIdentifier").String(),
		second.Get("paymentMethod.uniqueNumberIdentifier").String(), "one card, however it came")
	generated := s.do(t, "customer.create", object{})
	require.NotEmpty(t, generated.Get("customer.id").String())
	for _, call := range [][2]string{{"paymentMethod.delete", token}, {"customer.delete", "bob"}} {
		require.False(t, s.try(t, call[0], call[1]).Get("error").Exists(), call)
	}
	require.Equal(t, "notFoundError", s.try(t, "customer.find", "bob").Get("error").String())
}

func TestSDK_SubscriptionsAndDiscounts(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	token := s.do(t, "customer.create", object{"id": "bob", "creditCard": card}).Get("customer.creditCards.0.token").String()

	discounts := s.do(t, "discount.all")
	is(t, discounts, object{"0.id": "svc_discount", "0.amount": "1.00", "0.neverExpires": true, "0.name": "Svc Discount"})
	is(t, s.do(t, "plan.all"), object{"1.id": "pro", "1.price": "50.00", "1.currencyIsoCode": "USD", "1.billingFrequency": 1})
	is(t, s.do(t, "plan.find", "pro"), object{"name": "Pro"})
	is(t, s.do(t, "addOn.all"), object{"0.id": "seats"})

	made := s.do(t, "subscription.create", object{"paymentMethodToken": token, "planId": "pro", "id": "s1",
		"discounts": object{"add": []object{{"inheritedFromId": "svc_discount", "amount": "5.00"}}},
		"addOns":    object{"add": []object{{"inheritedFromId": "seats", "quantity": 2, "numberOfBillingCycles": 3}}}})
	is(t, made, object{"success": true, "subscription.id": "s1", "subscription.status": "Active", "subscription.nextBillingPeriodAmount": "51.00",
		"subscription.addOns.0.numberOfBillingCycles": 3, "subscription.transactions.0.amount": "51.00", "subscription.transactions.0.planId": "pro",
		"subscription.transactions.0.discounts.0.amount": "5.00", "subscription.transactions.0.subscriptionId": "s1"})
	is(t, s.do(t, "subscription.update", "s1", object{"discounts": object{"update": []object{{"existingId": "svc_discount", "amount": "12.50"}}},
		"options": object{"prorateCharges": false}}), object{"subscription.discounts.0.amount": "12.50", "subscription.nextBillingPeriodAmount": "43.50", "subscription.balance": "0.00"})
	is(t, s.do(t, "subscription.find", "s1"), object{"discounts.#": 1, "transactions.#": 1})
	is(t, s.do(t, "subscription.update", "s1", object{"discounts": object{"remove": []string{"svc_discount"}}}), object{"subscription.discounts.#": 0})
	is(t, s.do(t, "subscription.create", object{"paymentMethodToken": token, "planId": "basic", "trialPeriod": true, "trialDuration": 14, "trialDurationUnit": "day"}),
		object{"subscription.trialPeriod": true, "subscription.currentBillingCycle": 0, "subscription.firstBillingDate": "2026-01-15", "subscription.transactions.#": 0, "subscription.status": "Active"})
	is(t, s.do(t, "subscription.cancel", "s1"), object{"subscription.status": "Canceled"})
	require.Equal(t, []string{"81901"}, s.refused(t, "subscription.update", "s1", object{"price": "9.00"}))
	require.Equal(t, []string{"81905"}, s.refused(t, "subscription.cancel", "s1"))
}

func TestSDK_RefundsAndVoids(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro")
	id := b.State().Transactions[0].ID

	require.Equal(t, []string{"91506"}, s.refused(t, "transaction.refund", id, "5.00"))
	is(t, s.do(t, "testing.settle", id), object{"transaction.status": "settled"})
	keyed := object{"amount": "5.00", "orderId": "svc-1", "apiRequestKey": "svc-refund-1"}
	first := s.do(t, "transaction.refund", id, keyed)
	is(t, first, object{"transaction.type": "credit", "transaction.amount": "5.00", "transaction.refundedTransactionId": id, "transaction.orderId": "svc-1"})
	again := s.do(t, "transaction.refund", id, keyed)
	require.Equal(t, first.Get("transaction.id").String(), again.Get("transaction.id").String(), "the same key")
	require.Equal(t, []string{"915232"}, s.refused(t, "transaction.refund", id, object{"amount": "6.00", "orderId": "svc-1", "apiRequestKey": "svc-refund-1"}))
	is(t, s.do(t, "transaction.find", id), object{"refundIds.#": 1, "refundIds.0": first.Get("transaction.id").String(), "amount": "50.00"})
	require.Equal(t, []string{"91521"}, s.refused(t, "transaction.refund", id, "45.01"))
	s.do(t, "transaction.refund", id)
	require.Equal(t, []string{"91512"}, s.refused(t, "transaction.refund", id))
	require.Equal(t, []string{"91505"}, s.refused(t, "transaction.refund", first.Get("transaction.id").String()))
	require.Equal(t, []string{"91504"}, s.refused(t, "transaction.void", id))

	token := b.State().Customers[0].Cards[0]
	sale := s.do(t, "transaction.sale", object{"amount": "10.00", "paymentMethodToken": token})
	is(t, sale, object{"transaction.status": "authorized"})
	is(t, s.do(t, "transaction.submitForSettlement", sale.Get("transaction.id").String()), object{"transaction.status": "submitted_for_settlement"})
	is(t, s.do(t, "transaction.void", sale.Get("transaction.id").String(), object{"apiRequestKey": "v1"}), object{"transaction.status": "voided"})
	is(t, s.do(t, "transaction.void", sale.Get("transaction.id").String(), object{"apiRequestKey": "v1"}), object{"transaction.status": "voided"})
	declined := s.try(t, "transaction.sale", object{"amount": "2000.00", "paymentMethodToken": token}).Get("value")
	is(t, declined, object{"success": false, "message": "Do Not Honor", "transaction.status": "processor_declined", "failures.#": 0})
}

func TestSDK_PastDueAndRetry(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro")
	require.Equal(t, []string{"91531"}, s.refused(t, "subscription.retryCharge", "s1"))
	b.must(t, "decline", "customer", "bob", "on", "true")
	b.must(t, "advance", "by", "1m")
	is(t, s.do(t, "subscription.find", "s1"), object{"status": "Past Due", "balance": "50.00", "failureCount": 1, "daysPastDue": 0})
	require.Equal(t, []string{"92022"}, s.refused(t, "subscription.update", "s1", object{"discounts": object{"add": []object{{"inheritedFromId": "svc_discount", "amount": "1"}}}}))
	require.Equal(t, []string{"91920"}, s.refused(t, "subscription.update", "s1", object{"price": "60.00"}))
	declined := s.try(t, "subscription.retryCharge", "s1", "50.00", true).Get("value")
	is(t, declined, object{"success": false, "transaction.status": "processor_declined"})
	b.must(t, "decline", "customer", "bob", "on", "false")
	is(t, s.do(t, "subscription.retryCharge", "s1", "50.00", true), object{"transaction.amount": "50.00", "transaction.status": "submitted_for_settlement"})
	is(t, s.do(t, "subscription.find", "s1"), object{"status": "Active", "balance": "0.00", "failureCount": 0})
}

// The nested errors that the library digs for.
func TestSDK_ValidationErrors(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro", "discount", "5.00")
	change := func(verb string, items ...any) gjson.Result {
		return s.try(t, "subscription.update", "s1", object{"discounts": object{verb: items}}).Get("value")
	}
	for _, c := range []struct {
		verb, path, code string
		item             any
	}{
		{"add", "add.errorCollections.index0.validationErrors.inheritedFromId", "92013", object{"inheritedFromId": "no_such", "amount": "1.00"}},
		{"add", "add.errorCollections.index0.validationErrors.inheritedFromId", "92014", object{"amount": "1.00"}},
		{"add", "add.errorCollections.index0.validationErrors.amount", "92002", object{"inheritedFromId": "loyalty", "amount": "x"}},
		{"add", "add.errorCollections.index0.validationErrors.amount", "92003", object{"inheritedFromId": "loyalty", "amount": ""}},
		{"add", "add.errorCollections.index0.validationErrors.amount", "92023", object{"inheritedFromId": "loyalty", "amount": "1000000.01"}},
		{"update", "update.errorCollections.index0.validationErrors.existingId", "92011", object{"existingId": "loyalty", "amount": "1.00"}},
		{"update", "update.errorCollections.index0.validationErrors.existingId", "92012", object{"amount": "1.00"}},
		{"update", "update.errorCollections.index0.validationErrors.existingId", "92020", object{"existingId": "seats", "amount": "1.00"}},
		{"update", "update.errorCollections.index0.validationErrors.quantity", "92010", object{"existingId": "svc_discount", "quantity": 0}},
		{"update", "update.errorCollections.index0.validationErrors.numberOfBillingCycles", "92019", object{"existingId": "svc_discount", "numberOfBillingCycles": 0}},
		{"remove", "remove.errorCollections.index0.validationErrors.idToRemove", "92016", "loyalty"},
		{"remove", "remove.errorCollections.index0.validationErrors.idToRemove", "92025", "no_such"},
		{"remove", "remove.errorCollections.index0.validationErrors.idToRemove", "92021", "seats"},
	} {
		answer := change(c.verb, c.item)
		reason := answer.Get("nested.errorCollections.subscription.errorCollections.discounts.errorCollections." + c.path + ".0")
		require.Equal(t, c.code, reason.Get("code").String(), answer)
		require.Equal(t, reason.Get("message").String(), answer.Get("message").String())
	}
	answer := change("add", object{"inheritedFromId": "svc_discount", "amount": "1.00"})
	is(t, answer, object{"nested.errorCollections.subscription.validationErrors.base.0.code": "91911"})

	require.Equal(t, []string{"91602"}, s.refused(t, "customer.update", "bob", object{"customFields": object{"other": "x"}}))
	require.Equal(t, "Custom field is invalid: other", s.try(t, "customer.create", object{"customFields": object{"other": "x"}}).Get("value.message").String())
	require.Equal(t, []string{"91609"}, s.refused(t, "customer.create", object{"id": "bob"}))
	require.Equal(t, []string{"91903", "91904"}, s.refused(t, "subscription.create", object{"planId": "no", "paymentMethodToken": "no"}))
	require.Equal(t, []string{"81902"}, s.refused(t, "subscription.create", object{"id": "s1", "planId": "pro", "paymentMethodToken": b.State().Customers[0].Cards[0]}))
	require.Equal(t, []string{"81904"}, s.refused(t, "subscription.update", "s1", object{"price": "-1"}))
}

func TestSDK_Search(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s0", "pro")
	for i := range 51 {
		b.must(t, "subscriptions", "id", "b"+strconv.Itoa(i), "customer", "bob", "plan", "basic")
	}
	b.must(t, "cancel", "subscription", "b0")
	find := func(kind string, criteria ...[]any) int {
		answer := s.line(t, object{"search": kind, "criteria": criteria})
		require.False(t, answer.Get("error").Exists(), answer)
		return len(answer.Get("value").Array())
	}
	require.Equal(t, 50, find("subscription", []any{"planId", "is", "basic"}, []any{"status", "in", []string{"Active", "Past Due"}}), "a full page")
	require.Equal(t, 1, find("subscription", []any{"status", "is", "Canceled"}))
	require.Equal(t, 1, find("subscription", []any{"id", "startsWith", "s"}))
	require.Equal(t, 1, find("subscription", []any{"price", "min", "10.01"}))
	require.Equal(t, 1, find("customer", []any{"email", "is", "bob@example.com"}))
	require.Equal(t, 52, find("transaction", []any{"customerId", "is", "bob"}, []any{"status", "is", "submitted_for_settlement"}))
	require.Zero(t, find("subscription", []any{"planId", "is", "yearly"}))
	require.Contains(t, s.line(t, object{"search": "subscription", "criteria": [][]any{{"billingCyclesRemaining", "min", 1}}}).Raw, "error")
}

func TestSDK_Refusals(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	for _, call := range []string{"customer.find", "subscription.find", "subscription.cancel", "transaction.find", "transaction.refund", "transaction.void", "paymentMethod.find", "plan.find"} {
		require.Equal(t, "notFoundError", s.try(t, call, "nobody").Get("error").String(), call)
	}
	require.Equal(t, "authenticationError", newSDK(t, b.url, gatewaylab.MerchantID, gatewaylab.PublicKey, "wrong").try(t, "plan.all").Get("error").String())
	require.Equal(t, "authorizationError", newSDK(t, b.url, "another", gatewaylab.PublicKey, gatewaylab.PrivateKey).try(t, "plan.all").Get("error").String())
	for fault, want := range map[string]string{"429": "tooManyRequestsError", "503": "serviceUnavailableError", "500": "serverError", "cut": "unexpectedError"} {
		b.must(t, "faults", "kind", fault)
		require.Equal(t, want, s.try(t, "plan.all").Get("error").String(), fault)
	}
}
