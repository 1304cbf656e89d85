package store_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A row of every table, each of which refers to those above it. $T stands for
// the test's tenant.
var goodRows = []struct{ table, values string }{
	{"tenant", `alias='$T2', key_hash='$T2', key_sealed='s', discount_id='d', consent='off', consent_cookie='', created_at=1`},
	{"site", `host='$T.example', tenant='$T'`},
	{"program", `tenant='$T', key='p', name='', landing_url='', allowed_hosts='[]', cookie_life=1,
		referred_kind='', referred_percent=0, referred_amount=0, referred_currency='',
		referrer_kind='', referrer_percent=0, referrer_amount=0, referrer_currency='', created_at=1`},
	{"account", `tenant='$T', id='a', currency='USD', status='TRIAL', billing_interval='', billing_value=0, value='',
		payment_provider_id='pp', first_paid_at=null, identified=0, created_at=1, updated_at=1`},
	{"user", `tenant='$T', account_id='a', id='u', first_name='', last_name='', email='', image_url='', locale='',
		country_code='', referable=1, custom_fields='{}', segments='[]', created_at=1, updated_at=1`},
	{"code", `tenant='$T', code='CODE', program='p', account_id='a', user_id='u', created_at=1`},
	{"referral", `tenant='$T', id='r', program='p', state='in-progress', code='CODE', referrer_account_id='b',
		referrer_user_id='u', referred_account_id='a', referred_user_id=null, share_medium='', started_at=1,
		converted_at=null, ended_at=null`},
	{"reward", `tenant='$T', id='w', account_id='a', user_id='u', program='p', referral_id='r', source='REFERRED',
		kind='CREDIT', percent=0, amount=10, currency='USD', redeemed=0, created_at=1, cancelled_at=null`},
	{"decision", `tenant='$T', id='d', account_id='a', user_id='u', code='', source='', rule='', accepted=0,
		inputs='{}', times=1, first_at=1, last_at=1`},
	{"intake", `tenant='$T', account_id='a', user_id='u', idempotency_key=null, events='[]', received_at=1`},
	{"event", `tenant='$T', id='e', account_id='a', user_id='u', key='k', fields='{}', triggered_at=1, received_at=1, processed_at=1`},
}

