package api

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kith/backend/app"
	"kith/backend/app/base"
)

// offered has, for each use case of the portal, the operations of the REST API that do the
// same, and fields of GraphQL after "GraphQL". A text in parentheses says why there is
// none.
var offered = map[string]string{
	"Programs.Create": "createProgram", "Programs.Update": "updateProgram",
	"Programs.Delete": "deleteProgram", "Programs.Fill": "fillFuelTank",
	"Programs.Versions": "listProgramVersions",

	"Users.Ordered": "listOrders GraphQL User.userEvents", "Users.Stake": "listReferrals listRewardBalances", "Users.Block": "blockUser", "Users.Unblock": "unblockUser",
	"Users.Profile":   "getUserWithKey getShareLinks listRewards listRewardBalances listReferrals listAttributions listAuditEntries GraphQL User.userEvents",
	"Users.Attribute": "applyCodeByHand", "Users.AddReward": "createReward", "Users.AddEvent": "logEvents", "Users.Export": "downloadUser", "Users.Erase": "deleteUser",
	"Users.Grant": "createReward", "Users.Delete": "deleteUser", "Users.DeleteAccount": "deleteAccount",

	"Files.Check": "GraphQL Query.validateJobCreation", "Files.Import": "GraphQL Mutation.createJob",
	"Files.Export": "createExport", "Files.List": "GraphQL Query.jobs", "Files.Job": "GraphQL Query.job", "Files.Stop": "GraphQL Mutation.stopJob", "Files.Remove": "GraphQL Mutation.deleteJob",
	"Files.Download": "downloadFile", "Files.WriteRejected": "downloadFile",

	"SFTPKeys.Add": "createSftpKey", "SFTPKeys.Remove": "deleteSftpKey",

	"Referrals.Export": "createExport", "Referrals.Moderate": "moderateReferrals", "Referrals.CancelReward": "cancelReward",

	"APIKeys.Create": "createKey", "APIKeys.Rotate": "rotateKey", "APIKeys.Revoke": "revokeKey",
	"Webhooks.List": "listSubscriptions getAttention", "Webhooks.Delivery": "listDeliveries",
	"Webhooks.Subscribe": "createSubscription", "Webhooks.Unsubscribe": "deleteSubscription", "Webhooks.RotateSecret": "rotateSubscriptionSecret",
	"Webhooks.Test": "testSubscription", "Webhooks.Replay": "replayDeliveries", "Webhooks.ReplayFailed": "replayDeliveries",
	"Website.Read": "getWebsite", "Website.AddOrigins": "updateWebsite", "Website.RemoveOrigin": "updateWebsite", "Website.Change": "updateWebsite",
	"Website.ChangeTenant": "(kith tenant set; the portal shows none of these settings)",
	"Gateway.Connection":   "getGatewayConnection", "Gateway.Connect": "connectGateway",
	"Gateway.Disconnect": "disconnectGateway", "Gateway.Replay": "replayGatewayNotification",
	"Gateway.Retry":         "tryGatewayOperations",
	"Gateway.ConnectStripe": "connectStripe", "Gateway.SendTest": "testStripeConnection",
	"Pipelines.Change": "updatePipelineSettings", "Pipelines.RotateSecret": "rotatePipelineSecret",
	"Pipelines.RemoveSecret": "deletePipelineSecret",

	"Members.List": "listMembers", "Members.ByEmail": "listMembers", "Members.Invite": "inviteMember", "Members.RevokeInvitation": "revokeInvitation",
	"Members.ChangeRole": "updateMember", "Members.Remove": "deleteMember",
	"Members.RequireSecondStep": "(an owner with a recent password, or kith tenant set)", "Members.NeedsSecondStep": "(as Members.RequireSecondStep)",
	"Members.FindInvitation": "(the person who is invited accepts, in the portal)", "Members.Accept": "(as Members.FindInvitation)", "Members.AcceptAs": "(as Members.FindInvitation)",
	"Members.SignInAs": "(people sign in, in the portal)", "Members.HasPassword": "(kith dev makes its first owner)", "Members.Create": "(as Members.HasPassword)",
	"Audits.Refused": "(the portal records what it refuses)", "Audits.Page": "listAuditEntries", "Audits.Export": "downloadAuditLog",
}

// What the portal can do, the API can do: each use case that the portal calls has an
// operation. Sign-ins, profiles and resets of passwords belong to a person and have none.
func TestAPI_DoesWhatThePortalDoes(t *testing.T) {
	operations := map[string]bool{}
	for _, o := range served(t).operations(t) {
		operations[o.body.OperationID] = true
	}
	schema, err := os.ReadFile("../graphql/schema.graphql")
	require.NoError(t, err)

	var e app.Engine
	subjects := map[string]reflect.Type{"Members": reflect.TypeOf(&e.Members), "Audits": reflect.TypeOf(&e.Audits)}
	admin := reflect.TypeOf(e.Admin)
	for field := range admin.Fields() {
		subjects[field.Name] = reflect.PointerTo(field.Type)
	}
	found := 0
	for subject, methods := range subjects {
		for method := range methods.Methods() {
			if _, shared := reflect.TypeFor[*base.Base]().MethodByName(method.Name); shared {
				continue
			}
			found++
			name := subject + "." + method.Name
			row, ok := offered[name]
			if !assert.True(t, ok, "%s has no row in offered: add a route, or say why there is none", name) || strings.HasPrefix(row, "(") {
				continue
			}
			rest, fields, _ := strings.Cut(row, "GraphQL ")
			require.NotEmpty(t, rest+fields, name)
			for _, id := range strings.Fields(rest) {
				assert.True(t, operations[id], "%s: the document has no operation %s", name, id)
			}
			for _, field := range strings.Fields(fields) {
				of, field, _ := strings.Cut(field, ".")
				definition := regexp.MustCompile(`(?ms)^type ` + of + `\b[^\n]*\{.*?^\}`).Find(schema)
				assert.Regexp(t, `(?m)^  `+field+`[(:]`, string(definition), name)
			}
		}
	}
	assert.Equal(t, found, len(offered), "a row has no use case")
}
