package stripelab

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"kith/backend/labkit"
)

// call is one request to the gateway, or to the lab.
type call struct {
	// name is the pattern of its route, such as "POST /v1/customers/{id}".
	name string
	// path is the path of the URL, and id is the record that it names.
	path, id string
	// encoded has the parameters as they came, and form parsed.
	encoded string
	form    *form
	// base is the address of the lab, for links in answers.
	base string
	// idempotency is the key of a call that is to run once; request is the id of the
	// request.
	idempotency, request string

	// failed is the first reason why the call is refused.
	failed *failure
}

// answer is what a call is answered with.
type answer struct {
	status   int
	body     []byte
	replayed bool
	// request is the id of the request, and location where a browser continues.
	request, location string
	// fault is the error that the lab simulates.
	fault labkit.Fault
}

// reads reports whether a call changes nothing.
func (c *call) reads() bool {
	return strings.HasPrefix(c.name, http.MethodGet) && c.name != linkCall
}

// refuse records why a call is refused, if f is a reason, and returns nil, so that a function
// can return it.
func (c *call) refuse(f *failure) object {
	if c.failed == nil {
		c.failed = f
	}
	return nil
}

// whole parses a whole number, and refuses the call if it is none.
func (c *call) whole(text, param string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > 1<<50 || n < -1<<50 {
		c.refuse(invalid("parameter_invalid_integer", param, "Invalid integer: "+text))
	}
	return n
}

// number returns a parameter that is a whole number, or 0 if it is not given.
func (c *call) number(f *form, name, param string) int64 {
	if !f.has(name) || f.str(name) == "" {
		return 0
	}
	return c.whole(f.str(name), param)
}

func (c *call) decimal(text, param string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		c.refuse(invalid("", param, "Invalid decimal: "+text))
	}
	return n
}

// need refuses the call if a parameter is not given.
func (c *call) need(names ...string) {
	for _, name := range names {
		if !c.form.has(name) || c.form.str(name) == "" && len(c.form.at(name).fields) == 0 {
			c.refuse(invalid("parameter_missing", name, "Missing required param: "+name+"."))
		}
	}
}

// oneOf refuses the call if a parameter is given with another value, and returns it.
func (c *call) oneOf(f *form, name, param, byDefault string, values ...string) string {
	if !f.has(name) {
		return byDefault
	}
	value := f.str(name)
	if !slices.Contains(values, value) {
		c.refuse(invalid("", param, "Invalid "+param+": must be one of "+strings.Join(values, ", ")))
	}
	return value
}

// chargesAutomatically refuses bills that are sent to the customer: the lab would charge
// them.
func (c *call) chargesAutomatically() {
	const name = "collection_method"
	if c.form.str(name) == "send_invoice" {
		c.refuse(invalid("", name, "The lab only charges automatically: send charge_automatically, or leave collection_method out."))
	}
	c.oneOf(c.form, name, name, "", "charge_automatically")
}

// amountOf returns an amount in a currency, which must be one that can be charged.
func (c *call) amountOf(f *form, name, param, currency string) int64 {
	n := c.number(f, name, param)
	if n%step(currency) != 0 {
		c.refuse(invalid("", param, "Invalid "+param+": amounts in "+currency+" must be multiples of "+strconv.FormatInt(step(currency), 10)))
	}
	if n > 99999999 || n < -99999999 {
		c.refuse(invalid("amount_too_large", param, "Amount must be no more than 99999999"))
	}
	return n
}

// currency returns the currency of a parameter, in lower case.
func (c *call) currency(f *form, param string) string {
	code := strings.ToLower(f.str("currency"))
	if !validCurrency(code) {
		c.refuse(invalid("", param, "Invalid currency: "+code))
	}
	return code
}

// Limits of metadata.
const (
	maxMetadata      = 50
	maxMetadataKey   = 40
	maxMetadataValue = 500
)

// metadata merges the metadata of a form into a record's: an empty value removes a key,
// and empty metadata all keys.
func (c *call) metadata(f *form, have map[string]string) map[string]string {
	merged := map[string]string{}
	maps.Copy(merged, have)
	given := f.at("metadata")
	if given == nil {
		return merged
	}
	if len(given.fields) == 0 && given.text == "" {
		return map[string]string{}
	}
	for name, value := range given.fields {
		switch {
		case value.text == "":
			delete(merged, name)
		case len(name) > maxMetadataKey:
			c.refuse(invalid("", "metadata", "Metadata keys must be at most 40 characters"))
		case len(value.text) > maxMetadataValue:
			c.refuse(invalid("", "metadata["+name+"]", "Metadata values must be at most 500 characters"))
		default:
			merged[name] = value.text
		}
	}
	if len(merged) > maxMetadata {
		c.refuse(invalid("", "metadata", "Metadata can have at most 50 keys"))
	}
	return merged
}

