package stripe

import (
	"context"
	"strconv"
	"strings"

	"kith/core/reward"
)

// coupon is a coupon that Kith makes. Its terms are in its id, so that it is made once for
// all customers with these terms, and its share of a bill is known without reading it.
type coupon struct {
	// Percent is the percentage. If it is zero, Amount is an amount of Stripe in
	// Currency, which one bill has.
	percent  reward.BasisPoints
	amount   int64
	currency string
	// months is for how many months a percentage applies; zero for all bills.
	months int
}

// prefix begins the ids of Kith's coupons.
const prefix = "kith"

func (c coupon) id(tenant string) string {
	terms := "c" + strconv.FormatInt(c.amount, 10) + strings.ToLower(c.currency)
	switch {
	case c.percent > 0 && c.months > 0:
		terms = "p" + strconv.FormatInt(int64(c.percent), 10) + "m" + strconv.Itoa(c.months)
	case c.percent > 0:
		terms = "p" + strconv.FormatInt(int64(c.percent), 10)
	}
	return prefix + "-" + terms + "-" + tenant
}

// termsOf returns the terms in the id of a coupon of the tenant: they begin with p for a
// percentage, with c for an amount. Other coupons have none.
func (g *adapter) termsOf(coupon named) string {
	parts := strings.SplitN(string(coupon), "-", 3)
	if len(parts) != 3 || parts[0] != prefix || parts[2] != string(g.tenant) {
		return ""
	}
	return parts[1]
}

// percentOf returns the percentage in terms, or zero.
func percentOf(terms string) reward.BasisPoints {
	text, found := strings.CutPrefix(terms, "p")
	text, _, _ = strings.Cut(text, "m")
	n, err := strconv.ParseInt(text, 10, 32)
	if !found || err != nil {
		return 0
	}
	return reward.BasisPoints(n)
}

// amountOf returns the amount of Stripe in terms, or zero.
func amountOf(terms string) int64 {
	text, found := strings.CutPrefix(terms, "c")
	n, err := strconv.ParseInt(strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz"), 10, 64)
	if !found || err != nil {
		return 0
	}
	return n
}

// makeCoupon makes a coupon unless it exists, and returns its id.
func (g *adapter) makeCoupon(ctx context.Context, c coupon) (string, error) {
	id := c.id(string(g.tenant))
	if _, known := g.coupons.Load(id); known {
		return id, nil
	}
	p := params{"id": {id}, "metadata[" + tenantKey + "]": {string(g.tenant)}}
	switch {
	case c.percent > 0:
		p.Set("percent_off", c.percent.String())
		p.Set("duration", "forever")
		p.Set("name", "Referral "+c.percent.String()+" %")
		if c.months > 0 {
			p.Set("duration", "repeating")
			p.Set("duration_in_months", strconv.Itoa(c.months))
		}
	default:
		p.Set("amount_off", decimal(c.amount))
		p.Set("currency", strings.ToLower(c.currency))
		p.Set("duration", "once")
		p.Set("name", "Referral credit")
	}
	_, err := post[identified](ctx, g.api, p, "coupons")
	if err != nil && refused(err).Code != resourceAlreadyExists {
		return "", err
	}
	g.coupons.Store(id, true)
	return id, nil
}
