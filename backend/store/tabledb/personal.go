package tabledb

import (
	"context"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/backend/store/programdb"
	"kith/core"
)

// names returns the names of columns, separated by blanks.
func names(columns string) string { return strings.ReplaceAll(columns, ",", "") }

// Conditions of the rows that are about a user. ?1 is the tenant, ?2 the account, ?3
// the user.
const (
	ofUser      = `tenant = ?1 AND account_id = ?2 AND user_id = ?3`
	ofAccount   = `tenant = ?1 AND account_id = ?2`
	ofReferrals = `tenant = ?1 AND (referrer_account_id = ?2 AND referrer_user_id = ?3 OR referred_account_id = ?2 AND referred_user_id = ?3)`
	ofRewards   = `tenant = ?1 AND reward_id IN (SELECT id FROM reward WHERE ` + ofUser + `)`
	// ofEvents selects events whose data has an object with the user's ids.
	ofEvents = `tenant = ?1 AND EXISTS (SELECT 1 FROM json_tree(data) o WHERE o.type = 'object'
		AND o.value ->> 'accountId' = ?2 AND ?3 IN (o.value ->> 'userId', o.value ->> 'id'))`
)

// Personal says what a table has about users, and what the erasure of a user leaves of it.
// Each column is in one of its lists, which are names separated by spaces.
type Personal struct {
	// Rows is the condition of the rows about a user, for an export. It is empty if the table
	// has none, or if they cannot be found.
	Rows string
	// None are the columns without personal data.
	None string
	// Erased are columns with values that are deleted, emptied or replaced by random ones.
	Erased string
	Kept   []Kept
}

// Kept are columns that an erasure leaves, why it does, and until when.
type Kept struct{ Columns, Reason, Until string }

// Sums is the reason to keep amounts, states and times of what others depend on.
const Sums = "sums of referrals, rewards and bills stay correct; the user has a random id in them"

// Reasons and ends of what is kept.
const (
	books    = "your books and the gateway name the payment by it"
	hashed   = "a keyed hash, from which the id cannot be computed"
	used     = "a key that was used stays used"
	team     = "about a member of your team, not about a user"
	forever  = "the tenant is erased"
	removed  = "the member is removed"
	jobEnded = "56 days after the job has ended"
)

