package serve

import (
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/edge/abi"
)

// forward sends a request to the backend as it came, and its answer, out of its
// envelope, back as it came. Only what belongs to a single connection is left out, and what the
// visitor claims of itself is replaced by what the edge vouches for.
func (r *request) forward() (abi.Response, error) {
	keys, err := r.keys()
	if err != nil {
		return abi.Response{}, err
	}
	from := r.visitor()
	hop := auth.Hop{Method: r.Method, URI: r.URI, For: from.address, Proto: from.scheme, Host: from.host}
	headers := make([]abi.Header, 0, len(r.Headers)+5)
	for _, h := range r.Headers {
		if travels(h.Name) && !vouched(h.Name) {
			headers = append(headers, h)
		}
	}
	headers = append(headers,
		abi.Header{Name: auth.ForwardedForHeader, Value: hop.For},
		abi.Header{Name: auth.ForwardedProtoHeader, Value: hop.Proto},
		abi.Header{Name: auth.ForwardedHostHeader, Value: hop.Host},
		abi.Header{Name: core.RequestIDHeader, Value: r.id},
		abi.Header{Name: auth.HopHeader, Value: hop.Sign(keys.Hop(), r.now)},
	)
	url := strings.TrimSuffix(r.variable(backendVariable), "/") + r.URI
	response, err := abi.Send(r.Method, url, headers, r.Body)
	if err != nil {
		return abi.Response{}, backendAway(err)
	}
	return r.openEnvelope(response)
}

func backendAway(why error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: "the backend cannot be reached; try again", Err: why}
}

// openEnvelope returns the answer that the backend's envelope holds. An answer
// without envelope is not the backend's: a proxy of it redirects, or Spin followed a
// redirect and this is the page behind it. Of a proxy whose backend is away, 5xx
// says so.
func (r *request) openEnvelope(response abi.Response) (abi.Response, error) {
	status := 0
	kept := response.Headers[:0]
	for _, h := range response.Headers {
		switch {
		case h.Name == auth.StatusHeader:
			status, _ = strconv.Atoi(h.Value)
		case h.Name == auth.LocationHeader:
			kept = append(kept, abi.Header{Name: "location", Value: h.Value})
		// An answer to HEAD has the length of a body that is not sent.
		case travels(h.Name) || h.Name == "content-length" && r.Method == "HEAD":
			kept = append(kept, h)
		}
	}
	if status >= 200 && status <= 599 {
		return abi.Response{Status: status, Headers: kept, Body: response.Body}, nil
	}
	cause := errors.New("backend_url answered " + strconv.Itoa(response.Status) + " without " + auth.StatusHeader)
	if response.Status >= 500 {
		return abi.Response{}, backendAway(cause)
	}
	return abi.Response{}, &core.Error{
		Code: core.CodeBadGateway, Err: cause,
		Message: "the backend's address answered without the backend; set backend_url to a backend of this edge's version, without a redirect in between",
	}
}

// travels reports whether a header may pass from one connection to the next
// (RFC 9110, 7.6.1). The length is counted anew by whoever sends.
func travels(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length":
		return false
	}
	return true
}

// vouched reports whether a header is the edge's own to set.
func vouched(name string) bool {
	switch name {
	case auth.HopHeader, auth.GuessesHeader, core.RequestIDHeader, auth.ForwardedForHeader, auth.ForwardedProtoHeader, auth.ForwardedHostHeader, "host":
		return true
	}
	return strings.HasPrefix(name, "spin-")
}
