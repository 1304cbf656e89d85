package wire

import (
	"github.com/valyala/fastjson"

	"kith/core"
	"kith/core/billing"
	"kith/core/reward"
)

// ParseConnection parses the body of PUT /gateway/braintree/connection: merchantId,
// publicKey, privateKey, and furtherKeys, a list of key pairs. A private key that is
// left out does not change; see billing.Connection.Check. The base URL is not in the
// body, because only the operator may set it.
func ParseConnection(body []byte) (billing.Connection, error) {
	c := billing.Connection{Kind: billing.Braintree}
	var first billing.Key
	var further []billing.Key
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "merchantId":
			return take(r.text, &c.MerchantID, key, v)
		case "furtherKeys":
			return r.items(key, v, billing.MaxKeys-1, func(i int, v *fastjson.Value) error {
				var k billing.Key
				err := fields(v, element(key, i), func(r *reader, key string, v *fastjson.Value) bool { return r.gatewayKey(&k, key, v) })
				further = append(further, k)
				return err
			})
		}
		return r.gatewayKey(&first, key, v)
	})
	if err != nil {
		return billing.Connection{}, err
	}
	c.Keys = append([]billing.Key{first}, further...)
	return c, nil
}

func (r *reader) gatewayKey(into *billing.Key, key string, v *fastjson.Value) bool {
	switch key {
	case "publicKey":
		return take(r.text, &into.Public, key, v)
	case "privateKey":
		return take(r.text, &into.Private, key, v)
	}
	return false
}

// Connection returns a tenant's gateway connection as JSON, without private keys.
func Connection(c billing.Connection) []byte {
	w := begin(nil)
	w.text("merchantId", c.MerchantID)
	w.text("publicKey", c.Keys[0].Public)
	further := make([]string, 0, len(c.Keys))
	for _, k := range c.Keys[1:] {
		further = append(further, k.Public)
	}
	w.texts("furtherPublicKeys", further)
	w.textOrNull("baseUrl", c.BaseURL)
	w.date("dateCreated", c.Created)
	w.date("dateChecked", c.Checked)
	return w.end()
}

// ConnectionTest returns the result of testing a connection as JSON.
func ConnectionTest(keys, discount bool, discountID string) []byte {
	w := begin(nil)
	w.boolean("keysAccepted", keys)
	w.boolean("discountFound", discount)
	w.text("discountId", discountID)
	return w.end()
}

// GatewayNotifications returns a page of the notifications of a gateway as JSON. next is
// the parameter before of the next page, or zero.
func GatewayNotifications(page []billing.Received, next int64) []byte {
	return pageBefore("notifications", page, next, appendReceived)
}

func appendReceived(b []byte, n billing.Received) []byte {
	w := begin(b)
	w.number("id", n.Seq)
	w.textOrNull("kind", n.Kind)
	w.textOrNull("problem", n.Problem)
	w.date("dateReceived", n.At)
	w.date("dateProcessed", n.Read)
	w.boolean("replayable", n.Kept)
	return w.end()
}

// GatewayOperations returns the work at a gateway that has failed as JSON.
func GatewayOperations(all []billing.Operation) []byte {
	w := begin(nil)
	w.number("count", int64(len(all)))
	w.list("operations", len(all), func(b []byte, i int) []byte {
		w := begin(b)
		w.text("kind", string(all[i].Kind))
		w.text("id", all[i].ID)
		w.textOrNull("accountId", string(all[i].Account))
		w.text("problem", all[i].Problem)
		w.number("tries", int64(all[i].Tries))
		w.date("dateNextTry", all[i].Due)
		return w.end()
	})
	return w.end()
}

// RetriedOperation names an operation to retry; the zero value names all.
type RetriedOperation struct {
	Kind billing.OperationKind
	ID   string
}

// ParseRetriedOperation parses the body of a retry: kind and id, or neither.
func ParseRetriedOperation(body []byte) (RetriedOperation, error) {
	var kind *billing.OperationKind
	var id *string
	err := object(body, MaxBody, "", func(r *reader, key string, v *fastjson.Value) bool {
		switch key {
		case "kind":
			return parsed(r, key, v, &kind, billing.ParseRetried)
		case "id":
			return r.text(&id, key, v)
		}
		return false
	})
	if err == nil && (kind == nil) != (id == nil) {
		err = core.Invalid("", "give kind and id of an operation, or neither to retry all")
	}
	if err != nil || kind == nil {
		return RetriedOperation{}, err
	}
	return RetriedOperation{*kind, *id}, nil
}

// RetriedOperations returns the number of retried operations as JSON.
func RetriedOperations(n int) []byte {
	w := begin(nil)
	w.number("retried", int64(n))
	return w.end()
}

