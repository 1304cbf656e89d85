package shop

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"kith/backend/gateway/xmltree"
	"kith/clients/go"
)

// discount returns the discount that the customer has on the first order, and the code
// that gives it.
func (v *visit) discount(s service) (basisPoints, string, error) {
	code := v.customer.Code
	if code == "" || slices.ContainsFunc(v.customer.Orders, func(o Order) bool { return !o.Unpaid() }) {
		return 0, "", nil
	}
	_, percent, err := s.code(v.r.Context(), code)
	if unknown(err) {
		return 0, "", nil
	}
	return percent, code, err
}

func (v *visit) product() (*Product, error) {
	p := productByID(v.r.PathValue("product"))
	if p == nil {
		return nil, refuse("The shop does not sell this. It has two things, on its first page.")
	}
	return p, nil
}

// checkoutPage shows what an order would cost.
func (v *visit) checkoutPage() error {
	p, err := v.product()
	if err != nil || !v.signedIn() {
		return err
	}
	s, err := v.service()
	if err != nil {
		return err
	}
	percent, code, err := v.discount(s)
	if err != nil {
		return err
	}
	decisions := []Decision{{"No discount: no friend referred this customer.", false}}
	switch {
	case percent > 0:
		decisions = []Decision{{"The code " + code + " gives a friend " + percent.String() + " off the first order.", true}}
	case v.customer.Code != "":
		decisions = []Decision{{"No discount: it is for the first order, and this is a later one.", false}}
	}
	return v.showBehind("checkout", "Checkout", "", decisions, map[string]any{
		"Form": randomHex(formToken / 2), "Product": p, "Bill": billFor(p, percent), "Code": code, "NoGateway": v.noGateway() != nil, "Card": testCard, "Stripe": v.stripePays,
	})
}

// buy pays an order at the gateway and reports it to Kith.
func (v *visit) buy() error {
	p, err := v.product()
	if err != nil || !v.signedIn() {
		return err
	}
	if err := v.noGateway(); err != nil {
		return err
	}
	s, err := v.service()
	if err != nil {
		return err
	}
	percent, code, err := v.discount(s)
	if err != nil {
		return err
	}
	order := Order{Product: p.ID, Form: v.r.PostFormValue("form"), Placed: v.now.UTC(), Bill: billFor(p, percent)}
	if len(order.Form) != formToken {
		return refuse("The form has expired. Open the checkout again.")
	}
	id, fresh, err := v.book.reserve(v.customer.ID, order)
	if err != nil {
		return err
	}
	if !fresh {
		return v.redirect("/orders/" + id)
	}
	order.ID = id
	if v.stripePays {
		page, err := v.payAtStripe(p, &order, code)
		if err != nil {
			return errors.Join(err, v.book.release(v.customer.ID, id))
		}
		if err := v.update(order); err != nil {
			return err
		}
		http.Redirect(v.w, v.r, page, http.StatusSeeOther)
		return nil
	}
	if err := v.pay(s, p, &order); err != nil {
		return errors.Join(err, v.book.release(v.customer.ID, id))
	}
	if err := v.update(order); err != nil {
		return err
	}
	return v.redirect("/orders/" + order.ID)
}

// noGateway returns why the shop takes no payments, or nil.
func (v *visit) noGateway() error {
	switch {
	case v.stripePays && v.tenant.Stripe.URL == "":
		return errNoStripe
	case !v.stripePays && v.Gateway.URL == "":
		return errNoGateway
	}
	return nil
}

// formToken is the length of the token of a checkout form.
const formToken = 32

