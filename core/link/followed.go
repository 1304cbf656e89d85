package link

import (
	"slices"
	"strings"

	"kith/core"
)

// FollowedHeader has, on a response of the component, the share link that the request
// followed, as Followed.Text writes it. The host counts it and removes the header. On a
// request to the component it means that the host takes what the component reports.
const FollowedHeader = "x-kith-followed"

// Followed is a share link that was followed, as it is counted. It says nothing about
// the visitor. The zero value stands for nothing to count.
type Followed struct {
	Tenant  core.TenantAlias
	Program core.ProgramKey
	// Code and both mediums are empty for a person who does not permit the attribution
	// cookie: only the total of the program counts that visit.
	Code             core.ReferralCode
	EngagementMedium Engagement
	ShareMedium      ShareMedium
	By               Follower
}

// Follower is who follows a share link.
type Follower string

const (
	Person Follower = "visit"
	// Bot is a bot, a prefetch and HEAD.
	Bot Follower = "bot"
	// Agent is a program that acts for a person, such as an assistant or curl: it gets the
	// code in the answer, and no cookie.
	Agent Follower = "agent"
)

// followed returns what counts of a share link whose code exists. stance and by are those
// of the visit.
func followed(tenant core.TenantAlias, a Attribution, s stance, by Follower) Followed {
	f := Followed{Tenant: tenant, Program: a.Program, By: by}
	if by != Person || s == permitted {
		f.Code = a.Code
		f.EngagementMedium = known(a.EngagementMedium, Engagements)
		f.ShareMedium = known(a.ShareMedium, ShareMediums)
	}
	return f
}

// known returns s as a medium, or Unknown if it is none of all: any visitor may write
// any word into a link, and words must not add rows without limit. Empty stays empty.
func known[T ~string](s string, all []T) T {
	if s == "" || slices.Contains(all, T(s)) {
		return T(s)
	}
	return Unknown
}

// noWord is an empty word of Followed.Text. No alias, key, code or medium is the same.
const noWord = "."

// Text returns f as the value of FollowedHeader: six words with blanks between them.
func (f Followed) Text() string {
	words := [...]string{string(f.By), string(f.Tenant), string(f.Program), string(f.Code), string(f.EngagementMedium), string(f.ShareMedium)}
	size := 0
	for i := range words {
		if words[i] == "" {
			words[i] = noWord
		}
		size += len(words[i]) + 1
	}
	// The component frees no memory, and is replaced when it has used too much.
	var text strings.Builder
	text.Grow(size)
	for i, word := range words {
		if i > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(word)
	}
	return text.String()
}

// ParseFollowed reads what Text has written; ok is false for any other text.
func ParseFollowed(text string) (f Followed, ok bool) {
	var words [6]string
	for i := range words {
		word, rest, more := strings.Cut(text, " ")
		if word == "" || more == (i == len(words)-1) {
			return Followed{}, false
		}
		if words[i] = word; word == noWord {
			words[i] = ""
		}
		text = rest
	}
	f = Followed{
		Tenant: core.TenantAlias(words[1]), Program: core.ProgramKey(words[2]), Code: core.ReferralCode(words[3]),
		EngagementMedium: Engagement(words[4]), ShareMedium: ShareMedium(words[5]), By: Follower(words[0]),
	}
	return f, (f.By == Person || f.By == Bot || f.By == Agent) && f.Tenant != "" && f.Program != ""
}
