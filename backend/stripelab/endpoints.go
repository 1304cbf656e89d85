package stripelab

import "net/http"

// The parameters that several calls share.
const (
	common        = " metadata.* expand"
	priceData     = "currency product unit_amount tax_behavior recurring.interval recurring.interval_count"
	discountsOf   = " discounts.coupon discounts.promotion_code discounts.discount"
	shippingData  = "shipping_rate_data.display_name shipping_rate_data.type shipping_rate_data.fixed_amount.amount shipping_rate_data.fixed_amount.currency"
	created       = " created created.gt created.gte created.lt created.lte"
	addressParams = " address.city address.country address.line1 address.line2 address.postal_code address.state"

	customerParams = "email name description phone tax_exempt preferred_locales balance payment_method source invoice_settings.default_payment_method" + addressParams + common
	itemParams     = " items.id items.price items.quantity items.deleted items.metadata.* items.price_data.currency items.price_data.product items.price_data.unit_amount" +
		" items.price_data.tax_behavior items.price_data.recurring.interval items.price_data.recurring.interval_count"
	lineParams = " line_items.price line_items.quantity line_items.price_data.currency line_items.price_data.product line_items.price_data.unit_amount" +
		" line_items.price_data.tax_behavior line_items.price_data.recurring.interval line_items.price_data.recurring.interval_count" +
		" line_items.price_data.product_data.name line_items.price_data.product_data.description line_items.price_data.product_data.metadata.*"
	subscriptionData = " subscription_data.metadata.* subscription_data.trial_period_days subscription_data.trial_end subscription_data.description" +
		" subscription_data.default_tax_rates subscription_data.trial_settings.end_behavior.missing_payment_method"
	intentData      = " payment_intent_data.metadata.* payment_intent_data.description"
	shippingOptions = " shipping_options.shipping_rate shipping_options.shipping_rate_data.display_name shipping_options.shipping_rate_data.type" +
		" shipping_options.shipping_rate_data.fixed_amount.amount shipping_options.shipping_rate_data.fixed_amount.currency"
	subscriptionParams = " default_payment_method description cancel_at cancel_at_period_end default_tax_rates automatic_tax.enabled payment_behavior off_session" +
		" proration_behavior trial_end trial_period_days trial_settings.end_behavior.missing_payment_method collection_method" + itemParams + discountsOf + common
)

// endpoints are the calls of the gateway that the lab answers. A parameter that is not
// named is refused.
var endpoints = map[string]endpoint{}

func init() {
	get := func(path, permission string, do func(*book, *call) object, params string) {
		endpoints[http.MethodGet+" /v1/"+path] = endpoint{do, permission, params + " expand"}
	}
	post := func(path, permission string, do func(*book, *call) object, params string) {
		endpoints[http.MethodPost+" /v1/"+path] = endpoint{do, permission, params}
	}
	del := func(path, permission string, do func(*book, *call) object, params string) {
		endpoints[http.MethodDelete+" /v1/"+path] = endpoint{do, permission, params + " expand"}
	}
	get("account", "account", func(b *book, _ *call) object { return b.account() }, "")
	get("balance", "balance", (*book).accountBalance, "")
	customerCalls(get, post, del)
	catalogCalls(get, post, del)
	checkoutCalls(get, post)
	subscriptionCalls(get, post, del)
	paymentCalls(get, post)

	get("events", "event", (*book).listEvents, "type types delivery_success"+created+pages)
	get("events/{id}", "event", retrieve("event"), "")
	get("webhook_endpoints", "webhook", listOfKind("webhook_endpoint"), pages)
	post("webhook_endpoints", "webhook", (*book).createEndpoint, "url enabled_events api_version description"+common)
	get("webhook_endpoints/{id}", "webhook", retrieve("webhook_endpoint"), "")
	post("webhook_endpoints/{id}", "webhook", (*book).updateEndpoint, "url enabled_events disabled description"+common)
	del("webhook_endpoints/{id}", "webhook", (*book).deleteEndpoint, "")
	get("test_helpers/test_clocks", "test_clock", listOfKind("test_helpers.test_clock"), pages)
	post("test_helpers/test_clocks", "test_clock", (*book).createClock, "frozen_time name expand")
	get("test_helpers/test_clocks/{id}", "test_clock", retrieve("test_helpers.test_clock"), "")
	post("test_helpers/test_clocks/{id}/advance", "test_clock", (*book).advanceClock, "frozen_time expand")
	del("test_helpers/test_clocks/{id}", "test_clock", (*book).deleteClock, "")
}