// Rows that the schema refuses: what is changed of the good row, and the
// constraint that says no.
var badRows = []struct{ table, change, refusal string }{
	{"tenant", `alias='$T', key_hash='other'`, "UNIQUE constraint failed: tenant.alias"},
	{"tenant", `alias='other'`, "UNIQUE constraint failed: tenant.key_hash"},
	{"tenant", `alias='x', key_hash='x', consent='maybe', consent_cookie='c'`, "CHECK constraint failed: consent IN ('off', 'opt-in', 'opt-out')"},
	{"tenant", `alias='x', key_hash='x', consent='opt-in'`, "CHECK constraint failed: consent = 'off' OR consent_cookie <> ''"},
	{"tenant", `alias='x', key_hash='x', consent='opt-out'`, "CHECK constraint failed: consent = 'off' OR consent_cookie <> ''"},
	{"tenant", `alias='x', key_hash='x', created_at='then'`, "cannot store TEXT value in INTEGER column tenant.created_at"},

	{"site", `host='$T.EXAMPLE'`, "UNIQUE constraint failed: site.host"},
	{"site", `host='x', tenant='nobody'`, "FOREIGN KEY constraint failed"},

	{"program", ``, "UNIQUE constraint failed: program.tenant, program.key"},
	{"program", `key='x', tenant='nobody'`, "FOREIGN KEY constraint failed"},
	{"program", `key='x', allowed_hosts='{}'`, "CHECK constraint failed: json_type(allowed_hosts) = 'array'"},
	{"program", `key='x', allowed_hosts='['`, "malformed JSON"},
	{"program", `key='x', cookie_life=0`, "CHECK constraint failed: cookie_life > 0"},
	{"program", `key='x', referred_kind='FUELTANK'`, "CHECK constraint failed: referred_kind IN ('', 'PCT_DISCOUNT', 'CREDIT')"},
	{"program", `key='x', referred_percent=-1`, "CHECK constraint failed: referred_percent BETWEEN 0 AND 10000"},
	{"program", `key='x', referred_percent=10001`, "CHECK constraint failed: referred_percent BETWEEN 0 AND 10000"},
	{"program", `key='x', referred_amount=-1`, "CHECK constraint failed: referred_amount >= 0"},
	{"program", `key='x', referrer_kind='FUELTANK'`, "CHECK constraint failed: referrer_kind IN ('', 'PCT_DISCOUNT', 'CREDIT')"},
	{"program", `key='x', referrer_percent=-1`, "CHECK constraint failed: referrer_percent BETWEEN 0 AND 10000"},
	{"program", `key='x', referrer_percent=10001`, "CHECK constraint failed: referrer_percent BETWEEN 0 AND 10000"},
	{"program", `key='x', referrer_amount=-1`, "CHECK constraint failed: referrer_amount >= 0"},

	{"account", `payment_provider_id=null`, "UNIQUE constraint failed: account.tenant, account.id"},
	{"account", `id='x'`, "UNIQUE constraint failed: account.tenant, account.payment_provider_id"},
	{"account", `id='x', payment_provider_id=null, tenant='nobody'`, "FOREIGN KEY constraint failed"},
	{"account", `id='x', payment_provider_id=null, status='paid'`, "CHECK constraint failed: status IN ('TRIAL', 'PAID', 'FREE', 'CANCELLED')"},
	{"account", `id='x', payment_provider_id=null, identified=2`, "CHECK constraint failed: identified IN (0, 1)"},

	{"user", ``, "UNIQUE constraint failed: user.tenant, user.account_id, user.id"},
	{"user", `account_id='nobody'`, "FOREIGN KEY constraint failed"},
	{"user", `id='x', referable=2`, "CHECK constraint failed: referable IN (0, 1)"},
	{"user", `id='x', custom_fields='[]'`, "CHECK constraint failed: json_type(custom_fields) = 'object'"},
	{"user", `id='x', segments='{}'`, "CHECK constraint failed: json_type(segments) = 'array'"},

	{"code", `code='code'`, "UNIQUE constraint failed: code.tenant, code.code"},
	{"code", `code='x', program='nobody'`, "FOREIGN KEY constraint failed"},
	{"code", `code='x', user_id='nobody'`, "FOREIGN KEY constraint failed"},

	{"referral", `referred_account_id='c'`, "UNIQUE constraint failed: referral.tenant, referral.id"},
	{"referral", `id='x'`, "UNIQUE constraint failed: referral.tenant, referral.referred_account_id"},
	{"referral", `id='x', referred_account_id='nobody'`, "FOREIGN KEY constraint failed"},
	{"referral", `id='x', referred_account_id='c', state='none'`, "CHECK constraint failed: state IN ('in-progress', 'converted')"},
	{"referral", `id='x', referred_account_id='c', converted_at=1`, "CHECK constraint failed: (state = 'converted') = (converted_at IS NOT NULL)"},
	{"referral", `id='x', referred_account_id='c', state='converted', referred_user_id='u'`, "CHECK constraint failed: (state = 'converted') = (converted_at IS NOT NULL)"},
	{"referral", `id='x', referred_account_id='c', state='converted', converted_at=1`, "CHECK constraint failed: state <> 'converted' OR referred_user_id IS NOT NULL"},

	{"reward", `source='FRIEND_SIGNUP'`, "UNIQUE constraint failed: reward.tenant, reward.id"},
	{"reward", `id='x'`, "UNIQUE constraint failed: reward.tenant, reward.referral_id, reward.source"},
	{"reward", `id='x', source='MANUAL'`, "CHECK constraint failed: source IN ('FRIEND_SIGNUP', 'REFERRED')"},
	{"reward", `id='x', referral_id='x', kind=''`, "CHECK constraint failed: kind IN ('PCT_DISCOUNT', 'CREDIT')"},
	{"reward", `id='x', referral_id='x', percent=-1`, "CHECK constraint failed: percent BETWEEN 0 AND 10000"},
	{"reward", `id='x', referral_id='x', percent=10001`, "CHECK constraint failed: percent BETWEEN 0 AND 10000"},
	{"reward", `id='x', referral_id='x', amount=-1`, "CHECK constraint failed: amount >= 0"},
	{"reward", `id='x', referral_id='x', redeemed=11`, "CHECK constraint failed: redeemed BETWEEN 0 AND amount"},
	{"reward", `id='x', referral_id='x', redeemed=-1`, "CHECK constraint failed: redeemed BETWEEN 0 AND amount"},

	{"decision", `rule='x'`, "UNIQUE constraint failed: decision.tenant, decision.id"},
	{"decision", `id='x'`, "UNIQUE constraint failed: decision.tenant, decision.account_id, decision.user_id, decision.code, decision.source, decision.rule"},
	{"decision", `id='x', rule='x', accepted=2`, "CHECK constraint failed: accepted IN (0, 1)"},
	{"decision", `id='x', rule='x', inputs='[]'`, "CHECK constraint failed: json_type(inputs) = 'object'"},
	{"decision", `id='x', rule='x', times=0`, "CHECK constraint failed: times > 0"},

	{"intake", `events='{}'`, "CHECK constraint failed: json_type(events) = 'array'"},
	{"intake", `events='[1-2]'`, "malformed JSON"},
	{"intake_cursor", `one=1, seq=0`, "UNIQUE constraint failed: intake_cursor.one"},
	{"intake_cursor", `one=2, seq=0`, "CHECK constraint failed: one = 1"},

	{"event", ``, "UNIQUE constraint failed: event.tenant, event.id"},
}

