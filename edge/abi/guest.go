//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

var handler func(*Request) Response

// Handle registers h as the handler of all requests. It must be called once, from an
// init function, because such a module has no main. h must not keep the Request, and
// must not panic: TinyGo cannot recover from a runtime panic here, so the host
// responds with 503 and drops the instance.
func Handle(h func(*Request) Response) { handler = h }

var preparation func()

// Prepare registers f for ExportPrepare. It must be called from an init function.
func Prepare(f func()) { preparation = f }

//go:wasmexport prepare
func prepare() {
	if preparation != nil {
		preparation()
	}
}

// The allocator of this package never frees memory; see ExportArena.
//
//go:wasmexport arena
func arena() {}

// responseRecord is the record of ResponseSize bytes that the host reads.
type responseRecord struct {
	status     uint16
	_          uint16
	hasHeaders uint8
	_          [3]uint8
	headers    list
	hasBody    uint8
	_          [3]uint8
	body       list
}

// response is a global, like RET_AREA of spin-http.c, because the host reads it after
// handleRequest has returned.
var response responseRecord

//go:wasmexport handle-http-request
func handleRequest(method uint32, uri unsafe.Pointer, uriLen uint32,
	headers unsafe.Pointer, headerCount uint32, params unsafe.Pointer, paramCount uint32,
	bodyTag uint32, body unsafe.Pointer, bodyLen uint32,
) unsafe.Pointer {
	name, _ := MethodName(method)
	request := &Request{
		Method:  name,
		URI:     list{uri, uriLen}.takeString(),
		Headers: list{headers, headerCount}.takeHeaders(),
	}
	if bodyTag == TagSome {
		request.Body = list{body, bodyLen}.takeBytes()
	}
	writeResponse(handler(request))
	return unsafe.Pointer(&response)
}

func writeResponse(r Response) {
	response.status = uint16(r.Status)
	response.hasHeaders = TagSome
	response.headers = viewHeaders(r.Headers)
	response.hasBody = TagSome
	response.body = viewBytes(r.Body)
}
