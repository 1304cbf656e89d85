package stripe

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"kith/backend/gateway"
)

// The codes of errors that are not for every call the same.
const (
	resourceMissing       = "resource_missing"
	resourceAlreadyExists = "resource_already_exists"
	invoiceUpcomingNone   = "invoice_upcoming_none"
	lockTimeout           = "lock_timeout"
)

// refusal is an error that Stripe answered.
type refusal struct {
	Code    string `json:"code"`
	Param   string `json:"param"`
	Message string `json:"message"`
	status  int
	// request is the id by which Stripe's support finds the request.
	request string
}

// maxText bounds the text of an error of Stripe.
const maxText = 300

// keys are API keys in the text of an error, which Stripe masks in part.
var keys = regexp.MustCompile(`\b[rs]k_(test|live)_[\w*]+`)

// Error returns a text without keys. It has the id of the request if Stripe failed.
func (e *refusal) Error() string {
	text := "gateway: status " + strconv.Itoa(e.status)
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Param != "" {
		text += " on " + e.Param
	}
	if e.request != "" && e.status >= http.StatusInternalServerError {
		text += ", request " + e.request
	}
	text += ": " + keys.ReplaceAllString(e.Message, "key")
	return strings.ToValidUTF8(text[:min(len(text), maxText)], "")
}

// repeat reports whether the call may have another result when it is repeated at once.
// Stripe says so in a header. Without it, the call of another caller had the object, or the
// server failed. After too many calls, none is repeated at once.
func (e *refusal) repeat(h http.Header) bool {
	switch h.Get("Stripe-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	return e.status == http.StatusConflict || e.Code == lockTimeout || e.status >= http.StatusInternalServerError
}

// port returns the refusal as an error of the port.
func (e *refusal) port() *gateway.Error {
	action := gateway.Alert
	switch {
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		action = gateway.SetUp
	case e.status == http.StatusNotFound, e.Code == resourceMissing:
		action = gateway.Missing
	case e.status == http.StatusTooManyRequests, e.status == http.StatusConflict, e.status == http.StatusRequestTimeout, e.status >= http.StatusInternalServerError:
		action = gateway.Retry
	}
	return &gateway.Error{Action: action, Err: e}
}

// lost returns the error of a call whose result is unknown. It is repeated later: each
// write has a key, or is absolute.
func lost(err error) *gateway.Error {
	return &gateway.Error{Action: gateway.Retry, Err: &masked{err}}
}

// masked is an error whose text has no keys.
type masked struct{ err error }

func (m *masked) Error() string {
	return "gateway: no answer: " + keys.ReplaceAllString(m.err.Error(), "key")
}
func (m *masked) Unwrap() error { return m.err }

// refused returns the refusal in an error, or an empty one.
func refused(err error) refusal {
	if e, ok := errors.AsType[*refusal](err); ok {
		return *e
	}
	return refusal{}
}
