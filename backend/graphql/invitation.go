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
	code, err := u.code(args.ProgramID)
	if code == nil || err != nil {
		return nil, err
	}
	locale, err := args.Locale.text("locale")
	if err != nil {
		return nil, err
	}
	if locale != "" {
		if _, err := text.ParseTag("locale", locale); err != nil {
			return nil, err
		}
	}
	programs, err := u.c.programs(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range programs {
		if p.Key == code.Program {
			filled, language := p.Invite(text.Wanted(locale, u.stored.User.Locale, u.c.AcceptLanguage))
			return &invitation{Locale: word(language), Subject: filled.Subject, Message: filled.Message}, nil
		}
	}
	return nil, nil
}

// SetProgramInvitations replaces the invitations of a program. It needs the API key.
func (*mutation) SetProgramInvitations(ctx context.Context, args struct{ ProgramID, Invitations argument }) (*programNode, error) {
	c, key, err := keyedText(ctx, args.ProgramID, "programId")
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
	stored, err := c.engine.Admin.Programs.Update(ctx, c.member(), core.ProgramKey(key), func(p *referral.Program) error {
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
	locale, err := given.member("locale").text(at + ".locale")
	if err != nil {
		return "", i, err
	}
	if tag, err = text.ParseTag(at+".locale", locale); err != nil {
		return "", i, err
	}
	if i.Subject, err = given.member("subject").text(at + ".subject"); err != nil {
		return "", i, err
	}
	if i.Message, err = given.member("message").text(at + ".message"); err != nil {
		return "", i, err
	}
	return tag, i, i.Check(at)
}
