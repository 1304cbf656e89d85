package payments

import (
	"cmp"
	"context"
	"strings"

	"kith/backend/app/base"
	"kith/backend/store"
	"kith/backend/store/tenantdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/referral"
	"kith/core/rules"
	"kith/core/state"
)

// payer is whose a subscription or a payment is. It is empty while that is unknown.
type payer struct {
	account core.AccountID
	user    core.UserID
	// code is the first of the payer's codes that the tenant has, or empty.
	code core.ReferralCode
}

// whose returns the account and the user of a payer. It creates them if the shop has named
// them, or if the payer has a referral code: a payment link needs no code on a server
// (gateway 4.4.3). Any other customer stays unknown until a call ties the account to the
// customer. It does not make an account again that was deleted.
func (bl *Billing) whose(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p billing.Payer) (who payer, err error) {
	for _, code := range p.Codes {
		found, known, err := userdb.Code(ctx, tx.Reads, tenant, code)
		if err != nil {
			return who, err
		}
		if known {
			who.code = found.Code
			break
		}
	}
	if p.Customer == "" {
		return who, nil
	}
	if who.account, err = userdb.AccountOfProvider(ctx, tx.Reads, tenant, p.Customer); err != nil {
		return who, err
	}
	tied := who.account != ""
	if !tied {
		who.account = cmp.Or(p.Account, ownAccount(p, who.code))
	}
	if who.account == "" {
		return who, nil
	}
	if who.user, err = bl.userOf(ctx, tx, tenant, who.account, p); err != nil {
		return who, err
	}
	exists, err := userdb.UserExists(ctx, tx.Reads, tenant, who.account, who.user)
	if err != nil || exists && tied {
		return who, err
	}
	if !exists && !tied {
		erased, _, err := userdb.WasErased(ctx, tx.Reads, tenant, tx.Now, bl.Keys.Identity(tenant, who.account, ""), bl.Keys.Identity(tenant, core.AccountID(p.Customer), ""))
		if err != nil || erased {
			return payer{code: who.code}, err
		}
	}
	err = bl.identify(ctx, tx, tenant, p, who, exists)
	if base.Refused(err) {
		// The user must not be tracked, for example: the rules say so for every other
		// call too.
		return payer{code: who.code}, nil
	}
	return who, err
}

// ownAccount returns the id of the account of a payer whom the shop has not named.
func ownAccount(p billing.Payer, code core.ReferralCode) core.AccountID {
	if code == "" {
		return ""
	}
	return core.AccountID(p.Customer)
}

// userOf returns the user whose the payments of an account are: the named one, the
// account's first, or one with the id of the customer.
func (bl *Billing) userOf(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, p billing.Payer) (core.UserID, error) {
	if p.User != "" {
		return p.User, nil
	}
	first, known, err := userdb.FirstUser(ctx, tx.Reads, tenant, account)
	if err == nil && !known {
		first.ID = core.UserID(p.Customer)
	}
	return first.ID, err
}

// identify creates the user of a payer, and ties the account to the customer. exists is
// true if there is the user: then the payer's name and address change nothing.
func (bl *Billing) identify(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, p billing.Payer, who payer, exists bool) error {
	stored, err := tenantdb.Find(ctx, tx.Reads, tenant)
	if err != nil {
		return err
	}
	update := referral.UserUpdate{Account: who.account, ID: who.user}
	account, _, err := userdb.Account(ctx, tx.Reads, tenant, who.account)
	if err != nil {
		return err
	}
	// The shop may name one account for several customers; it is tied to the first one.
	other := account.PaymentProviderID != "" && account.PaymentProviderID != p.Customer
	if !other && !strings.HasPrefix(string(p.Customer), guestPrefix) {
		update.PaymentProviderID = &p.Customer
	}
	if !exists {
		first, last, _ := strings.Cut(strings.TrimSpace(p.Name), " ")
		update.FirstName, update.LastName = &first, &last
		update.Email = &p.Email
	}
	if who.code != "" {
		update.Claims = []referral.Claim{{Code: who.code, Source: referral.SourceCoupon}}
	}
	return bl.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
		_, err := bl.Rules().Identify(s, rules.Identification{Update: update, Server: true, Share: bl.Share(stored)})
		return err
	})
}

// guestPrefix begins the ids that stand for customers whom the gateway has not stored.
const guestPrefix = "guest_"

// claim refers an account that can still be referred by a code.
func (bl *Billing) claim(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, who payer) error {
	if who.account == "" || who.code == "" {
		return nil
	}
	account, known, err := userdb.Account(ctx, tx.Reads, tenant, who.account)
	if err != nil || !known || account.Standing.Referral != referral.None || account.Standing.FirstPaid != 0 {
		return err
	}
	return bl.DecideWithin(ctx, tx, tenant, func(s *state.State) error {
		_, err := bl.Rules().Settle(s, account, referral.Command{Now: s.Now, Claims: []referral.Claim{{Code: who.code, Source: referral.SourceCoupon}}})
		return err
	})
}
