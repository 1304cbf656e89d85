package store

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kith/backend/store/sqldtest"
)

// steps are migrations of a test: a table, a column of it, and another one.
var steps = map[string]string{
	"0007_things.sql": "-- Things.\nCREATE TABLE thing (id INTEGER) STRICT;\nINSERT INTO thing VALUES (1);\n",
	"0008_name.sql":   "ALTER TABLE thing ADD COLUMN name TEXT NOT NULL DEFAULT '';\nUPDATE thing SET name = 'first'",
	"0010_size.sql":   "ALTER TABLE thing ADD COLUMN size INTEGER NOT NULL DEFAULT 3;\n",
}

// stepsOf returns the migrations of steps, of which some are changed.
func stepsOf(t *testing.T, changed map[string]string) []migration {
	t.Helper()
	files := fstest.MapFS{}
	for _, set := range []map[string]string{steps, changed} {
		for name, script := range set {
			files["migration/"+name] = &fstest.MapFile{Data: []byte(script)}
		}
	}
	all, err := readMigrations(files)
	require.NoError(t, err)
	return all
}

// onNew runs a test on a new database on a server, and on one in a file.
func onNew(t *testing.T, test func(*testing.T, *Primary)) {
	t.Parallel()
	for name, url := range map[string]string{
		"server": sqldtest.Start(t).PrimaryURL(),
		"file":   "file:" + filepath.Join(t.TempDir(), "new.db"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Open(url, "")
			require.NoError(t, err)
			t.Cleanup(func() { _ = p.Close() })
			test(t, p)
		})
	}
}

func text(t *testing.T, p *Primary, query string) (text string) {
	t.Helper()
	require.NoError(t, p.read.QueryRowContext(t.Context(), query).Scan(&text))
	return text
}

const ran = `SELECT group_concat(version || ' at ' || applied_at, ', ') FROM (SELECT * FROM schema_version ORDER BY version)`

// unchecked allows each migration.
func unchecked(context.Context, *Tx) error { return nil }

// An older schema gets the migrations that it lacks, and no other.
func TestMigrateBy_ContinuesAfterTheLastApplied(t *testing.T) {
	onNew(t, func(t *testing.T, p *Primary) {
		all := stepsOf(t, nil)
		older, err := migrationsOf(all, []int{7, 8})
		require.NoError(t, err)
		require.NoError(t, p.migrateBy(t.Context(), 1, older, unchecked))
		require.Equal(t, "7 at 1, 8 at 1", text(t, p, ran))
		_, err = p.write.ExecContext(t.Context(), `UPDATE thing SET name = 'changed'`)
		require.NoError(t, err)
		require.NoError(t, p.migrateBy(t.Context(), 2, all, unchecked))
		require.NoError(t, p.migrateBy(t.Context(), 3, all, unchecked))
		require.Equal(t, "7 at 1, 8 at 1, 10 at 2", text(t, p, ran))
		require.Equal(t, "1 changed 3", text(t, p, `SELECT id || ' ' || name || ' ' || size FROM thing`))
	})
}

// A migration that fails is rolled back, and those before it stay: the next start
// continues after them.
func TestMigrateBy_FailsHalfWay(t *testing.T) {
	onNew(t, func(t *testing.T, p *Primary) {
		broken := stepsOf(t, map[string]string{"0008_name.sql": steps["0008_name.sql"] + ";\nINSERT INTO nowhere VALUES (1);\n"})
		for range 2 {
			require.ErrorContains(t, p.migrateBy(t.Context(), 1, broken, unchecked), "store: migration 0008_name.sql: ")
			require.Equal(t, "7 at 1", text(t, p, ran))
			require.Equal(t, "id", text(t, p, `SELECT group_concat(name) FROM pragma_table_info('thing')`))
		}
		require.NoError(t, p.migrateBy(t.Context(), 2, stepsOf(t, nil), unchecked))
		require.Equal(t, "7 at 1, 8 at 2, 10 at 2", text(t, p, ran))
	})
}

func TestReadMigrations_NeedsANumber(t *testing.T) {
	t.Parallel()
	_, err := readMigrations(fstest.MapFS{"migration/things.sql": {Data: []byte(`SELECT 1`)}})
	require.ErrorContains(t, err, "things.sql: its name does not begin with a number")
}

