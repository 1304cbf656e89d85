package graphql

import (
	"context"
	"strconv"

	"kith/core"
	"kith/core/referral"
	"kith/core/text"
)

// invitation is the GraphQL type Invitation.
type invitation struct {
	Locale           word
	Subject, Message string
}

// Invitations returns the program's own invitations by language.
func (p *programNode) Invitations() []*invitation {
	all := []*invitation{}
	for _, tag := range referral.InvitationTags(p.stored.Invitations) {
		own := p.stored.Invitations[tag]
		all = append(all, &invitation{Locale: word(tag), Subject: own.Subject, Message: own.Message})
	}
	return all
}

// Invitation returns the text that the user sends to a friend in a program, or null
// without a code.
func (u *user) Invitation(ctx context.Context, args struct{ ProgramID, Locale argument }) (*invitation, error) {
	code := u.code(args.ProgramID)
	if code == nil {
		return nil, nil
	}
	locale := args.Locale.text()
	if locale != "" {
		if _, err := text.ParseTag("locale", locale); err != nil {
			return nil, err
		}
	}
	p, err := u.c.program(ctx, code.Program)
	if p == nil || err != nil {
		return nil, err
	}
	filled, language := p.stored.Invite(text.Wanted(locale, u.stored.User.Locale, u.c.AcceptLanguage))
	return &invitation{Locale: word(language), Subject: filled.Subject, Message: filled.Message}, nil
}

// SetProgramInvitations replaces the invitations of a program. It needs the API key.
func (*mutation) SetProgramInvitations(ctx context.Context, args struct{ ProgramID, Invitations argument }) (*programNode, error) {
	c, err := keyHolder(ctx)
	if err != nil {
		return nil, err
	}
	all := map[text.Tag]text.Invitation{}
	for i, given := range args.Invitations.list() {
		at := "invitations[" + strconv.Itoa(i) + "]"
		if i == text.MaxInvitations {
			return nil, core.Invalid("invitations", "must not have more than "+strconv.Itoa(text.MaxInvitations)+" languages")
		}
		tag, one, err := invitationInput(at, given)
		if err != nil {
			return nil, err
		}
		if _, twice := all[tag]; twice {
			return nil, core.Invalid(at+".locale", "is given twice")
		}
		all[tag] = one
	}
	stored, err := c.engine.Admin.Programs.Update(ctx, c.member(), core.ProgramKey(args.ProgramID.text()), func(p *referral.Program) error {
		p.Invitations = all
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.forgetPrograms()
	return newProgram(stored), nil
}

// invitationInput returns the language and the text of an InvitationInput at a path.
func invitationInput(at string, given argument) (tag text.Tag, i text.Invitation, err error) {
	if tag, err = text.ParseTag(at+".locale", given.member("locale").text()); err != nil {
		return "", i, err
	}
	i = text.Invitation{Subject: given.member("subject").text(), Message: given.member("message").text()}
	return tag, i, i.Check(at)
}
