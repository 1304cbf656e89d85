package braintreelab_test

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/braintreelab"
	"kith/backend/gateway/braintree"
	"kith/backend/labkit/sdktest"
)

func decode(t testing.TB, r io.Reader, into any) {
	t.Helper()
	require.NoError(t, json.NewDecoder(r).Decode(into))
}

// sdk starts the gateway's own library on the lab, with valid keys.
func (b bundle) sdk(t *testing.T) *sdktest.SDK {
	t.Helper()
	return sdktest.Start(t, "braintree", b.url, braintreelab.MerchantID, braintreelab.PublicKey, braintreelab.PrivateKey)
}

type object = map[string]any

// is compares values of an answer, by path.
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

// The service accepts notifications of all kinds that the library signs.
func TestSDK_SignsWhatIsVerified(t *testing.T) {
	t.Parallel()
	s := newLab(t).sdk(t)
	for _, kind := range []braintree.Kind{
		braintree.Check, braintree.SubscriptionChargedSuccessfully, braintree.SubscriptionChargedUnsuccessfully, braintree.SubscriptionBillingSkipped,
		braintree.SubscriptionWentActive, braintree.SubscriptionTrialEnded, braintree.SubscriptionWentPastDue, braintree.SubscriptionCanceled,
		braintree.SubscriptionExpired, braintree.DisputeOpened, braintree.DisputeUnderReview, braintree.DisputeDisputed, braintree.DisputeWon, braintree.DisputeLost,
		braintree.DisputeAccepted, braintree.DisputeAutoAccepted, braintree.DisputeExpired,
	} {
		sample := s.Do(t, "webhookTesting.sampleNotification", kind, "my_id")
		signature, payload := sample.Get("bt_signature").String(), sample.Get("bt_payload").String()
		require.NoError(t, braintree.Keys{{Public: "new", Private: "n"}, labKey}.Verify(signature, payload), kind)
		require.ErrorIs(t, braintree.Keys{{Public: labKey.Public, Private: "x"}}.Verify(signature, payload), braintree.ErrSignature)
		n, err := braintree.ParseNotification(payload)
		require.NoError(t, err, kind)
		require.Equal(t, kind, n.Kind)
		switch {
		case strings.HasPrefix(string(kind), "subscription_"):
			require.Equal(t, "my_id", n.Subscription.ID)
		case strings.HasPrefix(string(kind), "dispute_"):
			require.Equal(t, "my_id", n.Dispute.TransactionID)
		}
	}
	sample := s.Do(t, "webhookTesting.sampleNotification", braintree.SubscriptionChargedSuccessfully, "s1", "merchant")
	n, err := braintree.ParseNotification(sample.Get("bt_payload").String())
	require.NoError(t, err)
	require.Equal(t, braintree.Amount("49.99"), n.Subscription.Transactions[0].Amount)
}

// The library and the service answer a challenge in the same way.
func TestSDK_AnswersTheSameChallenge(t *testing.T) {
	t.Parallel()
	s := newLab(t).sdk(t)
	const challenge = "20f9f8ed05f77439fe955c977e4c8a53"
	own, err := braintree.Keys{labKey}.AnswerChallenge(challenge)
	require.NoError(t, err)
	require.Equal(t, own, s.Do(t, "webhookNotification.verify", challenge).String())
	require.Equal(t, "invalidChallengeError", s.Try(t, "webhookNotification.verify", challenge+"0").Get("error").String())
}

