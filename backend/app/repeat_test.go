package app_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/store"
	"kith/backend/store/storetest"
	"kith/core"
	"kith/core/rules"
	"kith/core/wire"
)

// bundleWithRows returns a bundle that has its database alone, and the database behind it.
func bundleWithRows(t *testing.T) (bundle, *sql.DB) {
	t.Helper()
	path := storetest.File(t)
	db, err := store.Open(path, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Migrate(t.Context(), start))
	rows, err := sql.Open("libsql", path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rows.Close()) })
	return bundleOn(t, db), rows
}

// An identification that repeats the stored values changes no row except the account's
// time of change, and returns the stored user. Others often change a row.
func TestIdentify_RepeatStoresNothing(t *testing.T) {
	t.Parallel()
	b, rows := bundleWithRows(t)

	r := rand.New(rand.NewPCG(1, 2))
	every := everyRow(t, rows)
	repeats, changes, before := 0, 0, texts(t, rows, every)
	for range 120 {
		in := b.randomIdentification(t, r)
		stored, err := b.Users.ByID(t.Context(), b.tenant, in.Update.Account, in.Update.ID)
		repeat := err == nil && in.Visit.Cookie == "" && wire.Repeats(in.Update, stored, in.IP)
		b.pass(core.Second)
		done, err := b.Identification.Identify(t.Context(), b.tenant, in)
		after := texts(t, rows, every)
		if repeat {
			repeats++
			require.NoError(t, err)
			require.Equal(t, before, after, "%+v", in)
			require.Equal(t, string(wire.User(stored)), string(wire.User(done.UserInfo)))
		} else if !slices.Equal(before, after) {
			changes++
		}
		before = after
	}
	t.Log(repeats, "repeats,", changes, "changes")
	require.Greater(t, repeats, 8)
	require.Greater(t, changes, 20)
}

// everyRow returns a query that returns one text for each row of the database, with all
// columns except account.updated_at.
func everyRow(t *testing.T, db *sql.DB) string {
	t.Helper()
	var parts []string
	for _, table := range texts(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`) {
		columns := texts(t, db, `SELECT group_concat('quote("' || name || '")', ' || ''|'' || ') FROM pragma_table_info('`+table+`')
			WHERE '`+table+`' <> 'account' OR name <> 'updated_at'`)
		parts = append(parts, `SELECT '`+table+`: ' || `+columns[0]+` AS line FROM "`+table+`"`)
	}
	return strings.Join(parts, ` UNION ALL `) + ` ORDER BY line`
}

func texts(t *testing.T, db *sql.DB, query string) (out []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	require.NoError(t, rows.Err())
	return out
}

// randomIdentification returns an identification of one of a few users with one of a few
// values, so that calls often repeat earlier ones.
func (b bundle) randomIdentification(t *testing.T, r *rand.Rand) rules.Identification {
	t.Helper()
	pick := func(options ...string) string { return options[r.IntN(len(options))] }
	account, body := "a"+strconv.Itoa(r.IntN(5)), `{"firstName":"`+pick("Ann", "Ann", "Ann", "Bob")+`"`
	for _, part := range []string{
		`,"referralCodes":{"classic":"MINE` + account + `"}`, `,"referral_code":"` + pick("ANNA10", "bert20", "MINEa1", "NOBODY") + `"`,
		`,"paymentProviderId":"p` + account + pick("", "", "x") + `"`, `,"referable":` + pick("true", "true", "false"), `,"email":"` + pick("ann", "anna") + `@example.com"`,
		`,"referredBy":{"isConverted":true}`, `,"segments":["` + pick("x", "~x", "~*") + `"]`, `,"cookies":"` + pick("e30", "e30", "!") + `"`,
		`,"customFields":{"k":` + pick("1", "1", "null", `"t"`) + `,"l":2}`, `,"accountStatus":"` + pick("TRIAL", "PAID", "CANCELLED") + `"`,
		`,"dateUsTaxFormSubmitted":` + pick("1", "2"), `,"locale":"` + pick("en", "de") + `"`,
	} {
		if r.IntN(6) == 0 {
			body += part
		}
	}
	update, err := wire.ParseUser(b.tenant, core.AccountID(account), core.UserID("u"+pick("1", "2")), []byte(body+"}"))
	require.NoError(t, err, body)
	in := rules.Identification{Update: update}
	if r.IntN(2) == 0 {
		in.IP = pick("192.0.2.1", "192.0.2.1", "192.0.2.2", fmt.Sprintf("%050d", 1))
	}
	if r.IntN(20) == 0 {
		in.Visit.Cookie = b.signed("ANNA10")
	}
	return in
}
