package app_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/users"
	"kith/backend/app/webhooks"
	"kith/backend/store"
	"kith/backend/store/peopledb"
	"kith/backend/store/tabledb"
	"kith/core"
	"kith/core/analytics"
	"kith/core/event"
	"kith/core/job"
	"kith/core/link"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/webhook"
)

// Personal texts in the database of a test are recognized by marker, those that are ids of
// the user or the account by markerID, which begins with it, and addresses by markerIP.
const (
	marker   = "qzmark"
	markerID = "qzmarkid-"
	markerIP = "192.0.2.77"
)

// What is stored about users is erased with them, in each column of each table, unless
// tabledb.PersonalData says that the column is kept: also what the rows of another user have.
func TestDeleteUser_LeavesWhatIsDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		order [2]string
		// id begins the ids of the accounts: one that stays keeps its id.
		id    string
		erase func(b bundle, account core.AccountID) error
	}{
		{"the referrer first", [2]string{"anna", "ben"}, markerID, func(b bundle, account core.AccountID) error {
			return b.Erasures.DeleteUser(t.Context(), b.tenant, account, markerID+"user", users.DeleteOptions{DoNotTrack: true})
		}},
		{"the friend first", [2]string{"ben", "anna"}, markerID, func(b bundle, account core.AccountID) error {
			return b.Erasures.DeleteAccount(t.Context(), b.tenant, account, true)
		}},
		{"the accounts stay", [2]string{"anna", "ben"}, "account-", func(b bundle, account core.AccountID) error {
			return b.Erasures.DeleteUser(t.Context(), b.tenant, account, markerID+"user", users.DeleteOptions{PreserveEmptyAccount: true})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.live(t, core.AccountID(c.id+"anna"), core.AccountID(c.id+"ben"))
			if c.id == markerID {
				b.requireMarked(t)
			}
			require.NoError(t, c.erase(b, core.AccountID(c.id+c.order[0])))
			b.requireErased(t, marker+`(|-|first|id-)`+c.order[0])
			require.NoError(t, c.erase(b, core.AccountID(c.id+c.order[1])))
			b.requireErased(t, marker+`|`+regexp.QuoteMeta(markerIP))
		})
	}
}

// requireMarked fails the test if no row has personal data in a column that is erased.
func (b bundle) requireMarked(t testing.TB) {
	t.Helper()
	var missed []string
	marked := b.marked(t)
	for table, p := range tabledb.PersonalData {
		for column := range strings.FieldsSeq(p.Erased) {
			if name := table + "." + column; marked[name] == nil && !slices.Contains(unmarked, column) && !slices.Contains(unmarked, name) {
				missed = append(missed, name)
			}
		}
	}
	require.Empty(t, missed, "the test stores no personal data there")
}

// requireErased fails the test if a column that is not kept has a text that a pattern
// matches. Webhook events may have ids.
func (b bundle) requireErased(t testing.TB, pattern string) {
	t.Helper()
	personal, ids := regexp.MustCompile(`(?i)`+pattern), regexp.MustCompile(markerID+`\w+`)
	for column, texts := range b.marked(t) {
		table, name, _ := strings.Cut(column, ".")
		kept := slices.ContainsFunc(tabledb.PersonalData[table].Kept, func(k tabledb.Kept) bool { return slices.Contains(strings.Fields(k.Columns), name) })
		for _, text := range texts {
			if column == "webhook_event.data" {
				require.NotRegexp(t, personal, ids.ReplaceAllString(text, ""))
			} else if !kept {
				require.NotRegexp(t, personal, text, column)
			}
		}
	}
}

// unmarked are columns that are erased and have no text that a caller chooses: in all tables,
// or in one.
var unmarked = strings.Fields(`program source rule accepted kind day engagement_medium share_medium times first_at last_at created_at updated_at placed_at
	triggered_at received_at processed_at trusted link_only linked_at digest recorded_event problem tries due_at leased_by referable us_tax_form_at
	blocked_at blocked_rewards block_due referral_id moderated decision.id event.id user_range.account_id user_range.id`)

