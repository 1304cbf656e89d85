// Package analytics names what is counted of visitors and of widgets. Counts
// decide nothing: anybody may report them, and no money depends on one.
package analytics

import (
	"slices"
	"strings"

	"kith/core"
	"kith/core/link"
)

// Kind is what happened.
type Kind string

const (
	// Visited: a page was opened by a share link.
	Visited Kind = "visited"
	// Loaded: a widget was shown to its user (reference, 1.6).
	Loaded Kind = "loaded"
	// Shared: a user took a share link out of a widget.
	Shared Kind = "shared"
)

// ParseKind returns s as a kind or an error about field.
func ParseKind(field, s string) (Kind, error) {
	switch kind := Kind(s); kind {
	case Visited, Loaded, Shared:
		return kind, nil
	}
	return "", core.Invalid(field, "must be one of visited, loaded, shared")
}

// Event is one thing that is counted. What is empty was not told.
type Event struct {
	Tenant core.TenantAlias
	Kind   Kind
	// Account and User are whose widget it was; empty for a visit.
	Account core.AccountID
	User    core.UserID
	Program core.ProgramKey
	// Code is what a visitor came with; empty for a widget.
	Code             core.ReferralCode
	EngagementMedium link.Engagement
	ShareMedium      link.ShareMedium
	// Day is the beginning of the day (UTC) that it is counted for.
	Day core.Time
}

// Popup is where a widget is shown when a call does not say where (reference,
// 7.1).
const Popup link.Engagement = "POPUP"

// Widgets are met in more places than links are shared from, and links are
// passed on by one medium more (reference, 1.11).
var (
	engagementMediums = append(slices.Clone(link.Engagements), "NOCONTENT", "DEMO_EMBED", "DEMO", "EMPTY")
	shareMediums      = append(slices.Clone(link.ShareMediums), "REMINDER")
)

// ParseEngagementMedium returns s as a medium or an error about field (RS037);
// empty means unset.
func ParseEngagementMedium(field, s string, unset link.Engagement) (link.Engagement, error) {
	m := link.Engagement(s)
	if s == "" {
		return unset, nil
	}
	if !slices.Contains(engagementMediums, m) {
		err := core.Invalid(field, "must be one of "+join(engagementMediums))
		err.RS = "RS037"
		return "", err
	}
	return m, nil
}

// ParseShareMedium returns s as a medium or an error about field; empty is
// none.
func ParseShareMedium(field, s string) (link.ShareMedium, error) {
	m := link.ShareMedium(s)
	if s != "" && !slices.Contains(shareMediums, m) {
		return "", core.Invalid(field, "must be one of "+join(shareMediums))
	}
	return m, nil
}

func join[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts, ", ")
}

// Count is how often an event happened on its day.
type Count struct {
	Event
	Times int64
}

// Filter narrows a list of counts; what is empty does not.
type Filter struct {
	Kind    Kind
	Account core.AccountID
	User    core.UserID
	Code    core.ReferralCode
	// From and Until bound the days, the second one not included; zero: none.
	From, Until   core.Time
	Limit, Offset int
}
