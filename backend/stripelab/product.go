package stripelab

import (
	"strconv"
	"strings"
)

func (b *book) createProduct(c *call) object {
	c.need("name")
	o := b.newProduct(c, c.form)
	if id := c.form.str("id"); id != "" {
		if b.all[id] != nil {
			return c.refuse(invalid("resource_already_exists", "id", "Product already exists."))
		}
		o["id"] = id
	}
	var price object
	if data := c.form.at("default_price_data"); data != nil {
		price = b.newPrice(c, data, "default_price_data", o.id())
	}
	if c.failed != nil {
		return nil
	}
	b.add(o)
	b.emit("product.created", o, nil)
	if price != nil {
		b.add(price)
		b.emit("price.created", price, nil)
		o["default_price"] = price.id()
	}
	return o
}

func (b *book) newProduct(c *call, f *form) object {
	o := object{
		"id": b.id("prod"), "object": "product", "active": !f.has("active") || f.yes("active"), "created": b.unix(), "default_price": nil,
		"description": or(f.str("description")), "images": []string{}, "livemode": false, "marketing_features": []object{}, "metadata": c.metadata(f, nil),
		"name": f.str("name"), "package_dimensions": nil, "shippable": nil, "statement_descriptor": nil, "tax_code": nil, "unit_label": nil,
		"updated": b.unix(), "url": nil,
	}
	if f.has("images") {
		o["images"] = f.texts("images")
	}
	return o
}

func (b *book) updateProduct(c *call) object {
	o := b.named(c, "product")
	if o == nil {
		return nil
	}
	metadata := c.metadata(c.form, meta(o))
	price := b.referred(c, "price", c.form.str("default_price"), "default_price")
	if c.failed != nil {
		return nil
	}
	b.change("product.updated", o, func() {
		o["metadata"], o["updated"] = metadata, b.unix()
		if price != nil {
			o["default_price"] = price.id()
		}
		if c.form.has("name") {
			o["name"] = c.form.str("name")
		}
		if c.form.has("description") {
			o["description"] = or(c.form.str("description"))
		}
		if c.form.has("active") {
			o["active"] = c.form.yes("active")
		}
	})
	return o
}

func (b *book) deleteProduct(c *call) object {
	o := b.named(c, "product")
	if o == nil {
		return nil
	}
	if len(b.where("price", "product", o.id())) > 0 {
		return c.refuse(invalid("", "", "This product cannot be deleted because it has one or more user-created prices."))
	}
	b.remove(o)
	b.emit("product.deleted", o, nil)
	return object{"id": o.id(), "object": o.kind(), "deleted": true}
}

func (b *book) listProducts(c *call) object {
	ids := c.form.texts("ids")
	return b.list(c, "product", []string{"active"}, func(o object) bool { return len(ids) == 0 || contains(ids, o.id()) })
}

func contains(all []string, one string) bool {
	for _, other := range all {
		if other == one {
			return true
		}
	}
	return false
}

func (b *book) createPrice(c *call) object {
	var product object
	if data := c.form.at("product_data"); data != nil {
		product = b.newProduct(c, data)
		if !data.has("name") {
			c.refuse(invalid("parameter_missing", "product_data[name]", "Missing required param: product_data[name]."))
		}
	} else {
		c.need("product")
		product = b.referred(c, "product", c.form.str("product"), "product")
	}
	if c.failed != nil {
		return nil
	}
	o := b.newPrice(c, c.form, "", product.id())
	if c.failed != nil {
		return nil
	}
	if b.all[product.id()] == nil {
		b.add(product)
		b.emit("product.created", product, nil)
	}
	b.add(o)
	b.emit("price.created", o, nil)
	return o
}

// newPrice reads a price, which is not stored yet. Prices in tiers or by usage are not
// modeled.
func (b *book) newPrice(c *call, f *form, prefix, product string) object {
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
		"id": b.id("price"), "object": "price", "active": !f.has("active") || f.yes("active"), "billing_scheme": "per_unit", "created": b.unix(),
		"currency": currency, "custom_unit_amount": nil, "livemode": false, "lookup_key": or(f.str("lookup_key")), "metadata": c.metadata(f, nil),
		"nickname": or(f.str("nickname")), "product": product, "recurring": nil,
		"tax_behavior": c.oneOf(f, "tax_behavior", param("tax_behavior"), "unspecified", "exclusive", "inclusive", "unspecified"), "tiers_mode": nil,
		"transform_quantity": nil, "type": "one_time", "unit_amount": amount, "unit_amount_decimal": strconv.FormatInt(amount, 10),
	}
	if recurring := f.at("recurring"); recurring != nil {
		count := c.number(recurring, "interval_count", param("recurring")+"[interval_count]")
		if count == 0 {
			count = 1
		}
		interval := c.oneOf(recurring, "interval", param("recurring")+"[interval]", "", "day", "week", "month", "year")
		if most := map[string]int64{"day": 3 * 365, "week": 156, "month": 36, "year": 3}[interval]; count < 1 || count > most {
			c.refuse(invalid("", param("recurring"), "Invalid interval: want day, week, month or year, and at most three years"))
		}
		o["type"] = "recurring"
		o["recurring"] = object{"interval": interval, "interval_count": count, "meter": nil, "usage_type": "licensed"}
	}
	return o
}

