package admin_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"kith/backend/portal/portaltest"
	"kith/backend/store/sqldtest"
	"kith/core"
	"kith/core/operation"
	"kith/core/people"
	"kith/core/referral"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

// operations has the operation that each use case of a member requires: a row for each
// exported method of each field of Admin.
var operations = map[string]*operation.Operation{
	"Users.Profile": operation.ReadReferrals, "Users.Ordered": operation.ReadReferrals, "Users.Stake": operation.ReadReferrals, "Users.Block": operation.BlockUser, "Users.Unblock": operation.UnblockUser, "Users.Attribute": operation.AttributeUser,
	"Users.AddReward": operation.GrantReward, "Users.AddEvent": operation.AddEvent, "Users.Export": operation.ExportUser, "Users.Erase": operation.EraseUser,
	"Users.Grant": operation.GrantReward, "Users.Delete": operation.EraseUser, "Users.DeleteAccount": operation.EraseAccount,
	"Programs.Create": operation.CreateProgram, "Programs.Update": operation.ChangeProgram, "Programs.Delete": operation.DeleteProgram,
	"Programs.Fill":     operation.FillFuelTank,
	"Programs.Versions": operation.ReadPrograms,

	"Files.Check": operation.ReadImports, "Files.Import": operation.StartImport, "Files.List": operation.ReadImports, "Files.Job": operation.ReadImports, "Files.Stop": operation.StopImport, "Files.Remove": operation.RemoveJob,
	"Files.Download": operation.DownloadFile, "Files.WriteRejected": operation.DownloadFile, "Files.Export": operation.StartExport,
	"SFTPKeys.Add": operation.AddSFTPKey, "SFTPKeys.Remove": operation.RemoveSFTPKey,
	"Referrals.Export":   operation.ExportReferrals,
	"Referrals.Moderate": operation.Moderate, "Referrals.CancelReward": operation.CancelReward,

	"APIKeys.Create": operation.CreateKey, "APIKeys.Rotate": operation.RotateKey, "APIKeys.Revoke": operation.RevokeKey,
	"Webhooks.List": operation.ReadIntegrations, "Webhooks.Delivery": operation.ReadIntegrations,
	"Webhooks.Subscribe": operation.SubscribeWebhook, "Webhooks.Unsubscribe": operation.UnsubscribeWebhook, "Webhooks.RotateSecret": operation.RotateWebhookSecret,
	"Webhooks.Test": operation.TestWebhook, "Webhooks.Replay": operation.ReplayWebhook, "Webhooks.ReplayFailed": operation.ReplayWebhook,
	"Website.Read": operation.ReadIntegrations, "Website.AddOrigins": operation.AddOrigin, "Website.RemoveOrigin": operation.RemoveOrigin, "Website.Change": operation.ChangeWebsite, "Website.ChangeTenant": operation.ChangeTenant,
	"Gateway.Connection": operation.ReadIntegrations,
	"Gateway.Connect":    operation.ConnectGateway, "Gateway.ConnectStripe": operation.ConnectGateway, "Gateway.SendTest": operation.TestGateway, "Gateway.Disconnect": operation.DisconnectGateway, "Gateway.Replay": operation.ReplayNotification, "Gateway.Retry": operation.RetryGateway,
	"Pipelines.Change": operation.ChangePipeline, "Pipelines.RotateSecret": operation.RotatePipelineSecret, "Pipelines.RemoveSecret": operation.RemovePipelineSecret,
}

// Each use case refuses each role that the catalogue does not permit, and no
// other; a refused call changes nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	found := 0
	admin := reflect.ValueOf(&w.Engine.Admin).Elem()
	for i := range admin.NumField() {
		subject := admin.Field(i).Addr()
		for j := range subject.NumMethod() {
			name := admin.Type().Field(i).Name + "." + subject.Type().Method(j).Name
			op, ok := operations[name]
			require.True(t, ok, "%s has no row in operations", name)
			found++
			for _, role := range append(people.Roles(), "") {
				caller := people.Caller{Person: "p", Email: "p@acme.example", Tenant: "none", Role: role, Confirmed: true}
				require.Equal(t, op.Permits(role), admitted(t, subject.Method(j), caller), "%s as %q", name, role)
			}
		}
	}
	require.Len(t, operations, found)
}

// admitted calls a use case with empty arguments and reports whether it went beyond the
// check of the role. The tenant of the caller does not exist, so an admitted call changes
// nothing.
func admitted(t *testing.T, method reflect.Value, c people.Caller) (ok bool) {
	t.Helper()
	in := []reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(c)}
	require.Equal(t, reflect.TypeFor[context.Context](), method.Type().In(0))
	require.Equal(t, reflect.TypeFor[people.Caller](), method.Type().In(1))
	for i := 2; i < method.Type().NumIn(); i++ {
		in = append(in, reflect.Zero(method.Type().In(i)))
	}
	defer func() {
		if recover() != nil {
			ok = true // an empty function was called
		}
	}()
	call := method.Call
	if method.Type().IsVariadic() {
		call = method.CallSlice
	}
	out := call(in)
	err, _ := out[len(out)-1].Interface().(error)
	var known *core.Error
	return !errors.As(err, &known) || known.Code != core.CodeForbidden
}

// A change and its entry in the audit log are stored together or not at all.
func TestPrograms_AreAudited(t *testing.T) {
	t.Parallel()
	w := portaltest.New(t)
	ctx, ps := t.Context(), &w.Engine.Admin.Programs
	owner := people.Caller{Person: "p1", Email: "owner@acme.example", Tenant: "acme", Role: people.Owner, From: "192.0.2.1", Confirmed: true}
	p := referral.DefaultProgram("https://acme.example/")
	p.Key = "second"
	_, err := ps.Create(ctx, owner, p)
	require.NoError(t, err)
	_, err = ps.Create(ctx, owner, p) // a conflict
	require.Error(t, err)
	_, err = ps.Update(ctx, owner, "second", func(p *referral.Program) error { p.Name = "Renamed"; return nil })
	require.NoError(t, err)
	require.NoError(t, ps.Delete(ctx, owner, "second"))
	entries, _, err := w.Engine.Audits.Page(ctx, owner, people.AuditFilter{Subject: "second"})
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.Equal(t, operation.DeleteProgram.Action, entries[0].Action)
	require.Equal(t, operation.ChangeProgram.Action, entries[1].Action)
	require.Contains(t, entries[1].After, `"name":"Renamed"`)
	require.NotContains(t, entries[1].Before, "Renamed")
	require.Equal(t, []any{operation.CreateProgram.Action, "owner@acme.example", "192.0.2.1"}, []any{entries[2].Action, entries[2].Actor, entries[2].From})
}
