package serve

import (
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/edge/abi"
)

// forward sends a request to the backend as it came, and its answer back as it
// came. Only what belongs to a single connection is left out, and what the
// visitor claims of itself is replaced by what the edge vouches for.
func (r *request) forward() (abi.Response, error) {
	keys, err := r.keys()
	if err != nil {
		return abi.Response{}, err
	}
	from := r.visitor()
	hop := auth.Hop{Method: r.Method, URI: r.URI, For: from.address, Proto: from.scheme, Host: from.host}
	headers := make([]abi.Header, 0, len(r.Headers)+4)
	for _, h := range r.Headers {
		if travels(h.Name) && !vouched(h.Name) {
			headers = append(headers, h)
		}
	}
	headers = append(headers,
		abi.Header{Name: auth.ForwardedForHeader, Value: hop.For},
		abi.Header{Name: auth.ForwardedProtoHeader, Value: hop.Proto},
		abi.Header{Name: auth.ForwardedHostHeader, Value: hop.Host},
		abi.Header{Name: auth.HopHeader, Value: hop.Sign(keys.Hop(), r.now)},
	)
	url := strings.TrimSuffix(r.variable(backendVariable), "/") + r.URI
	response, err := abi.Send(r.Method, url, headers, r.Body)
	if err != nil {
		return abi.Response{}, &core.Error{
			Code: core.CodeUnavailable, Message: "the backend cannot be reached; try again", Err: err,
		}
	}
	kept := response.Headers[:0]
	for _, h := range response.Headers {
		if travels(h.Name) {
			kept = append(kept, h)
		}
	}
	response.Headers = kept
	return response, nil
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
	case auth.HopHeader, auth.GuessesHeader, auth.ForwardedForHeader, auth.ForwardedProtoHeader, auth.ForwardedHostHeader, "host":
		return true
	}
	return strings.HasPrefix(name, "spin-")
}
