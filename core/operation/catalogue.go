package operation

import (
	"kith/core/auth"
	"kith/core/people"
)

var (
	catalogue []*Operation
	rights    []*Right
)

// add adds an operation to the catalogue. Inlined, the catalogue would be 100 kB of code.
//
//go:noinline
func add(name string, effect Effect, right *Right, keys []auth.Role, action people.Action, did string) *Operation {
	o := &Operation{Name: name, Effect: effect, Right: right, Keys: keys, Action: action, Did: did}
	catalogue = append(catalogue, o)
	return o
}

// confirmed makes an operation need a recent password.
func (o *Operation) confirmed() *Operation {
	o.Confirmed = true
	return o
}

func permit(text string, roles ...people.Role) *Right {
	r := &Right{text, roles}
	rights = append(rights, r)
	return r
}

// The rights of people, in the order of docs/operate.md.
var (
	readPrograms      = permit("read programs and figures", people.Owner, people.Manager, people.Support, people.Viewer)
	readReferrals     = permit("read referrals, rewards and users", people.Owner, people.Manager, people.Support, people.Viewer)
	moderate          = permit("approve, deny and cancel rewards", people.Owner, people.Manager, people.Support)
	writeUsers        = permit("add rewards and events, attribute and block users", people.Owner, people.Manager, people.Support)
	writePrograms     = permit("change programs", people.Owner, people.Manager)
	eraseUsers        = permit("erase users", people.Owner, people.Manager)
	runImports        = permit("run imports", people.Owner, people.Manager)
	runExports        = permit("run exports", people.Owner, people.Manager)
	readIntegrations  = permit("read integrations and logs", people.Owner, people.Manager)
	writeIntegrations = permit("change integrations", people.Owner, people.Manager)
	readMembers       = permit("read the list of members", people.Owner, people.Manager)
	readAudit         = permit("read and export the audit log", people.Owner, people.Manager)
	writeMembers      = permit("invite and remove members, change roles", people.Owner)
	writeKeys         = permit("create and revoke API keys", people.Owner)
)

// Sets of the roles of API keys.
var (
	all         = []auth.Role{auth.RoleAll}
	readers     = []auth.Role{auth.RoleAll, auth.RoleRead}
	importers   = []auth.Role{auth.RoleAll, auth.RoleImport}
	fileReaders = []auth.Role{auth.RoleAll, auth.RoleRead, auth.RoleImport}
	callers     = []auth.Role{auth.RoleAll, auth.RoleRead, auth.RoleEvents, auth.RoleImport}
)

// Members.
var (
	ReadMembers       = add("members.read", Reads, readMembers, readers, "", "read the list of members")
	InviteMember      = add("members.invite", Changes, writeMembers, all, "member.invited", "invited a member").confirmed()
	RevokeInvitation  = add("members.revoke_invitation", Changes, writeMembers, all, "invitation.revoked", "revoked an invitation")
	AddMember         = add("members.join", Changes, writeMembers, nil, "member.joined", "joined")
	ChangeMemberRole  = add("members.change_role", Changes, writeMembers, all, "member.role_changed", "changed a role").confirmed()
	RemoveMember      = add("members.remove", Changes, writeMembers, all, "member.removed", "removed a member")
	RequireSecondStep = add("members.require_second_step", Changes, writeMembers, nil, "", "required two-step sign-in of members, or no longer").confirmed()
)

// What people do about their own sign-in, and the operator for a person. No role decides.
var (
	SignIn             = add("person.sign_in", Changes, nil, nil, "person.signed_in", "signed in")
	ChangePassword     = add("person.change_password", Changes, nil, nil, "person.password_changed", "changed the password")
	ResetPassword      = add("person.reset_password", Changes, nil, nil, "person.password_reset", "set a new password by a reset link")
	MakeResetLink      = add("person.make_reset_link", Changes, nil, nil, "person.reset_link_made", "made a link to reset a password")
	EnableTOTP         = add("person.enable_totp", Changes, nil, nil, "person.totp_enabled", "turned two-step sign-in on")
	DisableTOTP        = add("person.disable_totp", Changes, nil, nil, "person.totp_disabled", "turned two-step sign-in off")
	UseRecoveryCode    = add("person.use_recovery_code", Changes, nil, nil, "person.recovery_code_used", "used a recovery code")
	RenewRecoveryCodes = add("person.renew_recovery_codes", Changes, nil, nil, "person.recovery_codes_renewed", "made new recovery codes")
	AddIdentity        = add("person.add_identity", Changes, nil, nil, "person.identity_added", "signed in by an identity provider for the first time")
	RevokeSession      = add("sessions.revoke", Changes, nil, nil, "session.revoked", "ended a session")
)

