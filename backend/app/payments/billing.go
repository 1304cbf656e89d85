package payments

import (
	"cmp"
	"context"
	"slices"

	"kith/backend/app/base"
	"kith/backend/app/rewards"
	"kith/backend/store"
	"kith/backend/store/billingdb"
	"kith/backend/store/userdb"
	"kith/core"
	"kith/core/billing"
	"kith/core/referral"
	"kith/core/reward"
	"kith/core/rules"
	"kith/core/state"
)

// Billing applies subscriptions at payment gateways to accounts, and decides what workers
// must do at the gateways.
type Billing struct {
	*base.Base
	Gateways    *Gateways
	Discounts   *Discounts
	Redemptions *rewards.Redemptions
}

// BillingTime bounds the work on a subscription. It is shorter than the time after which
// a lease that was not ended is released, so that two workers do not call the gateway for
// one subscription.
const BillingTime = 2 * core.Minute

// BillingEvery is the interval at which a subscription is read at the gateway without a
// notification: notifications get lost.
const BillingEvery = core.Day

// WantsCode reports whether a code in the custom field of a customer could still refer
// the customer's account.
func (bl *Billing) WantsCode(ctx context.Context, tenant core.TenantAlias, customer core.PaymentProviderID) (bool, error) {
	id, err := userdb.AccountOfProvider(ctx, bl.DB.Reads, tenant, customer)
	if err != nil || id == "" {
		return false, err
	}
	account, _, err := userdb.Account(ctx, bl.DB.Reads, tenant, id)
	return account.Standing.Referral == referral.None && account.Standing.FirstPaid == 0, err
}

// BillingEffects say what the worker must do at the gateway.
type BillingEffects struct {
	// Late is true if another worker has leased the task meanwhile. Nothing was
	// stored, and nothing may be done at the gateway.
	Late bool
	// Want is the discount that the subscription must have.
	Want billing.Discount
	// Known is false while no account has the customer. Then the discount must stay
	// unchanged.
	Known bool
	// Refunds are the refunds that must be made.
	Refunds []billingdb.Refund
	// Credits are to be given as balances of the customer.
	Credits []billingdb.Credit
	// Owed is a refund that is not among Refunds yet, or nil. Call OweRefund to add
	// it, once all subscriptions of the customer were read: one of them may have an
	// older first charge.
	Owed *billingdb.Refund
	// Lowered is true if the gateway has more credit for the next bill than Want: once the
	// discount is set, the subscription must be read again, since another subscription of
	// the account gets the difference only after that.
	Lowered bool
	// logged is true if an event was logged.
	logged bool
}

// Apply stores a subscription as the worker read it at the gateway, with its effects: the
// status of the account, its conversion, and the credit that bills have used. code is
// the code in the customer's custom field, or empty. Apply returns what the worker must
// do at the gateway.
func (bl *Billing) Apply(ctx context.Context, task Task, s billing.Subscription, code core.ReferralCode) (effects BillingEffects, err error) {
	effects, err = store.WriteValue(ctx, bl.DB.Write, bl.Now(), func(tx *store.Tx) (effects BillingEffects, err error) {
		before, _, err := billingdb.FindSubscription(ctx, tx.Reads, task.Tenant, task.ID)
		if err != nil || before.Attempt != task.Attempt {
			effects.Late = err == nil
			return effects, err
		}
		b := billed{billing: bl, tx: tx, tenant: task.Tenant, connection: task.Connection, read: s, before: before, after: before, effects: &effects}
		if err := b.apply(ctx, code); err != nil {
			return effects, err
		}
		if err := billingdb.PutSubscription(ctx, tx, task.Tenant, b.after); err != nil {
			return effects, err
		}
		effects.Want, effects.Known = b.after.Want, b.after.Account != ""
		if effects.Refunds, err = billingdb.RefundsWaiting(ctx, tx.Reads, task.Tenant, s.ID); err == nil {
			effects.Credits, err = billingdb.CreditsWaiting(ctx, tx.Reads, task.Tenant, s.ID)
		}
		return effects, err
	})
	if err == nil && effects.logged {
		bl.Gateways.Logged()
	}
	return effects, err
}

