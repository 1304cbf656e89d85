// Package braintreelab is a simulated payment gateway: a server that answers as Braintree
// does, stores customers, subscriptions and transactions in memory, and has a clock that
// can be advanced. With it a team can try a whole referral offline and within minutes;
// tests take milliseconds.
//
// The gateway's own client library runs against it unmodified, which verifies its wire
// format. Its behavior is a model: it follows the gateway's documentation; where that is
// silent, the function that decides says so. Do not use it with secrets or real money:
// its keys are public.
//
// Its state depends only on the commands and their times: replaying a journal of the
// commands gives the same state.
package braintreelab
