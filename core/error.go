package core

// Code classifies an Error by what its caller must do about it. The list is
// closed and append-only; the zero value is CodeInternal, so that an error
// whose code was forgotten fails safe.
type Code uint8

const (
	// CodeInternal is a fault of ours. Its text is withheld from callers.
	CodeInternal Code = iota
	// CodeInvalid is a request that can never succeed as sent.
	CodeInvalid
	// CodeMalformed is a body that is not the JSON object this API defines:
	// broken syntax, an unknown key, a wrong type.
	CodeMalformed
	// CodeUnauthenticated is a missing or wrong credential.
	CodeUnauthenticated
	// CodeForbidden is a good credential that does not cover the request.
	CodeForbidden
	// CodeNotFound is a tenant, account, user, code or path that is not there.
	CodeNotFound
	// CodeMethodNotAllowed is a known path asked for by a wrong method.
	CodeMethodNotAllowed
	// CodeConflict is a request whose effect has already happened.
	CodeConflict
	// CodeTooLarge is a body above a bound.
	CodeTooLarge
	// CodeMediaType is a body that is not declared as JSON.
	CodeMediaType
	// CodeUnavailable is a part of Kith that cannot be reached now; the same
	// request may succeed later.
	CodeUnavailable
	// CodeNotSupported is a call that is there, but not for this tenant.
	CodeNotSupported
	// CodeRateLimited is a caller who asks too often.
	CodeRateLimited
	// CodeTimeout is a caller whose body did not arrive in time.
	CodeTimeout
	// CodeBadGateway is an answer to the edge that is not the backend's.
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
	// Field is the dotted path of the offending input, such as
	// "events[0].key"; empty when the request as a whole is at fault.
	Field string
	// Message is written for the caller and says what was expected.
	Message string
	// RS is the reference's stable "RS0NN" number, or empty when it has none.
	RS string
	// Err is the cause, for the log only. It is never rendered.
	Err error
}

// Error joins field and message the way callers see them.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Invalid is an input error about one field.
func Invalid(field, message string) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: message}
}

// Malformed is a body error about one field, or about the body when field is
// empty.
func Malformed(field, message string) *Error {
	return &Error{Code: CodeMalformed, Field: field, Message: message}
}

// NotFound says what was not found.
func NotFound(message string) *Error {
	return &Error{Code: CodeNotFound, Message: message}
}