// pay charges a one-off order, or begins a subscription, and reports it to Kith.
func (v *visit) pay(s service, p *Product, order *Order) error {
	ctx, g, c := v.r.Context(), v.checkout(), v.customer
	if !c.AtGateway {
		if err := g.customer(ctx, c); err != nil {
			return err
		}
		if _, err := v.book.change(c.ID, func(c *Customer) error { c.AtGateway = true; return nil }); err != nil {
			return err
		}
	}
	if !p.Monthly() {
		var err error
		if order.Transaction, err = g.sale(ctx, c, order.ID, order.Bill.Total()); err != nil {
			return err
		}
		return s.purchase(ctx, c, order.ID, order.Bill.Goods())
	}
	if err := g.ensurePlan(ctx, p); err != nil {
		return err
	}
	order.Subscription = strings.ReplaceAll(v.tenant.Alias, "_", "-") + "-" + c.ID + "-" + order.ID
	begun, err := g.subscribe(ctx, c, order.Subscription, p, order.Bill.Discount)
	if err != nil {
		return err
	}
	order.read(begun)
	return s.sync(ctx, c, kith.SubscriptionStatusTRIAL)
}

// read takes the state of a subscription from the gateway's answer.
func (o *Order) read(subscription *xmltree.Node) {
	o.Status, o.FirstBill = subscription.Value("status"), subscription.Value("first_billing_date")
}

// order returns the order of the path.
func (v *visit) order() (Order, error) {
	i := slices.IndexFunc(v.customer.Orders, func(o Order) bool { return o.ID == v.r.PathValue("order") })
	if i < 0 {
		return Order{}, refuse("You have no order with this number. Your account lists your orders.")
	}
	return v.customer.Orders[i], nil
}

// update stores an order that changed, and keeps the calls of this form for its page.
func (v *visit) update(order Order) (err error) {
	v.customer, err = v.book.change(v.customer.ID, func(c *Customer) error { return c.put(order) })
	v.book.keep(v.customer.ID+"/"+order.ID, v.calls.all())
	return err
}

// orderPage confirms an order, and shows what Kith decided about it.
func (v *visit) orderPage() error {
	if !v.signedIn() {
		return nil
	}
	order, err := v.order()
	if err != nil {
		return err
	}
	if err := v.followCheckout(&order); err != nil {
		return err
	}
	s, err := v.service()
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	attributions, err := s.attributions(ctx, v.customer)
	if err != nil {
		return err
	}
	decisions, pending := attributionWords(attributions), false
	referral, err := s.referred(ctx, v.customer)
	if err != nil {
		return err
	}
	if referral != nil {
		orders, err := s.decided(ctx, referral.ID, func(all []kith.Order) bool { return order.settled(all) })
		if err != nil {
			return err
		}
		pending = !order.settled(orders)
		// The conversion is newer than the referral that was read before.
		if referral, err = s.referred(ctx, v.customer); err != nil {
			return err
		}
		orders = slices.DeleteFunc(orders, func(o kith.Order) bool { return !slices.Contains(order.reported(), o.OrderID) })
		decisions = append(decisions, referralWords(referral, orders, v.now)...)
	} else {
		decisions = append(decisions, referralWords(nil, nil, v.now)...)
	}
	switch {
	case order.Unpaid():
		decisions = append(decisions, Decision{"Nothing is bought yet: the checkout is open.", false})
	case order.OnTrial():
		decisions = append(decisions, Decision{"Nothing is bought before the trial ends: the first charge is the purchase.", false})
	case pending:
		decisions = append(decisions, Decision{"Kith has accepted the event and applies it within a second. Open the page again.", false})
	}
	return v.showBehind("order", "Order "+order.ID, v.customer.ID+"/"+order.ID, decisions, map[string]any{"Order": order, "Product": order.OfProduct()})
}

// reported returns the ids of the orders that the shop reported to Kith.
func (o Order) reported() (ids []string) {
	switch {
	case o.Unpaid():
		return nil
	case o.Subscription == "" && o.Session != "":
		return []string{o.Transaction} // Kith reports it, by the id that Stripe gives it
	case o.Subscription == "":
		return []string{o.ID}
	}
	for _, c := range o.Charges {
		ids = append(ids, c.Transaction)
	}
	return ids
}

