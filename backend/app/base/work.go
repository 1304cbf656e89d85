package base

// ReportWork reports to OnWork that n more things were done: of which work (WorkRows and its
// like), of which kind, and how it went. All are few words, since they become
// labels.
func (b *Base) ReportWork(work, kind, outcome string, n int64) {
	if b.OnWork != nil && n > 0 {
		b.OnWork(work, kind, outcome, n)
	}
}

// Work and outcomes that are counted.
const (
	// WorkRows is rows of jobs, by the job's type: OutcomeDone, or OutcomeFailed
	// for those in its errors file.
	WorkRows = "job_rows"
	// WorkDelivery is attempts to deliver an event to an endpoint, of the kind
	// "attempt": OutcomeDone, OutcomeFailed, or OutcomeLate for one whose lease
	// had ended, so that its result was dropped.
	WorkDelivery = "webhook"

	// WorkGateway is what was done at payment gateways, by kind: GatewayKinds.
	// OutcomeFailed is tried again later.
	WorkGateway = "gateway"
	// WorkNotification is notifications that were read, by the gateway's kind, of
	// which an unknown one is "other": OutcomeFailed for one that cannot be read.
	WorkNotification = "gateway_notification"

	OutcomeDone   = "done"
	OutcomeFailed = "failed"
	OutcomeLate   = "late"
)

// Kinds of WorkGateway.
const (
	// GatewayRead is a subscription that was read and brought in line.
	GatewayRead = "subscription"
	// GatewayRefund is money that was given back, or cannot be.
	GatewayRefund = "refund"
	// GatewayCoupon is a code that was written into a custom field.
	GatewayCoupon = "coupon"
	// GatewaySweep is a search for subscriptions that no notification named, and
	// GatewayFound is those that it found.
	GatewaySweep = "sweep"
	GatewayFound = "found"
)

// GatewayKinds are all kinds of WorkGateway.
func GatewayKinds() []string {
	return []string{GatewayRead, GatewayRefund, GatewayCoupon, GatewaySweep, GatewayFound}
}
