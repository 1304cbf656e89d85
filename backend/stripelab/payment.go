package stripelab

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// cards are the test cards that the lab knows, by the name after pm_card_ or tok_.
var cards = map[string]struct {
	brand, last4 string
	// decline is the code with which charges are declined, and dispute whether a charge is
	// disputed.
	decline string
	dispute bool
}{
	"visa": {"visa", "4242", "", false}, "mastercard": {"mastercard", "4444", "", false}, "amex": {"amex", "8431", "", false},
	"chargeCustomerFail": {"visa", "0341", "generic_decline", false}, "visa_chargeDeclined": {"visa", "0002", "generic_decline", false},
	"chargeDeclined": {"visa", "0002", "generic_decline", false}, "visa_chargeDeclinedInsufficientFunds": {"visa", "9995", "insufficient_funds", false},
	"createDispute": {"visa", "0259", "", true},
}

// numbers are the card numbers of the hosted page.
var numbers = map[string]string{
	"4242424242424242": "visa", "5555555555554444": "mastercard", "4000000000000341": "chargeCustomerFail", "4000000000000002": "chargeDeclined",
	"4000000000009995": "visa_chargeDeclinedInsufficientFunds", "4000000000000259": "createDispute",
}

// methodFor returns a new payment method of a test card such as pm_card_visa, or nil if id is
// empty.
func (b *book) methodFor(c *call, id, param string) object {
	if id == "" {
		return nil
	}
	name, test := strings.CutPrefix(id, "pm_card_")
	if _, known := cards[name]; !test || !known {
		f := missing("PaymentMethod", id, param)
		f.status = http.StatusBadRequest
		return c.refuse(f)
	}
	if c.failed != nil {
		return nil
	}
	return b.newMethod(name)
}

func (b *book) newMethod(name string) object {
	card := cards[name]
	return b.add(object{
		"id": b.id("pm"), "object": "payment_method", "allow_redisplay": "unspecified", "billing_details": billingDetails(nil), "created": b.unix(), "customer": nil, "customer_account": nil,
		"card": object{
			"brand": card.brand, "checks": object{"address_line1_check": nil, "address_postal_code_check": nil, "cvc_check": "pass"}, "country": "US", "display_brand": card.brand,
			"exp_month": int64(12), "exp_year": int64(2040), "fingerprint": "lab" + card.last4, "funding": "credit", "generated_from": nil, "last4": card.last4,
			"networks": object{"available": []string{card.brand}, "preferred": nil}, "regulated_status": nil, "three_d_secure_usage": object{"supported": true}, "wallet": nil,
		},
		"livemode": false, "metadata": map[string]string{}, "type": "card", "_decline": card.decline, "_dispute": card.dispute,
	})
}

func billingDetails(customer object) object {
	return object{"address": object{"city": nil, "country": nil, "line1": nil, "line2": nil, "postal_code": nil, "state": nil}, "email": customer["email"], "name": customer["name"], "phone": customer["phone"], "tax_id": nil}
}

func (b *book) attach(method, customer object) {
	method["customer"] = customer.id()
	method["billing_details"] = billingDetails(customer)
	b.emit("payment_method.attached", method, nil)
}

// setDefaultMethod makes a payment method that of a customer's invoices.
func (b *book) setDefaultMethod(c *call, customer object, id string) {
	if id == "" {
		customer.at("invoice_settings")["default_payment_method"] = nil
		return
	}
	method := b.methodFor(c, id, "invoice_settings[default_payment_method]")
	if method == nil {
		return
	}
	b.attach(method, customer)
	customer.at("invoice_settings")["default_payment_method"] = method.id()
}

// defaultMethod returns the payment method of an invoice or subscription, or nil.
func (b *book) defaultMethod(o, customer object) object {
	subscription := o
	if o.kind() == "invoice" {
		subscription = b.all[subscriptionOf(o)]
	}
	if one := b.all[subscription.text("default_payment_method")]; one != nil {
		return one
	}
	return b.all[customer.at("invoice_settings").text("default_payment_method")]
}

// intent stores a payment that is not made yet. customer may be nil.
func (b *book) intent(customer object, amount int64, currency, description string, metadata map[string]string) object {
	id := b.id("pi")
	o := object{
		"id": id, "object": "payment_intent", "amount": amount, "amount_capturable": int64(0), "amount_received": int64(0), "application": nil,
		"application_fee_amount": nil, "automatic_payment_methods": nil, "canceled_at": nil, "cancellation_reason": nil, "capture_method": "automatic",
		"client_secret": id + "_secret_lab", "confirmation_method": "automatic", "created": b.unix(), "currency": currency, "customer": nil, "customer_account": nil,
		"description": or(description), "excluded_payment_method_types": nil, "last_payment_error": nil, "latest_charge": nil, "livemode": false, "metadata": metadata, "next_action": nil,
		"on_behalf_of": nil, "payment_method": nil, "payment_method_configuration_details": nil, "payment_method_options": object{}, "payment_method_types": []string{"card"},
		"processing": nil, "receipt_email": nil, "review": nil, "setup_future_usage": nil, "shipping": nil, "statement_descriptor": nil,
		"statement_descriptor_suffix": nil, "status": "requires_payment_method", "transfer_data": nil, "transfer_group": nil,
	}
	if customer != nil {
		o["customer"] = customer.id()
	}
	return b.add(o)
}