// billed applies one subscription within a transaction. before and after are its stored
// states, and effects what else follows.
type billed struct {
	billing       *Billing
	tx            *store.Tx
	tenant        core.TenantAlias
	connection    billing.Connection
	read          billing.Subscription
	before, after billingdb.Subscription
	effects       *BillingEffects
}

func (b *billed) apply(ctx context.Context, code core.ReferralCode) (err error) {
	b.after.Standing, b.after.Customer, b.after.Opened = b.read.Standing(b.before.Standing), b.read.Customer, b.read.Opened
	if core.IsErased(b.before.Account) {
		// The shop may have made the account again, and tied it to the customer.
		if b.after.Account, err = userdb.AccountOfProvider(ctx, b.tx.Reads, b.tenant, b.after.Customer); err != nil {
			return err
		}
		if b.after.Account == "" {
			return b.erased(ctx)
		}
		b.after.Owed = 0 // by the account that was erased
	}
	if b.read.Itemized {
		if code, err = b.identify(ctx); err != nil {
			return err
		}
	} else if b.after.Account == "" && b.after.Customer != "" {
		if b.after.Account, err = userdb.AccountOfProvider(ctx, b.tx.Reads, b.tenant, b.after.Customer); err != nil || b.after.Account == "" {
			return err
		}
	}
	if b.after.Account == "" {
		return nil
	}
	// An unknown account is an error here: an erasure leaves a pseudonym.
	account, err := base.Account(ctx, b.tx.Reads, b.tenant, b.after.Account)
	if err != nil {
		return err
	}
	if err := billingdb.PutSubscription(ctx, b.tx, b.tenant, b.after); err != nil {
		return err
	}
	all, err := billingdb.Standings(ctx, b.tx.Reads, b.tenant, account.ID)
	if err != nil {
		return err
	}
	wasPaid := account.Standing.FirstPaid != 0
	if account, err = b.settle(ctx, account, billing.Decide(all, account.Status), code); err != nil {
		return err
	}
	if err := b.bills(ctx, account, all, wasPaid); err != nil {
		return err
	}
	if b.after.Room == b.before.Room && b.after.Held == b.before.Held && b.after.Next == b.before.Next && b.after.Owed == b.before.Owed || len(all) == 1 {
		return nil
	}
	// The credit of another subscription of the account depends on it.
	return billingdb.TouchOthers(ctx, b.tx, b.tenant, account.ID, b.read.ID)
}

// erased applies a subscription of an account that was erased. It wants no discount; what
// bills had of credit until then is redeemed, and a first charge that was charged back is
// reversed.
func (b *billed) erased(ctx context.Context) error {
	b.after.Account = b.before.Account
	// Only an account that was referred stays, under its pseudonym.
	account, _, err := userdb.Account(ctx, b.tx.Reads, b.tenant, b.after.Account)
	if err != nil {
		return err
	}
	account.ID = b.after.Account
	return b.bills(ctx, account, nil, true)
}

// discount returns the discount of the account; an erased one has none.
func (b *billed) discount(ctx context.Context) (d reward.Discount, err error) {
	if core.IsErased(b.after.Account) {
		return d, nil
	}
	return b.billing.Discounts.of(ctx, b.tx.Reads, b.tx.Now, b.tenant, b.after.Account, "")
}

// identify sets whose the subscription is, by what the gateway knows of the payer, and
// returns the code by which the account may be referred.
func (b *billed) identify(ctx context.Context) (core.ReferralCode, error) {
	who, err := b.billing.whose(ctx, b.tx, b.tenant, b.read.Payer)
	if err != nil {
		return "", err
	}
	if who.account != "" {
		b.after.Account, b.after.User = who.account, who.user
	}
	b.after.Code = cmp.Or(who.code, b.after.Code)
	return b.after.Code, nil
}

