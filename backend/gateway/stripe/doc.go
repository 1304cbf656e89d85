// Package stripe speaks to the payment gateway Stripe: it verifies and parses webhooks, and
// translates between Stripe's objects and core/billing. It has no database and no rules of a
// program. Its client has the few calls that are made; Stripe's own client is in the tests.
//
// It guarantees five things:
//
//   - A webhook is accepted only if one of the tenant's secrets signed it within the last
//     5 minutes, and it is of the tenant's mode.
//   - A webhook only names an object. Amounts are read from Stripe.
//   - Money never moves twice: each refund and each credit has a key, is found again by
//     its metadata, and is made only if it is not there.
//   - What an answer must have is there, or the call failed: an amount is never zero
//     because it is absent.
//   - A live connection calls only Stripe's own host.
package stripe
