//go:build tinygo.wasm && !gc.boehm && !custommalloc

package abi

import "unsafe"

// TinyGo's strings are a pointer and a 32-bit length, which is how the ABI lays
// out strings, headers and lists of them. These lines stop the build when that
// is not so: a negative constant does not fit an unsigned one.
const (
	_ = uint(unsafe.Sizeof("") - StringSize)
	_ = uint(StringSize - unsafe.Sizeof(""))
	_ = uint(unsafe.Sizeof(Header{}) - HeaderSize)
	_ = uint(HeaderSize - unsafe.Sizeof(Header{}))
	_ = uint(unsafe.Offsetof(Header{}.Value) - StringSize)
	_ = uint(unsafe.Sizeof(rawValue{}) - ValueSize)
	_ = uint(ValueSize - unsafe.Sizeof(rawValue{}))
	_ = uint(unsafe.Offsetof(rawValue{}.data) - ValueData)
	_ = uint(unsafe.Alignof(rawValue{}) - ValueAlign)
	_ = uint(unsafe.Alignof(responseRecord{}) - WordAlign)
	_ = uint(unsafe.Alignof(outboundResult{}) - WordAlign)
	_ = uint(unsafe.Sizeof(responseRecord{}) - ResponseSize)
	_ = uint(ResponseSize - unsafe.Sizeof(responseRecord{}))
	_ = uint(unsafe.Offsetof(responseRecord{}.body) - ResponseBody)
	_ = uint(ResponseBody - unsafe.Offsetof(responseRecord{}.body))
	_ = uint(unsafe.Sizeof(outboundResult{}) - OutboundSize)
	_ = uint(OutboundSize - unsafe.Sizeof(outboundResult{}))
)

//export malloc
func libcMalloc(size uintptr) unsafe.Pointer

//export free
func libcFree(ptr unsafe.Pointer)

// list is a pointer and a count, of bytes or of records.
type list struct {
	ptr   unsafe.Pointer
	count uint32
}

// release gives back a block the host allocated. Blocks of no bytes do not
// exist; their pointer is made up.
func release(ptr unsafe.Pointer, count uint32) {
	if count != 0 {
		libcFree(ptr)
	}
}

// takeString returns the host's bytes as a string, without copying them.
func (l list) takeString() string {
	if l.count == 0 {
		return ""
	}
	libcFree(l.ptr)
	return unsafe.String((*byte)(l.ptr), l.count)
}

// takeBytes returns the host's bytes, without copying them; nil when empty.
func (l list) takeBytes() []byte {
	if l.count == 0 {
		return nil
	}
	libcFree(l.ptr)
	return unsafe.Slice((*byte)(l.ptr), l.count)
}

// takeStrings returns a list of strings, without copying list or bytes.
func (l list) takeStrings() []string {
	if l.count == 0 {
		return nil
	}
	strings := unsafe.Slice((*string)(l.ptr), l.count)
	for _, s := range strings {
		release(unsafe.Pointer(unsafe.StringData(s)), uint32(len(s)))
	}
	libcFree(l.ptr)
	return strings
}

// takeHeaders returns a list of headers, without copying list or bytes.
func (l list) takeHeaders() []Header {
	if l.count == 0 {
		return nil
	}
	headers := unsafe.Slice((*Header)(l.ptr), l.count)
	for i := range headers {
		h := &headers[i]
		release(unsafe.Pointer(unsafe.StringData(h.Name)), uint32(len(h.Name)))
		release(unsafe.Pointer(unsafe.StringData(h.Value)), uint32(len(h.Value)))
	}
	libcFree(l.ptr)
	return headers
}

// giveString copies s to a block that the host will free.
func giveString(s string) string {
	if len(s) == 0 {
		return ""
	}
	block := libcMalloc(uintptr(len(s)))
	copy(unsafe.Slice((*byte)(block), len(s)), s)
	return unsafe.String((*byte)(block), len(s))
}

// giveBytes copies b to a block that the host will free.
func giveBytes(b []byte) list {
	s := giveString(unsafe.String(unsafe.SliceData(b), len(b)))
	return viewString(s)
}

// giveHeaders copies list and bytes to blocks that the host will free.
func giveHeaders(headers []Header) list {
	if len(headers) == 0 {
		return list{}
	}
	block := libcMalloc(uintptr(len(headers)) * HeaderSize)
	given := unsafe.Slice((*Header)(block), len(headers))
	for i, h := range headers {
		given[i] = Header{giveString(h.Name), giveString(h.Value)}
	}
	return list{block, uint32(len(headers))}
}

// viewString lends the host the bytes of s for the length of a call.
func viewString(s string) list {
	return list{unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))}
}
