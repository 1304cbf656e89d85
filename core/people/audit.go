package people

import (
	"slices"

	"kith/core"
)

// AuditLife is how long entries of the audit log are kept.
const AuditLife = 400 * core.Day

const (
	// MaxAuditRefused is the most entries of PermissionRefused about a person in an hour.
	MaxAuditRefused = 10
	// MaxAuditPage is the most entries of a page of the audit log.
	MaxAuditPage = 100
	// MaxAuditExport is the most entries of an export of the audit log.
	MaxAuditExport = 10_000
	// MaxAuditValue is the most bytes of Before and After each.
	MaxAuditValue = 16 << 10
)

// Action is what an entry of the audit log records. Names are "subject.verb" and never
// change.
type Action string

// The actions of people.
const (
	MemberInvited     Action = "member.invited"
	InvitationRevoked Action = "invitation.revoked"
	MemberJoined      Action = "member.joined"
	MemberRoleChanged Action = "member.role_changed"
	MemberRemoved     Action = "member.removed"
	PersonSignedIn    Action = "person.signed_in"
	PasswordChanged   Action = "person.password_changed"
	PasswordReset     Action = "person.password_reset"
	ResetLinkMade     Action = "person.reset_link_made"
	TOTPEnabled       Action = "person.totp_enabled"
	TOTPDisabled      Action = "person.totp_disabled"
	RecoveryCodeUsed  Action = "person.recovery_code_used"
	RecoveryRenewed   Action = "person.recovery_codes_renewed"
	IdentityAdded     Action = "person.identity_added"
	SessionRevoked    Action = "session.revoked"
	PermissionRefused Action = "permission.refused"
	AuditExported     Action = "audit.exported"

	ProgramCreated Action = "program.created"
	ProgramChanged Action = "program.changed"
	ProgramDeleted Action = "program.deleted"
	TankFilled     Action = "program.codes_added"

	ImportStarted  Action = "import.started"
	ExportStarted  Action = "export.started"
	FileDownloaded Action = "file.downloaded"
	JobRemoved     Action = "job.removed"
	SFTPKeyAdded   Action = "sftp_key.added"
	SFTPKeyRemoved Action = "sftp_key.removed"
	UserBlocked    Action = "user.blocked"
	UserUnblocked  Action = "user.unblocked"
	UserAttributed Action = "user.attributed"
	UserExported   Action = "user.exported"
	UserErased     Action = "user.erased"
	AccountErased  Action = "account.erased"
	RewardAdded    Action = "reward.added"
	EventAdded     Action = "event.added"

	ReferralApproved        Action = "referral.approved"
	ReferralDenied          Action = "referral.denied"
	ReferralsExported       Action = "referrals.exported"
	RewardCancelled         Action = "reward.cancelled"
	KeyCreated              Action = "key.created"
	KeyRotated              Action = "key.rotated"
	KeyRevoked              Action = "key.revoked"
	WebhookSubscribed       Action = "webhook.subscribed"
	WebhookUnsubscribed     Action = "webhook.unsubscribed"
	WebhookSecretRotated    Action = "webhook.secret_rotated"
	WebhookTested           Action = "webhook.tested"
	WebhookReplayed         Action = "webhook.replayed"
	OriginAdded             Action = "origin.added"
	OriginRemoved           Action = "origin.removed"
	WebsiteChanged          Action = "website.changed"
	TenantChanged           Action = "tenant.changed"
	GatewayConnected        Action = "gateway.connected"
	GatewayDisconnected     Action = "gateway.disconnected"
	GatewayReplayed         Action = "gateway.notification_replayed"
	GatewayOperationRetried Action = "gateway.operation_retried"
	PipelineChanged         Action = "pipeline.changed"
	PipelineSecretRotated   Action = "pipeline.secret_rotated"
	PipelineSecretRemoved   Action = "pipeline.secret_removed"
)

// SignInChanges lists the actions that change how a person signs in.
func SignInChanges() []Action {
	return []Action{PasswordChanged, PasswordReset, ResetLinkMade, TOTPEnabled, TOTPDisabled, RecoveryCodeUsed, RecoveryRenewed, IdentityAdded}
}

