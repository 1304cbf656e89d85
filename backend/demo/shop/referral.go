package shop

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"kith/clients/go"
)

// service calls Kith for one page, with the client that any shop may use, and records
// the calls.
type service struct {
	*kith.Client
	*recorder
	program string
	// connected is Tenant.Connected.
	connected bool
}

// identify creates or updates the customer at Kith. The cookie of the share link goes
// along, so that Kith can attribute a new customer.
func (s service) identify(ctx context.Context, c Customer, visitor kith.Visitor, typed string) (kith.User, error) {
	in := kith.UserInput{FirstName: &c.First, LastName: &c.Last, Email: &c.Email}
	goCodes, tsCodes := "", ""
	if typed != "" {
		in.ReferredByCodes = []kith.ReferralCode{typed}
		goCodes, tsCodes = ",\n\tReferredByCodes: []string{"+strconv.Quote(typed)+"}", ", referredByCodes: ["+strconv.Quote(typed)+"]"
	}
	id, first, last, email := strconv.Quote(c.ID), strconv.Quote(c.First), strconv.Quote(c.Last), strconv.Quote(c.Email)
	s.announce("Identify the customer, with the cookie of the browser",
		"ctx = kith.WithVisitor(ctx, client.ForwardedVisitor(r, \"\"))\nuser, err := client.UpsertUser(ctx, "+id+", "+id+", kith.UpsertUserParams{}, kith.UserInput{\n\tFirstName: kith.Ptr("+first+"), LastName: kith.Ptr("+last+"), Email: kith.Ptr("+email+")"+goCodes+",\n})",
		"const visitor = forwardedVisitor(request.headers, kith.tenant);\nconst user = await kith.upsertUser({\n  account: "+id+", user: "+id+",\n  body: { firstName: "+first+", lastName: "+last+", email: "+email+tsCodes+" },\n}, { visitor });")
	return s.UpsertUser(kith.WithVisitor(ctx, visitor), c.ID, c.ID, kith.UpsertUserParams{}, in)
}

// user returns the customer as Kith knows them.
func (s service) user(ctx context.Context, c Customer) (kith.User, error) {
	id := strconv.Quote(c.ID)
	s.announce("Read the customer's share link",
		"user, err := client.GetUser(ctx, "+id+", "+id+", kith.GetUserParams{})\nlink := user.ProgramShareLinks["+strconv.Quote(s.program)+"].CleanShareLink",
		"const user = await kith.getUser({ account: "+id+", user: "+id+" });\nconst link = user.programShareLinks?.["+strconv.Quote(s.program)+"]?.cleanShareLink;")
	return s.GetUser(ctx, c.ID, c.ID, kith.GetUserParams{})
}

// code looks a friend's code up and returns the discount that it gives.
func (s service) code(ctx context.Context, code string) (kith.Code, basisPoints, error) {
	s.announce("Look the friend's code up: what discount does it give?",
		"code, err := client.GetCode(ctx, "+strconv.Quote(code)+")\ndiscount := code.DiscountPercentage",
		"const { discountPercentage } = await kith.getCode({ code: "+strconv.Quote(code)+" });")
	found, err := s.GetCode(ctx, code)
	// A percentage with two decimals: no amount of money passes through the float.
	return found, basisPoints(math.Round(found.DiscountPercentage * 100)), err
}

// purchase reports an order. The idempotency key makes a repeated call harmless.
func (s service) purchase(ctx context.Context, c Customer, order string, revenue cents) error {
	return s.log(ctx, c, "Report the order: the event purchase", "order-"+order, "purchase",
		[]field{{"order_id", strconv.Quote(order)}, {"revenue", revenue.decimal()}, {"currency", strconv.Quote(currency)}})
}

// refund reports that an order was returned as a whole.
func (s service) refund(ctx context.Context, c Customer, order string) error {
	return s.log(ctx, c, "Report the return: the event refund", "refund-"+order, "refund", []field{{"order_id", strconv.Quote(order)}})
}

// field is a field of an event; json is its value.
type field struct{ name, json string }

func (s service) log(ctx context.Context, c Customer, title, key, event string, fields []field) error {
	id, goFields, tsFields := strconv.Quote(c.ID), "", ""
	values := map[string]any{}
	for _, f := range fields {
		goFields += strconv.Quote(f.name) + ": " + f.json + ", "
		tsFields += f.name + ": " + f.json + ", "
		values[f.name] = json.RawMessage(f.json)
	}
	s.announce(title,
		"_, err := client.LogEvents(ctx, "+id+", "+id+", kith.EventsInput{\n\tIdempotencyKey: kith.Ptr("+strconv.Quote(key)+"),\n\tEvents: []kith.EventInput{{Key: "+strconv.Quote(event)+", Fields: map[string]any{"+goFields[:len(goFields)-2]+"}}},\n})\nerr = kith.Once(err) // the service has the event already: that is success",
		"await once(kith.logEvents({\n  account: "+id+", user: "+id+",\n  body: { idempotencyKey: "+strconv.Quote(key)+", events: [{ key: "+strconv.Quote(event)+", fields: { "+tsFields[:len(tsFields)-2]+" } }] },\n}));")
	_, err := s.LogEvents(ctx, c.ID, c.ID, kith.EventsInput{
		IdempotencyKey: &key, Events: []kith.EventInput{{Key: event, Fields: values}},
	})
	return kith.Once(err)
}

