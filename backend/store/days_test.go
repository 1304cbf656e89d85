package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store/eventdb"
	"kith/core"
	"kith/core/analytics"
)

// days has, for each table of totals by day, what it must contain: the sums of the tables
// that it is derived from.
var days = map[string]string{
	"visit_day": `SELECT tenant, day, program, engagement_medium, share_medium, sum(visits), sum(bot_visits), sum(agent_visits) FROM visit GROUP BY 1, 2, 3, 4, 5`,
	"referral_day": `SELECT tenant, day, program, share_medium, sum(joined), sum(converted) FROM (
		SELECT tenant, started_at / 86400000 * 86400000 AS day, program, share_medium, 1 AS joined, 0 AS converted FROM referral
		UNION ALL SELECT tenant, converted_at / 86400000 * 86400000, program, share_medium, 0, 1 FROM referral WHERE converted_at IS NOT NULL) GROUP BY 1, 2, 3, 4`,
	"reward_day": `SELECT w.tenant, g.at / 86400000 * 86400000, coalesce(w.program, ''),
			coalesce((SELECT share_medium FROM referral f WHERE f.tenant = w.tenant AND f.id = w.referral_id), ''), w.unit, w.currency, sum(l.amount)
		FROM reward w JOIN reward_ledger g ON g.tenant = w.tenant AND g.reward_id = w.id AND g.action = 'grant'
			JOIN reward_ledger l ON l.tenant = w.tenant AND l.reward_id = w.id AND l.action IN ('grant', 'cancel', 'restore', 'reverse', 'adjust')
		WHERE w.unit <> '%' GROUP BY 1, 2, 3, 4, 5, 6`,
}

