package widgets

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/text"
	"kith/core/widget"
	"kith/core/wire"
)

// Preview asks for a widget as it looks for an invented user.
type Preview struct {
	Type widget.Type
	// Language is a language of text.Languages.
	Language text.Tag
	// Theme is "light" or "dark". If empty, the tenant's values decide.
	Theme string
}

// Preview returns a widget as HTML for an invented user, so that a person sees what the
// program says before any user exists. It stores nothing, and its links lead to the
// landing page of the program.
func (ws *Widgets) Preview(ctx context.Context, tenant core.TenantAlias, in Preview) (string, error) {
	info, stored, err := ws.widgetInfo(ctx, tenant, Request{Type: in.Type, EngagementMedium: "EMBED"})
	if err != nil {
		return "", err
	}
	now := ws.Now()
	info.Locale, info.Wanted, info.Private = string(in.Language), []text.Tag{in.Language}, true
	info.User = &referral.User{Account: "preview", ID: "preview", FirstName: "Anna", LastName: "Example"}
	info.Code = "ANNA10"
	info.Links = []wire.WidgetLink{{URL: info.Program.LandingURL}}
	for _, medium := range link.ShareMediums {
		info.Links = append(info.Links, wire.WidgetLink{Medium: string(medium), URL: info.Program.LandingURL})
	}
	info.ReferrerFirstName, info.ReferrerLastName = "Bea", "Example"
	info.Referrals = []wire.WidgetReferral{
		{FirstName: "Bea", LastName: "Example", Started: now - 9*core.Day, Converted: now - 2*core.Day},
		{FirstName: "Cem", LastName: "Example", Started: now - core.Day},
	}
	info.ReferralCount = len(info.Referrals)
	if in.Theme != "" {
		if info.Values, err = withTheme(info.Values, in.Theme); err != nil {
			return "", err
		}
	}
	return widget.WithScript(cmp.Or(stored.Template, DefaultTemplate), wire.WidgetScript(info)), nil
}

// withTheme returns the values of a widget with another theme.
func withTheme(values, theme string) (string, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(cmp.Or(values, "{}")), &all); err != nil {
		return "", err
	}
	all["theme"] = json.RawMessage(strconv.Quote(theme))
	text, err := json.Marshal(all)
	return string(text), err
}
