package stripe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"kith/backend/gateway"
	"kith/core"
	"kith/core/billing"
)

// Subscription reads a subscription with its latest 100 bills, the next bill, and the
// checkout session that began it.
func (g *adapter) Subscription(ctx context.Context, id, first string) (out billing.Subscription, err error) {
	s, err := get[subscription](ctx, g.api, expand(params{}, "customer", "discounts.promotion_code", "discounts.source.coupon"), "subscriptions", id)
	if err != nil {
		return out, err
	}
	r := reading{adapter: g, subscription: s, currency: currencyOf(s.Currency)}
	out = billing.Subscription{
		ID: s.ID, Status: statusOf(s.Status), Trial: s.TrialStart != 0, Currency: r.currency, Opened: timeOf(s.Created), Itemized: true,
		Step: fromStripe(toStripeStep(r.currency), r.currency), Paused: s.Pause != nil || s.Status == paused,
	}
	r.setDiscount(&out)
	r.setCycle(&out)
	if err := r.setBills(ctx, &out, first); err != nil {
		return out, err
	}
	if !ended(s.Status) {
		if err := r.setNext(ctx, &out); err != nil {
			return out, err
		}
	}
	sessions, err := g.sessions(ctx, "subscription", id)
	if err != nil {
		return out, err
	}
	out.Payer = r.payer(sessions)
	out.Customer = out.Payer.Customer
	return out, nil
}

// reading is a subscription that is read.
type reading struct {
	adapter      *adapter
	subscription subscription
	currency     string
	// promotions are promotion codes that bills had.
	promotions []string
}

func (r *reading) amount(n int64) int64 { return fromStripe(n, r.currency) }

// statusOf returns the status of a subscription (gateway 4.3.1).
func statusOf(s string) billing.Status {
	switch s {
	case "incomplete":
		return billing.Pending
	case "past_due", "unpaid":
		return billing.PastDue
	case canceled:
		return billing.Canceled
	case incompleteExpired:
		return billing.Expired
	}
	return billing.Active
}

// Statuses of Stripe's objects.
const (
	canceled          = "canceled"
	paused            = "paused"
	incompleteExpired = "incomplete_expired"
	invoicePaidUp     = "paid"
	succeeded         = "succeeded"
	disputeLost       = "lost"
)

func ended(status string) bool { return status == canceled || status == incompleteExpired }

// setDiscount sets which discounts of the tenant the subscription has.
func (r *reading) setDiscount(out *billing.Subscription) {
	for _, d := range r.subscription.Discounts {
		terms := r.terms(d)
		out.Percent = max(out.Percent, percentOf(terms))
		out.Credit += r.amount(amountOf(terms))
	}
	out.HasDiscount = out.Percent > 0 || out.Credit > 0
}

// terms returns the terms of a discount of the tenant; see termsOf.
func (r *reading) terms(d discount) string { return r.adapter.termsOf(d.Source.Coupon) }

// setCycle sets the first day of the current cycle and that of the next one.
func (r *reading) setCycle(out *billing.Subscription) {
	if len(r.subscription.Items.Data) == 0 {
		return
	}
	item := r.subscription.Items.Data[0]
	out.Begins, out.Next = dayOf(item.CurrentPeriodStart), dayOf(item.CurrentPeriodEnd)
}

func dayOf(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}

// setBills reads the bills. Unpaid ones may have credit, which is not to be given again.
func (r *reading) setBills(ctx context.Context, out *billing.Subscription, first string) error {
	bills, err := latest[invoice](ctx, r.adapter.api, expand(pageOf("subscription", r.subscription.ID), "data.total_discount_amounts.discount.promotion_code"), "invoices")
	if err != nil {
		return err
	}
	if first != "" && !slices.ContainsFunc(bills, func(i invoice) bool { return i.ID == first }) {
		old, err := get[invoice](ctx, r.adapter.api, expand(params{}, "total_discount_amounts.discount.promotion_code"), "invoices", first)
		if err != nil && !gateway.Is(err, gateway.Missing) {
			return err
		} else if err == nil {
			bills = append(bills, old)
		}
	}
	for _, i := range bills {
		r.addBill(out, i)
	}
	slices.SortFunc(out.Payments, func(a, b billing.Payment) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(out.Charges, func(a, b billing.Charge) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Transaction, b.Transaction))
	})
	return r.setDisputed(ctx, out, first)
}

