package stripelab

import (
	"net/http"
	"strings"
)

// failure is an answer other than 200: the gateway's error object.
type failure struct {
	status                     int
	kind, code, param, message string
	// decline is the code of a declined card, and charge the charge that failed.
	decline, charge string
}

func (f *failure) body() object {
	one := object{"type": f.kind, "message": f.message}
	for name, value := range map[string]string{"code": f.code, "param": f.param, "decline_code": f.decline, "charge": f.charge} {
		if value != "" {
			one[name] = value
		}
	}
	if f.code != "" {
		one["doc_url"] = "https://stripe.com/docs/error-codes/" + strings.ReplaceAll(f.code, "_", "-")
	}
	return object{"error": one}
}

const (
	invalidRequest = "invalid_request_error"
	cardError      = "card_error"
)

func invalid(code, param, message string) *failure {
	return &failure{status: http.StatusBadRequest, kind: invalidRequest, code: code, param: param, message: message}
}

// missing is the answer for an id that no record has.
func missing(kind, id, param string) *failure {
	f := invalid("resource_missing", param, "No such "+strings.ReplaceAll(kind, "_", " ")+": '"+id+"'")
	f.status = http.StatusNotFound
	return f
}
