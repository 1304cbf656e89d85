//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

// A string of TinyGo is a pointer and a 32-bit length, which is also the layout of
// the ABI. The build fails if a size or offset differs: a negative constant does not
// fit an unsigned type.
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

// list is a pointer and a count, of bytes or of records.
type list struct {
	ptr   unsafe.Pointer
	count uint32
}

// takeString returns the host's bytes as a string, without copying them.
func (l list) takeString() string {
	if l.count == 0 {
		return ""
	}
	return unsafe.String((*byte)(l.ptr), l.count)
}

// takeBytes returns the host's bytes, without copying them; nil if empty.
func (l list) takeBytes() []byte {
	if l.count == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(l.ptr), l.count)
}

// takeStrings returns a list of strings, without copying the list or the bytes.
func (l list) takeStrings() []string {
	if l.count == 0 {
		return nil
	}
	return unsafe.Slice((*string)(l.ptr), l.count)
}

// takeHeaders returns a list of headers, without copying the list or the bytes.
func (l list) takeHeaders() []Header {
	if l.count == 0 {
		return nil
	}
	return unsafe.Slice((*Header)(l.ptr), l.count)
}

// viewString returns the bytes of s for the host.
func viewString(s string) list {
	return list{unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))}
}

// viewBytes returns b for the host.
func viewBytes(b []byte) list {
	return list{unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))}
}

// viewHeaders returns a list of headers for the host.
func viewHeaders(headers []Header) list {
	return list{unsafe.Pointer(unsafe.SliceData(headers)), uint32(len(headers))}
}
