//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(ptr unsafe.Pointer, size uint32) uint32

// Random fills b from the host's cryptographic source. It is asked directly:
// crypto/rand of TinyGo comes with math/big and libc's arc4random. It panics,
// and so ends the instance, when the host has none.
func Random(b []byte) {
	if len(b) != 0 && randomGet(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))) != 0 {
		panic("abi: no random bytes")
	}
}
