//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

// outboundResult is the record of OutboundSize bytes that the host writes.
type outboundResult struct {
	tag      uint8
	_        [3]uint8
	response responseRecord
}

// outbound is written by the host during Send and read before Send returns.
var outbound outboundResult

//go:wasmimport wasi-outbound-http request
func outboundRequest(method uint32, uri unsafe.Pointer, uriLen uint32,
	headers unsafe.Pointer, headerCount uint32, params unsafe.Pointer, paramCount uint32,
	bodyTag uint32, body unsafe.Pointer, bodyLen uint32, result unsafe.Pointer)

// Send makes an HTTP request and waits for the whole response. MethodNumber must know
// the method, and the URL must be absolute, on a host that the manifest allows. Spin
// follows redirects, to any host and with these headers; wasm/host does so only in
// its strict mode. Bodies are not decompressed. Headers are sent and returned
// unchanged, including repeated ones. The error is an HTTPError. A response with an
// error status, such as 500, is not an error.
func Send(method, url string, headers []Header, body []byte) (Response, error) {
	number, ok := MethodNumber(method)
	if !ok {
		return Response{}, HTTPRequestError
	}
	bodyTag := uint32(TagNone)
	if len(body) > 0 {
		bodyTag = TagSome
	}
	uri, list, content := viewString(url), viewHeaders(headers), viewBytes(body)
	outboundRequest(number, uri.ptr, uri.count, list.ptr, list.count, nil, 0,
		bodyTag, content.ptr, content.count, unsafe.Pointer(&outbound))
	if outbound.tag != TagOK {
		return Response{}, HTTPError(*(*uint8)(unsafe.Pointer(&outbound.response)))
	}
	return takeResponse(&outbound.response), nil
}

func takeResponse(r *responseRecord) Response {
	taken := Response{Status: int(r.status)}
	if r.hasHeaders == TagSome {
		taken.Headers = r.headers.takeHeaders()
	}
	if r.hasBody == TagSome {
		taken.Body = r.body.takeBytes()
	}
	return taken
}