// PersonalData declares each column of each table. A test compares it with the schema, and
// another searches all columns for the data of an erased user.
var PersonalData = map[string]Personal{
	"account": {
		Rows: `tenant = ?1 AND id = ?2`, None: "tenant", Erased: "id payment_provider_id",
		Kept: []Kept{{"currency status billing_interval billing_value value first_paid_at identified created_at updated_at", Sums, forever}},
	},
	"analytics": {Rows: ofUser, None: "tenant", Erased: "day kind account_id user_id program code engagement_medium share_medium times"},
	"api_key":   {None: "tenant hash sealed name role created_at replaced_at expires_at used_at"},
	"audit_entry": {
		Rows: ofUser, None: "seq tenant at action", Erased: "subject was became account_id user_id",
		Kept: []Kept{{"person actor ip invited_by", team, "400 days after the entry"}},
	},
	"backup_schedule": {None: "one made_at retry_at leased_by"},
	"code":            {Rows: ofUser, None: "tenant", Erased: "code program account_id user_id created_at link_only linked_at"},
	"decision":        {Rows: ofUser, None: "tenant", Erased: "id account_id user_id code source rule accepted inputs times first_at last_at"},
	"do_not_track":    {None: "tenant created_at", Kept: []Kept{{"identity", hashed + "; it refuses the person", forever}}},
	"edge_edit":       {None: "seq tenant"},
	"erased_account": {
		None: "tenant forget_at",
		Kept: []Kept{{"identity earned", hashed + "; it keeps the account from being referred again", "a year, or as long as `kith tenant set --remember-deleted` says"}},
	},
	"event":          {Rows: ofUser, None: "tenant", Erased: "id account_id user_id key fields triggered_at received_at processed_at trusted"},
	"failed_sign_in": {Kept: []Kept{{"address times last_at last_from", team, "30 days after the last one, or the member signs in"}}},
	"import_columns": {None: "tenant type header columns used_at"},
	"file":           {None: "tenant ref size hash created_at expires_at dialect"},
	"fuel_due":       {Rows: `tenant = ?1 AND referral_id IN (SELECT id FROM referral WHERE ` + ofReferrals + `)`, None: "seq tenant program key referral_id created_at"},
	"fuel_tank":      {Rows: ofRewards, None: "seq tenant program key code reward_id created_at"},
	"gateway_bill": {
		Rows: ofAccount, None: "tenant", Erased: "account_id",
		Kept: []Kept{{"transaction_id subscription_id", books, forever}, {"amount discount credit first seen_at charged_at", Sums, forever}},
	},
	"gateway_connection": {None: "tenant merchant_id base_url created_at checked_at swept_at swept_all_at sweep_at leased_by kind endpoint_id credit count_tax count_shipping"},
	"gateway_coupon": {
		Rows: `tenant = ?1 AND customer_id = (SELECT payment_provider_id FROM account WHERE tenant = ?1 AND id = ?2)`,
		None: "tenant", Erased: "customer_id code problem tries due_at leased_by",
	},
	"gateway_credit": {
		Rows: ofAccount, None: "tenant id problem", Erased: "account_id",
		Kept: []Kept{{"customer_id subscription_id transaction_id", books, forever}, {"amount currency state created_at ended_at", Sums, forever}},
	},
	"gateway_key": {None: "tenant public_key private_key place expires_at"},
	"gateway_notification": {
		None: "seq tenant kind problem received_at read_at gateway",
		Kept: []Kept{{"payload", "what the gateway sent, to read it again after an error", "30 days after it was read"}, {"hash", "a repeated notification is known by it", forever}},
	},
	"gateway_payment": {
		Rows: ofAccount, None: "tenant problem tries touched due_at leased_by", Erased: "account_id user_id",
		Kept: []Kept{{"id subscription_id", books, forever}, {"amount revenue currency credit reported refunded reversed created_at", Sums, forever}},
	},
	"gateway_promotion": {
		Rows: `tenant = ?1 AND code IN (SELECT code FROM code WHERE ` + ofUser + `)`, None: "tenant problem tries due_at leased_by",
		Kept: []Kept{{"code coupon_id promotion_id", "the code must be made inactive at the gateway", "the gateway has done so, or the tenant is erased"}},
	},
	"gateway_refund": {
		Rows: ofAccount, None: "tenant problem", Erased: "account_id",
		Kept: []Kept{{"transaction_id subscription_id refund_id", books, forever}, {"amount currency state key_number created_at ended_at", Sums, forever}},
	},
	"gateway_subscription": {
		Rows: ofAccount, None: "tenant problem attempt tries due_at leased_until leased_by", Erased: "account_id user_id code",
		Kept: []Kept{
			{"id customer_id", "the discount of the subscription ends by it", forever},
			{"status in_trial paid wanted folded created_at period opened_at next_period currency room held owed", Sums, forever},
		},
	},
	"heartbeat": {None: "one beat_at"},
	"intake": {
		Rows: ofUser, None: "seq tenant received_at key_id trusted", Erased: "account_id user_id events",
		Kept: []Kept{{"idempotency_key", used, "48 hours after the call"}},
	},
	"intake_cursor": {None: "one seq"},
	"invitation":    {None: "tenant id hash role created_at expires_at", Kept: []Kept{{"email invited_by", team, "it is accepted, revoked or expired"}}},
	"job": {
		None: "tenant id type format file status processed errors result_file errors_file attempt tries leased_until created_at completed_at expires_at position started_at total leased_by file_row idle",
		Kept: []Kept{{"name requester mail_to params message", "written by your team or your server; nothing of a file is in it", jobEnded}},
	},
	"job_part":        {None: "tenant job_id seq", Kept: []Kept{{"result errors", "the files of a running import are made of it", "the import has ended"}}},
	"kept_answer":     {Rows: ofUser, None: "tenant at", Erased: "account_id user_id answer", Kept: []Kept{{"key digest", used, "24 hours after the call"}}},
	"master_key":      {None: "one fingerprint next identity"},
	"membership":      {None: "tenant", Kept: []Kept{{"person role created_at invited_by", team, removed}}},
	"order_event":     {Rows: `tenant = ?1 AND event_id IN (SELECT id FROM event WHERE ` + ofUser + `)`, None: "seq tenant event_id"},
	"order_replay":    {Rows: ofUser, None: "tenant", Erased: "program account_id user_id placed_at referral_id order_key moderated"},
	"person":          {Kept: []Kept{{"id email name password password_at totp totp_on totp_step created_at signed_in_at proven_at", team, removed}}},
	"person_identity": {Kept: []Kept{{"issuer subject person created_at", team, removed}}},
	"person_recovery": {Kept: []Kept{{"person hash", team, removed}}},
	"person_reset":    {Kept: []Kept{{"person hash expires_at", team, removed}}},
	"person_session":  {None: "hash id", Kept: []Kept{{"person stage created_at seen_at confirmed_at ip agent entered failed failed_at failed_from", team, "14 days after the sign-in, or it ends"}}},
	"pipeline":        {None: "tenant settings secret old_secret old_until"},
	"program":         {None: "tenant key created_at updated_at " + names(programdb.SettingColumns)},
	"program_reward":  {None: "tenant program key " + names(programdb.OfferColumns)},
	"program_version": {None: "tenant program since event reversal settings"},
	"readiness":       {None: "one checked_at"},
	"referral": {
		Rows: ofReferrals, None: "tenant id program", Erased: "code referrer_account_id referrer_user_id referred_account_id referred_user_id share_link",
		Kept: []Kept{{"state share_medium referrer_moderation referrer_by_hand referred_moderation referred_by_hand fraud_signals started_at converted_at ended_at moderated_at by_hand_at updated_at attributed_at refused_for", Sums, forever}},
	},
	"referral_day": {None: "tenant day program share_medium joined converted"},
	"referral_order": {
		Rows: `tenant = ?1 AND referral_id IN (SELECT id FROM referral WHERE ` + ofReferrals + `)`,
		None: "tenant referral_id program event_id referrer_reward_id referred_reward_id", Erased: "order_key detail refunds referrer_account_id referrer_user_id",
		Kept: []Kept{{"placed_at revenue currency refused reason number conversion referrer_reason referred_reason referrer_gives updated_at fault returned", Sums, forever}},
	},
	"refused_event": {Rows: ofUser, None: "tenant", Erased: "idempotency_key digest account_id user_id event recorded_event events times first_at last_at"},
	"reward": {
		Rows: ofUser, None: "tenant id program program_reward_key global_reward_key referral_id fuel_tank_type", Erased: "account_id user_id order_key name description settings",
		Kept: []Kept{
			{"fuel_tank_code", "a code of your shop, which is not given again", forever},
			{"source kind unit value currency cancellable created_at scheduled_at given_at held expires_at cancelled_at pending redeemed expired cancelled reversed settled refunded denied unsettled blocked_since", Sums, forever},
		},
	},
	"reward_day": {None: "tenant day program share_medium unit currency cost"},
	"reward_ledger": {
		Rows: ofRewards, None: "seq tenant id reward_id",
		Kept: []Kept{{"idempotency_key", used + "; the ledger is never changed", forever}, {"action amount unit at", Sums, forever}},
	},
	"schema_version": {None: "version applied_at kith"},
	"secure_mode":    {None: "tenant endpoint mode"},
	"sftp_key":       {None: "tenant fingerprint type note created_at used_at"},
	"site":           {None: "host tenant"},
	sequences:        {None: "name seq"},
	tenants:          {None: "alias key_hash key_sealed discount_id consent consent_cookie created_at share_origin browser_payment export_dates namesake init_checksum undated_tokens undated_refused undated_refused_at squatch_parameter time_zone api_key_tokens remember_deleted second_step link_max_age code_names"},
	"tenant_origin":  {None: "tenant origin created_at"},
	users: {
		Rows: `tenant = ?1 AND account_id = ?2 AND id = ?3`, None: "seq tenant",
		Erased: "account_id id first_name last_name email image_url locale country_code referable custom_fields segments created_at updated_at first_seen_ip last_seen_ip cookie_id us_tax_form_at blocked_at terms blocked_rewards block_due",
	},
	"user_range":       {None: "tenant users", Erased: "account_id id"},
	"visit":            {Rows: `tenant = ?1 AND code IN (SELECT code FROM code WHERE ` + ofUser + `)`, None: "tenant day program engagement_medium share_medium visits bot_visits agent_visits", Erased: "code"},
	"visit_batch":      {None: "tenant id received_at visits"},
	"visit_day":        {None: "tenant day program engagement_medium share_medium visits bot_visits agent_visits"},
	"webhook_allowed":  {None: "tenant prefix"},
	"webhook_attempt":  {None: "tenant url event_id number started_at duration status error", Erased: "answer"},
	"webhook_counter":  {None: "tenant latest"},
	"webhook_delivery": {None: "tenant url event_id state attempt tries due_at created_at ended_at leased_by"},
	"webhook_event": {
		Rows: ofEvents, None: "seq tenant id type created_at sequence erased",
		Kept: []Kept{{"data", "an endpoint has not accepted the event: ids, times and amounts are kept, and nothing else; of all other events nothing is", "30 days after the last attempt"}},
	},
	"webhook_key":          {None: "id modulus sealed created_at retired_at"},
	"webhook_subscription": {None: "tenant url name secret old_secret old_until failing_since disabled_at created_at types"},
	"widget":               {None: "tenant program key template options branding widget_values modified_at"},
	"worker_process":       {None: "id beat"},
}

// DumpPersonal calls row with each row of a table that is about a user, in the form
// of Dump. It returns an error if PersonalData does not have the table.
func DumpPersonal(ctx context.Context, r store.Reads, t Table, tenant core.TenantAlias, account core.AccountID, user core.UserID, row func(line []byte) error) error {
	declared, ok := PersonalData[t.Name]
	if !ok {
		return fmt.Errorf("store: it is not declared which rows of %s are about a user", t.Name)
	}
	where := declared.Rows
	if where == "" {
		return nil
	}
	args := []any{string(tenant), string(account), string(user)}
	if !strings.Contains(where, "?3") {
		args = args[:2] // a server rejects arguments that the statement does not use
	}
	d := dumper{t: t, where: where, args: args, keep: anyColumn, row: row}
	return d.all(ctx, r)
}