// StripeSettings are the body of PUT /gateway/stripe/connection.
type StripeSettings struct {
	APIKey                  string
	Secrets                 []string
	Credit                  billing.CreditForm
	CountTax, CountShipping bool
	// Roll replaces the webhook endpoint that Kith made, and so its secret.
	Roll bool
	// Revoke ends the former secrets at once.
	Revoke bool
}

// ParseStripeSettings parses the body of PUT /gateway/stripe/connection: apiKey,
// signingSecrets, creditForm, taxIsRevenue, shippingIsRevenue, newSecret and revokeSecrets. An
// apiKey that is left out does not change.
func ParseStripeSettings(body []byte) (s StripeSettings, err error) {
	form := ""
	err = object(body, MaxBody, "", func(r *reader, name string, v *fastjson.Value) bool {
		switch name {
		case "apiKey":
			return take(r.text, &s.APIKey, name, v)
		case "creditForm":
			return take(r.text, &form, name, v)
		case "taxIsRevenue":
			return take(r.boolean, &s.CountTax, name, v)
		case "shippingIsRevenue":
			return take(r.boolean, &s.CountShipping, name, v)
		case "newSecret":
			return take(r.boolean, &s.Roll, name, v)
		case "revokeSecrets":
			return take(r.boolean, &s.Revoke, name, v)
		case "signingSecrets":
			return r.items(name, v, billing.MaxKeys-1, func(i int, v *fastjson.Value) error {
				text, err := v.StringBytes()
				if err != nil {
					return core.Invalid(element(name, i), "must be a string")
				}
				s.Secrets = append(s.Secrets, string(text))
				return nil
			})
		}
		return false
	})
	if err != nil {
		return s, err
	}
	s.Credit, err = billing.ParseCreditForm("creditForm", form)
	return s, err
}

// StripeConnection returns a tenant's connection to Stripe as JSON, without secrets.
// webhook is the URL of the webhook.
func StripeConnection(c billing.Connection, webhook string) []byte {
	w := begin(nil)
	w.text("account", c.MerchantID)
	w.text("apiKey", c.Keys[0].Public)
	secrets := make([]string, 0, len(c.Keys))
	for _, k := range c.Keys[1:] {
		secrets = append(secrets, k.Public)
	}
	w.texts("signingSecrets", secrets)
	w.text("webhookUrl", webhook)
	w.textOrNull("webhookEndpoint", c.Endpoint)
	w.text("creditForm", string(c.Credit))
	w.boolean("taxIsRevenue", c.CountTax)
	w.boolean("shippingIsRevenue", c.CountShipping)
	w.textOrNull("baseUrl", c.BaseURL)
	w.date("dateCreated", c.Created)
	w.date("dateChecked", c.Checked)
	return w.end()
}

// ConnectionChecks returns what a connection needs at its gateway as JSON.
func ConnectionChecks(all []billing.Check) []byte {
	w := begin(nil)
	ok := true
	for _, c := range all {
		ok = ok && c.OK
	}
	w.boolean("ok", ok)
	w.list("checks", len(all), func(b []byte, i int) []byte {
		w := begin(b)
		w.text("name", all[i].Name)
		w.boolean("ok", all[i].OK)
		help := all[i].Help
		if all[i].OK {
			help = ""
		}
		w.textOrNull("help", help)
		return w.end()
	})
	return w.end()
}

// PromotionCode returns a code that customers can enter at the gateway as JSON. id is empty
// until it is made there.
func PromotionCode(code core.ReferralCode, id, coupon, problem string) []byte {
	w := begin(nil)
	w.text("code", string(code))
	w.textOrNull("promotionCode", id)
	w.textOrNull("coupon", coupon)
	w.textOrNull("problem", problem)
	return w.end()
}

// The keys of the events that payments at a gateway are.
const (
	PurchaseKey = "purchase"
	RefundKey   = "refund"
)

// Purchase returns the fields of the event of a payment. The code attributes it, as the
// field of any other event does.
func Purchase(p billing.Payment, code core.ReferralCode) string {
	w := payment(p, p.Revenue)
	if p.Subscription != "" {
		w.text("subscription_id", p.Subscription)
	}
	if code != "" {
		w.text("referral_code", string(code))
	}
	return string(w.end())
}

// Refund returns the fields of the event by which some of a payment's revenue was given
// back.
func Refund(p billing.Payment, revenue int64) string {
	w := payment(p, revenue)
	return string(w.end())
}

func payment(p billing.Payment, revenue int64) writer {
	w := begin(nil)
	w.text("order_id", p.ID)
	w.raw("revenue", reward.Pretty(revenue, reward.UnitCents, p.Currency, reward.NumberUnformatted))
	w.text("currency", p.Currency)
	return w
}
