package integrations_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" // #nosec G505 -- Segment signs with it
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/payments"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/pipeline"
)

// The gateway is connected with credentials that are never shown again, and the checklist
// asks it each time.
func TestGateway(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/gateway"
	require.Contains(t, b.Get(page).Body, "Connect Braintree")
	got := b.Post(t, page, page+"/connect", "merchantId", "m 1", "publicKey", "p1", "privateKey", "very-private")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "The merchant ID must be 1 to 128 of")
	require.NotContains(t, got.Body, "very-private")
	got = b.Post(t, page, page+"/connect", "merchantId", "m1", "publicKey", "p1", "privateKey", "")
	require.Contains(t, got.Body, "The private key is required")
	got = b.Post(t, page, page+"/connect", "merchantId", "m1", "publicKey", "p1", "privateKey", "very-private")
	require.Equal(t, page+"/check?done=gateway-connected", got.Header.Get("Location"))

	answer := func(keys, discount bool, err error) string {
		w.Engine.Gateways.Try = func(_ context.Context, tenant core.TenantAlias, c billing.Connection, id string) ([]billing.Check, error) {
			require.Equal(t, core.TenantAlias("acme"), tenant)
			require.Equal(t, []billing.Key{{Public: "p1", Private: "very-private"}}, c.Keys)
			return []billing.Check{{Name: billing.CheckKeys, OK: keys}, {Name: billing.CheckDiscount, OK: discount}}, err
		}
		got := b.Get(page + "/check")
		require.Equal(t, http.StatusOK, got.Status)
		require.NotContains(t, got.Body, "very-private")
		require.NotContains(t, got.Body, "hx-get", "it is asked once")
		return got.Body
	}
	require.Contains(t, b.Get(page).Body, `hx-get="`+page+`/check"`)
	require.Contains(t, answer(false, false, nil), "Braintree does not accept the keys")
	require.Contains(t, answer(true, false, nil), "<code>svc_discount</code> is missing")
	require.Contains(t, answer(true, true, nil), "<code>svc_discount</code> exists")
	require.Contains(t, answer(false, false, &core.Error{Code: core.CodeUnavailable, RS: "RS018", Message: "the gateway does not answer"}), "the gateway does not answer")

	// Another key keeps the one before, which verifies notifications meanwhile.
	b.Post(t, page, page+"/connect", "merchantId", "m1", "publicKey", "p2", "privateKey", "also-private")
	c, err := w.Engine.Gateways.Open(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, []billing.Key{{Public: "p2", Private: "also-private"}, {Public: "p1", Private: "very-private"}}, c.Keys)
	require.Equal(t, page+"?done=gateway-disconnected", b.Post(t, page, page+"/disconnect").Header.Get("Location"))
	require.Contains(t, b.Get(page).Body, "Connect Braintree")
	require.Equal(t, http.StatusNotFound, b.Post(t, page, page+"/disconnect").Status)

	actions, all := entries(t, w)
	require.Equal(t, []people.Action{operation.DisconnectGateway.Action, operation.ConnectGateway.Action, operation.ConnectGateway.Action}, actions)
	require.NotContains(t, all, "private")
	require.Contains(t, all, `"publicKey":"p2","furtherPublicKeys":["p1"]`)
}