// A backup is restored with the migrations that made its tables, if this program
// has all of them.
func TestMigrationsOf(t *testing.T) {
	t.Parallel()
	all := stepsOf(t, nil)
	for _, versions := range [][]int{{7}, {7, 8}, {7, 8, 10}} {
		of, err := migrationsOf(all, versions)
		require.NoError(t, err)
		require.Equal(t, all[:len(versions)], of)
	}
	for wrong, versions := range map[string][]int{
		"the backup has schema 11 and this version of kith knows 10":                                                           {7, 8, 10, 11},
		"the backup has schema 10 and this version of kith knows 10":                                                           {7, 8, 9, 10},
		"the backup was made by an unreleased version of kith (schema 8), which this version cannot read: make a new database": {6, 7, 8},
	} {
		_, err := migrationsOf(all, versions)
		require.ErrorContains(t, err, wrong)
	}
}

// A database made before the first release is refused and not changed.
func TestMigrate_RefusesAnUnreleasedSchema(t *testing.T) {
	onNew(t, func(t *testing.T, p *Primary) {
		all := stepsOf(t, nil)
		require.NoError(t, p.CheckReleased(t.Context()), "a new database")
		require.NoError(t, p.migrateBy(t.Context(), 1, all, unchecked))
		before := text(t, p, `SELECT group_concat(sql) FROM sqlite_schema`)
		const why = "the database was made by an unreleased version of kith (schema 10), which this version cannot read: make a new database"
		require.EqualError(t, p.Migrate(t.Context(), 2), why)
		require.EqualError(t, p.CheckReleased(t.Context()), why)
		require.Equal(t, before, text(t, p, `SELECT group_concat(sql) FROM sqlite_schema`))
	})
}

// The numbers start after 0160: versions that were never released had 0001 to 0160.
func TestMigrations_StartAfterTheUnreleased(t *testing.T) {
	t.Parallel()
	all, err := knownMigrations()
	require.NoError(t, err)
	require.Equal(t, "0200_schema.sql", all[0].name)
	require.Equal(t, all[len(all)-1].version, SchemaVersion())
	for _, m := range all {
		// A semicolon at the end of a line ends a statement, so no comment may end
		// with one.
		for line := range strings.Lines(m.script) {
			_, comment, _ := strings.Cut(line, "--")
			require.False(t, strings.HasSuffix(comment, ";\n"), line)
		}
	}
}

