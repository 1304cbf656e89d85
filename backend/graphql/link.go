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
func (u *user) ReferralCode(args struct{ ProgramID argument }) (*string, error) {
	code, err := u.code(args.ProgramID)
	if code == nil || err != nil {
		return nil, err
	}
	return pointer(string(code.Code)), nil
}

// code returns the user's code in a program, or nil. Without programId it is the program
// of the user's first code.
func (u *user) code(programID argument) (*referral.UserCode, error) {
	text, err := programID.text("programId")
	if err != nil || u.hidden {
		return nil, err
	}
	wanted := cmp.Or(core.ProgramKey(text), u.stored.User.FirstProgram())
	return inProgram(u.stored.User.Codes, wanted), nil
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

func (a shareArguments) mediums() (engagement, medium string, err error) {
	if medium, err = a.ShareMedium.text("shareMedium"); err != nil {
		return "", "", err
	}
	engagement, err = a.EngagementMedium.text("engagementMedium")
	return engagement, medium, err
}

// shared returns the code and the mediums of a link; the code is nil if the user has none.
func (u *user) shared(args shareArguments) (code *referral.UserCode, engagement, medium string, err error) {
	if code, err = u.code(args.ProgramID); code == nil || err != nil {
		return nil, "", "", err
	}
	engagement, medium, err = args.mediums()
	return code, engagement, medium, err
}

// ShareLink returns the link with the user's code in a program, or null.
func (u *user) ShareLink(args shareArguments) (*string, error) {
	code, engagement, medium, err := u.shared(args)
	if code == nil || err != nil {
		return nil, err
	}
	return pointer(u.stored.Share.URL(u.linkName(code)) + link.Mediums(link.Engagement(engagement), link.ShareMedium(medium))), nil
}

// MessageLink returns a URL that opens the service or app with which the user shares the
// link; null without a code.
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
func (u *user) ShareLinks(args shareArguments) (*node, error) {
	code, engagement, medium, err := u.shared(args)
	if code == nil || err != nil {
		return nil, err
	}
	links := wire.ShareURLs(u.stored.Share, u.linkName(code), link.Engagement(engagement), link.ShareMedium(medium))
	return pointer(node(gjson.GetBytes(links, "shareLinks").Raw)), nil
}
