// Package host runs one Spin component on wazero: it reads the application's
// spin.toml, offers the component the imports of the Spin ABI over net/http and the
// databases that it is given, and serves HTTP.
//
// It knows nothing of the programme. It may import std, wazero, a TOML reader,
// SQLite (for the key-value stores of a strict host) and edge/abi, where the layout
// of the ABI is written once.
//
// # Guarantees
//
//   - Every pointer and length that a guest gives is checked against its memory;
//     a guest that breaks the ABI is treated as one that trapped.
//   - An instance that trapped, broke the ABI, or ran over its time or memory is
//     closed and never used again, and the request is answered 503.
//   - A request is bounded in body, time, memory, rows, response and waiting.
//   - An instance serves one request at a time. Reuse shows in nothing but speed,
//     as long as the guest keeps no state of its own.
//
// # Differences from Spin
//
// Options.StrictSpin takes away those that a component or a visitor could notice;
// strict.go lists them, each with its place in Spin's source. Otherwise:
//
//   - Spin makes an instance per request for modules of this kind. Here that is
//     Options.Fresh; by default healthy instances are used again.
//   - Redirects of outbound requests are the component's business. All values of a
//     repeated response header are sent.
//   - Key-value stores are not there: opening one is answered no-such-store.
//   - Headers named spin-* that a client sends are dropped, so that what a guest
//     reads under such a name comes from the host. Hop-by-hop headers are
//     dropped both ways. This holds in the strict mode too.
//   - A database on a server may have fallbacks; Spin's configuration names one
//     server.
//   - Transactions, ATTACH and PRAGMA are refused, and statements are single, in
//     the strict mode too.
//   - A module with a start section is refused: nothing could end it. As it is
//     compiled, a module is given a count of the turns that it takes (weave.go).
package host
