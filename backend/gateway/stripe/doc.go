// Package stripe speaks to the payment gateway Stripe, by its official client: it verifies
// and parses webhooks, and translates between Stripe's objects and core/billing. It has no
// database and no rules of a program.
//
// It guarantees four things:
//
//   - A webhook is accepted only if one of the tenant's secrets signed it within the last
//     5 minutes, and it is of the tenant's mode.
//   - A webhook only names an object. Amounts are read from Stripe.
//   - Money never moves twice: each refund and each credit has a key, is found again by
//     its metadata, and is made only if it is not there.
//   - A live connection calls only Stripe's own host.
package stripe