func (b *book) updatePrice(c *call) object {
	o := b.named(c, "price")
	if o == nil {
		return nil
	}
	metadata := c.metadata(c.form, meta(o))
	if c.failed != nil {
		return nil
	}
	b.change("price.updated", o, func() {
		o["metadata"] = metadata
		for _, name := range []string{"nickname", "lookup_key"} {
			if c.form.has(name) {
				o[name] = or(c.form.str(name))
			}
		}
		if c.form.has("active") {
			o["active"] = c.form.yes("active")
		}
	})
	return o
}

func (b *book) listPrices(c *call) object {
	keys := c.form.texts("lookup_keys")
	return b.list(c, "price", []string{"active", "currency", "product", "type"}, func(o object) bool { return len(keys) == 0 || contains(keys, o.text("lookup_key")) })
}

// priceFor returns the price of an element of items or line_items: a stored one, or one
// that is made from price_data.
func (b *book) priceFor(c *call, f *form, param string) object {
	if id := f.str("price"); id != "" {
		p := b.referred(c, "price", id, param+"[price]")
		if p != nil && !p.yes("active") {
			c.refuse(invalid("price_inactive", param+"[price]", "The price specified is inactive. This field only accepts active prices."))
		}
		return p
	}
	data := f.at("price_data")
	if data == nil {
		return c.refuse(invalid("parameter_missing", param+"[price]", "Missing required param: "+param+"[price]."))
	}
	product := data.str("product")
	if made := data.at("product_data"); made != nil && c.failed == nil {
		if made.str("name") == "" {
			return c.refuse(invalid("parameter_missing", param+"[price_data][product_data][name]", "Missing required param: name."))
		}
		product = b.add(b.newProduct(c, made)).id()
	} else if b.referred(c, "product", product, param+"[price_data][product]") == nil {
		return c.refuse(invalid("parameter_missing", param+"[price_data][product]", "Missing required param: product."))
	}
	p := b.newPrice(c, data, param+"[price_data]", product)
	if c.failed != nil {
		return nil
	}
	// Prices that are made for one purchase are inactive, and not reused.
	p["active"] = false
	return b.add(p)
}

func (b *book) createTaxRate(c *call) object {
	c.need("display_name", "inclusive", "percentage")
	rate := c.decimal(c.form.str("percentage"), "percentage")
	if rate < 0 || rate > 100 {
		c.refuse(invalid("", "percentage", "Invalid percentage: must be between 0 and 100"))
	}
	if c.failed != nil {
		return nil
	}
	o := b.taxRate(c.form.str("display_name"), rate, c.form.yes("inclusive"))
	o["metadata"] = c.metadata(c.form, nil)
	o["description"], o["country"] = or(c.form.str("description")), or(c.form.str("country"))
	return o
}

func (b *book) taxRate(name string, rate float64, inclusive bool) object {
	return b.add(object{
		"id": b.id("txr"), "object": "tax_rate", "active": true, "country": nil, "created": b.unix(), "description": nil, "display_name": name,
		"effective_percentage": rate, "flat_amount": nil, "inclusive": inclusive, "jurisdiction": nil, "jurisdiction_level": nil, "livemode": false,
		"metadata": map[string]string{}, "percentage": rate, "rate_type": "percentage", "state": nil, "tax_type": nil,
	})
}

// automaticRate returns the rate of automatic tax: that of the settings.
func (b *book) automaticRate(inclusive bool) object {
	for _, o := range b.table("tax_rate") {
		if o.yes("_automatic") && o["percentage"] == b.settings.taxPercent && o.yes("inclusive") == inclusive {
			return o
		}
	}
	o := b.taxRate("Lab tax", b.settings.taxPercent, inclusive)
	o["_automatic"] = true
	return o
}

func (b *book) createShippingRate(c *call) object {
	o := b.newShippingRate(c, c.form, "")
	if c.failed != nil {
		return nil
	}
	return b.add(o)
}

func (b *book) newShippingRate(c *call, f *form, prefix string) object {
	fixed := f.at("fixed_amount")
	if fixed == nil || f.str("display_name") == "" {
		return c.refuse(invalid("parameter_missing", strings.TrimPrefix(prefix+"fixed_amount", "."), "Missing required params: display_name, fixed_amount."))
	}
	currency := c.currency(fixed, prefix+"fixed_amount[currency]")
	amount := c.amountOf(fixed, "amount", prefix+"fixed_amount[amount]", currency)
	return object{
		"id": b.id("shr"), "object": "shipping_rate", "active": true, "created": b.unix(), "delivery_estimate": nil, "display_name": f.str("display_name"),
		"fixed_amount": object{"amount": amount, "currency": currency}, "livemode": false, "metadata": c.metadata(f, nil), "tax_behavior": "unspecified",
		"tax_code": nil, "type": "fixed_amount",
	}
}
