package admin_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/app/admin"
	"kith/backend/app/payments"
	"kith/backend/app/tenants"
	"kith/backend/app/users"
	"kith/backend/portal/portaltest"
	"kith/backend/store"
	"kith/core"
	"kith/core/auth"
	"kith/core/billing"
	"kith/core/job"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/pipeline"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/webhook"
)

// reads are the use cases that change nothing, and have no entry in the audit log. A test of the
// gateway changes only when it was tested.
var reads = strings.Fields(`Programs.Versions Users.Profile Users.Stake Users.Ordered Files.Check Files.List Files.Job
	Webhooks.List Webhooks.Delivery Website.Read Gateway.Connection Gateway.SendTest`)

// Each use case by which a member changes something adds one entry to the audit log, in the
// transaction that makes the change: if the entry cannot be stored, nothing is.
func TestAudit_EachChangeHasItsEntry(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	ctx, a := t.Context(), &w.Engine.Admin
	owner := people.Caller{Person: "p1", Email: "owner@acme.example", Tenant: "acme", Role: people.Owner, From: "192.0.2.1", Confirmed: true}
	anna, ben := referral.Identity{Account: "anna", User: "anna"}, referral.Identity{Account: "ben", User: "ben"}
	w.Identify(t, "anna", "anna", portaltest.Owns("ANNA10"))
	w.Identify(t, "ben", "ben")
	require.NoError(t, w.Engine.Notifications.Add(ctx, "acme", billing.Braintree, "identity", "payload"))
	w.Engine.Gateways.Prepare = func(_ context.Context, _ core.TenantAlias, c billing.Connection, _ string) (billing.Connection, error) {
		c.MerchantID = "acct_1"
		return c, nil
	}
	w.Engine.Gateways.Tidy = func(context.Context, core.TenantAlias, billing.Connection, string, string) error { return nil }
	w.Identify(t, "carl", "carl")
	w.Identify(t, "dora", "dora")
	upload, err := w.Engine.Files.Upload(ctx, "acme", "users.csv", strings.NewReader("accountId,id,email\nx,x,wrong\n"))
	require.NoError(t, err)
	var imported job.Job
	var credit reward.Reward
	chosen := func() []admin.Chosen {
		made, _, err := w.Engine.Referrals.List(ctx, "acme", referral.Filter{Limit: 1})
		require.NoError(t, err)
		return []admin.Chosen{{ID: made[0].ID, Seen: made[0].Modified}}
	}
	const hook = webhook.Endpoint("https://shop.example/hook")
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKl3qY6VtWJ1qlVB3TSiRLSoPxLaYTDGcP9XWJ3ZmV1x anna@shop"
	second := referral.DefaultProgram("https://acme.example/")
	second.Key = "second"
	consent := "consent"
	inJob := func(t job.Type, file core.FileRef) job.Input {
		return job.Input{Type: t, File: file, Format: job.CSV, Params: "{}"}
	}
	large, err := w.Engine.Files.Upload(ctx, "acme", "more.csv", strings.NewReader("accountId,id\n"+strings.Repeat("y,y\n", 100_000)))
	require.NoError(t, err)
	waiting, err := w.Engine.Jobs.Create(ctx, "acme", inJob(job.ImportUser, large))
	require.NoError(t, err)
	steps := []struct {
		name string
		op   *operation.Operation
		do   func() error
	}{
		{"Programs.Create", operation.CreateProgram, func() error { _, err := a.Programs.Create(ctx, owner, second); return err }},
		{"Programs.Update", operation.ChangeProgram, func() error {
			_, err := a.Programs.Update(ctx, owner, "second", func(p *referral.Program) error {
				p.Referred = reward.Offer{Kind: reward.FuelTank, Amount: 1000, Currency: "USD"}
				return nil
			})
			return err
		}},
		{"Programs.Fill", operation.FillFuelTank, func() error {
			_, err := a.Programs.Fill(ctx, owner, "second", referral.ReferredSide, []string{"CODE1"})
			return err
		}},
		{"Programs.Delete", operation.DeleteProgram, func() error { return a.Programs.Delete(ctx, owner, "second") }},
		{"Users.Block", operation.BlockUser, func() error { return a.Users.Block(ctx, owner, anna, reward.BlockKeep, "why") }},
		{"Users.Unblock", operation.UnblockUser, func() error { return a.Users.Unblock(ctx, owner, anna, "why") }},
		{"Users.Attribute", operation.AttributeUser, func() error { _, err := a.Users.Attribute(ctx, owner, ben, "ANNA10", "why"); return err }},
		{"Users.AddReward", operation.GrantReward, func() (err error) {
			credit, err = a.Users.AddReward(ctx, owner, anna, admin.NewReward{ID: core.NewID(portaltest.Began, [6]byte{1}), Kind: reward.Credit, Amount: "5", Currency: "USD", Reason: "why"})
			return err
		}},
		{"Users.AddEvent", operation.AddEvent, func() error {
			return a.Users.AddEvent(ctx, owner, anna, admin.NewEvent{Once: "once-only", Key: "purchase", Revenue: "10", Currency: "USD", Order: "o1"})
		}},
		{"Referrals.Moderate", operation.DenyReferral, func() error { return a.Referrals.Moderate(ctx, owner, referral.Deny, "why", chosen()) }},
		{"Referrals.CancelReward", operation.CancelReward, func() error { return a.Referrals.CancelReward(ctx, owner, credit.ID, credit.Left(), "why") }},
		{"Referrals.Export", operation.ExportReferrals, func() error {
			_, err := a.Referrals.Export(ctx, owner, referral.Search{}, func(referral.Referral) error { return nil })
			return err
		}},
		{"Users.Export", operation.ExportUser, func() error { return a.Users.Export(ctx, owner, anna, io.Discard) }},
		{"Users.Erase", operation.EraseUser, func() error { return a.Users.Erase(ctx, owner, ben, "ben", false) }},
		{"Users.Grant", operation.GrantReward, func() error {
			_, err := a.Users.Grant(ctx, owner, reward.Grant{Account: "anna", User: "anna", Source: reward.Manual, Offer: reward.Offer{Kind: reward.Credit, Amount: 500, Unit: reward.UnitCents, Currency: "USD"}})
			return err
		}},
		{"Users.Delete", operation.EraseUser, func() error {
			return a.Users.Delete(ctx, owner, referral.Identity{Account: "carl", User: "carl"}, users.DeleteOptions{})
		}},
		{"Users.DeleteAccount", operation.EraseAccount, func() error { return a.Users.DeleteAccount(ctx, owner, "dora", false) }},
		{"Files.Import", operation.StartImport, func() (err error) {
			imported, err = a.Files.Import(ctx, owner, inJob(job.ImportUser, upload))
			return err
		}},
		{"Files.Download", operation.DownloadFile, func() error { _, err := a.Files.Download(ctx, owner, imported.ID, job.SourceFile); return err }},
		{"Files.WriteRejected", operation.DownloadFile, func() error { return a.Files.WriteRejected(ctx, owner, imported.ID, io.Discard) }},
		{"Files.Stop", operation.StopImport, func() error {
			require.NoError(t, a.Files.Stop(ctx, owner, imported.ID), "it has ended: no entry")
			return a.Files.Stop(ctx, owner, waiting.ID)
		}},
		{"Files.Remove", operation.RemoveJob, func() error { return a.Files.Remove(ctx, owner, imported.ID) }},
		{"Files.Export", operation.StartExport, func() error { _, err := a.Files.Export(ctx, owner, inJob(job.User, "")); return err }},
		{"SFTPKeys.Add", operation.AddSFTPKey, func() error { _, err := a.SFTPKeys.Add(ctx, owner, key); return err }},
		{"SFTPKeys.Remove", operation.RemoveSFTPKey, func() error {
			all, err := w.Engine.SFTPKeys.List(ctx, "acme")
			require.NoError(t, err)
			return a.SFTPKeys.Remove(ctx, owner, all[0].Fingerprint)
		}},
		{"APIKeys.Create", operation.CreateKey, func() error { _, _, err := a.APIKeys.Create(ctx, owner, "reports", auth.RoleRead, 0); return err }},
		{"APIKeys.Rotate", operation.RotateKey, func() error { _, _, err := a.APIKeys.Rotate(ctx, owner, "reports", core.Hour); return err }},
		{"APIKeys.Revoke", operation.RevokeKey, func() error { return a.APIKeys.Revoke(ctx, owner, "reports", false) }},
		{"Webhooks.Subscribe", operation.SubscribeWebhook, func() error {
			_, err := a.Webhooks.Subscribe(ctx, owner, webhook.Request{Endpoint: string(hook)})
			return err
		}},
		{"Webhooks.Test", operation.TestWebhook, func() error { _, err := a.Webhooks.Test(ctx, owner, hook); return err }},
		{"Webhooks.Replay", operation.ReplayWebhook, func() error {
			all, _, err := w.Engine.Deliveries.Page(ctx, webhook.Queue{Tenant: "acme", Endpoint: hook}, webhook.DeliveryFilter{})
			require.NoError(t, err)
			return a.Webhooks.Replay(ctx, owner, hook, all[0].Event)
		}},
		{"Webhooks.ReplayFailed", operation.ReplayWebhook, func() error { _, err := a.Webhooks.ReplayFailed(ctx, owner, hook, 0); return err }},
		{"Webhooks.RotateSecret", operation.RotateWebhookSecret, func() error { _, err := a.Webhooks.RotateSecret(ctx, owner, hook); return err }},
		{"Webhooks.Unsubscribe", operation.UnsubscribeWebhook, func() error { return a.Webhooks.Unsubscribe(ctx, owner, hook) }},
		{"Website.AddOrigins", operation.AddOrigin, func() error { return a.Website.AddOrigins(ctx, owner, "https://shop.example") }},
		{"Website.RemoveOrigin", operation.RemoveOrigin, func() error { return a.Website.RemoveOrigin(ctx, owner, "https://shop.example") }},
		{"Website.Change", operation.ChangeWebsite, func() error {
			_, err := a.Website.Change(ctx, owner, tenants.WebsiteChange{ConsentCookie: &consent})
			return err
		}},
		{"Website.ChangeTenant", operation.ChangeTenant, func() error {
			_, err := a.Website.ChangeTenant(ctx, owner, tenants.TenantChange{ConsentCookie: &consent})
			return err
		}},
		{"Gateway.Connect", operation.ConnectGateway, func() error {
			return a.Gateway.Connect(ctx, owner, billing.Connection{Kind: billing.Braintree, MerchantID: "m", Keys: []billing.Key{{Public: "public", Private: "private"}}})
		}},
		{"Gateway.Replay", operation.ReplayNotification, func() error { return a.Gateway.Replay(ctx, owner, 1) }},
		{"Gateway.Retry", operation.RetryGateway, func() error { _, err := a.Gateway.Retry(ctx, owner, "", ""); return err }},
		{"Gateway.Disconnect", operation.DisconnectGateway, func() error { return a.Gateway.Disconnect(ctx, owner) }},
		{"Gateway.ConnectStripe", operation.ConnectGateway, func() error {
			return a.Gateway.ConnectStripe(ctx, owner, payments.StripeSettings{APIKey: "rk_live_key"}, "https://acme.example/hook")
		}},
		{"Pipelines.Change", operation.ChangePipeline, func() error { return a.Pipelines.Change(ctx, owner, pipeline.Settings{CreateUsers: true}, nil) }},
		{"Pipelines.RotateSecret", operation.RotatePipelineSecret, func() error { _, _, err := a.Pipelines.RotateSecret(ctx, owner, core.Hour); return err }},
		{"Pipelines.RemoveSecret", operation.RemovePipelineSecret, func() error { return a.Pipelines.RemoveSecret(ctx, owner) }},
	}
	changed := slices.Clone(reads)
	for _, s := range steps {
		changed = append(changed, s.name)
		before, entries := stored(t, w), len(w.Audit(t, people.AuditFilter{}))
		run(t, w, `CREATE TRIGGER refuse BEFORE INSERT ON audit_entry BEGIN SELECT RAISE(ABORT, 'refused'); END`)
		require.ErrorContains(t, s.do(), "refused", s.name)
		require.Equal(t, before, stored(t, w), "%s is stored without its entry", s.name)
		run(t, w, `DROP TRIGGER refuse`)
		require.NoError(t, s.do(), s.name)
		all := w.Audit(t, people.AuditFilter{})
		require.Len(t, all, entries+1, s.name)
		require.Equal(t, []any{s.op.Action, owner.Email, owner.From, owner.Person}, []any{all[0].Action, all[0].Actor, all[0].From, all[0].Person}, s.name)
	}
	for name := range operations {
		require.Contains(t, changed, name, "neither a change with an entry nor a reader")
	}
	require.Len(t, changed, len(operations))
}

// run runs a statement in a transaction.
func run(t *testing.T, w *portaltest.World, statement string) {
	t.Helper()
	require.NoError(t, w.Engine.DB.Write(t.Context(), w.Engine.Now(), func(tx *store.Tx) error {
		return tx.Exec(context.Background(), "test", statement)
	}))
}

// stored returns all rows of all tables, sorted. It leaves out files: an export writes them
// before its transaction, and those without a job are removed.
func stored(t *testing.T, w *portaltest.World) (rows []string) {
	t.Helper()
	read := func(query string) (all [][]any) {
		found, err := w.Engine.DB.Reads.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer found.Close()
		columns, err := found.Columns()
		require.NoError(t, err)
		for found.Next() {
			row, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			require.NoError(t, found.Scan(into...))
			all = append(all, row)
		}
		require.NoError(t, found.Err())
		return all
	}
	for _, table := range read(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'file'`) {
		for _, row := range read(fmt.Sprintf(`SELECT * FROM "%s"`, table[0])) {
			rows = append(rows, fmt.Sprintf("%s %v", table[0], row))
		}
	}
	slices.Sort(rows)
	return rows
}