func TestSchema_RefusesWhatBreaksARule(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		db := b.raw(t)
		rows := map[string]string{}
		for _, good := range goodRows {
			rows[good.table] = good.values
			_, err := db.ExecContext(t.Context(), b.insert(good.table, good.values, ""))
			require.NoError(t, err, good.table)
		}
		_, err := db.ExecContext(t.Context(), b.insert("account", rows["account"], `id='c', payment_provider_id=null`))
		require.NoError(t, err)
		for _, bad := range badRows {
			statement := b.insert(bad.table, rows[bad.table], bad.change)
			_, err := db.ExecContext(t.Context(), statement)
			require.ErrorContains(t, err, bad.refusal, statement)
		}
	})
}

// Every constraint of the migration is refused by at least one row above.
func TestSchema_EveryConstraintIsTried(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("migration/0001_ground.sql")
	require.NoError(t, err)
	tried := ""
	for _, bad := range badRows {
		tried += bad.refusal + "\n"
	}
	checks := regexp.MustCompile(`(?m)CHECK \((.*?)\),?( *--.*)?$`).FindAllStringSubmatch(string(script), -1)
	require.Len(t, checks, strings.Count(string(script), "CHECK ("))
	for _, check := range checks {
		require.Contains(t, tried, "CHECK constraint failed: "+check[1]+"\n")
	}
	for _, table := range regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`).FindAllStringSubmatch(string(script), -1) {
		uniques := strings.Count(table[2], "UNIQUE") + strings.Count(table[2], "PRIMARY KEY")
		if table[1] == "intake" {
			uniques-- // its key is drawn by the database
		}
		require.Equal(t, uniques, strings.Count(tried, "UNIQUE constraint failed: "+table[1]+"."), table[1])
	}
}

// insert is the statement that inserts a row with some of its values changed.
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