// Schema 240 copies rewards and their ledger without a change, and the numbers of the
// ledger continue after the last one that was used, even if its row is gone.
func TestMigrations_KeepRewardsAndTheirLedger(t *testing.T) {
	onNew(t, func(t *testing.T, p *Primary) {
		require.NoError(t, p.MigrateTo(t.Context(), 1, []int{200}, unchecked))
		for _, statement := range []string{
			`INSERT INTO reward (tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id, source, kind, unit,
				value, currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at, scheduled_at, given_at,
				held, expires_at, cancelled_at, pending, redeemed, expired, cancelled, denied)
			VALUES ('t', 'w1', 'a', 'u', 'p', 'k', 'g', 'r', 'REFERRED', 'CREDIT', 'CENTS', 10, 'USD', 'n', 'd', NULL, NULL, '{}', 1, 5, 6, 7, 0, 8, 9, 0, 1, 2, 3, 1),
				('t', 'w2', 'a', 'u', NULL, '', '', NULL, 'MANUAL', 'FUELTANK', 'CENTS', 10, '', '', '', 'C', 'CREDIT', NULL, 0, 5, NULL, NULL, 1, NULL, NULL, 1, 0, 0, 0, 0)`,
			`INSERT INTO reward_ledger (seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at)
			VALUES (3, 't', 'l1', 'w1', 'grant', 10, 'CENTS', NULL, 5), (7, 't', 'l2', 'w1', 'redeem', -1, 'CENTS', 'k', 6), (9, 'gone', 'l3', 'w3', 'grant', 1, 'CENTS', NULL, 6)`,
			`DELETE FROM reward_ledger WHERE tenant = 'gone'`,
		} {
			_, err := p.write.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		const rewards = `SELECT json_group_array(json_array(tenant, id, account_id, user_id, program, program_reward_key, global_reward_key, referral_id,
			source, kind, unit, value, currency, name, description, fuel_tank_code, fuel_tank_type, settings, cancellable, created_at, scheduled_at,
			given_at, held, expires_at, cancelled_at, pending, redeemed, expired, cancelled, denied)) FROM (SELECT * FROM reward ORDER BY id)`
		const ledger = `SELECT json_group_array(json_array(seq, tenant, id, reward_id, action, amount, unit, idempotency_key, at)) FROM (SELECT * FROM reward_ledger ORDER BY seq)`
		before := text(t, p, rewards) + text(t, p, ledger)
		require.Contains(t, before, `"w2"`)
		require.NoError(t, p.MigrateTo(t.Context(), 2, nil, unchecked))
		require.Equal(t, before, text(t, p, rewards)+text(t, p, ledger))
		require.Equal(t, `["","",0,0,0,0,0,0]`, text(t, p, `SELECT json_group_array(value) FROM (
			SELECT order_key AS value FROM reward UNION ALL SELECT refunded FROM reward UNION ALL SELECT reversed FROM reward UNION ALL SELECT settled FROM reward)`))
		_, err := p.write.ExecContext(t.Context(), `INSERT INTO reward_ledger (tenant, id, reward_id, action, amount, unit, at) VALUES ('t', 'l4', 'w1', 'settle', -1, 'CENTS', 7)`)
		require.NoError(t, err)
		require.Equal(t, "10", text(t, p, `SELECT max(seq) FROM reward_ledger`))
		_, err = p.write.ExecContext(t.Context(), `UPDATE reward_ledger SET amount = 5`)
		require.ErrorContains(t, err, "the ledger is only ever added to")
	})
}

// Schema 452 takes the password that was set before the address was proven away, and ends
// the sessions; other people keep both.
func TestMigrations_ProveAddresses(t *testing.T) {
	onNew(t, func(t *testing.T, p *Primary) {
		all, err := knownMigrations()
		require.NoError(t, err)
		before := all[:slices.IndexFunc(all, func(m migration) bool { return m.version == 452 })]
		require.NoError(t, p.migrateBy(t.Context(), 1, before, unchecked))
		require.NoError(t, p.WriteWithoutForeignKeys(t.Context(), 1, func(tx *Tx) error {
			for _, statement := range []string{
				`INSERT INTO person (id, email, name, password, password_at, totp, totp_on, created_at) VALUES
				('stolen', 'a@x', 'A', '$argon2id$1', 5, 's', 1, 1), ('later', 'b@x', 'B', '$argon2id$2', 9, '', 0, 1), ('local', 'c@x', 'C', '$argon2id$3', 5, '', 0, 1)`,
				`INSERT INTO person_identity (issuer, subject, person, created_at) VALUES ('i', '1', 'stolen', 7), ('i', '2', 'later', 7), ('j', '2', 'later', 8)`,
				`INSERT INTO person_session (hash, id, person, stage, created_at, seen_at, confirmed_at, ip, agent)
				SELECT id, id, id, 'in', 1, 1, 1, '', '' FROM person`,
				`INSERT INTO person_recovery (person, hash) SELECT id, 'h' FROM person`,
				`INSERT INTO membership (tenant, person, role, created_at) SELECT 'shop', id, 'owner', 1 FROM person`,
				`INSERT INTO audit_entry (tenant, at, person, actor, ip, action, subject, was, became, account_id, user_id) VALUES
				('shop', 1, 'local', 'c@x', '', 'member.joined', 'c@x', '', '{"role":"owner","invitedBy":"API key k"}', '', '')`,
			} {
				if _, err := tx.q.ExecContext(t.Context(), statement); err != nil {
					return err
				}
			}
			return nil
		}))
		require.NoError(t, p.MigrateTo(t.Context(), 2, nil, unchecked))
		require.Equal(t, `[["later","$argon2id$2",7],["local","$argon2id$3",null],["stolen","",7]]`,
			text(t, p, `SELECT json_group_array(json_array(id, password, proven_at)) FROM (SELECT * FROM person ORDER BY id)`))
		require.Equal(t, `["later","local"]`, text(t, p, `SELECT json_group_array(person) FROM (SELECT person FROM person_session ORDER BY person)`))
		require.Equal(t, `["later","local","stolen"]`, text(t, p, `SELECT json_group_array(person) FROM (SELECT person FROM person_recovery ORDER BY person)`))
		require.Equal(t, `[["later",""],["local","API key k"],["stolen",""]]`, text(t, p, `SELECT json_group_array(json_array(person, invited_by)) FROM (SELECT * FROM membership ORDER BY person)`))
		_, err = p.write.ExecContext(t.Context(), `DELETE FROM person WHERE id = 'local'`)
		require.NoError(t, err)
		require.Equal(t, `["later"]`, text(t, p, `SELECT json_group_array(person) FROM person_session`), "its rows are removed with a person")
	})
}