// meta returns the metadata of a record.
func meta(o object) map[string]string { m, _ := o["metadata"].(map[string]string); return m }

// Idempotency keys are kept for a day, as the gateway does, and at most maxUsed of them.
const (
	keepKeys          = 24 * time.Hour
	maxUsed           = 50_000
	maxIdempotencyKey = 255
)

// usedKey is the first use of an idempotency key.
type usedKey struct {
	at   time.Time
	same string
	answer
}

// once runs a call, once for each idempotency key.
func (b *book) once(l *Lab, c *call) answer {
	if c.idempotency == "" || !strings.HasPrefix(c.name, http.MethodPost) {
		return b.execute(l, c)
	}
	if len(c.idempotency) > maxIdempotencyKey {
		return answer{status: http.StatusBadRequest, request: c.request, body: encode(invalid("", "", "Idempotency keys must be at most 255 characters").body())}
	}
	sum := sha256.Sum256([]byte(c.path + "?" + c.encoded))
	same := hex.EncodeToString(sum[:])
	if used := b.used[c.idempotency]; used != nil && b.now.Sub(used.at) < keepKeys {
		if used.same != same {
			f := &failure{status: http.StatusBadRequest, kind: "idempotency_error", message: "Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '" +
				c.idempotency + "' if you meant to execute a different request."}
			return answer{status: f.status, request: c.request, body: encode(f.body())}
		}
		again := used.answer
		again.replayed = true
		return again
	}
	a := b.execute(l, c)
	// A call that was refused before it ran may be sent again with the key.
	if a.status == http.StatusOK || a.status == http.StatusPaymentRequired {
		b.used[c.idempotency] = &usedKey{at: b.now, same: same, answer: a}
		b.usedIDs = append(b.usedIDs, c.idempotency)
		b.forgetKeys()
	}
	return a
}

func (b *book) forgetKeys() {
	for len(b.usedIDs) > 0 {
		oldest := b.used[b.usedIDs[0]]
		if oldest != nil && len(b.usedIDs) <= maxUsed && b.now.Sub(oldest.at) < keepKeys {
			return
		}
		delete(b.used, b.usedIDs[0])
		b.usedIDs = b.usedIDs[1:]
	}
}

// execute runs a call and renders its answer.
func (b *book) execute(l *Lab, c *call) answer {
	if !c.reads() {
		c.request = b.id("req")
		b.cause = c
		defer func() { b.cause = nil }()
	}
	result := b.checked(l, c)
	location := result.text("_location")
	if c.failed == nil && result != nil {
		expand, f := parsePaths(c.form.texts("expand"))
		if f == nil {
			result, f = b.render(result, expand)
		}
		c.refuse(f)
	}
	if c.failed != nil {
		return answer{status: c.failed.status, body: encode(c.failed.body()), request: c.request}
	}
	a := answer{status: http.StatusOK, request: c.request, location: location}
	if result != nil {
		a.body = encode(result)
	}
	return a
}

// checked runs a call whose parameters are known.
func (b *book) checked(l *Lab, c *call) object {
	if !c.reads() && len(b.all) >= maxRecords {
		return c.refuse(&failure{status: http.StatusBadRequest, kind: invalidRequest, message: "The lab is full: start one without this journal."})
	}
	if control, is := controls[c.name]; is {
		return control(l, c)
	}
	e, known := endpoints[c.name]
	if !known {
		return c.refuse(&failure{status: http.StatusNotFound, kind: invalidRequest, message: "Unrecognized request URL (" + strings.Fields(c.name)[0] + ": " + c.path + ")."})
	}
	if name := c.form.unknown(e.known()); name != "" {
		return c.refuse(invalid("parameter_unknown", name, "Received unknown parameter: "+name))
	}
	for _, path := range c.form.texts("expand") {
		if path == "" {
			return c.refuse(cannotExpand(""))
		}
	}
	return e.do(b, c)
}
