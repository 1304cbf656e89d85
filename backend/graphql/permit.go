package graphql

import (
	"errors"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"kith/core/operation"
)

// fields are the fields of Query and Mutation by the operation that they run, and the fields of
// other types that need another one than operation.ReadFields.
var fields = map[*operation.Operation]string{
	operation.ReadFields:         "Query.identityFunction Query.viewer Query.tenant Query.ids Query.jwks Query.formatRewardPrettyValue",
	operation.ReadPrograms:       "Query.program Query.programs Query.analyticsSeries Query.topReferrers",
	operation.ReadReferrals:      "Query.user Query.users Query.userEvents Query.referral Query.referrals Query.reward Query.rewards",
	operation.ReadIntegrations:   "Query.webhookSubscriptions",
	operation.LookUpCode:         "Query.referralCode",
	operation.RenderWidget:       "Query.renderWidget User.widget",
	operation.ReadImports:        "Query.job Query.jobs Query.validateJobCreation JobList.data Job.stats",
	operation.StartImport:        "Mutation.createJob Mutation.validateJobCreation",
	operation.StopImport:         "Mutation.stopJob",
	operation.RemoveJob:          "Mutation.deleteJob",
	operation.IdentifyUser:       "Mutation.upsertUser Mutation.createUser Mutation.upsertUsers",
	operation.IdentifyCookieUser: "Mutation.createCookieUser",
	operation.BlockUser:          "Mutation.blockUser",
	operation.UnblockUser:        "Mutation.unblockUser",
	operation.EraseUser:          "Mutation.deleteUser",
	operation.EraseAccount:       "Mutation.deleteAccount",
	operation.LogEvents:          "Mutation.logUserEvent Mutation.logUserEvents",
	operation.ReadLogged:         "UserEventResult.events BulkUserEventResult.events ApiError.events UserEventResult.user User.referredBy",
	operation.GrantReward:        "Mutation.createReward",
	operation.SetRewardStatus:    "Mutation.updateRewardStatus",
	operation.RedeemCredit:       "Mutation.redeemRewardCredit Mutation.redeemUserCredit",
	operation.Moderate:           "Mutation.moderateGraphNodes",
	operation.CountUse:           "Mutation.createUserAnalyticsEvent",
	operation.SubscribeWebhook:   "Mutation.upsertWebhookSubscription",
	operation.UnsubscribeWebhook: "Mutation.deleteWebhookSubscription",
	operation.TestWebhook:        "Mutation.testWebhookSubscription",
	operation.ChangeProgram:      "Mutation.setProgramInvitations",
}

// operationsOf returns the operation of each field in fields. It fails if a field of Query or
// Mutation has none.
func operationsOf(schema *ast.Schema) (map[string]*operation.Operation, error) {
	all := map[string]*operation.Operation{}
	for op, names := range fields {
		for name := range strings.FieldsSeq(names) {
			all[name] = op
		}
	}
	for _, of := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range of.Fields {
			if name := of.Name + "." + f.Name; all[name] == nil && !strings.HasPrefix(f.Name, "__") {
				return nil, errors.New(name + ": no operation in permit.go")
			}
		}
	}
	return all, nil
}

// permitted returns an error if the role of the caller's API key does not permit a
// selection. Scalar fields are permitted with the object that they belong to. visited has
// the names of the fragments that were checked.
func (e *execution) permitted(selected ast.SelectionSet, visited map[string]bool) error {
	for _, s := range selected {
		var below ast.SelectionSet
		switch s := s.(type) {
		case *ast.InlineFragment:
			below = s.SelectionSet
		case *ast.FragmentSpread:
			if !visited[s.Name] {
				visited[s.Name] = true
				below = e.document.Fragments.ForName(s.Name).SelectionSet
			}
		case *ast.Field:
			if strings.HasPrefix(s.Name, "__") {
				continue
			}
			name := s.ObjectDefinition.Name + "." + s.Name
			op, named := e.operations[name]
			if !named {
				op = operation.ReadFields
			}
			if named || len(s.SelectionSet) > 0 {
				if err := e.Caller.Require(op, name); err != nil {
					return err
				}
			}
			below = s.SelectionSet
		}
		if err := e.permitted(below, visited); err != nil {
			return err
		}
	}
	return nil
}