// The audit log.
var (
	ReadAudit    = add("audit.read", Reads, readAudit, readers, "", "read the audit log")
	TryForbidden = add("permissions.refuse", Reads, nil, nil, "permission.refused", "tried what the role does not permit")
	ExportAudit  = add("audit.export", Reads, readAudit, readers, "audit.exported", "exported the audit log")
)

// Programs, what they show to visitors, and figures about them.
var (
	ReadPrograms  = add("programs.read", Reads, readPrograms, readers, "", "read programs, widgets, levels of fuel tanks and figures")
	CreateProgram = add("programs.create", Changes, writePrograms, all, "program.created", "created a program")
	ChangeProgram = add("programs.change", Changes, writePrograms, all, "program.changed", "changed a program")
	DeleteProgram = add("programs.delete", Changes, writePrograms, all, "program.deleted", "deleted a program")
	FillFuelTank  = add("programs.add_codes", Changes, writePrograms, all, "program.codes_added", "added codes to the fuel tank of a program")
	RenderWidget  = add("widgets.render", Reads, nil, all, "", "rendered the widget of a user, which has a user token")
	ChangeWidget  = add("widgets.change", Changes, nil, all, "", "changed or removed a widget")
	CountUse      = add("analytics.count", Changes, nil, all, "", "counted a use of a widget")
)

// Imports and exports.
var (
	ReadImports   = add("imports.read", Reads, runImports, fileReaders, "", "read imports and checks of files")
	StartImport   = add("imports.start", MovesMoney, runImports, importers, "import.started", "started an import")
	StopImport    = add("imports.stop", Changes, runImports, all, "import.stopped", "stopped an import")
	ReadExports   = add("exports.read", Reads, runExports, readers, "", "read exports")
	StartExport   = add("exports.start", Changes, runExports, all, "export.started", "started an export")
	DownloadFile  = add("files.download", Reads, runImports, fileReaders, "file.downloaded", "downloaded a file")
	RemoveJob     = add("jobs.remove", Changes, runImports, all, "job.removed", "removed an import or export")
	AddSFTPKey    = add("sftp_keys.add", Changes, writeIntegrations, all, "sftp_key.added", "added an SFTP key").confirmed()
	RemoveSFTPKey = add("sftp_keys.remove", Changes, writeIntegrations, all, "sftp_key.removed", "removed an SFTP key")
)

// Users, and their referrals and rewards.
var (
	ReadReferrals      = add("referrals.read", Reads, readReferrals, readers, "", "read accounts, users, referrals, rewards and events")
	IdentifyUser       = add("users.identify", MovesMoney, nil, auth.Senders(), "", "created or changed a user")
	IdentifyCookieUser = add("users.identify_by_cookie", MovesMoney, nil, all, "", "created or changed a user without ids")
	BlockUser          = add("users.block", MovesMoney, writeUsers, all, "user.blocked", "blocked a user")
	UnblockUser        = add("users.unblock", MovesMoney, writeUsers, all, "user.unblocked", "unblocked a user")
	AttributeUser      = add("users.attribute", Changes, writeUsers, all, "user.attributed", "attributed a user by hand")
	ExportUser         = add("users.export", Reads, runExports, readers, "user.exported", "exported all data about a user")
	EraseUser          = add("users.erase", Changes, eraseUsers, all, "user.erased", "erased a user")
	EraseAccount       = add("accounts.erase", Changes, eraseUsers, all, "account.erased", "erased an account with its users")
	SyncAccount        = add("accounts.sync", MovesMoney, nil, all, "", "reported the subscription of an account")
	GrantReward        = add("rewards.grant", MovesMoney, writeUsers, all, "reward.added", "added a reward")
	AddEvent           = add("events.add", MovesMoney, writeUsers, nil, "event.added", "added an event")
	LogEvents          = add("events.log", MovesMoney, nil, auth.Senders(), "", "logged events of a user")
	ReadLogged         = add("events.read_logged", Reads, nil, auth.CodeReaders(), "", "read the events that a call logged, and their user")
	LookUpCode         = add("codes.read", Reads, nil, auth.CodeReaders(), "", "looked up a code")
	ApplyCode          = add("codes.apply", Changes, nil, all, "", "applied a code to a user")
	InviteFriend       = add("invitations.send", Changes, nil, all, "", "sent an invitation of a user")
	RegisterDiscount   = add("discounts.register", Changes, nil, all, "", "registered a discount code")
	RequestPromotion   = add("promotions.request", Changes, nil, all, "", "requested a promotion code at the gateway")
	Moderate           = add("referrals.moderate", MovesMoney, moderate, all, "", "decided on referrals")
	ApproveReferral    = add("referrals.approve", MovesMoney, moderate, all, "referral.approved", "approved a referral")
	DenyReferral       = add("referrals.deny", MovesMoney, moderate, all, "referral.denied", "denied a referral")
	ExportReferrals    = add("referrals.export", Reads, runExports, nil, "referrals.exported", "exported referrals")
	CancelReward       = add("rewards.cancel", MovesMoney, moderate, all, "reward.cancelled", "cancelled a reward")
	RedeemCredit       = add("rewards.redeem", MovesMoney, nil, all, "", "redeemed credit")
	SetRewardStatus    = add("rewards.set_status", MovesMoney, nil, all, "", "changed the status of a reward")
)

