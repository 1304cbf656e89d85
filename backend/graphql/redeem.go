package graphql

import (
	"context"

	"kith/core/reward"
	"kith/core/wire"
)

// redemption is what a redemption did.
type redemption struct {
	Unit                            string
	CreditRedeemed, CreditAvailable long
}

// RedeemRewardCredit redeems a part of one credit.
func (*mutation) RedeemRewardCredit(ctx context.Context, args struct{ ID, RedeemCreditInput argument }) (*redemption, error) {
	c := callOf(ctx)
	if err := c.Caller.MustHoldKey(); err != nil {
		return nil, err
	}
	wanted, err := args.ID.text("id")
	if err != nil {
		return nil, err
	}
	draw, err := wire.ParseRedemption(wanted, []byte(args.RedeemCreditInput.json()))
	if err != nil {
		return nil, err
	}
	return c.redeem(ctx, draw)
}

// RedeemUserCredit redeems credit of a user.
func (*mutation) RedeemUserCredit(ctx context.Context, args struct{ UserID, AccountID, RedeemCreditInput argument }) (*redemption, error) {
	c := callOf(ctx)
	if err := c.Caller.MustHoldKey(); err != nil {
		return nil, err
	}
	account, id, err := userKey{AccountID: args.AccountID, ID: args.UserID}.ids("accountId", "userId")
	if err != nil {
		return nil, err
	}
	draw, err := wire.ParseRedemption("", []byte(args.RedeemCreditInput.json()))
	if err != nil {
		return nil, err
	}
	draw.Account, draw.User = account, id
	return c.redeem(ctx, draw)
}

func (c *call) redeem(ctx context.Context, d reward.Draw) (*redemption, error) {
	done, err := c.engine.Redeem(ctx, c.tenant, d)
	if err != nil {
		return nil, err
	}
	return &redemption{Unit: done.Unit, CreditRedeemed: long(done.Redeemed), CreditAvailable: long(done.Available)}, nil
}