// sync reports the status of the account's subscription, unless Kith is connected to the
// gateway.
func (s service) sync(ctx context.Context, c Customer, status kith.SubscriptionStatus) error {
	if s.connected {
		return nil
	}
	id, quotedStatus := strconv.Quote(c.ID), strconv.Quote(string(status))
	s.announce("Report the status of the subscription",
		"_, err := client.SyncAccount(ctx, kith.AccountInput{\n\tID: "+id+", Subscription: &kith.SubscriptionInput{Status: kith.Ptr(kith.SubscriptionStatus"+string(status)+")},\n})",
		"await kith.syncAccount({ body: { id: "+id+", subscription: { status: "+quotedStatus+" } } });")
	_, err := s.SyncAccount(ctx, kith.AccountInput{ID: c.ID, Subscription: &kith.SubscriptionInput{Status: &status}})
	return err
}

// attributions returns the decisions about the codes of the customer.
func (s service) attributions(ctx context.Context, c Customer) ([]kith.Attribution, error) {
	id := strconv.Quote(c.ID)
	s.announce("Ask why the customer was attributed, or not",
		"page, err := client.ListAttributions(ctx, kith.ListAttributionsParams{AccountID: kith.Ptr("+id+")})",
		"const { attributions } = await kith.listAttributions({ accountId: "+id+" });")
	page, err := s.ListAttributions(ctx, kith.ListAttributionsParams{AccountID: &c.ID})
	return page.Attributions, err
}

// referred returns the referral by which the customer came, or nil.
func (s service) referred(ctx context.Context, c Customer) (*kith.Referral, error) {
	id := strconv.Quote(c.ID)
	s.announce("Find the referral of the customer",
		"page, err := client.ListReferrals(ctx, kith.ListReferralsParams{ReferredAccountID: kith.Ptr("+id+")})",
		"const { referrals } = await kith.listReferrals({ referredAccountId: "+id+" });")
	page, err := s.ListReferrals(ctx, kith.ListReferralsParams{ReferredAccountID: &c.ID})
	if err != nil || len(page.Referrals) == 0 {
		return nil, err
	}
	return &page.Referrals[0], nil
}

// maxFriends is the most friends that the account page shows.
const maxFriends = 20

// friends returns the referrals that the customer made, and how many there are.
func (s service) friends(ctx context.Context, c Customer) ([]kith.Referral, int64, error) {
	id := strconv.Quote(c.ID)
	s.announce("List the friends whom the customer referred",
		"page, err := client.ListReferrals(ctx, kith.ListReferralsParams{ReferringAccountID: kith.Ptr("+id+"), Limit: kith.Ptr(int32("+strconv.Itoa(maxFriends)+"))})",
		"const { referrals } = await kith.listReferrals({ referringAccountId: "+id+", limit: "+strconv.Itoa(maxFriends)+" });")
	page, err := s.ListReferrals(ctx, kith.ListReferralsParams{ReferringAccountID: &c.ID, Limit: kith.Ptr(int32(maxFriends))})
	return page.Referrals, page.TotalCount, err
}

// orders returns what Kith decided about the orders of a referral.
func (s service) orders(ctx context.Context, referral string) ([]kith.Order, error) {
	s.announce("Ask what the orders earned, and why",
		"page, err := client.ListOrders(ctx, "+strconv.Quote(referral)+", kith.ListOrdersParams{})",
		"const { orders } = await kith.listOrders({ id: "+strconv.Quote(referral)+" });")
	page, err := s.ListOrders(ctx, referral, kith.ListOrdersParams{})
	return page.Orders, err
}

// widget returns the customer's widget as HTML.
func (s service) widget(ctx context.Context, c Customer) (string, error) {
	id, kind := strconv.Quote(c.ID), "p/"+s.program+"/w/referrerWidget"
	s.announce("Render the widget",
		"widget, err := client.RenderWidget(ctx, "+id+", "+id+", kith.RenderWidgetParams{WidgetType: kith.Ptr("+strconv.Quote(kind)+")})",
		"const { template } = await kith.renderWidget({ account: "+id+", user: "+id+", widgetType: "+strconv.Quote(kind)+" });")
	medium := kith.EngagementMedium("EMBED")
	page, err := s.RenderWidget(ctx, c.ID, c.ID, kith.RenderWidgetParams{WidgetType: &kind, EngagementMedium: &medium})
	return page.Template, err
}

// Kith applies an event within a second of its receipt. A page waits for its decision at
// most decisionWait, and asks every decisionPoll.
const (
	decisionWait = 3 * time.Second
	decisionPoll = 60 * time.Millisecond
)

// decided waits until Kith has decided about an order of a referral, and returns the
// orders of the referral; settled reports whether the order is as the page expects it.
func (s service) decided(ctx context.Context, referral string, settled func([]kith.Order) bool) ([]kith.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, decisionWait)
	defer cancel()
	for {
		found, err := s.orders(ctx, referral)
		if err != nil || settled(found) {
			return found, err
		}
		select {
		case <-ctx.Done():
			// The page says that the decision is pending.
			return found, nil
		case <-time.After(decisionPoll):
		}
	}
}

// unknown reports whether Kith does not know what a call is about.
func unknown(err error) bool {
	var refused *kith.Error
	return errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound
}
