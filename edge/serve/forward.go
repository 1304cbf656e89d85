package serve

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"kith/core"
	"kith/core/auth"
	"kith/core/wire"
	"kith/edge/abi"
)

// forward sends a request to the backend, and returns the response without its
// envelope. Both are unchanged, except that hop-by-hop headers are removed, and the
// client's forwarding headers are replaced by those of the edge.
func (r *request) forward() (abi.Response, error) {
	keys, err := r.keys()
	if err != nil {
		return abi.Response{}, err
	}
	from := r.visitor()
	hop := auth.Hop{Method: r.Method, URI: r.URI, For: r.clientAddress(), Proto: from.scheme, Host: from.host}
	signed := hop.Sign(keys.Hop(), r.now)
	headers := make([]abi.Header, 0, len(r.Headers)+7)
	unpacks := !r.counted() // Spin: its client unpacks answers, and keeps the ETag of packed ones
	for _, h := range r.Headers {
		if endToEnd(h.Name) && !setByEdge(h.Name) && !(unpacks && h.Name == "accept-encoding") {
			headers = append(headers, h)
		}
	}
	if unpacks {
		headers = append(headers, abi.Header{Name: "accept-encoding", Value: "identity"})
	}
	headers = r.appendHop(headers, hop, signed)
	if r.wanted.ok {
		headers = append(headers, abi.Header{Name: auth.KeepsHeader, Value: auth.KeepsForm})
	}
	uri := r.URI
	if rewritten(uri) {
		headers = append(headers, abi.Header{Name: auth.URIHeader, Value: auth.HeaderURI(uri)})
		uri = "/"
	}
	url := strings.TrimSuffix(r.variable(backendVariable), "/") + uri
	response, err := abi.Send(r.Method, url, headers, r.Body)
	if err != nil {
		return abi.Response{}, backendUnreachable(err)
	}
	if refused := r.refusal(response, r.now, r.edge.Now()); refused != nil {
		return abi.Response{}, notReady("this edge is not ready; try again", refused)
	}
	return r.openEnvelope(response, keys.Hop(), signed)
}

// appendHop appends the headers by which the backend believes a hop.
func (r *request) appendHop(headers []abi.Header, hop auth.Hop, signed string) []abi.Header {
	return append(headers,
		abi.Header{Name: auth.ForwardedForHeader, Value: hop.For},
		abi.Header{Name: auth.ForwardedProtoHeader, Value: hop.Proto},
		abi.Header{Name: auth.ForwardedHostHeader, Value: hop.Host},
		abi.Header{Name: core.RequestIDHeader, Value: r.id},
		abi.Header{Name: auth.HopHeader, Value: signed},
	)
}

// rewritten reports whether Spin's client would send another URI than this one: it encodes
// some characters, reads a backslash as a slash, and removes segments of dots. A bad % would
// be no HTTP for the backend.
func rewritten(uri string) bool {
	path, query, _ := strings.Cut(uri, "?")
	dots, others := 0, 0 // characters of a segment
	for i := 0; i <= len(path); i++ {
		switch {
		case i == len(path) || path[i] == '/':
			if others == 0 && (dots == 1 || dots == 2) {
				return true
			}
			dots, others = 0, 0
		case path[i] == '.':
			dots++
		case path[i] == '%':
			if i+2 >= len(path) || !hexDigit(path[i+1]) || !hexDigit(path[i+2]) {
				return true
			}
			if path[i+1] == '2' && path[i+2]|0x20 == 'e' {
				dots++
			} else {
				others++
			}
			i += 2
		case encodes(path[i], "\"<>\\^`{|}"):
			return true
		default:
			others++
		}
	}
	for i := range len(query) {
		if encodes(query[i], "\"<>'") {
			return true
		}
	}
	return false
}

func hexDigit(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// encodes reports whether a character is beyond ASCII or one of some.
func encodes(c byte, some string) bool {
	return c <= ' ' || c > '~' || strings.IndexByte(some, c) >= 0
}

func backendUnreachable(why error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: "the backend cannot be reached; try again", Err: why}
}

// openEnvelope returns the response in the backend's envelope, which by has signed for a
// hop. A response without such an envelope is not from the backend: it is a redirect of a
// proxy, or the page to which Spin followed one. A status of 5xx without an envelope means
// that a proxy cannot reach the backend.
func (r *request) openEnvelope(response abi.Response, by auth.Signer, hop string) (abi.Response, error) {
	e, status := envelopeOf(response, by, hop)
	kept := response.Headers[:0]
	for _, h := range response.Headers {
		switch {
		case h.Name == auth.LocationHeader:
			kept = append(kept, abi.Header{Name: "location", Value: h.Value})
		case h.Name == auth.GuessesHeader:
			if r.counted() {
				kept = append(kept, h)
			}
		case strings.HasPrefix(h.Name, auth.InternalPrefix):
		// A response to HEAD has the length of a body that is not sent.
		case endToEnd(h.Name) || h.Name == "content-length" && r.Method == "HEAD":
			kept = append(kept, h)
		}
	}
	if status >= 200 && status <= 599 {
		r.keepAnswer(e.Kept)
		return abi.Response{Status: status, Headers: kept, Body: response.Body}, nil
	}
	cause := errors.New("backend_url responded with " + strconv.Itoa(response.Status) + " and without a valid " + auth.EnvelopeHeader)
	if response.Status >= 500 {
		return abi.Response{}, backendUnreachable(cause)
	}
	return abi.Response{}, &core.Error{
		Code: core.CodeBadGateway, Err: cause,
		Message: "the response at backend_url was not from a backend; set backend_url to a backend of this edge's version with the same master key, without a redirect in between",
	}
}

// keepAnswer keeps what auth.KeptHeader has, if it is wanted.
func (r *request) keepAnswer(encoded string) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if kept, ok := wire.ParseKept(string(text)); err == nil && ok {
		r.keep(r.wanted, kept)
	}
}

// otherSignature is the status of an envelope that has another signature.
const otherSignature = -1

// envelopeOf returns the envelope of a response and the visitor's status in it. The status is 0
// if there is no envelope, and otherSignature if by has not signed it for a hop.
func envelopeOf(response abi.Response, by auth.Signer, hop string) (e auth.Envelope, status int) {
	e = auth.Envelope{Hop: hop}
	signature := ""
	for _, h := range response.Headers {
		switch h.Name {
		case auth.StatusHeader:
			e.Status = h.Value
		case auth.LocationHeader:
			e.Location = h.Value
		case auth.KeptHeader:
			e.Kept = h.Value
		case auth.EnvelopeHeader:
			signature = h.Value
		}
	}
	switch {
	case e.Verify(by, signature):
		status, _ = strconv.Atoi(e.Status)
	case signature != "":
		status = otherSignature
	}
	return e, status
}

// endToEnd reports whether a header is forwarded (RFC 9110, 7.6.1). The host computes
// content-length.
func endToEnd(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "content-length":
		return false
	}
	return true
}

// setByEdge reports whether a header is set by the edge or the host, and not taken
// from the client.
func setByEdge(name string) bool {
	switch name {
	case core.RequestIDHeader, auth.ForwardedForHeader, auth.ForwardedProtoHeader, auth.ForwardedHostHeader, "host",
		// The host adds the trace; the backend believes what an edge forwards.
		"traceparent", "tracestate":
		return true
	}
	return strings.HasPrefix(name, "spin-") || strings.HasPrefix(name, auth.InternalPrefix)
}