// settle updates the account by the rules, if its status or its attribution may change.
func (b *billed) settle(ctx context.Context, account referral.Account, c billing.Command, code core.ReferralCode) (referral.Account, error) {
	command := referral.Command{Now: b.tx.Now, Paid: c.Paid}
	unreferred := account.Standing.Referral == referral.None && account.Standing.FirstPaid == 0
	if code != "" && unreferred {
		command.Claims = []referral.Claim{{Code: code, Source: referral.SourceCoupon}}
	}
	if c.Status == account.Status && len(command.Claims) == 0 && (!c.Paid || account.Standing.FirstPaid != 0) {
		return account, nil
	}
	account.Status = c.Status
	var done rules.Settled
	err := b.billing.DecideWithin(ctx, b.tx, b.tenant, func(s *state.State) (err error) {
		done, err = b.billing.Rules().Settle(s, account, command)
		return err
	})
	return done.Account, err
}

// FirstCharge returns the id of the charge by which an account converted if it belongs to
// the subscription, or "". The worker reads it separately: a bank can reverse a charge
// for longer than the gateway lists it with the subscription.
func (bl *Billing) FirstCharge(ctx context.Context, tenant core.TenantAlias, subscription string) (string, error) {
	return billingdb.FirstBillOf(ctx, bl.DB.Reads, tenant, subscription)
}

// bills stores new charges with the credit that they used, and sets the discount that
// the subscription must have after them.
func (b *billed) bills(ctx context.Context, account referral.Account, all []billing.Standing, wasPaid bool) error {
	d, err := b.discount(ctx)
	if err != nil {
		return err
	}
	first, known, err := billingdb.FirstBill(ctx, b.tx.Reads, b.tenant, account.ID)
	if err != nil {
		return err
	}
	if !b.read.Itemized {
		if err := b.settleOwed(ctx, account.ID); err != nil {
			return err
		}
	}
	folded, had := b.before.Held, b.before.Want.Holding(b.before.Held)
	if c, ok := b.read.MissedBill(had, b.before.Next); ok {
		used, err := b.use(ctx, account.ID, c, d.Total(), folded)
		if err != nil {
			return err
		}
		folded -= used
	}
	for _, c := range b.read.Charges {
		seen, err := billingdb.BillExists(ctx, b.tx.Reads, b.tenant, c.Transaction)
		if err != nil {
			return err
		}
		if seen {
			continue
		}
		bill := billingdb.Bill{Charge: c, Subscription: b.read.ID, Account: account.ID}
		// A charge of another subscription that is read later may be older.
		bill.First = known && c.At < first.At || !known && !wasPaid
		if !b.read.Itemized {
			if bill.Credit, err = b.use(ctx, account.ID, c, d.Total(), folded); err != nil {
				return err
			}
		}
		if err := billingdb.InsertBill(ctx, b.tx, b.tenant, bill); err != nil {
			return err
		}
		if folded -= bill.Credit; bill.First {
			first, known = bill, true
		}
	}
	if c, ok := b.read.SkippedBill(had); ok {
		if _, err := b.use(ctx, account.ID, c, d.Total(), folded); err != nil {
			return err
		}
	}
	if err := b.payments(ctx); err != nil {
		return err
	}
	reversed, err := b.reverse(ctx, account)
	if err == nil && reversed {
		d, err = b.discount(ctx)
	}
	if err != nil {
		return err
	}
	if err := b.refund(ctx, account, d.Referred); err != nil {
		return err
	}
	return b.want(ctx, account, all, d.Total())
}

// reverse cancels the unused rewards of a referral whose first charge was charged back
// (gateway 3.3.1: dispute_lost), or given back by the shop (3.3.3). The account stays unchanged. If an operator approves
// the referral afterwards, the rewards are given again, and reverse leaves them.
func (b *billed) reverse(ctx context.Context, account referral.Account) (reversed bool, err error) {
	if account.Standing.Referral != referral.Converted {
		return false, nil
	}
	first, ok, err := billingdb.FirstBill(ctx, b.tx.Reads, b.tenant, account.ID)
	if err != nil || !ok {
		return false, err
	}
	if b.read.FirstReturned != 0 && first.Subscription == b.read.ID {
		return b.billing.moneyBack(ctx, b.tx, b.tenant, account.ID, first.Transaction, b.read.FirstReturned)
	}
	if !slices.ContainsFunc(b.read.Charges, func(c billing.Charge) bool { return c.Transaction == first.Transaction && c.ChargedBack }) {
		return false, nil
	}
	err = b.billing.DecideWithin(ctx, b.tx, b.tenant, func(s *state.State) (err error) {
		if ref, ok := s.ReferralOf(account.ID); ok {
			reversed, err = b.billing.Rules().Refuse(s, ref, referral.ChargedBack, 0)
		}
		return err
	})
	return reversed, err
}

