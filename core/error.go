package core

import "cmp"

// Code classifies an Error by what the caller must do about it. The list is
// append-only. The zero value is CodeInternal, so that an error without a code fails
// safe.
type Code uint8

const (
	// CodeInternal is a fault of the service. Its message is not sent to callers.
	CodeInternal Code = iota
	// CodeInvalid is a request that can never succeed as sent.
	CodeInvalid
	// CodeMalformed is a body that is not the JSON object this API defines:
	// broken syntax, an unknown key, a wrong type.
	CodeMalformed
	// CodeUnauthenticated is a request with missing or wrong credentials.
	CodeUnauthenticated
	// CodeForbidden is a request with valid credentials that do not permit it.
	CodeForbidden
	// CodeNotFound is a tenant, account, user, code or path that does not exist.
	CodeNotFound
	// CodeMethodNotAllowed is a request for a known path with a wrong method.
	CodeMethodNotAllowed
	// CodeConflict is a request whose effect has already happened.
	CodeConflict
	// CodeTooLarge is a body that is larger than the limit.
	CodeTooLarge
	// CodeMediaType is a body whose Content-Type is not JSON.
	CodeMediaType
	// CodeUnavailable is a part of the service that cannot be reached now; the same
	// request may succeed later.
	CodeUnavailable
	// CodeNotSupported is a call that exists, but not for this tenant.
	CodeNotSupported
	// CodeRateLimited is a caller that exceeded a rate limit.
	CodeRateLimited
	// CodeTimeout is a request whose body did not arrive in time.
	CodeTimeout
	// CodeBadGateway is a response that the edge received from something other than
	// the backend.
	CodeBadGateway
	codeCount
)

// Codes lists every code, for tests that must cover all of them.
func Codes() []Code {
	all := make([]Code, codeCount)
	for i := range all {
		all[i] = Code(i)
	}
	return all
}

// Error is the only error type that reaches a caller.
type Error struct {
	Code Code
	// Field is the dotted path of the invalid input, such as "events[0].key"; empty
	// when the error is about the whole request.
	Field string
	// Message says, for the caller, what was expected.
	Message string
	// Form says the same to a person who fills in a form of the portal, which has neither
	// JSON nor the names of the API. Empty if Message suits such a person too.
	Form string
	// RS is the stable number of the cause (clients 6.2), such as "RS034"; empty if it
	// has none.
	RS string
	// Differs is true for a conflict with another call that had the same idempotency key.
	// Recorded is then the key of the event that was recorded with it, if it was of events.
	Differs  bool
	Recorded string
	// Err is the cause. It is logged, and never sent to the caller.
	Err error
}

// Error returns "field: message", or the message alone if Field is empty.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid returns a CodeInvalid error about a field.
func Invalid(field, message string) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: message}
}

// InForm sets the words for a form, and returns e.
func (e *Error) InForm(message string) *Error {
	e.Form = message
	return e
}

// ForForm returns the words for a form.
func (e *Error) ForForm() string { return cmp.Or(e.Form, e.Message) }

// Malformed returns a CodeMalformed error about a field of the body, or about the
// whole body if field is empty.
func Malformed(field, message string) *Error {
	return &Error{Code: CodeMalformed, Field: field, Message: message}
}

// NotFound returns a CodeNotFound error.
func NotFound(message string) *Error {
	return &Error{Code: CodeNotFound, Message: message}
}
