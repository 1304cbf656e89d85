package graphql

import (
	"context"

	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/ast"

	"kith/core"
	"kith/core/referral"
)

// moderatedNode is a moderated referral.
type moderatedNode struct{ Data *referralNode }

// ToReferral returns the referral: only referrals can be moderated.
func (r *referralNode) ToReferral() (*referralNode, bool) { return r, true }

// moderations maps the actions of GraphQL to those of core (clients 1.11.15).
var moderations = map[string]referral.Action{"APPROVE": referral.Approve, "DENY": referral.Deny}

// ModerateGraphNodes approves or denies both sides of the referrals that a filter selects.
// It needs the API key.
func (*mutation) ModerateGraphNodes(ctx context.Context, args struct {
	GraphNodeType, Filter, ModerationInput argument
	pageArguments
}) (*list[moderatedNode], error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	// The schema allows any JSON, since the type depends on graphNodeType.
	filter, err := inputs{schema: c.schema}.coerce(ast.NonNullNamedType("ReferralFilterInput", nil), gjson.Parse(args.Filter.json()), "filter")
	if err != nil {
		return nil, err
	}
	r := &filterReader{at: "filter", a: argument{filter}}
	f := r.referrals()
	if r.err != nil {
		return nil, r.err
	}
	if f.Limit, err = within("limit", args.Limit, 0, referral.MaxModerations); err != nil {
		return nil, err
	}
	if f.Offset, err = within("offset", args.Offset, 0, maxOffset); err != nil {
		return nil, err
	}
	action, err := moderation(args.ModerationInput)
	if err != nil {
		return nil, err
	}
	return c.moderate(ctx, f, action)
}

// moderation reads the action of a ModerationInput.
func moderation(input argument) (referral.Action, error) {
	if action, ok := moderations[input.member("action").text()]; ok {
		return action, nil
	}
	return "", core.Invalid("moderationInput.action", "must be one of APPROVE, DENY")
}

// moderate applies an action to a page of referrals and returns them as they are now, in
// the same order.
func (c *call) moderate(ctx context.Context, f referral.Filter, action referral.Action) (*list[moderatedNode], error) {
	page, total, err := c.engine.Referrals.List(ctx, c.tenant, f)
	if err != nil {
		return nil, err
	}
	out := newList(make([]moderatedNode, len(page)), total)
	if len(page) == 0 {
		return out, nil
	}
	actions, ids, places := make([]referral.Moderation, len(page)), make([]string, len(page)), map[string]int{}
	for i, ref := range page {
		actions[i], ids[i], places[ref.ID] = referral.Moderation{Referral: ref.ID, Action: action}, ref.ID, i
	}
	if err := c.engine.Moderation.Apply(ctx, c.member(), actions); err != nil {
		return nil, err
	}
	found, err := c.engine.Referrals.ListByID(ctx, c.tenant, ids)
	if err != nil {
		return nil, err
	}
	sorted := make([]referral.Referral, len(page))
	for _, ref := range found {
		sorted[places[ref.ID]] = ref
	}
	for i, node := range newReferrals(c, sorted) {
		out.Data[i] = moderatedNode{node}
	}
	return out, nil
}
