// Package gateway speaks to the payment gateway, which is Braintree: it
// verifies and reads the notifications that arrive, and makes the calls that
// the service needs. What a notification means, and which calls to make, is
// not decided here; there is no database and no rule of a program.
//
// It upholds three things. Nothing is believed that is not signed with one of
// the tenant's keys, and nothing is signed but a challenge that cannot be a
// payload. No money moves twice: a refund and a void carry a key that makes
// them at-most-once. A live connection talks to the gateway's own host only.
package gateway
