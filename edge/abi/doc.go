// Package abi is the guest side of the binary interface between the edge
// component and the host that runs it, Spin or wasm/host: HTTP in, HTTP out,
// SQLite, key-value stores and random bytes. It holds the only unsafe code of the project.
//
// The interface is the one that Spin adapts from core modules. Its byte layout
// is defined by the C files of github.com/fermyon/spin/sdk/go/v2 v2.2.0, named
// below as sqlite.c, key-value.c, spin-http.c, wasi-outbound-http.c and spin-config.c, and is
// repeated in layout.go, which the host imports too, so that it exists once.
//
// The SDK's own http and sqlite packages are not used: the first keeps one
// value of every header, so that two Set-Cookie become one, and the second
// needs goroutines, which cost more per request than the request. Its kv package
// brings fmt.
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
// Nothing is given back to the allocator while an instance lives: the component
// is built with gc=leaking and, by the tag custommalloc, with the malloc of this
// package, whose free does nothing. So what the host hands over is used where it
// lies, without a copy, and may be kept; and what a response hands to the host
// may be any string, a literal too, though the host frees it as the ABI has it
// (Spin in the post-return of inbound-http). An instance pays with memory, and
// its host drops it at a bound. Built in another way the package does not
// compile.
//
// # Use
//
// The guest is single-threaded and not reentrant; no function here may be
// called from a goroutine, and none but [Handle] before the first request,
// because Spin offers no imports while a module initialises.
package abi
