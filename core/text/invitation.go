package text

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"kith/core"
)

// Invitation is the text that a user sends to a friend with the share link: Subject is
// the subject of an e-mail and the title of a shared page, and Message is the text in
// front of the link.
//
// {shop} is replaced by the host of the landing page, {program} by the name of the
// program, and {reward} by what the friend gets.
type Invitation struct {
	Subject string `json:"subject"`
	Message string `json:"message"`
}

// Limits of the invitations of a program.
const (
	MaxInvitations = 30
	// MaxSubject and MaxMessage are in bytes.
	MaxSubject = 200
	MaxMessage = 1000
)

// Check returns an error about the first invalid part. at is the path of the
// invitation in the API.
func (i Invitation) Check(at string) error {
	if err := checkInvitation(at+".subject", i.Subject, MaxSubject); err != nil {
		return err
	}
	return checkInvitation(at+".message", i.Message, MaxMessage)
}

func checkInvitation(field, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return core.Invalid(field, "must not be empty; leave out the language to use the default")
	case len(text) > most && most == MaxSubject:
		return core.Invalid(field, "must not be longer than 200 bytes")
	case len(text) > most:
		return core.Invalid(field, "must not be longer than 1000 bytes")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && (r != '\n' || most == MaxSubject) || r == 0x7f }):
		return core.Invalid(field, "must be text without control characters")
	}
	for _, name := range Placeholders(text) {
		switch name {
		case "shop", "program", "reward":
		default:
			return core.Invalid(field, "may contain {shop}, {program} and {reward}, and no other text in braces")
		}
	}
	return nil
}

// Invite chooses the invitation of a program in the first wanted language that the
// program or the catalog of that language has, and fills it. own are the program's own
// invitations; friend is what the friend gets.
//
// The order for each wanted language is: the program's own text, by the tag and its
// parents ("pt-BR", "pt"), then the default text. Without any of them it is the
// program's own English text, then the English default.
func Invite(wanted []Tag, own map[Tag]Invitation, landingURL, program string, friend Offer) (filled Invitation, language Tag) {
	invitation, catalog, language := chosen(wanted, own, friend)
	pairs := []string{"shop", shopOf(landingURL), "program", program, "reward", catalog.Describe(friend).Reward}
	return Invitation{Subject: Fill(invitation.Subject, pairs...), Message: Fill(invitation.Message, pairs...)}, language
}

func chosen(wanted []Tag, own map[Tag]Invitation, friend Offer) (Invitation, *Catalog, Tag) {
	for _, w := range append(wanted[:len(wanted):len(wanted)], Languages[0]) {
		at, _ := choose([]Tag{w})
		for t := w; t != ""; t = t.Parent() {
			if i, ok := own[t]; ok {
				return i, catalogs[at], t
			}
		}
		if at != 0 || language(w) == Languages[0] {
			return catalogs[at].invitation(friend), catalogs[at], Languages[at]
		}
	}
	return catalogs[0].invitation(friend), catalogs[0], Languages[0]
}

// language returns the first part of a tag.
func language(t Tag) Tag {
	for t.Parent() != "" {
		t = t.Parent()
	}
	return t
}

func (c *Catalog) invitation(friend Offer) Invitation {
	if friend.none() {
		return Invitation{Subject: c.Subject, Message: c.Invitation}
	}
	return Invitation{Subject: c.SubjectReward, Message: c.InvitationReward}
}

// shopOf returns the host of a landing page, without "www.".
func shopOf(landingURL string) string {
	u, err := url.Parse(landingURL)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Host, "www.")
}