// register adds an endpoint.
type register func(path, permission string, do func(*book, *call) object, params string)

func customerCalls(get, post, del register) {
	get("customers", "customer", (*book).listCustomers, "email test_clock"+created+pages)
	post("customers", "customer", (*book).createCustomer, "test_clock "+customerParams)
	get("customers/{id}", "customer", (*book).getCustomer, "")
	post("customers/{id}", "customer", (*book).updateCustomer, customerParams)
	del("customers/{id}", "customer", (*book).deleteCustomer, "")
	get("customers/{id}/balance_transactions", "customer", (*book).listBalance, "invoice"+created+pages)
	post("customers/{id}/balance_transactions", "customer", (*book).createBalance, "amount currency description"+common)
	get("customers/{id}/balance_transactions/{sub}", "customer", (*book).balanceTransaction, "")
	post("customers/{id}/balance_transactions/{sub}", "customer", (*book).updateBalance, "description"+common)
	get("customers/{id}/payment_methods", "payment_method", (*book).listMethods, "type"+pages)
	get("payment_methods", "payment_method", (*book).listMethods, "customer type"+pages)
	post("payment_methods", "payment_method", (*book).createMethod, "type card.token card.number card.exp_month card.exp_year card.cvc"+common)
	get("payment_methods/{id}", "payment_method", retrieve("payment_method"), "")
	post("payment_methods/{id}/attach", "payment_method", (*book).attachMethod, "customer expand")
	post("payment_methods/{id}/detach", "payment_method", (*book).detachMethod, "expand")
}

func catalogCalls(get, post, del register) {
	get("products", "product", (*book).listProducts, "active ids"+created+pages)
	post("products", "product", (*book).createProduct, "id name description active images default_price_data.currency default_price_data.unit_amount"+
		" default_price_data.recurring.interval default_price_data.recurring.interval_count default_price_data.tax_behavior"+common)
	get("products/{id}", "product", retrieve("product"), "")
	post("products/{id}", "product", (*book).updateProduct, "name description active default_price"+common)
	del("products/{id}", "product", (*book).deleteProduct, "")
	get("prices", "plan", (*book).listPrices, "active currency product type lookup_keys"+created+pages)
	post("prices", "plan", (*book).createPrice, "active nickname lookup_key product_data.name product_data.metadata.* "+priceData+common)
	get("prices/{id}", "plan", retrieve("price"), "")
	post("prices/{id}", "plan", (*book).updatePrice, "active nickname lookup_key"+common)
	get("coupons", "coupon", listOfKind("coupon"), created+pages)
	post("coupons", "coupon", (*book).createCoupon, "id percent_off amount_off currency duration duration_in_months max_redemptions name redeem_by applies_to.products"+common)
	get("coupons/{id}", "coupon", retrieve("coupon"), "")
	post("coupons/{id}", "coupon", (*book).updateCoupon, "name"+common)
	del("coupons/{id}", "coupon", (*book).deleteCoupon, "")
	get("promotion_codes", "promotion_code", (*book).listPromotions, "active code coupon customer"+created+pages)
	post("promotion_codes", "promotion_code", (*book).createPromotion, "promotion.type promotion.coupon code active customer expires_at max_redemptions"+
		" restrictions.first_time_transaction restrictions.minimum_amount restrictions.minimum_amount_currency"+common)
	get("promotion_codes/{id}", "promotion_code", retrieve("promotion_code"), "")
	post("promotion_codes/{id}", "promotion_code", (*book).updatePromotion, "active"+common)
	get("tax_rates", "tax_rate", listOfKind("tax_rate", "active", "inclusive"), "active inclusive"+created+pages)
	post("tax_rates", "tax_rate", (*book).createTaxRate, "display_name inclusive percentage description country"+common)
	get("tax_rates/{id}", "tax_rate", retrieve("tax_rate"), "")
	get("shipping_rates", "shipping_rate", listOfKind("shipping_rate", "active"), "active"+created+pages)
	post("shipping_rates", "shipping_rate", (*book).createShippingRate, "display_name type fixed_amount.amount fixed_amount.currency"+common)
	get("shipping_rates/{id}", "shipping_rate", retrieve("shipping_rate"), "")
}

