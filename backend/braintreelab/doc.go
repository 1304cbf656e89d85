// Package braintreelab is a payment gateway to play with: a server that answers
// as Braintree does, keeps customers, subscriptions and transactions in memory,
// and has a clock that can be advanced. A team plays the whole story of a
// referral with it, offline and within minutes; tests play it in milliseconds.
//
// Its shape on the wire is held to by the gateway's own client library, which
// runs against it unmodified. Its behaviour is a model: it follows what the
// gateway documents, and where that is silent the choice is written down at the
// function that makes it. It is no place for secrets or real money: it listens
// where it is told to, and its keys are public.
//
// What happens is a function of the commands and of their times alone: a journal
// of the commands gives the same gateway again.
package braintreelab
