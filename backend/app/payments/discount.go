package payments

import (
	"context"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/programdb"
	"kith/backend/store/referraldb"
	"kith/backend/store/rewarddb"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
	"kith/core/wire"
)

// Discounts computes the discounts of accounts, and registers accounts for them.
type Discounts struct {
	*base.Base
	Gateways *Gateways
}

// Of returns the discount of an account. If code is not empty, it is the discount that
// the account would have with that code. An unknown account or code is a not-found
// error.
func (ds *Discounts) Of(ctx context.Context, tenant core.TenantAlias, account core.AccountID, code core.ReferralCode) (reward.Discount, error) {
	return ds.of(ctx, ds.DB.Reads, ds.Now(), tenant, account, code)
}

// Register ties an account to its customer at the payment gateway, and attributes it to
// a code by the same rules as any other call (spec 4.4). It creates the account if it is
// unknown. It returns the discount that the account then has.
//
// If the tenant is connected to a gateway, the customer must exist there (RS010), and a
// worker later writes the code into the customer's custom field.
func (ds *Discounts) Register(ctx context.Context, tenant core.TenantAlias, in wire.DiscountRegistration) (d reward.Discount, err error) {
	if err := ds.checkCustomer(ctx, tenant, in); err != nil {
		return d, err
	}
	d, err = store.WriteValue(ctx, ds.DB.Write, ds.Now(), func(tx *store.Tx) (d reward.Discount, err error) {
		account, err := ds.registerDiscount(ctx, tx, tenant, in)
		if err == nil {
			err = putCoupon(ctx, tx, tenant, account)
		}
		if err != nil {
			return d, err
		}
		return ds.of(ctx, tx.Reads, tx.Now, tenant, in.Account, "")
	})
	if err == nil {
		ds.Gateways.Wake()
	}
	return d, err
}

func (ds *Discounts) registerDiscount(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, in wire.DiscountRegistration) (account referral.Account, err error) {
	err = ds.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
		stored, known := s.Accounts.Get(in.Account)
		if !known {
			var err error
			if stored.Account, err = rules.NewAccount(s, in.Account); err != nil {
				return err
			}
		}
		tied, err := rules.TieCustomer(s, stored.Account, in.Provider)
		if err != nil {
			return err
		}
		done, err := ds.Rules().Settle(s, tied, referral.Command{Now: s.Now, Claims: []referral.Claim{{Code: in.Code, Source: referral.SourceCoupon}}})
		account = done.Account
		return err
	})
	return account, err
}

// checkCustomer returns an error if the tenant's gateway does not have the customer. It
// does not ask the gateway about a customer that is tied to the account already.
func (ds *Discounts) checkCustomer(ctx context.Context, tenant core.TenantAlias, in wire.DiscountRegistration) error {
	connection, connected, err := ds.Gateways.connection(ctx, ds.DB.Reads, tenant)
	if err != nil || !connected {
		return err
	}
	owner, err := userdb.AccountOfProvider(ctx, ds.DB.Reads, tenant, in.Provider)
	if err != nil || owner == in.Account {
		return err
	}
	known, err := ds.Gateways.FindCustomer(ctx, tenant, connection, in.Provider)
	if err == nil && !known {
		err = &core.Error{Code: core.CodeInvalid, Field: "paymentProviderId", RS: "RS010", Message: "the payment gateway has no such customer; create the customer there first"}
	}
	return err
}

// putCoupon stores the task to write the code that referred an account into the custom
// field of its customer, where the merchant sees it (clients 4.1.3).
func putCoupon(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account referral.Account) error {
	connected, err := billingdb.Connected(ctx, tx.Reads, tenant)
	if err != nil || !connected || account.Standing.Code == "" {
		return err
	}
	return billingdb.PutCoupon(ctx, tx, tenant, account.PaymentProviderID, account.Standing.Code)
}