func checkoutCalls(get, post register) {
	get("checkout/sessions", "checkout_session", (*book).listSessions, "customer payment_intent payment_link status subscription customer_details.email"+created+pages)
	post("checkout/sessions", "checkout_session", (*book).createSession, "mode customer customer_email customer_creation client_reference_id success_url cancel_url allow_promotion_codes currency"+
		" locale ui_mode expires_at payment_method_collection payment_method_types automatic_tax.enabled invoice_creation.enabled invoice_creation.invoice_data.metadata.*"+
		lineParams+subscriptionData+intentData+shippingOptions+discountsOf+common)
	get("checkout/sessions/{id}", "checkout_session", retrieve("checkout.session"), "")
	post("checkout/sessions/{id}", "checkout_session", updateMeta("checkout.session", ""), common)
	post("checkout/sessions/{id}/expire", "checkout_session", (*book).expire, "expand")
	get("checkout/sessions/{id}/line_items", "checkout_session", listItemsOf("checkout.session"), pages)
	get("payment_links", "payment_links", listOfKind("payment_link", "active"), "active"+pages)
	post("payment_links", "payment_links", (*book).createLink, "allow_promotion_codes customer_creation currency automatic_tax.enabled after_completion.type after_completion.redirect.url"+
		" payment_method_types"+lineParams+subscriptionData+intentData+common)
	get("payment_links/{id}", "payment_links", retrieve("payment_link"), "")
	post("payment_links/{id}", "payment_links", (*book).updateLink, "active allow_promotion_codes"+common)
	get("payment_links/{id}/line_items", "payment_links", listItemsOf("payment_link"), pages)
}

func subscriptionCalls(get, post, del register) {
	get("subscriptions", "subscription", (*book).listSubscriptions, "customer status price collection_method test_clock"+created+pages)
	post("subscriptions", "subscription", (*book).createSubscription, "customer add_invoice_items.price add_invoice_items.quantity"+subscriptionParams)
	get("subscriptions/{id}", "subscription", retrieve("subscription"), "")
	post("subscriptions/{id}", "subscription", (*book).updateSubscription, "proration_date billing_cycle_anchor cancellation_details.comment cancellation_details.feedback"+
		" default_payment_method description cancel_at cancel_at_period_end pause_collection pause_collection.behavior payment_behavior off_session proration_behavior trial_end"+itemParams+discountsOf+common)
	del("subscriptions/{id}", "subscription", (*book).cancelSubscription, "prorate invoice_now")
	del("subscriptions/{id}/discount", "subscription", (*book).deleteDiscount, "")
	get("subscription_items", "subscription", (*book).listItems, "subscription"+pages)
	get("invoices", "invoice", (*book).listInvoices, "customer status subscription collection_method"+created+pages)
	post("invoices", "invoice", (*book).createInvoice, "customer subscription currency auto_advance description pending_invoice_items_behavior default_tax_rates automatic_tax.enabled"+
		" collection_method shipping_cost.shipping_rate shipping_cost."+shippingData+discountsOf+common)
	post("invoices/create_preview", "invoice", (*book).preview, "customer subscription preview_mode subscription_details.items.id subscription_details.items.price"+
		" subscription_details.items.quantity subscription_details.items.deleted discounts.coupon discounts.promotion_code discounts.discount expand")
	get("invoices/{id}", "invoice", retrieve("invoice"), "")
	post("invoices/{id}", "invoice", (*book).updateInvoice, "description"+common)
	get("invoices/{id}/lines", "invoice", (*book).listInvoiceLines, pages)
	post("invoices/{id}/finalize", "invoice", (*book).finalizeInvoice, "expand")
	post("invoices/{id}/pay", "invoice", (*book).payInvoice, "payment_method expand")
	post("invoices/{id}/void", "invoice", (*book).voidInvoice, "expand")
	get("invoice_payments", "invoice", (*book).listInvoicePayments, "invoice status payment.type payment.payment_intent"+created+pages)
	get("invoice_payments/{id}", "invoice", retrieve("invoice_payment"), "")
	get("invoiceitems", "invoice", (*book).listInvoiceItems, "customer invoice pending"+created+pages)
	post("invoiceitems", "invoice", (*book).createInvoiceItem, "customer amount currency description discountable invoice subscription quantity pricing.price"+common)
	get("invoiceitems/{id}", "invoice", retrieve("invoiceitem"), "")
	del("invoiceitems/{id}", "invoice", (*book).deleteInvoiceItem, "")
}

