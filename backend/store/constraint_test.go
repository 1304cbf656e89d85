package store_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goodRows has a valid row for each table. A row may refer to the rows above it. $T
// stands for the test's tenant.
var goodRows = []struct{ table, values string }{
	{"tenant", `alias='$T2', key_hash='$T2', key_sealed='s', discount_id='d', consent='off', consent_cookie='', created_at=1`},
	{"site", `host='$T.example', tenant='$T'`},
	{"program", `tenant='$T', key='p', name='', landing_url='', allowed_hosts='[]', cookie_life=1, most_rewards=0,
		most_in_period=0, reward_period=0, most_discount=0, fraud_handling='NONE', fraud_signals='{}', daily_rewards=0,
		created_at=1, updated_at=1`},
	{"program_reward", `tenant='$T', program='p', key='referrer', kind='CREDIT', percent=0, amount=1, unit='CENTS', currency='USD',
		name='', description='', settings='', valid_for=0, given_after=0`},
	{"fuel_tank", `tenant='$T', program='p', key='referrer', code='c', reward_id=null, created_at=1`},
	{"fuel_due", `tenant='$T', program='p', key='referrer', referral_id='r', created_at=1`},
	{"account", `tenant='$T', id='a', currency='USD', status='TRIAL', billing_interval='', billing_value=0, value='',
		payment_provider_id='pp', first_paid_at=null, identified=0, created_at=1, updated_at=1`},
	{"user", `tenant='$T', account_id='a', id='u', first_name='', last_name='', email='', image_url='', locale='',
		country_code='', referable=1, custom_fields='{}', segments='[]', created_at=1, updated_at=1`},
	{"code", `tenant='$T', code='CODE', program='p', account_id='a', user_id='u', created_at=1`},
	{"referral", `tenant='$T', id='r', program='p', state='in-progress', code='CODE', referrer_account_id='b',
		referrer_user_id='u', referred_account_id='a', referred_user_id=null, share_medium='', share_link='',
		referrer_moderation='PENDING', referrer_by_hand=0, referred_moderation='APPROVED', referred_by_hand=0,
		fraud_signals='{}', started_at=1, converted_at=null, ended_at=null, moderated_at=1, by_hand_at=null, updated_at=1`},
	{"referral_order", `tenant='$T', referral_id='r', order_key='o', program='p', referrer_account_id='b', referrer_user_id='u', event_id='e', placed_at=1,
		revenue=1, currency='USD', refused='', detail='', refunds='[]', reason='', number=1, conversion=1, referrer_reason='', referred_reason='',
		referrer_gives=1, updated_at=1`},
	{"order_event", `tenant='$T', event_id='e'`},
	{"order_replay", `tenant='$T', program='p', account_id='b', user_id='u', placed_at=1, referral_id='', order_key='', moderated=''`},
	{"program_version", `tenant='$T', program='p', since=1, event='purchase', reversal='refund', settings='{}'`},
	{"reward", `tenant='$T', id='w', account_id='a', user_id='u', program='p', program_reward_key='', global_reward_key='',
		referral_id='r', source='REFERRED', kind='CREDIT', unit='CENTS', value=10, currency='USD', name='', description='',
		fuel_tank_code=null, fuel_tank_type=null, settings=null, cancellable=1, created_at=1, scheduled_at=null, given_at=1, held=0,
		expires_at=null, cancelled_at=null, pending=0, redeemed=0, expired=0, cancelled=0`},
	{"reward_ledger", `tenant='$T', id='l', reward_id='w', action='grant', amount=10, unit='CENTS', idempotency_key=null, at=1`},
	{"decision", `tenant='$T', id='d', account_id='a', user_id='u', code='', source='', rule='', accepted=0,
		inputs='{}', times=1, first_at=1, last_at=1`},
	{"intake", `tenant='$T', account_id='a', user_id='u', idempotency_key=null, events='[]', received_at=1, key_id=null`},
	{"event", `tenant='$T', id='e', account_id='a', user_id='u', key='k', fields='{}', triggered_at=1, received_at=1, processed_at=1`},
	{"analytics", `tenant='$T', day=0, kind='loaded', account_id='a', user_id='u', program='', code='',
		engagement_medium='', share_medium='', times=1`},
	{"user_range", `tenant='$T', account_id='A', id='A', users=1`},
	{"visit_day", `tenant='$T', day=99, program='p', engagement_medium='', share_medium='', visits=1, bot_visits=0`},
	{"referral_day", `tenant='$T', day=99, program='p', share_medium='', joined=1, converted=0`},
	{"reward_day", `tenant='$T', day=99, program='p', share_medium='', unit='CENTS', currency='USD', cost=1`},
	{"visit", `tenant='$T', day=0, program='p', code='', engagement_medium='', share_medium='', visits=1, bot_visits=0`},
	{"visit_batch", `tenant='$T', id='b', received_at=1, visits='[]'`},
	{"secure_mode", `tenant='$T', endpoint='upsert-user', mode='open'`},
	{"do_not_track", `tenant='$T', identity='i', created_at=1`},
	{"edge_edit", `tenant='$T'`},
	{"erased_account", `tenant='$T', identity='h', earned=1, forget_at=1`},
	{"kept_answer", `tenant='$T', key='k', digest='d', account_id='', user_id='', answer='{}', at=1`},
	{"refused_event", `tenant='$T', idempotency_key='k', digest='d', account_id='a', user_id='u', event='refund', recorded_event='purchase', events='[]', times=1, first_at=1, last_at=1`},
	{"tenant_origin", `tenant='$T', origin='https://shop.example', created_at=1`},
	{"widget", `tenant='$T', program='', key='k', template='', options='', branding='{}', widget_values='', modified_at=1`},
	{"webhook_subscription", `tenant='$T', url='https://x.example', name='', types='[]', secret='s', old_secret=null, old_until=null,
		failing_since=null, disabled_at=null, created_at=1`},
	{"webhook_counter", `tenant='$T', latest=1`},
	{"webhook_event", `tenant='$T', id='h', type='test', data='{}', created_at=1`},
	{"webhook_delivery", `tenant='$T', url='https://x.example', event_id='h', state='waiting', attempt=1, tries=1, due_at=1,
		created_at=1, ended_at=null`},
	{"webhook_attempt", `tenant='$T', url='https://x.example', event_id='h', number=1, started_at=1, duration=0, status=200,
		error='', answer=''`},
	{"webhook_key", `id='$T', modulus='m', sealed='s', created_at=1, retired_at=1`},
	{"worker_process", `id='$T', beat=0`},
	{"webhook_allowed", `tenant='$T', prefix='127.0.0.1/32'`},
	{"gateway_connection", `tenant='$T', merchant_id='m', base_url='', created_at=1, checked_at=null, swept_at=0, swept_all_at=0, sweep_at=0`},
	{"gateway_coupon", `tenant='$T', customer_id='c', code='C', problem='', tries=0, due_at=null`},
	{"gateway_payment", `tenant='$T', id='in', subscription_id='', account_id='', user_id='', amount=2, revenue=1, currency='USD', credit=0, reported=0,
		refunded=0, reversed=0, problem='', tries=0, touched=0, due_at=null, leased_by=null, created_at=1`},
	{"gateway_credit", `tenant='$T', id='c', account_id='a', customer_id='cus', subscription_id='s', amount=1, currency='USD', state='waiting',
		transaction_id='', problem='', created_at=1, ended_at=null`},
	{"gateway_promotion", `tenant='$T', code='C', coupon_id='', promotion_id='', problem='', tries=0, due_at=null, leased_by=null`},
	{"pipeline", `tenant='$T', settings='{}', secret=null, old_secret=null, old_until=null`},
	{"gateway_key", `tenant='$T', public_key='p', private_key='s', place=0`},
	{"gateway_notification", `tenant='$T', hash='0123456789012345678901234567890123456789012345678901234567890123', payload='', kind='', problem='', received_at=1, read_at=null`},
	{"gateway_subscription", `tenant='$T', id='s', customer_id='', account_id=null, status='', in_trial=0, paid=0, wanted=0, folded=0,
		problem='', attempt=0, tries=0, due_at=null, leased_until=null, created_at=1, period='', opened_at=1`},
	{"gateway_bill", `tenant='$T', transaction_id='t', subscription_id='s', account_id='a', amount=1, discount=0, credit=0, first=1, charged_at=1, seen_at=1`},
	{"gateway_refund", `tenant='$T', transaction_id='t', account_id='a', subscription_id='s', amount=1, currency='USD', state='waiting',
		key_number=1, refund_id='', problem='', created_at=1, ended_at=null`},
	{"file", `tenant='$T', ref='f', size=null, hash='', created_at=1, expires_at=1`},
	{"import_columns", `tenant='$T', type='t', header='` + strings.Repeat("0", 64) + `', columns='{}', used_at=1`},
	{"job", `tenant='$T', id='j', type='QUERY/USER', name='', requester='', mail_to='', format='CSV', params='{}', file=null,
		status='PENDING', message='', processed=0, errors=0, result_file=null, errors_file=null, attempt=0, tries=0,
		leased_until=9000000000000000, created_at=1, completed_at=null, expires_at=null, position=0`},
	{"job_part", `tenant='$T', job_id='j', seq=1, result=x'00', errors=null`},
	{"person", `id='$T', email='$T@example.com', name='', password='$argon2id$', password_at=1, totp='', totp_on=0, totp_step=0, created_at=1, signed_in_at=null, proven_at=1`},
	{"person_identity", `issuer='https://id.example', subject='$T', person='$T', created_at=1`},
	{"person_recovery", `person='$T', hash='h'`},
	{"person_session", `hash='$T', id='$T', person='$T', stage='in', created_at=1, seen_at=1, confirmed_at=1, ip='', agent='', failed=0, failed_at=0, failed_from=''`},
	{"failed_sign_in", `address='$T', times=1, last_at=1, last_from=''`},
	{"person_reset", `person='$T', hash='$T', expires_at=1`},
	{"membership", `tenant='$T', person='p', role='owner', created_at=1, invited_by=''`},
	{"invitation", `tenant='$T', id='i', hash='$T', email='a@b', role='owner', invited_by='', created_at=1, expires_at=1`},
	{"audit_entry", `tenant='$T', at=1, person='', actor='', ip='', action='', subject='', was='{}', became='', account_id='', user_id='', invited_by=''`},
	{"sftp_key", `tenant='$T', fingerprint='f', type='', note='', created_at=1, used_at=null`},
	{"api_key", `tenant='$T', hash='h', sealed='', name='k', role='read', created_at=1, replaced_at=null, expires_at=null, used_at=null`},
}

