//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

// These four stand for libc's allocator, which the SDK's canonical_abi_realloc
// and canonical_abi_free call. TinyGo's own keep every block in a map, so that a
// collector sees it and a wrong free is found: two map operations for each of
// the fifty blocks of a request, a fifth of its time. With gc=leaking there is
// no collector, and nothing is given back before the instance is dropped.

//go:linkname runtimeAlloc runtime.alloc
func runtimeAlloc(size uintptr, layout unsafe.Pointer) unsafe.Pointer

//export malloc
func libcMalloc(size uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	return runtimeAlloc(size, nil)
}

//export free
func libcFree(unsafe.Pointer) {}

//export calloc
func libcCalloc(count, size uintptr) unsafe.Pointer {
	if size != 0 && count > ^uintptr(0)/size {
		return nil
	}
	return libcMalloc(count * size)
}

// libcRealloc copies as many bytes as the new block has: how many the old one
// had is not known. It may copy what lies behind it, which means nothing, but
// never beyond memory, since the new block lies behind the old one.
//
//export realloc
func libcRealloc(old unsafe.Pointer, size uintptr) unsafe.Pointer {
	block := libcMalloc(size)
	if old != nil && block != nil {
		copy(unsafe.Slice((*byte)(block), size), unsafe.Slice((*byte)(old), size))
	}
	return block
}
