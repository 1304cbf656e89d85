package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"kith/backend/api"
	"kith/backend/app"
	"kith/backend/app/base"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/core/auth"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
)

// unauditedOperations are the operations that write and have no entry in the audit log, by why they
// have none.
var unauditedOperations = map[string]string{
	"traffic of a shop": `syncAccount upsertUser createUser upsertCookieUser upsertUserInAccount applyCode logEvents receivePipeline
		redeemReward redeemCredit registerDiscount registerCoupon upsertWidget upsertCookieUserWidget inviteByMail countWidgetLoad
		countWidgetShare countVisit receiveGatewayNotification receiveStripeEvent createExport uploadFile`,
	"they change nothing":      "tryProgram testGatewayConnection testStripeConnection",
	"fields, not an operation": "runGraphql",
	"no page of the portal":    "updateWidget deleteWidget",
	"the gateway": `connectGateway disconnectGateway replayGatewayNotification tryGatewayOperations connectStripe disconnectStripe
		replayStripeNotification tryStripeOperations createPromotionCode`,
}

// Each operation that a member could do in the portal adds one entry to the audit log, in
// the transaction that makes the change: if the entry cannot be stored, the call fails and
// nothing changes. The entry names the API key and the address of the call, and no secret.
func TestAudit_EachOperationHasItsEntry(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	w.Identify(t, "anna", "anna", portaltest.Owns("ANNA10"))
	w.Identify(t, "ben", "ben")
	w.Identify(t, "carl", "carl")
	w.Identify(t, "dora", "dora")
	w.Add(t, "support@acme.example", people.Support)
	_, secret, err := w.Engine.APIKeys.Create(t.Context(), "acme", "till-1", auth.RoleAll, 0)
	require.NoError(t, err)
	h := (&api.API{Engine: w.Engine, Log: slog.New(slog.DiscardHandler)}).Handler()
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/api/v1/acme"+path, strings.NewReader(body))
		r.SetBasicAuth("", secret)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		return out
	}
	run := func(statement string) {
		require.NoError(t, w.Engine.DB.Write(t.Context(), w.Engine.Now(), func(tx *store.Tx) error {
			return tx.Exec(context.Background(), "test", statement)
		}))
	}
	const program = `"sharing":{"url":"https://acme.example/"},"rewards":{"referrer":{"type":"FUELTANK","fuelTankType":"CREDIT","amount":1000,"currency":"USD"},"referred":{"type":"PCT_DISCOUNT","discountPercent":15}}`
	hook := "/subscription/" + url.PathEscape("https://shop.example/hook")
	const sshKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl3qY6VtWJ1qlVB3TSiRLSoPxLaYTDGcP9XWJ3ZmV1x anna@shop"
	from := func(path, field string) string { return gjson.Get(send("GET", path, "").Body.String(), field).String() }
	var last string // the answer before
	steps := []struct {
		operation, method string
		path              func() string
		body              string
		action            people.Action
	}{
		{"createProgram", "POST", pathOf("/programs"), `{"id":"second",` + program + `}`, operation.CreateProgram.Action},
		{"updateProgram", "PUT", pathOf("/programs/second"), `{"name":"Second",` + program + `}`, operation.ChangeProgram.Action},
		{"fillFuelTank", "POST", pathOf("/programs/second/rewards/referrer/codes"), `{"codes":["GIFT-SECRET"]}`, operation.FillFuelTank.Action},
		{"deleteProgram", "DELETE", pathOf("/programs/second"), "", operation.DeleteProgram.Action},
		{"createKey", "POST", pathOf("/keys"), `{"name":"checkout","role":"events"}`, operation.CreateKey.Action},
		{"rotateKey", "POST", pathOf("/keys/checkout/rotate"), `{"overlap":"PT1H"}`, operation.RotateKey.Action},
		{"revokeKey", "DELETE", pathOf("/keys/checkout"), "", operation.RevokeKey.Action},
		{"createSftpKey", "POST", pathOf("/sftp/keys"), `{"key":"` + sshKey + `"}`, operation.AddSFTPKey.Action},
		{"deleteSftpKey", "DELETE", func() string { return "/sftp/keys/" + url.PathEscape(gjson.Get(last, "fingerprint").String()) }, "", operation.RemoveSFTPKey.Action},
		{"createSubscription", "POST", pathOf("/subscription"), `{"endpointUrl":"https://shop.example/hook","name":"Shop"}`, operation.SubscribeWebhook.Action},
		{"testSubscription", "POST", pathOf(hook + "/test"), "", operation.TestWebhook.Action},
		{"replayDeliveries", "POST", pathOf(hook + "/replay"), `{"since":1}`, operation.ReplayWebhook.Action},
		{"rotateSubscriptionSecret", "POST", pathOf(hook + "/secret"), "", operation.RotateWebhookSecret.Action},
		{"deleteSubscription", "DELETE", pathOf(hook), "", operation.UnsubscribeWebhook.Action},
		{"updateWebsite", "PUT", pathOf("/website"), `{"origins":["https://shop.example"],"consentCookie":"agreed"}`, operation.ChangeWebsite.Action},
		{"updatePipelineSettings", "PUT", pathOf("/integration/segment/settings"), `{"createUsers":true}`, operation.ChangePipeline.Action},
		{"rotatePipelineSecret", "POST", pathOf("/integration/segment/secret"), "", operation.RotatePipelineSecret.Action},
		{"deletePipelineSecret", "DELETE", pathOf("/integration/segment/secret"), "", operation.RemovePipelineSecret.Action},
		{"blockUser", "POST", pathOf("/account/anna/user/anna/block"), "", operation.BlockUser.Action},
		{"unblockUser", "POST", pathOf("/account/anna/user/anna/unblock"), "", operation.UnblockUser.Action},
		{"applyCodeByHand", "POST", pathOf("/account/ben/user/ben/referrer"), `{"code":"ANNA10","reason":"She called us"}`, operation.AttributeUser.Action},
		{"moderateReferrals", "POST", pathOf("/referrals/moderate"), `{"actions":[{"referralId":"REFERRAL","action":"DENIED"}]}`, operation.DenyReferral.Action},
		{"createReward", "POST", pathOf("/rewards/account/anna/user/anna"), `{"type":"CREDIT","unit":"CENTS","currency":"USD","assignedCredit":2000}`, operation.GrantReward.Action},
		{"cancelReward", "POST", func() string { return "/reward/" + gjson.Get(last, "id").String() + "/cancel" }, "", operation.CancelReward.Action},
		{"deleteUser", "DELETE", pathOf("/open/account/carl/user/carl"), "", operation.EraseUser.Action},
		{"deleteAccount", "DELETE", pathOf("/open/account/dora"), "", operation.EraseAccount.Action},
		{"inviteMember", "POST", pathOf("/members/invitations"), `{"email":"eve@acme.example","role":"viewer"}`, operation.InviteMember.Action},
		{"revokeInvitation", "DELETE", func() string { return "/members/invitations/" + gjson.Get(last, "id").String() }, "", operation.RevokeInvitation.Action},
		{"updateMember", "PUT", func() string { return "/members/" + from("/members", `members.#(role=="support").id`) }, `{"role":"viewer"}`, operation.ChangeMemberRole.Action},
		{"deleteMember", "DELETE", func() string { return "/members/" + from("/members", `members.#(role=="viewer").id`) }, "", operation.RemoveMember.Action},
	}
	listed := map[string]bool{}
	for _, s := range steps {
		require.False(t, listed[s.operation], s.operation)
		listed[s.operation] = true
		path, body := s.path(), s.body
		if strings.Contains(body, "REFERRAL") {
			made, _, err := w.Engine.Referrals.List(t.Context(), "acme", referral.Filter{Limit: 1})
			require.NoError(t, err)
			body = strings.Replace(body, "REFERRAL", made[0].ID, 1)
		}
		before := len(w.Audit(t, people.AuditFilter{}))
		run(`CREATE TRIGGER refuse BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		require.Equal(t, http.StatusInternalServerError, send(s.method, path, body).Code, "%s is done without its entry", s.operation)
		run(`DROP TRIGGER refuse`)
		out := send(s.method, path, body)
		last = out.Body.String()
		require.Less(t, out.Code, 300, "%s: %s", s.operation, last)
		all := w.Audit(t, people.AuditFilter{Actor: "API key till-1"})
		require.Len(t, w.Audit(t, people.AuditFilter{}), before+1, s.operation)
		require.NotEmpty(t, all, s.operation)
		require.Equal(t, []any{s.action, "API key till-1", "192.0.2.1"}, []any{all[0].Action, all[0].Actor, all[0].From}, s.operation)
		stored := all[0].Subject + all[0].Before + all[0].After
		for _, field := range []string{"key", "secret"} {
			if value := gjson.Get(last, field).String(); value != "" && s.action != operation.AddSFTPKey.Action {
				require.NotContains(t, stored, value, s.operation)
			}
		}
		require.NotContains(t, stored, "GIFT-SECRET")
	}
	for why, names := range unauditedOperations {
		for name := range strings.FieldsSeq(names) {
			require.False(t, listed[name], "%s: %s", name, why)
			listed[name] = true
		}
	}
	document := httptest.NewRecorder()
	h.ServeHTTP(document, httptest.NewRequest("GET", "/api/v1/openapi.json", nil))
	found := 0
	gjson.GetBytes(document.Body.Bytes(), "paths").ForEach(func(_, methods gjson.Result) bool {
		methods.ForEach(func(method, operation gjson.Result) bool {
			if id := operation.Get("operationId").String(); id != "" && method.String() != "get" {
				found++
				require.True(t, listed[id], "%s: add it to the steps, or to unauditedOperations with the reason", id)
			}
			return true
		})
		return true
	})
	require.Len(t, listed, found)
}

// pathOf returns a path that needs nothing of the answer before.
func pathOf(path string) func() string { return func() string { return path } }

// unauditedCommands are the commands that have no entry in the audit log, by why they have
// none.
var unauditedCommands = map[string]string{
	"they change nothing of a tenant": `dev|serve|edge|spin|sftp|master-key new|master-key rotate|database-key|doctor|health|backup|man|completion|version|gatewaylab|stripelab|sample|token|webhook rotate-key`,
	"they only read": `tenant list|tenant show|tenant origin list|tenant sftp-key list|program list|program show|program try|program orders|analytics series|
		analytics referrers|key list|person list|gateway show|gateway test`,
	"no page of the portal":                   "webhook allow|tenant export",
	"traffic of a shop":                       "import",
	"the log begins and ends with it":         "tenant create|tenant erase|restore",
	"entries of members, see package members": "person invite|person role|person remove|person reset-password",
	"the gateway":                             "gateway connect braintree|gateway connect stripe|gateway disconnect",
}

// Each command that a member could do in the portal adds one entry to the audit log, in the
// transaction that makes the change.
func TestAudit_EachCommandHasItsEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	requireKith(t, "tenant", "create", "acme", "--landing-url", "https://acme.example/", "--data", data)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	db, err := store.Open("file:"+filepath.Join(data, "kith.db"), "")
	require.NoError(t, err)
	defer db.Close()
	keys, err := auth.ParseKeyring(storyKey)
	require.NoError(t, err)
	engine := app.New(base.Base{DB: db, Keys: keys, Now: now, Entropy: random})
	entries := func() []people.Entry {
		all, _, err := engine.Audits.Page(t.Context(), people.OperatorOf("acme"), people.AuditFilter{Actor: people.Operator})
		require.NoError(t, err)
		return all
	}
	run := func(statement string) {
		require.NoError(t, db.Write(t.Context(), now(), func(tx *store.Tx) error { return tx.Exec(context.Background(), "test", statement) }))
	}
	sshKey := write("key.pub", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl3qY6VtWJ1qlVB3TSiRLSoPxLaYTDGcP9XWJ3ZmV1x anna@shop\n")
	fingerprint := func() string {
		return strings.Fields(requireKith(t, "tenant", "sftp-key", "list", "acme", "--data", data))[0]
	}
	steps := []struct {
		command string
		args    []string
		action  people.Action
	}{
		{"tenant set", []string{"acme", "--consent-cookie", "agreed"}, operation.ChangeTenant.Action},
		{"tenant origin add", []string{"acme", "https://blog.example"}, operation.AddOrigin.Action},
		{"tenant origin remove", []string{"acme", "https://blog.example"}, operation.RemoveOrigin.Action},
		{"tenant sftp-key add", []string{"acme", sshKey}, operation.AddSFTPKey.Action},
		{"tenant sftp-key remove", []string{"acme", "FINGERPRINT"}, operation.RemoveSFTPKey.Action},
		{"program apply", []string{"--tenant", "acme", write("second.json", `{"id":"second","sharing":{"url":"https://acme.example/"}}`)}, operation.CreateProgram.Action},
		{"program set", []string{"--tenant", "acme", "second", "name=Second"}, operation.ChangeProgram.Action},
		{"api", []string{"--tenant", "acme", "DELETE", "/programs/second"}, operation.DeleteProgram.Action},
		{"key create", []string{"acme", "--name", "checkout", "--role", "read"}, operation.CreateKey.Action},
		{"key rotate", []string{"acme", "checkout"}, operation.RotateKey.Action},
		{"key revoke", []string{"acme", "checkout"}, operation.RevokeKey.Action},
	}
	listed := map[string]bool{}
	for _, s := range steps {
		listed[s.command] = true
		args := slices.Concat(strings.Fields(s.command), s.args, []string{"--data", data})
		if i := slices.Index(args, "FINGERPRINT"); i >= 0 {
			args[i] = fingerprint()
		}
		before := len(entries())
		run(`CREATE TRIGGER refuse BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		_, says, status := runKith(t, args...)
		require.Equal(t, 1, status, s.command)
		require.Contains(t, says, "refused", s.command)
		run(`DROP TRIGGER refuse`)
		out := strings.TrimSpace(requireKith(t, args...))
		all := entries()
		require.Len(t, all, before+1, s.command)
		require.Equal(t, []any{s.action, people.Operator, ""}, []any{all[0].Action, all[0].Actor, all[0].From}, s.command)
		stored := all[0].Subject + all[0].Before + all[0].After
		if s.command == "key create" || s.command == "key rotate" {
			require.NotContains(t, stored, out, s.command)
		}
	}
	for why, names := range unauditedCommands {
		for name := range strings.SplitSeq(names, "|") {
			name = strings.Join(strings.Fields(name), " ")
			require.False(t, listed[name], "%s: %s", name, why)
			listed[name] = true
		}
	}
	parser, err := newParser(&cli{})
	require.NoError(t, err)
	leaves := parser.Model.Leaves(true)
	for _, leaf := range leaves {
		require.True(t, listed[leaf.Path()], "%s: add it to the steps, or to unauditedCommands with the reason", leaf.Path())
	}
	require.Len(t, listed, len(leaves))
}
