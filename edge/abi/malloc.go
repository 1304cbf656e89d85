//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

// These four functions replace libc's allocator, which the SDK's
// canonical_abi_realloc and canonical_abi_free call. TinyGo's own ones track every
// block in a map, for the garbage collector and to detect a wrong free. That is two
// map operations for each of the 50 blocks of a request, 20 % of its time. With
// gc=leaking there is no collector, and no memory is freed before the request ends.

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

// libcRealloc copies as many bytes as the new block has, because the size of the old
// one is unknown. It may copy bytes after the old block, which are meaningless, but
// never bytes outside memory, because the new block is after the old one.
//
//export realloc
func libcRealloc(old unsafe.Pointer, size uintptr) unsafe.Pointer {
	block := libcMalloc(size)
	if old != nil && block != nil {
		copy(unsafe.Slice((*byte)(block), size), unsafe.Slice((*byte)(old), size))
	}
	return block
}
