package stripelab

import "strconv"

// newProduct reads the product of a price, which is not stored yet.
func (b *book) newProduct(c *call, f *form, param string) object {
	if f.str("name") == "" {
		c.refuse(invalid("parameter_missing", param+"[name]", "Missing required param: "+param+"[name]."))
	}
	return object{
		"id": b.id("prod"), "object": "product", "active": true, "created": b.unix(), "default_price": nil, "description": nil, "images": []string{},
		"livemode": false, "marketing_features": []object{}, "metadata": map[string]string{}, "name": f.str("name"), "package_dimensions": nil, "shippable": nil,
		"statement_descriptor": nil, "tax_code": nil, "unit_label": nil, "updated": b.unix(), "url": nil,
	}
}

func (b *book) createPrice(c *call) object {
	product := b.newProduct(c, c.form.at("product_data"), "product_data")
	o := b.newPrice(c, c.form, "")
	if c.failed != nil {
		return nil
	}
	o["product"] = product.id()
	b.add(product)
	b.emit("product.created", product, nil)
	b.add(o)
	b.emit("price.created", o, nil)
	return o
}

// newPrice reads a price without its product, which is not stored yet. Prices in tiers or by
// usage are not modeled.
func (b *book) newPrice(c *call, f *form, prefix string) object {
	param := func(name string) string {
		if prefix == "" {
			return name
		}
		return prefix + "[" + name + "]"
	}
	currency := c.currency(f, param("currency"))
	amount := c.amountOf(f, "unit_amount", param("unit_amount"), currency)
	if !f.has("unit_amount") {
		c.refuse(invalid("parameter_missing", param("unit_amount"), "Missing required param: "+param("unit_amount")+"."))
	}
	if amount < 0 {
		c.refuse(invalid("parameter_invalid_integer", param("unit_amount"), "This value must be greater than or equal to 0."))
	}
	o := object{
		"id": b.id("price"), "object": "price", "active": true, "billing_scheme": "per_unit", "created": b.unix(),
		"currency": currency, "custom_unit_amount": nil, "livemode": false, "lookup_key": nil, "metadata": c.metadata(f, nil),
		"nickname": nil, "product": nil, "recurring": nil, "tax_behavior": "unspecified", "tiers_mode": nil,
		"transform_quantity": nil, "type": "one_time", "unit_amount": amount, "unit_amount_decimal": strconv.FormatInt(amount, 10),
	}
	if recurring := f.at("recurring"); recurring != nil {
		interval := c.oneOf(recurring, "interval", param("recurring")+"[interval]", "", "day", "week", "month", "year")
		if interval == "" {
			c.refuse(invalid("parameter_missing", param("recurring")+"[interval]", "Missing required param: "+param("recurring")+"[interval]."))
		}
		o["type"] = "recurring"
		o["recurring"] = object{"interval": interval, "interval_count": int64(1), "meter": nil, "usage_type": "licensed"}
	}
	return o
}

// priceFor returns the price of an element of items or line_items: a stored one, or one
// that is made from price_data.
func (b *book) priceFor(c *call, f *form, param string) object {
	if id := f.str("price"); id != "" {
		return b.referred(c, "price", id, param+"[price]")
	}
	data := f.at("price_data")
	if data == nil {
		return c.refuse(invalid("parameter_missing", param+"[price]", "Missing required param: "+param+"[price]."))
	}
	product := b.newProduct(c, data.at("product_data"), param+"[price_data][product_data]")
	p := b.newPrice(c, data, param+"[price_data]")
	if c.failed != nil {
		return nil
	}
	// Prices that are made for one purchase are inactive.
	p["active"], p["product"] = false, b.add(product).id()
	return b.add(p)
}

// taxRate returns the rate of automatic tax.
func (b *book) taxRate() object {
	for _, o := range b.table("tax_rate") {
		if o["percentage"] == b.settings.taxPercent {
			return o
		}
	}
	return b.add(object{
		"id": b.id("txr"), "object": "tax_rate", "active": true, "country": nil, "created": b.unix(), "description": nil, "display_name": "Lab tax",
		"effective_percentage": b.settings.taxPercent, "flat_amount": nil, "inclusive": false, "jurisdiction": nil, "jurisdiction_level": nil, "livemode": false,
		"metadata": map[string]string{}, "percentage": b.settings.taxPercent, "rate_type": "percentage", "state": nil, "tax_type": nil,
	})
}

// newShippingRate stores a shipping rate that an element of shipping_options has.
func (b *book) newShippingRate(c *call, f *form, param string) object {
	fixed := f.at("fixed_amount")
	if fixed == nil || f.str("display_name") == "" {
		return c.refuse(invalid("parameter_missing", param+"[fixed_amount]", "Missing required params: display_name, fixed_amount."))
	}
	currency := c.currency(fixed, param+"[fixed_amount][currency]")
	amount := c.amountOf(fixed, "amount", param+"[fixed_amount][amount]", currency)
	if c.failed != nil {
		return nil
	}
	return b.add(object{
		"id": b.id("shr"), "object": "shipping_rate", "active": true, "created": b.unix(), "delivery_estimate": nil, "display_name": f.str("display_name"),
		"fixed_amount": object{"amount": amount, "currency": currency}, "livemode": false, "metadata": map[string]string{}, "tax_behavior": "unspecified",
		"tax_code": nil, "type": "fixed_amount",
	})
}