// The library verifies and parses every notification that the lab sends.
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
		n := s.Do(t, "webhookNotification.parse", form.Get("bt_signature"), form.Get("bt_payload"))
		is(t, n, object{"kind": string(made[i].Kind), "timestamp": made[i].Made.Format("2006-01-02T15:04:05Z")})
		switch {
		case strings.HasPrefix(string(made[i].Kind), "subscription_"):
			is(t, n, object{"subscription.id": made[i].Subject})
		case strings.HasPrefix(string(made[i].Kind), "dispute_"):
			is(t, n, object{"dispute.id": made[i].Subject, "dispute.status": "open", "dispute.transaction.id": b.State().Transactions[0].ID})
		}
	}
	first := s.Do(t, "webhookNotification.parse", raw.forms[0].Get("bt_signature"), raw.forms[0].Get("bt_payload"))
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
	made := s.Do(t, "customer.create", object{"id": "bob", "firstName": "Bob", "email": "bob@example.com", "creditCard": card,
		"customFields": object{"svc_coupon": "ANNA10"}})
	is(t, made, object{
		"success": true, "customer.id": "bob", "customer.firstName": "Bob", "customer.lastName": nil, "customer.customFields.svcCoupon": "ANNA10",
		"customer.creditCards.0.maskedNumber": "411111******1111", "customer.creditCards.0.expirationDate": "12/2030", "customer.creditCards.0.default": true,
	})
	token := made.Get("customer.paymentMethods.0.token").String()
	is(t, s.Do(t, "customer.update", "bob", object{"lastName": "Berg", "customFields": object{"svcCoupon": "EVA10"}}), object{
		"customer.firstName": "Bob", "customer.lastName": "Berg", "customer.customFields.svcCoupon": "EVA10"})
	is(t, s.Do(t, "customer.find", "bob"), object{"lastName": "Berg", "email": "bob@example.com"})
	is(t, s.Do(t, "paymentMethod.find", token), object{"customerId": "bob", "last4": "1111", "subscriptions.#": 0})
	second := s.Do(t, "paymentMethod.create", object{"customerId": "bob", "paymentMethodNonce": "fake-valid-nonce"})
	require.Equal(t, s.Do(t, "paymentMethod.find", token).Get("uniqueNumberIdentifier").String(),
		second.Get("paymentMethod.uniqueNumberIdentifier").String(), "the same card, by number and by nonce")
	generated := s.Do(t, "customer.create", object{})
	require.NotEmpty(t, generated.Get("customer.id").String())
	for _, call := range [][2]string{{"paymentMethod.delete", token}, {"customer.delete", "bob"}} {
		require.False(t, s.Try(t, call[0], call[1]).Get("error").Exists(), call)
	}
	require.Equal(t, "notFoundError", s.Try(t, "customer.find", "bob").Get("error").String())
}

func TestSDK_SubscriptionsAndDiscounts(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	token := s.Do(t, "customer.create", object{"id": "bob", "creditCard": card}).Get("customer.creditCards.0.token").String()

	discounts := s.Do(t, "discount.all")
	is(t, discounts, object{"0.id": "svc_discount", "0.amount": "1.00", "0.neverExpires": true, "0.name": "Svc Discount"})
	is(t, s.Do(t, "plan.all"), object{"1.id": "pro", "1.price": "50.00", "1.currencyIsoCode": "USD", "1.billingFrequency": 1})
	is(t, s.Do(t, "plan.find", "pro"), object{"name": "Pro"})
	is(t, s.Do(t, "addOn.all"), object{"0.id": "seats"})

	made := s.Do(t, "subscription.create", object{"paymentMethodToken": token, "planId": "pro", "id": "s1",
		"discounts": object{"add": []object{{"inheritedFromId": "svc_discount", "amount": "5.00"}}},
		"addOns":    object{"add": []object{{"inheritedFromId": "seats", "quantity": 2, "numberOfBillingCycles": 3}}}})
	is(t, made, object{"success": true, "subscription.id": "s1", "subscription.status": "Active", "subscription.nextBillingPeriodAmount": "51.00",
		"subscription.addOns.0.numberOfBillingCycles": 3, "subscription.transactions.0.amount": "51.00", "subscription.transactions.0.planId": "pro",
		"subscription.transactions.0.discounts.0.amount": "5.00", "subscription.transactions.0.subscriptionId": "s1"})
	is(t, s.Do(t, "subscription.update", "s1", object{"discounts": object{"update": []object{{"existingId": "svc_discount", "amount": "12.50"}}},
		"options": object{"prorateCharges": false}}), object{"subscription.discounts.0.amount": "12.50", "subscription.nextBillingPeriodAmount": "43.50", "subscription.balance": "0.00"})
	is(t, s.Do(t, "subscription.find", "s1"), object{"discounts.#": 1, "transactions.#": 1})
	is(t, s.Do(t, "subscription.update", "s1", object{"discounts": object{"remove": []string{"svc_discount"}}}), object{"subscription.discounts.#": 0})
	is(t, s.Do(t, "subscription.create", object{"paymentMethodToken": token, "planId": "basic", "trialPeriod": true, "trialDuration": 14, "trialDurationUnit": "day"}),
		object{"subscription.trialPeriod": true, "subscription.currentBillingCycle": 0, "subscription.firstBillingDate": "2026-01-15", "subscription.transactions.#": 0, "subscription.status": "Active"})
	is(t, s.Do(t, "subscription.cancel", "s1"), object{"subscription.status": "Canceled"})
	require.Equal(t, []string{"81901"}, s.Refused(t, "subscription.update", "s1", object{"price": "9.00"}))
	require.Equal(t, []string{"81905"}, s.Refused(t, "subscription.cancel", "s1"))
}