// of returns the sum of an account's available discounts, those of each program up to
// the program's limit, and of the discount that a referral promises.
func (ds *Discounts) of(ctx context.Context, r store.Reads, now core.Time, tenant core.TenantAlias, id core.AccountID, code core.ReferralCode) (d reward.Discount, err error) {
	account, err := base.Account(ctx, r, tenant, id)
	if err != nil {
		return d, err
	}
	groups, err := rewarddb.Groups(ctx, r, tenant, now, id, "", reward.PercentDiscount)
	if err != nil {
		return d, err
	}
	promised, owner, err := ds.promise(ctx, r, now, tenant, account, code)
	if err != nil {
		return d, err
	}
	limits, err := discountLimits(ctx, r, tenant)
	if err != nil {
		return d, err
	}
	d = reward.Discounts(append(groups, promised...), limits)
	d.Account, d.FirstName, d.LastName = id, owner.FirstName, owner.LastName
	stored, err := tenantdb.Find(ctx, r, tenant)
	d.DiscountID = stored.DiscountID
	return d, err
}

// discountLimits returns the discount limits of a tenant's programs.
func discountLimits(ctx context.Context, r store.Reads, tenant core.TenantAlias) (map[core.ProgramKey]reward.BasisPoints, error) {
	programs, err := programdb.List(ctx, r, tenant)
	limits := make(map[core.ProgramKey]reward.BasisPoints, len(programs))
	for _, p := range programs {
		limits[p.Key] = p.Limits.Discount
	}
	return limits, err
}

// promise returns the discount that an account gets when it converts, from a code that
// would refer it, or from its referral in progress. owner is the given code with its
// owner.
func (ds *Discounts) promise(ctx context.Context, r store.Reads, now core.Time, tenant core.TenantAlias, account referral.Account, code core.ReferralCode) (promised []reward.Group, owner referral.Code, err error) {
	key, err := promisedBy(ctx, r, tenant, account)
	if err != nil {
		return nil, owner, err
	}
	if code != "" {
		var refers bool
		if owner, refers, err = ds.wouldRefer(ctx, r, now, tenant, account, code); err != nil {
			return nil, owner, err
		}
		if refers {
			key = owner.Program
		}
	}
	if key == "" {
		return nil, owner, nil
	}
	program, err := programdb.ByKey(ctx, r, tenant, key)
	return program.Referred.Promise(key), owner, err
}

// promisedBy returns the program of an account's referral in progress, or "". A referral
// that waits for moderation or was denied promises nothing.
func promisedBy(ctx context.Context, r store.Reads, tenant core.TenantAlias, account referral.Account) (core.ProgramKey, error) {
	if account.Standing.Referral != referral.InProgress {
		return "", nil
	}
	ref, err := referraldb.OfAccount(ctx, r, tenant, account.ID)
	if err != nil || ref == nil || ref.Ended != 0 || ref.Moderation.Referred.Status != referral.SideApproved {
		return "", err
	}
	return ref.Program, nil
}

// wouldRefer reports whether a code would refer an account by the rules of attribution,
// if it was registered now. An unknown code is a not-found error.
func (ds *Discounts) wouldRefer(ctx context.Context, r store.Reads, now core.Time, tenant core.TenantAlias, account referral.Account, text core.ReferralCode) (code referral.Code, refers bool, err error) {
	if code, err = base.Code(ctx, r, tenant, text); err != nil {
		return code, false, err
	}
	user, known, err := userdb.FirstUser(ctx, r, tenant, account.ID)
	if err != nil {
		return code, false, err
	}
	_, deleted, err := userdb.WasErased(ctx, r, tenant, now, ds.Keys.Identity(tenant, account.ID, ""))
	if err != nil {
		return code, false, err
	}
	_, outcome := referral.Decide(account.Standing, referral.Command{Now: now, Deleted: deleted, Claims: []referral.Claim{{
		Code: code.Code, Source: referral.SourceCoupon, Known: true, Owner: code.Owner, OwnerBlocked: code.Blocked,
		Referred:    referral.Identity{Account: account.ID, User: user.ID, Email: user.Email},
		Unreferable: known && !user.Referable,
	}}})
	return code, outcome.Attributed != nil, nil
}