// addBill adds a bill, if it is paid, and else the credit in it.
func (r *reading) addBill(out *billing.Subscription, i invoice) {
	discount, credit := int64(0), int64(0)
	for _, d := range i.Discounted {
		terms := r.terms(d.Discount)
		if terms != "" {
			discount += d.Amount
		}
		if amountOf(terms) > 0 {
			credit += d.Amount
		}
		if d.Discount.PromotionCode != nil {
			r.promotions = append(r.promotions, d.Discount.PromotionCode.Code)
		}
	}
	switch i.Status {
	case "draft", "open":
		out.Billed += r.amount(credit)
	case invoicePaidUp:
		p := r.adapter.invoice(i)
		p.Credit = r.amount(credit)
		out.Payments = append(out.Payments, p)
		if p.Amount > 0 {
			out.Charges = append(out.Charges, billing.Charge{Transaction: i.ID, Amount: p.Amount, At: p.At, Discount: r.amount(discount)})
		}
	}
}

// setDisputed sets whether the first charge was charged back.
func (r *reading) setDisputed(ctx context.Context, out *billing.Subscription, first string) error {
	if len(out.Charges) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(out.Charges, func(c billing.Charge) bool { return c.Transaction == first }))
	intents, err := r.adapter.intentsOf(ctx, out.Charges[at].Transaction)
	for _, intent := range intents {
		var disputes []dispute
		if disputes, err = r.adapter.disputes(ctx, intent); err != nil {
			break
		}
		for _, d := range disputes {
			out.Charges[at].ChargedBack = out.Charges[at].ChargedBack || d.Status == disputeLost
		}
	}
	return err
}

// setNext sets the price of the next bill without the tenant's discounts, and the balance
// that it would use.
func (r *reading) setNext(ctx context.Context, out *billing.Subscription) error {
	next, err := post[preview](ctx, r.adapter.api, expand(params{"subscription": {r.subscription.ID}}, "total_discount_amounts.discount"), "invoices", "create_preview")
	if refused(err).Code == invoiceUpcomingNone || gateway.Is(err, gateway.Missing) {
		// It has no further bill.
		return nil
	}
	if err != nil {
		return err
	}
	price := next.Subtotal
	for _, d := range next.Discounted {
		if r.terms(d.Discount) == "" {
			price -= d.Amount
		}
	}
	out.Price = max(0, r.amount(price))
	switch c := r.subscription.Customer; {
	case c.Deleted:
	case c.Balance == nil:
		return lost(errors.New("the customer has no balance"))
	case *c.Balance < 0 && (c.Currency == "" || c.Currency == r.subscription.Currency):
		out.Balance = r.amount(-*c.Balance)
	}
	return nil
}

// payer returns the customer, with what the shop said of the account, and the codes, in
// this order: the metadata, the promotion codes that the customer entered, and the
// client_reference_id (gateway 4.4).
func (r *reading) payer(sessions []session) billing.Payer {
	s := r.subscription
	f := facts{customer: s.Customer, metadata: []map[string]string{s.Metadata}, promotions: r.promotions}
	for _, d := range s.Discounts {
		if d.PromotionCode != nil {
			f.promotions = append(f.promotions, d.PromotionCode.Code)
		}
	}
	f.addSessions(sessions)
	return f.payer()
}

// facts are what is known about a payer.
type facts struct {
	customer   *customer
	metadata   []map[string]string
	promotions []string
	references []string
	// email and name are those that the customer entered.
	email, name string
}

func (f *facts) addSessions(sessions []session) {
	for _, s := range sessions {
		f.metadata = append(f.metadata, s.Metadata)
		for _, d := range s.Discounts {
			if d.PromotionCode != nil {
				f.promotions = append(f.promotions, d.PromotionCode.Code)
			}
		}
		f.references = append(f.references, s.ClientReferenceID)
		f.email, f.name = cmp.Or(f.email, s.CustomerDetails.Email), cmp.Or(f.name, s.CustomerDetails.Name)
		if f.customer == nil {
			f.customer = s.Customer
		}
	}
}

// The names of metadata that a shop may set (gateway 4.4).
const (
	metaAccount = "kith_account"
	metaUser    = "kith_user"
	metaCode    = "referral_code"
)

