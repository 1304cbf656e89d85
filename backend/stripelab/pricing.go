package stripelab

import "math/big"

// priced is a line of what is paid: of an invoice, a checkout session or a preview.
type priced struct {
	price    object
	quantity int64
	// amount is before discounts and tax.
	amount      int64
	description string
	start, end  int64
	// proration is whether it is for the rest of a period; it gets no discount.
	proration    bool
	subscription string
	// item is the subscription item, and pending the invoice item, that it comes from.
	item, pending string
	metadata      map[string]string

	// The rest is computed by total. offs are the discounts in their order.
	offs []int64
	tax  int64
	rate object
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
	// offs is what each coupon takes off.
	offs                      []int64
	subtotal, off, tax, total int64
}

// total computes the discounts in their order, then tax if it is automatic, then the sums.
// Prices do not include tax.
func (b *book) total(currency string, lines []*priced, coupons []object, automatic bool) *bill {
	t := &bill{currency: currency, lines: lines}
	for _, p := range lines {
		t.subtotal += p.amount
		p.offs = make([]int64, len(coupons))
	}
	t.offs = make([]int64, len(coupons))
	for i, coupon := range coupons {
		t.discount(i, coupon)
	}
	for _, p := range lines {
		if p.rate, p.tax = nil, 0; automatic {
			p.rate, p.tax = b.taxRate(), percent(p.amount-p.off(), b.settings.taxPercent, currency)
		}
		t.tax += p.tax
	}
	t.total = t.subtotal - t.off + t.tax
	return t
}

// discount takes a coupon off the lines. Each line has its share, and the last one what
// rounding leaves.
func (t *bill) discount(i int, coupon object) {
	var eligible []*priced
	var rest int64
	for _, p := range t.lines {
		if p.proration || p.amount-p.off() <= 0 {
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

// taxes returns the tax of lines, as invoices answer it. All lines have the same rate.
func taxes(lines []*priced) []object {
	var tax, net int64
	var rate object
	for _, p := range lines {
		if p.rate != nil {
			rate, tax, net = p.rate, tax+p.tax, net+p.amount-p.off()
		}
	}
	if rate == nil {
		return []object{}
	}
	return []object{{
		"amount": tax, "tax_behavior": "exclusive", "tax_rate_details": object{"tax_rate": rate.id()}, "taxability_reason": "standard_rated",
		"taxable_amount": net, "type": "tax_rate_details",
	}}
}
