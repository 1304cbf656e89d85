package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/base"
	"kith/backend/store/storetest"
	"kith/backend/store/tenantdb"
	"kith/core"
	"kith/core/auth"
	"kith/core/event"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/webhook"
)

// The export of a user has all rows that name the user, except attribution decisions of
// other users, and no other rows except the ledger of the user's rewards.
func TestUserExport_IsComplete(t *testing.T) {
	t.Parallel()
	g := &fixture{database: strings.TrimPrefix(storetest.File(t), "file:"), values: map[string]string{}}
	g.createTenant(t, "acme", "--landing-url", "https://acme.example/")
	engine := openStory(t, "file:"+g.database, new(storyClock))
	_, err := engine.Webhooks.Subscribe(t.Context(), "acme", webhook.Request{Endpoint: "https://hooks.example/"})
	require.NoError(t, err)
	mail := "zz-ben@mail.example"
	paid := referral.Paid
	for _, u := range []struct {
		id, code, claim string
		status          *referral.Status
	}{{"zz-anna", "zz-code-anna", "", nil}, {"zz-ben", "zz-code-ben", "zz-code-anna", &paid}, {"zz-carl", "zz-code-carl", "zz-code-ben", &paid}} {
		update := referral.UserUpdate{
			Account: core.AccountID(u.id), ID: core.UserID(u.id), Status: u.status,
			Codes: []referral.UserCode{{Program: core.ClassicProgram, Code: core.ReferralCode(u.code)}},
		}
		if u.id == "zz-ben" {
			update.Email = &mail
		}
		if u.claim != "" {
			update.Claims = []referral.Claim{{Code: core.ReferralCode(u.claim), Source: referral.SourceInit}}
		}
		_, err := engine.Identification.Identify(t.Context(), "acme", rules.Identification{Update: update})
		require.NoError(t, err)
		_, err = engine.Events.Log(t.Context(), base.Caller{Tenant: tenantdb.Tenant{Alias: "acme"}, Key: true, Role: auth.RoleAll}, event.Call{Account: update.Account, User: update.ID, Events: []event.Event{{Key: "visit"}}})
		require.NoError(t, err)
	}
	require.NoError(t, engine.DB.Close())

	url := "file:" + g.database
	out := requireKith(t, "api", "GET", "/account/zz-ben/user/zz-ben/export", "--tenant", "acme", "--database-url", url)
	var document struct {
		Tenant, Account, User string
		Time                  int64
		Tables                map[string][]json.RawMessage
	}
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(out)), out)
	require.NoError(t, json.Unmarshal(compact.Bytes(), &document), out)
	require.Equal(t, "acme zz-ben zz-ben", document.Tenant+" "+document.Account+" "+document.User)
	exported := map[string]bool{}
	for table, rows := range document.Tables {
		for _, row := range rows {
			exported[table+string(row)] = true
			require.True(t, table == "reward_ledger" || strings.Contains(string(row), "zz-ben"), "%s: %s", table, row)
		}
	}
	for table, rows := range dumped(t, url, "acme") {
		for _, row := range rows {
			ofAnother := table == "decision" && !strings.Contains(row, `"user_id":"zz-ben"`)
			if strings.Contains(row, "zz-ben") && !ofAnother {
				require.True(t, exported[table+readable.Replace(row)], "%s: %s", table, row)
			}
		}
	}
	for _, table := range []string{"account", "user", "code", "event", "referral", "reward", "reward_ledger", "decision", "webhook_event", "intake"} {
		if table != "event" { // no worker runs, which would store the events of the intake
			require.NotEmpty(t, document.Tables[table], table)
		}
	}
	_, errOut, status := runKith(t, "api", "GET", "/account/zz-ben/user/zz-anna/export", "--tenant", "acme", "--database-url", url)
	require.Equal(t, 1, status)
	require.Contains(t, errOut, "no such user")
}