// ledgerSigns is the error of an amount whose sign does not fit its action.
const ledgerSigns = "CHECK constraint failed: CASE WHEN action IN ('grant', 'restore') THEN amount > 0 WHEN action IN ('hold', 'release') THEN amount = 0 WHEN action = 'redeem' THEN amount < 0 ELSE amount <> 0 END"

// badRows are rows that the schema rejects: a change to the good row, and the
// constraint that it violates.
var badRows = []struct{ table, change, refusal string }{
	{"tenant", `alias='$T', key_hash='other', namesake=1`, "UNIQUE constraint failed: tenant.alias"},
	{"tenant", `alias=upper('$T'), key_hash='other'`, "UNIQUE constraint failed: index 'tenant_name'"},
	{"tenant", `alias='other'`, "UNIQUE constraint failed: tenant.key_hash"},
	{"tenant", `alias='x', key_hash='x', consent='maybe', consent_cookie='c'`, "CHECK constraint failed: consent IN ('off', 'opt-in', 'opt-out')"},
	{"tenant", `alias='x', key_hash='x', consent='opt-in'`, "CHECK constraint failed: consent = 'off' OR consent_cookie <> ''"},
	{"tenant", `alias='x', key_hash='x', consent='opt-out'`, "CHECK constraint failed: consent = 'off' OR consent_cookie <> ''"},
	{"tenant", `alias='x', key_hash='x', created_at='then'`, "cannot store TEXT value in INTEGER column tenant.created_at"},

	{"tenant", `alias='x', key_hash='x', time_zone='` + strings.Repeat("z", 65) + `'`, "CHECK constraint failed: length(time_zone) <= 64"},
	{"tenant", `alias='x', key_hash='x', export_dates='DMY'`, "CHECK constraint failed: export_dates IN ('MS', 'ISO')"},
	{"tenant", `alias='x', key_hash='x', browser_payment='all'`, "CHECK constraint failed: browser_payment IN ('any', 'signed')"},
	{"tenant", `alias='x', key_hash='x', init_checksum=2`, "CHECK constraint failed: init_checksum IN (0, 1)"},
	{"tenant", `alias='x', key_hash='x', undated_tokens=2`, "CHECK constraint failed: undated_tokens IN (0, 1)"},
	{"tenant", `alias='x', key_hash='x', undated_refused=-1`, "CHECK constraint failed: undated_refused >= 0"},
	{"tenant", `alias='x', key_hash='x', squatch_parameter='x'`, "CHECK constraint failed: squatch_parameter IN ('auto', 'on', 'off')"},
	{"tenant", `alias='x', key_hash='x', api_key_tokens=2`, "CHECK constraint failed: api_key_tokens IN (0, 1)"},
	{"tenant", `alias='x', key_hash='x', namesake=2`, "CHECK constraint failed: namesake IN (0, 1)"},

	{"api_key", `name='x'`, "UNIQUE constraint failed: api_key.tenant, api_key.hash"},
	{"api_key", `hash='x'`, "UNIQUE constraint failed: api_key.tenant, api_key.name"},
	{"api_key", `hash='x', name='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"api_key", `hash='', name='x'`, "CHECK constraint failed: hash <> ''"},
	{"api_key", `hash='x', name=''`, "CHECK constraint failed: name <> '' AND name NOT GLOB '*[^-A-Za-z0-9_.]*'"},
	{"api_key", `hash='x', name='a b'`, "CHECK constraint failed: name <> '' AND name NOT GLOB '*[^-A-Za-z0-9_.]*'"},
	{"api_key", `hash='x', name='x', role='some'`, "CHECK constraint failed: role IN ('all', 'read', 'events', 'import', 'tokens')"},
	{"api_key", `hash='x', replaced_at=1`, "CHECK constraint failed: replaced_at IS NULL OR expires_at IS NOT NULL"},

	{"do_not_track", ``, "UNIQUE constraint failed: do_not_track.tenant, do_not_track.identity"},
	{"kept_answer", ``, "UNIQUE constraint failed: kept_answer.tenant, kept_answer.key"},
	{"kept_answer", `key='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"refused_event", ``, "UNIQUE constraint failed: refused_event.tenant, refused_event.idempotency_key, refused_event.digest"},
	{"refused_event", `digest='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"refused_event", `digest='x', times=0`, "CHECK constraint failed: times > 0"},
	{"do_not_track", `identity='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"edge_edit", ``, "UNIQUE constraint failed: edge_edit.tenant"},
	{"edge_edit", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"erased_account", ``, "UNIQUE constraint failed: erased_account.tenant, erased_account.identity"},
	{"erased_account", `identity='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"erased_account", `identity='x', earned=2`, "CHECK constraint failed: earned IN (0, 1)"},
	{"tenant", `alias='x', key_hash='x', remember_deleted=-1`, "CHECK constraint failed: remember_deleted >= 0"},
	{"tenant", `alias='x', key_hash='x', link_max_age=300001`, "CHECK constraint failed: link_max_age BETWEEN 0 AND 300000"},
	{"tenant", `alias='x', key_hash='x', code_names=2`, "CHECK constraint failed: code_names IN (0, 1)"},
	{"tenant", `alias='x', key_hash='x', second_step=2`, "CHECK constraint failed: second_step IN (0, 1)"},
	{"gateway_subscription", `id='x', room=-1`, "CHECK constraint failed: room >= 0"},
	{"gateway_subscription", `id='x', held=-1`, "CHECK constraint failed: held >= 0"},
	{"gateway_subscription", `id='x', owed=-1`, "CHECK constraint failed: owed >= 0"},

	{"secure_mode", ``, "UNIQUE constraint failed: secure_mode.tenant, secure_mode.endpoint"},
	{"secure_mode", `endpoint='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"secure_mode", `endpoint='x', mode='shut'`, "CHECK constraint failed: mode IN ('signed', 'open', 'disabled')"},

	{"gateway_connection", ``, "UNIQUE constraint failed: gateway_connection.tenant"},
	{"gateway_connection", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_connection", `tenant='$T2', merchant_id=''`, "CHECK constraint failed: merchant_id <> ''"},
	{"gateway_connection", `tenant='$T2', swept_at=-1`, "CHECK constraint failed: swept_at >= 0"},
	{"gateway_connection", `tenant='$T2', swept_all_at=-1`, "CHECK constraint failed: swept_all_at >= 0"},
	{"gateway_connection", `tenant='$T2', sweep_at=-1`, "CHECK constraint failed: sweep_at >= 0"},
	{"gateway_connection", `tenant='$T2', kind='paypal'`, "CHECK constraint failed: kind IN ('braintree', 'stripe')"},
	{"gateway_connection", `tenant='$T2', credit='cash'`, "CHECK constraint failed: credit IN ('coupon', 'balance')"},
	{"gateway_connection", `tenant='$T2', count_tax=2`, "CHECK constraint failed: count_tax IN (0, 1)"},
	{"gateway_connection", `tenant='$T2', count_shipping=2`, "CHECK constraint failed: count_shipping IN (0, 1)"},
	{"gateway_payment", ``, "UNIQUE constraint failed: gateway_payment.tenant, gateway_payment.id"},
	{"gateway_payment", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_payment", `id='x', amount=-1, revenue=0`, "CHECK constraint failed: amount >= 0"},
	{"gateway_payment", `id='x', revenue=3`, "CHECK constraint failed: revenue BETWEEN 0 AND amount"},
	{"gateway_payment", `id='x', credit=-1`, "CHECK constraint failed: credit >= 0"},
	{"gateway_payment", `id='x', reported=2`, "CHECK constraint failed: reported IN (0, 1)"},
	{"gateway_payment", `id='x', refunded=3`, "CHECK constraint failed: refunded BETWEEN 0 AND amount"},
	{"gateway_payment", `id='x', reversed=2`, "CHECK constraint failed: reversed BETWEEN 0 AND revenue"},
	{"gateway_payment", `id='x', tries=-1`, "CHECK constraint failed: tries >= 0"},
	{"gateway_payment", `id='x', touched=-1`, "CHECK constraint failed: touched >= 0"},
	{"gateway_credit", ``, "UNIQUE constraint failed: gateway_credit.tenant, gateway_credit.id"},
	{"gateway_credit", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_credit", `id='x', customer_id=''`, "CHECK constraint failed: customer_id <> ''"},
	{"gateway_credit", `id='x', amount=0`, "CHECK constraint failed: amount > 0"},
	{"gateway_credit", `id='x', state='sent'`, "CHECK constraint failed: state IN ('waiting', 'done', 'failed')"},
	{"gateway_credit", `id='x', ended_at=1`, "CHECK constraint failed: (state = 'waiting') = (ended_at IS NULL)"},
	{"gateway_credit", `id='x', transaction_id='t'`, "CHECK constraint failed: (state = 'done') = (transaction_id <> '')"},
	{"gateway_promotion", ``, "UNIQUE constraint failed: gateway_promotion.tenant, gateway_promotion.code"},
	{"gateway_promotion", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_promotion", `code=''`, "CHECK constraint failed: code <> ''"},
	{"gateway_promotion", `code='x', tries=-1`, "CHECK constraint failed: tries >= 0"},
	{"gateway_coupon", ``, "UNIQUE constraint failed: gateway_coupon.tenant, gateway_coupon.customer_id"},
	{"gateway_coupon", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_coupon", `customer_id=''`, "CHECK constraint failed: customer_id <> ''"},
	{"gateway_coupon", `customer_id='x', code=''`, "CHECK constraint failed: code <> ''"},
	{"gateway_coupon", `customer_id='x', tries=-1`, "CHECK constraint failed: tries >= 0"},
	{"pipeline", ``, "UNIQUE constraint failed: pipeline.tenant"},
	{"pipeline", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"pipeline", `tenant='x', settings='[]'`, "CHECK constraint failed: json_type(settings) = 'object'"},
	{"pipeline", `tenant='x', secret='s', old_secret='s'`, "CHECK constraint failed: (old_secret IS NULL) = (old_until IS NULL)"},
	{"pipeline", `tenant='x', old_secret='s', old_until=1`, "CHECK constraint failed: secret IS NOT NULL OR old_secret IS NULL"},
	{"gateway_key", `place=1`, "UNIQUE constraint failed: gateway_key.tenant, gateway_key.public_key"},
	{"gateway_key", `public_key='x'`, "UNIQUE constraint failed: gateway_key.tenant, gateway_key.place"},
	{"gateway_key", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_key", `public_key='', place=1`, "CHECK constraint failed: public_key <> ''"},
	{"gateway_key", `public_key='x', place=-1`, "CHECK constraint failed: place >= 0"},
	{"gateway_notification", ``, "UNIQUE constraint failed: gateway_notification.tenant, gateway_notification.hash"},
	{"gateway_notification", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_notification", `hash='short'`, "CHECK constraint failed: length(hash) = 64"},

	{"gateway_subscription", ``, "UNIQUE constraint failed: gateway_subscription.tenant, gateway_subscription.id"},
	{"gateway_subscription", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_subscription", `id='x', in_trial=2`, "CHECK constraint failed: in_trial IN (0, 1)"},
	{"gateway_subscription", `id='x', paid=2`, "CHECK constraint failed: paid IN (0, 1)"},
	{"gateway_subscription", `id='x', wanted=-1, folded=0`, "CHECK constraint failed: wanted >= 0"},
	{"gateway_subscription", `id='x', wanted=1, folded=2`, "CHECK constraint failed: folded BETWEEN 0 AND wanted"},
	{"gateway_subscription", `id='x', attempt=-1`, "CHECK constraint failed: attempt >= 0"},
	{"gateway_subscription", `id='x', tries=-1`, "CHECK constraint failed: tries >= 0"},
	{"gateway_subscription", `id='x', opened_at=-1`, "CHECK constraint failed: opened_at >= 0"},
	{"gateway_bill", `first=0`, "UNIQUE constraint failed: gateway_bill.tenant, gateway_bill.transaction_id"},
	{"gateway_bill", `transaction_id='x'`, "UNIQUE constraint failed: gateway_bill.tenant, gateway_bill.account_id"},
	{"gateway_bill", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_bill", `transaction_id='x', first=0, amount=0`, "CHECK constraint failed: amount > 0"},
	{"gateway_bill", `transaction_id='x', first=0, discount=-1, credit=0`, "CHECK constraint failed: discount >= 0"},
	{"gateway_bill", `transaction_id='x', first=0, credit=1`, "CHECK constraint failed: credit BETWEEN 0 AND discount"},
	{"gateway_bill", `transaction_id='x', first=2`, "CHECK constraint failed: first IN (0, 1)"},
	{"gateway_bill", `transaction_id='x', first=0, charged_at=-1`, "CHECK constraint failed: charged_at >= 0"},
	{"gateway_refund", `account_id='x'`, "UNIQUE constraint failed: gateway_refund.tenant, gateway_refund.transaction_id"},
	{"gateway_refund", `transaction_id='x'`, "UNIQUE constraint failed: gateway_refund.tenant, gateway_refund.account_id"},
	{"gateway_refund", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"gateway_refund", `transaction_id='x', account_id='x', amount=0`, "CHECK constraint failed: amount > 0"},
	{"gateway_refund", `transaction_id='x', account_id='x', state='lost'`, "CHECK constraint failed: state IN ('waiting', 'done', 'failed')"},
	{"gateway_refund", `transaction_id='x', account_id='x', key_number=0`, "CHECK constraint failed: key_number > 0"},
	{"gateway_refund", `transaction_id='x', account_id='x', ended_at=1`, "CHECK constraint failed: (state = 'waiting') = (ended_at IS NULL)"},
	{"gateway_refund", `transaction_id='x', account_id='x', refund_id='r'`, "CHECK constraint failed: (state = 'done') = (refund_id <> '')"},

	{"site", `host='$T.EXAMPLE'`, "UNIQUE constraint failed: site.host"},
	{"site", `host='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},

	{"program", ``, "UNIQUE constraint failed: program.tenant, program.key"},
	{"program", `key='x', money_back=-1`, "CHECK constraint failed: money_back >= 0"},
	{"program", `key='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"program", `key='x', allowed_hosts='{}'`, "CHECK constraint failed: json_type(allowed_hosts) = 'array'"},
	{"program", `key='x', allowed_hosts='['`, "malformed JSON"},
	{"program", `key='x', cookie_life=0`, "CHECK constraint failed: cookie_life > 0"},
	{"program", `key='x', most_rewards=-1`, "CHECK constraint failed: most_rewards >= 0"},
	{"program", `key='x', most_in_period=-1, reward_period=1`, "CHECK constraint failed: most_in_period >= 0"},
	{"program", `key='x', most_in_period=1, reward_period=-1`, "CHECK constraint failed: reward_period >= 0"},
	{"program", `key='x', most_in_period=1`, "CHECK constraint failed: (most_in_period = 0) = (reward_period = 0)"},
	{"program", `key='x', most_discount=10001`, "CHECK constraint failed: most_discount BETWEEN 0 AND 10000"},
	{"program", `key='x', fraud_handling=''`, "CHECK constraint failed: fraud_handling IN ('NONE', 'PENDING', 'DENY')"},
	{"program", `key='x', fraud_signals='[]'`, "CHECK constraint failed: json_type(fraud_signals) = 'object'"},
	{"program", `key='x', daily_rewards=-1`, "CHECK constraint failed: daily_rewards >= 0"},
	{"program", `key='x', conversion='[]'`, "CHECK constraint failed: conversion = '' OR json_type(conversion) = 'object'"},
	{"program_reward", `key='referred', of_revenue=10001`, "CHECK constraint failed: of_revenue BETWEEN 0 AND 10000"},
	{"program_version", ``, "UNIQUE constraint failed: program_version.tenant, program_version.program, program_version.since"},
	{"program_version", `program='x'`, "FOREIGN KEY constraint failed"},
	{"program_version", `since=2, settings='[]'`, "CHECK constraint failed: json_type(settings) = 'object'"},
	{"referral_order", ``, "UNIQUE constraint failed: referral_order.tenant, referral_order.referral_id, referral_order.order_key"},
	{"referral_order", `referral_id='x'`, "FOREIGN KEY constraint failed"},
	{"referral_order", `order_key='x', revenue=-1`, "CHECK constraint failed: revenue >= 0"},
	{"referral_order", `order_key='x', refunds='{}'`, "CHECK constraint failed: json_type(refunds) = 'array'"},
	{"referral_order", `order_key='x', number=-1`, "CHECK constraint failed: number >= 0"},
	{"referral_order", `order_key='x', conversion=-1`, "CHECK constraint failed: conversion >= 0"},
	{"referral_order", `order_key='x', referrer_gives=2`, "CHECK constraint failed: referrer_gives IN (0, 1)"},
	{"referral_order", `order_key='x', event_id=null`, "CHECK constraint failed: (event_id IS NULL) = (placed_at = 0)"},
	{"referral_order", `order_key='x', reason='no'`, "CHECK constraint failed: number = 0 OR reason = ''"},
	{"order_event", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"order_replay", ``, "UNIQUE constraint failed: order_replay.tenant, order_replay.account_id, order_replay.user_id, order_replay.program, order_replay.moderated"},
	{"order_replay", `program='x'`, "FOREIGN KEY constraint failed"},
	{"intake", `trusted=2`, "CHECK constraint failed: trusted IN (0, 1)"},
	{"event", `id='x', trusted=2`, "CHECK constraint failed: trusted IN (0, 1)"},
	{"program", `key='x', invitations='[]'`, "CHECK constraint failed: json_type(invitations) = 'object'"},

	{"program_reward", ``, "UNIQUE constraint failed: program_reward.tenant, program_reward.program, program_reward.key"},
	{"program_reward", `program='x'`, "FOREIGN KEY constraint failed"},
	{"program_reward", `key='friend'`, "CHECK constraint failed: key IN ('referrer', 'referred')"},
	{"program_reward", `key='referred', kind=''`, "CHECK constraint failed: kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')"},
	{"program_reward", `key='referred', percent=-1`, "CHECK constraint failed: percent BETWEEN 0 AND 10000"},
	{"program_reward", `key='referred', percent=10001`, "CHECK constraint failed: percent BETWEEN 0 AND 10000"},
	{"program_reward", `key='referred', amount=-1`, "CHECK constraint failed: amount >= 0"},
	{"program_reward", `key='referred', valid_for=-1`, "CHECK constraint failed: valid_for >= 0"},
	{"program_reward", `key='referred', given_after=-1`, "CHECK constraint failed: given_after >= 0"},

	{"fuel_tank", ``, "UNIQUE constraint failed: fuel_tank.tenant, fuel_tank.program, fuel_tank.key, fuel_tank.code"},
	{"fuel_tank", `code='y', reward_id='taken'`, "UNIQUE constraint failed: fuel_tank.tenant, fuel_tank.reward_id"},
	{"fuel_tank", `code='x', program='x'`, "FOREIGN KEY constraint failed"},
	{"fuel_tank", `code='x', key='friend'`, "CHECK constraint failed: key IN ('referrer', 'referred')"},
	{"fuel_tank", `code=''`, "CHECK constraint failed: code <> ''"},
	{"fuel_due", ``, "UNIQUE constraint failed: fuel_due.tenant, fuel_due.referral_id, fuel_due.key"},
	{"fuel_due", `referral_id='x', program='x'`, "FOREIGN KEY constraint failed"},
	{"fuel_due", `referral_id='x', key='friend'`, "CHECK constraint failed: key IN ('referrer', 'referred')"},

	{"account", `payment_provider_id=null`, "UNIQUE constraint failed: account.tenant, account.id"},
	{"account", `id='x'`, "UNIQUE constraint failed: account.tenant, account.payment_provider_id"},
	{"account", `id='x', payment_provider_id=null, tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"account", `id='x', payment_provider_id=null, status='paid'`, "CHECK constraint failed: status IN ('TRIAL', 'PAID', 'FREE', 'CANCELLED')"},
	{"account", `id='x', payment_provider_id=null, identified=2`, "CHECK constraint failed: identified IN (0, 1)"},

	{"user", ``, "UNIQUE constraint failed: user.tenant, user.account_id, user.id"},
	{"user", `id='x', seq=(SELECT/**/max(seq)FROM/**/user)`, "UNIQUE constraint failed: user.seq"},
	{"user", `account_id='nobody'`, "FOREIGN KEY constraint failed"},
	{"user", `id='x', referable=2`, "CHECK constraint failed: referable IN (0, 1)"},
	{"user", `id='x', blocked_rewards='x'`, "CHECK constraint failed: blocked_rewards IN ('KEEP', 'HOLD', 'CANCEL')"},
	{"user", `id='x', block_due=2`, "CHECK constraint failed: block_due IN (0, 1)"},
	{"user", `id='x', custom_fields='[]'`, "CHECK constraint failed: json_type(custom_fields) = 'object'"},
	{"user", `id='x', segments='{}'`, "CHECK constraint failed: json_type(segments) = 'array'"},

	{"code", `code='code'`, "UNIQUE constraint failed: code.tenant, code.code"},
	{"code", `code='x', link_only=2, linked_at=1`, "CHECK constraint failed: link_only IN (0, 1)"},
	{"code", `code='x', link_only=1`, "CHECK constraint failed: linked_at IS NOT NULL OR link_only = 0"},
	{"code", `code='x', program='nobody'`, "FOREIGN KEY constraint failed"},
	{"code", `code='x', user_id='nobody'`, "FOREIGN KEY constraint failed"},

	{"referral", `referred_account_id='c'`, "UNIQUE constraint failed: referral.tenant, referral.id"},
	{"referral", `id='x'`, "UNIQUE constraint failed: referral.tenant, referral.referred_account_id"},
	{"referral", `id='x', referred_account_id='nobody'`, "FOREIGN KEY constraint failed"},
	{"referral", `id='x', referred_account_id='c', state='none'`, "CHECK constraint failed: state IN ('in-progress', 'converted')"},
	{"referral", `id='x', referred_account_id='c', converted_at=1`, "CHECK constraint failed: (state = 'converted') = (converted_at IS NOT NULL)"},
	{"referral", `id='x', referred_account_id='c', state='converted', referred_user_id='u'`, "CHECK constraint failed: (state = 'converted') = (converted_at IS NOT NULL)"},
	{"referral", `id='x', referred_account_id='c', state='converted', converted_at=1`, "CHECK constraint failed: state <> 'converted' OR referred_user_id IS NOT NULL"},
	{"referral", `id='x', referred_account_id='c', referrer_moderation=''`, "CHECK constraint failed: referrer_moderation IN ('PENDING', 'APPROVED', 'DENIED')"},
	{"referral", `id='x', referred_account_id='c', referred_moderation='ACTIONED'`, "CHECK constraint failed: referred_moderation IN ('PENDING', 'APPROVED', 'DENIED')"},
	{"referral", `id='x', referred_account_id='c', referrer_by_hand=2, by_hand_at=1`, "CHECK constraint failed: referrer_by_hand IN (0, 1)"},
	{"referral", `id='x', referred_account_id='c', referred_by_hand=2, by_hand_at=1`, "CHECK constraint failed: referred_by_hand IN (0, 1)"},
	{"referral", `id='x', referred_account_id='c', referred_by_hand=1`, "CHECK constraint failed: by_hand_at IS NOT NULL OR referrer_by_hand + referred_by_hand = 0"},
	{"referral", `id='x', referred_account_id='c', fraud_signals='[]'`, "CHECK constraint failed: json_type(fraud_signals) = 'object'"},

	{"reward", `source='FRIEND_SIGNUP'`, "UNIQUE constraint failed: reward.tenant, reward.id"},
	{"reward", `id='x'`, "UNIQUE constraint failed: reward.tenant, reward.referral_id, reward.source, reward.order_key"},
	{"reward", `id='x', source='PROGRAM'`, "CHECK constraint failed: source IN ('FRIEND_SIGNUP', 'REFERRED', 'MANUAL', 'AUTOMATED', 'ACTIVATION', 'ACQUISITION', 'RETENTION', 'REACTIVATION')"},
	{"reward", `id='x', referral_id=null, kind=''`, "CHECK constraint failed: kind IN ('PCT_DISCOUNT', 'CREDIT', 'FUELTANK', 'INTEGRATION')"},
	{"reward", `id='x', referral_id=null, value=-1`, "CHECK constraint failed: value >= 0"},
	{"reward", `id='x', referral_id=null, fuel_tank_type='INTEGRATION'`, "CHECK constraint failed: fuel_tank_type IN ('PCT_DISCOUNT', 'CREDIT')"},
	{"reward", `id='x', referral_id=null, settings='[]'`, "CHECK constraint failed: json_type(settings) = 'object'"},
	{"reward", `id='x', referral_id=null, cancellable=2`, "CHECK constraint failed: cancellable IN (0, 1)"},
	{"reward", `id='x', referral_id=null, denied=2`, "CHECK constraint failed: denied IN (0, 1)"},
	{"reward", `id='x', referral_id=null, pending=2`, "CHECK constraint failed: pending IN (0, 1)"},
	{"reward", `id='x', referral_id=null, redeemed=-1`, "CHECK constraint failed: redeemed >= 0"},
	{"reward", `id='x', referral_id=null, expired=-1`, "CHECK constraint failed: expired >= 0"},
	{"reward", `id='x', referral_id=null, cancelled=-1`, "CHECK constraint failed: cancelled >= 0"},
	{"reward", `id='x', referral_id=null, redeemed=11`, "CHECK constraint failed: redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''"},
	{"reward", `id='x', referral_id=null, redeemed=4, expired=4, cancelled=3, expires_at=1, cancelled_at=1`, "CHECK constraint failed: redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''"},
	{"reward", `id='x', referral_id=null, redeemed=4, reversed=7`, "CHECK constraint failed: redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''"},
	{"reward", `id='x', referral_id=null, redeemed=4, settled=7`, "CHECK constraint failed: redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''"},
	{"reward", `id='x', referral_id=null, redeemed=4, reversed=7, order_key='o', kind='PCT_DISCOUNT', unit='%'`, "CHECK constraint failed: redeemed + expired + cancelled + reversed + settled <= value OR kind = 'CREDIT' AND order_key <> ''"},
	{"reward", `id='x', referral_id=null, reversed=-1`, "CHECK constraint failed: reversed >= 0"},
	{"reward", `id='x', referral_id=null, order_key='o', reversed=11`, "CHECK constraint failed: expired + cancelled + reversed <= value"},
	{"reward", `id='x', referral_id=null, order_key='o', expired=4, cancelled=4, reversed=3, expires_at=1, cancelled_at=1`, "CHECK constraint failed: expired + cancelled + reversed <= value"},
	{"reward", `id='x', referral_id=null, unsettled=2`, "CHECK constraint failed: unsettled IN (0, 1)"},
	{"reward", `id='x', referral_id=null, refunded=11`, "CHECK constraint failed: refunded BETWEEN 0 AND value"},
	{"reward", `id='x', referral_id=null, refunded=-1`, "CHECK constraint failed: refunded BETWEEN 0 AND value"},
	{"reward", `id='x', referral_id=null, settled=1, kind='PCT_DISCOUNT', unit='%'`, "CHECK constraint failed: settled = 0 OR kind = 'CREDIT'"},
	{"reward", `id='x', referral_id=null, redeemed=2, settled=-3`, "CHECK constraint failed: settled >= -redeemed"},
	{"reward", `id='x', referral_id=null, unit='%'`, "CHECK constraint failed: (kind = 'PCT_DISCOUNT') = (unit = '%') OR kind = 'FUELTANK'"},
	{"reward", `id='x', referral_id=null, kind='PCT_DISCOUNT'`, "CHECK constraint failed: (kind = 'PCT_DISCOUNT') = (unit = '%') OR kind = 'FUELTANK'"},
	{"reward", `id='x', referral_id=null, kind='PCT_DISCOUNT', unit='%', value=10001`, "CHECK constraint failed: kind <> 'PCT_DISCOUNT' OR value <= 10000"},
	{"reward", `id='x', referral_id=null, kind='FUELTANK'`, "CHECK constraint failed: (kind = 'FUELTANK') = (fuel_tank_code IS NOT NULL)"},
	{"reward", `id='x', referral_id=null, fuel_tank_code='C', fuel_tank_type='CREDIT'`, "CHECK constraint failed: (kind = 'FUELTANK') = (fuel_tank_code IS NOT NULL)"},
	{"reward", `id='x', referral_id=null, kind='FUELTANK', fuel_tank_code='C'`, "CHECK constraint failed: (fuel_tank_code IS NULL) = (fuel_tank_type IS NULL)"},
	{"reward", `id='x', referral_id=null, given_at=null`, "CHECK constraint failed: given_at IS NOT NULL OR held = 1"},
	{"reward", `id='x', referral_id=null, blocked_since=1`, "CHECK constraint failed: blocked_since IS NULL OR pending = 1 OR cancelled_at IS NOT NULL"},
	{"reward", `id='x', referral_id=null, held=1`, "CHECK constraint failed: held = 0 OR pending = 1"},
	{"reward", `id='x', referral_id=null, held=2`, "CHECK constraint failed: held IN (0, 1)"},
	{"reward", `id='x', referral_id=null, cancelled=1`, "CHECK constraint failed: cancelled = 0 OR cancelled_at IS NOT NULL"},
	{"reward", `id='x', referral_id=null, expired=1`, "CHECK constraint failed: expired = 0 OR expires_at IS NOT NULL"},

	{"reward_ledger", `reward_id='x'`, "UNIQUE constraint failed: reward_ledger.tenant, reward_ledger.id"},
	{"reward_ledger", `id='x'`, "UNIQUE constraint failed: index 'reward_ledger_of'"},
	{"reward_ledger", `id='x', action='refund', amount=-1`, "CHECK constraint failed: action IN ('grant', 'hold', 'release', 'redeem', 'expire', 'cancel', 'restore', 'reverse', 'adjust', 'settle')"},
	{"reward_ledger", `id='x', reward_id='x', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='hold'`, ledgerSigns},
	{"reward_ledger", `id='x', action='release'`, ledgerSigns},
	{"reward_ledger", `id='x', action='redeem'`, ledgerSigns},
	{"reward_ledger", `id='x', action='expire', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='cancel', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='reverse', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='adjust', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='settle', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', action='restore', amount=0`, ledgerSigns},
	{"reward_ledger", `id='x', reward_id='x', idempotency_key='k'`, "CHECK constraint failed: idempotency_key IS NULL OR action = 'redeem'"},

	{"decision", `rule='x'`, "UNIQUE constraint failed: decision.tenant, decision.id"},
	{"decision", `id='x'`, "UNIQUE constraint failed: decision.tenant, decision.account_id, decision.user_id, decision.code, decision.source, decision.rule"},
	{"decision", `id='x', rule='x', accepted=2`, "CHECK constraint failed: accepted IN (0, 1)"},
	{"decision", `id='x', rule='x', inputs='[]'`, "CHECK constraint failed: json_type(inputs) = 'object'"},
	{"decision", `id='x', rule='x', times=0`, "CHECK constraint failed: times > 0"},

	{"intake", `events='{}'`, "CHECK constraint failed: json_type(events) = 'array'"},
	{"intake", `events='[1-2]'`, "malformed JSON"},
	{"intake_cursor", `one=1, seq=0`, "UNIQUE constraint failed: intake_cursor.one"},
	{"intake_cursor", `one=2, seq=0`, "CHECK constraint failed: one = 1"},
	{"worker_process", `beat=-1`, "CHECK constraint failed: beat >= 0"},
	{"worker_process", ``, "UNIQUE constraint failed: worker_process.id"},
	{"heartbeat", `one=1, beat_at=0`, "UNIQUE constraint failed: heartbeat.one"},
	{"heartbeat", `one=2, beat_at=0`, "CHECK constraint failed: one = 1"},
	{"backup_schedule", `one=1, made_at=0, retry_at=0`, "UNIQUE constraint failed: backup_schedule.one"},
	{"backup_schedule", `one=2, made_at=0, retry_at=0`, "CHECK constraint failed: one = 1"},
	{"readiness", `one=1, checked_at=0`, "UNIQUE constraint failed: readiness.one"},
	{"readiness", `one=2, checked_at=0`, "CHECK constraint failed: one = 1"},
	{"master_key", `one=1, fingerprint=''`, "UNIQUE constraint failed: master_key.one"},
	{"master_key", `one=2, fingerprint=''`, "CHECK constraint failed: one = 1"},

	{"event", ``, "UNIQUE constraint failed: event.tenant, event.id"},

	{"analytics", ``, "UNIQUE constraint failed: analytics.tenant, analytics.day, analytics.kind, analytics.account_id, analytics.user_id, " +
		"analytics.program, analytics.code, analytics.engagement_medium, analytics.share_medium"},
	{"analytics", `day=1, tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"analytics", `kind='x'`, "CHECK constraint failed: kind IN ('visited', 'loaded', 'shared')"},
	{"analytics", `day=1, times=0`, "CHECK constraint failed: times > 0"},
	{"user_range", ``, "UNIQUE constraint failed: user_range.tenant, user_range.account_id, user_range.id"},
	{"visit_day", ``, "UNIQUE constraint failed: visit_day.tenant, visit_day.day, visit_day.program, visit_day.engagement_medium, visit_day.share_medium"},
	{"referral_day", ``, "UNIQUE constraint failed: referral_day.tenant, referral_day.day, referral_day.program, referral_day.share_medium"},
	{"reward_day", ``, "UNIQUE constraint failed: reward_day.tenant, reward_day.day, reward_day.program, reward_day.share_medium, reward_day.unit, reward_day.currency"},
	{"visit", ``, "UNIQUE constraint failed: visit.tenant, visit.day, visit.program, visit.code, visit.engagement_medium, visit.share_medium"},
	{"visit", `day=1, tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"visit", `day=1, visits=-1`, "CHECK constraint failed: visits >= 0"},
	{"visit", `day=1, bot_visits=-1`, "CHECK constraint failed: bot_visits >= 0"},
	{"visit", `day=1, agent_visits=-1`, "CHECK constraint failed: agent_visits >= 0"},
	{"visit_batch", ``, "UNIQUE constraint failed: visit_batch.tenant, visit_batch.id"},
	{"visit_batch", `id='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"visit_batch", `id='x', visits='{}'`, "CHECK constraint failed: json_type(visits) = 'array'"},
	{"tenant_origin", ``, "UNIQUE constraint failed: tenant_origin.tenant, tenant_origin.origin"},
	{"tenant_origin", `origin='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},

	{"widget", ``, "UNIQUE constraint failed: widget.tenant, widget.program, widget.key"},
	{"widget", `key='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"widget", `key='x', options='[]'`, "CHECK constraint failed: options = '' OR json_type(options) = 'object'"},
	{"widget", `key='x', branding='1'`, "CHECK constraint failed: branding = '' OR json_type(branding) = 'object'"},
	{"widget", `key='x', widget_values='null'`, "CHECK constraint failed: widget_values = '' OR json_type(widget_values) = 'object'"},

	{"webhook_subscription", ``, "UNIQUE constraint failed: webhook_subscription.tenant, webhook_subscription.url"},
	{"webhook_subscription", `url='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"webhook_subscription", `url='x', types='{}'`, "CHECK constraint failed: json_type(types) = 'array'"},
	{"webhook_subscription", `url='x', old_secret='s'`, "CHECK constraint failed: (old_secret IS NULL) = (old_until IS NULL)"},
	{"webhook_subscription", `url='x', old_until=1`, "CHECK constraint failed: (old_secret IS NULL) = (old_until IS NULL)"},
	{"webhook_event", ``, "UNIQUE constraint failed: webhook_event.tenant, webhook_event.id"},
	{"webhook_event", `id='s', sequence=-1`, "CHECK constraint failed: sequence >= 0"},
	{"webhook_event", `id='x', erased=2`, "CHECK constraint failed: erased IN (0, 1)"},
	{"webhook_counter", `latest=0`, "CHECK constraint failed: latest > 0"},
	{"webhook_counter", ``, "UNIQUE constraint failed: webhook_counter.tenant"},
	{"webhook_event", `id='x', data='{'`, "CHECK constraint failed: json_valid(data)"},

	{"webhook_delivery", ``, "UNIQUE constraint failed: webhook_delivery.tenant, webhook_delivery.url, webhook_delivery.event_id"},
	{"webhook_delivery", `url='nobody'`, "FOREIGN KEY constraint failed"},
	{"webhook_delivery", `event_id='x'`, "FOREIGN KEY constraint failed"},
	{"webhook_delivery", `event_id='x', state='lost'`, "CHECK constraint failed: state IN ('waiting', 'sending', 'delivered', 'failed')"},
	{"webhook_delivery", `event_id='x', attempt=-1`, "CHECK constraint failed: attempt >= 0"},
	{"webhook_delivery", `event_id='x', tries=-1`, "CHECK constraint failed: tries BETWEEN 0 AND attempt"},
	{"webhook_delivery", `event_id='x', tries=2`, "CHECK constraint failed: tries BETWEEN 0 AND attempt"},
	{"webhook_delivery", `event_id='x', due_at=null`, "CHECK constraint failed: (state IN ('waiting', 'sending')) = (due_at IS NOT NULL)"},
	{"webhook_delivery", `event_id='x', state='failed'`, "CHECK constraint failed: (state IN ('waiting', 'sending')) = (due_at IS NOT NULL)"},
	{"webhook_delivery", `event_id='x', ended_at=1`, "CHECK constraint failed: (due_at IS NULL) = (ended_at IS NOT NULL)"},
	{"webhook_attempt", ``, "UNIQUE constraint failed: webhook_attempt.tenant, webhook_attempt.url, webhook_attempt.event_id, webhook_attempt.number"},
	{"webhook_attempt", `event_id='x'`, "FOREIGN KEY constraint failed"},
	{"webhook_attempt", `number=0`, "CHECK constraint failed: number > 0"},
	{"webhook_attempt", `number=2, duration=-1`, "CHECK constraint failed: duration >= 0"},
	{"webhook_attempt", `number=2, status=-1`, "CHECK constraint failed: status BETWEEN 0 AND 999"},
	{"webhook_attempt", `number=2, status=1000`, "CHECK constraint failed: status BETWEEN 0 AND 999"},
	{"webhook_attempt", `number=2, status=0`, "CHECK constraint failed: (status = 0) = (error <> '')"},
	{"webhook_attempt", `number=2, error='e'`, "CHECK constraint failed: (status = 0) = (error <> '')"},
	{"webhook_key", ``, "UNIQUE constraint failed: webhook_key.id"},
	{"webhook_allowed", ``, "UNIQUE constraint failed: webhook_allowed.tenant, webhook_allowed.prefix"},
	{"webhook_allowed", `tenant='unknown'`, "FOREIGN KEY constraint failed"},

	{"file", ``, "UNIQUE constraint failed: file.tenant, file.ref"},
	{"file", `ref='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"file", `ref='x', size=-1`, "CHECK constraint failed: size >= 0"},
	{"job", ``, "UNIQUE constraint failed: job.tenant, job.id"},
	{"job", `id='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"job", `id='x', format='PDF'`, "CHECK constraint failed: format IN ('CSV', 'XLSX')"},
	{"job", `id='x', params='[]'`, "CHECK constraint failed: json_type(params) = 'object'"},
	{"job", `id='x', status='RUNNING'`, "CHECK constraint failed: status IN ('PENDING', 'COMPLETED', 'ABORTED')"},
	{"import_columns", ``, "UNIQUE constraint failed: import_columns.tenant, import_columns.type, import_columns.header"},
	{"import_columns", `type='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"import_columns", `type='x', header='short'`, "CHECK constraint failed: length(header) = 64"},
	{"import_columns", `type='x', columns='[]'`, "CHECK constraint failed: json_type(columns) = 'object'"},
	{"job", `id='x', position=-1`, "CHECK constraint failed: position >= 0"},
	{"job_part", ``, "UNIQUE constraint failed: job_part.tenant, job_part.job_id, job_part.seq"},
	{"job_part", `job_id='x'`, "FOREIGN KEY constraint failed"},
	{"job", `id='x', processed=-1`, "CHECK constraint failed: processed >= 0"},
	{"job", `id='x', processed=1, errors=2`, "CHECK constraint failed: errors BETWEEN 0 AND processed"},
	{"job", `id='x', attempt=-1`, "CHECK constraint failed: attempt >= 0"},
	{"job", `id='x', tries=1`, "CHECK constraint failed: tries BETWEEN 0 AND attempt"},
	{"job", `id='x', total=-1`, "CHECK constraint failed: total >= 0"},
	{"job", `id='x', file_row=-1`, "CHECK constraint failed: file_row >= 0"},
	{"job", `id='x', idle=-1`, "CHECK constraint failed: idle >= 0"},
	{"job", `id='x', status='COMPLETED'`, "CHECK constraint failed: (status = 'PENDING') = (completed_at IS NULL)"},
	{"job", `id='x', status='COMPLETED', completed_at=1`, "CHECK constraint failed: (completed_at IS NULL) = (expires_at IS NULL)"},
	{"job", `id='x', status='ABORTED', completed_at=1, expires_at=1`, "CHECK constraint failed: status <> 'ABORTED' OR message <> ''"},
	{"person", `email='x@y'`, "UNIQUE constraint failed: person.id"},
	{"person", `id='x', email='x@y', password='', proven_at=null`, "CHECK constraint failed: proven_at IS NOT NULL OR password <> ''"},
	{"person", `id='x', email='X@y'`, "CHECK constraint failed: email = lower(email)"},
	{"person", `id='x', email='x@y', password='secret'`, "CHECK constraint failed: password = '' OR password GLOB '$argon2id$*'"},
	{"person", `id='x', email='x@y', totp_on=2, totp='s'`, "CHECK constraint failed: totp_on IN (0, 1)"},
	{"person", `id='x', email='x@y', totp_on=1`, "CHECK constraint failed: totp_on = 0 OR totp <> ''"},
	{"person_identity", ``, "UNIQUE constraint failed: person_identity.issuer, person_identity.subject"},
	{"person_identity", `subject='x', person='unknown'`, "FOREIGN KEY constraint failed"},
	{"person_recovery", ``, "UNIQUE constraint failed: person_recovery.person, person_recovery.hash"},
	{"person_recovery", `person='unknown'`, "FOREIGN KEY constraint failed"},
	{"person_session", `id='x'`, "UNIQUE constraint failed: person_session.hash"},
	{"person_session", `hash='x'`, "UNIQUE constraint failed: person_session.id"},
	{"person_session", `hash='x', id='x', person='unknown'`, "FOREIGN KEY constraint failed"},
	{"failed_sign_in", ``, "UNIQUE constraint failed: failed_sign_in.address"},
	{"failed_sign_in", `address='x', times=0`, "CHECK constraint failed: times > 0"},
	{"person_session", `hash='x', id='x', failed=-1`, "CHECK constraint failed: failed >= 0"},
	{"person_session", `hash='x', id='x', stage='out'`, "CHECK constraint failed: stage IN ('code', 'in')"},
	{"person_reset", `hash='x'`, "UNIQUE constraint failed: person_reset.person"},
	{"person_reset", `person='x'`, "UNIQUE constraint failed: person_reset.hash"},
	{"person_reset", `person='unknown', hash='x'`, "FOREIGN KEY constraint failed"},
	{"membership", ``, "UNIQUE constraint failed: membership.tenant, membership.person"},
	{"membership", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"membership", `person='x', role='admin'`, "CHECK constraint failed: role IN ('owner', 'manager', 'support', 'viewer')"},
	{"invitation", `hash='x', email='x@y'`, "UNIQUE constraint failed: invitation.tenant, invitation.id"},
	{"invitation", `id='x', hash='x'`, "UNIQUE constraint failed: invitation.tenant, invitation.email"},
	{"invitation", `id='x', email='x@y'`, "UNIQUE constraint failed: invitation.hash"},
	{"invitation", `id='x', email='x@y', hash='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"invitation", `id='x', email='X@y', hash='x'`, "CHECK constraint failed: email = lower(email)"},
	{"invitation", `id='x', email='x@y', hash='x', role='admin'`, "CHECK constraint failed: role IN ('owner', 'manager', 'support', 'viewer')"},
	{"audit_entry", `tenant='unknown'`, "FOREIGN KEY constraint failed"},
	{"audit_entry", `was='[]'`, "CHECK constraint failed: was = '' OR json_type(was) = 'object'"},
	{"audit_entry", `became='[]'`, "CHECK constraint failed: became = '' OR json_type(became) = 'object'"},
	{"sftp_key", ``, "UNIQUE constraint failed: sftp_key.tenant, sftp_key.fingerprint"},
	{"sftp_key", `fingerprint='x', tenant='unknown'`, "FOREIGN KEY constraint failed"},
}

func TestSchema_RejectsBadRows(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		db := b.raw(t)
		// Other tests write to the same database, and without the store no one
		// retries.
		exec := func(statement string) error {
			for {
				_, err := db.ExecContext(t.Context(), statement)
				if err == nil || !strings.Contains(err.Error(), "database is locked") {
					return err
				}
			}
		}
		require.NoError(t, exec(`DELETE FROM edge_edit WHERE tenant = '`+string(b.tenant)+`'`)) // which the tenant has
		rows := map[string]string{}
		for _, good := range goodRows {
			rows[good.table] = good.values
			require.NoError(t, exec(b.insert(good.table, good.values, "")), good.table)
		}
		require.NoError(t, exec(b.insert("account", rows["account"], `id='c', payment_provider_id=null`)))
		require.NoError(t, exec(b.insert("fuel_tank", rows["fuel_tank"], `code='taken', reward_id='taken'`)))
		for _, bad := range badRows {
			statement := b.insert(bad.table, rows[bad.table], bad.change)
			require.ErrorContains(t, exec(statement), bad.refusal, statement)
		}
	})
}

// Every constraint of the migrated schema is violated by at least one of badRows.
func TestSchema_EveryConstraintIsTried(t *testing.T) {
	t.Parallel()
	tried := ""
	for _, bad := range badRows {
		tried += bad.refusal + "\n"
	}
	uniques := map[string]int{}
	for _, made := range schema(t) {
		for _, check := range checks(made.sql) {
			require.Contains(t, tried, "CHECK constraint failed: "+check+"\n", made.table)
		}
		uniques[made.table] += strings.Count(made.sql, "UNIQUE") + strings.Count(made.sql, " PRIMARY KEY")
		uniques[made.table] -= strings.Count(made.sql, "AUTOINCREMENT") // the database generates the key
	}
	for table, n := range uniques {
		refused := map[string]bool{}
		for _, bad := range badRows {
			if bad.table == table && strings.HasPrefix(bad.refusal, "UNIQUE constraint failed: ") {
				refused[bad.refusal] = true
			}
		}
		require.Len(t, refused, n, table)
	}
}

type made struct{ table, sql string }

// schema returns the statements that make the tables and indexes of a migrated
// database.
func schema(t *testing.T) []made {
	t.Helper()
	rows, err := onFile(t).raw(t).QueryContext(t.Context(),
		`SELECT tbl_name, sql FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL
			AND tbl_name NOT LIKE 'sqlite_%' AND tbl_name <> 'schema_version' AND tbl_name NOT LIKE 'user_index%'
			AND name <> 'webhook_key_current' -- shared by all tests on the server; see TestWebhookKey_OneSigns`)
	require.NoError(t, err)
	defer rows.Close()
	var all []made
	for rows.Next() {
		var one made
		require.NoError(t, rows.Scan(&one.table, &one.sql))
		all = append(all, one)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, all)
	return all
}

// checks returns the conditions of a table's CHECK constraints.
func checks(sql string) (all []string) {
	for _, rest := range strings.Split(sql, "CHECK (")[1:] {
		depth := 1
		for i, c := range rest {
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				all = append(all, rest[:i])
				break
			}
		}
	}
	return all
}

// insert returns the statement that inserts a row with some of its values changed.
func (b bundle) insert(table, values, change string) string {
	pair := regexp.MustCompile(`(\w+)=('[^']*'|[^,\s]+)`)
	row := map[string]string{}
	for _, text := range []string{values, change} {
		for _, p := range pair.FindAllStringSubmatch(text, -1) {
			row[p[1]] = strings.ReplaceAll(p[2], "$T", string(b.tenant))
		}
	}
	var columns, literals []string
	for column, literal := range row {
		columns, literals = append(columns, column), append(literals, literal)
	}
	return `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Join(literals, ", ") + `)`
}