// declines has the text of each code of a declined card.
var declines = map[string]string{"generic_decline": "Your card was declined.", "insufficient_funds": "Your card has insufficient funds."}

// confirm charges a payment method, and returns the failure of a declined card.
func (b *book) confirm(intent, method object) *failure {
	if method == nil {
		b.emit("payment_intent.payment_failed", intent, nil)
		return invalid("resource_missing", "", "This customer has no attached payment source or default payment method.")
	}
	intent["payment_method"] = method.id()
	charge := b.charge(intent, method)
	intent["latest_charge"] = charge.id()
	code := method.text("_decline")
	if code == "" {
		intent["status"], intent["amount_received"], intent["last_payment_error"] = "succeeded", intent.num("amount"), nil
		b.emit("charge.succeeded", charge, nil)
		b.emit("payment_intent.succeeded", intent, nil)
		if method.yes("_dispute") {
			b.dispute(charge, charge.num("amount"))
		}
		return nil
	}
	f := &failure{status: http.StatusPaymentRequired, kind: cardError, code: "card_declined", decline: code, message: declines[code], charge: charge.id()}
	charge["status"], charge["paid"], charge["captured"], charge["amount_captured"] = "failed", false, false, int64(0)
	charge["failure_code"], charge["failure_message"] = "card_declined", declines[code]
	charge["outcome"] = object{
		"advice_code": nil, "network_advice_code": nil, "network_decline_code": "01", "network_status": "declined_by_network", "reason": code, "risk_level": "normal", "risk_score": int64(20),
		"seller_message": "The bank did not return any further details with this decline.", "type": "issuer_declined",
	}
	intent["status"] = "requires_payment_method"
	intent["last_payment_error"] = f.body().at("error")
	b.emit("charge.failed", charge, nil)
	b.emit("payment_intent.payment_failed", intent, nil)
	return f
}

// charge stores a successful charge of the amount of a payment.
func (b *book) charge(intent, method object) object {
	card := method.at("card")
	id := b.id("ch")
	return b.add(object{
		"id": id, "object": "charge", "amount": intent.num("amount"), "amount_captured": intent.num("amount"), "amount_refunded": int64(0), "application": nil,
		"application_fee": nil, "application_fee_amount": nil, "balance_transaction": nil, "billing_details": clone(method["billing_details"]), "calculated_statement_descriptor": "STRIPE LAB",
		"captured": true, "created": b.unix(), "currency": intent.text("currency"), "customer": intent["customer"], "description": intent["description"], "disputed": false,
		"failure_balance_transaction": nil, "failure_code": nil, "failure_message": nil, "fraud_details": object{}, "livemode": false, "metadata": maps.Clone(meta(intent)),
		"on_behalf_of": nil, "paid": true, "payment_intent": intent.id(), "payment_method": method.id(),
		"outcome": object{
			"advice_code": nil, "network_advice_code": nil, "network_decline_code": nil, "network_status": "approved_by_network", "reason": nil, "risk_level": "normal", "risk_score": int64(20),
			"seller_message": "Payment complete.", "type": "authorized",
		},
		"payment_method_details": object{"type": "card", "card": object{
			"amount_authorized": intent.num("amount"), "authorization_code": nil, "brand": card.text("brand"), "checks": clone(card["checks"]), "country": "US", "exp_month": int64(12), "exp_year": int64(2040),
			"fingerprint": card.text("fingerprint"), "funding": "credit", "installments": nil, "last4": card.text("last4"), "mandate": nil, "network": card.text("brand"),
			"network_token": object{"used": false}, "network_transaction_id": nil, "regulated_status": nil, "three_d_secure": nil, "transaction_link_id": nil, "wallet": nil,
		}},
		"radar_options": object{}, "receipt_email": nil, "receipt_number": nil, "receipt_url": nil, "refunded": false, "review": nil, "shipping": intent["shipping"],
		"source_transfer": nil, "statement_descriptor": nil, "statement_descriptor_suffix": nil, "status": "succeeded", "transfer_data": nil, "transfer_group": nil,
	})
}

// listOfKind answers the records of a kind that have the values of some parameters.
func listOfKind(kind string, fields ...string) func(*book, *call) object {
	return func(b *book, c *call) object { return b.list(c, kind, fields, nil) }
}

// updateRefund changes the metadata of a refund.
func (b *book) updateRefund(c *call, o object) object {
	metadata := c.metadata(c.form, meta(o))
	if c.failed != nil {
		return nil
	}
	b.change("refund.updated", o, func() { o["metadata"] = metadata })
	return o
}