// Triggers keep the totals by day equal to what they are derived from, whatever is added,
// changed and removed.
func TestDays_AreTheSumsOfTheirTables(t *testing.T) {
	everywhere(t, func(t *testing.T, b bundle) {
		db, tenant := b.raw(t), string(b.tenant)
		random := rand.New(rand.NewPCG(7, 7))
		ids := 0
		pick := func(all ...string) string { return all[random.IntN(len(all))] }
		at := func() int64 { return int64(random.IntN(5))*int64(core.Day) + int64(random.IntN(int(core.Day))) }
		exec := func(statement string, args ...any) {
			t.Helper()
			// Tests on the same server write, too: a statement that waited too long for the lock
			// had no effect.
			_, err := db.ExecContext(t.Context(), statement, args...)
			for err != nil && strings.Contains(err.Error(), "database is locked") {
				_, err = db.ExecContext(t.Context(), statement, args...)
			}
			require.NoError(t, err, statement)
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO account (tenant, id, currency, status, billing_interval, billing_value, value, identified, created_at, updated_at)
			WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200) SELECT ?, 'a' || n, '', 'TRIAL', '', 0, '0', 1, 1, 1 FROM n`, tenant); err != nil {
			t.Fatal(err)
		}
		entry := func(reward string, action string, amount int) {
			ids++
			exec(`INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at) VALUES (?, ?, ?, ?, ?, 'CENTS', ?)`, tenant, fmt.Sprint("l", ids), reward, action, amount, at())
		}
		for i := range 200 {
			referral, reward := fmt.Sprint("f", i), fmt.Sprint("w", i)
			var converted any
			state := "in-progress"
			if random.IntN(3) == 0 {
				converted, state = at(), "converted"
			}
			exec(`INSERT INTO referral (tenant, id, program, state, code, referrer_account_id, referrer_user_id, referred_account_id, referred_user_id, share_medium, share_link,
					referrer_moderation, referrer_by_hand, referred_moderation, referred_by_hand, fraud_signals, started_at, converted_at, moderated_at, updated_at)
				VALUES (?, ?, ?, ?, 'C', 'r', 'r', ?, 'u', ?, '', 'APPROVED', 0, 'APPROVED', 0, '{}', ?, ?, 1, 1)`,
				tenant, referral, pick("p", "q"), state, fmt.Sprint("a", i+1), pick("EMAIL", "SMS"), at(), converted)
			unit, kind := "CENTS", "CREDIT"
			if random.IntN(8) == 0 {
				unit, kind = "%", "PCT_DISCOUNT"
			}
			var of, program any = referral, pick("p", "q")
			if random.IntN(4) == 0 {
				of, program = nil, nil
			}
			exec(`INSERT INTO reward (tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind, unit, value, currency,
					name, description, cancellable, created_at, given_at, held, pending, redeemed, expired, cancelled)
				VALUES (?, ?, 'r', 'r', ?, '', '', ?, 'MANUAL', ?, ?, 1000, ?, '', '', 1, 1, 1, 0, 0, 0, 0, 0)`, tenant, reward, program, of, kind, unit, pick("USD", "EUR"))
			if random.IntN(5) == 0 {
				entry(reward, "adjust", 7) // before the grant
			}
			if random.IntN(5) > 0 {
				entry(reward, "grant", 1000)
			}
			exec(`INSERT INTO visit (tenant, day, program, code, engagement_medium, share_medium, visits, bot_visits, agent_visits) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET visits = visits + excluded.visits, bot_visits = bot_visits + excluded.bot_visits, agent_visits = agent_visits + excluded.agent_visits`,
				tenant, int64(random.IntN(5))*int64(core.Day), pick("p", "q"), pick("A", "B", ""), pick("", "EMAIL"), pick("", "SMS"), random.IntN(9), random.IntN(9), random.IntN(9))

			other := fmt.Sprint(random.IntN(i + 1))
			switch random.IntN(10) {
			case 0:
				exec(`UPDATE referral SET state = 'converted', converted_at = ? WHERE tenant = ? AND id = 'f' || ?`, at(), tenant, other)
			case 1:
				exec(`UPDATE referral SET state = 'in-progress', converted_at = NULL WHERE tenant = ? AND id = 'f' || ?`, tenant, other)
			case 2:
				exec(`DELETE FROM referral WHERE tenant = ? AND id = 'f' || ? AND NOT EXISTS (SELECT 1 FROM reward WHERE tenant = ?1 AND referral_id = 'f' || ?2)`, tenant, other)
			case 3:
				exec(`UPDATE reward SET currency = ? WHERE tenant = ? AND id = 'w' || ?`, pick("USD", "EUR", "JPY"), tenant, other)
			case 5:
				unit := pick("CENTS", "POINTS", "%")
				kind := map[bool]string{true: "PCT_DISCOUNT", false: "CREDIT"}[unit == "%"]
				exec(`UPDATE reward SET unit = ?, kind = ?, currency = ? WHERE tenant = ? AND id = 'w' || ? AND settled = 0`, unit, kind, pick("USD", "EUR", ""), tenant, other)
			case 6:
				exec(`UPDATE referral SET program = ?, share_medium = ?, started_at = ? WHERE tenant = ? AND id = 'f' || ?`, pick("p", "q"), pick("EMAIL", "SMS"), at(), tenant, other)
			case 4:
				exec(`DELETE FROM visit WHERE tenant = ? AND code = ?`, tenant, pick("A", "B", ""))
			default:
				entry("w"+other, pick("cancel", "redeem", "expire", "reverse", "settle"), -1-random.IntN(50))
				entry("w"+other, "restore", 5)
			}
		}
		for table, sums := range days {
			var differ, rows int
			// A total of 0 may be stored or not.
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM (
				SELECT * FROM (SELECT * FROM `+table+` EXCEPT SELECT * FROM (`+sums+`))
				UNION ALL SELECT * FROM (SELECT * FROM (`+sums+`) EXCEPT SELECT * FROM `+table+`)) WHERE tenant = ?`, tenant).Scan(&differ))
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE tenant = ?`, tenant).Scan(&rows))
			zero := map[string]string{"visit_day": "visits + bot_visits + agent_visits", "referral_day": "joined + converted", "reward_day": "cost"}[table]
			var zeros int
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table+` WHERE tenant = ? AND `+zero+` = 0`, tenant).Scan(&zeros))
			require.LessOrEqual(t, differ, zeros, table)
			require.Greater(t, rows, 10, table)
		}
		// The figures of a code are read from the tables, those of all codes from the totals.
		p, err := analytics.NewPeriod(analytics.Daily, 1, 5*core.Day, 5*core.Day)
		require.NoError(t, err)
		for _, f := range []analytics.SeriesFilter{{}, {Program: "p"}, {ShareMedium: "EMAIL"}, {Program: "q", ShareMedium: "SMS"}} {
			all, err := eventdb.Series(t.Context(), b.db.Reads, b.tenant, p, f)
			require.NoError(t, err)
			f.Code = "C"
			ofCode, err := eventdb.Series(t.Context(), b.db.Reads, b.tenant, p, f)
			require.NoError(t, err)
			require.Equal(t, [2]int64{ofCode.Total().Joined, ofCode.Total().Converted}, [2]int64{all.Total().Joined, all.Total().Converted})
			require.Positive(t, all.Total().Joined)
			if f.ShareMedium != "" { // else the totals have rewards of no referral too
				require.Equal(t, ofCode.Total().CostIn("CENTS", "USD"), all.Total().CostIn("CENTS", "USD"))
			}
		}
	})
}
