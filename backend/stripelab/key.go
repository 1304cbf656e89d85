package stripelab

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// key is an API key.
type key struct {
	text string
	// all is true for a key that may make all calls.
	all bool
	// permissions are those of a restricted key, such as customer_read.
	permissions []string
}

// may reports whether a key has a permission. One to write includes the one to read.
func (k *key) may(permission string) bool {
	subject, read := strings.CutSuffix(permission, "_read")
	return k.all || slices.Contains(k.permissions, permission) || read && slices.Contains(k.permissions, subject+"_write")
}

// maxKeys bounds the restricted keys of a lab.
const maxKeys = 100

// labels has the name of each permission in the gateway's dashboard. The names of most
// permissions are those that the gateway answers (prices are plan, webhook endpoints are
// webhook); the lab made the others up after the same pattern.
var labels = map[string]string{
	"account": "Account", "charge": "Charges and Refunds", "checkout_session": "Checkout Sessions", "coupon": "Coupons",
	"customer": "Customers", "dispute": "Disputes", "event": "Events", "invoice": "Invoices", "payment_intent": "PaymentIntents",
	"payment_links": "Payment Links", "plan": "Prices", "promotion_code": "Promotion Codes",
	"subscription": "Subscriptions", "webhook": "Webhook Endpoints",
}

// NewKey creates a restricted key with some permissions, such as customer_read or
// charge_write, and returns it. The prefix rak_ that the gateway's links have is accepted.
func (l *Lab) NewKey(permissions ...string) (string, error) {
	c := &call{name: "POST /lab/keys", form: &form{fields: map[string]*form{"permissions": {text: strings.Join(permissions, " ")}}}}
	c.encoded = "permissions=" + strings.Join(permissions, "+")
	a := l.perform(c)
	if c.failed != nil {
		return "", fmt.Errorf("permissions: %s", c.failed.message)
	}
	return string(a.body[len(`{"key":"`) : len(a.body)-len(`"}`)]), nil
}

var permissionText = regexp.MustCompile(`^([a-z_]+)_(read|write)$`)

// addKey creates a restricted key with the permissions of the form, separated by spaces.
func (l *Lab) addKey(c *call) object {
	k := &key{text: l.book.secret("rk_test")}
	for _, one := range strings.Fields(strings.ReplaceAll(c.form.str("permissions"), ",", " ")) {
		one = strings.TrimPrefix(one, "rak_")
		parts := permissionText.FindStringSubmatch(one)
		if parts == nil || labels[parts[1]] == "" {
			return c.refuse(invalid("", "permissions", one+": want a permission such as customer_read or charge_write"))
		}
		k.permissions = append(k.permissions, one)
	}
	if len(l.keys) >= maxKeys {
		return c.refuse(invalid("", "", "The lab has 100 keys; revoke one"))
	}
	l.keys = append(l.keys, k)
	return object{"key": k.text}
}

// revokeKey makes a key invalid.
func (l *Lab) revokeKey(c *call) object {
	i := slices.IndexFunc(l.keys, func(k *key) bool { return k.text == c.form.str("key") })
	if i < 0 {
		return c.refuse(invalid("", "key", "no such key"))
	}
	l.keys = slices.Delete(slices.Clone(l.keys), i, i+1)
	return object{}
}

// masked returns a key as errors show it: its beginning and its end.
func masked(text string) string {
	if len(text) < 12 {
		return text
	}
	return text[:8] + strings.Repeat("*", len(text)-12) + text[len(text)-4:]
}

// admit returns why a caller is refused, or nil.
func (l *Lab) admit(r *http.Request, permission string) *failure {
	text, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		text, _, _ = r.BasicAuth()
	}
	if text == "" {
		return &failure{status: http.StatusUnauthorized, kind: invalidRequest, message: "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY')."}
	}
	if strings.HasPrefix(text, "pk_") {
		return &failure{status: http.StatusUnauthorized, kind: invalidRequest, code: "secret_key_required", message: "This API call cannot be made with a publishable API key. Please use a secret API key. You can find a list of your API keys at https://dashboard.stripe.com/account/apikeys."}
	}
	if version := r.Header.Get("Stripe-Version"); version != "" && !strings.HasSuffix(version, ".dahlia") {
		return invalid("", "", "Invalid Stripe API version: "+version+". The lab answers in the version "+Version+".")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.keys, func(k *key) bool { return k.text == text })
	if i < 0 {
		return &failure{status: http.StatusUnauthorized, kind: invalidRequest, message: "Invalid API Key provided: " + masked(text)}
	}
	verb, label := "_write", "Write"
	if r.Method == http.MethodGet {
		verb, label = "_read", "Read"
	}
	if permission == "" || l.keys[i].may(permission+verb) {
		return nil
	}
	return &failure{status: http.StatusForbidden, kind: invalidRequest, message: fmt.Sprintf("The provided key '%s' does not have the required permissions for this endpoint on account '%s'. "+
		"Enabling \"%s %s\" ('%s') permissions on this key would allow this request to continue.", masked(text), l.book.account().id(), labels[permission], label, permission+verb)}
}
