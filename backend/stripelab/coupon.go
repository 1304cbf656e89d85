package stripelab

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"kith/backend/labkit"
)

func (b *book) createCoupon(c *call) object {
	f := c.form
	percentOff, amountOff := f.has("percent_off"), f.has("amount_off")
	if percentOff == amountOff {
		return c.refuse(invalid("", "", "You must pass exactly one of `percent_off` or `amount_off`."))
	}
	o := object{
		"id": f.str("id"), "object": "coupon", "amount_off": nil, "created": b.unix(), "currency": nil,
		"duration": c.oneOf(f, "duration", "duration", "once", "once", "repeating", "forever"), "duration_in_months": nil, "livemode": false,
		"max_redemptions": nil, "metadata": c.metadata(f, nil), "name": or(f.str("name")), "percent_off": nil, "redeem_by": nil, "times_redeemed": int64(0), "valid": true,
	}
	if o.id() == "" {
		o["id"] = strings.ToUpper(b.secret("x")[2:10])
	}
	if old := b.all[o.id()]; old != nil && !old.yes("_deleted") {
		c.refuse(invalid("resource_already_exists", "id", "Coupon already exists."))
	}
	if percentOff {
		rate := c.decimal(f.str("percent_off"), "percent_off")
		if rate <= 0 || rate > 100 {
			c.refuse(invalid("", "percent_off", "Invalid percent_off: must be greater than 0 and at most 100"))
		}
		o["percent_off"] = rate
	} else {
		currency := c.currency(f, "currency")
		o["amount_off"], o["currency"] = c.amountOf(f, "amount_off", "amount_off", currency), currency
		if o.num("amount_off") <= 0 {
			c.refuse(invalid("parameter_invalid_integer", "amount_off", "This value must be greater than or equal to 1."))
		}
	}
	if o.text("duration") == "repeating" {
		c.need("duration_in_months")
		o["duration_in_months"] = c.number(f, "duration_in_months", "duration_in_months")
		if n := o.num("duration_in_months"); n < 1 || n > 120 {
			c.refuse(invalid("", "duration_in_months", "Invalid duration_in_months: must be between 1 and 120"))
		}
	} else if f.has("duration_in_months") {
		c.refuse(invalid("", "duration_in_months", "You cannot set `duration_in_months` unless `duration` is `repeating`."))
	}
	o["max_redemptions"] = whole(c.number(f, "max_redemptions", "max_redemptions"))
	if c.failed != nil {
		return nil
	}
	b.emit("coupon.created", b.add(o), nil)
	return o
}

func (b *book) updateCoupon(c *call, o object) object {
	metadata := c.metadata(c.form, meta(o))
	if c.failed != nil {
		return nil
	}
	b.change("coupon.updated", o, func() {
		o["metadata"] = metadata
		if c.form.has("name") {
			o["name"] = or(c.form.str("name"))
		}
	})
	return o
}

// deleteCoupon deletes a coupon. Discounts that were made from it stay, as at the gateway.
func (b *book) deleteCoupon(_ *call, o object) object {
	o["valid"] = false
	b.remove(o)
	b.emit("coupon.deleted", o, nil)
	return deleted(o)
}

// The characters of a promotion code.
var codeText = regexp.MustCompile(`^[A-Za-z0-9-]{1,500}$`)

func (b *book) createPromotion(c *call) object {
	f := c.form
	c.need("promotion")
	c.oneOf(f.at("promotion"), "type", "promotion[type]", "", "coupon")
	coupon := b.referred(c, "coupon", f.str("promotion", "coupon"), "promotion[coupon]")
	if coupon == nil {
		return c.refuse(invalid("parameter_missing", "promotion[coupon]", "Missing required param: promotion[coupon]."))
	}
	o := object{
		"id": b.id("promo"), "object": "promotion_code", "active": true, "code": f.str("code"), "created": b.unix(), "customer": nil,
		"customer_account": nil, "expires_at": nil, "livemode": false,
		"max_redemptions": whole(c.number(f, "max_redemptions", "max_redemptions")), "metadata": c.metadata(f, nil),
		"promotion":    object{"coupon": coupon.id(), "type": "coupon"},
		"restrictions": object{"first_time_transaction": false, "minimum_amount": nil, "minimum_amount_currency": nil}, "times_redeemed": int64(0),
	}
	if o.text("code") == "" {
		o["code"] = strings.ToUpper(b.secret("x")[2:10])
	}
	if !codeText.MatchString(o.text("code")) {
		c.refuse(invalid("", "code", "Invalid code: Only letters (a-z, A-Z), digits (0-9) and dashes (-) are allowed."))
	}
	if n, most := o.num("max_redemptions"), coupon.num("max_redemptions"); most > 0 && n > most {
		c.refuse(invalid("", "max_redemptions", "The max_redemptions of a promotion code cannot be greater than that of its coupon."))
	}
	if !coupon.yes("valid") {
		c.refuse(invalid("coupon_expired", "promotion[coupon]", "The coupon is not valid."))
	}
	b.refuseTaken(c, o)
	if c.failed != nil {
		return nil
	}
	b.emit("promotion_code.created", b.add(o), nil)
	return o
}

// refuseTaken refuses a promotion code whose text an active one has.
func (b *book) refuseTaken(c *call, o object) {
	for _, other := range b.table("promotion_code") {
		if other.id() != o.id() && other.yes("active") && strings.EqualFold(other.text("code"), o.text("code")) {
			c.refuse(invalid("", "code", "An active promotion code with `code: "+o.text("code")+"` already exists."))
			return
		}
	}
}

