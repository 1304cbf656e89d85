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
	"kith/core/people"
	"kith/core/referral"
)

func TestMain(m *testing.M) { sqldtest.Main(m) }

// operations has the operation that each use case of a member requires: a row for each
// exported method of each field of Admin.
var operations = map[string]people.Operation{
	"Users.Profile": people.ReadReferrals, "Users.Ordered": people.ReadReferrals, "Users.Stake": people.ReadReferrals, "Users.ByID": people.ReadReferrals, "Users.Block": people.WriteUsers, "Users.Unblock": people.WriteUsers, "Users.Attribute": people.WriteUsers,
	"Users.AddReward": people.WriteUsers, "Users.AddEvent": people.WriteUsers, "Users.Export": people.RunExports, "Users.Erase": people.EraseUsers,
	"Users.Grant": people.WriteUsers, "Users.Delete": people.EraseUsers, "Users.DeleteAccount": people.EraseUsers,
	"Programs.Create": people.WritePrograms, "Programs.Update": people.WritePrograms, "Programs.Delete": people.WritePrograms,
	"Programs.Fill":     people.WritePrograms,
	"Programs.Versions": people.ReadPrograms,

	"Files.Check": people.RunImports, "Files.Import": people.RunImports, "Files.List": people.RunImports, "Files.Job": people.RunImports, "Files.Remove": people.RunImports,
	"Files.Download": people.RunImports, "Files.WriteRejected": people.RunImports, "Files.Export": people.RunExports,
	"SFTPKeys.Add": people.WriteIntegrations, "SFTPKeys.Remove": people.WriteIntegrations,
	"Referrals.Export":   people.RunExports,
	"Referrals.Moderate": people.Moderate, "Referrals.CancelReward": people.Moderate,

	"APIKeys.Create": people.WriteKeys, "APIKeys.Rotate": people.WriteKeys, "APIKeys.Revoke": people.WriteKeys,
	"Webhooks.List": people.ReadIntegrations, "Webhooks.Delivery": people.ReadIntegrations,
	"Webhooks.Subscribe": people.WriteIntegrations, "Webhooks.Unsubscribe": people.WriteIntegrations, "Webhooks.RotateSecret": people.WriteIntegrations,
	"Webhooks.Test": people.WriteIntegrations, "Webhooks.Replay": people.WriteIntegrations, "Webhooks.ReplayFailed": people.WriteIntegrations,
	"Website.Read": people.ReadIntegrations, "Website.AddOrigins": people.WriteIntegrations, "Website.RemoveOrigin": people.WriteIntegrations, "Website.Change": people.WriteIntegrations, "Website.ChangeTenant": people.WriteIntegrations,
	"Gateway.Connection": people.ReadIntegrations, "Gateway.Check": people.ReadIntegrations,
	"Gateway.Connect": people.WriteIntegrations, "Gateway.ConnectStripe": people.WriteIntegrations, "Gateway.SendTest": people.WriteIntegrations, "Gateway.Disconnect": people.WriteIntegrations, "Gateway.Replay": people.WriteIntegrations, "Gateway.Retry": people.WriteIntegrations,
	"Pipelines.Read": people.ReadIntegrations, "Pipelines.Change": people.WriteIntegrations, "Pipelines.RotateSecret": people.WriteKeys, "Pipelines.RemoveSecret": people.WriteIntegrations,
}

// Each use case refuses each role that the table of core/people does not permit, and no
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
				require.Equal(t, role.Permits(op), admitted(t, subject.Method(j), caller), "%s as %q", name, role)
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
	require.Equal(t, people.ProgramDeleted, entries[0].Action)
	require.Equal(t, people.ProgramChanged, entries[1].Action)
	require.Contains(t, entries[1].After, `"name":"Renamed"`)
	require.NotContains(t, entries[1].Before, "Renamed")
	require.Equal(t, []any{people.ProgramCreated, "owner@acme.example", "192.0.2.1"}, []any{entries[2].Action, entries[2].Actor, entries[2].From})
}