// The log of notifications shows which could not be read, page by page, and they are
// processed again.
func TestGateway_Notifications(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/gateway/notifications"
	require.Contains(t, b.Get(page).Body, "No notification has arrived")
	for i := range payments.MaxNotificationPage + 1 {
		require.NoError(t, w.Engine.Notifications.Add(t.Context(), "acme", billing.Braintree, strings.Repeat("x", i+1), strings.Repeat("x", i+1)))
	}
	require.NoError(t, w.Engine.Notifications.Add(t.Context(), "rival", billing.Braintree, "other", "other"))
	read := func(problem string) {
		_, err := w.Engine.Notifications.Read(t.Context(), 1000, func(_ billing.Kind, payload string) payments.ParsedNotification {
			if payload == "x" {
				return payments.ParsedNotification{Kind: "odd_kind", Problem: problem}
			}
			return payments.ParsedNotification{Kind: "subscription_charged_successfully", Known: true}
		})
		require.NoError(t, err)
	}
	read("the XML is cut")
	got := b.Get(page)
	require.NotContains(t, got.Body, "the XML is cut", "it is on the second page")
	require.Contains(t, got.Body, `href="`+page+`?before=2" rel="next"`)
	require.Contains(t, b.Get(page+"?before=2").Body, "the XML is cut")
	got = b.Get(page + "?problem=1")
	require.Contains(t, got.Body, "the XML is cut")
	require.NotContains(t, got.Body, "subscription_charged")
	require.Contains(t, b.Get(section).Body, "1 notification could not be read")

	require.Equal(t, page+"?done=notification-replayed", b.Post(t, page, page, "id", "1").Header.Get("Location"))
	read("")
	require.Contains(t, b.Get(page+"?problem=1").Body, "Each notification could be read")
	require.Equal(t, http.StatusNotFound, b.Post(t, page, page, "id", "52").Status, "it is another tenant's")
	require.Equal(t, http.StatusNotFound, b.Post(t, page, page, "id", "x").Status)
	w.Pass(payments.PayloadLife + 1)
	n, err := w.Engine.Notifications.ForgetPayloads(t.Context())
	require.NoError(t, err)
	require.NotZero(t, n)
	b = w.SignedIn(t, portaltest.Owner)
	got = b.Post(t, page, page, "id", "1")
	require.Equal(t, http.StatusUnprocessableEntity, got.Status)
	require.Contains(t, got.Body, "have the gateway send it again")
	require.NotContains(t, got.Body, "Process again")
}

// Operations that failed are shown with their reasons and retried; a refund is not.
func TestGateway_Operations(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	_, err := w.Engine.Gateways.Connect(t.Context(), "acme", billing.Connection{Kind: billing.Braintree, MerchantID: "m1", Keys: []billing.Key{{Public: "p1", Private: "s"}}})
	require.NoError(t, err)
	now := w.Engine.Now()
	write := func(do func(*store.Tx) error) { require.NoError(t, w.Engine.DB.Write(t.Context(), now, do)) }
	for _, id := range []string{"sub1", "sub2"} {
		write(func(tx *store.Tx) error { return billingdb.TouchSubscription(t.Context(), tx, "acme", id) })
	}
	tasks, err := w.Engine.Gateways.Begin(t.Context(), &billingdb.Subscriptions, 10, nil)
	require.NoError(t, err)
	require.Len(t, tasks, 2)
	for _, task := range tasks {
		require.NoError(t, w.Engine.Gateways.End(t.Context(), &billingdb.Subscriptions, task, payments.Result{Problem: "the discount is missing", Failed: true}))
	}
	write(func(tx *store.Tx) error {
		_, err := billingdb.InsertRefund(t.Context(), tx, "acme", billingdb.Refund{Transaction: "tx1", Subscription: "sub1", Account: "bob", Amount: 100, Currency: "USD", KeyNumber: 1})
		return err
	})
	require.NoError(t, w.Engine.Billing.EndRefund(t.Context(), "acme", "tx1", "", "the card is closed"))

	page := section + "/gateway"
	require.Contains(t, b.Get(section).Body, "3 operations have failed")
	got := b.Get(page)
	for _, want := range []string{"sub1", "sub2", "the discount is missing", "tx1", "the card is closed", "account bob", "never; make it at Braintree"} {
		require.Contains(t, got.Body, want)
	}
	require.NotContains(t, got.Body, `name="kind" value="refund"`)
	require.Equal(t, page+"?done=operation-retried", b.Post(t, page, page+"/retry", "kind", "subscription", "id", "sub1").Header.Get("Location"))
	due := func() int {
		tasks, err := w.Engine.Gateways.Begin(t.Context(), &billingdb.Subscriptions, 10, nil)
		require.NoError(t, err)
		for _, task := range tasks {
			require.NoError(t, w.Engine.Gateways.End(t.Context(), &billingdb.Subscriptions, task, payments.Result{Problem: "the discount is missing", Failed: true}))
		}
		return len(tasks)
	}
	require.Equal(t, 1, due())
	require.Equal(t, page+"?done=operation-retried", b.Post(t, page, page+"/retry").Header.Get("Location"))
	require.Equal(t, 2, due())
	require.Equal(t, http.StatusNotFound, b.Post(t, page, page+"/retry", "kind", "subscription", "id", "sub9").Status)
	require.Equal(t, http.StatusBadRequest, b.Post(t, page, page+"/retry", "kind", "refund", "id", "tx1").Status)
	actions, _ := entries(t, w)
	require.Equal(t, []people.Action{operation.RetryGateway.Action, operation.RetryGateway.Action}, actions)
}

