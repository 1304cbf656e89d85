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

// ReferralCode is the user's own code in a program.
func (u *user) ReferralCode(args struct{ ProgramID argument }) (*string, error) {
	code, err := u.code(args.ProgramID)
	if code == nil || err != nil {
		return nil, err
	}
	return pointer(string(code.Code)), nil
}

// code is the user's code in a program, in the first one when none is named; nil
// when there is none.
func (u *user) code(programID argument) (*referral.UserCode, error) {
	text, err := programID.text("programId")
	if err != nil || u.hidden {
		return nil, err
	}
	wanted := cmp.Or(core.ProgramKey(text), u.stored.User.FirstProgram())
	return inProgram(u.stored.User.Codes, wanted), nil
}

func inProgram(codes []referral.UserCode, program core.ProgramKey) *referral.UserCode {
	for _, c := range codes {
		if c.Program == program {
			return &c
		}
	}
	return nil
}

// linkName is the name of the user's primary share link in the program of a code.
func (u *user) linkName(code *referral.UserCode) core.ReferralCode {
	return inProgram(u.stored.User.LinkNames(), code.Program).Code
}

// shareArguments are what a link is for.
type shareArguments struct{ ProgramID, ShareMedium, EngagementMedium argument }

func (a shareArguments) mediums() (engagement, medium string, err error) {
	if medium, err = a.ShareMedium.text("shareMedium"); err != nil {
		return "", "", err
	}
	engagement, err = a.EngagementMedium.text("engagementMedium")
	return engagement, medium, err
}

// shared is the code of a link and what the link is for; no code is nil.
func (u *user) shared(args shareArguments) (code *referral.UserCode, engagement, medium string, err error) {
	if code, err = u.code(args.ProgramID); code == nil || err != nil {
		return nil, "", "", err
	}
	engagement, medium, err = args.mediums()
	return code, engagement, medium, err
}

// ShareLink is the link of the user's code in a program, or null.
func (u *user) ShareLink(args shareArguments) (*string, error) {
	code, engagement, medium, err := u.shared(args)
	if code == nil || err != nil {
		return nil, err
	}
	return pointer(u.stored.Share.URL(u.linkName(code)) + link.Mediums(link.Engagement(engagement), link.ShareMedium(medium))), nil
}

// MessageLink opens what the user shares the link with; null without a code.
func (u *user) MessageLink(args shareArguments) (*string, error) {
	code, engagement, text, err := u.shared(args)
	if code == nil || err != nil {
		return nil, err
	}
	query := url.Values{"accountId": {string(u.stored.User.Account)}, "userId": {string(u.stored.User.ID)}, "programId": {string(code.Program)}}
	if e, ok := link.ParseEngagement(engagement); ok && e != link.Unknown {
		query.Set("engagementMedium", engagement)
	}
	medium, _ := link.ParseShareMedium(text)
	path := "/a/" + string(u.c.tenant) + "/message/redirect/" + string(cmp.Or(medium, link.Unknown))
	return pointer(u.stored.Share.Origin + path + "?" + query.Encode()), nil
}

// ProgramShareLinks are the links of the user's codes by program, as GET of a user
// has them.
func (u *user) ProgramShareLinks() *node {
	if u.hidden {
		return nil
	}
	return pointer(node(wire.ProgramShareLinks(u.stored)))
}

// ShareLinks are the links of the user's code in a program by engagement and
// medium, as GET of a user's shareurls has them; null without a code.
func (u *user) ShareLinks(args shareArguments) (*node, error) {
	code, engagement, medium, err := u.shared(args)
	if code == nil || err != nil {
		return nil, err
	}
	links := wire.ShareURLs(u.stored.Share, u.linkName(code), link.Engagement(engagement), link.ShareMedium(medium))
	return pointer(node(gjson.GetBytes(links, "shareLinks").Raw)), nil
}
