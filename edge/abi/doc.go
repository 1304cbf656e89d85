// Package abi is the guest side of the binary interface between the edge component
// and the host that runs it, Spin or wasm/host: HTTP in, HTTP out, SQLite, key-value
// stores and random bytes. It has the only unsafe code of the project.
//
// The interface is the one that Spin adapts from core modules. Its byte layout is
// defined by the C files of github.com/fermyon/spin/sdk/go/v2 v2.2.0, named below as
// sqlite.c, key-value.c, spin-http.c, wasi-outbound-http.c and spin-config.c, and is
// repeated in layout.go, which the host imports too, so that there is only one copy.
//
// The SDK's http and sqlite packages are not used: the first keeps only one value of
// each header, so that one of two Set-Cookie headers is lost, and the second needs
// goroutines, which would cost more than the rest of a request. Its kv package
// imports fmt.
//
// # Allocation exports
//
// The host allocates memory in the guest with canonical_abi_realloc, and Spin frees the
// response with canonical_abi_free. This package does not export them: the C file of
// the SDK's variables package does, as weak symbols, and a second export of a name
// fails to link. A component must therefore import
// github.com/fermyon/spin/sdk/go/v2/variables, which it needs anyway to read its
// variables; without it the host refuses to load the module.
//
// # Ownership
//
// An instance never frees memory: the component is built with gc=leaking and, by the
// tag custommalloc, with the malloc of this package, whose free does nothing. So data
// from the host is used in place, without a copy, and may be kept until the response. The
// data of a response may be any string, even a literal, although Spin frees it according
// to the ABI (in the post-return of inbound-http). After each response wasm/host gives
// the instance the memory back that it had before its first request; Spin drops the
// instance. With other build settings the package does not compile.
//
// # Use
//
// The guest is single-threaded and not reentrant; no function here may be called from
// a goroutine, and only [Handle] and [Prepare] may be called from an init function, because
// Spin provides no imports while a module initializes.
package abi
