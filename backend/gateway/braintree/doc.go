// Package braintree speaks to the payment gateway Braintree: it verifies and parses
// notifications, and makes the calls that the service needs. Its callers decide what a
// notification means and which calls to make. It has no database and no rules of a
// program.
//
// It guarantees three things:
//
//   - A notification is accepted only if one of the tenant's keys signed it. The keys
//     themselves sign only challenges, which cannot be payloads.
//   - Money never moves twice: refunds and voids have a key that makes them
//     at-most-once.
//   - A live connection calls only the gateway's own host.
package braintree
