package graphql

import (
	"context"

	"kith/core"
	"kith/core/auth"
	"kith/core/rules"
	"kith/core/wire"
)

type userInputArguments struct{ UserInput argument }

// UpsertUser creates or updates a user.
func (*mutation) UpsertUser(ctx context.Context, args userInputArguments) (*user, error) {
	return callOf(ctx).identify(ctx, args.UserInput, auth.UpsertUser)
}

// CreateUser creates a user, who must not exist yet.
func (*mutation) CreateUser(ctx context.Context, args userInputArguments) (*user, error) {
	return callOf(ctx).identify(ctx, args.UserInput, auth.CreateUser)
}

// identify stores the user of an input. With the endpoint auth.CreateUser the user must
// not exist yet.
func (c *call) identify(ctx context.Context, input argument, endpoint auth.Endpoint) (*user, error) {
	if err := c.countInput(); err != nil {
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
	c.countUnknown(done)
	return newUsers(c, []wire.UserInfo{done.UserInfo})[0], nil
}

// identification returns an identification with the values of the request, without a
// user.
func (c *call) identification() rules.Identification {
	return rules.Identification{Visit: c.Visit, Policy: c.Caller.Tenant.Policy, Server: c.Caller.Key, IP: c.IP, Share: c.Caller.Share(c.Base)}
}

// CreateCookieUser returns the user that the request's cookie names, or creates a user.
// The input has no ids.
func (*mutation) CreateCookieUser(ctx context.Context, args userInputArguments) (*user, error) {
	c := callOf(ctx)
	if err := c.countInput(); err != nil {
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
	c.countUnknown(done)
	if c.Remember != nil {
		c.Remember(caller, done.User.ID)
	}
	// The caller may see the fields of the user who was identified.
	own := &call{Server: c.Server, Request: c.Request, tenant: c.tenant, budget: c.budget}
	own.Caller = caller
	return newUsers(own, []wire.UserInfo{done.UserInfo})[0], nil
}

// maxInputs is how many inputs a multi-input call may have.
const maxInputs = 100

// upserted is the result of one of several inputs: the user or an error.
type upserted struct {
	user *user
	err  *apiError
}

// ToUser returns the stored user.
func (u upserted) ToUser() (*user, bool) { return u.user, u.user != nil }

// ToApiError returns why the user was refused.
func (u upserted) ToApiError() (*apiError, bool) { return u.err, u.err != nil }

// UpsertUsers creates or updates several users, each in its own transaction.
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