func (b *book) updatePromotion(c *call, o object) object {
	metadata := c.metadata(c.form, meta(o))
	if c.form.yes("active") && !o.yes("active") {
		b.refuseTaken(c, o)
		if coupon := b.all[o.at("promotion").text("coupon")]; !coupon.yes("valid") {
			c.refuse(invalid("coupon_expired", "active", "A promotion code of a coupon that is not valid cannot be active."))
		}
	}
	if c.failed != nil {
		return nil
	}
	b.change("promotion_code.updated", o, func() {
		o["metadata"] = metadata
		if c.form.has("active") {
			o["active"] = c.form.yes("active")
		}
	})
	return o
}

func (b *book) listPromotions(c *call) object {
	code := c.form.str("code")
	return b.list(c, "promotion_code", []string{"active"}, func(o object) bool { return code == "" || strings.EqualFold(o.text("code"), code) })
}

// grant is a coupon that is to become a discount, and the promotion code by which it was
// got, if any.
type grant struct{ coupon, promotion object }

// grants reads discounts[]: each names a coupon, a promotion code, or a discount that is to
// stay.
func (b *book) grants(c *call, f *form, param, currency string) (made []grant, kept []object) {
	for _, one := range f.list(param) {
		switch {
		case one.str("coupon") != "":
			if coupon := b.referred(c, "coupon", one.str("coupon"), param+"[coupon]"); coupon != nil {
				b.refuseCoupon(c, coupon, currency)
				made = append(made, grant{coupon, nil})
			}
		case one.str("promotion_code") != "":
			p := b.referred(c, "promotion_code", one.str("promotion_code"), param+"[promotion_code]")
			if p == nil {
				continue
			}
			coupon := b.all[p.at("promotion").text("coupon")]
			if why := b.unusable(p, currency); why != "" {
				c.refuse(invalid("", param+"[promotion_code]", why))
			}
			made = append(made, grant{coupon, p})
		case one.str("discount") != "":
			if d := b.referred(c, "discount", one.str("discount"), param+"[discount]"); d != nil {
				kept = append(kept, d)
			}
		default:
			c.refuse(invalid("parameter_missing", param, "A discount needs a coupon, a promotion_code or a discount."))
		}
	}
	if n := len(made) + len(kept); n > 20 {
		c.refuse(invalid("", param, "You can have up to 20 discounts."))
	}
	return made, kept
}

func (b *book) refuseCoupon(c *call, coupon object, currency string) {
	switch {
	case !coupon.yes("valid"):
		c.refuse(invalid("coupon_expired", "discounts", "Coupon expired: "+coupon.id()))
	case coupon.text("currency") != "" && currency != "" && coupon.text("currency") != currency:
		c.refuse(invalid("", "discounts", "The currency of the coupon ("+coupon.text("currency")+") does not match "+currency+"."))
	}
}

// unusable returns why a promotion code cannot be used, or "".
func (b *book) unusable(p object, currency string) string {
	coupon := b.all[p.at("promotion").text("coupon")]
	switch {
	case !p.yes("active"), !coupon.yes("valid"):
		return "This promotion code cannot be redeemed because it is not active."
	case coupon.text("currency") != "" && currency != "" && coupon.text("currency") != currency:
		return "This promotion code cannot be redeemed: its currency is " + coupon.text("currency") + "."
	}
	return ""
}

// redeem makes a discount, and counts it. owner is the subscription, or nil for that of an
// order.
func (b *book) redeem(g grant, customer, owner object) object {
	d := object{
		"id": b.id("di"), "object": "discount", "checkout_session": nil, "customer": nil, "customer_account": nil, "end": nil, "invoice": nil, "invoice_item": nil,
		"promotion_code": nil, "source": object{"type": "coupon", "coupon": g.coupon.id()}, "start": b.unix(), "subscription": nil, "subscription_item": nil,
	}
	if customer != nil {
		d["customer"] = customer.id()
	}
	if owner != nil {
		d["subscription"] = owner.id()
	}
	if g.coupon.text("duration") == "repeating" {
		d["end"] = labkit.AddMonths(b.now, int(g.coupon.num("duration_in_months"))).Unix()
	}
	b.count(g.coupon, "valid", "coupon.updated")
	if g.promotion != nil {
		d["promotion_code"] = g.promotion.id()
		b.count(g.promotion, "active", "promotion_code.updated")
	}
	return b.add(d)
}

// count counts a redemption; the last one ends the validity.
func (b *book) count(o object, valid, event string) {
	b.change(event, o, func() {
		o["times_redeemed"] = o.num("times_redeemed") + 1
		if most := o.num("max_redemptions"); most > 0 && o.num("times_redeemed") >= most {
			o[valid] = false
		}
	})
}

// endDiscount removes a discount whose time is over, or that was for one invoice.
func (b *book) endDiscount(d object) {
	d["_ended"] = true
	if owner := b.all[d.text("subscription")]; owner != nil {
		owner["discounts"] = slices.DeleteFunc(slices.Clone(owner.texts("discounts")), func(id string) bool { return id == d.id() })
	}
	if d["end"] == nil {
		d["end"] = b.unix()
	}
	b.emit("customer.discount.deleted", d, nil)
}

// applicable reports whether a discount applies to an invoice of now.
func (b *book) applicable(d object) bool {
	return !d.yes("_ended") && (d.num("end") == 0 || time.Unix(d.num("end"), 0).After(b.now))
}
