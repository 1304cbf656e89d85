package stripelab

import (
	"math/big"
	"strconv"
)

// priced is a line of what is paid: of an invoice, a checkout session or a preview.
type priced struct {
	price    object
	quantity int64
	// amount is before discounts, tax included if its tax is inclusive.
	amount       int64
	description  string
	start, end   int64
	proration    bool
	noDiscount   bool
	subscription string
	// item is the subscription item, and pending the invoice item, that it comes from.
	item, pending string
	metadata      map[string]string

	// The rest is computed by total. offs are the discounts in their order.
	offs      []int64
	tax       int64
	inclusive bool
	rate      object
}

func (p *priced) off() (sum int64) {
	for _, off := range p.offs {
		sum += off
	}
	return sum
}

// bill is a set of lines with their sums.
type bill struct {
	currency string
	lines    []*priced
	coupons  []object
	// offs is what each coupon takes off.
	offs []int64
	// tax is all tax, and included the part of it that the prices include.
	subtotal, off, tax, included, shipping, total int64
}

// total computes the discounts in their order, then tax, then the sums. rates are tax rates;
// automatic is whether the rate of the settings applies.
func (b *book) total(currency string, lines []*priced, coupons, rates []object, automatic bool, shipping int64) *bill {
	t := &bill{currency: currency, lines: lines, coupons: coupons, shipping: shipping}
	for _, p := range lines {
		t.subtotal += p.amount
		p.offs = make([]int64, len(coupons))
	}
	t.offs = make([]int64, len(coupons))
	for i, coupon := range coupons {
		t.discount(i, coupon)
	}
	for _, p := range lines {
		b.taxLine(p, rates, automatic, currency)
		t.tax += p.tax
		if p.inclusive {
			t.included += p.tax
		}
	}
	t.total = t.subtotal - t.off + t.tax - t.included + shipping
	return t
}

// discount takes a coupon off the lines. Each line has its share, and the last one what
// rounding leaves.
func (t *bill) discount(i int, coupon object) {
	var eligible []*priced
	var rest int64
	for _, p := range t.lines {
		if p.noDiscount || p.proration && coupon.num("amount_off") > 0 || p.amount-p.off() <= 0 || !applies(coupon, p) {
			continue
		}
		eligible = append(eligible, p)
		rest += p.amount - p.off()
	}
	off := min(coupon.num("amount_off"), rest)
	if rate, is := coupon["percent_off"].(float64); is {
		off = percent(rest, rate, t.currency)
	} else if coupon.text("currency") != t.currency {
		off = 0
	}
	left := off
	for n, p := range eligible {
		part := share(off, big.NewRat(p.amount-p.off(), 1), big.NewRat(rest, 1), t.currency)
		if n == len(eligible)-1 {
			part = left
		}
		p.offs[i] = part
		left -= part
	}
	t.offs[i] = off
	t.off += off
}

func applies(coupon object, p *priced) bool {
	products := coupon.at("_applies_to").texts("products")
	return len(products) == 0 || p.price != nil && contains(products, p.price.text("product"))
}

// taxLine computes the tax of a line: with the first of its rates, or with that of the
// settings. Several rates of one line are not modeled.
func (b *book) taxLine(p *priced, rates []object, automatic bool, currency string) {
	p.rate, p.tax, p.inclusive = nil, 0, false
	switch {
	case len(rates) > 0:
		p.rate, p.inclusive = rates[0], rates[0].yes("inclusive")
	case automatic:
		p.inclusive = p.price != nil && p.price.text("tax_behavior") == "inclusive"
		p.rate = b.automaticRate(p.inclusive)
	default:
		return
	}
	rate, _ := p.rate["percentage"].(float64)
	net := p.amount - p.off()
	if !p.inclusive {
		p.tax = percent(net, rate, currency)
		return
	}
	part, _ := new(big.Rat).SetString(strconv.FormatFloat(rate, 'f', -1, 64))
	p.tax = share(net, part, new(big.Rat).Add(part, big.NewRat(100, 1)), currency)
}

// taxes returns the taxes of lines by rate, as invoices answer them.
func taxes(lines []*priced) []object {
	all := []object{}
	for _, p := range lines {
		if p.rate == nil {
			continue
		}
		net := p.amount - p.off()
		behavior := "exclusive"
		if p.inclusive {
			behavior, net = "inclusive", net-p.tax
		}
		var same object
		for _, one := range all {
			if one.at("tax_rate_details").text("tax_rate") == p.rate.id() && one.text("tax_behavior") == behavior {
				same = one
			}
		}
		if same == nil {
			same = object{
				"amount": int64(0), "tax_behavior": behavior, "tax_rate_details": object{"tax_rate": p.rate.id()}, "taxability_reason": "standard_rated",
				"taxable_amount": int64(0), "type": "tax_rate_details",
			}
			all = append(all, same)
		}
		same["amount"], same["taxable_amount"] = same.num("amount")+p.tax, same.num("taxable_amount")+net
	}
	return all
}

// rates returns the tax rates that a parameter names.
func (b *book) rates(c *call, f *form, param string) []object {
	var all []object
	for _, id := range f.texts(param) {
		if rate := b.referred(c, "tax_rate", id, param); rate != nil {
			all = append(all, rate)
		}
	}
	if len(all) > 1 {
		c.refuse(invalid("", param, "The lab models one tax rate for each line."))
	}
	return all
}
