package graphql

import (
	"cmp"
	"net/url"

	"github.com/tidwall/gjson"

	"kith/core"
	"kith/core/link"
	"kith/core/referral"
	"kith/core/wire"
)

// ReferralCode returns the user's code in a program, or null.
func (u *user) ReferralCode(args struct{ ProgramID argument }) *string {
	code := u.code(args.ProgramID)
	if code == nil {
		return nil
	}
	return pointer(string(code.Code))
}

// code returns the user's code in a program, or nil. Without programId it is the program
// of the user's first code.
func (u *user) code(programID argument) *referral.UserCode {
	if u.hidden {
		return nil
	}
	wanted := cmp.Or(core.ProgramKey(programID.text()), u.stored.User.FirstProgram())
	return inProgram(u.stored.User.Codes, wanted)
}

// inProgram returns the code of a program, or nil.
func inProgram(codes []referral.UserCode, program core.ProgramKey) *referral.UserCode {
	for _, c := range codes {
		if c.Program == program {
			return &c
		}
	}
	return nil
}

// linkName returns the last segment of the user's primary share link in the program of a
// code.
func (u *user) linkName(code *referral.UserCode) core.ReferralCode {
	return inProgram(u.stored.User.LinkNames(), code.Program).Code
}

// shareArguments choose a link: its program, and the mediums that it records.
type shareArguments struct{ ProgramID, ShareMedium, EngagementMedium argument }

func (a shareArguments) mediums() (link.Engagement, link.ShareMedium) {
	return link.Engagement(a.EngagementMedium.text()), link.ShareMedium(a.ShareMedium.text())
}

// ShareLink returns the link with the user's code in a program, or null.
func (u *user) ShareLink(args shareArguments) *string {
	code := u.code(args.ProgramID)
	if code == nil {
		return nil
	}
	return pointer(u.stored.Share.URL(u.linkName(code)) + link.Mediums(args.mediums()))
}

// MessageLink returns a URL that opens the service or app with which the user shares the
// link; null without a code.
func (u *user) MessageLink(args shareArguments) *string {
	code := u.code(args.ProgramID)
	if code == nil {
		return nil
	}
	query := url.Values{"accountId": {string(u.stored.User.Account)}, "userId": {string(u.stored.User.ID)}, "programId": {string(code.Program)}}
	if e, ok := link.ParseEngagement(args.EngagementMedium.text()); ok && e != link.Unknown {
		query.Set("engagementMedium", args.EngagementMedium.text())
	}
	medium, _ := link.ParseShareMedium(args.ShareMedium.text())
	path := "/a/" + string(u.c.tenant) + "/message/redirect/" + string(cmp.Or(medium, link.Unknown))
	return pointer(u.stored.Share.Origin + path + "?" + query.Encode())
}

// ProgramShareLinks returns the user's links by program, as REST does in
// programShareLinks of a user.
func (u *user) ProgramShareLinks() *node {
	if u.hidden {
		return nil
	}
	return pointer(node(wire.ProgramShareLinks(u.stored)))
}

// ShareLinks returns the links with the user's code in a program, by engagement and share
// medium, as REST does at /shareurls; null without a code.
func (u *user) ShareLinks(args shareArguments) *node {
	code := u.code(args.ProgramID)
	if code == nil {
		return nil
	}
	engagement, medium := args.mediums()
	links := wire.ShareURLs(u.stored.Share, u.linkName(code), engagement, medium)
	return pointer(node(gjson.GetBytes(links, "shareLinks").Raw))
}
