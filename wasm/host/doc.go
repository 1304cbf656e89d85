// Package host runs one Spin component on wazero: it reads the application's spin.toml,
// implements the imports of the Spin ABI with net/http and the given databases, and
// serves HTTP.
//
// It does not depend on what the component does. It may import std, wazero, a TOML
// parser and edge/abi, which defines the layout of the ABI.
//
// # Guarantees
//
//   - Every pointer and length from a guest is checked against its memory; a guest that
//     violates the ABI is treated as one that trapped.
//   - An instance that trapped, violated the ABI, or exceeded its time or memory is
//     closed and never used again, and the request is answered with 503.
//   - A request is bounded in body, time, memory, rows, response and waiting.
//   - An instance serves one request at a time, and begins each with the memory that
//     it had before its first one (image.go). Reuse only affects speed.
//
// # Differences from Spin
//
// Options.StrictSpin removes the differences that a component or a visitor could notice;
// strict.go lists them, with references to Spin's source. Without it:
//
//   - Spin makes an instance per request for modules of this kind. Here Options.Fresh
//     does that; by default healthy instances are used again, unless their memory grew.
//     These call abi.ExportPrepare before their first request.
//   - Headers named spin-* from a client are dropped, so that such headers always come
//     from the host.
//   - Redirects of outbound requests are returned to the component. All values of a
//     repeated response header are sent.
//   - Key-value stores are not available: opening one is answered with no-such-store.
//   - Options.HealthChecks detect servers that hang. On Spin, a call waits for such a
//     server as long as the request lasts.
//
// In both modes:
//
//   - The manifest has one trigger, with the route "/...".
//   - Hop-by-hop headers are dropped in both directions.
//   - A database on a server may have fallbacks; Spin's configuration names one server.
//   - Transactions, ATTACH, PRAGMA and several statements in one text are refused.
//   - A module with a start section is refused: it could not be interrupted. When a
//     module is compiled, it gets fuel (package fuel).
package host
