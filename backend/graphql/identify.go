package graphql

import (
	"context"

	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
	"kith/core/wire"
)

type userInputArguments struct{ UserInput argument }

// UpsertUser identifies a user.
func (*mutation) UpsertUser(ctx context.Context, args userInputArguments) (*user, error) {
	return callOf(ctx).identify(ctx, args.UserInput, auth.UpsertUser)
}

// CreateUser identifies a user who must not exist yet.
func (*mutation) CreateUser(ctx context.Context, args userInputArguments) (*user, error) {
	return callOf(ctx).identify(ctx, args.UserInput, auth.CreateUser)
}

// identify is UpsertUser, or CreateUser for its endpoint.
func (c *call) identify(ctx context.Context, input argument, endpoint auth.Endpoint) (*user, error) {
	if err := c.input(); err != nil {
		return nil, err
	}
	account, user, err := userKey{AccountID: input.member("accountId"), ID: input.member("id")}.parse(c, endpoint)
	if err != nil {
		return nil, err
	}
	body := []byte(input.without("lastInitial", "cookieId").json())
	update, err := wire.ParseUser(c.tenant, account, user, body)
	if err != nil {
		return nil, err
	}
	if update, err = c.Caller.Vouched(update, body); err != nil {
		return nil, err
	}
	in := c.identification()
	in.Update, in.Create = update, endpoint == auth.CreateUser
	if err := c.mayTry(in); err != nil {
		return nil, err
	}
	done, err := c.engine.Identification.Identify(ctx, c.tenant, in)
	if err != nil {
		return nil, err
	}
	c.identified(done)
	return newUsers(c, []wire.UserInfo{done.UserInfo})[0], nil
}

// identification is one of which nothing but the request is known yet.
func (c *call) identification() rules.Identification {
	return rules.Identification{Cookie: c.Cookie, IP: c.IP, Share: c.Caller.Share(c.Base)}
}

// CreateCookieUser identifies a user without ids.
func (*mutation) CreateCookieUser(ctx context.Context, args userInputArguments) (*user, error) {
	c := callOf(ctx)
	if err := c.input(); err != nil {
		return nil, err
	}
	if err := c.Caller.May(auth.CreateCookieUser, "", ""); err != nil {
		return nil, err
	}
	body := []byte(args.UserInput.without("lastInitial", "cookieId").json())
	caller, done, err := c.engine.Identification.IdentifyCookieUser(ctx, c.Caller, body, c.identification())
	if err != nil {
		return nil, err
	}
	c.identified(done)
	if c.Remember != nil {
		c.Remember(caller, done.User.ID)
	}
	// From here on the caller is the user who was identified.
	own := &call{Server: c.Server, Request: c.Request, tenant: c.tenant, budget: c.budget}
	own.Caller = caller
	return newUsers(own, []wire.UserInfo{done.UserInfo})[0], nil
}

// maxInputs is how many inputs a call for several may have.
const maxInputs = 100

// upserted is what became of one of several users.
type upserted struct {
	user *user
	err  *apiError
}

// ToUser returns the user who was identified.
func (u upserted) ToUser() (*user, bool) { return u.user, u.user != nil }

// ToApiError returns why the user was refused.
func (u upserted) ToApiError() (*apiError, bool) { return u.err, u.err != nil }

// UpsertUsers identifies several users, each by itself.
func (*mutation) UpsertUsers(ctx context.Context, args struct{ UserInputs argument }) (*[]upserted, error) {
	c := callOf(ctx)
	inputs := args.UserInputs.list()
	if len(inputs) > maxInputs {
		return nil, core.Invalid("userInputs", "must not have more than 100 elements")
	}
	out := make([]upserted, len(inputs))
	for i, input := range inputs {
		var err error
		if out[i].user, err = c.identify(ctx, input, auth.UpsertUser); err != nil {
			out[i].err = c.apiError(err)
		}
	}
	return &out, nil
}