// API keys, and other systems: the shop's website, its payment gateway, webhooks and pipelines.
var (
	ReadIntegrations     = add("integrations.read", Reads, readIntegrations, readers, "", "read webhooks, the gateway, the website, the pipeline and SFTP keys")
	ReadKeys             = add("keys.read", Reads, readIntegrations, all, "", "read the list of API keys")
	CreateKey            = add("keys.create", Changes, writeKeys, all, "key.created", "created an API key").confirmed()
	RotateKey            = add("keys.rotate", Changes, writeKeys, all, "key.rotated", "replaced the secret of an API key").confirmed()
	RevokeKey            = add("keys.revoke", Changes, writeKeys, all, "key.revoked", "revoked an API key")
	SubscribeWebhook     = add("webhooks.subscribe", Changes, writeIntegrations, all, "webhook.subscribed", "subscribed a webhook").confirmed()
	UnsubscribeWebhook   = add("webhooks.unsubscribe", Changes, writeIntegrations, all, "webhook.unsubscribed", "removed a webhook")
	RotateWebhookSecret  = add("webhooks.rotate_secret", Changes, writeIntegrations, all, "webhook.secret_rotated", "replaced the secret of a webhook")
	TestWebhook          = add("webhooks.test", Changes, writeIntegrations, all, "webhook.tested", "sent a test event to a webhook")
	ReplayWebhook        = add("webhooks.replay", Changes, writeIntegrations, all, "webhook.replayed", "sent events to a webhook again")
	AddOrigin            = add("origins.add", Changes, writeIntegrations, all, "origin.added", "allowed an origin")
	RemoveOrigin         = add("origins.remove", Changes, writeIntegrations, all, "origin.removed", "removed an origin")
	ChangeWebsite        = add("website.change", Changes, writeIntegrations, all, "website.changed", "changed consent, secure mode or the share origin")
	ChangeTenant         = add("tenant.change", Changes, writeIntegrations, nil, "tenant.changed", "changed settings of the tenant")
	ConnectGateway       = add("gateway.connect", Changes, writeIntegrations, all, "gateway.connected", "connected the payment gateway")
	DisconnectGateway    = add("gateway.disconnect", Changes, writeIntegrations, all, "gateway.disconnected", "disconnected the payment gateway")
	TestGateway          = add("gateway.test", Changes, writeIntegrations, all, "", "tested the connection to the gateway")
	ReplayNotification   = add("gateway.replay_notification", MovesMoney, writeIntegrations, all, "gateway.notification_replayed", "processed a gateway notification again")
	RetryGateway         = add("gateway.retry_operation", MovesMoney, writeIntegrations, all, "gateway.operation_retried", "retried an operation at the gateway")
	ChangePipeline       = add("pipeline.change", Changes, writeIntegrations, all, "pipeline.changed", "changed the mapping of the pipeline")
	RotatePipelineSecret = add("pipeline.rotate_secret", Changes, writeKeys, all, "pipeline.secret_rotated", "made a new secret of the pipeline").confirmed()
	RemovePipelineSecret = add("pipeline.remove_secret", Changes, writeIntegrations, all, "pipeline.secret_removed", "removed the secret of the pipeline")
	CallGraphQL          = add("graphql.call", Reads, nil, callers, "", "called GraphQL, where each field has its own operation")
	ReadFields           = add("graphql.read", Reads, nil, readers, "", "read other fields of GraphQL")
)
