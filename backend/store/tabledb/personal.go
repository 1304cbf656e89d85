package tabledb

import (
	"context"
	"fmt"
	"strings"

	"kith/backend/store"
	"kith/core"
)

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

// personal has the condition of the rows of each table that are about a user. It is
// empty if the table has no such rows, or if they cannot be found: uploads and the
// results of imports are files of the tenant, and do_not_track and erased_account have keyed hashes.
var personal = map[string]string{
	"account": `tenant = ?1 AND id = ?2`, "user": `tenant = ?1 AND account_id = ?2 AND id = ?3`,
	"analytics": ofUser, "audit_entry": ofUser, "code": ofUser, "decision": ofUser, "event": ofUser, "intake": ofUser, "kept_answer": ofUser, "refused_event": ofUser, "reward": ofUser,
	"referral": ofReferrals, "fuel_due": `tenant = ?1 AND referral_id IN (SELECT id FROM referral WHERE ` + ofReferrals + `)`,
	"referral_order": `tenant = ?1 AND referral_id IN (SELECT id FROM referral WHERE ` + ofReferrals + `)`,
	"order_replay":   ofUser, "order_event": `tenant = ?1 AND event_id IN (SELECT id FROM event WHERE ` + ofUser + `)`,
	"reward_ledger": ofRewards, "fuel_tank": ofRewards,
	"visit":        `tenant = ?1 AND code IN (SELECT code FROM code WHERE ` + ofUser + `)`,
	"gateway_bill": ofAccount, "gateway_refund": ofAccount, "gateway_subscription": ofAccount, "gateway_payment": ofAccount, "gateway_credit": ofAccount,
	"gateway_promotion": `tenant = ?1 AND code IN (SELECT code FROM code WHERE ` + ofUser + `)`,
	"gateway_coupon":    `tenant = ?1 AND customer_id = (SELECT payment_provider_id FROM account WHERE tenant = ?1 AND id = ?2)`,
	"webhook_event":     ofEvents,

	"api_key": "", "backup_schedule": "", "do_not_track": "", "erased_account": "", "file": "", "gateway_connection": "", "gateway_key": "", "gateway_notification": "", "heartbeat": "",
	"intake_cursor": "", "invitation": "", "job": "", "job_part": "", "master_key": "", "membership": "", "person": "", "person_identity": "", "person_recovery": "", "person_reset": "", "person_session": "", "pipeline": "", "program": "", "program_reward": "", "program_version": "", "readiness": "", "referral_day": "", "reward_day": "", "schema_version": "", "secure_mode": "",
	"sftp_key": "", "site": "", sequences: "", tenants: "", "tenant_origin": "", "user_range": "", "visit_batch": "", "visit_day": "", "webhook_allowed": "", "webhook_attempt": "", "webhook_counter": "",
	"webhook_delivery": "", "webhook_key": "", "webhook_subscription": "", "widget": "", "worker_process": "",
}

// DumpPersonal calls row with each row of a table that is about a user, in the form
// of Dump. It returns an error if personal does not list the table.
func DumpPersonal(ctx context.Context, r store.Reads, t Table, tenant core.TenantAlias, account core.AccountID, user core.UserID, row func(line []byte) error) error {
	where, listed := personal[t.Name]
	if !listed {
		return fmt.Errorf("store: it is not declared which rows of %s are about a user", t.Name)
	}
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