// settled reports whether Kith has applied all events of the order.
func (o Order) settled(known []kith.Order) bool {
	for _, id := range o.reported() {
		i := slices.IndexFunc(known, func(k kith.Order) bool { return k.OrderID == id })
		if i < 0 || (o.IsReturned() || o.Refunded > 0) && !known[i].Refunded && known[i].RefundedInCents == 0 {
			return false
		}
	}
	return true
}

// changeOrder applies a change to the order of the path, stores it and shows its page. If
// may is false for the order, it only shows the page.
func (v *visit) changeOrder(may func(Order) bool, change func(service, *Order) error) error {
	if !v.signedIn() {
		return nil
	}
	order, err := v.order()
	if err != nil {
		return err
	}
	if may(order) {
		s, err := v.service()
		if err != nil {
			return err
		}
		if err := change(s, &order); err != nil {
			return err
		}
		if err := v.update(order); err != nil {
			return err
		}
	}
	return v.redirect("/orders/" + order.ID)
}

// returnOrder refunds a one-off order at the gateway and reports the return.
func (v *visit) returnOrder() error {
	return v.changeOrder(func(o Order) bool { return o.Transaction != "" && !o.IsReturned() }, func(s service, o *Order) error {
		o.Returned = v.now.UTC()
		if o.Session != "" {
			// Kith learns of it by a webhook.
			return v.stripe().refund(v.r.Context(), o.Transaction, 0)
		}
		if err := v.checkout().refund(v.r.Context(), o.Transaction); err != nil {
			return err
		}
		return s.refund(v.r.Context(), v.customer, o.ID)
	})
}

// refundHalf refunds a half of what a one-off order has cost, once.
func (v *visit) refundHalf() error {
	return v.changeOrder(Order.Refundable, func(_ service, o *Order) error {
		o.Refunded = o.Bill.Total() / 2
		return v.stripe().refund(v.r.Context(), o.Transaction, o.Refunded)
	})
}

// monthDays is more than any month has, and less than two have.
const monthDays = 31

// advance advances the clock of the gateway lab beyond the trial, or by a month, and reports
// the charge. A real shop is notified of the charge by a webhook of its gateway.
func (v *visit) advance() error {
	return v.changeOrder(func(o Order) bool { return o.Subscription != "" && !o.Cancelled() }, func(s service, o *Order) error {
		ctx, g, days := v.r.Context(), v.checkout(), monthDays
		if o.OnTrial() {
			days = o.OfProduct().TrialDays + 1
		}
		if o.Session != "" {
			if err := v.stripe().skip(ctx, days); err != nil {
				return err
			}
			return v.stripe().read(ctx, o)
		}
		if err := g.skip(ctx, days); err != nil {
			return err
		}
		subscription, err := g.subscription(ctx, o.Subscription)
		if err != nil {
			return err
		}
		o.read(subscription)
		paid, err := charges(subscription)
		if err != nil {
			return err
		}
		for _, charge := range paid {
			if slices.Contains(o.Charges, charge) {
				continue
			}
			if err := s.purchase(ctx, v.customer, charge.Transaction, charge.Amount); err != nil {
				return err
			}
			o.Charges = append(o.Charges, charge)
		}
		if len(o.Charges) == 0 {
			return nil
		}
		return s.sync(ctx, v.customer, kith.SubscriptionStatusPAID)
	})
}

// cancelOrder cancels a subscription.
func (v *visit) cancelOrder() error {
	return v.changeOrder(func(o Order) bool { return o.Subscription != "" && !o.Cancelled() }, func(s service, o *Order) error {
		o.Status = "Canceled"
		if o.Session != "" {
			return v.stripe().cancel(v.r.Context(), o.Subscription)
		}
		if err := v.checkout().cancel(v.r.Context(), o.Subscription); err != nil {
			return err
		}
		return s.sync(v.r.Context(), v.customer, kith.SubscriptionStatusCANCELLED)
	})
}