func (b *book) createRefund(c *call) object {
	charge := b.referred(c, "charge", c.form.str("charge"), "charge")
	if id := c.form.str("payment_intent"); id != "" {
		if intent := b.referred(c, "payment_intent", id, "payment_intent"); intent != nil {
			charge = b.all[intent.text("latest_charge")]
			if charge == nil || !charge.yes("paid") {
				return c.refuse(invalid("payment_intent_unexpected_state", "", "This PaymentIntent ("+id+") does not have a successful charge to refund."))
			}
		}
	}
	if c.failed == nil && charge == nil {
		c.refuse(invalid("parameter_missing", "", "One of the following params should be provided for this request: payment_intent or charge."))
	}
	if c.failed != nil {
		return nil
	}
	rest := charge.num("amount_captured") - charge.num("amount_refunded")
	amount := rest
	if c.form.has("amount") {
		amount = c.amountOf(c.form, "amount", "amount", charge.text("currency"))
		if amount < 1 {
			c.refuse(invalid("parameter_invalid_integer", "amount", "This value must be greater than or equal to 1."))
		}
	}
	metadata := c.metadata(c.form, nil)
	reason := c.oneOf(c.form, "reason", "reason", "", "duplicate", "fraudulent", "requested_by_customer")
	switch {
	case !charge.yes("paid"):
		c.refuse(invalid("", "", "Charge "+charge.id()+" is not captured."))
	case b.chargedBack(charge):
		c.refuse(invalid("charge_disputed", "", "Charge "+charge.id()+" has been charged back; cannot issue a refund."))
	case rest == 0:
		c.refuse(invalid("charge_already_refunded", "", "Charge "+charge.id()+" has already been refunded."))
	case amount > rest:
		c.refuse(invalid("", "amount", "Refund amount ("+pretty(amount, charge.text("currency"))+") is greater than unrefunded amount on charge ("+pretty(rest, charge.text("currency"))+")"))
	}
	if c.failed != nil {
		return nil
	}
	return b.refund(charge, amount, reason, metadata)
}

func (b *book) refund(charge object, amount int64, reason string, metadata map[string]string) object {
	r := b.add(object{
		"id": b.id("re"), "object": "refund", "amount": amount, "balance_transaction": nil, "charge": charge.id(), "created": b.unix(), "currency": charge.text("currency"),
		"destination_details": object{"card": object{"reference_status": "pending", "reference_type": "acquirer_reference_number", "type": "refund"}, "type": "card"},
		"metadata":            metadata, "payment_intent": charge["payment_intent"], "reason": or(reason), "receipt_number": nil, "source_transfer_reversal": nil, "status": "succeeded",
		"transfer_reversal": nil,
	})
	b.change("charge.refunded", charge, func() {
		charge["amount_refunded"] = charge.num("amount_refunded") + amount
		charge["refunded"] = charge.num("amount_refunded") == charge.num("amount_captured")
	})
	b.emit("refund.created", r, nil)
	return r
}

// chargedBack reports whether a charge has a dispute that was not won.
func (b *book) chargedBack(charge object) bool {
	return slices.ContainsFunc(b.where("dispute", "charge", charge.id()), func(d object) bool { return d.text("status") != "won" })
}

// dispute opens a dispute about a charge.
func (b *book) dispute(charge object, amount int64) object {
	card := charge.at("payment_method_details").at("card").text("brand")
	d := b.add(object{
		"id": b.id("dp"), "object": "dispute", "amount": amount, "balance_transactions": []object{}, "charge": charge.id(), "created": b.unix(), "currency": charge.text("currency"),
		"enhanced_eligibility_types": []string{}, "evidence": object{"enhanced_evidence": object{}},
		"evidence_details":     object{"due_by": b.now.AddDate(0, 0, 7).Unix(), "enhanced_eligibility": object{}, "has_evidence": false, "past_due": false, "submission_count": int64(0)},
		"is_charge_refundable": false, "livemode": false, "metadata": map[string]string{}, "payment_intent": charge["payment_intent"],
		"payment_method_details": object{"card": object{"brand": card, "case_type": "chargeback", "network": card, "network_reason_code": "83"}, "type": "card"},
		"reason":                 "fraudulent", "status": "needs_response",
	})
	charge["disputed"] = true
	b.emit("charge.dispute.created", d, nil)
	b.emit("charge.dispute.funds_withdrawn", d, nil)
	return d
}

// closeDispute ends a dispute as won or lost.
func (b *book) closeDispute(d object, status string) {
	b.change("charge.dispute.closed", d, func() { d["status"] = status })
	if status == "won" {
		b.emit("charge.dispute.funds_reinstated", d, nil)
	}
}

func open(d object) bool {
	return slices.Contains([]string{"needs_response", "under_review", "warning_needs_response", "warning_under_review"}, d.text("status"))
}