// moneyBack takes the rewards of an account's referral back if a charge was the account's
// first, and the shop gave all of it back at a time within the window of the program.
func (bl *Billing) moneyBack(ctx context.Context, tx *store.Tx, tenant core.TenantAlias, account core.AccountID, charge string, returned core.Time) (reversed bool, err error) {
	first, ok, err := billingdb.FirstBill(ctx, tx.Reads, tenant, account)
	if err != nil || !ok || first.Transaction != charge {
		return false, err
	}
	err = bl.DecideWithin(ctx, tx, tenant, func(s *state.State) (err error) {
		reversed, err = bl.Rules().MoneyBack(s, account, first.At, returned)
		return err
	})
	return reversed, err
}

// refund sets the refund that is owed for the first charge of a converted account if the
// charge lacked the discount, because the shop had not looked it up (spec 4.3.2).
func (b *billed) refund(ctx context.Context, account referral.Account, percent reward.BasisPoints) error {
	if account.Standing.Referral != referral.Converted || percent == 0 || b.read.FirstReturned != 0 {
		return nil
	}
	first, ok, err := billingdb.FirstBill(ctx, b.tx.Reads, b.tenant, account.ID)
	if err != nil || !ok || first.Subscription != b.read.ID {
		return err
	}
	had, err := billingdb.RefundExists(ctx, b.tx.Reads, b.tenant, account.ID)
	if amount := first.Refund(percent); err == nil && !had && amount > 0 {
		b.effects.Owed = &billingdb.Refund{
			Transaction: first.Transaction, Subscription: first.Subscription, Account: account.ID, Amount: amount, Currency: b.read.Currency, KeyNumber: 1,
		}
	}
	return err
}

// AllRead reports whether all of a customer's subscriptions were read. It stores the
// unknown ones, so that a worker reads them.
func (bl *Billing) AllRead(ctx context.Context, tenant core.TenantAlias, subscriptions []string) (all bool, err error) {
	return store.WriteValue(ctx, bl.DB.Write, bl.Now(), func(tx *store.Tx) (all bool, err error) {
		if _, err := billingdb.AddSubscriptions(ctx, tx, tenant, subscriptions); err != nil {
			return all, err
		}
		return billingdb.AllRead(ctx, tx.Reads, tenant, subscriptions)
	})
}

// OweRefund stores a refund to be made. It returns false, and stores nothing, if another
// charge turned out to be the account's first, or if the account had its refund.
func (bl *Billing) OweRefund(ctx context.Context, tenant core.TenantAlias, f billingdb.Refund) (owed bool, err error) {
	return store.WriteValue(ctx, bl.DB.Write, bl.Now(), func(tx *store.Tx) (owed bool, err error) {
		first, ok, err := billingdb.FirstBill(ctx, tx.Reads, tenant, f.Account)
		if err == nil && ok && first.Transaction == f.Transaction {
			owed, err = billingdb.InsertRefund(ctx, tx, tenant, f)
		}
		return owed, err
	})
}

// EndRefund records that the refund of a transaction was made. id is the gateway's id of
// the refund; if it is empty, problem says why the refund cannot be made.
func (bl *Billing) EndRefund(ctx context.Context, tenant core.TenantAlias, transaction, id, problem string) error {
	err := bl.DB.Write(ctx, bl.Now(), func(tx *store.Tx) error { return billingdb.EndRefund(ctx, tx, tenant, transaction, id, problem) })
	if err == nil {
		bl.ReportWork(base.WorkGateway, base.GatewayRefund, outcomeOf(problem), 1)
	}
	return err
}

// RefuseRefund records that the gateway refused a refund. The next call for it uses
// another idempotency key.
func (bl *Billing) RefuseRefund(ctx context.Context, tenant core.TenantAlias, f billingdb.Refund, problem string) error {
	return bl.DB.Write(ctx, bl.Now(), func(tx *store.Tx) error {
		return billingdb.RefuseRefund(ctx, tx, tenant, f.Transaction, f.KeyNumber, problem)
	})
}
