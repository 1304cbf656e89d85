// Package analytics defines the events of visitors and widgets that are counted. Any
// client may report them, so no rule and no payment depends on a count.
package analytics

import (
	"errors"
	"slices"

	"kith/core"
	"kith/core/link"
)

// Kind is the kind of a counted event.
type Kind string

const (
	// Visited counts pages that were opened through a share link.
	Visited Kind = "visited"
	// Loaded counts widgets that were shown to their user (clients 1.6.5).
	Loaded Kind = "loaded"
	// Shared counts share links that a user copied or sent from a widget.
	Shared Kind = "shared"
)

// ParseKind returns s as a kind or an error about field.
func ParseKind(field, s string) (Kind, error) {
	return core.ParseOneOf(field, s, Visited, Loaded, Shared)
}

// Event is one counted event. A field is empty if the caller did not send it.
type Event struct {
	Tenant core.TenantAlias
	Kind   Kind
	// Account and User identify the user of the widget; empty for a visit.
	Account core.AccountID
	User    core.UserID
	Program core.ProgramKey
	// Code is the referral code of a visit; empty for a widget.
	Code             core.ReferralCode
	EngagementMedium link.Engagement
	ShareMedium      link.ShareMedium
	// Day is the start of the day, in UTC, on which it is counted.
	Day core.Time
}

// Popup is the engagement medium of a call that names none (clients 7.1.1).
const Popup link.Engagement = "POPUP"

// Analytics calls accept more mediums than share links do (clients 1.11.11).
var (
	engagementMediums = append(slices.Clone(link.Engagements), "NOCONTENT", "DEMO_EMBED", "DEMO", "EMPTY")
	shareMediums      = append(slices.Clone(link.ShareMediums), "REMINDER")
)

// ParseEngagementMedium returns s as a medium or an error about field (RS037); if s
// is empty, it returns unset.
func ParseEngagementMedium(field, s string, unset link.Engagement) (link.Engagement, error) {
	if s == "" {
		return unset, nil
	}
	m, err := core.ParseOneOf(field, s, engagementMediums...)
	if e, ok := errors.AsType[*core.Error](err); ok {
		e.RS = "RS037"
	}
	return m, err
}

// ParseShareMedium returns s as a medium or an error about field. Empty is allowed
// and means no medium.
func ParseShareMedium(field, s string) (link.ShareMedium, error) {
	if s == "" {
		return "", nil
	}
	return core.ParseOneOf(field, s, shareMediums...)
}

// Count is the number of times that an event happened on its day.
type Count struct {
	Event
	Times int64
}

// Filter selects counts. An empty field matches all.
type Filter struct {
	Kind    Kind
	Account core.AccountID
	User    core.UserID
	Code    core.ReferralCode
	// From and Until limit the days: From is included, Until is not. Zero means no
	// limit.
	From, Until   core.Time
	Limit, Offset int
}
