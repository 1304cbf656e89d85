package base

import (
	"kith/backend/store/billingdb"
	"kith/core/pipeline"
)

// ReportWork calls OnWork: n more units of work were done. work is WorkRows or one of
// the other Work constants, and outcome is one of the Outcome constants. All three
// become metric labels, so kind must have few values.
func (b *Base) ReportWork(work, kind, outcome string, n int64) {
	if b.OnWork != nil && n > 0 {
		b.OnWork(work, kind, outcome, n)
	}
}

// The kinds of work that are counted, and their outcomes.
const (
	// WorkRows is a row of a job; its kind is the job's type. OutcomeFailed is a row
	// of the job's errors file.
	WorkRows = "job_rows"
	// WorkDelivery is an attempt to deliver an event to an endpoint; its kind is
	// "attempt". OutcomeLate is an attempt whose lease had expired, so that its result
	// was dropped.
	WorkDelivery = "webhook"

	// WorkGateway is an action at a payment gateway; its kind is one of GatewayKinds.
	// An action with OutcomeFailed is retried later.
	WorkGateway = "gateway"
	// WorkNotification is a notification of a payment gateway; its kind is the
	// gateway's, or "other" for an unknown kind. OutcomeFailed is a notification that
	// cannot be parsed.
	WorkNotification = "gateway_notification"

	// WorkMessage is a message of a customer-data pipeline; its kind is one of
	// MessageKinds. OutcomeFailed is a message that was refused.
	WorkMessage = "pipeline_message"

	// WorkSignIn is an attempt of a member to sign in; its kind is SignInPassword or SignInCode.
	// OutcomeFailed is a wrong password or code, OutcomeRefused an attempt beyond the limits.
	WorkSignIn     = "sign_in"
	SignInPassword = "password"
	SignInCode     = "code"

	// WorkPermission is an action that a role did not permit, always with OutcomeRefused; its
	// kind is PermissionPerson, for a member, or PermissionCaller, for a call of the API.
	WorkPermission   = "permission"
	PermissionPerson = "person"
	PermissionCaller = "caller"

	// WorkReport is a report of a widget or a visit; its kind is the report's. Only
	// OutcomeRefused is counted: a report beyond the limits.
	WorkReport = "report"

	OutcomeDone    = "done"
	OutcomeFailed  = "failed"
	OutcomeLate    = "late"
	OutcomeRefused = "refused"
)

// The kinds of WorkGateway besides the kinds of tasks in billingdb.
const (
	// GatewayRefund is a refund that was made, or that cannot be made.
	GatewayRefund = "refund"
	// GatewayCredit is credit that was given to a customer, or that cannot be given.
	GatewayCredit = "credit"
	// GatewayFound is a subscription that a sweep found.
	GatewayFound = "found"
)

// MessageOther is the kind of a message without an effect.
const MessageOther = "other"

// MessageKinds returns all kinds of WorkMessage.
func MessageKinds() []string {
	return []string{string(pipeline.Identify), string(pipeline.Track), string(pipeline.Group), MessageOther}
}

// GatewayKinds returns all kinds of WorkGateway.
func GatewayKinds() []string {
	return []string{
		billingdb.Subscriptions.Name, GatewayRefund, billingdb.Coupons.Name, billingdb.Payments.Name, GatewayCredit,
		billingdb.Promotions.Name, billingdb.Sweeps.Name, GatewayFound,
	}
}