func TestSDK_RefundsAndVoids(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro")
	id := b.State().Transactions[0].ID

	require.Equal(t, []string{"91506"}, s.Refused(t, "transaction.refund", id, "5.00"))
	is(t, s.Do(t, "testing.settle", id), object{"transaction.status": "settled"})
	keyed := object{"amount": "5.00", "orderId": "svc-1", "apiRequestKey": "svc-refund-1"}
	first := s.Do(t, "transaction.refund", id, keyed)
	is(t, first, object{"transaction.type": "credit", "transaction.amount": "5.00", "transaction.refundedTransactionId": id, "transaction.orderId": "svc-1"})
	again := s.Do(t, "transaction.refund", id, keyed)
	require.Equal(t, first.Get("transaction.id").String(), again.Get("transaction.id").String(), "the same key")
	require.Equal(t, []string{"915232"}, s.Refused(t, "transaction.refund", id, object{"amount": "6.00", "orderId": "svc-1", "apiRequestKey": "svc-refund-1"}))
	is(t, s.Do(t, "transaction.find", id), object{"refundIds.#": 1, "refundIds.0": first.Get("transaction.id").String(), "amount": "50.00"})
	require.Equal(t, []string{"91521"}, s.Refused(t, "transaction.refund", id, "45.01"))
	s.Do(t, "transaction.refund", id)
	require.Equal(t, []string{"91512"}, s.Refused(t, "transaction.refund", id))
	require.Equal(t, []string{"91505"}, s.Refused(t, "transaction.refund", first.Get("transaction.id").String()))
	require.Equal(t, []string{"91504"}, s.Refused(t, "transaction.void", id))

	token := b.State().Customers[0].Cards[0]
	sale := s.Do(t, "transaction.sale", object{"amount": "10.00", "paymentMethodToken": token})
	is(t, sale, object{"transaction.status": "authorized"})
	is(t, s.Do(t, "transaction.submitForSettlement", sale.Get("transaction.id").String()), object{"transaction.status": "submitted_for_settlement"})
	is(t, s.Do(t, "transaction.void", sale.Get("transaction.id").String(), object{"apiRequestKey": "v1"}), object{"transaction.status": "voided"})
	is(t, s.Do(t, "transaction.void", sale.Get("transaction.id").String(), object{"apiRequestKey": "v1"}), object{"transaction.status": "voided"})
	declined := s.Try(t, "transaction.sale", object{"amount": "2000.00", "paymentMethodToken": token}).Get("value")
	is(t, declined, object{"success": false, "message": "Do Not Honor", "transaction.status": "processor_declined", "failures.#": 0})
}