// actionTexts describe the actions in the audit log.
var actionTexts = []struct {
	action Action
	text   string
}{
	{MemberInvited, "invited a member"},
	{InvitationRevoked, "revoked an invitation"},
	{MemberJoined, "joined"},
	{MemberRoleChanged, "changed a role"},
	{MemberRemoved, "removed a member"},
	{PersonSignedIn, "signed in"},
	{PasswordChanged, "changed the password"},
	{PasswordReset, "set a new password by a reset link"},
	{ResetLinkMade, "made a link to reset a password"},
	{TOTPEnabled, "turned two-step sign-in on"},
	{TOTPDisabled, "turned two-step sign-in off"},
	{RecoveryCodeUsed, "used a recovery code"},
	{RecoveryRenewed, "made new recovery codes"},
	{IdentityAdded, "signed in by an identity provider for the first time"},
	{SessionRevoked, "ended a session"},
	{PermissionRefused, "tried what the role does not permit"},
	{AuditExported, "exported the audit log"},
	{ProgramCreated, "created a program"},
	{ProgramChanged, "changed a program"},
	{ProgramDeleted, "deleted a program"},
	{TankFilled, "added codes to the fuel tank of a program"},
	{ImportStarted, "started an import"},
	{ExportStarted, "started an export"},
	{FileDownloaded, "downloaded a file"},
	{JobRemoved, "removed an import or export"},
	{SFTPKeyAdded, "added an SFTP key"},
	{SFTPKeyRemoved, "removed an SFTP key"},
	{UserBlocked, "blocked a user"},
	{UserUnblocked, "unblocked a user"},
	{UserAttributed, "attributed a user by hand"},
	{UserExported, "exported all data about a user"},
	{UserErased, "erased a user"},
	{AccountErased, "erased an account with its users"},
	{RewardAdded, "added a reward"},
	{EventAdded, "added an event"},
	{ReferralApproved, "approved a referral"},
	{ReferralDenied, "denied a referral"},
	{ReferralsExported, "exported referrals"},
	{RewardCancelled, "cancelled a reward"},
	{KeyCreated, "created an API key"},
	{KeyRotated, "replaced the secret of an API key"},
	{KeyRevoked, "revoked an API key"},
	{WebhookSubscribed, "subscribed a webhook"},
	{WebhookUnsubscribed, "removed a webhook"},
	{WebhookSecretRotated, "replaced the secret of a webhook"},
	{WebhookTested, "sent a test event to a webhook"},
	{WebhookReplayed, "sent events to a webhook again"},
	{OriginAdded, "allowed an origin"},
	{OriginRemoved, "removed an origin"},
	{WebsiteChanged, "changed consent, secure mode or the share origin"},
	{TenantChanged, "changed settings of the tenant"},
	{GatewayConnected, "connected the payment gateway"},
	{GatewayDisconnected, "disconnected the payment gateway"},
	{GatewayReplayed, "processed a gateway notification again"},
	{GatewayOperationRetried, "retried an operation at the gateway"},
	{PipelineChanged, "changed the mapping of the pipeline"},
	{PipelineSecretRotated, "made a new secret of the pipeline"},
	{PipelineSecretRemoved, "removed the secret of the pipeline"},
}

// Actions lists every action.
func Actions() []Action {
	all := make([]Action, len(actionTexts))
	for i, a := range actionTexts {
		all[i] = a.action
	}
	return all
}

// Describe returns an action as words that follow the name of the actor.
func (a Action) Describe() string {
	for _, known := range actionTexts {
		if known.action == a {
			return known.text
		}
	}
	return string(a)
}

// Entry is one change in the audit log of a tenant.
type Entry struct {
	// Seq is the number of the entry. Later entries of a database have higher numbers.
	Seq int64
	At  core.Time
	// Actor is the person who made the change, by address. It is "command line" for the
	// operator, and "API key" with the name of the key for a caller of the API. From is the
	// IP address.
	Person PersonID
	Actor  string
	From   string
	Action Action
	// Subject is what was changed: the address of a member, the key of a program.
	Subject string
	// Before and After are JSON objects without secrets, or empty.
	Before, After string
	// Account and User are the user that the entry is about, if it is about one, so that
	// an export and an erasure of that user find it.
	Account core.AccountID
	User    core.UserID
	// InvitedBy is who vouched for the actor's address at that time; see Vouching.
	InvitedBy string
}

// The actors that are no people: the command line, and an API key, whose name follows.
const (
	Operator = "command line"
	apiKey   = "API key"
)

// AuditFilter selects entries. The zero value selects all.
type AuditFilter struct {
	// Actor and Subject are compared without regard to case, and may be a part of the
	// text.
	Actor, Subject string
	Action         Action
	Span           core.Span
	// Before is the Seq of the last entry of the page before; zero: the first page.
	Before int64
	// Limit is the most entries of a page; zero: MaxAuditPage.
	Limit int
}

// AuditFormat is the form of a file with entries of the audit log.
type AuditFormat string

// The formats.
const (
	AuditCSV  AuditFormat = "csv"
	AuditJSON AuditFormat = "json"
)

// ParseAuditFormat returns s as a format, AuditCSV if it is empty, or an error about field.
func ParseAuditFormat(field, s string) (AuditFormat, error) {
	if s == "" {
		return AuditCSV, nil
	}
	if f, ok := core.OneOf(s, AuditCSV, AuditJSON); ok {
		return f, nil
	}
	return "", core.Invalid(field, "must be csv or json")
}

// Type returns the media type of a file.
func (f AuditFormat) Type() string {
	if f == AuditJSON {
		return "application/json; charset=utf-8"
	}
	return "text/csv; charset=utf-8"
}

const tooLong = "must be at most 254 bytes; shorten it"

// Check returns an error about the field of a filter that can select nothing.
func (f AuditFilter) Check() error {
	switch {
	case f.Action != "" && !slices.Contains(Actions(), f.Action):
		return core.Invalid("action", "is not an action of the audit log; give one such as member.invited")
	case f.Limit < 0 || f.Limit > MaxAuditPage:
		return core.Invalid("limit", "must be a whole number from 1 to 100")
	case len(f.Actor) > maxEmail:
		return core.Invalid("actor", tooLong)
	case len(f.Subject) > maxEmail:
		return core.Invalid("subject", tooLong)
	case f.Span.Before != 0 && f.Span.From >= f.Span.Before:
		return core.Invalid("to", "must not be before the first day; exchange the two days")
	}
	return nil
}
