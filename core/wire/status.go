package wire

import (
	"errors"
	"strconv"

	"kith/core"
)

// Status returns the HTTP status of a code. It is the only mapping between the two.
func Status(c core.Code) int {
	switch c {
	case core.CodeInternal:
		return 500
	case core.CodeInvalid, core.CodeMalformed:
		return 400
	case core.CodeUnauthenticated:
		return 401
	case core.CodeForbidden, core.CodeNotSupported:
		return 403
	case core.CodeNotFound:
		return 404
	case core.CodeMethodNotAllowed:
		return 405
	case core.CodeConflict:
		return 409
	case core.CodeTooLarge:
		return 413
	case core.CodeMediaType:
		return 415
	case core.CodeRateLimited:
		return 429
	case core.CodeTimeout:
		return 408
	case core.CodeBadGateway:
		return 502
	case core.CodeUnavailable:
		return 503
	}
	return 500
}

// apiErrorCode returns the apiErrorCode of a code, on which clients depend. Three of
// them are from clients 6.1; the others have the same form.
func apiErrorCode(c core.Code) string {
	switch c {
	case core.CodeInternal:
		return "INTERNAL"
	case core.CodeInvalid:
		return "VALIDATION_FAILED"
	case core.CodeMalformed:
		return "INVALID_JSON_REQUEST"
	case core.CodeUnauthenticated:
		return "UNAUTHORIZED"
	case core.CodeForbidden:
		return "FORBIDDEN"
	case core.CodeNotFound:
		return "NOT_FOUND"
	case core.CodeMethodNotAllowed:
		return "METHOD_NOT_ALLOWED"
	case core.CodeConflict:
		return "CONFLICT"
	case core.CodeTooLarge:
		return "PAYLOAD_TOO_LARGE"
	case core.CodeMediaType:
		return "UNSUPPORTED_MEDIA_TYPE"
	case core.CodeUnavailable:
		return "UNAVAILABLE"
	case core.CodeNotSupported:
		return "API_REQUEST_NOT_SUPPORTED"
	case core.CodeRateLimited:
		return "RATE_LIMITED"
	case core.CodeTimeout:
		return "REQUEST_TIMEOUT"
	case core.CodeBadGateway:
		return "BAD_GATEWAY"
	}
	return "INTERNAL"
}

// Failure returns the status and the JSON body of an error: {message, statusCode,
// apiErrorCode, rsCode?} (clients 6.1.1), with differs, and recordedEvent for events, if the
// idempotency key was used for another call. An error that is not a core.Error, or has
// CodeInternal, is replaced by a general message.
func Failure(err error) (status int, body []byte) {
	e, status, word := Shown(err)
	b := append([]byte(nil), `{"message":`...)
	b = appendString(b, e.Error())
	b = append(b, `,"statusCode":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"apiErrorCode":`...)
	b = appendString(b, word)
	if e.RS != "" {
		b = append(b, `,"rsCode":`...)
		b = appendString(b, e.RS)
	}
	if e.Differs {
		b = append(b, `,"differs":true`...)
	}
	if e.Recorded != "" {
		b = append(b, `,"recordedEvent":`...)
		b = appendString(b, e.Recorded)
	}
	return status, append(b, '}')
}

// RetryAfter returns the Retry-After header of a response, in seconds; "" if it needs
// none.
func RetryAfter(status int) string {
	switch status {
	case 503:
		return "1"
	case 429:
		return "10"
	}
	return ""
}

// Shown returns the error to show to a caller, its status and its apiErrorCode. An
// internal error is replaced by a general message.
func Shown(err error) (e *core.Error, status int, word string) {
	if !errors.As(err, &e) || e.Code == core.CodeInternal {
		e = &core.Error{Message: "something went wrong on our side; it has been logged"}
	}
	return e, Status(e.Code), apiErrorCode(e.Code)
}

// RowFailure returns the columns of an error in the errors file of an import. ok is
// false for an internal or temporary error, which is not an error of the row.
func RowFailure(err error) (message, code string, status int, ok bool) {
	var e *core.Error
	if !errors.As(err, &e) || e.Code == core.CodeInternal || e.Code == core.CodeUnavailable {
		return "", "", 0, false
	}
	return e.Error(), apiErrorCode(e.Code), Status(e.Code), true
}

// MethodNotAllowed returns the error for a known path with a wrong method.
func MethodNotAllowed(method string) *core.Error {
	return &core.Error{Code: core.CodeMethodNotAllowed, Message: method + " is not allowed on this path; use a method of the Allow header"}
}

// NoSuchPath returns the error for an unknown path.
func NoSuchPath() *core.Error { return core.NotFound("this path does not exist") }

// size returns a limit with its unit.
func size(bytes int) string {
	if bytes%(1<<20) == 0 {
		return strconv.Itoa(bytes>>20) + " MiB"
	}
	return strconv.Itoa(bytes) + " bytes"
}