func (f *facts) payer() billing.Payer {
	p := billing.Payer{Email: f.email, Name: f.name}
	metadata := f.metadata
	if c := f.customer; c != nil {
		p.Customer = core.PaymentProviderID(c.ID)
		p.Email, p.Name = cmp.Or(c.Email, p.Email), cmp.Or(c.Name, p.Name)
		metadata = append(slices.Clone(metadata), c.Metadata)
	}
	codes := []string{}
	for _, m := range metadata {
		// An id that is invalid is left out: no caller would see an error.
		if id, err := core.ParseAccountID("", m[metaAccount]); err == nil && p.Account == "" {
			p.Account = id
		}
		if id, err := core.ParseUserID("", m[metaUser]); err == nil && p.User == "" {
			p.User = id
		}
		codes = append(codes, m[metaCode])
	}
	for _, text := range slices.Concat(codes, f.promotions, f.references) {
		if code, err := core.ParseReferralCode("", core.Trim(text)); err == nil && !slices.Contains(p.Codes, code) {
			p.Codes = append(p.Codes, code)
		}
	}
	return p
}

// sessions returns the checkout sessions that a parameter selects, with their discounts and
// customers.
func (g *adapter) sessions(ctx context.Context, name, id string) ([]session, error) {
	return latest[session](ctx, g.api, expand(pageOf(name, id), "data.discounts.promotion_code", "data.customer"), "checkout", "sessions")
}

// Code returns the first code of the payer. The caller reads all of them from the payer.
func (g *adapter) Code(_ context.Context, s billing.Subscription) (core.ReferralCode, error) {
	if len(s.Payer.Codes) == 0 {
		return "", nil
	}
	return s.Payer.Codes[0], nil
}

// SubscriptionsOf returns the subscriptions of a customer.
func (g *adapter) SubscriptionsOf(ctx context.Context, customer core.PaymentProviderID) ([]string, error) {
	return g.subscriptions(ctx, params{"limit": {pageSize}, "customer": {string(customer)}, "status": {"all"}})
}

// subscriptions returns the ids of the subscriptions in a list.
func (g *adapter) subscriptions(ctx context.Context, p params) (ids []string, err error) {
	found, err := list[identified](ctx, g.api, p, "subscriptions")
	for _, s := range found {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// HasCustomer reports whether the account has a customer.
func (g *adapter) HasCustomer(ctx context.Context, id core.PaymentProviderID) (bool, error) {
	c, err := get[customer](ctx, g.api, nil, "customers", string(id))
	if gateway.Is(err, gateway.Missing) {
		return false, nil
	}
	return err == nil && !c.Deleted, err
}

// WriteCode writes the code that referred a customer into the customer's metadata, where
// the merchant sees it.
func (g *adapter) WriteCode(ctx context.Context, customer core.PaymentProviderID, code core.ReferralCode) error {
	_, err := post[identified](ctx, g.api, params{"metadata[" + metaCode + "]": {string(code)}}, "customers", string(customer))
	return err
}

// SetDiscount makes the tenant's discounts of a subscription equal to want: a percentage
// for all bills, and credit for the next one. The merchant's other discounts stay.
func (g *adapter) SetDiscount(ctx context.Context, s billing.Subscription, want billing.Discount) error {
	if s.Change(want) == billing.NoChange {
		return nil
	}
	now, err := get[subscription](ctx, g.api, expand(params{}, "discounts.source.coupon"), "subscriptions", s.ID)
	if err != nil {
		return err
	}
	update, n, kept := params{"proration_behavior": {"none"}}, 0, billing.Discount{}
	set := func(kind, id string) {
		update.Set("discounts["+strconv.Itoa(n)+"]["+kind+"]", id)
		n++
	}
	for _, d := range now.Discounts {
		terms := g.termsOf(d.Source.Coupon)
		percent, amount := percentOf(terms), fromStripe(amountOf(terms), s.Currency)
		if percent > 0 && (percent != want.Percent || kept.Percent > 0) || amount > 0 && (amount != want.Credit || kept.Credit > 0) {
			continue
		}
		kept.Percent, kept.Credit = max(kept.Percent, percent), max(kept.Credit, amount)
		set("discount", d.ID)
	}
	add := func(c coupon) error {
		id, err := g.makeCoupon(ctx, c)
		set("coupon", id)
		return err
	}
	if want.Percent > 0 && kept.Percent == 0 {
		err = add(coupon{percent: want.Percent})
	}
	if amount := toStripe(want.Credit, s.Currency); err == nil && amount > 0 && kept.Credit == 0 {
		err = add(coupon{amount: amount, currency: s.Currency})
	}
	if err != nil {
		return err
	}
	if n == 0 {
		update.Set("discounts", "")
	}
	_, err = post[identified](ctx, g.api, update, "subscriptions", s.ID)
	if refused(err).Code == resourceMissing {
		// The merchant has deleted a coupon, or the subscription is gone.
		g.coupons.Clear()
	}
	return err
}
