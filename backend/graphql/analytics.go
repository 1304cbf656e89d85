package graphql

import (
	"context"

	"kith/core"
	"kith/core/analytics"
	"kith/core/auth"
	"kith/core/link"
)

// CreateUserAnalyticsEvent counts that a user saw a widget or shared its link.
func (*mutation) CreateUserAnalyticsEvent(ctx context.Context, args struct{ EventMeta argument }) (*bool, error) {
	c := callOf(ctx)
	in := args.EventMeta
	account, user, err := userKey{AccountID: in.member("accountId"), ID: in.member("id")}.parse(c, auth.GetWidget)
	if err != nil {
		return nil, err
	}
	event := analytics.Event{Kind: analytics.Loaded, Account: account, User: user}
	if in.member("type").value == "USER_REFERRAL_PROGRAM_ENGAGEMENT_EVENT" {
		event.Kind = analytics.Shared
	}
	if err := readMediums(&event, in); err != nil {
		return nil, err
	}
	if err := c.engine.Analytics.Count(ctx, c.tenant, event); err != nil {
		return nil, err
	}
	return pointer(true), nil
}

// readMediums reads the program and the mediums of an event.
func readMediums(event *analytics.Event, in argument) error {
	program, err := in.member("programId").text("programId")
	if err != nil {
		return err
	}
	if event.Program, err = core.ParseProgramKey("programId", program); err != nil {
		return err
	}
	engagement, err := in.member("meta").member("engagementMedium").text("meta.engagementMedium")
	if err != nil {
		return err
	}
	if event.EngagementMedium, err = analytics.ParseEngagementMedium("meta.engagementMedium", engagement, link.Unknown); err != nil {
		return err
	}
	share, err := in.member("meta").member("shareMedium").text("meta.shareMedium")
	if err != nil {
		return err
	}
	event.ShareMedium, err = analytics.ParseShareMedium("meta.shareMedium", share)
	return err
}
