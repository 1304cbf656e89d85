package abi

// Header is one name and value. Names of a request are lower case. A name may
// occur more than once, in requests and in responses.
type Header struct{ Name, Value string }

// Request is what the host received.
type Request struct {
	// Method is one of GET, POST, PUT, DELETE, PATCH, HEAD and OPTIONS.
	Method string
	// URI is path and query exactly as they were received, percent-encoding
	// untouched.
	URI string
	// Headers are the client's, except spin-*, which are set by the host:
	// spin-full-url, spin-client-addr and spin-path-info among them.
	Headers []Header
	// Body is nil when the request has none.
	Body []byte
}

// Response is the answer to a Request, or what a server answered to Send.
type Response struct {
	// Status is 200 to 599. The host answers 503 in place of any other.
	Status int
	// Headers are sent in this order, repeated ones as often as they occur.
	Headers []Header
	Body    []byte
}

// HTTPError says why Send has no response (http-types.wit, enum http-error).
type HTTPError uint8

const (
	// HTTPSuccess is no error; it is never returned as one.
	HTTPSuccess HTTPError = iota
	// HTTPDestinationNotAllowed is a URL outside the manifest's
	// allowed_outbound_hosts. Nothing was sent.
	HTTPDestinationNotAllowed
	// HTTPInvalidURL is a URL that cannot be read. Nothing was sent.
	HTTPInvalidURL
	// HTTPRequestError is a request that got no complete response: refused,
	// cut off, too late or too large. It may have had its effect.
	HTTPRequestError
	// HTTPRuntimeError is a fault of the host.
	HTTPRuntimeError
	// HTTPTooManyRequests is a bound of the host on outbound requests.
	HTTPTooManyRequests
)

// Error names the reason for a log; it is not for a caller of the component.
func (e HTTPError) Error() string {
	switch e {
	case HTTPSuccess:
		return "abi: http success"
	case HTTPDestinationNotAllowed:
		return "abi: http destination not allowed"
	case HTTPInvalidURL:
		return "abi: http invalid url"
	case HTTPRequestError:
		return "abi: http request failed"
	case HTTPRuntimeError:
		return "abi: http runtime error"
	case HTTPTooManyRequests:
		return "abi: too many http requests"
	}
	return "abi: http error of unknown number"
}
