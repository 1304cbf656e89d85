// Package stripelab is a simulated payment gateway: a server that answers as Stripe does
// (API version 2026-06-24.dahlia), stores customers, subscriptions, invoices and charges in
// memory, and has a clock that can be advanced. With it a team can try a whole referral
// offline and within minutes; tests take milliseconds.
//
// Stripe's own client libraries run against it unmodified: give them its address as base
// URL. Its answers have the shapes of the published OpenAPI document. Its behavior is a
// model: it follows Stripe's documentation; where that is silent, the function that decides
// says so. It has the calls that Kith, the demo shop and the examples make, and those of a
// shop that sells by checkout sessions, payment links and subscriptions. A parameter that the
// lab does not model is refused, not ignored. Do not use it with secrets or real money: its
// keys are public.
//
// The page at / shows the state and has a button for each control. Programs send the same
// forms to the paths below /lab: see controls. A payment link or a checkout session of the
// lab is a page on which a person types a promotion code and pays.
//
// Its state depends only on the commands and their times: replaying a journal of the
// commands gives the same state.
package stripelab