// marked returns the texts with personal data in the database, by TABLE.COLUMN.
func (b bundle) marked(t testing.TB) map[string][]string {
	t.Helper()
	tables, err := b.DB.Reads.QueryContext(t.Context(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`)
	names, err := store.Collect(tables, err, "tables", func(rows *sql.Rows, name *string) error { return rows.Scan(name) })
	require.NoError(t, err)
	require.NotEmpty(t, names)
	found := map[string][]string{}
	for _, name := range names {
		rows, err := b.DB.Reads.QueryContext(t.Context(), `SELECT * FROM "`+name+`"`)
		require.NoError(t, err)
		columns, err := rows.Columns()
		require.NoError(t, err)
		_, err = store.Collect(rows, nil, "rows", func(rows *sql.Rows, _ *struct{}) error {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			err := rows.Scan(values...)
			for i, v := range values {
				text := fmt.Sprintf("%s", *v.(*any))
				if strings.Contains(strings.ToLower(text), marker) || strings.Contains(text, markerIP) {
					found[name+"."+columns[i]] = append(found[name+"."+columns[i]], text)
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	return found
}

// live stores all that Kith can store about two users of these accounts, of whom anna has
// referred ben: by calls where that is short, otherwise as rows.
func (b bundle) live(t testing.TB, anna, ben core.AccountID) {
	t.Helper()
	const user = core.UserID(markerID + "user")
	text := func(s string) *string { s = marker + s; return &s }
	who := func(account core.AccountID, name string) func(*rules.Identification) {
		return func(in *rules.Identification) {
			customer := core.PaymentProviderID("customer-of-" + account)
			in.Update = referral.UserUpdate{
				Account: account, ID: user, FirstName: text("first" + name), LastName: text("last"), Email: text(name + "@mail.example"), ImageURL: text("image"),
				Segments: []string{marker}, CustomFields: []referral.CustomField{{Name: "pet", Value: `"qzmark"`}}, PaymentProviderID: &customer,
				Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: core.ReferralCode("QZMARK-" + name)}}, Claims: in.Update.Claims,
			}
			in.IP, in.Share = markerIP, link.Share{Origin: "https://go.example", Tenant: b.tenant}
		}
	}
	b.shop(t)
	b.subscribe(t, hook)
	b.identify(t, "", who(anna, "anna"))
	byAnna := claim(referral.SourceInit, "QZMARK-anna")
	b.identify(t, "", byAnna, who(ben, "ben"))
	b.identify(t, "", byAnna, who(ben, "ben"))
	b.identify(t, "other", byAnna, claim(referral.SourceBody, "QZMARK-ben"))
	for _, f := range []analytics.Event{{Kind: analytics.Visited, Code: "QZMARK-anna"}, {Kind: analytics.Loaded, Account: anna, User: user}} {
		require.NoError(t, b.Analytics.Count(t.Context(), b.tenant, f))
	}
	require.NoError(t, b.Analytics.Flush(t.Context()))
	log := func(account core.AccountID, key core.IdempotencyKey, name, fields string) error {
		_, err := b.Events.Log(t.Context(), b.keyHolder(t), event.Call{
			Account: account, User: user, Key: key, Events: []event.Event{{Key: name, Fields: fields, Triggered: b.Now()}},
		})
		return err
	}
	require.NoError(t, log(ben, markerID+"key", "purchase", `{"order_id":"qzmarkorder","revenue":"qzmark","currency":"USD"}`))
	require.NoError(t, log(ben, "", "purchase", `{"order_id":"qzmarkorder2","revenue":50,"currency":"USD"}`))
	require.NoError(t, log(ben, "", "refund", `{"order_id":"qzmarkorder2","refund_id":"qzmarkrefund","revenue":"qzmark","currency":"USD"}`))
	require.NoError(t, log(ben, "", marker, `{}`))
	require.ErrorContains(t, log(ben, markerID+"key", marker, `{"order_id":"qzmark"}`), "key")
	b.process(t)
	b.reward(t, points("", 9, func(g *reward.Grant) { g.Account, g.User, g.Offer.Name = anna, user, marker }))
	require.NoError(t, second(b.Redemptions.Draw(t.Context(), b.tenant, reward.Draw{Account: anna, User: user, Unit: "POINT", Amount: 1, Key: markerID + "redemption"})))
	b.reward(t, reward.Grant{Account: anna, User: user, Source: reward.Manual, Offer: reward.Offer{
		Kind: reward.Integration, Unit: "CENTS", Amount: 5, Description: marker, Settings: `{"to":"qzmark"}`,
	}})
	b.imported(t, job.ImportUser, "users.csv", "accountId,id,email\n"+string(anna)+",qzmarkid-user,qzmark\n", "{}")
	b.create(t, b.jobInput(job.User, "{}"))
	for i, s := range b.begin(t) {
		if i%2 == 0 {
			made := webhook.Attempt{Number: s.Number, Started: b.Now(), Status: 200, Answer: marker}
			require.NoError(t, second(b.Deliveries.End(t.Context(), []webhooks.Sent{{Sending: s, Attempt: made}})))
		}
	}
	require.NoError(t, b.DB.Write(t.Context(), b.Now(), func(tx *store.Tx) error {
		for _, account := range []core.AccountID{anna, ben} {
			entry := people.Entry{
				Actor: "member@shop.example", Action: operation.BlockUser.Action, Subject: marker, Before: `{"a":"qzmark"}`, After: `{"a":"qzmark"}`, Account: account, User: user,
			}
			if err := peopledb.Audit(t.Context(), tx, b.tenant, entry); err != nil {
				return err
			}
			for _, row := range markedRows {
				if err := tx.Exec(t.Context(), "row", row, string(b.tenant), string(account), string(user)); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// markedRows store what is about the user ?3 of the account ?2.
var markedRows = []string{
	`UPDATE user SET locale = 'qzmark', country_code = 'qzmark', cookie_id = 'qzmark' WHERE tenant = ?1 AND account_id = ?2 AND id = ?3`,
	`UPDATE referral SET share_link = 'https://go.example/QZMARK-anna' WHERE tenant = ?1 AND referrer_account_id = ?2 AND referrer_user_id = ?3`,
	`INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits)
		SELECT ?1, 0, 'classic', code, '', '', 1, 0 FROM code WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3`,
	`INSERT INTO kept_answer (tenant, key, digest, account_id, user_id, answer, at) VALUES (?1, 'qzmark-' || ?2, 'd', ?2, ?3, '{"a":"qzmark"}', 1)`,
	`INSERT INTO order_replay (tenant, program, account_id, user_id, placed_at, referral_id, order_key, moderated) VALUES (?1, 'classic', ?2, ?3, 1, '', 'qzmark', '')`,
	`INSERT INTO gateway_subscription (tenant, id, customer_id, account_id, user_id, code, status, in_trial, paid, wanted, folded, problem, attempt, tries, created_at)
		VALUES (?1, 'qzmark-s-' || ?2, 'qzmark-c-' || ?2, ?2, ?3, 'QZMARK-anna', 'Active', 0, 1, 0, 0, '', 0, 0, 1)`,
	// The customer of another user uses a code.
	`INSERT INTO gateway_subscription (tenant, id, customer_id, account_id, user_id, code, status, in_trial, paid, wanted, folded, problem, attempt, tries, created_at)
		SELECT ?1, 's-' || ?2, 'c', 'other', 'u', code, 'Active', 0, 1, 0, 0, '', 0, 0, 1 FROM code WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3`,
	`INSERT INTO gateway_coupon (tenant, customer_id, code, problem, tries, due_at)
		SELECT ?1, 'c-' || ?2, code, '', 0, null FROM code WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3`,
	`INSERT INTO gateway_coupon (tenant, customer_id, code, problem, tries, due_at) SELECT ?1, payment_provider_id, 'ANNA10', '', 0, 1 FROM account WHERE tenant = ?1 AND id = ?2`,
	`INSERT INTO gateway_promotion (tenant, code) SELECT ?1, code FROM code WHERE tenant = ?1 AND account_id = ?2 AND user_id = ?3`,
	`INSERT INTO gateway_payment (tenant, id, subscription_id, account_id, user_id, created_at) VALUES (?1, 'qzmark-p-' || ?2, 'qzmark-s', ?2, ?3, 1)`,
	`INSERT INTO gateway_bill (tenant, transaction_id, subscription_id, account_id, amount, discount, credit, first, seen_at)
		SELECT ?1, 'qzmark-b-' || ?2, 'qzmark-s', ?2, 1, 0, 0, 0, 1 WHERE ?3 <> ''`,
	`INSERT INTO gateway_refund (tenant, transaction_id, account_id, subscription_id, amount, currency, state, key_number, refund_id, problem, created_at)
		SELECT ?1, 'qzmark-b-' || ?2, ?2, 'qzmark-s', 1, 'USD', 'waiting', 1, '', '', 1 WHERE ?3 <> ''`,
	`INSERT INTO gateway_credit (tenant, id, account_id, customer_id, subscription_id, amount, currency, state, created_at)
		SELECT ?1, hex(?2), ?2, 'qzmark-c', 'qzmark-s', 1, 'USD', 'waiting', 1 WHERE ?3 <> ''`,
	`INSERT INTO gateway_notification (tenant, hash, payload, kind, problem, received_at)
		SELECT ?1, substr(hex(?2) || '` + strings.Repeat("0", 64) + `', 1, 64), 'qzmark', '', '', 1 WHERE ?3 <> ''`,
}