// The secret of the pipeline is shown once and verifies signatures; the mapping is read
// back as it was entered.
func TestPipeline(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	b := w.SignedIn(t, portaltest.Owner)
	page := section + "/pipeline"
	require.Contains(t, b.Get(page).Body, "No secret")
	first := secretIn(t, b.Post(t, page, page+"/secret", "overlap", "0").Body)
	require.NotContains(t, b.Get(page).Body, first)
	got := b.Post(t, page, page+"/secret", "overlap", "1")
	second := secretIn(t, got.Body)
	require.Contains(t, got.Body, "The old secret stays valid until")
	valid := func(secret string) bool {
		body := []byte(`{}`)
		mac := hmac.New(sha1.New, []byte(secret))
		_, _ = mac.Write(body)
		_, err := w.Engine.Pipelines.Authenticate(t.Context(), "acme", hex.EncodeToString(mac.Sum(nil)), body)
		return err == nil
	}
	require.True(t, valid(first) && valid(second))
	w.Pass(core.Hour)
	require.False(t, valid(first))
	require.Equal(t, http.StatusUnprocessableEntity, b.Post(t, page, page+"/secret", "overlap", "x").Status)
	require.Equal(t, page+"?done=pipeline-secret-ended", b.Post(t, page, page+"/secret-remove").Header.Get("Location"))
	require.False(t, valid(second))

	mapping := []string{
		"createUsers", "1", "events", "Invoice Paid = purchase\r\nPage Viewed =", "otherEvents", "ignore", "fields", "order_id = id, orderId", "customFields", "plan = plan.name",
		"accountId", "context.groupId", "referralCode", "code", "statusTrait", "plan", "statuses", "pro = PAID",
	}
	require.Equal(t, page+"?done=pipeline-mapping-saved", b.Post(t, page, page+"/mapping", mapping...).Header.Get("Location"))
	s, err := w.Engine.Pipelines.Settings(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, pipeline.Settings{
		CreateUsers: true, Account: []pipeline.Path{"context.groupId"}, Events: []pipeline.Name{{Event: "Invoice Paid", Key: "purchase"}, {Event: "Page Viewed"}}, IgnoreOthers: true,
		Fields: []pipeline.Field{{Name: "order_id", From: []pipeline.Path{"id", "orderId"}}}, Custom: []pipeline.Custom{{Name: "plan", From: "plan.name"}},
		Code: []pipeline.Path{"code"}, StatusTrait: "plan", Statuses: []pipeline.StatusOf{{Value: "pro", Status: "PAID"}},
	}, s)
	require.Contains(t, b.Get(page).Body, "Invoice Paid = purchase\nPage Viewed = </textarea>")
	for want, change := range map[string][2]string{
		"must have one line for Order Completed":                               {"events", "Order Completed = purchase\nOrder Completed = order"},
		"must have lines of the form NAME = VALUE; this one has not: purchase": {"events", "purchase"},
		"The places of the account must be 1 to 5 names of keys":               {"accountId", "a..b"},
		"The values of the status must be":                                     {"statuses", "pro = RICH"},
		"The trait of the status must have both trait and values":              {"statusTrait", ""},
		"The fields of events must be at most 5 places":                        {"fields", "a = b,c,d,e,f,g"},
	} {
		form := append([]string{}, mapping...)
		got := b.Post(t, page, page+"/mapping", append(form, change[0], change[1])...)
		require.Equal(t, http.StatusUnprocessableEntity, got.Status, want)
		require.Contains(t, got.Body, want)
		require.Contains(t, got.Body, `id="f-`+change[0]+`"`)
		require.Contains(t, got.Body, "plan.name", "what was entered stays")
	}
	actions, all := entries(t, w)
	require.Equal(t, []people.Action{operation.ChangePipeline.Action, operation.RemovePipelineSecret.Action, operation.RotatePipelineSecret.Action, operation.RotatePipelineSecret.Action}, actions)
	require.NotContains(t, all, first)
	require.NotContains(t, all, second)
	require.Contains(t, all, `"otherEvents":"ignore"`)
}
