// Package labkit has what simulated payment gateways share: the clock that their user
// advances, the journal that restores their state, the faults and the record of calls, the
// sending of webhooks, and the frame of their controls and their page. What a gateway does
// with a call, and how it signs a webhook, is the lab's own.
package labkit
