package graphql

import (
	"context"

	"kith/core"
	"kith/core/link"
	"kith/core/wire"
)

type referralCode struct {
	c       *call
	program core.ProgramKey

	Code         string
	ProgramID    *id
	ReferrerName string
	DateCreated  *date
}

// ReferralCode returns a code by its text, or null. It needs no credentials.
func (*query) ReferralCode(ctx context.Context, args struct{ ReferralCode argument }) (*referralCode, error) {
	c := callOf(ctx)
	if err := c.attempt(); err != nil {
		return nil, err
	}
	code := link.MeantCode(c.Caller.Tenant.Alias, args.ReferralCode.text())
	look := c.engine.Codes.LookupPublic
	if c.Caller.Key {
		look = c.engine.Codes.Lookup
	}
	found, err := look(ctx, c.Caller.Tenant, code)
	return orNull(found, err, func(found wire.CodeInfo) *referralCode {
		return &referralCode{
			c: c, program: found.Program, Code: string(found.Code), ProgramID: textOrNull(id(found.Program)),
			ReferrerName: found.ReferrerName(), DateCreated: dateOrNull(found.Created),
		}
	})
}

// Program returns the program of the code. It needs the API key.
func (r *referralCode) Program(ctx context.Context) (*programNode, error) {
	if err := r.c.Caller.MustHoldKey(); err != nil {
		return nil, err
	}
	return r.c.program(ctx, r.program)
}