func TestSDK_PastDueAndRetry(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro")
	require.Equal(t, []string{"91531"}, s.Refused(t, "subscription.retryCharge", "s1"))
	b.must(t, "decline", "customer", "bob", "on", "true")
	b.must(t, "advance", "by", "1m")
	is(t, s.Do(t, "subscription.find", "s1"), object{"status": "Past Due", "balance": "50.00", "failureCount": 1, "daysPastDue": 0})
	require.Equal(t, []string{"92022"}, s.Refused(t, "subscription.update", "s1", object{"discounts": object{"add": []object{{"inheritedFromId": "svc_discount", "amount": "1"}}}}))
	require.Equal(t, []string{"91920"}, s.Refused(t, "subscription.update", "s1", object{"price": "60.00"}))
	declined := s.Try(t, "subscription.retryCharge", "s1", "50.00", true).Get("value")
	is(t, declined, object{"success": false, "transaction.status": "processor_declined"})
	b.must(t, "decline", "customer", "bob", "on", "false")
	is(t, s.Do(t, "subscription.retryCharge", "s1", "50.00", true), object{"transaction.amount": "50.00", "transaction.status": "submitted_for_settlement"})
	is(t, s.Do(t, "subscription.find", "s1"), object{"status": "Active", "balance": "0.00", "failureCount": 0})
}

// The library finds nested errors.
func TestSDK_ValidationErrors(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	b.subscribe(t, "bob", "s1", "pro", "discount", "5.00")
	change := func(verb string, items ...any) gjson.Result {
		return s.Try(t, "subscription.update", "s1", object{"discounts": object{verb: items}}).Get("value")
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

	require.Equal(t, []string{"91602"}, s.Refused(t, "customer.update", "bob", object{"customFields": object{"other": "x"}}))
	require.Equal(t, "Custom field is invalid: other", s.Try(t, "customer.create", object{"customFields": object{"other": "x"}}).Get("value.message").String())
	require.Equal(t, []string{"91609"}, s.Refused(t, "customer.create", object{"id": "bob"}))
	require.Equal(t, []string{"91903", "91904"}, s.Refused(t, "subscription.create", object{"planId": "no", "paymentMethodToken": "no"}))
	require.Equal(t, []string{"81902"}, s.Refused(t, "subscription.create", object{"id": "s1", "planId": "pro", "paymentMethodToken": b.State().Customers[0].Cards[0]}))
	require.Equal(t, []string{"81904"}, s.Refused(t, "subscription.update", "s1", object{"price": "-1"}))
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
		answer := s.Line(t, object{"search": kind, "criteria": criteria})
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
	require.Contains(t, s.Line(t, object{"search": "subscription", "criteria": [][]any{{"billingCyclesRemaining", "min", 1}}}).Raw, "error")
}

func TestSDK_Refusals(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s := b.sdk(t)
	for _, call := range []string{"customer.find", "subscription.find", "subscription.cancel", "transaction.find", "transaction.refund", "transaction.void", "paymentMethod.find", "plan.find"} {
		require.Equal(t, "notFoundError", s.Try(t, call, "nobody").Get("error").String(), call)
	}
	require.Equal(t, "authenticationError", sdktest.Start(t, "braintree", b.url, braintreelab.MerchantID, braintreelab.PublicKey, "wrong").Try(t, "plan.all").Get("error").String())
	require.Equal(t, "authorizationError", sdktest.Start(t, "braintree", b.url, "another", braintreelab.PublicKey, braintreelab.PrivateKey).Try(t, "plan.all").Get("error").String())
	for fault, want := range map[string]string{"429": "tooManyRequestsError", "503": "serviceUnavailableError", "500": "serverError", "cut": "unexpectedError"} {
		b.must(t, "faults", "kind", fault)
		require.Equal(t, want, s.Try(t, "plan.all").Get("error").String(), fault)
	}
}
