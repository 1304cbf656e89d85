// Package abi is the guest side of the binary interface between the edge
// component and the host that runs it, Spin or wasm/host: HTTP in, HTTP out,
// SQLite and random bytes. It holds the only unsafe code of the project.
//
// The interface is the one that Spin adapts from core modules. Its byte layout
// is defined by the C files of github.com/fermyon/spin/sdk/go/v2 v2.2.0, named
// below as sqlite.c, spin-http.c, wasi-outbound-http.c and spin-config.c, and is
// repeated in layout.go, which the host imports too, so that it exists once.
//
// The SDK's own http and sqlite packages are not used: the first keeps one
// value of every header, so that two Set-Cookie become one, and the second
// needs goroutines, which cost more per request than the request.
//
// # Allocation exports
//
// The host allocates in the guest by canonical_abi_realloc and releases the
// response by canonical_abi_free. This package does not export them: the C file
// of the SDK's variables package does, weakly, and a second export of the name
// fails the link. A component must therefore import
// github.com/fermyon/spin/sdk/go/v2/variables, which it needs anyway to read its
// variables; without it the host refuses to load the module.
//
// # Ownership
//
// What the host hands over is freed here, once per pointer and at once, while
// strings go on pointing at it. That is sound because TinyGo's own malloc is
// linked in place of libc's (runtime/arch_tinygowasm_malloc.go): its free only
// takes the block out of the table that keeps C's blocks alive, and the block
// lives on for as long as a Go pointer leads to it. So nothing is copied, and
// the table does not grow from request to request. Under gc.boehm or
// custommalloc free means what it says; there the package does not compile.
//
// What the guest hands over in a response is freed by the host, each string and
// list alone (Spin does it in the post-return of inbound-http). It is copied
// to malloc's memory for that: freeing a Go string or a literal is a trap.
//
// # Use
//
// The guest is single-threaded and not reentrant; no function here may be
// called from a goroutine, and none but [Handle] before the first request,
// because Spin offers no imports while a module initialises.
package abi
