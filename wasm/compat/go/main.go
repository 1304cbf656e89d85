// Command story runs the story of the README through the client that oapi-codegen
// generates from the OpenAPI document:
//
//	story EDGE
//
// EDGE is the base URL of a fresh `kith dev`. The generated client is package
// kith, which generate.sh makes; it is not committed.
package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"

	"kith/wasm/compat/go/kith"
)

const (
	tenant = "demo"
	key    = "LIVE_DEMO_KEY_0123456789"
)

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "story:", err)
		os.Exit(1)
	}
}

// run runs the story, and stops at the first unexpected answer.
func run(ctx context.Context, edge string) error {
	c, err := newClient(edge)
	if err != nil {
		return err
	}
	for _, chapter := range []func(context.Context, *kith.ClientWithResponses) error{attribute, convert, redeem, purchase} {
		if err := chapter(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// newClient returns a client that keeps cookies, as Bob's browser does, and sends
// the API key.
func newClient(edge string) (*kith.ClientWithResponses, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	doer := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	withKey := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(":"+key)))
		return nil
	}
	return kith.NewClientWithResponses(edge, kith.WithHTTPClient(doer), kith.WithRequestEditorFn(withKey))
}

// attribute follows Anna's share link and signs Bob up with the cookie it set.
func attribute(ctx context.Context, c *kith.ClientWithResponses) error {
	medium := "FACEBOOK"
	link, err := c.FollowShareLinkWithResponse(ctx, tenant, "ANNA10", &kith.FollowShareLinkParams{RsShareMedium: &medium})
	if err := answered("follow", link, err, "302 Found"); err != nil {
		return err
	}
	first, email := "Bob", kith.InputText("bob@example.com")
	user, err := c.UpsertUserWithResponse(ctx, tenant, "bob", "bob", nil, kith.UserInput{FirstName: &first, Email: &email})
	if err := answered("upsert", user, err, "200 OK"); err != nil {
		return err
	}
	if err := expect("code of Bob", user.JSON200.ReferredBy.Code, "ANNA10"); err != nil {
		return err
	}
	return expect("date is in milliseconds", *user.JSON200.DateCreated > 1_700_000_000_000, true)
}

// convert reports Bob's first payment. A later report without a status leaves the account
// PAID.
func convert(ctx context.Context, c *kith.ClientWithResponses) error {
	paid, value := kith.SubscriptionStatus("PAID"), 29.00
	synced, err := c.SyncAccountWithResponse(ctx, tenant, kith.AccountInput{
		Id: "bob", Subscription: &kith.SubscriptionInput{Status: &paid, Value: &value},
	})
	if err := answered("sync", synced, err, "200 OK"); err != nil {
		return err
	}
	value = 39.00
	again, err := c.SyncAccountWithResponse(ctx, tenant, kith.AccountInput{Id: "bob", Subscription: &kith.SubscriptionInput{Value: &value}})
	if err := answered("sync again", again, err, "200 OK"); err != nil {
		return err
	}
	if err := expect("status", string(again.JSON200.Subscription.Status), "PAID"); err != nil {
		return err
	}
	account := "bob"
	page, err := c.ListReferralsWithResponse(ctx, tenant, &kith.ListReferralsParams{ReferredAccountId: &account})
	if err := answered("referrals", page, err, "200 OK"); err != nil {
		return err
	}
	if err := expect("count of referrals", page.JSON200.TotalCount, 1); err != nil {
		return err
	}
	return expect("state", string(page.JSON200.Referrals[0].State), "converted")
}

// redeem redeems a part of Anna's credit, and looks up the discount of her code.
func redeem(ctx context.Context, c *kith.ClientWithResponses) error {
	used, err := c.RedeemCreditWithResponse(ctx, tenant, kith.BulkRedemptionInput{AccountId: "anna", Unit: "CENTS", Amount: 400})
	if err := answered("redeem", used, err, "200 OK"); err != nil {
		return err
	}
	if err := expect("credit left", used.JSON200.CreditAvailable, 600); err != nil {
		return err
	}
	code, err := c.GetCodeWithResponse(ctx, tenant, "ANNA10")
	if err := answered("code", code, err, "200 OK"); err != nil {
		return err
	}
	return expect("discount", code.JSON200.DiscountPercentage, 10)
}

// purchase logs a purchase twice, of which the second is refused, and reads why Bob was
// attributed.
func purchase(ctx context.Context, c *kith.ClientWithResponses) error {
	once := kith.IdempotencyKey("order-0001")
	events := kith.EventsInput{IdempotencyKey: &once, Events: []kith.EventInput{
		{Key: "purchase", Fields: &map[string]any{"revenue": 29.00, "currency": "USD"}},
	}}
	first, err := c.LogEventsWithResponse(ctx, tenant, "bob", "bob", events)
	if err := answered("events", first, err, "200 OK"); err != nil {
		return err
	}
	second, err := c.LogEventsWithResponse(ctx, tenant, "bob", "bob", events)
	if err := answered("events again", second, err, "409 Conflict"); err != nil {
		return err
	}
	if err := expect("apiErrorCode", second.JSON409.ApiErrorCode, "CONFLICT"); err != nil {
		return err
	}
	account := "bob"
	why, err := c.ListAttributionsWithResponse(ctx, tenant, &kith.ListAttributionsParams{AccountId: &account})
	if err := answered("attributions", why, err, "200 OK"); err != nil {
		return err
	}
	return expect("source", why.JSON200.Attributions[0].Source, "cookie")
}

// answered returns the error of a call, or an error with the status if it is not the
// expected one.
func answered(what string, answer interface{ Status() string }, err error, want string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return expect(what, answer.Status(), want)
}

func expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