func paymentCalls(get, post register) {
	get("payment_intents", "payment_intent", listOfKind("payment_intent", "customer"), "customer"+created+pages)
	post("payment_intents", "payment_intent", (*book).createIntent, "amount currency customer description payment_method confirm off_session receipt_email payment_method_types"+
		" automatic_payment_methods.enabled automatic_payment_methods.allow_redirects"+common)
	get("payment_intents/{id}", "payment_intent", retrieve("payment_intent"), "client_secret")
	post("payment_intents/{id}", "payment_intent", updateMeta("payment_intent", ""), "description"+common)
	post("payment_intents/{id}/confirm", "payment_intent", (*book).confirmIntent, "payment_method off_session return_url expand")
	post("payment_intents/{id}/cancel", "payment_intent", (*book).cancelIntent, "cancellation_reason expand")
	get("charges", "charge", listOfKind("charge", "customer", "payment_intent"), "customer payment_intent"+created+pages)
	get("charges/{id}", "charge", retrieve("charge"), "")
	post("charges/{id}", "charge", updateMeta("charge", "charge.updated"), "description"+common)
	get("refunds", "charge", listOfKind("refund", "charge", "payment_intent"), "charge payment_intent"+created+pages)
	post("refunds", "charge", (*book).createRefund, "charge payment_intent amount reason"+common)
	get("refunds/{id}", "charge", retrieve("refund"), "")
	post("refunds/{id}", "charge", updateMeta("refund", "refund.updated"), common)
	get("disputes", "dispute", listOfKind("dispute", "charge", "payment_intent"), "charge payment_intent"+created+pages)
	get("disputes/{id}", "dispute", retrieve("dispute"), "")
	post("disputes/{id}", "dispute", updateMeta("dispute", "charge.dispute.updated"), common)
	post("disputes/{id}/close", "dispute", (*book).acceptDispute, "expand")
}

// accountBalance answers the money of the account: the sum of its charges without refunds,
// by currency.
func (b *book) accountBalance(*call) object {
	sums := map[string]int64{"usd": 0}
	for _, charge := range b.table("charge") {
		if charge.yes("paid") {
			sums[charge.text("currency")] += charge.num("amount_captured") - charge.num("amount_refunded")
		}
	}
	available := []object{}
	for _, currency := range sortedKeys(sums) {
		available = append(available, object{"amount": sums[currency], "currency": currency, "source_types": object{"card": sums[currency]}})
	}
	return object{"object": "balance", "available": available, "livemode": false, "pending": []object{}}
}
