package stripelab

import "net/http"

// The parameters that several calls share.
const (
	common      = " metadata.* expand"
	discountsOf = " discounts.coupon discounts.promotion_code"
	created     = " created.gte"

	customerParams = "email name payment_method invoice_settings.default_payment_method" + common
	lineParams     = " line_items.price line_items.quantity line_items.price_data.currency line_items.price_data.unit_amount line_items.price_data.recurring.interval" +
		" line_items.price_data.product_data.name"
	subscriptionData = " subscription_data.metadata.* subscription_data.trial_period_days"
	intentData       = " payment_intent_data.metadata.*"
	shippingOptions  = " shipping_options.shipping_rate_data.display_name shipping_options.shipping_rate_data.type" +
		" shipping_options.shipping_rate_data.fixed_amount.amount shipping_options.shipping_rate_data.fixed_amount.currency"
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
	customerCalls(get, post, del)
	catalogCalls(get, post, del)
	checkoutCalls(get, post)
	subscriptionCalls(get, post, del)
	paymentCalls(get, post)

	get("events", "event", (*book).listEvents, "types"+created+pages)
	get("webhook_endpoints", "webhook", listOfKind("webhook_endpoint"), pages)
	post("webhook_endpoints", "webhook", (*book).createEndpoint, "url enabled_events api_version description"+common)
	get("webhook_endpoints/{id}", "webhook", retrieve("webhook_endpoint"), "")
	post("webhook_endpoints/{id}", "webhook", on("webhook_endpoint", (*book).updateEndpoint), "url enabled_events disabled description"+common)
	del("webhook_endpoints/{id}", "webhook", on("webhook_endpoint", (*book).deleteEndpoint), "")
}

// register adds an endpoint.
type register func(path, permission string, do func(*book, *call) object, params string)

func customerCalls(get, post, del register) {
	get("customers", "customer", listOfKind("customer"), created+pages)
	post("customers", "customer", (*book).createCustomer, customerParams)
	get("customers/{id}", "customer", (*book).getCustomer, "")
	post("customers/{id}", "customer", on("customer", (*book).updateCustomer), customerParams)
	del("customers/{id}", "customer", on("customer", (*book).deleteCustomer), "")
	get("customers/{id}/balance_transactions", "customer", on("customer", (*book).listBalance), created+pages)
	post("customers/{id}/balance_transactions", "customer", on("customer", (*book).createBalance), "amount currency description"+common)
}

func catalogCalls(get, post, del register) {
	post("prices", "plan", (*book).createPrice, "currency unit_amount recurring.interval product_data.name"+common)
	post("coupons", "coupon", (*book).createCoupon, "id percent_off amount_off currency duration duration_in_months max_redemptions name"+common)
	get("coupons/{id}", "coupon", retrieve("coupon"), "")
	post("coupons/{id}", "coupon", on("coupon", (*book).updateCoupon), "name"+common)
	del("coupons/{id}", "coupon", on("coupon", (*book).deleteCoupon), "")
	get("promotion_codes", "promotion_code", (*book).listPromotions, "active code"+created+pages)
	post("promotion_codes", "promotion_code", (*book).createPromotion, "promotion.type promotion.coupon code max_redemptions"+common)
	get("promotion_codes/{id}", "promotion_code", retrieve("promotion_code"), "")
	post("promotion_codes/{id}", "promotion_code", on("promotion_code", (*book).updatePromotion), "active"+common)
}

func checkoutCalls(get, post register) {
	get("checkout/sessions", "checkout_session", (*book).listSessions, "payment_intent status subscription customer_details.email"+created+pages)
	post("checkout/sessions", "checkout_session", (*book).createSession, "mode customer customer_email customer_creation client_reference_id success_url cancel_url allow_promotion_codes"+
		" automatic_tax.enabled"+lineParams+subscriptionData+intentData+shippingOptions+discountsOf+common)
	get("checkout/sessions/{id}", "checkout_session", retrieve("checkout.session"), "")
	post("payment_links", "payment_links", (*book).createLink, "allow_promotion_codes customer_creation automatic_tax.enabled"+lineParams+subscriptionData+intentData+common)
}

func subscriptionCalls(get, post, del register) {
	get("subscriptions", "subscription", (*book).listSubscriptions, "customer status"+created+pages)
	post("subscriptions", "subscription", (*book).createSubscription, "customer items.price items.quantity trial_period_days automatic_tax.enabled payment_behavior collection_method"+discountsOf+common)
	get("subscriptions/{id}", "subscription", retrieve("subscription"), "")
	post("subscriptions/{id}", "subscription", on("subscription", (*book).updateSubscription), "items.id items.price items.quantity proration_behavior cancel_at_period_end pause_collection"+
		" pause_collection.behavior collection_method discounts.discount"+discountsOf+common)
	del("subscriptions/{id}", "subscription", on("subscription", (*book).cancelSubscription), "")
	get("invoices", "invoice", (*book).listInvoices, "customer status subscription"+created+pages)
	post("invoices/create_preview", "invoice", (*book).preview, "subscription expand")
	get("invoices/{id}", "invoice", retrieve("invoice"), "")
	get("invoice_payments", "invoice", (*book).listInvoicePayments, "invoice status payment.type payment.payment_intent"+created+pages)
}

func paymentCalls(get, post register) {
	get("payment_intents", "payment_intent", listOfKind("payment_intent", "customer"), "customer"+created+pages)
	get("payment_intents/{id}", "payment_intent", retrieve("payment_intent"), "")
	get("charges", "charge", listOfKind("charge", "customer", "payment_intent"), "customer payment_intent"+created+pages)
	get("charges/{id}", "charge", retrieve("charge"), "")
	get("refunds", "charge", listOfKind("refund", "charge", "payment_intent"), "charge payment_intent"+created+pages)
	post("refunds", "charge", (*book).createRefund, "charge payment_intent amount reason"+common)
	post("refunds/{id}", "charge", on("refund", (*book).updateRefund), common)
	get("disputes", "dispute", listOfKind("dispute", "charge", "payment_intent"), "charge payment_intent"+created+pages)
	get("disputes/{id}", "dispute", retrieve("dispute"), "")
}
