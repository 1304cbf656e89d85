//go:build tinygo.wasm && gc.leaking && custommalloc

package abi

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(ptr unsafe.Pointer, size uint32) uint32

// Random fills b with cryptographically secure random bytes of the host. It does not
// use crypto/rand, which in TinyGo links math/big and libc's arc4random. If the host
// returns an error, it panics, which ends the instance.
func Random(b []byte) {
	if len(b) != 0 && randomGet(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))) != 0 {
		panic("abi: no random bytes")
	}
}
