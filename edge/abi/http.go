package abi

// Header is a name and a value. Names in a request are in lower case. A name may
// occur several times, in requests and in responses.
type Header struct{ Name, Value string }

// Request is a request that the host received.
type Request struct {
	// Method is one of GET, POST, PUT, DELETE, PATCH, HEAD and OPTIONS.
	Method string
	// URI is the path and query exactly as received, percent-encoded.
	URI string
	// Headers are those of the client, except spin-*, which the host sets, such as
	// spin-full-url, spin-client-addr and spin-path-info.
	Headers []Header
	// Body is nil if the request has none.
	Body []byte
}

// Response is the response to a Request, or that of a server to Send.
type Response struct {
	// Status is 200 to 599. The host replaces other values by 503.
	Status int
	// Headers are sent in this order, including repeated ones.
	Headers []Header
	Body    []byte
}

// HTTPError is the reason why Send has no response (http-types.wit, enum http-error).
type HTTPError uint8

const (
	// HTTPSuccess means no error. It is never returned.
	HTTPSuccess HTTPError = iota
	// HTTPDestinationNotAllowed is a URL outside the manifest's
	// allowed_outbound_hosts. Nothing was sent.
	HTTPDestinationNotAllowed
	// HTTPInvalidURL is an invalid URL. Nothing was sent.
	HTTPInvalidURL
	// HTTPRequestError is a request without a complete response: it was refused or
	// cut off, timed out, or was too large. The server may have processed it.
	HTTPRequestError
	// HTTPRuntimeError is an internal error of the host.
	HTTPRuntimeError
	// HTTPTooManyRequests is a request above the host's limit of outbound requests.
	HTTPTooManyRequests
)

// Error returns a text for logs. Do not send it to callers of the component.
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
