package e2e

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	stripe "github.com/stripe/stripe-go/v86"
)

// stripeEvents are the types of events that Kith subscribes to.
var stripeEvents = []string{
	"checkout.session.completed", "customer.subscription.created", "customer.subscription.updated", "customer.subscription.deleted", "invoice.paid",
	"invoice.payment_failed", "charge.refunded", "charge.dispute.created", "charge.dispute.closed", "customer.updated", "coupon.deleted",
}

// settled returns an error unless Kith has each event of Stripe, and makes it search for
// those that it does not have.
func (shop *stripeShop) settled(ctx context.Context, db *sql.DB) error {
	known := map[string]bool{}
	rows, err := db.QueryContext(ctx, `SELECT hash FROM gateway_notification WHERE tenant = ?`, shop.tenant)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var hash string
		if err := rows.Scan(&hash); err != nil {
			return err
		}
		known[hash] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	lost := 0
	for e, err := range shop.api.V1Events.List(ctx, &stripe.EventListParams{ListParams: stripe.ListParams{Limit: stripe.Int64(100)}, Types: stripe.StringSlice(stripeEvents)}).All(ctx) {
		if err != nil {
			return err
		}
		if sum := sha256.Sum256([]byte(e.ID)); !known[hex.EncodeToString(sum[:])] {
			lost++
		}
	}
	if lost > 0 {
		_, err := db.ExecContext(ctx, `UPDATE gateway_connection SET sweep_at = 0 WHERE tenant = ? AND leased_by IS NULL`, shop.tenant)
		if err == nil {
			err = fmt.Errorf("%d events did not arrive", lost)
		}
		return err
	}
	return nil
}

// read reads an answer of the API.
func (shop *stripeShop) read(into any, path string) error {
	a, err := call("GET", shop.sites[0].backend+"/api/v1/"+shop.tenant+path, "", shop.site.auth(shop.tenant))
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("%s: %d %s", path, a.status, a.body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(a.body), into)
	}
	return err
}

// stripeOrder is an order of a friend in the ledger.
type stripeOrder struct {
	Revenue, Refunded int64
	// Earned is the reward of the referrer, and Reversed what refunds took back of it.
	Earned, Reversed int64
	Reason           string
}

// stripeAccount is what a referrer has in the ledger, and at Stripe.
type stripeAccount struct {
	Assigned, Redeemed int64
	// Bills are what was paid, oldest first, and Balance what is left of the balance.
	Bills   []int64
	Balance int64
	// Given are the balance transactions of Kith in all.
	Given int64
	// Next is the credit in the next bill that is a coupon.
	Next int64
}

// actual returns what Kith and Stripe have.
func (shop *stripeShop) actual(ctx context.Context) (map[string]any, error) {
	all := map[string]any{}
	for _, r := range shop.referrers {
		a, err := shop.accountOf(ctx, r)
		if err != nil {
			return nil, err
		}
		all[r.id] = a
		found, err := shop.promotions(ctx, r.code)
		if err != nil {
			return nil, err
		}
		all[r.id+"'s promotion codes"] = len(found)
	}
	for _, f := range shop.friends {
		if f.account == "" {
			continue
		}
		state, orders, err := shop.ordersOf(f)
		if err != nil {
			return nil, err
		}
		all[f.id] = state
		all[f.id+"'s orders"] = orders
		if all[f.id+"'s refunds"], err = shop.refundsOf(ctx, f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (shop *stripeShop) accountOf(ctx context.Context, r *stripeReferrer) (a stripeAccount, err error) {
	var balances []struct {
		Currency                                 string
		TotalAssignedCredit, TotalRedeemedCredit int64
	}
	if err := shop.read(&balances, "/reward/balance?accountId="+r.id); err != nil {
		return a, err
	}
	for _, b := range balances {
		a.Assigned, a.Redeemed = a.Assigned+b.TotalAssignedCredit, a.Redeemed+b.TotalRedeemedCredit
	}
	bills, err := shop.bills(ctx, r.subscription)
	if err != nil {
		return a, err
	}
	for _, b := range bills {
		a.Bills = append(a.Bills, b.AmountPaid)
	}
	customer, err := shop.api.V1Customers.Retrieve(ctx, r.customer, nil)
	if err != nil {
		return a, err
	}
	a.Balance = -customer.Balance
	list := &stripe.CustomerBalanceTransactionListParams{Customer: stripe.String(r.customer)}
	for one, err := range shop.api.V1CustomerBalanceTransactions.List(ctx, list).All(ctx) {
		if err != nil {
			return a, err
		}
		if one.Metadata["kith_credit"] != "" {
			a.Given -= one.Amount
		}
	}
	params := &stripe.SubscriptionRetrieveParams{}
	params.AddExpand("discounts.source.coupon")
	subscription, err := shop.api.V1Subscriptions.Retrieve(ctx, r.subscription, params)
	if err != nil {
		return a, err
	}
	for _, d := range subscription.Discounts {
		a.Next += d.Source.Coupon.AmountOff
	}
	return a, nil
}

// ordersOf returns the state of a friend's referral, and the orders, oldest first.
func (shop *stripeShop) ordersOf(f *stripeFriend) (state string, orders []stripeOrder, err error) {
	var found struct{ Referrals []struct{ ID, State string } }
	if err := shop.read(&found, "/referrals?referredAccountId="+f.account); err != nil {
		return "", nil, err
	}
	if len(found.Referrals) != 1 {
		return fmt.Sprintf("%d referrals", len(found.Referrals)), nil, nil
	}
	var page struct {
		Orders []struct {
			RevenueInCents, RefundedInCents int64
			Rewards                         struct {
				Referrer struct {
					Reason *struct{ Code string }
					Reward *struct{ AssignedCredit, ReversedValue int64 }
				}
			}
		}
	}
	err = shop.read(&page, "/referrals/"+found.Referrals[0].ID+"/orders?limit=1000")
	slices.Reverse(page.Orders) // the newest are first
	for _, o := range page.Orders {
		order := stripeOrder{Revenue: o.RevenueInCents, Refunded: o.RefundedInCents}
		if side := o.Rewards.Referrer; side.Reason != nil {
			order.Reason = side.Reason.Code
		} else if side.Reward != nil {
			order.Earned, order.Reversed = side.Reward.AssignedCredit, side.Reward.ReversedValue
		}
		orders = append(orders, order)
	}
	return found.Referrals[0].State, orders, err
}

// refundsOf returns the refunds of a friend's first payment at Stripe: those that the shop
// has made, and those of Kith.
func (shop *stripeShop) refundsOf(ctx context.Context, f *stripeFriend) (map[string][]int64, error) {
	all := map[string][]int64{}
	intent := f.intent
	if f.way != byOrder {
		bills, err := shop.bills(ctx, f.subscription)
		if err != nil {
			return nil, err
		}
		for _, one := range bills {
			if one.AmountPaid > 0 && intent == "" {
				intent = one.Payments.Data[0].Payment.PaymentIntent.ID
			}
		}
	}
	if intent == "" {
		return all, nil
	}
	for one, err := range shop.api.V1Refunds.List(ctx, &stripe.RefundListParams{PaymentIntent: stripe.String(intent)}).All(ctx) {
		if err != nil {
			return nil, err
		}
		by := "the shop"
		if one.Metadata["kith_refund"] != "" {
			by = "Kith"
		}
		all[by] = append(all[by], one.Amount)
	}
	return all, nil
}

// portion returns value * part / whole, rounded half to even.
func portion(value, part, whole int64) int64 {
	q, r := value*part/whole, value*part%whole
	if 2*r > whole || 2*r == whole && q%2 == 1 {
		q++
	}
	return q
}

// ordersExpected returns a friend's orders after a stage.
func (shop *stripeShop) ordersExpected(f *stripeFriend, stage int) (orders []stripeOrder) {
	revenue, refunded := shop.plan*9/10, f.back
	paid := []int{firstPaid, secondPaid}
	switch f.way {
	case byOrder:
		revenue, paid = shop.course*9/10, []int{bought}
	case byReferenceOnly:
		// What Kith gives back is no refund of the order.
		revenue, paid = shop.plan, []int{bought, nextBill, thirdBill}
	}
	for i, at := range paid {
		if stage < at {
			break
		}
		if i > 0 {
			// A refund leaves the discount whole.
			revenue, refunded = shop.plan*9/10, 0
		}
		o := stripeOrder{Revenue: revenue, Refunded: refunded, Earned: portion(revenue, 20, 100)}
		o.Reversed = portion(o.Earned, refunded, revenue)
		if i > 1 {
			o.Earned, o.Reason = 0, "all-orders-rewarded"
		}
		orders = append(orders, o)
	}
	return orders
}

// expected returns what Kith and Stripe must have after a stage, from nothing but what the
// shop has done.
func (shop *stripeShop) expected(stage int) (map[string]any, error) {
	all := map[string]any{}
	for _, r := range shop.referrers {
		all[r.id] = shop.accountExpected(r, stage)
		all[r.id+"'s promotion codes"] = 1
	}
	for _, f := range shop.friends {
		if f.account == "" {
			continue
		}
		orders := shop.ordersExpected(f, stage)
		all[f.id] = "in-progress"
		if len(orders) > 0 {
			all[f.id] = "converted"
		}
		all[f.id+"'s orders"] = orders
		refunds := map[string][]int64{}
		if f.back > 0 {
			refunds["the shop"] = []int64{f.back}
		}
		if f.way == byReferenceOnly {
			refunds["Kith"] = []int64{shop.plan / 10}
		}
		all[f.id+"'s refunds"] = refunds
	}
	return all, nil
}

// accountExpected returns what a referrer has after a stage.
func (shop *stripeShop) accountExpected(r *stripeReferrer, stage int) stripeAccount {
	a := stripeAccount{Bills: []int64{r.price}}
	for at := range stage + 1 {
		// The bill is made before Kith knows of what was paid at the same time.
		if at == nextBill || at == thirdBill {
			used := min(a.Assigned-a.Redeemed, r.price)
			if shop.credit == "balance" {
				used = min(a.Balance, r.price)
				a.Balance -= used
			} else {
				a.Redeemed += used
			}
			a.Bills = append(a.Bills, r.price-used)
		}
		a.Assigned = 0
		for _, f := range shop.friends {
			if f.referrer != r || f.account == "" {
				continue
			}
			for _, o := range shop.ordersExpected(f, at) {
				// The shop gave nothing back before.
				if at < givenBack && f.back > 0 {
					o.Reversed = 0
				}
				a.Assigned += o.Earned - o.Reversed
			}
		}
		left := max(0, a.Assigned-a.Redeemed)
		if shop.credit == "balance" {
			given := min(left, r.price-a.Balance)
			a.Given, a.Redeemed, a.Balance = a.Given+given, a.Redeemed+given, a.Balance+given
		} else {
			a.Next = min(left, r.price)
		}
	}
	return a
}

// report logs what happened at Stripe, and fails if a write had no idempotency key. It
// returns how many events arrived, and how many of them again.
func (shop *stripeShop) report(t *testing.T) (arrivals, repeated int) {
	t.Helper()
	state := decode[struct {
		Deliveries []struct {
			Event  string
			Status int
		}
	}](t, mustCall(t, http.StatusOK, "GET", shop.lab+"/lab/state", ""))
	arrived, failed := map[string]int{}, 0
	for _, d := range state.Deliveries {
		if d.Status/100 == 2 {
			arrived[d.Event]++
		} else {
			failed++
		}
	}
	lost := 0
	for _, n := range arrived {
		repeated += n - 1
	}
	for e, err := range shop.api.V1Events.List(t.Context(), &stripe.EventListParams{ListParams: stripe.ListParams{Limit: stripe.Int64(100)}, Types: stripe.StringSlice(stripeEvents)}).All(t.Context()) {
		require.NoError(t, err)
		if arrived[e.ID] == 0 {
			lost++
		}
	}
	shop.front.mu.Lock()
	defer shop.front.mu.Unlock()
	t.Logf("shop %s (%s): %d friends, %d calls to Stripe, %d of them writes; %d events arrived, %d of them again, %d attempts failed, %d events never arrived",
		shop.name, strings.ToUpper(shop.currency), len(shop.friends), shop.front.calls, shop.front.writes, len(arrived), repeated, failed, lost)
	require.Empty(t, shop.front.keyless, "writes without an idempotency key")
	return len(arrived), repeated
}
